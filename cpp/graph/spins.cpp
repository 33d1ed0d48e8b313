#include "graph/spins.hpp"

#include <atomic>
#include <numeric>

#include "graph/shared_forest.hpp"

namespace planaris {

namespace {

class ParityForest {
 public:
  explicit ParityForest(int32_t size) : parent_(size), parity_(size, 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  // Path halving keeps parity relative to the new parent.
  int32_t find(int32_t v, uint8_t& parity) {
    parity = 0;
    while (parent_[v] != v) {
      const int32_t up = parent_[v];
      if (parent_[up] != up) {
        parity_[v] ^= parity_[up];
        parent_[v] = parent_[up];
      }
      parity ^= parity_[v];
      v = parent_[v];
    }
    return v;
  }

  // Roots stay the smallest vertex of their component.
  bool join(int32_t u, int32_t v, uint8_t differ) {
    uint8_t pu, pv;
    int32_t a = find(u, pu), b = find(v, pv);
    if (a == b) return (pu ^ pv) == differ;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    parity_[b] = pu ^ pv ^ differ;
    return true;
  }

 private:
  std::vector<int32_t> parent_;
  std::vector<uint8_t> parity_;
};

}  // namespace

SpinAssignment spins_from_disagreements(int32_t num_vertices, std::span<const int32_t> edges,
                                        std::span<const uint8_t> differ) {
  ParityForest forest(num_vertices);
  SpinAssignment result;
  for (size_t e = 0; e < differ.size(); ++e) {
    const bool consistent = forest.join(edges[2 * e], edges[2 * e + 1], differ[e] != 0);
    if (!consistent && result.conflicting_edge < 0) {
      result.conflicting_edge = static_cast<int32_t>(e);
    }
  }
  result.spins.resize(num_vertices);
  for (int32_t v = 0; v < num_vertices; ++v) {
    uint8_t parity;
    forest.find(v, parity);
    result.spins[v] = parity ? -1 : 1;
  }
  return result;
}

SpinAssignment spins_from_disagreements(int32_t num_vertices, std::span<const int32_t> edges,
                                        std::span<const uint8_t> differ, Team& team) {
  const int parts = Team::parts(10.0 * double(differ.size() + size_t(num_vertices)));
  // What threads share takes two to three times as long.
  if (team.threads() < 4 || parts == 1)
    return spins_from_disagreements(num_vertices, edges, differ);
  SharedForest forest(num_vertices, team);
  std::atomic<bool> consistent{true};
  team.split(int64_t(differ.size()), parts, [&](int64_t low, int64_t high, int) {
    for (int64_t e = low; e < high; ++e) {
      if (!forest.join(edges[2 * e], edges[2 * e + 1], differ[e] != 0)) consistent = false;
    }
  });
  // Which edge is the first to contradict those before it, is a matter of their order.
  if (!consistent) return spins_from_disagreements(num_vertices, edges, differ);
  SpinAssignment result;
  result.spins.resize(num_vertices);
  team.split(num_vertices, parts, [&](int64_t low, int64_t high, int) {
    for (int64_t v = low; v < high; ++v) {
      uint32_t parity;
      forest.find(int32_t(v), parity);
      result.spins[v] = parity ? -1 : 1;
    }
  });
  return result;
}

}  // namespace planaris
