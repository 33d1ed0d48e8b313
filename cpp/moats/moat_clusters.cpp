#include "moats/moat_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace planaris {

LegPlace MoatClusters::climbed(int32_t leg, int32_t set) const {
  const int32_t from = belongs_[leg];
  const double climbed = depth(from) - depth(set), rest_change = rest(set) - rest(from);
  // Climbing makes rows larger: what is rounded is not negative.
  return {set, cluster(set),
          static_cast<int32_t>((2 * climbed + rest_change) * std::numbers::log2e + 0.5)};
}

class ClusterBuilder {
 public:
  ClusterBuilder(const MoatPlaces& places, const Moats& moats)
      : places_(places), innermost_(places.leaf.size(), -1) {
    const auto sets = static_cast<int32_t>(moats.start.size());
    made_.nodes_ = places.tree.num_nodes();
    made_.parent_.assign(moats.parent.begin(), moats.parent.end());
    made_.node_.resize(sets);
    made_.cluster_.resize(sets);
    made_.depth_.resize(sets);
    made_.rest_.resize(sets);
    made_.cluster_parent_ = {-1};
    made_.level_ = {0};
    for (int32_t k = 0; k < sets; ++k) {  // parents come first
      find_cluster(k, moats.value[k]);
      int32_t first = INT32_MAX, last = 0;
      for (int32_t at = moats.start[k]; at < moats.stop[k]; ++at) {
        const int32_t face = moats.order[at];
        innermost_[face] = k;
        first = std::min(first, places.leaf[face]);
        last = std::max(last, places.leaf[face]);
      }
      int32_t node = last;
      while (places.first[node] > first) node = places.tree.parent[node];
      made_.node_[k] = node;
    }
  }

  double deepest() const {
    double most = 0.0;
    for (const double depth : made_.depth_) most = std::max(most, depth);
    return most;
  }

  MoatClusters run(std::span<const double> gauged, std::span<const int32_t> unsatisfied,
                   std::vector<double>& scale) {
    const auto edges = static_cast<int32_t>(gauged.size());
    made_.belongs_.resize(2 * edges);
    made_.climbs_.assign(edges, 0);
    for (const int32_t e : unsatisfied) made_.climbs_[e] = 1;
    for (int32_t e = 0; e < edges; ++e) {
      const int32_t here = innermost(2 * e), there = innermost(2 * e + 1);
      if (made_.climbs_[e]) {
        add(2 * e, here, gauged[e], scale);
        add(2 * e + 1, there, gauged[e], scale);
      } else {
        const int32_t both = made_.around(here, there);
        const double drop = made_.depth(there) - made_.depth(here);
        add(2 * e, both, drop, scale);
        add(2 * e + 1, both, -drop, scale);
      }
    }
    return std::move(made_);
  }

 private:
  int32_t innermost(int32_t leg) const { return innermost_[places_.faces.face_of[leg]]; }

  void find_cluster(int32_t set, double value) {
    const int32_t parent = made_.parent_[set], around = made_.cluster(parent);
    made_.depth_[set] = made_.depth(parent) + value;
    const auto level = static_cast<int32_t>(made_.depth_[set] / MoatClusters::kQuantum);
    made_.rest_[set] = made_.depth_[set] - MoatClusters::kQuantum * (level + 0.5);
    made_.cluster_[set] = around;
    if (level == made_.level_[around]) return;
    made_.cluster_[set] = static_cast<int32_t>(made_.level_.size());
    made_.level_.push_back(level);
    made_.cluster_parent_.push_back(around);
  }

  void add(int32_t leg, int32_t set, double logarithm, std::vector<double>& scale) {
    made_.belongs_[leg] = set;
    scale[leg] = logarithm + made_.rest(set);
  }

  const MoatPlaces& places_;
  std::vector<int32_t> innermost_;  // by face
  MoatClusters made_;
};

ClusteredOrder clustered_moat_order(const MoatPlaces& places, const Moats& moats,
                                    std::span<const double> gauged,
                                    std::span<const int32_t> unsatisfied, double slack) {
  ClusteredOrder found;
  MoatWaits waits;
  moat_waits(places, moats, gauged.size(), unsatisfied, slack, waits);
  ClusterBuilder builder(places, moats);
  found.order = {std::vector<double>(2 * gauged.size()), std::move(waits.earliest),
                 std::move(waits.rank), builder.deepest()};
  found.clusters = builder.run(gauged, unsatisfied, found.order.scale);
  return found;
}

}  // namespace planaris
