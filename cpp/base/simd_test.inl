// Compiled once per instruction set (base/each_instruction_set.inl).

// out[i] = a[i] x + b[i] for whole registers.
SIMD_TARGET void multiply_add(int count, const double* a, double x, const double* b, double* out) {
  for (int i = 0; i < count; i += kDoubles) store(out + i, fused(load(a + i), spread(x), load(b + i)));
}

constexpr bool kFused = SIMD_FMA;
