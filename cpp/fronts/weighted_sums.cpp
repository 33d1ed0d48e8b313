#include "fronts/weighted_sums.hpp"

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"

namespace planaris {

namespace {

constexpr int kLanes = 8;

PLANARIS_INLINE double folded(const double* s) {
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

}  // namespace

PLANARIS_CLONES WeightedSum weighted_sum(int count, const double* weights, const double* x) {
  double sums[kLanes] = {}, most[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const double size = std::fabs(x[i + k]);
      sums[k] += weights[i + k] * size;
      most[k] = most[k] < size ? size : most[k];
    }
  }
  for (int k = 0; i + k < count; ++k) {
    const double size = std::fabs(x[i + k]);
    sums[k] += weights[i + k] * size;
    most[k] = most[k] < size ? size : most[k];
  }
  return {folded(sums), *std::max_element(most, most + kLanes)};
}

PLANARIS_CLONES double weighted_sum(int count, const double* weights, const float* x) {
  double sums[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) sums[k] += weights[i + k] * std::fabs(double(x[i + k]));
  }
  for (int k = 0; i + k < count; ++k) sums[k] += weights[i + k] * std::fabs(double(x[i + k]));
  return folded(sums);
}

}  // namespace planaris
