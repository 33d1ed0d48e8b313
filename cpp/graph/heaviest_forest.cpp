#include "graph/heaviest_forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/polled_sort.hpp"

namespace planaris {

namespace {

// Edges, heaviest first.
std::vector<int32_t> by_weight(std::span<const double> weights, Control& control) {
  std::vector<int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const auto heavier = [&](int32_t a, int32_t b) {
    return weights[a] > weights[b] || (std::isnan(weights[b]) && !std::isnan(weights[a]));
  };
  polled_sort(order, heavier, control);
  return order;
}

}  // namespace

std::vector<int32_t> heaviest_forest(int32_t num_vertices, std::span<const int32_t> edges,
                                     std::span<const double> weights, Control& control) {
  if (edges.size() != 2 * weights.size()) throw std::invalid_argument("one weight per edge");
  for (const int32_t v : edges) {
    if (v < 0 || v >= num_vertices) throw std::invalid_argument("no such vertex");
  }
  std::vector<int32_t> parent(num_vertices), found;
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int32_t v) {
    for (; parent[v] != v; v = parent[v]) parent[v] = parent[parent[v]];
    return v;
  };
  for (const int32_t e : by_weight(weights, control)) {
    control.spend(8);
    const int32_t a = root(edges[2 * e]), b = root(edges[2 * e + 1]);
    if (a == b) continue;
    parent[b] = a;
    found.push_back(e);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace planaris
