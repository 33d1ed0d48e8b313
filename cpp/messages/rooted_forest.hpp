// Half-edges of a graph by vertex, and forests with a root per component.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Half-edges by the vertex they leave.
struct Leaving {
  std::vector<int32_t> begin, half_edges;

  Leaving(int32_t n, std::span<const int32_t> edges, Control&& control = {})
      : Leaving(n, edges, control) {}
  Leaving(int32_t n, std::span<const int32_t> edges, Control& control)
      : begin(n + 1, 0), half_edges(edges.size()) {
    for (const int32_t v : edges) {
      control.spend(1);
      if (v < 0 || v >= n) throw std::invalid_argument("edge names no vertex");
      ++begin[v + 1];
    }
    for (int32_t v = 0; v < n; ++v) begin[v + 1] += begin[v];
    std::vector<int32_t> fill(begin.begin(), begin.end() - 1);
    for (size_t h = 0; h < edges.size(); ++h) {
      control.spend(1);
      half_edges[fill[edges[h]]++] = static_cast<int32_t>(h);
    }
  }

  std::span<const int32_t> of(int32_t v) const {
    return {half_edges.data() + begin[v], static_cast<size_t>(begin[v + 1] - begin[v])};
  }
};

// Throws std::invalid_argument unless the edges form a forest on the vertices.
struct RootedForest {
  std::vector<int32_t> order;      // parents before children
  std::vector<int32_t> to_parent;  // half-edge by vertex; -1 for roots

  RootedForest(int32_t n, std::span<const int32_t> edges, Control&& control = {})
      : RootedForest(n, edges, control) {}
  RootedForest(int32_t n, std::span<const int32_t> edges, Control& control) : to_parent(n, -1) {
    const Leaving leaving(n, edges, control);
    std::vector<uint8_t> seen(n, 0);
    order.reserve(n);
    for (int32_t root = 0; root < n; ++root) {
      if (seen[root]) continue;
      seen[root] = 1;
      order.push_back(root);
      for (size_t head = order.size() - 1; head < order.size(); ++head) {
        const int32_t v = order[head];
        control.spend(8);
        for (const int32_t h : leaving.of(v)) {
          if (h == to_parent[v]) continue;
          const int32_t w = edges[h ^ 1];
          if (seen[w]) throw std::invalid_argument("the edges contain a cycle");
          seen[w] = 1;
          to_parent[w] = h ^ 1;
          order.push_back(w);
        }
      }
    }
  }
};

}  // namespace planaris
