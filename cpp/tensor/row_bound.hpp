// The bound of one row: how far, relative to every component, the compressed state may be from the
// exact row applied to the state before. See proof.hpp for the theorem.
#pragma once

#include <functional>
#include <vector>

#include "base/team.hpp"
#include "tensor/cone.hpp"
#include "tensor/enclosure.hpp"
#include "tensor/row_state.hpp"

namespace planaris::tensor {

// Boxes of vectors seen from a bond to its right, with the letter beside it (-1: none).
struct Seen {
  int dim = 1;
  std::vector<int8_t> letters;
  Vector centre, radius;
};

struct RowBound {
  double width = 0;        // Σ -log(1 - δ)
  double cut = 0;          // the part that truncation has in it
  std::vector<Seen> seen;  // per bond, for the next row
  ConeFactors cones;       // of the new state, if asked for
  // Of positions 1, 2, … of the left vectors, the right vectors and the new state from the right:
  // trees that hulls are from, and those that were grown again (empty where none was).
  std::vector<Shape> shapes, refined;
};

// |yraw| <= ybar (w · yraw), for yraw in the cone of e^{J t s} ⊗ y, y in a box with letter s.
Vector raw_bound(const Vector& w, const Seen& boxes, double coupling, const Terms& terms);

// Tries efforts in turn, from `start` on, until the bound is below `target` or as good as the
// effort asks for; throws Lost when none gave one. `start` is left at the last one, where the next
// row may start. `before`: what the row before has seen. `cones`: whether sums over the new state
// will be needed. `meanwhile` is called once or not at all, by some thread, rounding to nearest;
// none: nothing to call.
RowBound bound_row(const RowState& row, const GridView& grid, int r,
                   const std::vector<Seen>& before, const std::vector<Effort>& efforts,
                   size_t* start, double target, bool cones, const Terms& terms,
                   const std::function<void()>& meanwhile, Team& team);

}  // namespace planaris::tensor
