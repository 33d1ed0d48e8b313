// Elimination of a front whose rows lie in several clusters of sets (moat_clusters.hpp), in order.
//
// Rows of a cluster stand side by side, so that every block of a matrix has one exponent and
// updates are products of blocks. A panel of pivots lies in one cluster; blocks that are two Q or
// more off the path between their clusters get nothing of it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "fronts/front_elimination.hpp"
#include "fronts/rank_update.hpp"
#include "moats/cluster_runs.hpp"
#include "moats/moat_clusters.hpp"

namespace planaris {

struct ClusteredBuffers {
  std::vector<double> kept, far_left, far_kept;
  std::vector<int32_t> exponents;
  std::vector<int32_t> panels;  // where each panel of pivots ended
  ClusterRuns runs;
};

// A pair of rows to be eliminated: those of rank zero may be taken in any order.
struct ClusteredPair {
  RowPair rows;
  int32_t rank = 0, set = -1,
          cluster = 0;  // once both rows have climbed as far as their edge leaves sets
};

// to = factor x
void multiply(int count, double factor, const double* x, double* to);

// Brings pairs in the order in which they are eliminated.
void sort_pairs(std::vector<ClusteredPair>& pairs, std::span<const LegPlace> places,
                const MoatClusters& clusters);

class ClusteredFront {
 public:
  // The matrices, one or two (else null), have rows × rows numbers, of which the strict lower
  // triangle counts, and kSmallSlack after them. Their rows stand as `order` says: pairs as sorted,
  // then the others, clusters side by side. Legs and places by row before that.
  ClusteredFront(std::array<double*, 2> matrices, int rows, std::span<const int32_t> order,
                 std::span<const int32_t> legs, std::span<LegPlace> places,
                 const MoatClusters& clusters, ClusteredBuffers& buffers, Packing& packing,
                 const ParallelFor& parallel)
      : matrices_(matrices), n_(rows), order_(order), legs_(legs), places_(places),
        clusters_(clusters), buffers_(buffers), packing_(packing), parallel_(parallel) {}

  // Eliminates these pairs, which leaves pivots and L as FrontElimination does. Writes the
  // exponents of the pivots and the ends of panels to `buffers`.
  void run(const std::vector<ClusteredPair>& pairs) {
    const int count = static_cast<int>(pairs.size());
    buffers_.runs.clear();
    for (const ClusteredPair& pair : pairs)
      buffers_.runs.add(pair.cluster);  // that rows climb into
    for (const LegPlace& place : places_) buffers_.runs.add(place.cluster);
    buffers_.runs.measure(clusters_);
    buffers_.exponents.resize(count);
    grow(buffers_.kept, size_t(n_) * 2 * kPanel + kSmallSlack);
    buffers_.panels.clear();
    for (int first = 0; first < count;) {
      climb(2 * first, pairs[first]);
      int last = first + 1;
      const int32_t cluster = pairs[first].cluster;
      while (last < count && last - first < kPanel && pairs[last].cluster == cluster &&
             at(2 * last).cluster == cluster && at(2 * last + 1).cluster == cluster) {
        ++last;
      }
      for (int k = first; k < last; ++k)
        buffers_.exponents[k] = clusters_.exponent(at(2 * k), at(2 * k + 1));
      for (double* const matrix : matrices_) {
        if (matrix == nullptr) continue;
        a_ = matrix;
        eliminate_panel(2 * first, 2 * last);
        update_rest(2 * first, 2 * last, cluster);
      }
      buffers_.panels.push_back(2 * last);
      first = last;
    }
  }

  bool failed() const { return failed_; }

 private:
  static constexpr int kPanel = 32;   // pairs
  static constexpr int kNarrow = 16;  // rows whose columns are updated pivot by pivot

  LegPlace& at(int place) { return places_[order_[place]]; }
  double* column(int j) { return a_ + size_t(j) * n_; }

  // Lets the two rows of a pair climb into the set that both then lie in.
  void climb(int k, const ClusteredPair& pair) {
    for (const int row : {k, k + 1}) {
      LegPlace& place = at(row);
      if (place.cluster == pair.cluster) continue;
      const LegPlace higher = clusters_.in_set(legs_[order_[row]], pair.set);
      RowMove move(clusters_, place, higher);
      for (double* const matrix : matrices_) {
        if (matrix == nullptr) continue;
        a_ = matrix;
        for (int i = k; i < n_; ++i) {
          if (i == row) continue;
          double& x = i > row ? column(row)[i] : column(i)[row];
          x = move(x, at(i));
        }
      }
      place = higher;
    }
  }

  // All columns of a panel lie in the cluster of its pivots, so that nothing is off the path.
  void eliminate_panel(int begin, int end) {
    for (int from = begin, to; from < end; from = to) {
      to = std::min(from + kNarrow, end);
      eliminate_pairs(begin, from, to);
      rank_update_lower(n_ - to, end - to, to - from, column(from) + to, n_,
                        kept(from - begin) + to, n_, column(to) + to, n_, packing_, nullptr);
    }
  }

  void eliminate_pairs(int begin, int from, int to) {
    for (int k = from; k < to; k += 2) {
      double d = -column(k)[k + 1];
      if (!(std::fabs(d) > 0.0)) {
        failed_ = true;
        d = 1.0;
      }
      column(k)[k + 1] = d;
      take_pair(n_, k, to, column(k), kept(k - begin), d);
    }
  }

  double* kept(int column) { return buffers_.kept.data() + size_t(column) * n_; }

  void update_rest(int begin, int end, int32_t cluster) {
    bool scaled = false;
    const auto cluster_of = [this](int row) { return at(row).cluster; };
    buffers_.runs.each_block(
        cluster, end, n_, true, cluster_of, [&](int j0, int j1, int i0, int i1, int off) {
          if (off > 0 && !scaled) scale_far(begin, end);
          scaled = scaled || off > 0;
          const double* x = off > 0 ? buffers_.far_left.data() : column(begin);
          const double* y = off > 0 ? buffers_.far_kept.data() : buffers_.kept.data();
          update_block(j0, j1, i0, i1, end - begin, x, y);
        });
  }

  void scale_far(int begin, int end) {
    constexpr double kFactor = MoatClusters::kHalfFar;
    const size_t size = size_t(n_) * (end - begin) + kSmallSlack;
    grow(buffers_.far_left, size);
    grow(buffers_.far_kept, size);
    for (int k = 0; k < end - begin; ++k) {
      const size_t from = size_t(k) * n_ + end;
      multiply(n_ - end, kFactor, column(begin + k) + end, buffers_.far_left.data() + from);
      multiply(n_ - end, kFactor, kept(k) + end, buffers_.far_kept.data() + from);
    }
  }

  void update_block(int j0, int j1, int i0, int i1, int depth, const double* x, const double* y) {
    if (is_small_product(i1 - i0, j1 - j0, depth)) {
      add_small_product(i1 - i0, j1 - j0, depth, i0 == j0, x + i0, n_, y + j0, n_, column(j0) + i0,
                        n_);
    } else if (i0 == j0) {
      rank_update_lower(i1 - j0, j1 - j0, depth, x + j0, n_, y + j0, n_, column(j0) + j0, n_,
                        packing_, parallel_);
    } else {
      multiply_add(i1 - i0, j1 - j0, depth, 1.0, x + i0, 1, n_, y + j0, n_, 1, column(j0) + i0, n_,
                   packing_, parallel_);
    }
  }

  std::array<double*, 2> matrices_;
  double* a_ = nullptr;  // the one at work
  int n_;
  std::span<const int32_t> order_, legs_;
  std::span<LegPlace> places_;
  const MoatClusters& clusters_;
  ClusteredBuffers& buffers_;
  Packing& packing_;
  const ParallelFor& parallel_;
  bool failed_ = false;
};

}  // namespace planaris
