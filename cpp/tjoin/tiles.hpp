// Sorts the vertices of a graph into tiles, and tiles into ranges that few edges leave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/team.hpp"
#include "base/unwritten.hpp"
#include "graph/graph_bisection.hpp"

namespace planaris::tjoin {

inline size_t num_parts(size_t count) { return std::max<size_t>(count >> 15, 1); }

// Calls body(part, low, high) for equal parts of [0, count). Their number is a function of `count`
// alone, so that sums over parts are the same for any number of threads.
template <class Body>
void in_parts(Team& team, size_t count, Body&& body) {
  const size_t parts = num_parts(count);
  if (parts == 1) return body(size_t(0), size_t(0), count);  // no threads for that
  team.work(parts, [&](int worker, int p) {
    team.check(worker);
    body(size_t(p), count * size_t(p) / parts, count * size_t(p + 1) / parts);
  });
}

// Places [low, high) of the sweep, searched after the ranges that name it as their parent.
struct Range {
  int32_t low, high, parent;
};

// Half-edge h of vertex u runs along edge h / 2 to neighbours[k]; a vertex' half-edges ascend.
struct Adjacency {
  UnwrittenVector<int32_t> offsets, neighbours, half;

  int32_t num_vertices() const { return int32_t(offsets.size()) - 1; }
  int32_t degree(int32_t v) const { return offsets[v + 1] - offsets[v]; }
};

// Throws std::invalid_argument for a vertex that does not exist.
Adjacency adjacency(int32_t num_vertices, std::span<const int32_t> edges, Team& team);

// Tile t holds order[begin[t]], ..., order[begin[t + 1] - 1] and is connected.
struct Tiles {
  UnwrittenVector<int32_t> order;
  std::vector<int32_t> begin;

  int32_t count() const { return int32_t(begin.size()) - 1; }
};

// Breadth-first balls of at most `most` vertices; those of `left_out` lie in none.
Tiles tile(const Adjacency& graph, const std::vector<uint8_t>& left_out, int32_t most, Team& team);

// Tiles as vertices, joined by as many edges as run between them.
WeightedGraph graph_of_tiles(const Adjacency& graph, const Tiles& tiles,
                             const UnwrittenVector<int32_t>& tile_of, Team& team);

// Halves the tiles until a part holds at most `most` vertices, and sorts them by part. A range
// comes after the two it is made of.
std::vector<Range> sort_into_ranges(Tiles& tiles, WeightedGraph&& graph, int32_t most, Team& team);

}  // namespace planaris::tjoin
