#include "moats/clustered_front.hpp"

#include <algorithm>

#include "base/simd.hpp"

namespace planaris {

PLANARIS_CLONES void multiply(int count, double factor, const double* x, double* to) {
  for (int i = 0; i < count; ++i) to[i] = x[i] * factor;
}

void sort_pairs(std::vector<ClusteredPair>& pairs, std::span<const LegPlace> places,
                const MoatClusters& clusters) {
  for (ClusteredPair& pair : pairs) {
    pair.set = clusters.around(places[pair.rows.first].set, places[pair.rows.second].set);
    pair.cluster = clusters.cluster(pair.set);
  }
  // A set lies in sets of its own cluster or of one of a lower level.
  std::stable_sort(pairs.begin(), pairs.end(), [&](const ClusteredPair& a, const ClusteredPair& b) {
    const int32_t level_a = clusters.level(a.cluster), level_b = clusters.level(b.cluster);
    if ((a.rank > 0) != (b.rank > 0)) return b.rank > 0;
    if (level_a != level_b) return level_a > level_b;
    return a.cluster != b.cluster ? a.cluster < b.cluster : a.rank < b.rank;
  });
}

}  // namespace planaris
