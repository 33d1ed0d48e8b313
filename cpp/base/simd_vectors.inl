// Registers of one instruction set, for base/each_instruction_set.inl.

template <class S>
struct VectorOf;
template <>
struct VectorOf<double> {
  typedef double V __attribute__((vector_size(SIMD_BYTES), aligned(8), may_alias));
  typedef int64_t I __attribute__((vector_size(SIMD_BYTES), aligned(8), may_alias));
};
template <>
struct VectorOf<float> {
  typedef float V __attribute__((vector_size(SIMD_BYTES), aligned(4), may_alias));
  typedef int32_t I __attribute__((vector_size(SIMD_BYTES), aligned(4), may_alias));
};

using DoubleVector = VectorOf<double>::V;
using FloatVector = VectorOf<float>::V;
constexpr int kDoubles = SIMD_BYTES / 8, kFloats = SIMD_BYTES / 4;

SIMD_TARGET inline double fused(double a, double b, double c) {
#if SIMD_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
SIMD_TARGET inline float fused(float a, float b, float c) {
#if SIMD_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
SIMD_TARGET inline DoubleVector fused(DoubleVector a, DoubleVector b, DoubleVector c) {
#if SIMD_FMA && SIMD_BYTES == 64
  return (DoubleVector)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif SIMD_FMA && SIMD_BYTES == 32
  return (DoubleVector)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif SIMD_FMA
  for (int k = 0; k < kDoubles; ++k) c[k] = __builtin_fma(a[k], b[k], c[k]);
  return c;
#else
  return a * b + c;
#endif
}
SIMD_TARGET inline FloatVector fused(FloatVector a, FloatVector b, FloatVector c) {
#if SIMD_FMA && SIMD_BYTES == 64
  return (FloatVector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif SIMD_FMA && SIMD_BYTES == 32
  return (FloatVector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif SIMD_FMA
  for (int k = 0; k < kFloats; ++k) c[k] = __builtin_fmaf(a[k], b[k], c[k]);
  return c;
#else
  return a * b + c;
#endif
}

SIMD_TARGET inline DoubleVector load(const double* from) {
  return *reinterpret_cast<const DoubleVector*>(from);
}
SIMD_TARGET inline void store(double* to, DoubleVector value) {
  *reinterpret_cast<DoubleVector*>(to) = value;
}
SIMD_TARGET inline DoubleVector spread(double value) { return value - DoubleVector{}; }  // keeps -0

// Whether any bit of a mask is set.
SIMD_TARGET inline bool any(VectorOf<double>::I mask) {
#if SIMD_FMA && SIMD_BYTES == 64
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif SIMD_FMA && SIMD_BYTES == 32
  return _mm256_testz_si256((__m256i)mask, (__m256i)mask) == 0;
#else
  int64_t found = 0;
  for (int k = 0; k < kDoubles; ++k) found |= mask[k];
  return found != 0;
#endif
}

// As many floats as a register holds doubles, from and to memory.
typedef float FloatsOfDoubles __attribute__((vector_size(SIMD_BYTES / 2), aligned(4), may_alias));
SIMD_TARGET inline DoubleVector widened(const float* from) {
  return __builtin_convertvector(*reinterpret_cast<const FloatsOfDoubles*>(from), DoubleVector);
}
SIMD_TARGET inline void narrow(DoubleVector value, float* to) {
  *reinterpret_cast<FloatsOfDoubles*>(to) = __builtin_convertvector(value, FloatsOfDoubles);
}
