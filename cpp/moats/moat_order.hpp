// An order of elimination, and a scaling, that low temperatures cannot hurt (plane graphs).
//
// Relative to a ground state the Pfaffian of any set of joined pairs of legs is a partition
// function: all terms are positive and the empty cut has weight 1. So if rows are eliminated edge
// by edge, every pivot is a ratio of two partition functions and no smaller than its join. What can
// go wrong is that entries beside the pivots grow and cancel. The packing of T-cuts that proves
// the ground state says when: let z be the values of its sets S of faces ("moats") and N(f) their
// sum around face f. Scale a leg by its coupling g if its edge is unsatisfied, and by the drop of N
// across its edge otherwise: then an entry is at most exp(-2 Σ z) over the sets that separate its
// legs (a leg lies in S if its face does, unless its edge is satisfied and leaves S), and this
// remains so, provided that the one unsatisfied edge that leaves a set waits for the edges
// inside. No pivot is searched for. A further factor exp(N) per leg centres the range of what
// matters: exp(±2 max N). See docs/theory/pfaffian.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "embedding/embedding.hpp"
#include "fronts/front_tree.hpp"

namespace planaris {

// Sets of faces, nested or disjoint: set k holds order[start[k]] … order[stop[k] - 1], lies in
// set parent[k] < k (or in none: -1), and has the value value[k] > 0.
struct Moats {
  std::span<const int32_t> order, start, stop, parent;
  std::span<const double> value;
};

// What does not depend on the model.
struct MoatPlaces {
  MoatPlaces(const FrontTree& tree, const Faces& faces);

  const FrontTree& tree;
  const Faces& faces;
  std::vector<int32_t> leaf;        // by face: the leaf of the tree that holds it
  std::vector<uint8_t> has_bridge;  // by face: whether an edge has it on both sides
  std::vector<int32_t> first;       // by node: the first node of its subtree
};

struct MoatWaits {
  std::vector<int32_t>
      earliest;  // per edge: the node at which it may be eliminated; 0: where its legs meet
  std::vector<int32_t> rank;  // per edge: those of a front are eliminated by rising rank
};

struct MoatOrder {
  std::vector<double> scale;            // per leg, a logarithm
  std::vector<int32_t> earliest, rank;  // see MoatWaits
  double deepest = 0.0;                 // largest Σ z over the sets around a face
};

// `gauged`: couplings relative to the ground state; `unsatisfied`: the edges of the T-join. Sets
// are not waited for as long as entries grow by no more than exp(slack) for it.
MoatOrder moat_order(const MoatPlaces& places, const Moats& moats, std::span<const double> gauged,
                     std::span<const int32_t> unsatisfied, double slack);
// The same without scales, of a graph with so many edges.
void moat_waits(const MoatPlaces& places, const Moats& moats, size_t edges,
                std::span<const int32_t> unsatisfied, double slack, MoatWaits& waits);

}  // namespace planaris
