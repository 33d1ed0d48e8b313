#include "graph/spins.hpp"

#include <algorithm>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("a long path alternates") {
  const int32_t n = 200000;
  std::vector<int32_t> edges;
  for (int32_t v = n - 1; v > 0; --v) edges.insert(edges.end(), {v - 1, v});
  const std::vector<uint8_t> differ(n - 1, 1);
  const SpinAssignment result = spins_from_disagreements(n, edges, differ);
  CHECK(result.conflicting_edge == -1);
  for (int32_t v = 0; v < n; ++v) CHECK(result.spins[v] == (v % 2 ? -1 : 1));
}

TEST_CASE("a frustrated triangle is reported") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<uint8_t> differ{1, 1, 1};
  CHECK(spins_from_disagreements(3, edges, differ).conflicting_edge == 2);
}

TEST_CASE("spins of a cut are the same for any number of threads") {
  std::mt19937 rng(3);
  int conflicts = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const int32_t n = 1 + int32_t(rng() % 20000);
    std::vector<int8_t> state(n);
    for (int8_t& s : state) s = rng() % 2 ? 1 : -1;
    std::vector<int32_t> edges;
    std::vector<uint8_t> differ;
    for (int32_t k = int32_t(rng() % uint32_t(3 * n)); k > 0; --k) {
      const auto u = int32_t(rng() % uint32_t(n));
      const int32_t v =
          trial % 2 ? std::min(n - 1, u + 1 + int32_t(rng() % 3)) : int32_t(rng() % uint32_t(n));
      if (u == v) continue;
      edges.insert(edges.end(), {v, u});
      differ.push_back(state[u] != state[v]);
    }
    if (trial % 4 == 3 && !differ.empty()) differ[rng() % differ.size()] ^= 1;
    const SpinAssignment expected = spins_from_disagreements(n, edges, differ);
    conflicts += expected.conflicting_edge >= 0;
    for (const int threads : {2, 4, 16}) {
      Control quiet;
      Team team(threads, quiet);
      const SpinAssignment found = spins_from_disagreements(n, edges, differ, team);
      CHECK(found.spins == expected.spins);
      CHECK(found.conflicting_edge == expected.conflicting_edge);
    }
  }
  CHECK(conflicts > 3);
}
