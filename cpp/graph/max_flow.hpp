// Minimum cuts of undirected graphs with terminals, in exact integers, and the signs that turn
// a signed graph into one without negative edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct CutResult {
  std::vector<uint8_t> source_side;  // the smallest set of a minimum cut that holds the source
  std::vector<double> flow;          // net flow of every edge, first end to second
  double rounding = 0;  // sum of |weight - integer used|: zero when the arithmetic was exact
  int bits = 64;        // of the integers
};

// Undirected capacities >= 0 by edge; a vertex is tied to the source by its terminal weight
// if positive, to the sink by minus its terminal weight if negative. Weights are taken as
// multiples of a power of two, which is exact unless they span more than 120 bits.
CutResult minimum_cut(std::span<const int32_t> edges, std::span<const double> capacities,
                      std::span<const double> terminals, Control& control);

struct SignedForest {
  std::vector<int8_t> gauge;        // +1 or -1: J_uv gauge_u gauge_v >= 0 if balanced
  std::vector<int32_t> frustrated;  // else: edges of a cycle with an odd number of negatives
};

SignedForest balance_signs(int32_t num_vertices, std::span<const int32_t> edges,
                           std::span<const double> couplings);

// Flips spins one by one, `free` ones only, while the energy -sum J s s - sum h s falls; tries each
// of them `sweeps` times at most.
void descend_energy(std::span<const int32_t> edges, std::span<const double> couplings,
                    std::span<const double> fields, std::span<const uint8_t> fixed,
                    std::vector<int8_t>& spins, int sweeps, Control& control);

}  // namespace planaris
