#include "embedding/embedding.hpp"

#include <stdexcept>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("a triangle has two faces") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<int32_t> rotation{0, 5, 2, 1, 4, 3}, offsets{0, 2, 4, 6};
  const Faces faces = trace_faces({edges, rotation, offsets});
  CHECK(faces.offsets.size() == 3);
  CHECK(faces.offsets[1] == 3);
}

TEST_CASE("a repeated half edge is refused") {
  const std::vector<int32_t> edges{0, 1}, rotation{0, 0}, offsets{0, 2, 2};
  CHECK_THROWS_AS(trace_faces({edges, rotation, offsets}), std::invalid_argument);
}

TEST_CASE("components are numbered by first vertex") {
  const std::vector<int32_t> edges{4, 2, 1, 3};
  const std::vector<int32_t> expected{0, 1, 2, 1, 2};
  CHECK(connected_components(5, edges) == expected);
}
