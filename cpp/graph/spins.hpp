// Spins from a cut: every edge says whether its ends differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/team.hpp"
#include "base/unwritten.hpp"

namespace planaris {

struct SpinAssignment {
  UnwrittenVector<int8_t> spins;  // -1 or +1; the first vertex of each component is +1
  int32_t conflicting_edge = -1;  // first edge that contradicts the earlier ones, or -1
};

// Union-find with parity: linear up to the inverse Ackermann function, no recursion.
// An edge that contradicts earlier ones is ignored and reported.
SpinAssignment spins_from_disagreements(int32_t num_vertices, std::span<const int32_t> edges,
                                        std::span<const uint8_t> differ);
// The same by several threads.
SpinAssignment spins_from_disagreements(int32_t num_vertices, std::span<const int32_t> edges,
                                        std::span<const uint8_t> differ, Team& team);

}  // namespace planaris
