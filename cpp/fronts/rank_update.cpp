#include "fronts/rank_update.hpp"

#include <algorithm>
#include <cstring>

#include "base/double_double.hpp"
#include "base/intrinsics.hpp"

namespace planaris {

namespace {

constexpr int kTileRows = 12, kTileColumns = 4;
constexpr int kSmall = 24 * 24 * 8;  // below this many multiplications packing does not pay
constexpr int64_t kWorthThreads = 20'000;  // multiplications of double-doubles

#define SIMD_FILE "fronts/tile_product.inl"
#include "base/each_instruction_set.inl"

using TileProduct = void (*)(int, const double*, const double*, double*);

TileProduct tile_product() {
#ifdef PLANARIS_X86  // twelve rows are no multiple of the widest register
  static const TileProduct chosen =
      choose_kernel(&plain::tile_product, &avx2::tile_product, &avx2::tile_product);
  return chosen;
#else
  return &plain::tile_product;
#endif
}

// Slivers of `height` rows, depth after depth; the last one is filled up with zeros.
void pack(int rows, int depth, const double* x, int64_t row_step, int64_t column_step, int height,
          double* out) {
  for (int i0 = 0; i0 < rows; i0 += height) {
    const int live = std::min(height, rows - i0);
    const double* from = x + i0 * row_step;
    if (row_step == 1 && live == height) {
      for (int t = 0; t < depth; ++t, out += height) {
        std::memcpy(out, from + t * column_step, height * sizeof(double));
      }
      continue;
    }
    for (int t = 0; t < depth; ++t, out += height) {
      for (int i = 0; i < live; ++i) out[i] = from[i * row_step + t * column_step];
      for (int i = live; i < height; ++i) out[i] = 0.0;
    }
  }
}

constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

template <class T>
void plain_rank_update(int rows, int columns, int depth, const T* x, int64_t ldx, const T* y,
                       int64_t ldy, T* c, int64_t ldc) {
  for (int j = 0; j < columns; ++j) {
    T* target = c + j * ldc;
    int t = 0;
    for (; t + 1 < depth; t += 2) {
      const T y0 = y[j + t * ldy], y1 = y[j + (t + 1) * ldy];
      const T *x0 = x + t * ldx, *x1 = x + (t + 1) * ldx;
      for (int i = j + 1; i < rows; ++i) target[i] += x0[i] * y0 + x1[i] * y1;
    }
    for (; t < depth; ++t) {
      const T y0 = y[j + t * ldy];
      for (int i = j + 1; i < rows; ++i) target[i] += x[i + t * ldx] * y0;
    }
  }
}

constexpr int kDepth = 256;  // of a product that is packed at once

}  // namespace

Roundings rank_update_roundings(int rows, int columns, int depth) {
  if (columns <= 0 || depth <= 0) return {};
  // Plain: two products are added, then their sum to C. Packed: products are summed from zero.
  if (int64_t(rows) * columns * depth < kSmall) return {2 + (depth + 1) / 2, (depth + 1) / 2};
  return {depth + 1, 1};
}

int multiply_add_roundings(int rows, int columns, int depth) {
  if (int64_t(rows) * columns * depth < kSmall) return 1 + depth;
  return 2 + std::min(depth, kDepth) + (depth + kDepth - 1) / kDepth;
}

template <>
void rank_update_lower(int rows, int columns, int depth, const double* x, int64_t ldx,
                       const double* y, int64_t ldy, double* c, int64_t ldc, Packing& packing,
                       const ParallelFor& parallel) {
  if (columns <= 0 || depth <= 0) return;
  const int64_t multiplications = int64_t(rows) * columns * depth;
  if (multiplications < kSmall) return plain_rank_update(rows, columns, depth, x, ldx, y, ldy, c, ldc);
  packing.rows.resize(size_t(round_up(rows, kTileRows)) * depth);
  packing.columns.resize(size_t(round_up(columns, kTileColumns)) * depth);
  pack(rows, depth, x, 1, ldx, kTileRows, packing.rows.data());
  pack(columns, depth, y, 1, ldy, kTileColumns, packing.columns.data());
  const TileProduct product = tile_product();
  const auto strip = [&](int j_begin, int j_end) {
    double tile[kTileRows * kTileColumns];
    for (int j = j_begin; j < j_end; j += kTileColumns) {
      const int width = std::min(kTileColumns, columns - j);
      for (int i = j / kTileRows * kTileRows; i < rows; i += kTileRows) {
        product(depth, packing.rows.data() + size_t(i) * depth,
                packing.columns.data() + size_t(j) * depth, tile);
        const int height = std::min(kTileRows, rows - i);
        if (height == kTileRows && width == kTileColumns && i > j + kTileColumns) {
          for (int q = 0; q < kTileColumns; ++q) {
            double* target = c + (j + q) * ldc + i;
            for (int p = 0; p < kTileRows; ++p) target[p] += tile[p + kTileRows * q];
          }
          continue;
        }
        for (int q = 0; q < width; ++q) {
          double* target = c + (j + q) * ldc + i;
          for (int p = std::max(0, j + q + 1 - i); p < height; ++p) {
            target[p] += tile[p + kTileRows * q];
          }
        }
      }
    }
  };
  if (!parallel || multiplications < 2'000'000) return strip(0, columns);
  // Strips of equal width; the longest columns first, so the short ones even out the end.
  const int width = 64;
  parallel((columns + width - 1) / width, [&](int k) {
    strip(k * width, std::min(columns, (k + 1) * width));
  });
}

template <>
void multiply_add(int rows, int columns, int depth, double alpha, const double* a, int64_t row_a,
                  int64_t column_a, const double* b, int64_t row_b, int64_t column_b, double* c,
                  int64_t ldc, Packing& packing, const ParallelFor& parallel) {
  if (rows <= 0 || columns <= 0 || depth <= 0) return;
  const int64_t multiplications = int64_t(rows) * columns * depth;
  if (multiplications < kSmall) {
    for (int j = 0; j < columns; ++j) {
      for (int t = 0; t < depth; ++t) {
        const double factor = alpha * b[t * row_b + j * column_b];
        const double* from = a + t * column_a;
        for (int i = 0; i < rows; ++i) c[i + j * ldc] += from[i * row_a] * factor;
      }
    }
    return;
  }
  const TileProduct product = tile_product();
  constexpr int kRows = 96;
  for (int t0 = 0; t0 < depth; t0 += kDepth) {
    const int deep = std::min(kDepth, depth - t0);
    packing.columns.resize(size_t(round_up(columns, kTileColumns)) * deep);
    pack(columns, deep, b + t0 * row_b, column_b, row_b, kTileColumns, packing.columns.data());
    const auto block = [&](int k) {
      const int i0 = k * kRows, high = std::min(kRows, rows - i0);
      std::vector<double> packed(size_t(round_up(high, kTileRows)) * deep);
      pack(high, deep, a + i0 * row_a + t0 * column_a, row_a, column_a, kTileRows, packed.data());
      double tile[kTileRows * kTileColumns];
      for (int j = 0; j < columns; j += kTileColumns) {
        for (int i = 0; i < high; i += kTileRows) {
          product(deep, packed.data() + size_t(i) * deep,
                  packing.columns.data() + size_t(j) * deep, tile);
          const int height = std::min(kTileRows, high - i);
          const int width = std::min(kTileColumns, columns - j);
          for (int q = 0; q < width; ++q) {
            double* target = c + (j + q) * ldc + i0 + i;
            for (int p = 0; p < height; ++p) target[p] += alpha * tile[p + kTileRows * q];
          }
        }
      }
    };
    const int blocks = (rows + kRows - 1) / kRows;
    if (parallel && multiplications > 2'000'000) {
      parallel(blocks, block);
    } else {
      for (int k = 0; k < blocks; ++k) block(k);
    }
  }
}

template <>
void rank_update_lower(int rows, int columns, int depth, const DoubleDouble* x, int64_t ldx,
                       const DoubleDouble* y, int64_t ldy, DoubleDouble* c, int64_t ldc, Packing&,
                       const ParallelFor& parallel) {
  if (columns <= 0 || depth <= 0) return;
  if (!parallel || int64_t(rows) * columns * depth < kWorthThreads) {
    return plain_rank_update(rows, columns, depth, x, ldx, y, ldy, c, ldc);
  }
  const int width = 8;
  parallel((columns + width - 1) / width, [&](int k) {
    const int j = k * width;
    plain_rank_update(rows - j, std::min(width, columns - j), depth, x + j, ldx, y + j, ldy,
                      c + j + j * ldc, ldc);
  });
}

template <>
void multiply_add(int rows, int columns, int depth, DoubleDouble alpha, const DoubleDouble* a,
                  int64_t row_a, int64_t column_a, const DoubleDouble* b, int64_t row_b,
                  int64_t column_b, DoubleDouble* c, int64_t ldc, Packing&,
                  const ParallelFor& parallel) {
  const auto column = [&](int j) {
    for (int t = 0; t < depth; ++t) {
      const DoubleDouble factor = alpha * b[t * row_b + j * column_b];
      if (factor.is_zero()) continue;
      for (int i = 0; i < rows; ++i) c[i + j * ldc] += a[i * row_a + t * column_a] * factor;
    }
  };
  if (parallel && int64_t(rows) * columns * depth >= kWorthThreads) {
    return parallel(columns, column);
  }
  for (int j = 0; j < columns; ++j) column(j);
}

}  // namespace planaris
