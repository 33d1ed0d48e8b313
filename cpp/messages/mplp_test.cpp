#include "messages/mplp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "third_party/doctest/doctest.h"

using namespace planaris;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("a chain is solved exactly") {
  // min over x of sum f_i + sum |x_i - x_{i+1}|, pulled to 0 at one end and to 2 at the other.
  const std::vector<double> nodes{0, 5, 5, 0, 0, 0, 5, 5, 0};
  const std::vector<int32_t> edges{0, 1, 1, 2};
  std::vector<double> tables;
  for (int e = 0; e < 2; ++e) {
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) tables.push_back(std::abs(a - b));
    }
  }
  Control control;
  MessagePassing passing({3, 3, 3}, nodes, edges, tables, control);
  CHECK(std::abs(passing.run(20, 1e-12, control) - 2) < 1e-9);
  CHECK(passing.safe_bound(control) <= 2);
  CHECK(passing.safe_bound(control) > 2 - 1e-9);
  auto state = passing.decode(control);
  passing.improve(state, control);
  CHECK(state[0] == 0);
  CHECK(state[2] == 2);
}

TEST_CASE("a frustrated triangle needs its triplet") {
  const std::vector<int32_t> edges{0, 1, 0, 2, 1, 2};
  const std::vector<double> differ{1, 0, 0, 1}, nodes(6, 0.0);
  std::vector<double> tables;
  for (int e = 0; e < 3; ++e) tables.insert(tables.end(), differ.begin(), differ.end());
  Control control;
  MessagePassing passing({2, 2, 2}, nodes, edges, tables, control);
  CHECK(passing.run(50, 0, control) < 1e-9);
  CHECK(passing.add_triplet(2, 0, 1));
  CHECK(!passing.add_triplet(0, 1, 2));
  passing.run(50, 1e-12, control);
  CHECK(passing.safe_bound(control) > 1 - 1e-6);
  CHECK(passing.safe_bound(control) <= 1);
}

TEST_CASE("triangles are scored by the rise of the bound, until their triplet is there") {
  const std::vector<int32_t> edges{0, 1, 0, 2, 1, 2};
  const std::vector<int32_t> n{2, 3, 4};
  std::vector<double> tables(6 + 8 + 12);
  for (size_t p = 0; p < tables.size(); ++p) tables[p] = std::sin(7.0 * static_cast<double>(p));
  const double *uv = tables.data(), *uw = uv + 6, *vw = uw + 8;
  double best = kInfinity, loose = 0.0;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c) {
        best = std::min(best, uv[a * 3 + b] + uw[a * 4 + c] + vw[b * 4 + c]);
      }
  for (const auto& [table, size] : {std::pair(uv, 6), std::pair(uw, 8), std::pair(vw, 12)}) {
    loose += *std::min_element(table, table + size);
  }
  Control control;
  MessagePassing passing(n, std::vector<double>(9, 0.0), edges, tables, control);
  const auto found = passing.triangles(0.0, 9, control);
  REQUIRE(found.size() == 1);
  CHECK(std::abs(found[0].gain - (best - loose)) < 1e-14);
  CHECK(found[0].variables == std::array<int32_t, 3>{0, 1, 2});
  CHECK(passing.triangles(found[0].gain, 9, control).empty());
  passing.add_triplet(0, 1, 2);
  CHECK(passing.triangles(0.0, 9, control).empty());
}

TEST_CASE("the projection graph says which labels would rather differ") {
  const std::vector<int32_t> edges{0, 1, 0, 2, 1, 2};
  std::vector<double> tables{1, 0, 0, 1, 0, 3, 3, 0, kInfinity, 0, 0, kInfinity};
  Control control;
  MessagePassing binary({2, 2, 2}, std::vector<double>(6, 0.0), edges, tables, control);
  const auto graph = binary.projection(0.5, 8, control);
  CHECK(graph.owners == (std::vector<int32_t>{0, 1, 2}));
  CHECK(graph.ends == edges);
  CHECK(graph.weights == (std::vector<double>{1, -3, 6}));  // a hard one counts twice the largest
  CHECK(binary.projection(2.0, 8, control).weights.size() == 2);
  tables.assign(9, 2.0);
  tables[2] = 0.0;  // 0 with 2
  MessagePassing ternary({3, 3}, std::vector<double>(6, 0.0), std::vector<int32_t>{0, 1}, tables,
                         control);
  const auto pairs = ternary.projection(0.5, 8, control);
  CHECK(pairs.owners == (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  for (size_t k = 0; k < pairs.weights.size(); ++k) {  // 0 and 2 agree, one of them alone does not
    const bool zero = pairs.ends[2 * k] == 0, two = pairs.ends[2 * k + 1] == 5;
    CHECK(pairs.weights[k] == (zero == two ? -2.0 : 2.0));
  }
  CHECK(pairs.weights.size() == 9);
  CHECK(ternary.projection(0.5, 2, control).owners == (std::vector<int32_t>{0, 0, 1, 1}));
}

TEST_CASE("hard constraints remove labels and states") {
  const std::vector<int32_t> edges{0, 1};
  const std::vector<double> nodes{0, 0, 1, 0}, only_equal{0, kInfinity, kInfinity, 0};
  Control control;
  MessagePassing passing({2, 2}, nodes, edges, only_equal, control);
  passing.run(10, 1e-12, control);
  CHECK(passing.decode(control) == (std::vector<int32_t>{1, 1}));
  passing.set_alive(std::vector<uint8_t>{1, 0, 1, 1});
  passing.run(10, 1e-12, control);
  CHECK(passing.alive()[3] == 0);
  CHECK(passing.safe_bound(control) > 1 - 1e-9);
  CHECK(passing.safe_bound(control) <= 1);
  passing.set_alive(std::vector<uint8_t>{1, 0, 0, 1});
  CHECK(passing.run(10, 1e-12, control) == kInfinity);
  CHECK(passing.safe_bound(control) == kInfinity);
}

TEST_CASE("broken arrays are refused") {
  Control control;
  CHECK_THROWS_AS(MessagePassing({2, 2}, std::vector<double>(4), std::vector<int32_t>{1, 0},
                                 std::vector<double>(4), control),
                  std::invalid_argument);
}

TEST_CASE("messages end where the time does") {
  const std::vector<double> nodes(6, 0.0), tables(12, 1.0);
  const std::vector<int32_t> edges{0, 1, 0, 2, 1, 2};
  int looks = 0;
  const auto late = [&](double) -> bool { throw DeadlinePassed(); };
  const auto count = [&](double) { return ++looks > 0; };
  Control ended(late, kInfinity, {1, 0.0}), watched(count, kInfinity, {1, 0.0}), control;
  CHECK_THROWS_AS(MessagePassing({2, 2, 2}, nodes, edges, tables, ended), DeadlinePassed);
  MessagePassing passing({2, 2, 2}, nodes, edges, tables, control);
  passing.add_triplet(0, 1, 2);
  CHECK_THROWS_AS(passing.safe_bound(ended), DeadlinePassed);
  CHECK_THROWS_AS(passing.decode(ended), DeadlinePassed);
  std::vector<int32_t> state(3, 0);
  CHECK_THROWS_AS(passing.improve(state, ended), DeadlinePassed);
  CHECK_THROWS_AS(passing.triangles(0.0, 9, ended), DeadlinePassed);
  CHECK_THROWS_AS(passing.projection(0.0, 8, ended), DeadlinePassed);
  CHECK(passing.safe_bound(watched) <= 3);
  CHECK(looks == 3 + 3 + 1);  // variables, edges, triplets
}
