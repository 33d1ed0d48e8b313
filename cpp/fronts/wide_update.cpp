#include "fronts/wide_update.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/intrinsics.hpp"

namespace planaris {

namespace {

constexpr int kWideRows = 8, kWideColumns = 4;
constexpr int64_t kWorthThreads = 100'000, kWorthPacking = 100'000;  // multiplications

#define SIMD_FILE "fronts/wide_tile.inl"
#include "base/each_instruction_set.inl"

using WideTile = void (*)(int, int, PairMatrix<const double>, PairMatrix<const double>,
                          PairMatrix<double>);
using DoubleTile = void (*)(int, int, const double*, const double*, int64_t, double*, int64_t);
using WideFactors = void (*)(int, double, double, PairMatrix<double>, PairMatrix<double>);

constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

// Slivers of `height` rows, at each depth high parts, then low parts; the last is filled with
// zeros.
template <int height>
void pack(int rows, int depth, PairMatrix<const double> x, double* out) {
  for (int i0 = 0; i0 < rows; i0 += height) {
    const int live = std::min(height, rows - i0);
    for (int t = 0; t < depth; ++t) {
      for (const double* part : {x.high, x.low}) {
        const double* from = part + i0 + t * x.step;
        if (live == height) {
          for (int i = 0; i < height; ++i) out[i] = from[i];
        } else {
          for (int i = 0; i < height; ++i) out[i] = i < live ? from[i] : 0.0;
        }
        out += height;
      }
    }
  }
}

}  // namespace

void wide_factors(int count, double inverse, double inverse_low, PairMatrix<double> columns,
                  PairMatrix<double> kept) {
  static const WideFactors chosen = PLANARIS_CHOOSE(wide_factors);
  chosen(count, inverse, inverse_low, columns, kept);
}

void wide_rank_update_lower(int rows, int columns, int depth, PairMatrix<const double> x,
                            PairMatrix<const double> y, PairMatrix<double> c, WidePacking& packing,
                            const ParallelFor& parallel) {
  if (columns <= 0 || depth <= 0) return;
  static const WideTile tile = PLANARIS_CHOOSE(wide_tile);
  const int64_t multiplications = int64_t(rows) * columns * depth;
  if (multiplications < kWorthPacking) {
    for (int j = 0; j < columns; j += kWideColumns) {
      const int width = std::min(kWideColumns, columns - j);
      for (int i = j + 1; i < rows; i += kWideRows) {
        tile(width, depth, x.from(i, 0), y.from(j, 0), c.from(i, j));
      }
    }
    return;
  }
  packing.rows.resize(size_t(round_up(rows, kWideRows)) * 2 * depth);
  packing.columns.resize(size_t(round_up(columns, kWideColumns)) * 2 * depth);
  pack<kWideRows>(rows, depth, x, packing.rows.data());
  pack<kWideColumns>(columns, depth, y, packing.columns.data());
  const auto strip = [&](int begin, int end) {
    for (int j = begin; j < end; j += kWideColumns) {
      const double* right = packing.columns.data() + size_t(j) * 2 * depth;
      const PairMatrix<const double> y_part{right, right + kWideColumns, 2 * kWideColumns};
      const int width = std::min(kWideColumns, columns - j);
      for (int i = j / kWideRows * kWideRows; i < rows; i += kWideRows) {
        const double* left = packing.rows.data() + size_t(i) * 2 * depth;
        tile(width, depth, {left, left + kWideRows, 2 * kWideRows}, y_part, c.from(i, j));
      }
    }
  };
  if (!parallel || multiplications < kWorthThreads) return strip(0, columns);
  const int width = 4 * kWideColumns;
  parallel((columns + width - 1) / width,
           [&](int k) { strip(k * width, std::min(columns, (k + 1) * width)); });
}

void add_products_lower(int rows, int columns, int depth, const double* x, const double* y,
                        int64_t step, double* c, int64_t c_step) {
  static const DoubleTile tile = PLANARIS_CHOOSE(product_tile);
  for (int j = 0; j < columns; j += kWideColumns) {
    const int width = std::min(kWideColumns, columns - j);
    for (int i = j + 1; i < rows; i += kWideRows)
      tile(width, depth, x + i, y + j, step, c + i + j * c_step, c_step);
  }
}

}  // namespace planaris
