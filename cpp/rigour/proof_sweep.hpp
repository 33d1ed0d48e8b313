// How far the backward errors of an elimination may have moved log |Pf|, by one sweep down the
// tree (docs/theory/rigour.md).
//
// M = L D Lᵀ is what was factorised, H = (L |D| Lᵀ)⁻¹ and G = M⁻¹. An error Δ_ij of rows i and j
// moves log |Pf M| by Δ_ij G_ij to first order, and has the nuclear norm 2 |Δ_ij| area_ij,
// area² = H_ii H_jj - H_ij². Both matrices are computed on the rows of every front, from the root
// down; diagonals of H are enlarged on the way by more than rounding takes.
//
// If L and D are pairs of doubles, errors are so small that G is not needed. H is computed from
// their high parts: what those leave out counts as one more rounding of the sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "base/control.hpp"
#include "fronts/front_tree.hpp"
#include "rigour/proof_elimination.hpp"

namespace planaris {

struct SweepBound {
  bool sound = true;
  double eta = 0.0;     // half of a bound on the nuclear norm of all errors
  double coarse = 0.0;  // what of it comes from fronts of which the diagonal of H alone is bounded
  double first = 0.0;   // bound on what they do to first order; of pairs, infinite
  double inflation = 0.0;  // most that a diagonal of H was enlarged by, in all, relative
  // Per edge, not of pairs: entry of G at its join, and the area of its two rows, as swept down.
  std::vector<double> inverse, area;

  // Bound on how far log |Pf| of the matrix that was to be eliminated is from that of M; tests
  // give what is beyond the first order another weight.
  double log_error(double weight = 1.0) const;
};

// `wide`: whether the factors were pairs. `coarse_rows`, of pairs: of fronts with no more rows, and
// of all below them, the diagonal of H alone is bounded; zero for none. `share`: the error of G_ij
// is kept below so many times area_ij.
SweepBound sweep_for_proof(const FrontTree& tree, const std::vector<ProofFactor>& factors,
                           bool wide, int32_t coarse_rows, const ProofWeights& weights,
                           double share, int threads, Control& control);

}  // namespace planaris
