// Which way floating-point operations of a thread are rounded.
#pragma once

#include <cfenv>

namespace planaris {

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

}  // namespace planaris
