// Spanning forests of largest weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Edges of a spanning forest of largest weight, in ascending order, by Kruskal's algorithm. Of
// edges that weigh the same the first come first; weights that are no numbers come last.
std::vector<int32_t> heaviest_forest(int32_t num_vertices, std::span<const int32_t> edges,
                                     std::span<const double> weights, Control& control);

}  // namespace planaris
