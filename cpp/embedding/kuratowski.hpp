// Kuratowski subgraphs: the proof that a graph is not planar.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct Kuratowski {
  std::vector<int32_t> edges;  // indices, increasing; empty if the graph is planar
  bool is_k5 = false;          // else a subdivided K3,3
};

// A subdivision of K5 or K3,3 in a non-planar graph. Every round keeps the back edges whose
// constraints contradict each other, then contracts paths; what is left is small, and its
// edges are tried in chunks.
Kuratowski find_kuratowski(int32_t num_vertices, std::span<const int32_t> edges, Control& control);

}  // namespace planaris
