#include "fronts/rank_update.hpp"

#include <algorithm>
#include <cstring>

#include "base/double_double.hpp"
#include "base/intrinsics.hpp"
#include "fronts/product_tile.hpp"

namespace planaris {

namespace {

constexpr int kSmall = 24 * 24 * 8;        // below this many multiplications packing does not pay
constexpr int64_t kWorthThreads = 20'000;  // multiplications of double-doubles

#define SIMD_FILE "fronts/tile_product.inl"
#include "base/each_instruction_set.inl"

// Slivers of `height` rows, depth after depth; the last one is filled up with zeros.
void pack(int rows, int depth, const double* x, int64_t row_step, int64_t column_step, int height,
          double* out) {
  for (int i0 = 0; i0 < rows; i0 += height) {
    const int live = std::min(height, rows - i0);
    const double* from = x + i0 * row_step;
    if (row_step == 1 && live == height) {
      static_assert(kTileColumns % 4 == 0);  // and so are all heights
      for (int t = 0; t < depth; ++t, out += height) {
        const double* column = from + t * column_step;
        for (int i = 0; i < height; i += 4) std::memcpy(out + i, column + i, 4 * sizeof(double));
      }
      continue;
    }
    for (int t = 0; t < depth; ++t, out += height) {
      for (int i = 0; i < live; ++i) out[i] = from[i * row_step + t * column_step];
      for (int i = live; i < height; ++i) out[i] = 0.0;
    }
  }
}

// The rows and columns of a tile that count: `height` × `width`, of column q those after `above` +
// q.
struct TilePart {
  int above, height, width;
};

void add_part(const ProductTile& tile, int depth, const double* left, const double* right,
              double alpha, TilePart part, double* c, int64_t ldc) {
  double sums[kMostTileRows * kTileColumns] = {};
  tile.add(depth, left, right, alpha, sums, tile.rows);
  for (int q = 0; q < part.width; ++q) {
    for (int p = std::max(0, part.above + q + 1); p < part.height; ++p) {
      c[q * ldc + p] += sums[q * tile.rows + p];
    }
  }
}

template <class T>
PLANARIS_INLINE void sum_products(int rows, int columns, int depth, const T* x, int64_t ldx,
                                  const T* y, int64_t ldy, T* c, int64_t ldc) {
  for (int j = 0; j < columns; ++j) {
    T* target = c + j * ldc;
    int t = 0;
    for (; t + 3 < depth; t += 4) {  // the same sums as two by two
      const T y0 = y[j + t * ldy], y1 = y[j + (t + 1) * ldy], y2 = y[j + (t + 2) * ldy],
              y3 = y[j + (t + 3) * ldy];
      const T *x0 = x + t * ldx, *x1 = x0 + ldx, *x2 = x1 + ldx, *x3 = x2 + ldx;
      for (int i = j + 1; i < rows; ++i) {
        target[i] = (target[i] + (x0[i] * y0 + x1[i] * y1)) + (x2[i] * y2 + x3[i] * y3);
      }
    }
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

template <class T>
void plain_rank_update(int rows, int columns, int depth, const T* x, int64_t ldx, const T* y,
                       int64_t ldy, T* c, int64_t ldc) {
  sum_products(rows, columns, depth, x, ldx, y, ldy, c, ldc);
}

PLANARIS_CLONES void plain_rank_update(int rows, int columns, int depth, const double* x,
                                       int64_t ldx, const double* y, int64_t ldy, double* c,
                                       int64_t ldc) {
  sum_products(rows, columns, depth, x, ldx, y, ldy, c, ldc);
}

constexpr int kDepth = 256;  // of a product that is packed at once

}  // namespace

const ProductTile& chosen_tile() {
#ifdef PLANARIS_X86
  static const ProductTile chosen = choose_kernel<ProductTile>(
      {&plain::tile_product, &plain::tile_sums, &plain::tile_split, plain::kTileRows},
      {&avx2::tile_product, &avx2::tile_sums, &avx2::tile_split, avx2::kTileRows},
      {&avx512::tile_product, &avx512::tile_sums, &avx512::tile_split, avx512::kTileRows});
#else
  static const ProductTile chosen{&plain::tile_product, &plain::tile_sums, &plain::tile_split,
                                  plain::kTileRows};
#endif
  return chosen;
}

bool is_small_product(int rows, int columns, int depth) {
  return int64_t(rows) * columns * depth < 4 * kSmall;
}

void add_small_product(int rows, int columns, int depth, bool lower, const double* x, int64_t ldx,
                       const double* y, int64_t ldy, double* c, int64_t ldc) {
  static const auto chosen = PLANARIS_CHOOSE(small_product);
  chosen(rows, columns, depth, lower, x, ldx, y, ldy, c, ldc);
}

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
  if (multiplications < kSmall)
    return plain_rank_update(rows, columns, depth, x, ldx, y, ldy, c, ldc);
  const ProductTile tile = chosen_tile();
  grow(packing.rows, size_t(round_up(rows, tile.rows)) * depth);
  grow(packing.columns, size_t(round_up(columns, kTileColumns)) * depth);
  pack(rows, depth, x, 1, ldx, tile.rows, packing.rows.data());
  pack(columns, depth, y, 1, ldy, kTileColumns, packing.columns.data());
  const auto strip = [&](int j_begin, int j_end) {
    for (int j = j_begin; j < j_end; j += kTileColumns) {
      const double* right = packing.columns.data() + size_t(j) * depth;
      const int width = std::min(kTileColumns, columns - j);
      for (int i = j / tile.rows * tile.rows; i < rows; i += tile.rows) {
        const double* left = packing.rows.data() + size_t(i) * depth;
        const int height = std::min(tile.rows, rows - i);
        if (height == tile.rows && width == kTileColumns && i > j + kTileColumns) {
          tile.add(depth, left, right, 1.0, c + j * ldc + i, ldc);
        } else {
          add_part(tile, depth, left, right, 1.0, {j - i, height, width}, c + j * ldc + i, ldc);
        }
      }
    }
  };
  if (!parallel || multiplications < 2'000'000) return strip(0, columns);
  // Strips of equal width; the longest columns first, so the short ones even out the end.
  const int width = 64;
  parallel((columns + width - 1) / width,
           [&](int k) { strip(k * width, std::min(columns, (k + 1) * width)); });
}

PLANARIS_CLONES void small_multiply_add(int rows, int columns, int depth, double alpha,
                                        const double* a, int64_t column_a, const double* b,
                                        int64_t row_b, int64_t column_b, double* c, int64_t ldc) {
  for (int j = 0; j < columns; ++j) {
    double* to = c + j * ldc;
    const auto factor = [&](int t) { return alpha * b[t * row_b + j * column_b]; };
    int t = 0;
    for (; t + 3 < depth; t += 4) {  // the sums are those of one product after the other
      const double f0 = factor(t), f1 = factor(t + 1), f2 = factor(t + 2), f3 = factor(t + 3);
      const double *a0 = a + t * column_a, *a1 = a0 + column_a, *a2 = a1 + column_a,
                   *a3 = a2 + column_a;
      for (int i = 0; i < rows; ++i)
        to[i] = (((to[i] + a0[i] * f0) + a1[i] * f1) + a2[i] * f2) + a3[i] * f3;
    }
    for (; t < depth; ++t) {
      const double f = factor(t);
      const double* from = a + t * column_a;
      for (int i = 0; i < rows; ++i) to[i] += from[i] * f;
    }
  }
}

template <>
void multiply_add(int rows, int columns, int depth, double alpha, const double* a, int64_t row_a,
                  int64_t column_a, const double* b, int64_t row_b, int64_t column_b, double* c,
                  int64_t ldc, Packing& packing, const ParallelFor& parallel) {
  if (rows <= 0 || columns <= 0 || depth <= 0) return;
  const int64_t multiplications = int64_t(rows) * columns * depth;
  if (multiplications < kSmall && row_a == 1) {
    return small_multiply_add(rows, columns, depth, alpha, a, column_a, b, row_b, column_b, c, ldc);
  }
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
  const ProductTile tile = chosen_tile();
  constexpr int kRows = 96;
  for (int t0 = 0; t0 < depth; t0 += kDepth) {
    const int deep = std::min(kDepth, depth - t0);
    grow(packing.columns, size_t(round_up(columns, kTileColumns)) * deep);
    pack(columns, deep, b + t0 * row_b, column_b, row_b, kTileColumns, packing.columns.data());
    const auto block = [&](int k) {
      const int i0 = k * kRows, high = std::min(kRows, rows - i0);
      static thread_local std::vector<double> packed;
      grow(packed, size_t(round_up(high, tile.rows)) * deep);
      pack(high, deep, a + i0 * row_a + t0 * column_a, row_a, column_a, tile.rows, packed.data());
      for (int j = 0; j < columns; j += kTileColumns) {
        const double* right = packing.columns.data() + size_t(j) * deep;
        const int width = std::min(kTileColumns, columns - j);
        for (int i = 0; i < high; i += tile.rows) {
          const double* left = packed.data() + size_t(i) * deep;
          double* target = c + j * ldc + i0 + i;
          const int height = std::min(tile.rows, high - i);
          if (height == tile.rows && width == kTileColumns) {
            tile.add(deep, left, right, alpha, target, ldc);
          } else {
            add_part(tile, deep, left, right, alpha, {-kTileColumns, height, width}, target, ldc);
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
