// The weight of one syndrome relative to no syndrome, as a small Pfaffian.
//
// An error with the syndrome is taken as reference. Flipping its k edges changes k joins of the
// Kasteleyn matrix, hence Pf K' / Pf K is a Pfaffian of 2k rows of B⁻¹ + K⁻¹. Eliminated edge by
// edge every pivot is a ratio of two sums of positive weights. With the logical edge as last pair
// of rows, what is left of it is the probability of the other logical class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decoding/edge_inverse.hpp"

namespace planaris {

struct CosetWeight {
  double log_pivots = 0.0;  // Σ log of all pivots but that of the logical edge
  double other = 0.0;       // what is left of the logical edge: P(other class), up to rounding
  // Estimated errors of log_pivots and of `other`, in units of the rounding of a double: what was
  // added up, over what was left. Infinite if a pivot was not positive.
  double doubt = 0.0, other_error = 0.0;
};

// Edges whose join was multiplied by t, as t / (1 - t), and log t, where t itself underflows;
// ascending.
struct JoinChange {
  int32_t edge;
  double ratio;
  double log_factor = 0.0;
};

class CosetUpdate {
 public:
  explicit CosetUpdate(const EdgeInverse& inverse) : inverse_(&inverse) {}

  // `logical`: the logical edge, larger than all others, or -1. Careful: eliminates in the reverse
  // order as well, with entries that are changed a little at random, and counts the difference as
  // doubt. At low noise entries off the diagonal may cancel, which the pivots do not show.
  CosetWeight weigh(std::span<const JoinChange> changes, int32_t logical, bool careful = false);

  // The inverse of the matrix of 2k rows, full and row by row, for gradients; false if a pivot
  // vanished.
  bool invert(std::span<const JoinChange> changes, std::vector<double>& inverse);

 private:
  void gather(std::span<const JoinChange> changes, int32_t logical, bool reverse, double shake);
  CosetWeight eliminate(std::span<const JoinChange> changes, int32_t logical, bool reverse,
                        double shake);

  const EdgeInverse* inverse_;
  std::vector<double> a_, mass_;
  double* rows_ = nullptr;  // inside of a_
  int32_t pairs_ = 0;
  int64_t stride_ = 0;
};

}  // namespace planaris
