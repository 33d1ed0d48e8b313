#pragma once

#include <cmath>

namespace planaris {

// log(2 cosh x), for any finite x.
inline double log_2cosh(double x) {
  const double a = std::abs(x);
  return a + std::log1p(std::exp(-2.0 * a));
}

}  // namespace planaris
