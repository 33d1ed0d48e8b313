// Double-double numbers with an unbounded exponent: what elimination falls back to when plain
// double is not accurate enough or a weight lies below its range.
//
// value = (high + low) * 2^(256 * exponent), |low| ≤ ulp(high) / 2, 2^-128 ≤ |high| < 2^128.
#pragma once

#include <cmath>
#include <cstdint>

namespace planaris {

struct DoubleDouble {
  double high = 0.0, low = 0.0;
  int64_t exponent = 0;

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) { normalize(); }  // NOLINT: numbers convert
  // The sum of two doubles, the second no more than half a unit in the last place of the first.
  DoubleDouble(double first, double second) : high(first), low(second) { normalize(); }

  // exp(x) to about thirty digits, less those that x has before its point.
  static DoubleDouble exp(double x) {
    constexpr double kLog2 = 0x1.62e42fefa39efp-1, kLog2Low = 0x1.abc9e3b39803fp-56;
    constexpr int kHalvings = 9, kTerms = 9;
    // x = n log 2 + rest, log 2 being two doubles.
    const double n = std::nearbyint(x / kLog2);
    const double product = n * kLog2, lost = std::fma(n, kLog2, -product);
    double high, low;
    two_sum(x, -product, high, low);
    low -= lost;
    low -= n * kLog2Low;
    quick_two_sum(high, low);
    DoubleDouble rest;  // a pair: exponents stay 0 down to 2^-128, and exp is 1 there
    rest.high = std::ldexp(high, -kHalvings);
    rest.low = std::ldexp(low, -kHalvings);
    rest.normalize();
    // exp - 1 by its series, then squared again and again: (1 + y)² - 1 = 2 y + y².
    DoubleDouble y(0.0);
    for (int k = kTerms; k >= 1; --k) y = rest * (DoubleDouble(1.0) + y) / DoubleDouble(k);
    for (int k = 0; k < kHalvings; ++k) y = y + y + y * y;
    DoubleDouble result = DoubleDouble(1.0) + y;
    const double steps = std::floor(n / 256.0);
    const int left = static_cast<int>(n - 256.0 * steps);
    result.high = std::ldexp(result.high, left);
    result.low = std::ldexp(result.low, left);
    result.exponent += static_cast<int64_t>(steps);
    result.normalize();
    return result;
  }

  bool is_zero() const { return high == 0.0; }

  DoubleDouble operator-() const {
    DoubleDouble r = *this;
    r.high = -high;
    r.low = -low;
    return r;
  }

  DoubleDouble& operator+=(const DoubleDouble& b) { return *this = *this + b; }

  friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const int64_t apart = a.exponent - b.exponent;
    if (apart > 1) return a;
    if (apart < -1) return b;
    const double shift_a = apart < 0 ? kShrink : 1.0, shift_b = apart > 0 ? kShrink : 1.0;
    const double ah = a.high * shift_a, al = a.low * shift_a;
    const double bh = b.high * shift_b, bl = b.low * shift_b;
    // Accurate double-double sum (Dekker; Li et al., QD library).
    double s, e, t, f;
    two_sum(ah, bh, s, e);
    two_sum(al, bl, t, f);
    e += t;
    quick_two_sum(s, e);
    e += f;
    quick_two_sum(s, e);
    DoubleDouble r;
    r.high = s;
    r.low = e;
    r.exponent = apart < 0 ? b.exponent : a.exponent;
    r.normalize();
    return r;
  }

  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + (-b); }

  friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    DoubleDouble r;
    r.high = a.high * b.high;
    r.low = std::fma(a.high, b.high, -r.high) + (a.high * b.low + a.low * b.high);
    quick_two_sum(r.high, r.low);
    r.exponent = a.exponent + b.exponent;
    r.normalize();
    return r;
  }

  friend DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
    DoubleDouble q(a.high / b.high);
    q.exponent += a.exponent - b.exponent;
    for (int step = 0; step < 2; ++step) {
      const DoubleDouble rest = a - q * b;
      DoubleDouble correction(rest.high / b.high);
      if (rest.is_zero()) break;
      correction.exponent += rest.exponent - b.exponent;
      q = q + correction;
    }
    return q;
  }

  friend bool operator<(const DoubleDouble& a, const DoubleDouble& b) { return (a - b).high < 0.0; }
  friend bool operator>(const DoubleDouble& a, const DoubleDouble& b) { return b < a; }

 private:
  static constexpr double kShrink = 0x1p-256, kGrow = 0x1p256;

  static void two_sum(double a, double b, double& s, double& e) {
    s = a + b;
    const double bb = s - a;
    e = (a - (s - bb)) + (b - bb);
  }
  static void quick_two_sum(double& s, double& e) {
    const double t = s + e;
    e = e - (t - s);
    s = t;
  }
  void normalize() {
    if (high == 0.0) {
      low = 0.0;
      exponent = 0;
      return;
    }
    while (std::fabs(high) >= 0x1p128) {
      high *= kShrink;
      low *= kShrink;
      ++exponent;
    }
    while (std::fabs(high) < 0x1p-128) {
      high *= kGrow;
      low *= kGrow;
      --exponent;
    }
  }
};

// The few functions that elimination needs of a number.
inline double magnitude(double x) { return std::fabs(x); }
inline DoubleDouble magnitude(const DoubleDouble& x) { return x.high < 0.0 ? -x : x; }
inline bool is_zero(double x) { return x == 0.0; }
inline bool is_zero(const DoubleDouble& x) { return x.is_zero(); }
inline bool is_negative(double x) { return x < 0.0; }
inline bool is_negative(const DoubleDouble& x) { return x.high < 0.0; }
inline double log_magnitude(double x) { return std::log(std::fabs(x)); }
inline double log_magnitude(const DoubleDouble& x) {
  return std::log(std::fabs(x.high)) + x.low / x.high +
         static_cast<double>(x.exponent) * 177.445678223346;
}
inline double to_double(double x) { return x; }
inline double to_double(const DoubleDouble& x) {
  if (x.exponent > 3 || x.exponent < -4) return x.exponent > 0 ? x.high * 1e308 * 10 : 0.0;
  return std::ldexp(x.high, static_cast<int>(256 * x.exponent)) +
         std::ldexp(x.low, static_cast<int>(256 * x.exponent));
}
// Exponent of a number that is not zero, and powers of two: scaling by them is exact.
inline int64_t binary_exponent(double x) { return std::ilogb(x); }
inline int64_t binary_exponent(const DoubleDouble& x) {
  return std::ilogb(x.high) + 256 * x.exponent;
}
template <class T>
T power_of_two(int64_t exponent);
template <>
inline double power_of_two<double>(int64_t exponent) {
  return std::ldexp(1.0, static_cast<int>(exponent));
}
template <>
inline DoubleDouble power_of_two<DoubleDouble>(int64_t exponent) {
  const int64_t rest = exponent & 255;
  DoubleDouble r(std::ldexp(1.0, static_cast<int>(rest)));
  r.exponent += (exponent - rest) / 256;
  return r;
}
template <class T>
T exponential(double x);
template <>
inline double exponential<double>(double x) {
  return std::exp(x);
}
template <>
inline DoubleDouble exponential<DoubleDouble>(double x) {
  return DoubleDouble::exp(x);
}

}  // namespace planaris
