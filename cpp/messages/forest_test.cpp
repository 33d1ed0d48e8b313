#include "messages/forest.hpp"

#include <cmath>
#include <stdexcept>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("a star with fields is enumerated") {
  const std::vector<int32_t> edges{0, 1, 2, 0, 0, 3};
  const std::vector<double> J{0.7, -1.3, 2.0};
  const std::vector<double> h{0.1, -0.4, 0.9, 0.0};
  double z = 0, spin = 0, pair = 0;
  for (int state = 0; state < 16; ++state) {
    int s[4];
    for (int v = 0; v < 4; ++v) s[v] = (state >> v & 1) ? 1 : -1;
    double e = 0;
    for (int k = 0; k < 3; ++k) e += J[k] * s[edges[2 * k]] * s[edges[2 * k + 1]];
    for (int v = 0; v < 4; ++v) e += h[v] * s[v];
    z += std::exp(e);
    spin += s[2] * std::exp(e);
    pair += s[0] * s[1] * std::exp(e);
  }
  Control control;
  const ForestMoments found = Forest(4, edges, control).evaluate(J, h, control);
  double total = 0;
  for (const double x : found.logs) total += x;
  CHECK(std::abs(total - std::log(z)) < 1e-13);
  CHECK(std::abs(found.spins[2] - spin / z) < 1e-13);
  CHECK(std::abs(found.pairs[0] - pair / z) < 1e-13);
  CHECK(Forest(4, edges, control).log_values(J, h, control) == found.logs);
}

TEST_CASE("a long path does not overflow") {
  const int32_t n = 300000;
  std::vector<int32_t> edges;
  for (int32_t v = 1; v < n; ++v) edges.insert(edges.end(), {v - 1, v});
  const std::vector<double> J(n - 1, 1000.0), h(n, 0.0);
  Control control;
  const ForestMoments found = Forest(n, edges, control).evaluate(J, h, control);
  for (const double x : found.pairs) CHECK(x == 1.0);
  Control late([](double) { return true; }, 0.0);
  CHECK_THROWS_AS(Forest(n, edges, control).evaluate(J, h, late), DeadlinePassed);
}

TEST_CASE("a cycle is refused") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  Control control;
  CHECK_THROWS_AS(Forest(3, edges, control), std::invalid_argument);
}
