// Exponents for the entries of cold models: the range of doubles, block by block.
//
// With rows scaled by the packing (moat_order.hpp) an entry is at most exp(-2 d), d = Σ z over the
// sets that separate its two legs: a distance in the tree of the sets. Row factors centre that
// range, but where chains of sets are long it is wider than that of doubles. So the tree is cut
// into clusters of sets whose depth D = Σ z has the same ⌊D / Q⌋, Q = 192 log 2, and the entry of
// legs in clusters I and J has a factor 2^384 for every Q between them. With a factor exp(r) per
// row, r = D - Q (⌊D / Q⌋ + 1/2), what is left lies between exp(±3 Q) = 2^±576, and factors of
// elimination between exp(±3.5 Q). The update of an entry by a pivot in cluster K gets a factor
// 2^-768 for every Q from K to the path between I and J. From the second Q on it is below exp(-4 Q)
// of what the entry may be: nothing.
//
// A leg of an unsatisfied edge climbs out of the sets that the edge leaves. From the node on that
// holds all faces of a set no other leg belongs to it, every entry of the row is at most exp(-2 z),
// and a factor exp(2 z) makes it a row of the set around.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <span>
#include <vector>

#include "moats/moat_order.hpp"

namespace planaris {

// Where the row of a leg stands in the tree of the sets.
struct LegPlace {
  int32_t set = -1;  // innermost one that separates it from others; -1: none
  int32_t cluster = 0;
  int32_t exponent = 0;  // the row is multiplied by two to this power
};

class MoatClusters {
 public:
  static constexpr double kQuantum = 192 * std::numbers::ln2;  // Q
  static constexpr int32_t kBits = 384;  // per Q between the clusters of an entry
  // Of the factor of an update for one Q off the path, half: given to both sides, neither leaves
  // the range.
  static constexpr double kHalfFar = 0x1p-384;

  double depth(int32_t set) const { return set < 0 ? 0.0 : depth_[set]; }
  double rest(int32_t set) const { return set < 0 ? -kQuantum / 2 : rest_[set]; }

  bool fit(const FrontTree& tree, size_t legs) const {
    return nodes_ == tree.num_nodes() && belongs_.size() == legs;
  }

  // In the front of a node, as assembled.
  LegPlace place(int32_t leg, int32_t node) const { return in_set(leg, set_of(leg, node)); }
  int32_t set_of(int32_t leg, int32_t node) const {
    int32_t set = belongs_[leg];
    if (!climbs_[leg >> 1]) return set;
    while (set >= 0 && node_[set] < node) set = parent_[set];
    return set;
  }
  // Of a leg that has climbed into a set around it.
  LegPlace in_set(int32_t leg, int32_t set) const {
    return set == belongs_[leg] ? LegPlace{set, cluster(set), 0} : climbed(leg, set);
  }
  // The smallest set around two sets.
  int32_t around(int32_t a, int32_t b) const {
    while (a != b) {
      int32_t& inner = a > b ? a : b;
      inner = parent_[inner];
    }
    return a;
  }

  int32_t cluster(int32_t set) const { return set < 0 ? 0 : cluster_[set]; }
  int32_t level(int32_t cluster) const { return level_[cluster]; }
  // Multiples of Q between two clusters.
  int32_t distance(int32_t a, int32_t b) const {
    int32_t sum = 0;
    while (a != b) {
      int32_t& inner = a > b ? a : b;
      sum += level_[inner] - level_[cluster_parent_[inner]];
      inner = cluster_parent_[inner];
    }
    return sum;
  }
  // The entry of two rows is multiplied by two to this power; that of the inverse, divided by it.
  int32_t exponent(const LegPlace& a, const LegPlace& b) const {
    return a.exponent + b.exponent + kBits * distance(a.cluster, b.cluster);
  }

 private:
  friend class ClusterBuilder;

  LegPlace climbed(int32_t leg, int32_t set) const;

  int32_t nodes_ = 0;
  std::vector<int32_t> belongs_;                  // by leg: the innermost set that it belongs to
  std::vector<uint8_t> climbs_;                   // by edge: whether it is unsatisfied
  std::vector<int32_t> parent_, node_, cluster_;  // by set; node: the lowest that holds its faces
  std::vector<double> depth_, rest_;              // by set: D and r
  std::vector<int32_t> cluster_parent_, level_;   // by cluster; parents come first
};

struct ClusteredOrder {
  MoatOrder order;  // with the scales that go with the clusters
  MoatClusters clusters;
};

// What entries of a row are multiplied by when it moves from one place to another, column by
// column; those of one cluster side by side share a factor.
class RowMove {
 public:
  RowMove(const MoatClusters& clusters, const LegPlace& from, const LegPlace& to)
      : clusters_(clusters), from_(from), to_(to) {}

  double operator()(double x, const LegPlace& other) {
    if (other.cluster != cluster_) {
      cluster_ = other.cluster;
      power_ = clusters_.exponent(to_, other) - clusters_.exponent(from_, other);
      factor_ = std::ldexp(1.0, power_);
    }
    return std::abs(power_) < 1000 ? x * factor_ : std::ldexp(x, power_);
  }

 private:
  const MoatClusters& clusters_;
  LegPlace from_, to_;
  int32_t cluster_ = -1, power_ = 0;
  double factor_ = 1.0;
};

// As moat_order, for elimination with exponents.
ClusteredOrder clustered_moat_order(const MoatPlaces& places, const Moats& moats,
                                    std::span<const double> gauged,
                                    std::span<const int32_t> unsatisfied, double slack);

}  // namespace planaris
