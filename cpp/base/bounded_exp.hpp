// An exponential whose error is bounded by a proof, not by what the library of the machine says.
#pragma once

#include <cmath>

namespace planaris {

// exp(x), |x| <= 700, with a relative error of at most kExpError, rounding to nearest.
//
// x = k ln 2 + r: k ln2_high is exact (ln2_high has 32 bits, |k| < 2^11), x - k ln2_high is exact
// or rounded once, k ln2_low has an error of 2^-53 · 2^11 · 2^-33; together r is off by less than
// 2^-53 |r| + 2^-64 and |r| < .35. The Taylor sum q = r(1 + r/2(1 + r/3(…))) of degree 15 leaves
// out less than .35^16/16! < 2^-67, and each of its nestings contributes at most three roundings
// scaled by r/j: q is off by less than 6u|q|. exp(r) = 1 + q, q in (-.3, .42), is off by less than
// u + 6u·.42/.7 + 2u·.35 + 2^-63 < 6u, u = 2^-53; 8u leaves room for second-order terms.
constexpr double kExpError = 8 * 0x1p-53;

inline double bounded_exp(double x) {
  constexpr double kLog2e = 1.4426950408889634;
  constexpr double kHigh = 0x1.62e42fee00000p-1, kLow = 0x1.a39ef35793c76p-33;
  const double k = std::nearbyint(x * kLog2e);
  const double r = (x - k * kHigh) - k * kLow;
  double q = 1;
  for (int j = 15; j >= 2; --j) q = 1 + q * (r / j);
  return std::ldexp(1 + r * q, static_cast<int>(k));
}

// Whether tiny results are kept rather than flushed to zero.
inline bool keeps_subnormals() {
  volatile double tiny = 0x1p-1022;
  return tiny * 0.5 > 0;
}

}  // namespace planaris
