#include "polytope/wheel_separation.hpp"

#include <cmath>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("five spins make one wheel") {
  std::vector<int32_t> edges;
  for (int32_t u = 0; u < 5; ++u) {
    for (int32_t v = u + 1; v < 5; ++v) {
      edges.push_back(u);
      edges.push_back(v);
    }
  }
  Control control;
  const auto cuts = separate_wheels(5, edges, std::vector<double>(10, 2.0 / 3), 1e-6, 100, control);
  CHECK(cuts.rim.size() == 1);
  CHECK(cuts.rim[0] == 3);
  CHECK(cuts.edges.size() == 10);
  CHECK(std::abs(cuts.violation[0] - 2.0 / 3) < 1e-6);
}
