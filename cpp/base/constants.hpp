// Constants of double precision that most kernels need.
#pragma once

#include <limits>

namespace planaris {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kEps = std::numeric_limits<double>::epsilon();  // one ulp of 1
inline constexpr double kUnit = 0x1p-53;  // rounding to nearest: half an ulp of 1

}  // namespace planaris
