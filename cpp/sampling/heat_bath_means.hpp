// Estimates of P(s_v = +1) by heat-bath sweeps from a given state.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "sampling/coupling_from_the_past.hpp"

namespace planaris {

// How often each spin is up, after every sweep of all chains but for the first tenth of the sweeps.
// Chains begin at `start` (+1 and -1) and have random numbers of their own; which thread runs them
// makes no difference.
std::vector<double> heat_bath_means(const AttractiveModel& model, std::span<const int8_t> start,
                                    int chains, int64_t sweeps, uint64_t seed, int threads,
                                    Control& control);

}  // namespace planaris
