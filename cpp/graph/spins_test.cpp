#include "graph/spins.hpp"

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("a long path alternates") {
  const int32_t n = 200000;
  std::vector<int32_t> edges;
  for (int32_t v = n - 1; v > 0; --v) edges.insert(edges.end(), {v - 1, v});
  const std::vector<uint8_t> differ(n - 1, 1);
  const SpinAssignment result = spins_from_disagreements(n, edges, differ);
  CHECK(result.conflicting_edge == -1);
  for (int32_t v = 0; v < n; ++v) CHECK(result.spins[v] == (v % 2 ? -1 : 1));
}

TEST_CASE("a frustrated triangle is reported") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<uint8_t> differ{1, 1, 1};
  CHECK(spins_from_disagreements(3, edges, differ).conflicting_edge == 2);
}
