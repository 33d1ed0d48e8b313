// Down the tree of fronts again: entries of K⁻¹, hence marginals, and exact samples.
//
// The inverse restricted to the rows of a front follows from its restriction to the rows that
// the front left to its parent and from the front's own factor (Takahashi et al. 1973).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pfaffian/pfaffian.hpp"

namespace planaris {

struct UncutProbabilities {
  std::vector<double> uncut;  // one per edge
  double residual = 0.0;      // largest |(K K⁻¹)_ii - 1|: how far rounding may have taken them
};

// Probability that every edge is not cut, i.e. K_ij (K⁻¹)_ji of its join (SK08 eq. 12).
template <class T>
UncutProbabilities uncut_probabilities(const FrontTree& tree, const KasteleynEntries& entries,
                                       const Factors<T>& factors, int threads, Control& control);

// One sample, to be drawn into a row of zeros.
struct CutRow {
  std::span<uint8_t> cut;        // one per edge
  int64_t undecided = 0;         // edges for which both weights vanished: numbers too narrow
  double log_probability = 0.0;  // of all decisions, as they were computed
};

// Exact samples: edge by edge, separators first, each with its probability given all edges
// before; `uniform` holds one number in [0, 1) per edge, row by row.
template <class T>
void sample_cuts(const FrontTree& tree, const KasteleynEntries& entries, const Fronts<T>& fronts,
                 std::span<const double> uniform, int threads, Control& control,
                 std::vector<CutRow>& rows);

}  // namespace planaris
