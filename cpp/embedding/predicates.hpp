// Exact geometric predicates on doubles: no rounding, no overflow, no underflow.
#pragma once

#include <cmath>
#include <limits>

namespace planaris {

struct Point {
  double x, y;

  friend bool operator==(const Point&, const Point&) = default;
  // Order of a sweep line that is tilted by an infinitesimal angle.
  friend bool operator<(const Point& a, const Point& b) {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
  }
};

// Sign of the determinant of (a - c, b - c), computed without rounding error.
int exact_orientation(const Point& a, const Point& b, const Point& c);

// +1 if c lies left of the line from a to b, -1 if right of it, 0 if on it; always exact.
inline int orientation(const Point& a, const Point& b, const Point& c) {
  const double left = (a.x - c.x) * (b.y - c.y);
  const double right = (a.y - c.y) * (b.x - c.x);
  const double determinant = left - right;
  const double magnitude = std::fabs(left) + std::fabs(right);
  // Forward error bound (3 + 16 eps) eps of Shewchuk (1997), theorem of section 4.3; it holds
  // when the products neither overflow nor underflow, which the range of `magnitude` ensures.
  constexpr double kBound = 3.3306690738754716e-16;
  if (std::fabs(determinant) > kBound * magnitude && magnitude > 1e-270 &&
      magnitude <= std::numeric_limits<double>::max()) {
    return determinant > 0 ? 1 : -1;
  }
  return exact_orientation(a, b, c);
}

}  // namespace planaris
