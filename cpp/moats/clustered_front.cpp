#include "moats/clustered_front.hpp"

#include "base/simd.hpp"

namespace planaris {

PLANARIS_CLONES void scale_pair(int count, double inverse, double* u, double* v, double* keep_u,
                                double* keep_v) {
  for (int i = 0; i < count; ++i) {
    keep_u[i] = u[i];
    keep_v[i] = v[i];
    const double scaled = v[i] * inverse;
    v[i] = -(u[i] * inverse);
    u[i] = scaled;
  }
}

PLANARIS_CLONES void add_pair(int count, const double* u, const double* v, double um, double vm,
                              double* target) {
  for (int i = 0; i < count; ++i) target[i] += u[i] * um + v[i] * vm;
}

}  // namespace planaris
