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

SIMD_TARGET inline DoubleVector magnitude(DoubleVector a) {
  typedef VectorOf<double>::I Bits;
  return (DoubleVector)((Bits)a & (Bits{} + INT64_MAX));
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

// Columns u and v become v / d and -u / d, given 1 / d, and are kept as they were.
SIMD_TARGET void wide_factors(int count, double inverse, double inverse_low, PairMatrix<double> columns,
                              PairMatrix<double> kept) {
  double *u = columns.high, *u_low = columns.low, *v = u + columns.step, *v_low = u_low + columns.step;
  double *own_u = kept.high, *own_u_low = kept.low, *own_v = own_u + kept.step,
         *own_v_low = own_u_low + kept.step;
  int i = 0;
  for (; i + kDoubles <= count; i += kDoubles) {
    const DoubleVector q = spread(inverse), q_low = spread(inverse_low);
    const DoubleVector x = load(u + i), x_low = load(u_low + i), y = load(v + i), y_low = load(v_low + i);
    store(own_u + i, x);
    store(own_u_low + i, x_low);
    store(own_v + i, y);
    store(own_v_low + i, y_low);
    const auto first = multiply_pairs<DoubleVector>(y, y_low, q, q_low);
    const auto second = multiply_pairs<DoubleVector>(x, x_low, q, q_low);
    store(u + i, first.high);
    store(u_low + i, first.low);
    store(v + i, -second.high);
    store(v_low + i, -second.low);
  }
  for (; i < count; ++i) {
    own_u[i] = u[i];
    own_u_low[i] = u_low[i];
    own_v[i] = v[i];
    own_v_low[i] = v_low[i];
    const auto first = multiply_pairs<double>(v[i], v_low[i], inverse, inverse_low);
    const auto second = multiply_pairs<double>(u[i], u_low[i], inverse, inverse_low);
    u[i] = first.high;
    u_low[i] = first.low;
    v[i] = -second.high;
    v_low[i] = -second.low;
  }
}

// C[i, j] += Σ_t X[i, t] Y[j, t] for the rows of one register and `columns` columns, every sum in the
// order of t. With b >= |C| + Σ |x y| and Ω = 4 b, C + Ω is summed up instead: what is lost in every
// sum is then known from the difference of two neighbouring sums, which is exact (Sterbenz).
template <int columns>
SIMD_TARGET inline void wide_register(int depth, PairMatrix<const double> x,
                                      PairMatrix<const double> y, PairMatrix<double> c) {
  DoubleVector sum[columns], rest[columns], large[columns], other[columns] = {};
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) {
    sum[j] = load(c.high + c.step * j);
    rest[j] = load(c.low + c.step * j);
    large[j] = magnitude(sum[j]);
  }
  for (int t = 0; t < depth; t += 2) {  // two sums at a time, as each waits for itself
    const bool both = t + 1 < depth;
    const DoubleVector size = magnitude(load(x.high + x.step * t)),
                       second = both ? magnitude(load(x.high + x.step * (t + 1))) : DoubleVector{};
    const double *first_y = y.high + y.step * t, *second_y = both ? first_y + y.step : first_y;
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      large[j] = rounded_once(size, magnitude(spread(first_y[j])), large[j]);
      other[j] = rounded_once(second, magnitude(spread(second_y[j])), other[j]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) {
    large[j] = 4.0 * (large[j] + other[j]);
    const DoubleVector total = large[j] + sum[j];
    rest[j] += sum[j] - (total - large[j]);
    sum[j] = total;
  }
  for (int t = 0; t < depth; ++t) {
    const DoubleVector a = load(x.high + x.step * t), a_low = load(x.low + x.step * t);
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      const DoubleVector b = spread(y.high[y.step * t + j]), b_low = spread(y.low[y.step * t + j]);
      const DoubleVector total = rounded_once(a, b, sum[j]), added = total - sum[j];
      DoubleVector lost = rounded_once(a, b, -added);
      lost = rounded_once(a, b_low, lost);
      lost = rounded_once(a_low, b, lost);
      rest[j] += lost;
      sum[j] = total;
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) {
    const DoubleVector high = sum[j] - large[j], total = high + rest[j], added = total - high;
    store(c.high + c.step * j, total);
    store(c.low + c.step * j, (high - (total - added)) + (rest[j] - added));
  }
}

SIMD_TARGET void wide_tile(int columns, int depth, PairMatrix<const double> x,
                           PairMatrix<const double> y, PairMatrix<double> c) {
  for (int i = 0; i < kWideRows; i += kDoubles) {
    if (columns == 4) {
      wide_register<4>(depth, x.from(i, 0), y, c.from(i, 0));
    } else if (columns == 2) {
      wide_register<2>(depth, x.from(i, 0), y, c.from(i, 0));
    } else {
      for (int j = 0; j < columns; ++j) {
        wide_register<1>(depth, x.from(i, 0), y.from(j, 0), c.from(i, j));
      }
    }
  }
}

// C[i, j] += Σ_t X[i, t] Y[j, t] of doubles, for the rows of one register.
template <int columns>
SIMD_TARGET inline void product_register(int depth, const double* x, const double* y, int64_t step, double* c,
                                         int64_t c_step) {
  DoubleVector sum[columns];
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) sum[j] = load(c + c_step * j);
  for (int t = 0; t < depth; ++t, x += step, y += step) {
    const DoubleVector a = load(x);
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) sum[j] = fused(a, spread(y[j]), sum[j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) store(c + c_step * j, sum[j]);
}

SIMD_TARGET void product_tile(int columns, int depth, const double* x, const double* y, int64_t step, double* c,
                              int64_t c_step) {
  for (int i = 0; i < kWideRows; i += kDoubles) {
    if (columns == 4) {
      product_register<4>(depth, x + i, y, step, c + i, c_step);
    } else if (columns == 2) {
      product_register<2>(depth, x + i, y, step, c + i, c_step);
    } else {
      for (int j = 0; j < columns; ++j) product_register<1>(depth, x + i, y + j, step, c + i + c_step * j, c_step);
    }
  }
}
