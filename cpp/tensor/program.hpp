// A pairwise model swept by a line: what happens to the variables on the line, step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "tensor/chain.hpp"

namespace planaris::tensor {

// log P(x) = Σ_v node_logs[v][x_v] + Σ_e edge_logs[e][x_u, x_v] - log Z, tables flat.
struct NetworkView {
  std::span<const int32_t> cardinalities;
  std::span<const double> node_logs;
  std::span<const int64_t> node_offsets;
  std::span<const int32_t> edges;  // (u, v) each; u is the slow axis of the table
  std::span<const double> edge_logs;
  std::span<const int64_t> edge_offsets;

  int32_t num_variables() const { return static_cast<int32_t>(cardinalities.size()); }
  int64_t num_edges() const { return static_cast<int64_t>(edges.size() / 2); }
  std::span<const double> node(int32_t v) const {
    return node_logs.subspan(node_offsets[v], node_offsets[v + 1] - node_offsets[v]);
  }
  // Table of an edge with `first` as its first variable; edge -1: a table of ones.
  Table table(int64_t edge, int32_t first) const {
    if (edge < 0) return {};
    return {edge_logs.data() + edge_offsets[edge], edges[2 * edge] != first,
            cardinalities[edges[2 * edge + 1]]};
  }
};

struct Step {
  enum class Kind : uint8_t { kInsert, kEliminate, kTransfer, kPair } kind;
  bool swap = false;    // kPair: the variables change places
  int32_t place = 0;    // of the variable, or of the first of two
  int32_t first = -1;   // variable that is inserted, eliminated, replaced, or the first of two
  int32_t second = -1;  // variable that replaces it, or the second of two
  int64_t edge = -1;    // table that is multiplied, -1: none
};

struct Program {
  std::vector<Step> steps;
  int32_t width = 0;  // most variables on the line at once
};

// The line passes the variables in this order; `heights` are their places along it. A variable
// that is passed takes the place of a neighbour that it is the last to see, or one beside a
// neighbour; the others are brought next to it by swaps, and back where that takes fewer swaps in
// all.
Program compile(const NetworkView& network, std::span<const int32_t> order,
                std::span<const double> heights, Control& control);

enum class Direction : uint8_t { kForward, kBackward };

// Applies step `at` of the program to the chain of everything before it, or (transposed) to the
// chain of everything after it.
template <class T>
void apply(ChainOf<T>& chain, const NetworkView& network, const Program& program, int64_t at,
           Direction direction);

}  // namespace planaris::tensor
