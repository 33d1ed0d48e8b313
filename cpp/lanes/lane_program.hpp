// What the eliminations of a tree of fronts in lanes share: room, and small fronts written out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fronts/front_tree.hpp"

namespace planaris {

// Room that an elimination in the order of the tree takes, in numbers.
struct LaneSizes {
  int64_t rows = 0, factors = 0;
  int64_t own = 0, leaf = 0;  // own columns of a front, its rows rounded up; square of a leaf
  // Going up: numbers on each of two stacks, and columns, which are padded where one model is
  // eliminated alone; going down: numbers on the stack.
  int64_t up[2] = {0, 0}, up_columns[2] = {0, 0}, down = 0;

  int64_t scratch(bool marginals) const {
    const int64_t widest = rows + 16;
    const int64_t stacks = up[0] + up_columns[0] + up[1] + up_columns[1];
    const int64_t going_up = std::max(32 * widest, own + leaf) + stacks;
    return marginals ? std::max(going_up, 2 * (rows + 2) * widest + down) : going_up;
  }
};
LaneSizes lane_sizes(const FrontTree& tree);
// Bytes that a group of rows takes, at most.
size_t lane_bytes(const LaneSizes& sizes, size_t edges, size_t vertices, bool marginals);

// The elimination of a small front, entry by entry: the two children of a front, and the faces of a
// leaf, share no entries, so most products within small fronts are zero. An entry is the one of a
// child, or a product of weights, plus terms x y of earlier pairs (u, v) of columns, x of v and y
// of u / d, d the pivot, or -u / d; all in the order in which columns are eliminated.
//
// Places are counted from the begin of the front: the square that it leaves to its parent, then its
// own columns. Those of a child are counted from the begin of what the left child left.
struct FrontProgram {
  // What is in place before all: products of the weights of legs i and j of a leaf, some negative,
  // and the entries of pivots, less the joins of their edges.
  struct Product {
    int32_t to, i, j;
  };
  std::vector<Product> products, negative;
  std::vector<uint32_t> pivots;  // where they start, as in `code`
  // So many entries of so many terms. `code` holds for each its place, where it starts and its
  // terms, as x + 2^16 y.
  struct Run {
    int32_t count, terms;
  };
  static constexpr uint32_t kZero = 0, kChild = 1, kFront = 2;
  static uint32_t start(uint32_t what, uint32_t place) { return what << 28 | place; }
  struct Scaling {
    int32_t from, to;
  };
  // Columns u and v: the runs that fill them, then what is divided by the pivot, of u, and of v for
  // factors only. Ends of ranges; the first begin at 0.
  struct Pair {
    int32_t runs, of_u, of_v;
  };
  std::vector<Pair> pairs;
  std::vector<Run> runs;  // those that no pair takes fill the rest
  std::vector<uint32_t> code;
  std::vector<Scaling> scalings;
  std::vector<int32_t> zeros;  // places in the factors that are zero
};

struct LaneProgram {
  explicit LaneProgram(const FrontTree& tree);

  LaneSizes sizes;
  std::vector<uint8_t> side;         // per node, the stack it lies on: levels of the tree alternate
  std::vector<int32_t> front_of;     // per node: its program; -1: it is large
  std::vector<FrontProgram> fronts;  // many fronts of a lattice are alike
  std::vector<int64_t> rows;         // per node, where the rows of its front begin
  // Per row of a front: the child it comes from; per front, the rows of the left child that its
  // rows come from, then those of the right one, one past the last where it is the other child.
  std::vector<uint8_t> child;
  std::vector<int32_t> place;
};

}  // namespace planaris
