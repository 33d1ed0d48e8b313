// A rotation system whose faces are the shortest cycles of a graph.
//
// On a surface on which no short cycle runs around a handle, the triangles and the chordless
// cycles of four edges of a lattice are its faces, whatever the numbers of the vertices. Every edge
// then lies in two of them. Where a side is short there are more, and edges that lie in exactly two
// decide about the others. Linear for bounded degrees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct ShortFaces {
  bool found = false;             // false: the cycles do not fit together on an orientable surface
  std::vector<int32_t> rotation;  // half-edges around the vertices, counter-clockwise, left-out
                                  // edges missing
  std::vector<int32_t> offsets;   // where the half-edges of each vertex begin
  std::vector<int32_t> left_out;  // edges in no face, at a vertex whose other edges are closed up
};

// Edges of a simple graph; loops and parallel edges make it fail.
ShortFaces embed_by_short_faces(int32_t num_vertices, std::span<const int32_t> edges,
                                Control& control);

}  // namespace planaris
