// Elimination of a Kasteleyn matrix for a proof: what rounding may have done is bounded on the
// way (radii), or the factors are kept so that a sweep can bound it (docs/theory/rigour.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.hpp"
#include "base/control.hpp"
#include "base/scaled.hpp"
#include "fronts/front_tree.hpp"
#include "fronts/split_update.hpp"

namespace planaris {

// Numbers, not logarithms: two legs of a face are joined by leg[i] leg[j], rounded, the two of an
// edge by ± join. Edges are eliminated in the order that `earliest` and `rank` give.
struct ProofEntries {
  std::span<const double> leg;              // one per leg, positive
  std::span<const double> join;             // one per edge, positive
  std::span<const int8_t> sign;             // one per edge
  std::span<const int32_t> earliest, rank;  // one per edge; see MoatOrder
};

// How errors are bounded: by a sweep down the factors, or by radii that entries carry. Entries are
// doubles, or pairs of doubles; of pairs without radii, large updates of fronts of at least
// `split_rows` rows may be split, which is faster and less exact. So is a sweep of sizes alone, of
// pairs: of fronts of up to `coarse_rows` rows, unless that adds more than `coarse_error` to the
// bound, and than a small share of it.
struct Bounding {
  bool radii = false, wide = false, split = false;
  int32_t coarse_rows = 64, split_rows = 0;
  double coarse_error = 0.0;
};

// What tests change: every term is multiplied by a number, or errors as large as claimed are made.
struct ProofWeights {
  double update = 1.0;     // roundings of sums of products
  double entry = 1.0;      // roundings of entries that products are added to
  double split = 1.0;      // roundings of updates that are split
  double inflation = 1.0;  // of the bounds that are swept down
  double coarse = 1.0;     // how large a coarse bound may be before a finer one takes its place
  double second = 1.0;     // what errors do beyond the first order
  double entries = 1.0;    // errors of exponentials
  double products = 1.0;   // roundings of products of two of them
  double product = 1.0;    // roundings of the product of all pivots
  double high = 1.0;       // what high parts of pivots leave out, by sweep
  double worth_splitting = kWorthSplitting;  // multiplications of updates that are split
  double inject = 0.0;           // so many times the claimed errors are added to a front
  double inject_entries = 0.0;   // and to the exponentials
  double inject_products = 0.0;  // and, in units of rounding, to products of two, as they hurt most
  double inject_pivots = 0.0;    // and, in the same units, to the product of all pivots
  double inject_sweep = 0.0;     // and to what is swept down, as far as diagonals stay positive
  uint64_t pattern = 0;          // their signs; 0: those of the entries, 1: the others
};

// Columns of the factor L of a front, and pivots at (k + 1, k); what is not below the diagonal
// means nothing.
struct FactorColumns {
  int32_t rows = 0, eliminated = 0;
  const double* entries = nullptr;

  int64_t step() const { return rows + kWideSlack; }
  const double* column(int32_t j) const { return entries + j * step(); }
};

// A front after elimination in order; rows are numbered by their place in that order.
struct ProofFactor {
  int32_t rows = 0, eliminated = 0, refused_left = 0, refused_right = 0;
  // FactorColumns, below the diagonal, column after column; high parts, of pairs. kWideSlack
  // numbers behind them may be read.
  const double* lower = nullptr;
  const int32_t* place = nullptr;  // where every row of the front, as assembled, went
  // sizes of what was left, rounded up; strict lower triangle, not of pairs
  std::vector<float> rest;
  // backward error: update |L||D||L|ᵀ + entry |rest| + split times the sum over windows of
  // max_k |L_jk D_k| Σ_k |L_ik| + 2 max_k |L_ik| Σ_k |L_jk D_k|
  double update = 0.0, entry = 0.0, split = 0.0;

  // The columns, in `room`, with zeros after each.
  FactorColumns unpack(std::vector<double>& room) const;
};

struct ProofElimination {
  bool sound = true;            // no pivot vanished, nothing left the range
  Scaled pivots;                // product of their sizes, rounded once per pivot and front
  bool negative = false;        // sign of the product, relative to that of all joins as +1
  int64_t multiplications = 0;  // roundings of that product
  double log_error = 0.0;       // with radii: bound on the error of its logarithm; else that of
                                // taking high parts of pivots
  int32_t largest_front = 0;
  std::vector<ProofFactor> factors = {};  // without radii, by node
  std::vector<Arena> memory = {};         // of the factors
};

ProofElimination eliminate_for_proof(const FrontTree& tree, const ProofEntries& entries,
                                     Bounding bounding, const ProofWeights& weights, int threads,
                                     Control& control);

}  // namespace planaris
