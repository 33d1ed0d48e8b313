// A straight-line drawing from left to right: its vertices in the order of a sweep line, its edges
// by left end.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/team.hpp"
#include "base/unwritten.hpp"
#include "embedding/predicates.hpp"

namespace planaris {

// An edge as the sweep sees it: from its left end to its right end (ranks in sweep order).
struct Segment {
  int32_t left, right;
  int32_t half_edge;  // leaves the left end
};

// Vertices are renumbered in sweep order, so that all memory touched around a vertex is near the
// sweep line.
struct SweepOrder {
  UnwrittenVector<Point> points;
  UnwrittenVector<int32_t> vertex;    // rank -> vertex; vertices in one place come by their numbers
  UnwrittenVector<int32_t> first;     // n + 1: segments that leave v begin at first[v]
  UnwrittenVector<int32_t> incoming;  // number of segments that end at v
  UnwrittenVector<Segment>
      segments;  // grouped by left end; in order of the edges until they are sorted

  SweepOrder(int32_t num_vertices, std::span<const int32_t> edges,
             std::span<const double> positions, Team& team);

  int32_t num_vertices() const { return static_cast<int32_t>(points.size()); }
  int32_t degree(int32_t v) const { return first[v + 1] - first[v] + incoming[v]; }

  // Two vertices with edges in one place (ranks), or -1, -1.
  std::pair<int32_t, int32_t> coincident(Team& team) const;
  // Sorts the segments that leave each vertex, bottom to top; returns two edges that overlap, or
  // -1, -1.
  std::pair<int32_t, int32_t> sort_fans(Team& team);
  // Where the half-edges of each vertex, in the numbers of the caller, begin.
  std::vector<int32_t> rotation_offsets(Team& team) const;

 private:
  UnwrittenVector<int32_t> sort_vertices(std::span<const double> positions, Team& team);
  void group_segments(std::span<const int32_t> edges, const UnwrittenVector<int32_t>& rank,
                      Team& team);
  std::pair<int32_t, int32_t> sort_fan(int32_t v);
};

}  // namespace planaris
