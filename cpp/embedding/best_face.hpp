// The heaviest face of a plane graph, over all ways to arrange its biconnected components.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "embedding/embedding.hpp"

namespace planaris {

struct BestFace {
  std::vector<uint8_t> chosen;     // per vertex: lies on the chosen face of its component
  std::vector<uint8_t> is_unique;  // per connected component: no other embedding could do better
};

// For every connected component a face whose vertices weigh most (weights >= 0), among the
// faces that arise by turning and nesting the biconnected components as they are embedded now.
// That is the maximum over all embeddings where every biconnected component has only one (up
// to reflection). Linear time.
BestFace find_best_faces(const RotationView& rotation, std::span<const double> weights);

}  // namespace planaris
