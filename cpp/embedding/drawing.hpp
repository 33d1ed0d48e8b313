// Straight-line drawings: rotation by angle, crossings found by a sweep line.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "base/unwritten.hpp"

namespace planaris {

enum class Flaw : int32_t {
  none = 0,
  crossing = 1,        // edges first and second share a point that is no common end
  overlap = 2,         // edges first and second leave a vertex in the same direction
  through_vertex = 3,  // edge first runs through vertex second
  same_place = 4,      // vertices first and second have the same coordinates
};

struct Drawing {
  UnwrittenVector<int32_t> rotation;  // empty unless flaw == none
  std::vector<int32_t> offsets;
  std::vector<int32_t> outer;  // per component with edges: a half-edge left of which it is outer
  Flaw flaw = Flaw::none;
  int32_t first = -1, second = -1;
};

// Rotation system of the straight-line drawing, or its first flaw met from left to right.
// Parallel edges lie side by side. Vertices without edges take up no room. O((n + m) log n).
// Several threads (of `control`) sweep strips of so many vertices or more; the result is the same.
Drawing embed_drawing(int32_t num_vertices, std::span<const int32_t> edges,
                      std::span<const double> positions, Control& control,
                      int32_t least_strip = 1 << 14);

}  // namespace planaris
