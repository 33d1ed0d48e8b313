// Compiled once per instruction set (base/each_instruction_set.inl).

// Rows r, r + 1 gain Σ_q v_q[r] / d_q u_q - u_q[r] / d_q v_q over `Count` eliminated pairs.
template <int Count>
SIMD_TARGET inline void update(const Rows& m, int32_t first, int32_t r, const double* inverse) {
  DoubleVector c0[2 * Count], c1[2 * Count];
  double mass = 0.0;
  for (int q = 0; q < Count; ++q) {
    const double *u = m.a + (2 * int64_t(first) + 2 * q) * m.stride, *v = u + m.stride;
    const double x = v[r] * inverse[q], y = -u[r] * inverse[q];
    c0[2 * q] = spread(x);
    c0[2 * q + 1] = spread(y);
    c1[2 * q] = spread(v[r + 1] * inverse[q]);
    c1[2 * q + 1] = spread(-u[r + 1] * inverse[q]);
    mass += std::fabs(x * u[r + 1]) + std::fabs(y * v[r + 1]);
  }
  m.mass[r / 2] += mass;
  double *row0 = m.a + r * m.stride, *row1 = row0 + m.stride;
  const double* from = m.a + 2 * int64_t(first) * m.stride;
  for (int64_t c = r / kDoubles * kDoubles; c < 2 * int64_t(m.pairs); c += kDoubles) {
    DoubleVector x0 = load(row0 + c), x1 = load(row1 + c);
#pragma GCC unroll 8
    for (int q = 0; q < 2 * Count; ++q) {
      const DoubleVector y = load(from + q * m.stride + c);
      x0 = fused(c0[q], y, x0);
      x1 = fused(c1[q], y, x1);
    }
    store(row0 + c, x0);
    store(row1 + c, x1);
  }
}

// Eliminates the first `count` pairs, by blocks.
SIMD_TARGET void eliminate(const Rows& m, int32_t count) {
  double inverse[kBlock];
  for (int32_t first = 0; first < count; first += kBlock) {
    const int32_t last = std::min(count, first + kBlock);
    for (int32_t i = first; i < last; ++i) {
      inverse[i - first] = 1.0 / m.a[2 * i * m.stride + 2 * i + 1];
      for (int32_t j = i + 1; j < last; ++j) update<1>(m, i, 2 * j, inverse + i - first);
    }
    if (last - first == kBlock) {
      for (int32_t j = last; j < m.pairs; ++j) update<kBlock>(m, first, 2 * j, inverse);
      continue;
    }
    for (int32_t i = first; i < last; ++i) {
      for (int32_t j = last; j < m.pairs; ++j) update<1>(m, i, 2 * j, inverse + i - first);
    }
  }
}
