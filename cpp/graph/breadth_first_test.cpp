#include "graph/breadth_first.hpp"

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("vertices come by their distance from the root, component by component") {
  // A cycle 0 1 2 3 4 with a leaf 5 at 2, an edge 6 7, and 8 alone.
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 2, 5, 7, 6};
  const Neighbours graph = neighbours_of(9, edges);
  CHECK(breadth_first_order(graph) == std::vector<int32_t>{0, 1, 4, 2, 3, 5, 6, 7, 8});
  CHECK(breadth_first_order(graph, 5) == std::vector<int32_t>{5, 2, 1, 3, 0, 4, 6, 7, 8});
  CHECK(breadth_first_order(graph, 7) == std::vector<int32_t>{7, 6, 0, 1, 4, 2, 3, 5, 8});
  CHECK(breadth_first_order(neighbours_of(0, {})).empty());
}
