// Sums of all numbers up to each one, by several threads.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/team.hpp"

namespace planaris {

// As std::partial_sum does in place.
inline void running_sums(std::span<int32_t> values, Team& team) {
  const int parts = Team::parts(2.0 * double(values.size()));
  if (team.threads() == 1 || parts == 1) {
    std::partial_sum(values.begin(), values.end(), values.begin());
    return;
  }
  std::vector<int32_t> before(size_t(parts) + 1, 0);
  const auto count = static_cast<int64_t>(values.size());
  team.split(count, parts, [&](int64_t low, int64_t high, int part) {
    before[size_t(part) + 1] =
        std::accumulate(values.begin() + low, values.begin() + high, int32_t{0});
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  team.split(count, parts, [&](int64_t low, int64_t high, int part) {
    int32_t sum = before[part];
    for (int64_t k = low; k < high; ++k) values[k] = sum += values[k];
  });
}

}  // namespace planaris
