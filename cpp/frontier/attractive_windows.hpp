// Ends of marginals of models without frustration, from windows between extreme boundaries.
//
// Couplings are not negative, so that by the inequality of Fortuin, Kasteleyn and Ginibre the
// mean of a rising function grows with every spin that is held up. In a window it lies between its
// values with all spins around held down and held up. A spin around it that is down but for a
// probability p, a wall, may be held down in the upper bound as well: the mean g of a function with
// values in [0, 1] becomes g + (1 - g) p at most. The same holds for the lower bound, g - g p, and
// walls that are up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct AttractiveView {
  std::span<const int32_t> edges;     // 2m, no parallel edges, no loops
  std::span<const double> couplings;  // m, not negative
  std::span<const double> fields;     // n

  int32_t num_spins() const { return static_cast<int32_t>(fields.size()); }
  int32_t num_edges() const { return static_cast<int32_t>(couplings.size()); }
};

// Ends of P(s_v = +1) and of P(s_u = s_v).
struct AttractiveEnds {
  std::vector<double> nodes_lower, nodes_upper, edges_lower, edges_upper;
  int64_t windows = 0;    // that were summed over
  int64_t too_wide = 0;   // that did not fit
  bool in_time = true;    // false where the deadline came first; the ends hold all the same
};

struct WindowSizes {
  int32_t core;      // spins that a window is laid around, at most
  int32_t across;    // and how many levels of a search across the layout they may take
  int32_t spins;     // most spins of a window
  int32_t max_bits;  // most spins in its table; windows that need more are made smaller
  double goal;       // spins whose ends are this far apart at most are left alone
  double wall;       // most that a wall may be wrong
};

// One round: windows that cover all spins whose ends are farther apart than the goal. All of them
// see the ends as they were given, so that the result does not depend on threads.
AttractiveEnds narrow_by_windows(const AttractiveView& model, AttractiveEnds ends,
                                 const WindowSizes& sizes, int threads, Control& control);

}  // namespace planaris
