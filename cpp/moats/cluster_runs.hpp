// Blocks of a front whose rows lie in several clusters of sets (moat_clusters.hpp), as a panel of
// pivots in one cluster sees them: those that are two Q or more off the path between their clusters
// get nothing of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "moats/moat_clusters.hpp"

namespace planaris {

class ClusterRuns {
 public:
  // Lists clusters and the distances between them: clear(), add() each that rows lie in or will
  // move to, measure().
  void clear() { clusters_.clear(); }
  void add(int32_t cluster) {
    if (clusters_.empty() || clusters_.back() != cluster) clusters_.push_back(cluster);
  }
  void measure(const MoatClusters& clusters) {
    std::sort(clusters_.begin(), clusters_.end());
    clusters_.erase(std::unique(clusters_.begin(), clusters_.end()), clusters_.end());
    distances_.clear();
    for (const int32_t a : clusters_) {
      for (const int32_t b : clusters_) distances_.push_back(clusters.distance(a, b));
    }
  }

  // For a panel in `cluster` and rows [first, last): calls body(j0, j1, i0, i1, off) for every run
  // [j0, j1) of rows in one cluster and all rows [i0, i1) side by side, from that run on (`lower`)
  // or from the first row, that are `off` multiples of Q, none or one, off the path.
  template <class ClusterOf, class Body>
  void each_block(int32_t cluster, int32_t first, int32_t last, bool lower,
                  const ClusterOf& cluster_of, const Body& body) {
    runs_.clear();
    for (int32_t from = first, to; from < last; from = to) {
      const int32_t own = cluster_of(from);
      for (to = from + 1; to < last && cluster_of(to) == own;) ++to;
      runs_.push_back({from, to, index(own)});
    }
    const size_t own = index(cluster);
    for (size_t j = 0; j < runs_.size(); ++j) {
      for (size_t i = lower ? j : 0, next; i < runs_.size(); i = next) {
        const int32_t off = off_path(own, runs_[j].index, runs_[i].index);
        for (next = i + 1;
             next < runs_.size() && off_path(own, runs_[j].index, runs_[next].index) == off;)
          ++next;
        if (off < 2) body(runs_[j].begin, runs_[j].end, runs_[i].begin, runs_[next - 1].end, off);
      }
    }
  }

 private:
  // Rows side by side in one cluster.
  struct Run {
    int32_t begin, end;
    size_t index;
  };

  size_t index(int32_t cluster) const {
    return std::lower_bound(clusters_.begin(), clusters_.end(), cluster) - clusters_.begin();
  }
  int32_t distance(size_t a, size_t b) const { return distances_[a * clusters_.size() + b]; }
  // Multiples of Q from a cluster to the path between two others; from two on, they all count as
  // two.
  int32_t off_path(size_t own, size_t a, size_t b) const {
    if (a == own || b == own) return 0;
    return std::min((distance(own, a) + distance(own, b) - distance(a, b)) / 2, 2);
  }

  std::vector<int32_t> clusters_, distances_;  // sorted; between two of them
  std::vector<Run> runs_;
};

}  // namespace planaris
