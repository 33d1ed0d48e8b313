// Exact inference for binary pairwise models along a linear layout of the spins: one table
// over the frontier (the spins laid out that still have neighbours to come), updated in place
// as spins enter and leave. On a grid laid out row by row this is the broken-line transfer
// matrix: 2^L states, L^2 steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct PairwiseView {
  std::span<const int32_t> edges;       // 2m, no parallel edges, no loops
  std::span<const double> pair_logs;    // 4m: labels (0,0), (0,1), (1,0), (1,1)
  std::span<const double> single_logs;  // 2n

  int32_t num_spins() const { return static_cast<int32_t>(single_logs.size() / 2); }
  int32_t num_edges() const { return static_cast<int32_t>(edges.size() / 2); }
};

// One update of the table. Slots are bits of the table's index.
struct FrontierOp {
  int32_t slot = 0;      // kReplace, kPush, kPop: whose spin changes; kPair: one of the two
  int32_t control = -1;  // kPair: the other; kReplace: a neighbour of the new spin, or -1
  int32_t old_spin = -1, new_spin = -1;
  int32_t spin = -1;          // kPair: the spin in `slot`
  int32_t edge = -1;          // kReplace: old-new; kPair: slot-control
  int32_t control_edge = -1;  // kReplace: control-new
  double logs[8] = {};        // [control][old][new]; kPair: [control][slot]; kPush: [new]
};

struct FrontierStep {
  enum Kind : int8_t { kGroup, kPush, kPop } kind;
  int32_t bits_before, bits_after;
  int32_t first_op, last_op;
  // log2 of what the sum of all entries can grow by from this step's end to the last step,
  // and from this step's start back to the first.
  double growth_after, growth_before;
  std::vector<int32_t> locals;  // kGroup: the slots it touches, rising
};

struct FrontierProgram {
  std::vector<FrontierOp> ops;
  std::vector<FrontierStep> steps;
  int32_t max_bits = 0;
  double log_constant = 0;  // of the normalisation: every table of logs has maximum zero
  double constant_error = 0;
  double entries = 0;    // updates of table entries, the work
  bool feasible = true;  // false when a factor is zero everywhere
};

// Throws std::invalid_argument when `layout` is no permutation of the spins, TableTooLarge
// when the table would exceed 2^max_bits entries.
FrontierProgram frontier_program(const PairwiseView& model, std::span<const int32_t> layout,
                                 int32_t max_bits);

// Most spins in the table when spins enter in this order; stops counting above `limit`.
int32_t frontier_width(const PairwiseView& model, std::span<const int32_t> layout, int32_t limit);

// Breadth-first from an end of each component, then greedily keeping the frontier small.
std::vector<int32_t> greedy_layout(const PairwiseView& model, Control& control);

struct FrontierSum {
  double log_partition = 0;     // -inf when every state has weight zero
  double error = 0;             // of log_partition; twice that bounds the errors of marginals
  std::vector<double> singles;  // 2n, if wanted
  std::vector<double> pairs;    // 4m
  bool wide_exponents = false;  // plain doubles did not suffice
  bool underflowed = false;     // nor were others allowed: there is no sum
};

// Of table entries: one exponent for all, one each (twice the memory), or one each where one for
// all does not suffice.
enum class Exponents : int8_t { kAny, kShared, kOwn };

// `spare_tables` tables of 2^max_bits entries may be kept as checkpoints.
FrontierSum frontier_sum(const PairwiseView& model, const FrontierProgram& program,
                         bool want_marginals, Exponents exponents, int32_t spare_tables,
                         Control& control);

struct FrontierMax {
  std::vector<int8_t> labels;  // empty when every state has weight zero
  double value = 0, error = 0;
};

FrontierMax frontier_max(const PairwiseView& model, const FrontierProgram& program,
                         int32_t spare_tables, Control& control);

// num_samples rows of n labels; empty when every state has weight zero.
std::vector<int8_t> frontier_sample(const PairwiseView& model, const FrontierProgram& program,
                                    int64_t num_samples, uint64_t seed, bool wide_exponents,
                                    int32_t spare_tables, Control& control);

// Checkpoints with which every step is computed at most twice.
int32_t frontier_spare_tables(const FrontierProgram& program);

}  // namespace planaris
