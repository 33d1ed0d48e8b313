// The inverse of a front whose rows lie in several clusters of sets (moat_clusters.hpp), panel by
// panel.
//
// Entries of the inverse obey the inverse of the bound that those of the matrix obey, so they are
// stored divided by the powers of two that those are multiplied by. In K⁻¹_iq = -Σ_t K⁻¹_it L_tq, q
// being in cluster K, the powers cancel but for 2^-768 for every Q from K to the path between the
// clusters of i and t: as in the elimination.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "fronts/rank_update.hpp"
#include "moats/cluster_runs.hpp"
#include "moats/moat_clusters.hpp"

namespace planaris {

class ClusteredSweep {
 public:
  struct Buffers {
    std::vector<LegPlace> places;
    std::vector<double> inverse, lower;
    ClusterRuns runs;  // measured where rows are added
  };

  // `lower` (rows × pivots) and `inverse` (rows × rows) are column-major; `buffers.places` holds
  // the place of every row: of pivots where they had climbed to, of the others as assembled,
  // clusters side by side.
  ClusteredSweep(const MoatClusters& clusters, int32_t rows, const double* lower, double* inverse,
                 Buffers& buffers, Packing& packing, const ParallelFor& parallel)
      : clusters_(clusters), n_(rows), lower_(lower), inverse_(inverse), buffers_(buffers),
        packing_(packing), parallel_(parallel) {}

  // Adds -Σ_t K⁻¹_it L_tq to rows i ≥ end of columns q in [begin, end), a panel: over all t ≥ end.
  void add_below(int32_t begin, int32_t end) {
    const auto cluster_of = [this](int32_t row) { return at(row).cluster; };
    buffers_.runs.each_block(cluster_of(begin), end, n_, false, cluster_of,
                             [&](int32_t t0, int32_t t1, int32_t i0, int32_t i1, int32_t off) {
                               if (off == 0) add_block(begin, end, i0, i1, t0, t1);
                               if (off == 1) add_far_block(begin, end, i0, i1, t0, t1);
                             });
  }

  // Turns a row into one of another place, and the column.
  void move(int32_t row, int32_t first, const LegPlace& to) {
    const LegPlace from = at(row);
    if (from.set == to.set) return;
    RowMove divided(clusters_, to, from);  // by what entries of the matrix are multiplied by
    for (int32_t i = first; i < n_; ++i) {
      if (i == row) continue;
      entry(i, row) = divided(entry(i, row), at(i));
      entry(row, i) = divided(entry(row, i), at(i));
    }
    at(row) = to;
  }

 private:
  LegPlace& at(int32_t row) { return buffers_.places[row]; }
  double& entry(int32_t i, int32_t j) { return inverse_[size_t(j) * n_ + i]; }

  void add_block(int32_t begin, int32_t end, int32_t i0, int32_t i1, int32_t t0, int32_t t1) {
    multiply_add(i1 - i0, end - begin, t1 - t0, -1.0, &entry(i0, t0), 1, n_,
                 lower_ + size_t(begin) * n_ + t0, 1, n_, &entry(i0, begin), n_, packing_,
                 parallel_);
  }

  void add_far_block(int32_t begin, int32_t end, int32_t i0, int32_t i1, int32_t t0, int32_t t1) {
    constexpr double kFactor = MoatClusters::kHalfFar;
    const int32_t rows = i1 - i0, deep = t1 - t0, columns = end - begin;
    buffers_.inverse.resize(size_t(rows) * deep);
    buffers_.lower.resize(size_t(deep) * columns);
    for (int32_t t = 0; t < deep; ++t) {
      const double* from = &entry(i0, t0 + t);
      double* to = buffers_.inverse.data() + size_t(t) * rows;
      for (int32_t i = 0; i < rows; ++i) to[i] = from[i] * kFactor;
    }
    for (int32_t q = 0; q < columns; ++q) {
      const double* from = lower_ + size_t(begin + q) * n_ + t0;
      double* to = buffers_.lower.data() + size_t(q) * deep;
      for (int32_t t = 0; t < deep; ++t) to[t] = from[t] * kFactor;
    }
    multiply_add(rows, columns, deep, -1.0, buffers_.inverse.data(), 1, rows, buffers_.lower.data(),
                 1, deep, &entry(i0, begin), n_, packing_, parallel_);
  }

  const MoatClusters& clusters_;
  int32_t n_;
  const double* lower_;
  double* inverse_;
  Buffers& buffers_;
  Packing& packing_;
  const ParallelFor& parallel_;
};

}  // namespace planaris
