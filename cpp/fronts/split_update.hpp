// C += X Yᵀ on a lower triangle in pairs of doubles, three products of doubles for one of pairs.
//
// Rows of X are split at 2^-23 of their largest entries, those of Y at 2^-24. Sums of products of
// the leading parts are exact, and what is left is so small that doubles will do. Errors are
// relative to the largest entries of rows, not to every product: good where the entries of a row
// are of one size.
#pragma once

#include <cstdint>
#include <vector>

#include "fronts/wide_update.hpp"

namespace planaris {

constexpr int kMostSplitDepth = 64;

// Below so many multiplications an update in pairs is as fast.
constexpr int64_t kWorthSplitting = 100'000;

// Columns of a front, column-major: those that are eliminated, all rows of them, and the square of
// the others. The strict lower triangle counts.
struct FrontColumns {
  double *own = nullptr, *rest = nullptr;
  int64_t own_step = 0, rest_step = 0;
  int32_t eliminated = 0;

  // Entry (i, j) is column(j)[i].
  double* column(int32_t j) const {
    return j < eliminated ? own + j * own_step : rest + (j - eliminated) * rest_step - eliminated;
  }
};

// C[i, j] += Σ_t X[i, t] Y[j, t] for first ≤ j < last, j < i < rows, of high and low parts of C.
// Entries on and above the diagonal may be overwritten with anything. Returns false, and does
// nothing, where a row leaves the range.
bool split_rank_update_lower(int first, int rows, int last, int depth, PairMatrix<const double> x,
                             PairMatrix<const double> y, const FrontColumns& high,
                             const FrontColumns& low, WidePacking& packing,
                             const ParallelFor& parallel);

// An entry is off by at most this times max_t |y_jt| Σ_t |x_it| + 2 max_t |x_it| Σ_t |y_jt|, beside
// what it is in pairs. Proof, with 2^E > max |x| and 2^F > max |y| the least such powers, and m <=
// 64: leading parts are multiples of 2^(E-23) and 2^(F-24), so sums of their products are multiples
// of 2^(E+F-47) up to 2^(E+F+6), and exact. What is left of x and y is at most 2^(E-24) and
// 2^(F-25), so what doubles add up, x times the rest of y and the rest of x times y, is at most
// 2^-24 (max |y| Σ |x| + 2 max |x| Σ |y|) in size. By 32 at a time its terms are rounded 32 + 4 + 2
// times at most; rounding the rests, leaving out the low part of y beside that of x, and adding all
// to C takes less than 5 roundings more.
constexpr double kSplitError = 44 * 0x1p-77;

}  // namespace planaris
