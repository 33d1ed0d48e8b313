// The three kinds of numbers a frontier table can hold, as operations on rows of L lanes.
// A row of kind N takes N::kPlanes * L doubles; planes lie `plane` doubles apart.
// Operations are written once for a pack of W lanes, which is one double or a register of them: to
// itself the compiler turns half of the loops over lanes into scalar code.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/scaled.hpp"
#include "base/simd.hpp"

namespace planaris::frontier {

struct Weights {  // of one 2x2 update [old][new] or [.][label], in the kind's own terms
  double m[4], e[4];
};

// Weights as they are; the table carries one power of two.
struct Plain {
  static constexpr int kPlanes = 1;
  static constexpr bool kSum = true;

  static void set(double log, double& m, double& e) {
    m = std::exp(log);
    e = 0.0;
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void update(double* x0, double* x1, const Weights& w, int i, int j) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) {
      const auto a = P::get(x0 + l), b = P::get(x1 + l);
      P::set(x0 + l, a * w.m[0] + b * w.m[i]);
      P::set(x1 + l, a * w.m[j] + b * w.m[3]);
    }
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void replace(double* x0, double* x1, size_t, const Weights& w) {
    update<L, W>(x0, x1, w, 2, 1);
  }
  // Against the arrow of time: weights transposed.
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void replace_back(double* x0, double* x1, size_t, const Weights& w) {
    update<L, W>(x0, x1, w, 1, 2);
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void scale(double* x, size_t, double m, double) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) P::set(x + l, P::get(x + l) * m);
  }
  // sum[l] += a * weight * b, relative to 2^reference.
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void joint(const double* a, const double* b, size_t, double m, double,
                                    double, double* sum) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) {
      P::set(sum + l, P::get(sum + l) + P::get(a + l) * P::get(b + l) * m);
    }
  }
  // Largest entry stored so far, by lane.
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void settle(double* x, size_t, double* top) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) {
      const auto value = P::get(x + l), most = P::get(top + l);
      P::set(top + l, value > most ? value : most);
    }
  }
};

// Every entry with its own exponent: two planes, m and e; zero is m = 0 at kNowhere.
struct OwnExponent {
  static constexpr int kPlanes = 2;
  static constexpr bool kSum = true;
  static constexpr double kNowhere = -1e17;  // logs are below 1e15, so nothing real is here

  static void set(double log, double& m, double& e) {
    if (log == -std::numeric_limits<double>::infinity()) {
      m = 0.0;
      e = kNowhere;
      return;
    }
    e = std::nearbyint(log * 1.4426950408889634);
    m = std::exp(minus_multiple_of_ln2(log, e));
  }
  // 2^-d for whole d >= 0; zero from 1023 on.
  template <int W>
  static PLANARIS_INLINE typename Pack<W>::Type down(typename Pack<W>::Type d) {
    const typename Pack<W>::Type most = d * 0.0 + 1023.0;
    const typename Pack<W>::Type k = 1023.0 - (d < most ? d : most);
    return std::bit_cast<typename Pack<W>::Type>(std::bit_cast<typename Pack<W>::Bits>(k + 0x1.8p52)
                                                 << 52);
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void update(double* x0, double* x1, size_t plane, const Weights& w, int i,
                                     int j) {
    using P = Pack<W>;
    using T = typename P::Type;
    const auto add = [](T ma, T ea, T mb, T eb, double* m, double* e) {
      const T high = ea >= eb ? ma : mb, low = ea >= eb ? mb : ma;
      const T top = ea >= eb ? ea : eb, bottom = ea >= eb ? eb : ea;
      P::set(e, top);
      P::set(m, high + low * down<W>(top - bottom));
    };
    for (int l = 0; l < L; l += W) {
      const T a = P::get(x0 + l), b = P::get(x1 + l);
      const T ea = P::get(x0 + plane + l), eb = P::get(x1 + plane + l);
      add(a * w.m[0], ea + w.e[0], b * w.m[i], eb + w.e[i], x0 + l, x0 + plane + l);
      add(a * w.m[j], ea + w.e[j], b * w.m[3], eb + w.e[3], x1 + l, x1 + plane + l);
    }
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void replace(double* x0, double* x1, size_t plane, const Weights& w) {
    update<L, W>(x0, x1, plane, w, 2, 1);
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void replace_back(double* x0, double* x1, size_t plane, const Weights& w) {
    update<L, W>(x0, x1, plane, w, 1, 2);
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void scale(double* x, size_t plane, double m, double e) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) {
      P::set(x + l, P::get(x + l) * m);
      P::set(x + plane + l, P::get(x + plane + l) + e);
    }
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void joint(const double* a, const double* b, size_t plane, double m,
                                    double e, double reference, double* sum) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) {
      const auto d = reference - (P::get(a + plane + l) + P::get(b + plane + l) + e);
      // d > -64: a single term exceeds the whole sum by mantissas only.
      P::set(sum + l, P::get(sum + l) + P::get(a + l) * P::get(b + l) * m * down<W>(d + 64.0));
    }
  }
  // Brings mantissas back into [1, 2).
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void settle(double* x, size_t plane, double*) {
    using P = Pack<W>;
    using T = typename P::Type;
    using B = typename P::Bits;
    for (int l = 0; l < L; l += W) {
      const T m = P::get(x + l), e = P::get(x + plane + l), zero = m * 0.0;
      const B bits = std::bit_cast<B>(m);
      const T shift = std::bit_cast<T>((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
      const T whole = std::bit_cast<T>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
      P::set(x + plane + l, m == zero ? zero + kNowhere : e + shift);
      P::set(x + l, m == zero ? zero : whole);
    }
  }
};

// Logarithms, larger is better.
struct Best {
  static constexpr int kPlanes = 1;
  static constexpr bool kSum = false;

  static void set(double log, double& m, double& e) {
    m = log;
    e = 0.0;
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void replace(double* x0, double* x1, size_t, const Weights& w) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) {
      const auto a = P::get(x0 + l), b = P::get(x1 + l);
      const auto p = a + w.m[0], q = b + w.m[2], r = a + w.m[1], s = b + w.m[3];
      P::set(x0 + l, p > q ? p : q);
      P::set(x1 + l, r > s ? r : s);
    }
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void scale(double* x, size_t, double m, double) {
    using P = Pack<W>;
    for (int l = 0; l < L; l += W) P::set(x + l, P::get(x + l) + m);
  }
  template <int L, int W = std::min(L, kPlainWidth)>
  static PLANARIS_INLINE void settle(double*, size_t, double*) {}
};

}  // namespace planaris::frontier
