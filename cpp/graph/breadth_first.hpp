// Vertices of a graph by their distance from a root, and the lists of neighbours that this takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace planaris {

// The neighbours of vertex v are vertices[offsets[v]] to vertices[offsets[v + 1] - 1].
struct Neighbours {
  std::vector<int64_t> offsets;
  std::vector<int32_t> vertices;
};

Neighbours neighbours_of(int32_t num_vertices, std::span<const int32_t> edges);

// All vertices: the component of the root first, then the others by their first vertices.
std::vector<int32_t> breadth_first_order(const Neighbours& graph, int32_t root = 0);

}  // namespace planaris
