// Structure of plain graphs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct Blocks {
  std::vector<int32_t> component_of;  // biconnected component of each edge
  std::vector<uint8_t> is_cut;        // whether each vertex is an articulation point
  std::vector<int32_t> top;           // per component: its first vertex in depth-first order
  int32_t count = 0;
};

// Throws std::invalid_argument unless all ends are vertices.
void require_vertices(int32_t num_vertices, std::span<const int32_t> edges);

// Hopcroft and Tarjan (1973), linear time; parallel edges lie in one component. Components are
// numbered from the leaves up: those hanging at a vertex come before the one it hangs in.
Blocks biconnected_components(int32_t num_vertices, std::span<const int32_t> edges,
                              Control& control);

}  // namespace planaris
