// Steps of min-sum messages.
#pragma once

#include <cstdint>

namespace planaris {

// out[b] = min(out[b], row[b] - shift): elementwise, so that it vectorises.
inline void lower_by_row(double* __restrict out, const double* __restrict row, double shift,
                         int32_t size) {
  for (int32_t b = 0; b < size; ++b) {
    const double value = row[b] - shift;
    out[b] = value < out[b] ? value : out[b];
  }
}

}  // namespace planaris
