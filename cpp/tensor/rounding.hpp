// What the proof of a contraction knows about floating point: bounds by directed rounding.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>

#include "base/bounded_exp.hpp"

namespace planaris::tensor {

constexpr double kUlp = 0x1p-52;  // twice the unit roundoff: one rounding in any direction

class Rounding {
 public:
  explicit Rounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int before_;
};

// While this lives, every operation rounds up: a sum of products is an upper bound of itself,
// and minus the sum with a factor negated is a lower one.
struct RoundUp : Rounding {
  RoundUp() : Rounding(FE_UPWARD) {}
};
struct RoundNearest : Rounding {
  RoundNearest() : Rounding(FE_TONEAREST) {}
};

// bounded_exp, rounding to nearest whatever the mode is.
inline double bounded_exp_nearest(double x) {
  const int before = std::fegetround();
  std::fesetround(FE_TONEAREST);
  const volatile double argument = x;
  const volatile double value = bounded_exp(argument);
  std::fesetround(before);
  return value;
}

}  // namespace planaris::tensor
