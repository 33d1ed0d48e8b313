// Series and parallel reductions of a graph.
//
// A vertex of degree two and its edges become one edge; so do parallel edges; vertices of degree
// one go with their edge. What is left has no vertex of degree below three. Linear time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct SeriesParallelCore {
  std::vector<int32_t> edges;     // ends of the edges that are left, two by two
  std::vector<int32_t> group_of;  // which of them each edge is part of; -1: of a dangling tree
};

// Edges without loops; parallel ones are allowed.
SeriesParallelCore reduce_series_parallel(int32_t num_vertices, std::span<const int32_t> edges,
                                          Control& control);

}  // namespace planaris
