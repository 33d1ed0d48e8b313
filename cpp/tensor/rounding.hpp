// What the proof of a contraction knows about floating point: bounds by directed rounding.
#pragma once

#include "base/bounded_exp.hpp"
#include "base/rounding.hpp"

namespace planaris::tensor {

constexpr double kUlp = 0x1p-52;  // twice the unit roundoff: one rounding in any direction

// bounded_exp, rounding to nearest whatever the mode is.
inline double bounded_exp_nearest(double x) {
  const RoundNearest nearest;
  const volatile double argument = x;
  const volatile double value = bounded_exp(argument);
  return value;
}

}  // namespace planaris::tensor
