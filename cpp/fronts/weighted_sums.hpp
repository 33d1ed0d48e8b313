// Σ w |x| in sums of their own for eight lanes, so that compilers use vectors; same bits
// everywhere.
#pragma once

#include <cstdint>

namespace planaris {

constexpr int kWeightSlack = 7;

// sums[j] = Σ_i weights[i] |x[i + step j]| of so many rows and columns. Up to kWeightSlack more
// rows are read: their weights must be zero, and their numbers finite.
void weighted_sums(int rows, int columns, const double* weights, const double* x, int64_t step,
                   double* sums);

}  // namespace planaris
