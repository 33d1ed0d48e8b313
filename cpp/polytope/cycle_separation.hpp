// Separation of cycle inequalities: for a cycle C and an odd subset F of its edges,
//   sum_{C - F} x_e + sum_F (1 - x_e) >= 1,   x_e = P(s_u != s_v).
// In the doubled graph (two copies of every spin; an edge keeps the copy at cost x_e, "even",
// or changes it at cost 1 - x_e, "odd") a violated inequality is a path from a spin to its
// copy that is shorter than one. Cycles are returned without chords: one with a chord is the
// sum of two shorter ones, of which one is violated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct CycleCuts {
  std::vector<int32_t> offsets{0};
  std::vector<int32_t> edges;
  std::vector<int8_t> odd;        // 1 for edges of F
  std::vector<double> violation;  // 1 - left side, descending
  int32_t num_found = 0;          // before near-duplicates were dropped
};

struct SeparationOptions {
  double min_violation = 1e-6;
  int32_t max_cuts = 1 << 30;
  // A cycle is dropped when each of its edges is already in this many more violated ones.
  int32_t max_per_edge = 2;
  // Spins settled per source by the quick search; 0: exact search only.
  int32_t budget = 48;
  // Exact search follows when the quick one finds no more than this many; negative: never.
  int32_t exact_below = 0;
  int32_t threads = 1;
};

// The exact search finds a cycle violated by more than min_violation whenever there is one
// (up to 1e-9 per edge of the cycle).
CycleCuts separate_cycles(int32_t num_spins, std::span<const int32_t> edges,
                          std::span<const double> x, const SeparationOptions& options,
                          Control& control);

}  // namespace planaris
