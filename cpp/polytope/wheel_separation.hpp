// Separation of bicycle odd wheels: two joined hubs u, v and an odd cycle C of their common
// neighbours satisfy, in every cut,
//   x(C) + x(u : C) + x(v : C) + x_uv <= 2 |C|
// and so do all switchings (x_e -> 1 - x_e for the edges of any cut). With the field spin as
// one hub these are the odd wheels of the marginal polytope. For fixed hubs, half the sum of
// the slacks of the triangles u, i, j and v, i, j is a length of edge ij, and a violated wheel is
// an odd cycle shorter than x_uv (Gerards 1985); switchings double the graph once more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct WheelCuts {
  std::vector<int32_t> offsets{0};
  std::vector<int32_t> edges;
  std::vector<int8_t> flipped;    // 1: x_e counts as 1 - x_e
  std::vector<int32_t> rim;       // |C| of each wheel: sum of (flipped) values <= 2 |C|
  std::vector<double> violation;  // descending
};

// x must satisfy the triangle inequalities. At most one wheel per pair of hubs and switching.
WheelCuts separate_wheels(int32_t num_spins, std::span<const int32_t> edges,
                          std::span<const double> x, double min_violation, int32_t max_cuts,
                          Control& control);

}  // namespace planaris
