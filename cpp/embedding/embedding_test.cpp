#include "embedding/embedding.hpp"

#include <stdexcept>

#include "base/check.hpp"

using namespace planaris;

static void a_triangle_has_two_faces() {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<int32_t> rotation{0, 5, 2, 1, 4, 3}, offsets{0, 2, 4, 6};
  const Faces faces = trace_faces({edges, rotation, offsets});
  CHECK(faces.offsets.size() == 3);
  CHECK(faces.offsets[1] == 3);
}

static void a_repeated_half_edge_is_refused() {
  const std::vector<int32_t> edges{0, 1}, rotation{0, 0}, offsets{0, 2, 2};
  bool refused = false;
  try {
    trace_faces({edges, rotation, offsets});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

static void components_are_numbered_by_first_vertex() {
  const std::vector<int32_t> edges{4, 2, 1, 3};
  const std::vector<int32_t> expected{0, 1, 2, 1, 2};
  CHECK(connected_components(5, edges) == expected);
}

int main() {
  a_triangle_has_two_faces();
  a_repeated_half_edge_is_refused();
  components_are_numbered_by_first_vertex();
}
