#include "graph/max_flow.hpp"

#include <cmath>
#include <limits>

#include "third_party/doctest/doctest.h"

using namespace planaris;

// Minimum over all sides, by listing them.
static double least_cut(const std::vector<int32_t>& edges, const std::vector<double>& capacities,
                        const std::vector<double>& terminals) {
  double best = std::numeric_limits<double>::infinity();
  const auto n = static_cast<int>(terminals.size());
  for (int side = 0; side < (1 << n); ++side) {
    double value = 0;
    for (size_t e = 0; e < capacities.size(); ++e) {
      if ((side >> edges[2 * e] & 1) != (side >> edges[2 * e + 1] & 1)) value += capacities[e];
    }
    for (int v = 0; v < n; ++v) {
      const bool source = side >> v & 1;
      if (terminals[v] > 0 && !source) value += terminals[v];
      if (terminals[v] < 0 && source) value -= terminals[v];
    }
    best = std::min(best, value);
  }
  return best;
}

TEST_CASE("cuts are minimal") {
  Control control;
  uint64_t random = 88172645463325252ULL;
  const auto next = [&](int below) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<int>(random % static_cast<uint64_t>(below));
  };
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + next(9);
    std::vector<int32_t> edges;
    std::vector<double> capacities, terminals;
    for (int u = 0; u < n; ++u) {
      for (int v = 0; v < u; ++v) {
        if (next(2)) continue;
        edges.insert(edges.end(), {u, v});
        capacities.push_back(next(6) * (trial % 2 ? 1.0 : 0x1p-70) + next(6));
      }
      terminals.push_back(next(21) - 10);
    }
    const auto result = minimum_cut(edges, capacities, terminals, control);
    CHECK(result.rounding == 0.0);
    double value = 0;
    for (size_t e = 0; e < capacities.size(); ++e) {
      if (result.source_side[edges[2 * e]] != result.source_side[edges[2 * e + 1]]) {
        value += capacities[e];
      }
    }
    for (int v = 0; v < n; ++v) {
      if (terminals[v] > 0 && !result.source_side[v]) value += terminals[v];
      if (terminals[v] < 0 && result.source_side[v]) value -= terminals[v];
    }
    CHECK(std::abs(value - least_cut(edges, capacities, terminals)) < 1e-9);
  }
}

TEST_CASE("signs are balanced or a cycle is shown") {
  const std::vector<int32_t> square{0, 1, 1, 2, 2, 3, 3, 0};
  const auto good = balance_signs(4, square, std::vector<double>{-1, 1, -1, 1});
  CHECK(good.frustrated.empty());
  CHECK(good.gauge[0] == -good.gauge[1]);
  CHECK(good.gauge[1] == good.gauge[2]);
  const auto bad = balance_signs(4, square, std::vector<double>{-1, 1, 1, 1});
  CHECK(bad.frustrated.size() == 4);
}
