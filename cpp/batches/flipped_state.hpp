// A state of low energy: single spins and pairs of neighbours are flipped while that helps, in a
// few sweeps. Enough for a gauge at moderate temperature, and much faster than a ground state.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"

namespace planaris {

constexpr int32_t kFlipsPerPart = 1 << 15;

// Threads share ranges of about `part` spins. Those with neighbours elsewhere come after all
// others, one by one, so that the state does not depend on the threads.
std::vector<int8_t> flipped_state(const RotationView& graph, std::span<const double> couplings,
                                  int threads, Control& control, int32_t part = kFlipsPerPart);

}  // namespace planaris
