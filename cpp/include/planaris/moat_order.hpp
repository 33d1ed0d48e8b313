// An order of elimination, and a scaling, that low temperatures cannot hurt (plane graphs).
//
// Relative to a ground state all terms of a Pfaffian of joined pairs of legs are positive, the
// empty cut has weight 1, and so has every pivot if rows are eliminated edge by edge: it is a
// ratio of two partition functions. What can go wrong is that the entries beside the pivots grow
// large and cancel. The packing of T-cuts that proves the ground state says when they do: with
// the values z of its sets S of faces ("moats"), scaling unsatisfied edges by exp(J) and the legs
// of the others by their difference in depth, an entry is at most exp(-2 Σ z) over the sets that
// separate its legs, and elimination keeps it so, provided that the one unsatisfied edge that
// leaves a set waits for the edges inside. No pivot is searched for. See docs/theory/pfaffian.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planaris/embedding.hpp"
#include "planaris/front_tree.hpp"

namespace planaris {

// Sets of faces, nested or disjoint: set k holds order[start[k]] … order[stop[k] - 1], lies in
// set parent[k] < k (or in none: -1), and has the value value[k] > 0.
struct Moats {
  std::span<const int32_t> order, start, stop, parent;
  std::span<const double> value;
};

struct MoatOrder {
  std::vector<double> scale;      // per leg, a logarithm
  std::vector<int32_t> earliest;  // per edge: the node at which it may be eliminated
  std::vector<int32_t> rank;      // per edge: those of a front are eliminated by rising rank
  double deepest = 0.0;           // largest Σ z over the sets around a face
};

// `gauged`: couplings relative to the ground state; `unsatisfied`: the edges of the T-join. Sets
// are not waited for as long as entries grow by no more than exp(slack) for it.
MoatOrder moat_order(const FrontTree& tree, const Faces& faces, const Moats& moats,
                     std::span<const double> gauged, std::span<const int32_t> unsatisfied,
                     double slack);

}  // namespace planaris
