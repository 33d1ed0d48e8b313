// Local search for ground states of zero-field Ising models: where the upper ends of
// intervals come from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Spins by following a spanning tree of the edges whose value is nearest to 0 or 1.
std::vector<int8_t> round_disagreements(int32_t num_spins, std::span<const int32_t> edges,
                                        std::span<const double> x);

// Improves `spins` in place: single flips down to a local minimum, then `tabu_steps` best
// flips of spins not flipped lately, keeping the best state seen. Deterministic in `seed`.
void improve_spins(int32_t num_spins, std::span<const int32_t> edges,
                   std::span<const double> couplings, std::vector<int8_t>& spins,
                   int64_t tabu_steps, uint64_t seed, Control& control);

}  // namespace planaris
