// Compiled once per instruction set (base/each_instruction_set.inl).

// Rounded once, on every processor.
SIMD_TARGET inline DoubleVector rounded_once(DoubleVector a, DoubleVector b, DoubleVector c) {
#if SIMD_FMA
  return fused(a, b, c);
#else
  for (int k = 0; k < kDoubles; ++k) c[k] = __builtin_fma(a[k], b[k], c[k]);
  return c;
#endif
}

SIMD_TARGET inline double rounded_once(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// A value, not two references: as an argument of a template a vector has its full alignment, which
// one on the stack that is declared without a template need not have.
template <class V>
struct PairProduct {
  V high, low;
};

// (a + a_low)(b + b_low), but for a_low b_low: see wide_product.
template <class V>
SIMD_TARGET inline PairProduct<V> multiply_pairs(V a, V a_low, V b, V b_low) {
  const V product = a * b;
  V lost = rounded_once(a, b, -product);
  lost = rounded_once(a, b_low, lost);
  lost = rounded_once(a_low, b, lost);
  const V high = product + lost, added = high - product;
  return {high, (product - (high - added)) + (lost - added)};
}

// Columns u and v become v / d and -u / d, given 1 / d.
SIMD_TARGET void wide_factors(int count, double inverse, double inverse_low, double* u,
                              double* u_low, double* v, double* v_low) {
  int i = 0;
  for (; i + kDoubles <= count; i += kDoubles) {
    const DoubleVector q = spread(inverse), q_low = spread(inverse_low);
    const auto first = multiply_pairs<DoubleVector>(load(v + i), load(v_low + i), q, q_low);
    const auto second = multiply_pairs<DoubleVector>(load(u + i), load(u_low + i), q, q_low);
    store(u + i, first.high);
    store(u_low + i, first.low);
    store(v + i, -second.high);
    store(v_low + i, -second.low);
  }
  for (; i < count; ++i) {
    const auto first = multiply_pairs<double>(v[i], v_low[i], inverse, inverse_low);
    const auto second = multiply_pairs<double>(u[i], u_low[i], inverse, inverse_low);
    u[i] = first.high;
    u_low[i] = first.low;
    v[i] = -second.high;
    v_low[i] = -second.low;
  }
}

// high + low [i + step j] += Σ_t rows[t, i] columns[t, j], every sum in the order of t. At each t
// `rows` and `columns` hold high parts, then low parts.
SIMD_TARGET void wide_tile(int depth, const double* rows, const double* columns, double* high,
                           double* low, int64_t step) {
  constexpr int kVectors = kWideRows / kDoubles;
  for (int i = 0; i < kVectors; ++i) {
    DoubleVector sum[kWideColumns], rest[kWideColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kWideColumns; ++j) {
      sum[j] = load(high + step * j + kDoubles * i);
      rest[j] = load(low + step * j + kDoubles * i);
    }
    const double *row = rows + kDoubles * i, *column = columns;
    for (int t = 0; t < depth; ++t, row += 2 * kWideRows, column += 2 * kWideColumns) {
      const DoubleVector x = load(row), x_low = load(row + kWideRows);
#pragma GCC unroll 4
      for (int j = 0; j < kWideColumns; ++j) {
        const DoubleVector y = spread(column[j]), y_low = spread(column[kWideColumns + j]);
        const DoubleVector product = x * y;
        DoubleVector lost = rounded_once(x, y, -product);
        lost = rounded_once(x, y_low, lost);
        lost = rounded_once(x_low, y, lost);
        const DoubleVector total = sum[j] + product, added = total - sum[j];
        lost += (sum[j] - (total - added)) + (product - added);
        rest[j] += lost;
        sum[j] = total;
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kWideColumns; ++j) {
      const DoubleVector total = sum[j] + rest[j], added = total - sum[j];
      store(high + step * j + kDoubles * i, total);
      store(low + step * j + kDoubles * i, (sum[j] - (total - added)) + (rest[j] - added));
    }
  }
}
