#include "embedding/planar_subgraph.hpp"

#include <algorithm>

#include "embedding/planarity.hpp"

namespace planaris {

std::vector<uint8_t> maximal_planar(int32_t num_vertices, std::span<const int32_t> edges,
                                    std::span<const int64_t> order, int64_t max_tests,
                                    Control& control) {
  const int64_t most = std::max<int64_t>(3 * int64_t{num_vertices} - 6, 3);
  std::vector<uint8_t> chosen(edges.size() / 2, 0);
  std::vector<std::span<const int64_t>> groups{order};
  std::vector<int32_t> trial;
  int64_t count = 0;  // of chosen edges
  try {
    for (; !groups.empty() && max_tests > 0; --max_tests) {
      control.poll_now();
      const std::span<const int64_t> group = groups.back();
      groups.pop_back();
      const int64_t size = count + static_cast<int64_t>(group.size());
      for (const int64_t e : group) chosen[e] = 1;
      bool fits = size < 9;  // K3,3 has nine edges, K5 ten
      if (!fits && size <= most) {
        trial.clear();
        for (size_t e = 0; e < chosen.size(); ++e) {
          if (chosen[e]) trial.insert(trial.end(), {edges[2 * e], edges[2 * e + 1]});
        }
        try {
          fits = LeftRight(num_vertices, trial, control).test();
        } catch (const DeadlinePassed&) {
          for (const int64_t e : group) chosen[e] = 0;
          throw;
        }
      }
      if (fits) {
        count = size;
        continue;
      }
      for (const int64_t e : group) chosen[e] = 0;
      if (group.size() > 1) {
        const size_t half = group.size() / 2;
        groups.push_back(group.subspan(half));
        groups.push_back(group.first(half));
      }
    }
  } catch (const DeadlinePassed&) {
    // What was chosen so far is planar.
  }
  if (count == 0) {
    for (const int64_t e : order.first(std::min<size_t>(order.size(), 8))) chosen[e] = 1;
  }
  return chosen;
}

}  // namespace planaris
