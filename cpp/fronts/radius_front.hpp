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
#include "fronts/rank_update.hpp"

namespace planaris {

// Buffers that one thread reuses from front to front.
struct RadiusBuffers {
  std::vector<double> kept, left, right;
  Packing packing;
};

// Applies the columns that pivots [from, to) have left in `buffers`, a window of them, to the radii
// of rows from `first` on of the columns up to `last`.
template <class Buffers>
void update_radii(double* radii, int rows, Buffers& buffers, int from, int to, int window,
                  int first, int last, const ParallelFor& parallel) {
  const size_t at = size_t(2 * (from - window)) * rows + first;
  rank_update_lower(rows - first, last - first, 2 * (to - from), buffers.left.data() + at, rows,
                    buffers.right.data() + at, rows, radii + size_t(first) * rows + first, rows,
                    buffers.packing, parallel);
}

class RadiusFront {
 public:
  static constexpr double kUnit = 0x1p-53;
  // Radii are sums of nonnegative numbers, rounded at most 4000 times before they are read.
  static constexpr double kRead = 1 + 0x1p-40;
  // More than all that underflows on the way to one entry, and what that takes of a factor.
  static constexpr double kTiny = 0x1p-1060, kTinyFactor = 0x1p-1000;

  // `a` and `r` hold rows × rows numbers, column-major, of which the strict lower triangle counts.
  RadiusFront(double* a, double* r, int rows, double weight, RadiusBuffers& buffers,
              const ParallelFor& parallel, double underflow = 1.0)
      : a_(a), r_(r), n_(rows), weight_(weight), underflow_(underflow), buffers_(buffers),
        parallel_(parallel) {}

  // Eliminates the first rows, pair by pair. Afterwards the radii of the rest are as large as
  // `handed_on` says. Returns false if a pivot is not known to differ from zero.
  bool run(int eliminated) {
    const auto roundings = FrontElimination<double>::roundings_in_order(n_, eliminated);
    update_ = weight_ * (roundings.term + roundings.entry + 5) * kUnit;
    entry_ = weight_ * (roundings.entry + 2) * kUnit;
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

  // Bound on the error of an entry that is left, with its radius as computed.
  double handed_on(double entry, double radius) const {
    return (radius + entry_ * std::fabs(entry)) * kRead + underflow_ * kTiny;
  }

  // Bound on how far the logarithm of the product of all pivots is off.
  double log_error() const { return log_error_; }

 private:
  static constexpr int kWindow = 64, kPanel = 16;

  double* column(double* of, int j) const { return of + size_t(j) * n_; }

  bool take_pivot(int k, int stop, int window) {
    double *u = column(a_, k), *v = column(a_, k + 1), *ru = column(r_, k), *rv = column(r_, k + 1);
    const double d = -u[k + 1], size = std::fabs(d);
    if (!(size > 0x1p-900 && size < 0x1p900)) return false;
    const double share = handed_on(d, ru[k + 1]) / size * kRead;
    if (!(share < 0.5)) return false;
    const double ratio = share / (1 - share) * kRead;
    log_error_ += ratio * kRead;
    const double inverse = 1.0 / d, half = 0.5 / size, grown = (1 + ratio) * kRead;
    const double turned = 0.5 * (ratio + update_) * kRead, tiny = underflow_ * kTinyFactor;
    double *keep_u = column(buffers_.kept.data(), k - window), *keep_v = keep_u + n_;
    double *left = column(buffers_.left.data(), 2 * (k - window)), *e1 = left, *z1 = left + n_,
           *e2 = left + 2 * size_t(n_), *z2 = left + 3 * size_t(n_);
    for (int i = k + 2; i < n_; ++i) {
      const double ui = u[i], vi = v[i];
      keep_u[i] = ui;
      keep_v[i] = vi;
      const double l1 = vi * inverse, l2 = -(ui * inverse);
      const double radius_u = handed_on(ui, ru[i]), radius_v = handed_on(vi, rv[i]);
      u[i] = l1;
      v[i] = l2;
      e1[i] = (std::fabs(l1) + half * radius_v + tiny) * grown;
      z1[i] = (radius_u + turned * std::fabs(ui)) * kRead;
      e2[i] = (std::fabs(l2) + half * radius_u + tiny) * grown;
      z2[i] = (radius_v + turned * std::fabs(vi)) * kRead;
    }
    double* right = column(buffers_.right.data(), 2 * (k - window));
    std::copy(z1 + k + 2, z1 + n_, right + k + 2);
    std::copy(e1 + k + 2, e1 + n_, right + n_ + k + 2);
    std::copy(z2 + k + 2, z2 + n_, right + 2 * size_t(n_) + k + 2);
    std::copy(e2 + k + 2, e2 + n_, right + 3 * size_t(n_) + k + 2);
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
    update_radii(r_, n_, buffers_, from, to, window, first, last, parallel);
  }

  double *a_, *r_;
  int n_;
  double weight_, underflow_;  // of roundings and of underflow; tests change them
  RadiusBuffers& buffers_;
  const ParallelFor& parallel_;
  double update_ = 0.0, entry_ = 0.0, log_error_ = 0.0;
};

}  // namespace planaris
