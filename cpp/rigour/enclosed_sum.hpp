// Sums of doubles and of a logarithm in pairs of doubles, with ends that are rounded outwards: no
// function of a library is trusted (docs/theory/rigour.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/scaled.hpp"

namespace planaris {

struct EnclosedSum {
  double lower, upper;  // the ends, rounded outwards
  double middle;        // rounded to nearest
};

class PairSum {
 public:
  void add(double x) {
    total_ += TwoDoubles{x, 0.0};
    size_ += std::fabs(x);
    ++count_;
  }
  void add(std::span<const double> terms, double sign = 1.0) {
    for (const double x : terms) add(sign * x);
  }
  // Adds log(mantissa 2^twos), 1 <= mantissa <= 2, |twos| < 2^53.
  void add_log(double mantissa, int64_t twos);

  // The sum, itself off by `error` at most.
  EnclosedSum enclosed(double error) const;

 private:
  TwoDoubles total_;
  double size_ = 0.0;   // sum of the sizes of all terms
  double off_ = 0.0;    // bound on the errors of logarithms
  double count_ = 0.0;  // of additions, each within 2^-103 of all sizes
};

}  // namespace planaris
