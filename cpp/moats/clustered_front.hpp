// Elimination of a front whose rows lie in several clusters of sets (moat_clusters.hpp), in order.
//
// Rows of a cluster stand side by side, so that every block of the matrix has one exponent and updates are
// products of blocks. A panel of pivots lies in one cluster; blocks that are two Q or more off the
// path between their clusters get nothing of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "fronts/front_elimination.hpp"
#include "fronts/rank_update.hpp"
#include "moats/moat_clusters.hpp"

namespace planaris {

// With u, v the columns below a pivot: keeps them, and writes L = [v, -u] / d.
void scale_pair(int count, double inverse, double* u, double* v, double* keep_u, double* keep_v);
// target += u um + v vm
void add_pair(int count, const double* u, const double* v, double um, double vm, double* target);

struct ClusteredBuffers {
  std::vector<double> matrix, kept, far_left, far_kept;
  std::vector<int32_t> order, exponents;
  std::vector<int32_t> panels;  // where each panel of pivots ended
  std::vector<uint8_t> taken;
};

// A pair of rows to be eliminated: those of rank zero may be taken in any order.
struct ClusteredPair {
  RowPair rows;
  int32_t rank = 0, set = -1, cluster = 0;  // once both rows have climbed as far as their edge leaves sets
};

class ClusteredFront {
 public:
  // `a` as in FrontElimination; legs and places by row.
  ClusteredFront(double* a, int rows, std::span<const int32_t> legs, std::span<LegPlace> places,
                 const MoatClusters& clusters, ClusteredBuffers& buffers, Packing& packing,
                 const ParallelFor& parallel)
      : a_(a), n_(rows), legs_(legs), places_(places), clusters_(clusters), buffers_(buffers),
        packing_(packing), parallel_(parallel) {}

  // Eliminates these pairs; they then come first, as after FrontElimination, and the other rows follow as
  // they were. Writes perm, and the exponents of the pivots and the ends of panels to `buffers`. With `keep`,
  // the factor L is left below the pivots.
  void run(std::vector<ClusteredPair>& pairs, int32_t* perm, bool keep) {
    for (ClusteredPair& pair : pairs) {
      pair.set = clusters_.around(places_[pair.rows.first].set, places_[pair.rows.second].set);
      pair.cluster = clusters_.cluster(pair.set);
    }
    // A set lies in sets of its own cluster or of one of a lower level.
    std::stable_sort(pairs.begin(), pairs.end(), [&](const ClusteredPair& a, const ClusteredPair& b) {
      const int32_t level_a = clusters_.level(a.cluster), level_b = clusters_.level(b.cluster);
      if ((a.rank > 0) != (b.rank > 0)) return b.rank > 0;
      if (level_a != level_b) return level_a > level_b;
      return a.cluster != b.cluster ? a.cluster < b.cluster : a.rank < b.rank;
    });
    gather(pairs);
    const int count = static_cast<int>(pairs.size());
    buffers_.exponents.resize(count);
    buffers_.panels.clear();
    for (int first = 0; first < count;) {
      climb(2 * first, pairs[first]);
      int last = first + 1;
      const int32_t cluster = pairs[first].cluster;
      while (last < count && last - first < kPanel && pairs[last].cluster == cluster &&
             at(2 * last).cluster == cluster && at(2 * last + 1).cluster == cluster) {
        ++last;
      }
      eliminate_panel(2 * first, 2 * last);
      update_rest(2 * first, 2 * last, cluster);
      buffers_.panels.push_back(2 * last);
      first = last;
    }
    scatter(count, perm, keep);
  }

  int swaps() const { return swaps_; }
  bool failed() const { return failed_; }

 private:
  static constexpr int kPanel = 32;   // pairs
  static constexpr int kNarrow = 16;  // rows whose columns are updated pivot by pivot

  LegPlace& at(int place) { return places_[buffers_.order[place]]; }
  double* column(int j) { return buffers_.matrix.data() + size_t(j) * n_; }

  double entry(int32_t row, int32_t other) const {
    return row > other ? a_[size_t(other) * n_ + row] : -a_[size_t(row) * n_ + other];
  }

  void gather(const std::vector<ClusteredPair>& pairs) {
    std::vector<int32_t>& order = buffers_.order;
    order.clear();
    buffers_.taken.assign(n_, 0);
    for (const ClusteredPair& pair : pairs) {
      for (const int32_t row : {pair.rows.first, pair.rows.second}) {
        order.push_back(row);
        buffers_.taken[row] = 1;
      }
    }
    const auto eliminated = static_cast<std::ptrdiff_t>(order.size());
    for (int32_t row = 0; row < n_; ++row) {
      if (!buffers_.taken[row]) order.push_back(row);
    }
    swaps_ = parity(order);
    std::stable_sort(order.begin() + eliminated, order.end(), [&](int32_t a, int32_t b) {
      return places_[a].cluster < places_[b].cluster;
    });
    buffers_.matrix.resize(size_t(n_) * n_);
    for (int j = 0; j < n_; ++j) {
      double* to = column(j);
      for (int i = j + 1; i < n_; ++i) to[i] = entry(order[i], order[j]);
    }
  }

  static int parity(const std::vector<int32_t>& order) {
    std::vector<uint8_t> seen(order.size(), 0);
    int swaps = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      for (size_t at = k; !seen[at]; at = order[at]) {
        seen[at] = 1;
        swaps += size_t(order[at]) != k;
      }
    }
    return swaps;
  }

  // Lets the two rows of a pair climb into the set that both then lie in.
  void climb(int k, const ClusteredPair& pair) {
    for (const int row : {k, k + 1}) {
      LegPlace& place = at(row);
      if (place.cluster == pair.cluster) continue;
      const LegPlace higher = clusters_.in_set(legs_[buffers_.order[row]], pair.set);
      RowMove move(clusters_, place, higher);
      for (int i = k; i < n_; ++i) {
        if (i == row) continue;
        double& x = i > row ? column(row)[i] : column(i)[row];
        x = move(x, at(i));
      }
      place = higher;
    }
  }

  // All columns of a panel lie in the cluster of its pivots, so that nothing is off the path.
  void eliminate_panel(int begin, int end) {
    buffers_.kept.resize(size_t(n_) * 2 * kPanel);
    for (int from = begin, to; from < end; from = to) {
      to = std::min(from + kNarrow, end);
      eliminate_pairs(begin, from, to);
      rank_update_lower(n_ - to, end - to, to - from, column(from) + to, n_, kept(from - begin) + to,
                        n_, column(to) + to, n_, packing_, nullptr);
    }
  }

  void eliminate_pairs(int begin, int from, int to) {
    for (int k = from; k < to; k += 2) {
      buffers_.exponents[k / 2] = clusters_.exponent(at(k), at(k + 1));
      double d = -column(k)[k + 1];
      if (!(std::fabs(d) > 0.0)) {
        failed_ = true;
        d = 1.0;
      }
      const double inverse = 1.0 / d;
      double *u = column(k), *v = column(k + 1), *keep_u = kept(k - begin), *keep_v = keep_u + n_;
      scale_pair(n_ - k - 2, inverse, u + k + 2, v + k + 2, keep_u + k + 2, keep_v + k + 2);
      u[k + 1] = d;
      for (int m = k + 2; m < to; ++m) {
        add_pair(n_ - m - 1, u + m + 1, v + m + 1, keep_u[m], keep_v[m], column(m) + m + 1);
      }
    }
  }

  double* kept(int column) { return buffers_.kept.data() + size_t(column) * n_; }

  void update_rest(int begin, int end, int32_t cluster) {
    bool scaled = false;
    for (int j0 = end, j1; j0 < n_; j0 = j1) {
      j1 = end_of_run(j0);
      const int32_t own = at(j0).cluster;
      for (int i0 = j0, i1; i0 < n_; i0 = i1) {
        const int32_t off = clusters_.off_path(cluster, own, at(i0).cluster);
        i1 = end_of_run(i0);
        while (i1 < n_ && clusters_.off_path(cluster, own, at(i1).cluster) == off) i1 = end_of_run(i1);
        if (off > 1) continue;
        if (off > 0 && !scaled) scale_far(begin, end);
        scaled = scaled || off > 0;
        const double* x = off > 0 ? buffers_.far_left.data() : column(begin);
        const double* y = off > 0 ? buffers_.far_kept.data() : buffers_.kept.data();
        update_block(j0, j1, i0, i1, end - begin, x, y);
      }
    }
  }

  void scale_far(int begin, int end) {
    constexpr double kFactor = MoatClusters::kHalfFar;
    const size_t size = size_t(n_) * (end - begin);
    buffers_.far_left.resize(size);
    buffers_.far_kept.resize(size);
    for (int k = 0; k < end - begin; ++k) {
      const double *left = column(begin + k), *right = kept(k);
      double *to_left = buffers_.far_left.data() + size_t(k) * n_,
             *to_right = buffers_.far_kept.data() + size_t(k) * n_;
      for (int i = end; i < n_; ++i) {
        to_left[i] = left[i] * kFactor;
        to_right[i] = right[i] * kFactor;
      }
    }
  }

  void update_block(int j0, int j1, int i0, int i1, int depth, const double* x, const double* y) {
    if (i0 == j0) {
      rank_update_lower(i1 - j0, j1 - j0, depth, x + j0, n_, y + j0, n_, column(j0) + j0, n_,
                        packing_, parallel_);
    } else {
      multiply_add(i1 - i0, j1 - j0, depth, 1.0, x + i0, 1, n_, y + j0, n_, 1, column(j0) + i0, n_,
                   packing_, parallel_);
    }
  }

  int end_of_run(int from) {
    const int32_t cluster = at(from).cluster;
    int to = from + 1;
    while (to < n_ && at(to).cluster == cluster) ++to;
    return to;
  }

  // Back into `a_`: pivots at (k + 1, k), and the rest in the order in which it was.
  void scatter(int count, int32_t* perm, bool keep) {
    const std::vector<int32_t>& order = buffers_.order;
    const int eliminated = 2 * count;
    std::vector<int32_t> place(n_, -1);  // by row, of those that are left
    for (int k = 0; k < eliminated; ++k) perm[k] = order[k];
    for (int32_t row = 0, next = eliminated; row < n_; ++row) {
      if (buffers_.taken[row]) continue;
      place[row] = next;
      perm[next++] = row;
    }
    for (int k = 0; k < eliminated; k += 2) a_[size_t(k) * n_ + k + 1] = column(k)[k + 1];
    for (int k = 0; keep && k < eliminated; ++k) {
      const double* from = column(k);
      double* to = a_ + size_t(k) * n_;
      for (int i = (k | 1) + 1; i < n_; ++i) to[i < eliminated ? i : place[order[i]]] = from[i];
    }
    for (int j = eliminated; j < n_; ++j) {
      const int to_j = place[order[j]];
      const double* from = column(j);
      for (int i = j + 1; i < n_; ++i) {
        const int to_i = place[order[i]];
        if (to_i > to_j) {
          a_[size_t(to_j) * n_ + to_i] = from[i];
        } else {
          a_[size_t(to_i) * n_ + to_j] = -from[i];
        }
      }
    }
  }

  double* a_;
  int n_;
  std::span<const int32_t> legs_;
  std::span<LegPlace> places_;
  const MoatClusters& clusters_;
  ClusteredBuffers& buffers_;
  Packing& packing_;
  const ParallelFor& parallel_;
  int swaps_ = 0;
  bool failed_ = false;
};

}  // namespace planaris
