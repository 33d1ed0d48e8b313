// Binary trees over the faces of a rotation system: nested halves with few edges between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"

namespace planaris {

struct FaceRange {
  int32_t begin, end;
};

// Faces in the order of the leaves; nodes in postorder with the range of faces they hold.
struct Dissection {
  std::vector<int32_t> order;
  std::vector<FaceRange> range;
  std::vector<int32_t> left, right;  // -1 at leaves
};

// Halves along the longer extent of the faces' centres (two coordinates each), the cut then
// improved by single moves; without centres by multilevel bisection of the dual graph.
Dissection bisect_faces(const Faces& faces, std::span<const double> centres, int32_t leaf_size,
                        Control& control);

}  // namespace planaris
