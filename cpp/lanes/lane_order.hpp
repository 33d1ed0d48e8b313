// Elimination of a few models in lanes, each in an order of its own.
//
// Edges that an order holds back (MoatOrder) are handed on to the parent's front, which has slots
// for as many as any model of the group needs. Where a model needs fewer, a pair of rows that is
// joined to nothing else fills the slot: its pivot is 1 and its products are zero, so that no digit
// of a model depends on the others of its group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "fronts/front_tree.hpp"

namespace planaris {

// Per edge, chords included; see MoatOrder.
struct RowOrder {
  std::span<const int32_t> earliest, rank;
};

struct LaneOrder {
  LaneOrder() = default;
  LaneOrder(const FrontTree& tree, std::span<const RowOrder> orders) { assign(tree, orders); }
  // Another order, in the memory of this one.
  void assign(const FrontTree& tree, std::span<const RowOrder> orders);

  // Pairs of rows that may be eliminated, before all others: those of the node's own edges, what
  // the children hand on, and fresh ones that are joined to nothing. The last `kept` are handed on.
  struct Front {
    int32_t pairs = 0, kept = 0, fresh = 0;
    int64_t begin = 0;  // of its pairs in `source` and `edge`

    int32_t eliminated() const { return pairs - kept; }
  };
  int32_t rows(const FrontTree& tree, int32_t node) const {
    return 2 * fronts[node].pairs + tree.boundary_rows(node);
  }
  // Rows that are left to the parent.
  int32_t left(const FrontTree& tree, int32_t node) const {
    return 2 * fronts[node].kept + tree.boundary_rows(node);
  }
  // By pair, as eliminated, and model.
  int64_t at(int32_t node, int32_t pair, int32_t model) const {
    return (fronts[node].begin + pair) * models + model;
  }

  int32_t models = 0;
  std::vector<Front> fronts;    // by node
  std::vector<int32_t> source;  // where the pair stands before
  std::vector<int32_t> edge;    // -1: none
  std::vector<uint8_t> moved;   // by node and model: whether any pair stands elsewhere before
  int64_t pivots = 0;
  int32_t most_rows = 0, most_pairs = 0;  // of a front
  int64_t stack = 0;                      // numbers that wait for parents, at most

  // Numbers that an elimination takes beside what it reads and returns: a front, what its columns
  // become, rows that move, and two stacks.
  int64_t widest() const { return most_rows + 16; }
  int64_t columns() const { return std::max(32, 2 * most_pairs) * widest(); }
  int64_t aside() const { return (2 * most_pairs + 4) * widest() + 16; }
  int64_t scratch() const { return most_rows * widest() + columns() + aside() + 2 * stack; }
};

}  // namespace planaris
