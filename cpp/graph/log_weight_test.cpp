#include "graph/log_weight.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("digits of an exact sum are those of the number") {
  ExactSum sum;
  sum.add(std::numeric_limits<double>::denorm_min());
  sum.add(-0.0);
  CHECK(sum.digits()[0] == 1);
  sum.add(0x1p-1042);  // one unit of the next digit
  CHECK(sum.digits()[1] == 1);
  sum.add(-0x1p-1042);
  sum.add(-std::numeric_limits<double>::denorm_min());
  for (const int64_t digit : sum.digits()) CHECK(digit == 0);
  sum.add(std::numeric_limits<double>::max());  // (2^53 - 1) 2^971, and 971 + 1074 = 63 · 32 + 29
  CHECK(sum.digits()[63] == (int64_t{7} << 29));
  CHECK(sum.digits()[64] == (int64_t{1} << 32) - 1);
  CHECK(sum.digits()[65] == (int64_t{1} << 18) - 1);
}

TEST_CASE("log weights of integers, whatever the number of threads") {
  std::mt19937 rng(4);
  const int32_t n = 5000;
  std::vector<int32_t> edges;
  std::vector<double> couplings, fields;
  std::vector<int8_t> spins;
  int64_t expected = 0;
  for (int32_t v = 0; v < n; ++v) {
    spins.push_back(rng() % 2 ? 1 : -1);
    fields.push_back(double(int32_t(rng() % 2001) - 1000));
    expected += int64_t(fields.back()) * spins.back();
  }
  for (int k = 0; k < 9000; ++k) {
    const auto u = int32_t(rng() % n), v = int32_t(rng() % n);
    edges.insert(edges.end(), {u, v});
    couplings.push_back(double(int32_t(rng() % 2001) - 1000));
    expected += int64_t(couplings.back()) * spins[u] * spins[v];
  }
  for (const int threads : {1, 2, 16}) {
    Control quiet;
    Team team(threads, quiet);
    const ExactSum sum = log_weight(edges, couplings, fields, spins, team);
    double value = 0.0;  // few digits of it are not zero: no rounding
    for (int k = 0; k < ExactSum::kDigits; ++k)
      value += std::ldexp(double(sum.digits()[k]), 32 * k - 1074);
    CHECK(value == double(expected));
  }
}
