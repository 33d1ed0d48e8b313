// Binary trees over the faces of a rotation system: halves along coordinates, or clusters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planaris/embedding.hpp"

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

// Halves along the longer extent of the faces' centres (two coordinates each).
Dissection bisect_faces(std::span<const double> centres, int32_t leaf_size);

// Bottom up: pairs of neighbouring clusters that share the largest part of their boundary are
// merged, round by round (heavy-edge matching as in multilevel partitioning, Karypis & Kumar
// 1998); clusters without a free neighbour are paired with others beside the same cluster.
Dissection cluster_faces(const Faces& faces, int32_t leaf_size);

}  // namespace planaris
