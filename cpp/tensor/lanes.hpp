// Vectors of doubles for the kernels of this folder.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/simd.hpp"

namespace planaris::tensor {

constexpr int kLanes = 8;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
typedef int64_t LaneBits __attribute__((vector_size(kLanes * sizeof(int64_t))));

PLANARIS_INLINE Lanes load(const double* from) {
  Lanes out;
  std::memcpy(&out, from, sizeof(out));
  return out;
}

// The first `width` entries, zeros behind them.
PLANARIS_INLINE Lanes load(const double* from, int width) {
  if (width == kLanes) return load(from);
  Lanes out{};
  for (int j = 0; j < width; ++j) out[j] = from[j];
  return out;
}

PLANARIS_INLINE void store(double* to, const Lanes& x) { std::memcpy(to, &x, sizeof(x)); }

// The larger of `top` and |x|, lane by lane; `top` where x is no number.
PLANARIS_INLINE Lanes larger(const Lanes& top, const Lanes& x) {
  const auto size = reinterpret_cast<Lanes>(reinterpret_cast<LaneBits>(x) & INT64_MAX);
  return top < size ? size : top;
}

PLANARIS_INLINE double largest(const Lanes& x) {
  double top = 0;
  for (int l = 0; l < kLanes; ++l) top = top < x[l] ? x[l] : top;
  return top;
}

}  // namespace planaris::tensor
