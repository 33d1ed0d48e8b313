// The symbolic part of an elimination, as bindings hand it from call to call.
#pragma once

#include <cstdint>
#include <vector>

#include "embedding/embedding.hpp"
#include "fronts/front_tree.hpp"

namespace planaris {

// Faces, signs and the tree of fronts of a rotation system. Immutable, so threads may share it.
struct PfaffianPlan {
  std::vector<int32_t> edges, rotation, offsets;
  Faces faces;
  FrontTree tree;
  std::vector<int8_t> signs;

  RotationView graph() const { return {edges, rotation, offsets}; }
};

}  // namespace planaris
