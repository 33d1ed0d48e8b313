// Σ w |x| in sums of their own for eight lanes, so that compilers use vectors; same bits everywhere.
#pragma once

namespace planaris {

struct WeightedSum {
  double sum, most;  // Σ w |x|, and the largest |x|
};

WeightedSum weighted_sum(int count, const double* weights, const double* x);
double weighted_sum(int count, const double* weights, const float* x);

}  // namespace planaris
