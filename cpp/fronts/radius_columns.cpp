#include "fronts/radius_columns.hpp"

#include <cmath>

#include "base/simd.hpp"

namespace planaris {

namespace {

struct RadiusFactors {
  double inverse, half, grown, turned, tiny, entry, floor;
};

PLANARIS_CLONES void fill_radius_columns(int count, RadiusFactors f, const double* __restrict u,
                                         const double* __restrict v, const double* __restrict ru,
                                         const double* __restrict rv, double* __restrict left,
                                         double* __restrict right, int64_t step) {
  for (int i = 0; i < count; ++i) {
    const double of_u = std::fabs(u[i]), of_v = std::fabs(v[i]);
    const double radius_u = (ru[i] + f.entry * of_u) * kReadRadius + f.floor;
    const double radius_v = (rv[i] + f.entry * of_v) * kReadRadius + f.floor;
    const double e1 = (of_v * f.inverse + f.half * radius_v + f.tiny) * f.grown;
    const double z1 = (radius_u + f.turned * of_u) * kReadRadius;
    const double e2 = (of_u * f.inverse + f.half * radius_u + f.tiny) * f.grown;
    const double z2 = (radius_v + f.turned * of_v) * kReadRadius;
    left[i] = right[i + step] = e1;
    left[i + step] = right[i] = z1;
    left[i + 2 * step] = right[i + 3 * step] = e2;
    left[i + 3 * step] = right[i + 2 * step] = z2;
  }
}

PLANARIS_CLONES void enlarge_radii(int count, double entry, double tiny,
                                   const double* __restrict entries, const double* __restrict radii,
                                   double* __restrict to) {
  for (int i = 0; i < count; ++i) {
    to[i] = (radii[i] + entry * std::fabs(entries[i])) * kReadRadius + tiny;
  }
}

}  // namespace

void hand_on_radii(int count, HandedOn rule, const double* entries, const double* radii,
                   double* to) {
  enlarge_radii(count, rule.entry, rule.tiny, entries, radii, to);
}

void radius_columns(int count, const RadiusPivot& pivot, HandedOn rule, const double* u,
                    const double* v, const double* ru, const double* rv, double* left,
                    double* right, int64_t step) {
  const RadiusFactors factors{1.0 / pivot.size,
                              0.5 / pivot.size,
                              (1 + pivot.ratio) * kReadRadius,
                              0.5 * (pivot.ratio + pivot.roundings) * kReadRadius,
                              pivot.tiny,
                              rule.entry,
                              rule.tiny};
  fill_radius_columns(count, factors, u, v, ru, rv, left, right, step);
}

}  // namespace planaris
