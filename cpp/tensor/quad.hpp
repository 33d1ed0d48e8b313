// Numbers of four times the precision of doubles: the sum of four, with the range of doubles.
//
// Sums and products as in Y. Hida, X. S. Li, D. H. Bailey, "Algorithms for quad-double precision
// floating point arithmetic" (2001), the ones without a correction after cancellation: they are off
// by a few 2^-208 of the terms.
#pragma once

#include <cmath>

#include "base/simd.hpp"
#include "tensor/pair.hpp"

namespace planaris::tensor {

struct Quad {
  double part[4] = {0.0, 0.0, 0.0,
                    0.0};  // each below half a unit in the last place of the one before

  Quad() = default;
  Quad(double value) : part{value, 0.0, 0.0, 0.0} {}  // NOLINT: numbers convert
  Quad(double a, double b, double c, double d) : part{a, b, c, d} {}

  PLANARIS_INLINE Quad operator-() const { return {-part[0], -part[1], -part[2], -part[3]}; }
};

// a = the sum, b = what is lost of it.
PLANARIS_INLINE void add_exactly(double& a, double& b) {
  const Pair s = exact_sum(a, b);
  a = s.high;
  b = s.low;
}

PLANARIS_INLINE void add_exactly(double& a, double& b, double& c) {
  add_exactly(a, b);
  add_exactly(a, c);
  add_exactly(b, c);
}

// Five terms of falling size, without overlap.
PLANARIS_INLINE Quad settle(double a, double b, double c, double d, double e) {
  double x[5] = {a, b, c, d, e};
  for (int k = 4; k > 0; --k) {
    const Pair s = quick_sum(x[k - 1], x[k]);
    x[k - 1] = s.high;
    x[k] = s.low;
  }
  Quad out;
  int at = 0;
  double sum = x[0];
  for (int k = 1; k < 5; ++k) {
    const Pair s = quick_sum(sum, x[k]);
    sum = s.high;
    if (s.low == 0) continue;
    out.part[at++] = sum;
    if (at == 4) return out;
    sum = s.low;
  }
  out.part[at] = sum;
  return out;
}

PLANARIS_INLINE Quad operator+(const Quad& a, const Quad& b) {
  double s[4], t[4];
  for (int k = 0; k < 4; ++k) {
    s[k] = a.part[k];
    t[k] = b.part[k];
    add_exactly(s[k], t[k]);
  }
  add_exactly(s[1], t[0]);
  add_exactly(s[2], t[0], t[1]);
  add_exactly(s[3], t[0], t[2]);
  return settle(s[0], s[1], s[2], s[3], t[0] + t[1] + t[2] + t[3]);
}

PLANARIS_INLINE Quad operator-(const Quad& a, const Quad& b) { return a + (-b); }

PLANARIS_INLINE Pair exact_product(double a, double b) {
  const double p = a * b;
  return {p, std::fma(a, b, -p)};
}

PLANARIS_INLINE Quad operator*(const Quad& a, const Quad& b) {
  const double *x = a.part, *y = b.part;
  const Pair first = exact_product(x[0], y[0]);
  const Pair second[2] = {exact_product(x[0], y[1]), exact_product(x[1], y[0])};
  const Pair third[3] = {exact_product(x[0], y[2]), exact_product(x[1], y[1]),
                         exact_product(x[2], y[0])};
  double p1 = second[0].high, p2 = second[1].high, q0 = first.low;
  add_exactly(p1, p2, q0);
  double q1 = second[0].low, q2 = second[1].low;
  add_exactly(p2, q1, q2);
  double p3 = third[0].high, p4 = third[1].high, p5 = third[2].high;
  add_exactly(p3, p4, p5);
  add_exactly(p2, p3);
  add_exactly(q1, p4);
  add_exactly(q1, p3);
  const double last = q2 + p5 + p3 + p4;
  q1 += x[0] * y[3] + x[1] * y[2] + x[2] * y[1] + x[3] * y[0] + q0 + third[0].low + third[1].low +
        third[2].low;
  return settle(first.high, p1, p2, q1, last);
}

PLANARIS_INLINE Quad operator*(const Quad& a, double b) {
  const Pair p0 = exact_product(a.part[0], b), p1 = exact_product(a.part[1], b),
             p2 = exact_product(a.part[2], b);
  double s1 = p0.low, s2 = p1.high, s3 = p1.low, t = p2.high, u = p2.low, v = a.part[3] * b;
  add_exactly(s1, s2);
  add_exactly(s2, s3, t);
  add_exactly(s3, u, v);
  return settle(p0.high, s1, s2, s3, u + t);
}

PLANARIS_INLINE Quad operator*(double a, const Quad& b) { return b * a; }

PLANARIS_INLINE Quad operator/(const Quad& a, const Quad& b) {
  double digit[4];
  Quad rest = a;
  for (double& q : digit) {
    q = rest.part[0] / b.part[0];
    rest = rest - b * q;
  }
  return settle(digit[0], digit[1], digit[2], digit[3], rest.part[0] / b.part[0]);
}

PLANARIS_INLINE Quad& operator+=(Quad& a, const Quad& b) { return a = a + b; }
PLANARIS_INLINE Quad& operator-=(Quad& a, const Quad& b) { return a = a - b; }
PLANARIS_INLINE Quad& operator*=(Quad& a, double b) { return a = a * b; }
PLANARIS_INLINE Quad& operator/=(Quad& a, const Quad& b) { return a = a / b; }

PLANARIS_INLINE double nearest(const Quad& x) { return x.part[0]; }
PLANARIS_INLINE double size_of(const Quad& x) { return std::fabs(x.part[0]); }
inline double log_of(const Quad& x) { return std::log(x.part[0]) + x.part[1] / x.part[0]; }

template <>
inline double divisor<Quad>(double x) {
  return divisor<Pair>(x);
}

}  // namespace planaris::tensor
