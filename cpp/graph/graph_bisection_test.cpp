#include "graph/graph_bisection.hpp"

#include <cmath>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

static WeightedGraph from_edges(int32_t n, const std::vector<std::pair<int32_t, int32_t>>& edges) {
  std::vector<std::vector<int32_t>> around(n);
  for (const auto& [a, b] : edges) {
    around[a].push_back(b);
    around[b].push_back(a);
  }
  WeightedGraph g;
  g.size.assign(n, 1);
  g.begin.assign(1, 0);
  for (const auto& list : around) {
    g.neighbour.insert(g.neighbour.end(), list.begin(), list.end());
    g.begin.push_back(static_cast<int32_t>(g.neighbour.size()));
  }
  g.weight.assign(g.neighbour.size(), 1);
  return g;
}

static WeightedGraph grid(int32_t rows, int32_t columns) {
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; ++c) {
      if (c + 1 < columns) edges.push_back({r * columns + c, r * columns + c + 1});
      if (r + 1 < rows) edges.push_back({r * columns + c, (r + 1) * columns + c});
    }
  }
  return from_edges(rows * columns, edges);
}

static int64_t cut_of(const WeightedGraph& g, const std::vector<uint8_t>& side) {
  int64_t cut = 0;
  for (int32_t v = 0; v < g.count(); ++v) {
    for (int32_t k = g.begin[v]; k < g.begin[v + 1]; ++k) {
      cut += side[v] < side[g.neighbour[k]] ? g.weight[k] : 0;
    }
  }
  return cut;
}

// Number of connected pieces, counting only arcs within a side (or all arcs: no sides).
static int pieces(const WeightedGraph& g, const std::vector<uint8_t>& side) {
  std::vector<char> seen(g.count(), 0);
  int count = 0;
  for (int32_t root = 0; root < g.count(); ++root) {
    if (seen[root]) continue;
    ++count;
    std::vector<int32_t> todo{root};
    seen[root] = 1;
    while (!todo.empty()) {
      const int32_t v = todo.back();
      todo.pop_back();
      for (int32_t k = g.begin[v]; k < g.begin[v + 1]; ++k) {
        const int32_t b = g.neighbour[k];
        if (seen[b] || (!side.empty() && side[b] != side[v])) continue;
        seen[b] = 1;
        todo.push_back(b);
      }
    }
  }
  return count;
}

TEST_CASE("grids are halved by short cuts") {
  for (const int32_t size : {2, 3, 7, 20, 45, 110}) {
    const WeightedGraph g = grid(size, size);
    const std::vector<uint8_t> side = GraphBisection().run(g);
    int64_t ones = 0;
    for (const uint8_t s : side) ones += s;
    const double share = static_cast<double>(ones) / (size * size);
    CHECK((size < 4 || (share > 0.4 && share < 0.6)));
    CHECK(cut_of(g, side) <= 1.3 * size + 2);
    CHECK(pieces(g, side) == 2);
    CHECK(side == GraphBisection().run(g));
    // A bad start is made good, a good one is left alone.
    std::vector<uint8_t> stripes(g.count()), straight(g.count());
    for (int32_t v = 0; v < g.count(); ++v) {
      stripes[v] = v % 2;
      straight[v] = v >= g.count() / 2;
    }
    const int64_t before = cut_of(g, straight);
    GraphBisection().improve(g, stripes);
    GraphBisection().improve(g, straight);
    CHECK(cut_of(g, stripes) <= 2.5 * size + 2);
    CHECK(cut_of(g, straight) <= before);
  }
}

TEST_CASE("halves of odd graphs are balanced and whole") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<int32_t>(2 + random() % 150);
    std::vector<std::pair<int32_t, int32_t>> edges;
    const int kind = trial % 3;
    for (int32_t v = 1; v < n; ++v) {
      if (kind == 0) edges.push_back({0, v});  // a star
      if (kind == 1 && random() % 3 > 0) edges.push_back({static_cast<int32_t>(random() % v), v});
    }  // 2: no edges
    const WeightedGraph g = from_edges(n, edges);
    const std::vector<uint8_t> side = GraphBisection().run(g);
    int64_t ones = 0;
    for (const uint8_t s : side) ones += s;
    CHECK(ones > 0);
    CHECK(ones < n);
    // Every component falls into at most one piece per side; components on one side stay whole.
    CHECK(pieces(g, side) <= pieces(g, {}) + static_cast<int>(cut_of(g, side)));
    if (kind == 2) CHECK(std::abs(2 * ones - n) <= n / 5 + 2);
  }
}
