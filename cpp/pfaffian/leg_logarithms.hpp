// Logarithms of the factors that legs bring to entries of the Kasteleyn matrix.
#pragma once

#include <cstdint>
#include <span>

#include "base/control.hpp"

namespace planaris {

// A number in [-1, 1) that depends on a leg alone: rows that are scaled by its exponential show
// what rounding does, and models whose couplings are moved by a share of it are near.
double leg_shift(uint64_t leg);

// `face` receives the scale of every leg less the coupling of its edge. `shifted`, if not empty,
// receives scales with shifts added, and faces then have them too. Returns Σ |face|.
double leg_logarithms(std::span<const double> scale, std::span<const double> gauged,
                      std::span<double> face, std::span<double> shifted, int threads,
                      Control& control);

}  // namespace planaris
