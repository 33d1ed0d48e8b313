// What rounding does to sums over a state: the vectors x of all configurations to the left of a
// bond and y of all to the right span two cones, and x · y > 0 for all of them.
//
// Let G be a positive combination of vectors y at the next bond, and G' = U(s) G + η what floating
// point makes of its image. With |x_a| <= X_a x · y for all x and y, scaled to y_0 = 1,
//   |x · η| <= Σ_a X_a |η_a| / (U(s) G)_0 · x · U(s) G,
// so that x · G' and x · U(s) G differ by a small factor, whatever x is. G' is a positive combination
// of vectors y again if those may be moved by ±κ_a in every component: η is such a combination as
// soon as Σ_a |η_a| / κ_a <= (U(s) G)_0. The enclosures are made with vectors that are moved.
//
// |η| <= γ |U| |G|, and |G_a| <= y_a G_0 with y the sizes of vectors, so that both sums are γ times
// numbers of the site, which depend on the state alone. For the product of two states they multiply.
#pragma once

#include <vector>

#include "tensor/enclosure.hpp"
#include "tensor/row_state.hpp"

namespace planaris::tensor {

constexpr double kMoved = 2e-4;  // κ relative to the sizes of vectors

// Per site: Σ X |U| y / least (U y)_0 from the right, and the same from the left; the same with 1/κ
// in place of X. Per bond: Σ X y, what a product x · G has in absolute terms relative to its value.
struct ConeFactors {
  std::vector<double> right, left, right_moved, left_moved, overlap;

  // Of the state that is one everywhere.
  static ConeFactors ones(int sites) {
    const std::vector<double> one(sites, 1.0);
    return {one, one, one, one, std::vector<double>(sites + 1, 1.0)};
  }
};

// Sizes of all vectors at a bond, and relative to x · y. Must run while rounding up; throws Lost.
struct BondSizes {
  Vector x, y, over_x, over_y;
};
BondSizes bond_sizes(const Enclosure& x, const Enclosure& y);

// One site of the factors: `from_left` and `from_right` enclose vectors at the bonds to its left and
// right; `moved_x` is κ of x at the right bond, `moved_y` that of y at the left one.
void cone_factors(const Core& core, const Enclosure& from_left, const Enclosure& from_right,
                  const BondSizes& left, const BondSizes& right, const Vector& moved_x,
                  const Vector& moved_y, int site, const Terms& terms, ConeFactors& out);

}  // namespace planaris::tensor
