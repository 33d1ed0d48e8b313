// The three kinds of numbers a frontier table can hold, as operations on rows of L lanes.
// A row of kind N takes N::kPlanes * L doubles; planes lie `plane` doubles apart.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#define PLANARIS_INLINE inline __attribute__((always_inline))

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
  template <int L>
  static PLANARIS_INLINE void replace(double* __restrict x0, double* __restrict x1, size_t,
                                      const Weights& w) {
    for (int l = 0; l < L; ++l) {
      const double a = x0[l], b = x1[l];
      x0[l] = a * w.m[0] + b * w.m[2];
      x1[l] = a * w.m[1] + b * w.m[3];
    }
  }
  // Against the arrow of time: weights transposed.
  template <int L>
  static PLANARIS_INLINE void replace_back(double* __restrict x0, double* __restrict x1, size_t,
                                           const Weights& w) {
    for (int l = 0; l < L; ++l) {
      const double a = x0[l], b = x1[l];
      x0[l] = a * w.m[0] + b * w.m[1];
      x1[l] = a * w.m[2] + b * w.m[3];
    }
  }
  template <int L>
  static PLANARIS_INLINE void scale(double* __restrict x, size_t, double m, double) {
    for (int l = 0; l < L; ++l) x[l] *= m;
  }
  // sum[l] += a * weight * b, relative to 2^reference.
  template <int L>
  static PLANARIS_INLINE void joint(const double* __restrict a, const double* __restrict b, size_t,
                                    double m, double, double, double* __restrict sum) {
    for (int l = 0; l < L; ++l) sum[l] += a[l] * b[l] * m;
  }
  // Largest entry stored so far, by lane.
  template <int L>
  static PLANARIS_INLINE void settle(double* __restrict x, size_t, double* __restrict top) {
    for (int l = 0; l < L; ++l) top[l] = x[l] > top[l] ? x[l] : top[l];
  }
};

// Every entry with its own exponent: two planes, m and e; zero is m = 0 at kNowhere.
struct Wide {
  static constexpr int kPlanes = 2;
  static constexpr bool kSum = true;
  static constexpr double kNowhere = -1e17;  // logs are below 1e15, so nothing real is here

  static void set(double log, double& m, double& e) {
    if (log == -std::numeric_limits<double>::infinity()) {
      m = 0.0;
      e = kNowhere;
      return;
    }
    constexpr double kLn2Hi = 6.93147180369123816490e-01, kLn2Lo = 1.90821492927058770002e-10;
    e = std::nearbyint(log * 1.4426950408889634);
    m = std::exp((log - e * kLn2Hi) - e * kLn2Lo);
  }
  // 2^-d for whole d >= 0; zero from 1023 on.
  static PLANARIS_INLINE double down(double d) {
    const double k = 1023.0 - (d < 1023.0 ? d : 1023.0);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(k + 0x1.8p52) << 52);
  }
  static PLANARIS_INLINE void add(double ma, double ea, double mb, double eb, double& m,
                                  double& e) {
    const double d = ea - eb;
    const double high = d >= 0 ? ma : mb, low = d >= 0 ? mb : ma;
    e = d >= 0 ? ea : eb;
    m = high + low * down(d >= 0 ? d : -d);
  }
  template <int L>
  static PLANARIS_INLINE void update(double* __restrict x0, double* __restrict x1, size_t plane,
                                     const Weights& w, int i, int j) {
    double* __restrict e0 = x0 + plane;
    double* __restrict e1 = x1 + plane;
    for (int l = 0; l < L; ++l) {
      const double a = x0[l], b = x1[l], ea = e0[l], eb = e1[l];
      add(a * w.m[0], ea + w.e[0], b * w.m[i], eb + w.e[i], x0[l], e0[l]);
      add(a * w.m[j], ea + w.e[j], b * w.m[3], eb + w.e[3], x1[l], e1[l]);
    }
  }
  template <int L>
  static PLANARIS_INLINE void replace(double* x0, double* x1, size_t plane, const Weights& w) {
    update<L>(x0, x1, plane, w, 2, 1);
  }
  template <int L>
  static PLANARIS_INLINE void replace_back(double* x0, double* x1, size_t plane, const Weights& w) {
    update<L>(x0, x1, plane, w, 1, 2);
  }
  template <int L>
  static PLANARIS_INLINE void scale(double* __restrict x, size_t plane, double m, double e) {
    for (int l = 0; l < L; ++l) {
      x[l] *= m;
      x[plane + l] += e;
    }
  }
  template <int L>
  static PLANARIS_INLINE void joint(const double* __restrict a, const double* __restrict b,
                                    size_t plane, double m, double e, double reference,
                                    double* __restrict sum) {
    for (int l = 0; l < L; ++l) {
      const double d = reference - (a[plane + l] + b[plane + l] + e);
      // d > -64: a single term exceeds the whole sum by mantissas only.
      sum[l] += a[l] * b[l] * m * down(d + 64.0);
    }
  }
  // Brings mantissas back into [1, 2).
  template <int L>
  static PLANARIS_INLINE void settle(double* __restrict x, size_t plane, double* __restrict) {
    for (int l = 0; l < L; ++l) {
      const auto bits = std::bit_cast<uint64_t>(x[l]);
      const bool zero = x[l] == 0.0;
      const double shift =
          std::bit_cast<double>((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
      const auto mantissa = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
      x[plane + l] = zero ? kNowhere : x[plane + l] + shift;
      x[l] = zero ? 0.0 : std::bit_cast<double>(mantissa);
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
  template <int L>
  static PLANARIS_INLINE void replace(double* __restrict x0, double* __restrict x1, size_t,
                                      const Weights& w) {
    for (int l = 0; l < L; ++l) {
      const double a = x0[l], b = x1[l];
      const double p = a + w.m[0], q = b + w.m[2], r = a + w.m[1], s = b + w.m[3];
      x0[l] = p > q ? p : q;
      x1[l] = r > s ? r : s;
    }
  }
  template <int L>
  static PLANARIS_INLINE void scale(double* __restrict x, size_t, double m, double) {
    for (int l = 0; l < L; ++l) x[l] += m;
  }
  template <int L>
  static PLANARIS_INLINE void settle(double* __restrict, size_t, double* __restrict) {}
};

}  // namespace planaris::frontier
