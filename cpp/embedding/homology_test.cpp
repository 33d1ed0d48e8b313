#include "embedding/homology.hpp"

#include "third_party/doctest/doctest.h"

using namespace planaris;

static Cycles basis(const std::vector<int32_t>& edges, const std::vector<int32_t>& rotation,
                    const std::vector<int32_t>& offsets) {
  const RotationView view{edges, rotation, offsets};
  return homology_basis(view, trace_faces(view).face_of);
}

TEST_CASE("plane graphs have none") {
  CHECK(basis({}, {}, {0}).offsets.size() == 1);
  CHECK(basis({}, {}, {0, 0, 0}).offsets.size() == 1);
  CHECK(basis({0, 1, 1, 2, 2, 0}, {0, 5, 2, 1, 4, 3}, {0, 2, 4, 6}).offsets.size() == 1);
}

// K4 with one rotation reversed lies on a torus.
TEST_CASE("a torus has two") {
  const Cycles cycles = basis({0, 1, 0, 2, 0, 3, 1, 2, 2, 3, 3, 1},
                              {0, 4, 2, 1, 11, 6, 3, 7, 8, 5, 9, 10}, {0, 3, 6, 9, 12});
  CHECK(cycles.offsets.size() == 3);
  CHECK(cycles.offsets[1] >= 3);
  CHECK(static_cast<size_t>(cycles.offsets[2]) == cycles.edges.size());
}
