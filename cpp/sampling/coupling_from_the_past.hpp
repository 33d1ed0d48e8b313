// Exact samples of models without frustration, by monotone coupling (Propp and Wilson 1996).
//
// With couplings that are not negative, heat-bath updates by the same random numbers keep the
// order of states: chains started with all spins down and all up enclose every other chain.
// Where the two have met, all have. Sums of a vertex are formed in one order in all chains, and
// rounded addition is monotone, so the order holds for the numbers as they are computed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Whether a spin in a local field is drawn up, given a number in (0, 1): u < 1 / (1 + e^-2h). A
// table settles all but few; what it leaves open is decided by a logarithm.
class HeatBath {
 public:
  HeatBath();

  uint8_t up(double u, double field) const {
    const double at = (std::clamp(2 * field, -kWidest, kWidest) + kWidest) * kPerUnit;
    const int k = std::min(static_cast<int>(at), kEntries - 2);
    const double p = probability_[k] + (at - k) * (probability_[k + 1] - probability_[k]);
    return std::abs(u - p) > kError ? u < p : decide(u, field);
  }
  static bool decide(double u, double field);

 private:
  static constexpr double kWidest = 24.0, kPerUnit = 32.0;
  static constexpr double kError = 2e-5;  // d² / 8 max |p''| = 1.2e-5 for steps of d = 1 / 32
  static constexpr int kEntries = 48 * 32 + 1;
  std::array<double, kEntries> probability_;
};

// A graph with couplings that are not negative, coloured: spins of one colour do not interact.
class AttractiveModel {
 public:
  AttractiveModel(int32_t num_spins, std::span<const int32_t> edges,
                  std::span<const double> couplings, std::span<const double> fields);

  int32_t num_spins() const { return static_cast<int32_t>(fields.size()); }

  std::vector<double> fields;
  std::vector<int64_t> offsets;  // by spin, into the next two
  std::vector<int32_t> neighbours;
  std::vector<double> couplings;
  std::vector<int32_t> order;    // spins by colour
  std::vector<int32_t> colours;  // offsets into `order`
  HeatBath heat_bath;
  // Spins with at most kFewNeighbours of them: by the pattern of those that are up, the probability
  // of being drawn up, times 2^32 and rounded down. Offsets into it by spin, or -1.
  static constexpr int64_t kFewNeighbours = 5;
  std::vector<int64_t> tables;
  std::vector<uint32_t> thresholds;

 private:
  void fill_tables();
};

struct CoupledSamples {
  std::vector<int8_t> spins;  // one row per sample
  int64_t block = 0;          // sweeps per block
  int64_t blocks = 0;         // in all
};

// Read-once coupling from the past (Wilson 2000). A pilot run from both extremes says how long a
// block of sweeps is. A sample is the state before a block that merges all states, once one such
// block has come before; random numbers are used in the order of time and never again.
CoupledSamples sample_read_once(const AttractiveModel& model, int64_t count, uint64_t seed,
                                int threads, Control& control);

struct PastBounds {
  std::vector<int32_t> lower, upper;  // by spin: samples that are up, surely and possibly
};

// Coupling from the past, from at most `max_sweeps` sweeps ago: what the extremes leave open.
PastBounds bound_from_the_past(const AttractiveModel& model, int32_t count, int64_t max_sweeps,
                               uint64_t seed, int threads, Control& control);

}  // namespace planaris
