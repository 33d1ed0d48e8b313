// Exact inference by eliminating variables one after the other (bucket elimination on the
// elimination tree of a factor graph). Cluster p belongs to the p-th variable v of the order:
// v and the later variables it meets. Its table is the product of the factors whose first
// variable is v and of the messages of its children; summing (or maximising) v out gives its
// message to the cluster of the next variable it meets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct FactorGraphView {
  std::span<const int32_t> cardinalities;  // n
  std::span<const int32_t> scopes;
  std::span<const int64_t> scope_offsets;  // num_factors + 1
  std::span<const double> log_values;      // C order: last variable of a scope is fastest
  std::span<const int64_t> table_offsets;  // num_factors + 1

  int32_t num_variables() const { return static_cast<int32_t>(cardinalities.size()); }
  int64_t num_factors() const { return static_cast<int64_t>(scope_offsets.size()) - 1; }
};

// Neighbours of every variable: those it shares a factor with, sorted.
struct Adjacency {
  std::vector<int64_t> offsets;
  std::vector<int32_t> neighbors;
};

Adjacency factor_adjacency(const FactorGraphView& graph, Control& control);

enum class OrderRule { kMinDegree, kMinFill };

struct EliminationOrder {
  std::vector<int32_t> order;  // every variable once
  double log2_largest = 0;     // log2 of the largest table
  double entries = 0;          // sum of all tables' entries
};

// Greedy order; variables with at most one neighbour go first, which never hurts. Gives up
// tightness, not correctness, once a table exceeds 2^max_bits: the rest follows in any order
// and log2_largest is what had been reached by then (a lower bound for this order).
// Ties fall by `seed`; seed 0 takes the first.
EliminationOrder greedy_order(const FactorGraphView& graph, const Adjacency& adjacency,
                              OrderRule rule, uint64_t seed, double max_bits, Control& control);

// The clusters of an order, renumbered so that children come before parents without gaps
// (a postorder): messages then live on a stack.
struct EliminationTree {
  std::vector<int32_t> order;         // variable of each position
  std::vector<int64_t> axis_offsets;  // n + 1
  std::vector<int32_t> axes;          // variables of each cluster, last eliminated first;
                                      // the position's own variable is the last axis
  std::vector<int32_t> parent;        // position, or -1
  int32_t width = 0;                  // most axes of a cluster, minus one
  int64_t largest_table = 0;          // entries
  int64_t message_entries = 0;        // sum over all messages
  int64_t stack_entries = 0;          // most entries alive at once if consumed messages go
  double total_entries = 0;           // sum over all tables: the work
};

// Throws std::invalid_argument if `order` is no permutation, TableTooLarge if a table
// has more than 2^max_bits entries.
EliminationTree elimination_tree(const FactorGraphView& graph, const Adjacency& adjacency,
                                 std::span<const int32_t> order, double max_bits, Control& control);

struct SumResult {
  double log_partition = 0;     // -inf when every state has weight zero
  double rest = 0;              // log Z is log_partition + rest, unevaluated
  double error = 0;             // bound on the error of that sum; inf when logs are too large
  std::vector<double> nodes;    // tables of all variables one after the other, if wanted
  std::vector<double> factors;  // tables of all factors, as log_values
};

SumResult eliminate_sum(const FactorGraphView& graph, const EliminationTree& tree,
                        bool want_marginals, Control& control);

struct MaxResult {
  std::vector<int32_t> assignment;  // empty when every state has weight zero
  double value = 0;                 // largest log weight as computed is value + rest
  double rest = 0;
  double error = 0;  // bound on the rounding error of that sum
};

// `wide` tables hold numbers of twice the length.
MaxResult eliminate_max(const FactorGraphView& graph, const EliminationTree& tree, bool wide,
                        Control& control);

// Independent samples, row by row; empty when every state has weight zero.
std::vector<int32_t> eliminate_sample(const FactorGraphView& graph, const EliminationTree& tree,
                                      int64_t num_samples, uint64_t seed, Control& control);

}  // namespace planaris
