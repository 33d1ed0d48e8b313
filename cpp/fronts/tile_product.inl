// Compiled once per instruction set (base/each_instruction_set.inl).
#if SIMD_BYTES <= 32

// tile[i + 12 j] = Σ_t rows[12 t + i] columns[4 t + j], every sum in the order of t.
SIMD_TARGET void tile_product(int depth, const double* rows, const double* columns, double* tile) {
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
#pragma GCC unroll 4
  for (int j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < kVectors; ++i) store(tile + kTileRows * j + kDoubles * i, sum[j][i]);
  }
}

#endif
