// Independent non-contractible cycles of a rotation system by tree-cotree decomposition
// (Eppstein, Dynamic generators of topologically embedded graphs, 2003).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "embedding/embedding.hpp"

namespace planaris {

struct Cycles {
  std::vector<int32_t> edges;    // edges of all cycles, one after the other
  std::vector<int32_t> offsets;  // number of cycles + 1
};

// A basis of the first homology group mod 2: twice the genus many cycles of the graph, each
// simple, added up over the components. Linear but for the total length of the cycles.
// `face_of` holds the face left of each half-edge, as trace_faces returns it.
Cycles homology_basis(const RotationView& rotation, std::span<const int32_t> face_of);

}  // namespace planaris
