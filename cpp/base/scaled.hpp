// Doubles with an exponent of their own: products of any number of weights neither overflow nor
// vanish, and a sum keeps full relative accuracy, where logarithms of size 1e5 would have
// lost five digits. The exponent is an integer: products of weights as large as e^(1e18) lose
// nothing but the roundings of their mantissas.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace planaris {

// 2^k for -1022 <= k <= 1023, without a call.
inline double power_of_two(int64_t k) {
  return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

// x - k ln 2, right to the last place for |k| <= 2^53: states of large weights differ by what is
// left here, so a rounding of the size of x's last place would be an error of their ratio.
inline double minus_multiple_of_ln2(double x, double k) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
  return std::fma(-k, kLn2, x) - k * kLn2Rest;
}

// An unevaluated sum of two doubles, the second below half an ulp of the first (Dekker).
struct TwoDoubles {
  double high = 0.0, low = 0.0;

  static TwoDoubles sum(double a, double b) {
    const double s = a + b, other = s - a;
    return {s, (a - (s - other)) + (b - other)};
  }
  static TwoDoubles product(double a, double b) {
    const double p = a * b;
    return {p, std::fma(a, b, -p)};
  }
  TwoDoubles operator-() const { return {-high, -low}; }
  TwoDoubles& operator+=(const TwoDoubles& other) { return *this = *this + other; }
  TwoDoubles& operator-=(const TwoDoubles& other) { return *this = *this + -other; }
  // Within 2^-104 of the size of both; minus infinity absorbs.
  friend TwoDoubles operator+(const TwoDoubles& a, const TwoDoubles& b) {
    if (a.high + b.high == -std::numeric_limits<double>::infinity()) return {a.high + b.high, 0.0};
    TwoDoubles s = sum(a.high, b.high);
    const TwoDoubles t = sum(a.low, b.low);
    s = sum(s.high, s.low + t.high);
    return sum(s.high, s.low + t.low);
  }
  friend TwoDoubles operator-(const TwoDoubles& a, const TwoDoubles& b) { return a + -b; }
  friend bool operator<(const TwoDoubles& a, const TwoDoubles& b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
  }
};

constexpr double kLn2High = 0x1.62e42fefa39efp-1, kLn2Middle = 0x1.abc9e3b39803fp-56,
                 kLn2Low = 0x1.7b57a079a1934p-111;

// k ln 2 within 2^-104 of its size, for |k| <= 2^62.
inline TwoDoubles multiple_of_ln2(int64_t k) {
  const auto high = static_cast<double>(k);
  const auto low = static_cast<double>(k - static_cast<int64_t>(high));
  const TwoDoubles p = TwoDoubles::product(high, kLn2High);
  return TwoDoubles::sum(p.high, p.low + (high * kLn2Middle + low * kLn2High));
}

// value = m * 2^e; zero is m == 0.
struct Scaled {
  // Logarithms of weights, and of their products, up to this size have an exponent.
  static constexpr double kLargestLog = 0x1p60;

  double m = 0.0;
  int64_t e = 0;

  // Right to two places of m for logarithms below kLargestLog; larger ones are cut off.
  static Scaled from_log(double log_value) {
    if (log_value == -std::numeric_limits<double>::infinity()) return {};
    const double x = std::clamp(log_value, -kLargestLog, kLargestLog);
    const double k = std::nearbyint(x * 1.4426950408889634);
    // x - k ln 2 with every product split: what is left decides the ratios of large weights.
    const TwoDoubles p = TwoDoubles::product(k, kLn2High), q = TwoDoubles::product(k, kLn2Middle);
    const TwoDoubles near = TwoDoubles::sum(x - p.high, -p.low);  // the difference is exact
    const TwoDoubles left = near + TwoDoubles{-q.high, -q.low} + TwoDoubles{-k * kLn2Low, 0.0};
    const double again = std::nearbyint(left.high * 1.4426950408889634);
    Scaled result{std::exp(minus_multiple_of_ln2(left.high, again) + left.low),
                  static_cast<int64_t>(k) + static_cast<int64_t>(again)};
    result.normalize();
    return result;
  }

  double log() const {
    if (m == 0.0) return -std::numeric_limits<double>::infinity();
    const TwoDoubles power = multiple_of_ln2(e);
    return power.high + (std::log(m) + power.low);
  }

  // Brings m into [1, 2).
  void normalize() {
    if (m == 0.0) {
      e = 0;
      return;
    }
    const auto bits = std::bit_cast<uint64_t>(m);
    const auto exponent = static_cast<int64_t>((bits >> 52) & 0x7ff);
    if (exponent == 0) {  // subnormal
      m *= 0x1p64;
      e -= 64;
      normalize();
      return;
    }
    m = std::bit_cast<double>((bits & 0x800fffffffffffffULL) | 0x3ff0000000000000ULL);
    e += exponent - 1023;
  }

  Scaled& operator*=(const Scaled& other) {
    m *= other.m;
    e += other.e;
    return *this;
  }
};

// m * 2^(e - reference), zero when below 2^-1000; for m < 2^900 and e <= reference, or m == 0.
inline double relative_to(const Scaled& x, int64_t reference) {
  const auto below = static_cast<uint64_t>(reference - x.e);
  return below > 1000 ? 0.0 : x.m * power_of_two(-static_cast<int64_t>(below));
}

}  // namespace planaris
