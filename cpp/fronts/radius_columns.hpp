// Radii of many entries at once; see fronts/radius_front.hpp.
#pragma once

#include <cstdint>

namespace planaris {

// Radii are sums of nonnegative numbers, rounded at most 4000 times before they are read.
constexpr double kReadRadius = 1 + 0x1p-40;

// Bound on the error of an entry that is left, with its radius as computed: what is rounded, and
// underflows, on the way to an entry.
struct HandedOn {
  double entry = 0.0, tiny = 0.0;

  double operator()(double value, double radius) const {
    return (radius + entry * (value < 0.0 ? -value : value)) * kReadRadius + tiny;
  }
};

// The radii of so many entries as they are handed on.
void hand_on_radii(int count, HandedOn rule, const double* entries, const double* radii,
                   double* to);

// A pivot d with a radius of ratio |d|, at most: grown by (1 + ratio), and |u| and |v| count in
// their radii by (ratio + roundings) / 2. `tiny` is more than what underflows takes of a factor.
struct RadiusPivot {
  double size, ratio, roundings, tiny;
};

// Writes the columns that update radii, e₁ z₁ e₂ z₂ to `left` and z₁ e₁ z₂ e₂ to `right`, `step`
// numbers apart; u and v are the columns of the pivot, ru and rv their radii.
void radius_columns(int count, const RadiusPivot& pivot, HandedOn rule, const double* u,
                    const double* v, const double* ru, const double* rv, double* left,
                    double* right, int64_t step);

}  // namespace planaris
