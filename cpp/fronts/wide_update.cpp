#include "fronts/wide_update.hpp"

#include <algorithm>

#include "base/intrinsics.hpp"

namespace planaris {

namespace {

constexpr int kWideRows = 8, kWideColumns = 4;
constexpr int64_t kWorthThreads = 100'000;  // multiplications

#define SIMD_FILE "fronts/wide_tile.inl"
#include "base/each_instruction_set.inl"

using WideTile = void (*)(int, const double*, const double*, double*, double*, int64_t);
using WideFactors = void (*)(int, double, double, double*, double*, double*, double*);

constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

// Slivers of `height` rows, at each depth high parts, then low parts; the last is filled with zeros.
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

void wide_factors(int count, double inverse, double inverse_low, double* u, double* u_low, double* v,
                  double* v_low) {
  static const WideFactors chosen = PLANARIS_CHOOSE(wide_factors);
  chosen(count, inverse, inverse_low, u, u_low, v, v_low);
}

void wide_rank_update_lower(int rows, int columns, int depth, PairMatrix<const double> x,
                            PairMatrix<const double> y, PairMatrix<double> c, WidePacking& packing,
                            const ParallelFor& parallel) {
  if (columns <= 0 || depth <= 0) return;
  packing.rows.resize(size_t(round_up(rows, kWideRows)) * 2 * depth);
  packing.columns.resize(size_t(round_up(columns, kWideColumns)) * 2 * depth);
  pack<kWideRows>(rows, depth, x, packing.rows.data());
  pack<kWideColumns>(columns, depth, y, packing.columns.data());
  static const WideTile tile = PLANARIS_CHOOSE(wide_tile);
  const auto strip = [&](int begin, int end) {
    double high[kWideRows * kWideColumns] = {}, low[kWideRows * kWideColumns] = {};
    for (int j = begin; j < end; j += kWideColumns) {
      const int width = std::min(kWideColumns, columns - j);
      for (int i = j / kWideRows * kWideRows; i < rows; i += kWideRows) {
        const int height = std::min(kWideRows, rows - i);
        const auto target = c.from(i, j);
        const double *x_part = packing.rows.data() + size_t(i) * 2 * depth,
                     *y_part = packing.columns.data() + size_t(j) * 2 * depth;
        if (height == kWideRows && width == kWideColumns && i >= j + kWideColumns) {
          tile(depth, x_part, y_part, target.high, target.low, c.step);
          continue;
        }
        for (int q = 0; q < width; ++q) {
          std::copy_n(target.high + q * c.step, height, high + kWideRows * q);
          std::copy_n(target.low + q * c.step, height, low + kWideRows * q);
        }
        tile(depth, x_part, y_part, high, low, kWideRows);
        for (int q = 0; q < width; ++q) {
          const int first = std::clamp(j + q + 1 - i, 0, height);
          std::copy(high + kWideRows * q + first, high + kWideRows * q + height,
                    target.high + q * c.step + first);
          std::copy(low + kWideRows * q + first, low + kWideRows * q + height,
                    target.low + q * c.step + first);
        }
      }
    }
  };
  if (!parallel || int64_t(rows) * columns * depth < kWorthThreads) return strip(0, columns);
  const int width = 4 * kWideColumns;
  parallel((columns + width - 1) / width,
           [&](int k) { strip(k * width, std::min(columns, (k + 1) * width)); });
}

}  // namespace planaris
