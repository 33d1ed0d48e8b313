#include "decoding/wide_inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace planaris {

EdgeInverse rounded(const WideInverse& inverse) {
  EdgeInverse result;
  result.num_edges = inverse.num_edges;
  result.log_pfaffian = inverse.log_pfaffian;
  for (const DoubleDouble& x : inverse.diagonal) result.diagonal.push_back(to_double(x));
  result.blocks.reserve(inverse.blocks.size());
  for (const DoubleDouble& x : inverse.blocks) result.blocks.push_back(to_double(x));
  return result;
}

namespace {

// t / (1 - t); doubles of less than 1e-290 lose digits, and are t themselves.
DoubleDouble wide_ratio(const JoinChange& change) {
  if (change.ratio >= 1e-290 || change.log_factor >= 0.0) return DoubleDouble(change.ratio);
  return exponential<DoubleDouble>(change.log_factor);
}

}  // namespace

WideWeight weigh_wide(const WideInverse& inverse, std::span<const JoinChange> changes,
                      int32_t logical) {
  using T = DoubleDouble;
  const auto k = static_cast<int32_t>(changes.size());
  const int32_t pairs = k + (logical >= 0), n = 2 * pairs;
  std::vector<T> a(size_t(n) * n), mass(pairs);
  for (int32_t i = 0; i < pairs; ++i) {
    const int32_t e = i < k ? changes[i].edge : logical;
    T *row0 = &a[size_t(2 * i) * n], *row1 = row0 + n;
    row0[2 * i + 1] = inverse.diagonal[e] + (i < k ? wide_ratio(changes[i]) : T(0.0));
    mass[i] = row0[2 * i + 1];
    for (int32_t j = i + 1; j < pairs; ++j) {
      const T* block = &inverse.blocks[4 * inverse.place(e, j < k ? changes[j].edge : logical)];
      row0[2 * j] = block[0];
      row0[2 * j + 1] = block[1];
      row1[2 * j] = block[2];
      row1[2 * j + 1] = block[3];
    }
  }
  WideWeight result;
  const auto note = [&](int32_t i) {
    const T& pivot = a[size_t(2 * i) * n + 2 * i + 1];
    const double ratio = is_negative(pivot) || is_zero(pivot)
                             ? std::numeric_limits<double>::infinity()
                             : to_double(mass[i] / pivot);
    result.doubt = std::max(result.doubt, ratio);
    return pivot;
  };
  for (int32_t i = 0; i < k; ++i) {
    const T pivot = note(i);
    if (is_zero(pivot)) return result;
    result.log_pivots += log_magnitude(pivot);
    const T scale = T(1.0) / pivot;
    const T *u = &a[size_t(2 * i) * n], *v = u + n;
    for (int32_t r = 2 * i + 2; r < n; ++r) {
      const T cv = v[r] * scale, cu = u[r] * scale;
      T* row = &a[size_t(r) * n];
      if ((r & 1) == 0) {
        mass[r / 2] += magnitude(cv * u[r + 1]) + magnitude(cu * v[r + 1]);
      }
      for (int32_t c = r + 1; c < n; ++c) row[c] += cv * u[c] - cu * v[c];
    }
  }
  if (logical >= 0) {
    const T other = note(k);
    const T same = T(1.0) - other;
    result.log_other =
        is_zero(other) ? -std::numeric_limits<double>::infinity() : log_magnitude(other);
    result.log_same =
        is_zero(same) ? -std::numeric_limits<double>::infinity() : log_magnitude(same);
  }
  return result;
}

}  // namespace planaris
