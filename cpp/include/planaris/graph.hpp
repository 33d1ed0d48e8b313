// Structure of plain graphs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace planaris {

struct Blocks {
  std::vector<int32_t> component_of;  // biconnected component of each edge
  std::vector<uint8_t> is_cut;        // whether each vertex is an articulation point
  int32_t count = 0;
};

// Hopcroft and Tarjan (1973), linear time; parallel edges lie in one component.
Blocks biconnected_components(int32_t num_vertices, std::span<const int32_t> edges);

}  // namespace planaris
