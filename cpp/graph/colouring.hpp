// Colourings of a graph: no edge joins two vertices of one colour.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace planaris {

struct Colouring {
  std::vector<int32_t> order;    // vertices by colour, ascending within each
  std::vector<int32_t> offsets;  // of the colours, into `order`
};

// Gives the vertices of a sequence the first colour that no neighbour has. The neighbours of vertex
// v are neighbours[offsets[v]] to neighbours[offsets[v + 1] - 1]; a vertex beside itself is passed
// over.
Colouring colour_greedily(std::span<const int64_t> offsets, std::span<const int32_t> neighbours,
                          std::span<const int32_t> sequence);

// The same in the order of the vertices.
Colouring colour_greedily(std::span<const int64_t> offsets, std::span<const int32_t> neighbours);

// Breadth first from the first vertex of every component: two colours where two are enough.
Colouring colour_breadth_first(int32_t num_vertices, std::span<const int32_t> edges);

}  // namespace planaris
