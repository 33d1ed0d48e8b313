// Numbers of twice the precision of doubles: high + low, with the range of doubles.
//
// Unlike base/double_double.hpp they have no exponent of their own, so that loops over them are
// quick; whoever uses them scales by powers of two. Sums and products are off by a few 2^-104.
#pragma once

#include <cmath>

namespace planaris::tensor {

struct Pair {
  double high = 0.0, low = 0.0;

  Pair() = default;
  Pair(double value) : high(value) {}  // NOLINT: numbers convert
  Pair(double h, double l) : high(h), low(l) {}

  inline __attribute__((always_inline)) Pair operator-() const { return {-high, -low}; }
};

// s + e is a + b, exactly (Knuth).
inline __attribute__((always_inline)) Pair exact_sum(double a, double b) {
  const double s = a + b, bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}

// The same for |a| >= |b| (Dekker).
inline __attribute__((always_inline)) Pair quick_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

inline __attribute__((always_inline)) Pair operator+(const Pair& a, const Pair& b) {
  const Pair s = exact_sum(a.high, b.high);
  const Pair t = exact_sum(a.low, b.low);
  const Pair u = quick_sum(s.high, s.low + t.high);
  return quick_sum(u.high, u.low + t.low);
}

inline __attribute__((always_inline)) Pair operator-(const Pair& a, const Pair& b) {
  return a + (-b);
}

inline __attribute__((always_inline)) Pair operator*(const Pair& a, const Pair& b) {
  const double p = a.high * b.high;
  const double lost = std::fma(a.high, b.high, -p);
  return quick_sum(p, lost + (a.high * b.low + a.low * b.high));
}

inline __attribute__((always_inline)) Pair operator*(const Pair& a, double b) {
  const double p = a.high * b;
  return quick_sum(p, std::fma(a.high, b, -p) + a.low * b);
}

inline __attribute__((always_inline)) Pair operator*(double a, const Pair& b) { return b * a; }

inline __attribute__((always_inline)) Pair operator/(const Pair& a, const Pair& b) {
  const double first = a.high / b.high;
  const Pair rest = a - b * first;
  const double second = rest.high / b.high;
  const Pair last = rest - b * second;
  return quick_sum(first, second) + Pair(last.high / b.high);
}

inline __attribute__((always_inline)) Pair& operator+=(Pair& a, const Pair& b) { return a = a + b; }
inline __attribute__((always_inline)) Pair& operator-=(Pair& a, const Pair& b) { return a = a - b; }
inline __attribute__((always_inline)) Pair& operator*=(Pair& a, double b) { return a = a * b; }
inline __attribute__((always_inline)) Pair& operator/=(Pair& a, const Pair& b) { return a = a / b; }

// What kernels for both kinds of numbers need.
inline __attribute__((always_inline)) double nearest(double x) { return x; }
inline __attribute__((always_inline)) double nearest(const Pair& x) { return x.high; }
inline __attribute__((always_inline)) double size_of(double x) { return std::fabs(x); }
inline __attribute__((always_inline)) double size_of(const Pair& x) { return std::fabs(x.high); }

// log(x) of a positive number, to the precision of doubles.
inline double log_of(double x) { return std::log(x); }
inline double log_of(const Pair& x) { return std::log(x.high) + x.low / x.high; }

// What numbers of kind T may be divided and multiplied by again: for pairs a power of two, so that
// nothing is rounded.
template <class T>
double divisor(double x);
template <>
inline double divisor<double>(double x) {
  return x;
}
template <>
inline double divisor<Pair>(double x) {
  return x > 0 && std::isfinite(x) ? std::ldexp(1.0, std::ilogb(x)) : x;
}

}  // namespace planaris::tensor
