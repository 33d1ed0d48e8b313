// C += X Yᵀ on a lower triangle in pairs of doubles, with a bound on what rounding does to it.
//
// A pair (high, low) stands for high + low, |low| <= u |high|, u = 2^-53. Exponents are those of
// doubles: where a low part underflows, 2^-1074 is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "fronts/rank_update.hpp"

namespace planaris {

// High and low parts of a column-major matrix.
template <class Number>
struct PairMatrix {
  Number *high = nullptr, *low = nullptr;
  int64_t step = 0;  // from column to column

  PairMatrix from(int64_t row, int64_t column) const {
    return {high + row + column * step, low + row + column * step, step};
  }
};

// Buffers that one thread reuses from call to call.
struct WidePacking {
  std::vector<double> rows, columns;
};

// C[i, j] += Σ_t X[i, t] Y[j, t] for 0 ≤ j < columns, j < i < rows. Entries on and above the
// diagonal may be overwritten with anything, and so may kWideSlack numbers after a column; as many
// are read after a column of X. Every result is the same on all processors.
constexpr int kWideSlack = 7;
void wide_rank_update_lower(int rows, int columns, int depth, PairMatrix<const double> x,
                            PairMatrix<const double> y, PairMatrix<double> c, WidePacking& packing,
                            const ParallelFor& parallel);

// The same of doubles: products may be fused or not, and are summed up one after the other from C
// on.
void add_products_lower(int rows, int columns, int depth, const double* x, const double* y,
                        int64_t step, double* c, int64_t c_step);

// Two columns u and v of pairs become v / d and -u / d, given the inverse of d, and are copied to
// `kept` as they were: within 8 u² of their size times that inverse, and within 2^-1071. Of (a +
// a_low)(b + b_low) the product of both low parts is left out, u² of it; the others add up to at
// most 3 u of it and are rounded three times.
void wide_factors(int count, double inverse, double inverse_low, PairMatrix<double> columns,
                  PairMatrix<double> kept);

// An entry is off by at most this times |C| + Σ |x y|, and by 2^-1072 per product where numbers
// underflow. Proof, m being the depth: with Ω within 2^-40 of 4 (|C| + Σ |x y|) all sums of C + Ω
// lie between .74 Ω and 1.26 Ω, so each loses at most 1.26 u Ω, and differences of neighbours are
// exact. What is lost, with C_low, x y_low and x_low y, adds up to (1.26 (m + 1) + .51) u Ω; it is
// rounded three times per product and m + 1 times as a sum; x_low y_low, left out, is below u² |x
// y|. In all 1.26 (m + 3)² u² Ω.
constexpr double wide_update_error(int depth) {
  return 6 * (depth + 4.0) * (depth + 4.0) * 0x1p-106;
}

}  // namespace planaris
