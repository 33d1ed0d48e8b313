// What stays of a solve: the graph in sweep order, the engine, and the numbering.
#pragma once

#include "tjoin/matching.hpp"
#include "tjoin/store.hpp"
#include "tjoin/tiles.hpp"

namespace planaris {

namespace tjoin {

// Sweep order and boundary of a graph; everything that does not depend on the number type.
struct Layout {
  int32_t n = 0;                       // inner vertices
  UnwrittenVector<int32_t> order;      // place in the sweep -> vertex
  UnwrittenVector<int32_t> index;      // vertex -> place in the sweep, n for boundary vertices
  std::vector<Range> ranges;           // a binary tree; the whole sweep comes last
  UnwrittenVector<uint8_t> odd;        // by place
  UnwrittenVector<int32_t> component;  // by vertex
  std::vector<uint8_t> bounded;        // by component: did the caller give it a boundary?
  std::vector<int32_t> boundary;       // as the caller gave it
  Adjacency graph;                     // by vertex; dropped once the engine has its own
  int32_t infeasible = -1;
  int bits = 0;  // that hold every number the engine meets
};

Layout lay_out(const TJoinProblem& problem, Team& team);

// Bits that hold every number the engine meets: see docs/theory/matching.md, "No overflow".
int bits_needed(const TJoinProblem& problem);
int bits_needed(const TJoinWeights& weights, int32_t perfect_vertices, int threads = 1);
// Of them: doubled weights, a factor of four to spare, and the sign.
constexpr int kSpareBits = 4;
// Widths of the number types, narrowest first.
constexpr int kWidths[] = {64, 128, 256, 2240};
// The narrowest that will do.
inline int width_for(int bits) {
  for (const int width : kWidths) {
    if (bits <= width) return width;
  }
  return kWidths[3];
}

// Instantiated for two number types each in narrow_weights.cpp and wide_weights.cpp.
template <typename Int>
TJoinSolution solve_with(const TJoinProblem& problem, Layout&& layout, Control& control);
template <typename Int>
std::unique_ptr<TJoinSolver> make_solver(const TJoinProblem& problem, Layout&& layout, Team& team);

}  // namespace tjoin
}  // namespace planaris
