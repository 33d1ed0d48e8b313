// Correlations of one spin with all others, by one sweep down the tree of fronts.
//
// Flipping the join of every edge of a path from a to v multiplies each state by s_a s_v, up to a
// sign per edge. Of the path only its ends count, so all spins inside a node of the tree may share
// its part outside the node. Downwards, every node is handed what lies outside it, eliminated up
// to the legs across its boundary, with the joins of such a path flipped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pfaffian/pfaffian.hpp"

namespace planaris {

struct SpinCorrelations {
  // Two per vertex: along two paths, where it lies in two leaves, else NaN; both NaN where no
  // path leads. On a surface paths may differ by a cycle: only sums over all sign structures agree.
  std::vector<double> value;
  bool complete = true;  // whether every path was found
};

// `edges` holds two vertices per edge, `reference` the logarithm that values are relative to: that
// of the Pfaffian, unless several are to be added.
template <class T>
SpinCorrelations spin_correlations(const FrontTree& tree, const KasteleynEntries& entries,
                                   const Fronts<T>& fronts, std::span<const int32_t> edges,
                                   int32_t num_vertices, int32_t source, double reference,
                                   int threads, Control& control);

}  // namespace planaris
