// Numbers grouped by a key, by a counting sort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace planaris {

// Those of key g are items[offsets[g]] to items[offsets[g + 1] - 1], in ascending order.
template <class Offset>
struct Groups {
  std::vector<Offset> offsets;
  std::vector<int32_t> items;
};

// Groups 0, 1, ... by keys[0], keys[1], ..., which are below `num_keys`: half-edges by the vertices
// that they leave, if the keys are the ends of edges.
template <class Offset = int32_t, class Keys>
Groups<Offset> group_by_key(int32_t num_keys, const Keys& keys) {
  Groups<Offset> found{std::vector<Offset>(size_t(num_keys) + 1, 0),
                       std::vector<int32_t>(keys.size())};
  for (const int32_t key : keys) ++found.offsets[key + 1];
  std::partial_sum(found.offsets.begin(), found.offsets.end(), found.offsets.begin());
  std::vector<Offset> next(found.offsets.begin(), found.offsets.end() - 1);
  for (size_t k = 0; k < keys.size(); ++k) found.items[next[keys[k]]++] = static_cast<int32_t>(k);
  return found;
}

}  // namespace planaris
