// Ends of marginals of models without frustration, from windows between extreme boundaries.
//
// Couplings are not negative, so that by the inequality of Fortuin, Kasteleyn and Ginibre the
// mean of a rising function grows with every spin that is held up. So it is at most what it is in a
// window with any spins around it held up. A spin around it that is down but for a probability p,
// a wall, may be held down: the mean g of a function with values in [0, 1] becomes g + (1 - g) p at
// most. The same holds from below, g - g p, with spins held down and walls that are up.
//
// Spins that are likely to be up cost little when they are held up. So windows for upper ends
// spread through the others only, and those for lower ends through spins that are not likely to be
// down: along domains, which have narrow places where squares have none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "frontier/window_trace.hpp"

namespace planaris {

struct AttractiveView {
  std::span<const int32_t> edges;     // 2m, no parallel edges, no loops
  std::span<const double> couplings;  // m, not negative
  std::span<const double> fields;     // n

  int32_t num_spins() const { return static_cast<int32_t>(fields.size()); }
  int32_t num_edges() const { return static_cast<int32_t>(couplings.size()); }
};

// Ends of P(s_v = +1), and of the probabilities that both ends of an edge are up, or down.
struct AttractiveEnds {
  std::vector<double> nodes_lower, nodes_upper, up_lower, up_upper, down_lower, down_upper;
  int64_t windows = 0;   // that were summed over
  int64_t too_wide = 0;  // that did not fit
  bool in_time = true;   // false where the deadline came first; the ends hold all the same
  WindowTrace trace{};   // of the last round, if asked for
};

struct WindowSizes {
  int32_t core;      // spins that a window is laid around, at most
  int32_t across;    // and how many levels of a search across the layout they may take
  int32_t spins;     // most spins of a window
  int32_t max_bits;  // most spins in its table; windows that need more are made smaller
  double goal;       // spins whose ends are this far apart at most are left alone
  double wall;       // most that a wall may be wrong
  double held;       // spins are held up, for upper ends, if their probability is guessed to be
                     // this close to 1; down, for lower ends, if it is this close to 0
};

// One round: windows that cover all spins whose ends are farther apart than the goal. All of them
// see the ends as they were given, so that the result does not depend on threads. `guess` of every
// P(s_v = +1) says which spins are held; the ends hold whatever it is. With `trace` they say
// how they were found.
AttractiveEnds narrow_by_windows(const AttractiveView& model, AttractiveEnds ends,
                                 std::span<const double> guess, const WindowSizes& sizes,
                                 bool trace, int threads, Control& control);

}  // namespace planaris
