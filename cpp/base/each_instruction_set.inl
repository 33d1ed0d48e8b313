// Compiles the file SIMD_FILE once for each instruction set, in the namespaces plain, avx2 and
// avx512 inside the one that includes this: functions for one processor cannot be made of templates
// for all. Every function of that file begins with SIMD_TARGET. It is given
//   SIMD_BYTES                     bytes of a register
//   SIMD_FMA                       1 where products are added without rounding in between
//   VectorOf<double or float>      V, a register of numbers, and I, of integers of the same size
//   fused(a, b, c)                 a b + c, of numbers or registers
//   load, store, spread            registers from and to memory, and of one number
// Include base/intrinsics.hpp before it, outside of namespaces.

namespace plain {
#define SIMD_TARGET
#define SIMD_BYTES 16
#ifdef __FP_FAST_FMA
#define SIMD_FMA 1
#else
#define SIMD_FMA 0
#endif
#include "base/simd_vectors.inl"
#include SIMD_FILE
#undef SIMD_TARGET
#undef SIMD_BYTES
#undef SIMD_FMA
}  // namespace plain

#ifdef PLANARIS_X86
#define SIMD_FMA 1
namespace avx2 {
#define SIMD_TARGET PLANARIS_AVX2
#define SIMD_BYTES 32
#include "base/simd_vectors.inl"
#include SIMD_FILE
#undef SIMD_TARGET
#undef SIMD_BYTES
}  // namespace avx2
namespace avx512 {
#define SIMD_TARGET PLANARIS_AVX512
#define SIMD_BYTES 64
#include "base/simd_vectors.inl"
#include SIMD_FILE
#undef SIMD_TARGET
#undef SIMD_BYTES
}  // namespace avx512
#undef SIMD_FMA
#endif
