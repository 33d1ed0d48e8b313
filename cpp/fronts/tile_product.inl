// Compiled once per instruction set (base/each_instruction_set.inl).

// Three registers high, or six where they are narrow.
constexpr int kTileRows = SIMD_BYTES == 64 ? 24 : 12;

// c[i + step j] += alpha Σ_t rows[kTileRows t + i] columns[4 t + j], every sum in the order of t.
SIMD_TARGET void tile_product(int depth, const double* rows, const double* columns, double alpha,
                              double* c, int64_t step) {
  constexpr int kVectors = kTileRows / kDoubles;
  DoubleVector sum[kTileColumns][kVectors] = {};
  for (int t = 0; t < depth; ++t, rows += kTileRows, columns += kTileColumns) {
    DoubleVector row[kVectors];
#pragma GCC unroll 6
    for (int i = 0; i < kVectors; ++i) row[i] = load(rows + i * kDoubles);
#pragma GCC unroll 4
    for (int j = 0; j < kTileColumns; ++j) {
      const DoubleVector column = spread(columns[j]);
#pragma GCC unroll 6
      for (int i = 0; i < kVectors; ++i) sum[j][i] = fused(row[i], column, sum[j][i]);
    }
  }
  const DoubleVector factor = spread(alpha);
#pragma GCC unroll 4
  for (int j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < kVectors; ++i) {
      double* to = c + step * j + kDoubles * i;
      store(to, load(to) + factor * sum[j][i]);
    }
  }
}

// out[kTileRows j + i] = Σ_t rows[kTileRows t + i] columns[4 t + j], every sum of `at_once` terms in the
// order of t, and of these sums.
SIMD_TARGET void tile_sums(int depth, int at_once, const double* rows, const double* columns,
                           double* out) {
  constexpr int kVectors = kTileRows / kDoubles;
  DoubleVector total[kTileColumns][kVectors] = {};
  for (int begin = 0; begin < depth; begin += at_once) {
    DoubleVector sum[kTileColumns][kVectors] = {};
    const int count = depth - begin < at_once ? depth - begin : at_once;
    for (int t = 0; t < count; ++t, rows += kTileRows, columns += kTileColumns) {
      DoubleVector row[kVectors];
#pragma GCC unroll 6
      for (int i = 0; i < kVectors; ++i) row[i] = load(rows + i * kDoubles);
#pragma GCC unroll 4
      for (int j = 0; j < kTileColumns; ++j) {
        const DoubleVector column = spread(columns[j]);
#pragma GCC unroll 6
        for (int i = 0; i < kVectors; ++i) sum[j][i] = fused(row[i], column, sum[j][i]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 6
      for (int i = 0; i < kVectors; ++i) total[j][i] += sum[j][i];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < kVectors; ++i) store(out + kTileRows * j + kDoubles * i, total[j][i]);
  }
}

// (high, low)[i + step j] += the sum of `depth` products of rows and columns, which is exact, and that of 2 depth
// products of the same rows, and what follows them, and the columns behind the first; see fronts/split_update.cpp.
SIMD_TARGET void tile_split(int depth, int at_once, const double* rows, const double* columns, double* high,
                            double* low, int64_t step) {
  constexpr int kVectors = kTileRows / kDoubles;
  constexpr int kLine = 8;  // numbers of a cache line; entries are fetched while their sums are made
  for (int j = 0; j < kTileColumns; ++j) {
    for (int i = 0; i < kTileRows + kLine - 1; i += kLine) {
      const int64_t at = step * j + (i < kTileRows ? i : kTileRows - 1);
      __builtin_prefetch(high + at, 1);
      __builtin_prefetch(low + at, 1);
    }
  }
  double exact[kTileRows * kTileColumns], rest[kTileRows * kTileColumns];
  tile_sums(depth, depth, rows, columns, exact);
  tile_sums(2 * depth, at_once, rows, columns + kTileColumns * depth, rest);
  for (int j = 0; j < kTileColumns; ++j, high += step, low += step) {
#pragma GCC unroll 6
    for (int i = 0; i < kVectors; ++i) {
      const int at = kDoubles * i;
      const DoubleVector before = load(high + at), more = load(exact + kTileRows * j + at);
      const DoubleVector sum = before + more, other = sum - before;
      const DoubleVector lost = (before - (sum - other)) + (more - other);
      const DoubleVector small = (lost + load(low + at)) + load(rest + kTileRows * j + at);
      const DoubleVector total = sum + small, added = total - sum;
      store(high + at, total);
      store(low + at, (sum - (total - added)) + (small - added));
    }
  }
}

// Adds the product of a few rows, those from `first` on, to one to four columns; see add_small_product.
template <int Columns>
SIMD_TARGET void small_columns(int first, int rows, int depth, const double* x, int64_t ldx, const double* y,
                               int64_t ldy, double* c, int64_t ldc) {
  for (int i = first; i < rows; i += kDoubles) {
    DoubleVector sum[Columns] = {};
    for (int t = 0; t < depth; ++t) {
      const DoubleVector row = load(x + t * ldx + i);
#pragma GCC unroll 4
      for (int j = 0; j < Columns; ++j) sum[j] = fused(row, spread(y[t * ldy + j]), sum[j]);
    }
    const int live = rows - i < kDoubles ? rows - i : kDoubles;
    for (int j = 0; j < Columns; ++j) {
      double* to = c + j * ldc + i;
      if (live == kDoubles) {
        store(to, load(to) + sum[j]);
      } else {
        for (int k = 0; k < live; ++k) to[k] += sum[j][k];
      }
    }
  }
}

SIMD_TARGET void small_product(int rows, int columns, int depth, bool lower, const double* x, int64_t ldx,
                               const double* y, int64_t ldy, double* c, int64_t ldc) {
  int j = 0;
  for (; j + 3 < columns; j += 4) {
    small_columns<4>(lower ? j + 1 : 0, rows, depth, x, ldx, y + j, ldy, c + j * ldc, ldc);
  }
  for (; j < columns; ++j) {
    small_columns<1>(lower ? j + 1 : 0, rows, depth, x, ldx, y + j, ldy, c + j * ldc, ldc);
  }
}
