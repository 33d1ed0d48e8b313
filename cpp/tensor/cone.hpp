// What rounding does to sums over a state: the vectors x of all configurations to the left of a
// bond and y of all to the right span two cones, and x · y > 0 for all of them.
//
// Let G be a positive combination of vectors y at the next bond, and G' = U(s) G + η what floating
// point makes of its image. With |x_a| <= X_a x · y for all x and y, scaled to y_0 = 1,
//   |x · η| <= Σ_a X_a |η_a| / (U(s) G)_0 · x · U(s) G,
// so that x · G' and x · U(s) G differ by a small factor, whatever x is. G' is a positive
// combination of vectors y again if those may be moved by ±κ_a in every component: η is such a
// combination as soon as Σ_a |η_a| / κ_a <= (U(s) G)_0. The enclosures are made with vectors that
// are moved.
//
// |η| <= γ |U| |G| and |G_a| <= y_a G_0 with y the sizes of vectors, so that both sums are γ times
// numbers of the site.
#pragma once

#include <vector>

#include "tensor/enclosure.hpp"
#include "tensor/row_state.hpp"

namespace planaris::tensor {

constexpr double kMoved = 4e-6;  // κ relative to the sizes of some vectors

struct ConeFactors {
  // Per bond: X and the same for y, 1/κ of x, one vector of either cone (`probe`) and the largest
  // product of it with vectors of the other, scaled to first component one.
  std::vector<Vector> over_x, over_y, to_x, probe_x, probe_y;
  std::vector<double> reach_x, reach_y;
  // Per site: Σ X |U| y / least (U y)_0 from the right, the same from the left, and both with 1/κ
  // in place of X. Per bond: Σ X y, what x · G has in absolute terms relative to its value.
  std::vector<double> right, left, right_moved, left_moved, overlap;

  // Of the state that is one everywhere.
  explicit ConeFactors(int sites = 0)
      : over_x(sites + 1, Vector{1.0}), over_y(over_x), to_x(over_x), probe_x(over_x),
        probe_y(over_x), reach_x(sites + 1, 1.0), reach_y(reach_x), right(sites, 1.0), left(right),
        right_moved(right), left_moved(right), overlap(sites + 1, 1.0) {}
};

// Sizes of all vectors at a bond, and relative to x · y. Must run while rounding up; throws Lost.
struct BondSizes {
  Vector x, y, over_x, over_y;
  // Centres of a pair of boxes whose product is not proved to be positive; empty: there is none.
  Vector failed_x, failed_y;
};
BondSizes bond_sizes(const Enclosure& x, const Enclosure& y);

// One site of the factors, in which those of bonds are known: `from_left` and `from_right` enclose
// vectors at the bonds to its left and right; `to_y` is 1/κ of y at the bond to the left.
void cone_factors(const Core& core, const Enclosure& from_left, const Enclosure& from_right,
                  const BondSizes& left, const BondSizes& right, const Vector& to_y, int site,
                  const Terms& terms, ConeFactors& out);

// The image of a probe under the likelier letter (`forward`: x to the right), which must be a
// vector moved by less than κ.
Vector next_probe(const Core& core, const Vector& probe, const Vector& moved, bool forward);

// Σ_a weight_a |m_ab| for m (rows × columns), rounded up, underflow included.
Vector absolute_row(const Vector& weight, const Vector& m, int columns);

}  // namespace planaris::tensor
