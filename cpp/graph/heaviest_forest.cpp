#include "graph/heaviest_forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace planaris {

namespace {

constexpr size_t kRun = 1 << 13;  // edges that are sorted between two looks at the clock

// Edges, heaviest first: runs are sorted, then merged two by two.
std::vector<int32_t> by_weight(std::span<const double> weights, Control& control) {
  const size_t size = weights.size();
  std::vector<int32_t> order(size), merged(size);
  std::iota(order.begin(), order.end(), 0);
  const auto heavier = [&](int32_t a, int32_t b) {
    return weights[a] > weights[b] || (std::isnan(weights[b]) && !std::isnan(weights[a]));
  };
  for (size_t from = 0; from < size; from += kRun) {
    control.spend(8 * kRun);
    const auto begin = order.begin() + from;
    std::stable_sort(begin, order.begin() + std::min(from + kRun, size), heavier);
  }
  for (size_t run = kRun; run < size; run *= 2) {
    for (size_t from = 0; from < size; from += 2 * run) {
      control.spend(static_cast<int64_t>(4 * run));
      const auto begin = order.begin() + from;
      const auto middle = order.begin() + std::min(from + run, size);
      const auto end = order.begin() + std::min(from + 2 * run, size);
      std::merge(begin, middle, middle, end, merged.begin() + from, heavier);
    }
    order.swap(merged);
  }
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
