// Elimination of a dense skew-symmetric front by 2×2 pivots.
//
// Only the lower triangle is computed, so the matrix is antisymmetric to the last bit: an odd
// block that is singular stays exactly singular, which low temperatures rely on. A pivot is
// taken only if it is at least `threshold` times the largest entry of its two rows; rows without
// such a pivot are refused and handed on to the parent's front (Duff & Reid's delayed pivots).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/double_double.hpp"
#include "base/simd.hpp"
#include "fronts/rank_update.hpp"

namespace planaris {

struct RowPair {
  int32_t first, second;
};

// One pivot d, entry (k, k + 1), of rows × rows numbers. `column`: k and k + 1 and those after
// them. With u, v the entries below the pivot: keeps them, side by side, leaves L = [v, -u] / d,
// and adds L [u v]ᵀ to columns [k + 2, stop).
template <class T>
PLANARIS_INLINE void take_pair_by_rows(int rows, int k, int stop, T* column, T* keep, const T& d) {
  const T inverse = T(1.0) / d;
  T *u = column, *v = column + rows, *keep_u = keep, *keep_v = keep + rows;
  for (int i = k + 2; i < rows; ++i) {
    keep_u[i] = u[i];
    keep_v[i] = v[i];
    const T scaled = v[i] * inverse;
    v[i] = -(u[i] * inverse);
    u[i] = scaled;
  }
  for (int m = k + 2; m < stop; ++m) {
    const T um = keep_u[m], vm = keep_v[m];
    T* target = column + size_t(m - k) * rows;
    for (int i = m + 1; i < rows; ++i) target[i] += u[i] * um + v[i] * vm;
  }
}
template <class T>
void take_pair(int rows, int k, int stop, T* column, T* keep, const T& d) {
  take_pair_by_rows(rows, k, stop, column, keep, d);
}
template <>
void take_pair(int rows, int k, int stop, double* column, double* keep, const double& d);

template <class T>
class FrontElimination {
 public:
  // `a` holds rows × rows numbers, column-major, of which the strict lower triangle counts. The
  // first `candidates` rows may be eliminated. perm[k] is the row that now stands at place k.
  FrontElimination(T* a, int rows, int candidates, int32_t* perm, Packing& packing,
                   std::vector<T>& pivot_rows, const ParallelFor& parallel)
      : a_(a), n_(rows), c_(candidates), perm_(perm), packing_(packing), y_(pivot_rows),
        parallel_(parallel) {
    grow(y_, size_t(n_) * std::min(kWindow, std::max(c_, 1)));
  }

  // Returns how many rows were eliminated; they now come first. For the pair k, k + 1 the pivot
  // (entry of row k, column k + 1) lies at (k + 1, k), the factor L below it. `last`: nobody is
  // left to hand rows on to, so what remains is searched for pivots as a whole, however large.
  // (With no other rows the largest entry always qualifies: nothing is left over but zeros.)
  int run(double threshold, bool last) {
    threshold_ = threshold;
    int done = eliminate_range(0, c_);
    const int rest = c_ - done;
    if (rest >= 2 && (last || rest <= kWholeSearch)) {
      grow(y_, size_t(n_) * rest);
      const int got = eliminate_panel(done, c_, done);
      rank_update_lower(n_ - c_, n_ - c_, got, column(done) + c_, n_, y_.data() + c_, n_,
                        column(c_) + c_, n_, packing_, parallel_);
      done += got;
    }
    return done;
  }

  // Eliminates the first `count` of these pairs of rows, in this order, whatever their pivots are.
  // `pairs` lists all candidates, so that the two rows of a refused pair stay side by side.
  int run_in_order(std::span<const RowPair> pairs, int count) {
    arrange(pairs);
    return run_arranged(count);
  }

  // The two steps of `run_in_order`: brings the rows of `pairs` to the front, eliminates so many
  // pairs.
  void arrange(std::span<const RowPair> pairs) {
    std::vector<int32_t> place(n_);
    for (int k = 0; k < n_; ++k) place[perm_[k]] = k;
    const auto bring = [&](int32_t row, int to) {
      const int from = place[row];
      place[perm_[to]] = from;
      place[row] = to;
      swap_places(to, from);
    };
    int k = 0;
    for (const RowPair& pair : pairs) {
      bring(pair.first, k++);
      bring(pair.second, k++);
    }
  }
  int run_arranged(int count) {
    in_order_ = true;
    return eliminate_range(0, 2 * count);
  }

  // How often `run_in_order` rounds numbers on their way into one entry, at most. Entries of the
  // rest go through all windows; those of a window's columns through the windows before it, then
  // through its panels, then through the pairs of a panel (rounded three times each).
  static Roundings roundings_in_order(int rows, int eliminated) {
    Roundings most, so_far;
    const auto then = [](Roundings& path, const Roundings& step) {
      path.term = std::max(path.term + step.entry, step.term);
      path.entry += step.entry;
    };
    const auto note = [&most](const Roundings& path) {
      most.term = std::max(most.term, path.term);
      most.entry = std::max(most.entry, path.entry);
    };
    for (int k = 0; k < eliminated; k += kWindow) {
      const int stop = std::min(k + kWindow, eliminated);
      Roundings path = so_far;
      for (int j = k; j < stop; j += kPanel) {
        Roundings inside = path;
        const int panel = std::min(j + kPanel, stop);
        for (int pair = j + 2; pair < panel; pair += 2) then(inside, {3, 1});
        note(inside);
        then(path, rank_update_roundings(rows - panel, stop - panel, panel - j));
      }
      then(so_far, rank_update_roundings(rows - stop, rows - stop, stop - k));
      note(so_far);
    }
    return most;
  }

  int swaps() const { return swaps_; }
  // Whether a pivot of `run_in_order` was zero or not a number.
  bool failed() const { return failed_; }
  // Smallest ratio of an accepted pivot to the largest entry of its rows.
  double worst_ratio() const { return worst_ratio_; }

 private:
  static constexpr int kWindow = 64, kPanel = 16, kWholeSearch = 256;

  T* column(int j) { return a_ + size_t(j) * n_; }
  T& at(int i, int j) { return a_[size_t(j) * n_ + i]; }

  int eliminate_range(int begin, int end) {
    int k = begin, active = end;
    bool progress = false;
    for (;;) {
      if (active - k < 2) {
        if (!progress || end - k < 2) break;
        active = end;
        progress = false;
        continue;
      }
      const int stop = std::min(k + kWindow, active);
      const int got = eliminate_window(k, stop);
      rank_update_lower(n_ - stop, n_ - stop, got, column(k) + stop, n_, y_.data() + stop, n_,
                        column(stop) + stop, n_, packing_, parallel_);
      progress |= got > 0;
      k += got;
      active = refuse(k, stop, active);
    }
    return k;
  }

  // Moves places [from, to) to the end of [from, end); returns where they begin.
  int refuse(int from, int to, int end) {
    const int refused = to - from, others = end - to;
    for (int i = 0; i < std::min(refused, others); ++i) swap_places(from + i, end - 1 - i);
    return end - refused;
  }

  // Eliminates among columns [k0, stop), brings these columns and no others up to date.
  int eliminate_window(int k0, int stop) {
    int k = k0, active = stop;
    bool progress = false;
    for (;;) {
      if (active - k < 2) {
        if (!progress || stop - k < 2) break;
        active = stop;
        progress = false;
        continue;
      }
      // A second round looks at everything that is left at once.
      const int panel = active == stop && k > k0 && !progress ? stop : std::min(k + kPanel, active);
      const int got = eliminate_panel(k, panel, k0);
      rank_update_lower(n_ - panel, stop - panel, got, column(k) + panel, n_,
                        y_.data() + size_t(k - k0) * n_ + panel, n_, column(panel) + panel, n_,
                        packing_, nullptr);
      progress |= got > 0;
      k += got;
      active = refuse(k, panel, active);
    }
    return k - k0;
  }

  int eliminate_panel(int k0, int stop, int window) {
    int k = k0;
    while (stop - k >= 2) {
      if (!neighbours_fit(k) && !bring_best_pair(k, stop)) break;
      take_pivot(k, stop, window);
      k += 2;
    }
    return k - k0;
  }

  T largest_below(int j, int from) {
    const T* entries = column(j);
    T largest = T(0.0);
    for (int i = from; i < n_; ++i) {
      const T size = magnitude(entries[i]);
      if (largest < size) largest = size;
    }
    return largest;
  }

  bool neighbours_fit(int k) {
    const T d = magnitude(at(k + 1, k));
    if (in_order_) {
      if (!(d > T(0.0))) {
        failed_ = true;
        at(k + 1, k) = T(1.0);
      }
      return true;
    }
    if (is_zero(d)) return false;
    const T largest = std::max({largest_below(k, k + 2), largest_below(k + 1, k + 2), d});
    if (d < largest * T(threshold_)) return false;
    note_ratio(d, largest);
    return true;
  }

  // Swaps the pair of places in [k, stop) with the best ratio to k and k + 1.
  bool bring_best_pair(int k, int stop) {
    std::vector<T> largest(stop - k);
    for (int j = k; j < stop; ++j) {
      largest[j - k] = largest_below(j, j + 1);
      for (int i = k; i < j; ++i) largest[j - k] = std::max(largest[j - k], magnitude(at(j, i)));
    }
    int first = -1, second = -1;
    T best_size = T(0.0), best_row = T(1.0);
    for (int i = k; i < stop; ++i) {
      for (int j = i + 1; j < stop; ++j) {
        const T size = magnitude(at(j, i));
        if (is_zero(size)) continue;
        const T row = std::max(largest[i - k], largest[j - k]);
        if (first < 0 || best_size * row < size * best_row) {
          first = i;
          second = j;
          best_size = size;
          best_row = row;
        }
      }
    }
    if (first < 0 || best_size < best_row * T(threshold_)) return false;
    note_ratio(best_size, best_row);
    swap_places(k, first);
    swap_places(k + 1, second);
    return true;
  }

  void note_ratio(const T& size, const T& largest) {
    worst_ratio_ = std::min(worst_ratio_, to_double(size / largest));
  }

  // Pivot d = entry (k, k + 1). With u, v the columns below: L = [v, -u] / d, and the rest
  // gains L [u v]ᵀ. Columns [k + 2, stop) are updated here, u and v are kept for the others.
  void take_pivot(int k, int stop, int window) {
    const T d = -at(k + 1, k);
    T* keep = y_.data() + size_t(k - window) * n_;
    take_pair(n_, k, stop, column(k), keep, d);
    at(k + 1, k) = d;
  }

  void swap_places(int p, int q) {
    if (p == q) return;
    if (p > q) std::swap(p, q);
    ++swaps_;
    std::swap(perm_[p], perm_[q]);
    for (int j = 0; j < p; ++j) std::swap(at(p, j), at(q, j));
    for (int i = p + 1; i < q; ++i) {
      const T above = at(i, p);
      at(i, p) = -at(q, i);
      at(q, i) = -above;
    }
    at(q, p) = -at(q, p);
    T *left = column(p), *right = column(q);
    for (int i = q + 1; i < n_; ++i) std::swap(left[i], right[i]);
  }

  T* a_;
  int n_, c_;
  int32_t* perm_;
  Packing& packing_;
  std::vector<T>& y_;
  const ParallelFor& parallel_;
  double threshold_ = 0.1, worst_ratio_ = 1.0;
  int swaps_ = 0;
  bool in_order_ = false, failed_ = false;
};

}  // namespace planaris
