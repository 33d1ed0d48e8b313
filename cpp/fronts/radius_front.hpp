// Elimination of a dense skew-symmetric front in a given order, every entry with a radius: a bound
// on how far it is from the entry that exact arithmetic would give (docs/theory/rigour.md).
//
// With d the pivot, u and v its columns, r their radii and ρ = r_d / |d|, the update
// (v_i u_j - u_i v_j) / d is off by no more than e₁z₁ᵀ + z₁e₁ᵀ + e₂z₂ᵀ + z₂e₂ᵀ, where
//   e₁ = (|v/d| + r_v / 2|d|) (1 + ρ'),  z₁ = r_u + (ρ' + φ) |u| / 2,  ρ' = ρ / (1 - ρ),
// the same with u and v swapped for e₂ and z₂, and φ the roundings of the update itself. So radii
// are updated like entries, by four columns where those have two.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "fronts/front_elimination.hpp"
#include "fronts/radius_columns.hpp"
#include "fronts/rank_update.hpp"

namespace planaris {

// Buffers that one thread reuses from front to front.
struct RadiusBuffers {
  std::vector<double> kept, left, right;
  Packing packing;
};

class RadiusFront {
 public:
  static constexpr double kUnit = 0x1p-53;
  static constexpr double kRead = kReadRadius;
  // More than all that underflows on the way to one entry, and what that takes of a factor.
  static constexpr double kTiny = 0x1p-1060, kTinyFactor = 0x1p-1000;

  // `a` and `r` hold rows × rows numbers, column-major, of which the strict lower triangle counts.
  RadiusFront(double* a, double* r, int rows, double weight, RadiusBuffers& buffers,
              const ParallelFor& parallel, double underflow = 1.0)
      : a_(a), r_(r), n_(rows), weight_(weight), underflow_(underflow), buffers_(buffers),
        parallel_(parallel) {}

  // Eliminates the first rows, pair by pair. Afterwards the radii of the rest are as large as
  // `handed_on()` says. Returns false if a pivot is not known to differ from zero.
  bool run(int eliminated) {
    const auto roundings = FrontElimination<double>::roundings_in_order(n_, eliminated);
    update_ = weight_ * (roundings.term + roundings.entry + 5) * kUnit;
    rule_ = {weight_ * (roundings.entry + 2) * kUnit, underflow_ * kTiny};
    buffers_.kept.resize(size_t(n_) * kWindow);
    buffers_.left.resize(size_t(n_) * 2 * kWindow);
    buffers_.right.resize(size_t(n_) * 2 * kWindow);
    for (int k0 = 0; k0 < eliminated; k0 += kWindow) {
      const int stop = std::min(k0 + kWindow, eliminated);
      for (int k = k0; k < stop; k += kPanel) {
        const int panel = std::min(k + kPanel, stop);
        for (int pair = k; pair < panel; pair += 2) {
          if (!take_pivot(pair, panel, k0)) return false;
        }
        update(k, panel, k0, panel, stop, nullptr);
      }
      update(k0, stop, k0, stop, n_, parallel_);
    }
    return true;
  }

  HandedOn handed_on() const { return rule_; }

  // Bound on how far the logarithm of the product of all pivots is off.
  double log_error() const { return log_error_; }

 private:
  static constexpr int kWindow = 64, kPanel = 16;

  double* column(double* of, int j) const { return of + size_t(j) * n_; }

  bool take_pivot(int k, int stop, int window) {
    double *u = column(a_, k), *v = column(a_, k + 1), *ru = column(r_, k), *rv = column(r_, k + 1);
    const double d = -u[k + 1], size = std::fabs(d);
    if (!(size > 0x1p-900 && size < 0x1p900)) return false;
    const double share = rule_(d, ru[k + 1]) / size * kRead;
    if (!(share < 0.5)) return false;
    const double ratio = share / (1 - share) * kRead;
    log_error_ += ratio * kRead;
    double *keep_u = column(buffers_.kept.data(), k - window), *keep_v = keep_u + n_;
    std::copy(u + k + 2, u + n_, keep_u + k + 2);
    std::copy(v + k + 2, v + n_, keep_v + k + 2);
    double *left = column(buffers_.left.data(), 2 * (k - window)),
           *right = column(buffers_.right.data(), 2 * (k - window));
    radius_columns(n_ - k - 2, {size, ratio, update_, underflow_ * kTinyFactor}, rule_, u + k + 2,
                   v + k + 2, ru + k + 2, rv + k + 2, left + k + 2, right + k + 2, n_);
    const double inverse = 1.0 / d;
    for (int i = k + 2; i < n_; ++i) {
      u[i] = keep_v[i] * inverse;
      v[i] = -(keep_u[i] * inverse);
    }
    const double *e1 = left, *z1 = left + n_, *e2 = left + 2 * size_t(n_),
                 *z2 = left + 3 * size_t(n_);
    u[k + 1] = d;
    for (int m = k + 2; m < stop; ++m) {
      const double um = keep_u[m], vm = keep_v[m];
      const double e1m = e1[m], z1m = z1[m], e2m = e2[m], z2m = z2[m];
      double *target = column(a_, m), *radius = column(r_, m);
      for (int i = m + 1; i < n_; ++i) {
        target[i] += u[i] * um + v[i] * vm;
        radius[i] += (e1[i] * z1m + z1[i] * e1m) + (e2[i] * z2m + z2[i] * e2m);
      }
    }
    return true;
  }

  // Applies the pairs of columns [from, to) to rows from `first` on of the columns up to `last`.
  void update(int from, int to, int window, int first, int last, const ParallelFor& parallel) {
    rank_update_lower(n_ - first, last - first, to - from, column(a_, from) + first, n_,
                      column(buffers_.kept.data(), from - window) + first, n_,
                      column(a_, first) + first, n_, buffers_.packing, parallel);
    const size_t at = size_t(2 * (from - window)) * n_ + first;
    rank_update_lower(n_ - first, last - first, 2 * (to - from), buffers_.left.data() + at, n_,
                      buffers_.right.data() + at, n_, column(r_, first) + first, n_,
                      buffers_.packing, parallel);
  }

  double *a_, *r_;
  int n_;
  double weight_, underflow_;  // of roundings and of underflow; tests change them
  RadiusBuffers& buffers_;
  const ParallelFor& parallel_;
  HandedOn rule_;
  double update_ = 0.0, log_error_ = 0.0;
};

}  // namespace planaris
