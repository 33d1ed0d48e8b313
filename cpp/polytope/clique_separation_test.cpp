#include "polytope/clique_separation.hpp"

#include <cmath>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

std::vector<double> constant_matrix(int32_t n, double value) {
  std::vector<double> x(static_cast<size_t>(n) * n, value);
  for (int32_t v = 0; v < n; ++v) x[static_cast<size_t>(v) * n + v] = 1.0;
  return x;
}

}  // namespace

TEST_CASE("every triple of spins that all disagree is violated") {
  Control control;
  const auto x = constant_matrix(5, -0.5);
  const auto cuts = separate_triangles(5, x, 0.1, 100, control);
  CHECK(cuts.violation.size() == 10);
  CHECK(std::abs(cuts.violation[0] - 0.5) < 1e-12);
  CHECK(separate_triangles(5, x, 0.1, 4, control).violation.size() == 4);
  CHECK(separate_triangles(2, constant_matrix(2, -1.0), 0.0, 4, control).violation.empty());
}

TEST_CASE("a triangle grows to the one pentagon that is violated") {
  Control control;
  // Satisfies all triangles with equality, -1/3 each, and misses the pentagon by 10/3 - 2.
  const auto x = constant_matrix(5, -1.0 / 3);
  const std::vector<int32_t> spins{0, 2, 4, 1, 2, 3};
  const std::vector<int8_t> signs{1, 1, 1, 1, 1, 1};
  const auto cuts = extend_cliques(5, x, 3, spins, signs, 0.1, 100, control);
  REQUIRE(cuts.violation.size() == 1);
  CHECK(cuts.spins == std::vector<int32_t>{0, 1, 2, 3, 4});
  CHECK(cuts.signs == std::vector<int8_t>{1, 1, 1, 1, 1});
  CHECK(std::abs(cuts.violation[0] - 4.0 / 3) < 1e-12);
  CHECK(extend_cliques(4, constant_matrix(4, -0.3), 3, {spins.data(), 3}, {signs.data(), 3}, 0.1,
                       100, control)
            .violation.empty());
}

TEST_CASE("flipped spins flip signs") {
  Control control;
  auto x = constant_matrix(7, -0.25);
  for (int32_t v = 0; v < 7; ++v) {  // spins 1 and 5 counted the other way round
    for (const int32_t flipped : {1, 5}) {
      x[static_cast<size_t>(flipped) * 7 + v] *= -1;
      x[static_cast<size_t>(v) * 7 + flipped] *= -1;
    }
  }
  const std::vector<int32_t> spins{0, 1, 2, 3, 4};
  const std::vector<int8_t> signs{1, -1, 1, 1, 1};
  const auto cuts = extend_cliques(7, x, 5, spins, signs, 0.1, 100, control);
  REQUIRE(cuts.violation.size() == 1);
  CHECK(cuts.signs == std::vector<int8_t>{1, -1, 1, 1, 1, -1, 1});
  CHECK(std::abs(cuts.violation[0] - (21 * 0.25 - 3)) < 1e-12);
}
