// The inverse of EdgeInverse, and the weight of a syndrome from it, in double-double numbers: for
// syndromes at low noise whose weights cancel in double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "base/double_double.hpp"
#include "decoding/coset_update.hpp"

namespace planaris {

struct WideInverse {
  int32_t num_edges = 0;
  double log_pfaffian = 0.0;
  std::vector<DoubleDouble> diagonal, blocks;  // as in EdgeInverse

  size_t place(int32_t e, int32_t f) const {
    const int64_t m = num_edges, i = e;
    return size_t(i * (2 * m - i - 1) / 2 + f - i - 1);
  }
};

WideInverse wide_inverse(const RotationView& rotation, std::span<const double> log_odds,
                         int threads, Control& control);

// Every entry rounded to a double: all its digits are right, however small it is.
EdgeInverse rounded(const WideInverse& inverse);

struct WideWeight {
  double log_pivots = 0.0;
  double log_other = 0.0, log_same = 0.0;  // of the probabilities of both classes
  double doubt = 0.0;                      // what was added up over what was left, at worst
};

WideWeight weigh_wide(const WideInverse& inverse, std::span<const JoinChange> changes,
                      int32_t logical);

}  // namespace planaris
