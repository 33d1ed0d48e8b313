#include "fronts/weighted_sums.hpp"

#include <cmath>

#include "base/simd.hpp"

namespace planaris {

PLANARIS_CLONES void weighted_sums(int rows, int columns, const double* weights, const double* x,
                                   int64_t step, double* sums) {
  constexpr int kLanes = kWeightSlack + 1;
  for (int j = 0; j < columns; ++j, x += step) {
    double s[kLanes] = {};
    for (int i = 0; i < rows; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) s[k] += weights[i + k] * std::fabs(x[i + k]);
    }
    sums[j] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }
}

}  // namespace planaris
