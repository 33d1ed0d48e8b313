// Registers of W doubles for the kernels of this folder.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/simd.hpp"

namespace planaris::tensor {

template <int W>
struct Lanes : Pack<W> {
  using Type = typename Pack<W>::Type;
  using Pack<W>::get;

  // The first `width` entries, zeros behind them.
  static PLANARIS_INLINE Type get(const double* from, int width) {
    if (width == W) return get(from);
    Type out{};
    for (int j = 0; j < width; ++j) out[j] = from[j];
    return out;
  }

  // The larger of `top` and |x|, lane by lane; `top` where x is no number.
  static PLANARIS_INLINE Type larger(const Type& top, const Type& x) {
    typedef int64_t Words __attribute__((vector_size(W * sizeof(int64_t))));
    const auto size = reinterpret_cast<Type>(reinterpret_cast<Words>(x) & INT64_MAX);
    return top < size ? size : top;
  }

  static PLANARIS_INLINE double largest(const Type& x) {
    double top = 0;
    for (int l = 0; l < W; ++l) top = top < x[l] ? x[l] : top;
    return top;
  }
};

}  // namespace planaris::tensor
