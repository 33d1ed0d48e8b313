// An enclosure of log |Pf K| that is a theorem about the floating-point computation
// (docs/theory/rigour.md): elimination in order, in doubles or pairs of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "fronts/front_tree.hpp"
#include "rigour/proof_elimination.hpp"

namespace planaris {

// Two legs of a face are joined by exp(f_i + f_j), f_i = scale_i - gauged of its edge, the two of
// an edge by ± exp(scale + scale): all of them exactly, that is, as real numbers.
struct ExactEntries {
  std::span<const double> gauged;  // one per edge
  std::span<const double> scale;   // one per leg
  std::span<const int8_t> sign;    // one per edge
  std::span<const int32_t> earliest, rank;
};

// |log |Pf K| - log(mantissa 2^exponent)| <= error(), if `sound`. On a plane; on other surfaces
// that is true of the matrix of rounded entries, without `entries`, which then bounds what rounding
// does to the sum over the even sets of any one class.
struct Enclosure {
  bool sound = false;
  bool negative = false;  // sign of the Pfaffian, relative to that of all joins as +1
  double mantissa = 1.0;
  int64_t exponent = 0;
  double entries = 0.0;                            // exponentials and products of two of them
  double elimination = 0.0;                        // roundings of the elimination
  double product = 0.0;                            // roundings of the product of all pivots
  double eta = 0.0, first = 0.0, inflation = 0.0;  // of the sweep
  int32_t largest_front = 0;

  // Bound on the error of the logarithm, with room for the roundings of these sums; and without
  // what rounded entries do.
  double error() const { return (entries + own_error()) * (1 + 0x1p-40); }
  double own_error() const { return (elimination + product) * (1 + 0x1p-40); }

  // By sweep, per edge: the probability that it is not cut, and a bound on its error.
  std::vector<double> uncut, uncut_error;
};

// `share`: how large a part of its bound the error of the inverse may have; see SweepBound.
Enclosure enclose_log_pfaffian(const FrontTree& tree, const ExactEntries& exact, Bounding bounding,
                               double share, const ProofWeights& weights, int threads,
                               Control& control);

}  // namespace planaris
