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
