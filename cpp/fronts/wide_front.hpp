// Elimination of a dense skew-symmetric front in a given order, entries being pairs of doubles: its
// roundings are some 2^45 times smaller than in doubles. Radii, if any, are carried along as in
// fronts/radius_front.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/scaled.hpp"
#include "fronts/radius_front.hpp"
#include "fronts/split_update.hpp"
#include "fronts/wide_update.hpp"

namespace planaris {

struct WideBuffers {
  std::vector<double> kept, kept_low, left, right;
  WidePacking pairs;
  Packing packing;
};

// 1 / d within 16 u² of its size, for 2^-900 < |d| < 2^900. With q = 1 / d_high, rounded, and
// r = 1 - q d, |r| < 2.1 u, it is q (1 + r + r² + …): leaving out r² takes 4.5 u², the three
// roundings of r at most 5 u², that of q r 2.1 u².
inline TwoDoubles wide_inverse(const TwoDoubles& d) {
  const double q = 1.0 / d.high;
  const double r = std::fma(-q, d.high, 1.0) - q * d.low;
  return TwoDoubles::sum(q, q * r);
}

class WideFront {
 public:
  static constexpr double kUnit = 0x1p-53, kRead = RadiusFront::kRead, kTiny = RadiusFront::kTiny;
  // Times the fresh error of an update, 2^-100 at least, more than underflows of a factor.
  static constexpr double kTinyFactor = 0x1p-950;
  static constexpr int kWindow = 64;      // columns that are eliminated together
  static constexpr int kMostRows = 4000;  // radii are rounded no more often

  // High and low parts of so many rows; there is room for kWideSlack more after each column. `r`
  // holds as many radii, or is null.
  WideFront(FrontColumns high, FrontColumns low, double* r, int rows, double weight,
            WideBuffers& buffers, const ParallelFor& parallel, double underflow = 1.0)
      : high_(high), low_(low), r_(r), n_(rows), r_step_(rows + kWideSlack), weight_(weight),
        underflow_(underflow), buffers_(buffers), parallel_(parallel) {}

  // Updates of so many multiplications may be split (fronts/split_update.hpp); not with radii.
  void allow_splitting(double multiplications) { worth_splitting_ = multiplications; }

  // Eliminates the own columns, pair by pair. Returns false if a pivot is not known to differ from
  // zero. Factors L and pivots are left as in FrontElimination.
  bool run() {
    const int eliminated = high_.eliminated;
    if (n_ > kMostRows) return false;
    const double updates = updates_error(eliminated);
    update_ = weight_ * (2 * updates + kQuotient) * kRead;
    rule_ = {weight_ * updates * kRead, underflow_ * kTiny};
    for (auto* kept : {&buffers_.kept, &buffers_.kept_low}) kept->resize(size_t(n_) * kWindow);
    for (auto* of : {&buffers_.left, &buffers_.right}) {
      of->resize(r_ ? size_t(n_) * 2 * kWindow + kWideSlack : 0);
    }
    for (int k0 = 0; k0 < eliminated; k0 += kWindow) {
      const int stop = std::min(k0 + kWindow, eliminated);
      for (int k = k0; k < stop; k += kPanel) {
        const int panel = std::min(k + kPanel, stop);
        for (int pair = k; pair < panel; pair += 2) {
          update(k, pair, k0, pair, pair + 2, nullptr);
          if (!take_pivot(pair, k0)) return false;
        }
        update(k, panel, k0, panel, stop, nullptr);
      }
      update(k0, stop, k0, stop, n_, parallel_);
    }
    return true;
  }

  static constexpr double kQuotient = 32 * kUnit * kUnit;  // of factors v / d: 8 u² and 16 u²

  // All updates of an entry are off by no more than this times the entry that is left and twice
  // all products: each adds its error relative to the entry before it and to its products, and the
  // entry before all of them is at most the one after them and all products. Entries that are left
  // go through one update per window. One of a window's columns goes through the windows before it,
  // through panels of 16 and through the columns before its own pair, fewer in all than the window
  // has: (m + 4)² of what they add up to is more than the sum of theirs.
  static constexpr double updates_error(int eliminated) {
    const int left = eliminated % kWindow;
    const double last = left > 0 ? wide_update_error(left) : 0.0;
    return (eliminated / kWindow * wide_update_error(kWindow) + last) * kRead;
  }

  // If updates may be split, an entry is off by this times the sum over windows of
  // max_k |L_jk D_k| Σ_k |L_ik| + 2 max_k |L_ik| Σ_k |L_jk D_k|, too: every product counts in one
  // update, of columns of one window.
  static double split_error(int rows, int eliminated, double worth_splitting) {
    const bool any = double(rows) * rows * std::min(eliminated, kWindow) >= worth_splitting;
    return any ? kSplitError * kRead : 0.0;
  }

  HandedOn handed_on() const { return rule_; }

  // Bound on how far the logarithm of the product of the high parts of all pivots is off.
  double log_error() const { return log_error_; }

 private:
  static constexpr int kPanel = 16;
  // Multiplications of radii. Below it terms are rounded one by one, but whole windows have fewer
  // only where less than 125 rows are left: no radius is rounded 1000 times before it is read.
  static constexpr double kWorthPacking = 2e6;

  double* column(std::vector<double>& of, int j) const { return of.data() + size_t(j) * n_; }

  bool take_pivot(int k, int window) {
    double *first = high_.column(k), *first_low = low_.column(k);
    const TwoDoubles d{-first[k + 1], -first_low[k + 1]};
    const double size = std::fabs(d.high);
    if (!(size > 0x1p-900 && size < 0x1p900)) return false;
    if (r_ && !take_radii(k, window, size)) return false;
    log_error_ += kUnit * kRead;  // of high parts
    const TwoDoubles inverse = wide_inverse(d);
    const PairMatrix<double> columns{high_.own, low_.own, high_.own_step},
        kept{buffers_.kept.data(), buffers_.kept_low.data(), n_};
    wide_factors(n_ - k - 2, inverse.high, inverse.low, columns.from(k + 2, k),
                 kept.from(k + 2, k - window));
    first[k + 1] = d.high;
    first_low[k + 1] = d.low;
    return true;
  }

  // Writes the columns that update radii.
  bool take_radii(int k, int window, double size) {
    const double *ru = r_ + k * r_step_, *rv = ru + r_step_;
    const double share = rule_(size, ru[k + 1]) / size * kRead;
    if (!(share < 0.5)) return false;
    const double ratio = share / (1 - share) * kRead;
    log_error_ += ratio * kRead;
    const int first = k + 2, c = 2 * (k - window);
    radius_columns(n_ - first, {size, ratio, update_, underflow_ * kTinyFactor}, rule_,
                   high_.column(k) + first, high_.column(k + 1) + first, ru + first, rv + first,
                   column(buffers_.left, c) + first, column(buffers_.right, c) + first, n_);
    return true;
  }

  // Applies the pairs of columns [from, to) to rows from `first` on of the columns up to `last`.
  void update(int from, int to, int window, int first, int last, const ParallelFor& parallel) {
    if (from == to) return;
    const int own = high_.eliminated, depth = to - from;
    const PairMatrix<const double> l{high_.own, low_.own, high_.own_step};
    const PairMatrix<const double> kept{buffers_.kept.data(), buffers_.kept_low.data(), n_};
    if (double(n_ - first) * (last - first) * depth >= worth_splitting_ &&
        split_rank_update_lower(first, n_, last, depth, l.from(0, from),
                                kept.from(0, from - window), high_, low_, buffers_.pairs,
                                parallel)) {
      return;
    }
    const auto update_columns = [&](int begin, int end, PairMatrix<double> c) {
      wide_rank_update_lower(n_ - begin, end - begin, depth, l.from(begin, from),
                             kept.from(begin, from - window), c, buffers_.pairs, parallel);
    };
    if (first < own) {
      const PairMatrix<double> c{high_.own, low_.own, high_.own_step};
      update_columns(first, std::min(last, own), c.from(first, first));
    }
    if (last > own) {
      const int begin = std::max(first, own);
      const PairMatrix<double> c{high_.rest, low_.rest, high_.rest_step};
      update_columns(begin, last, c.from(begin - own, begin - own));
    }
    if (r_) update_radii(from, to, window, first, last, parallel);
  }

  // The same of their radii, by the columns that these pivots have left.
  void update_radii(int from, int to, int window, int first, int last,
                    const ParallelFor& parallel) {
    const size_t at = size_t(2 * (from - window)) * n_ + first;
    const double *left = buffers_.left.data() + at, *right = buffers_.right.data() + at;
    double* radii = r_ + first * (r_step_ + 1);
    const int rows = n_ - first, columns = last - first, depth = 2 * (to - from);
    if (double(rows) * columns * depth < kWorthPacking) {
      add_products_lower(rows, columns, depth, left, right, n_, radii, r_step_);
    } else {
      rank_update_lower(rows, columns, depth, left, n_, right, n_, radii, r_step_, buffers_.packing,
                        parallel);
    }
  }

  FrontColumns high_, low_;
  double* r_;
  int n_;
  int64_t r_step_;             // from column to column of radii
  double weight_, underflow_;  // of roundings and of underflow; tests change them
  WideBuffers& buffers_;
  const ParallelFor& parallel_;
  double worth_splitting_ = std::numeric_limits<double>::infinity();
  HandedOn rule_;
  double update_ = 0.0, log_error_ = 0.0;
};

}  // namespace planaris
