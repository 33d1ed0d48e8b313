// An exponential whose error is bounded by a proof, not by what the library of the machine says.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/scaled.hpp"
#include "base/simd.hpp"

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

// The same, |x| <= 700, with a relative error of at most kCloseExpError.
//
// r = x - k ln 2 is kept as two doubles: k kHigh is exact, so are both sums, and k kLow is off by
// less than 2^-22 u. exp(r) = 1 + r + t + …, t = r²/2 · q, q = 1 + r/3 (1 + r/4 (…)) up to degree
// 15, which leaves out less than 2^-67. With |r| < .347, q is off by less than 1.6 u and at least
// .88, so t < .07 is off by less than 3.9 u · .07 < .28 u. The low part of r adds low (1 + r), less
// than .03 u of it left out; t + low and the low part of 1 + r are added with two roundings of less
// than .08 u each. Together that is less than .5 u, .71 u of a result that is at least .7, and the
// last sum is rounded once: 1.71 u.
constexpr double kCloseExpError = 2 * 0x1p-53;

PLANARIS_INLINE double close_exp(double x) {
  constexpr double kLog2e = 1.4426950408889634, kInteger = 0x1.8p52;
  constexpr double kHigh = 0x1.62e42fee00000p-1, kLow = 0x1.a39ef35793c76p-33;
  const double shifted = x * kLog2e + kInteger;  // rounded to an integer, which its last bits are
  const double k = shifted - kInteger;
  const TwoDoubles reduced = TwoDoubles::sum(x, -(k * kHigh));
  const TwoDoubles r = TwoDoubles::sum(reduced.high, -(k * kLow));
  const double low = r.low + reduced.low;
  double q = 1;
  for (int j = 15; j >= 3; --j) q = 1 + q * (r.high / j);
  const double t = r.high * (0.5 * r.high) * q + (low + low * r.high);
  const TwoDoubles sum = TwoDoubles::sum(1.0, r.high);
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
  return (sum.high + (sum.low + t)) * power;  // exact: no result is past 2^±1011
}

// Whether tiny results are kept rather than flushed to zero.
inline bool keeps_subnormals() {
  volatile double tiny = 0x1p-1022;
  return tiny * 0.5 > 0;
}

}  // namespace planaris
