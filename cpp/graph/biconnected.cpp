#include "graph/biconnected.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace planaris {

void require_vertices(int32_t num_vertices, std::span<const int32_t> edges) {
  for (const int32_t v : edges) {
    if (v < 0 || v >= num_vertices) {
      throw std::invalid_argument("an edge ends at vertex " + std::to_string(v) + " of " +
                                  std::to_string(num_vertices));
    }
  }
}

Blocks biconnected_components(int32_t n, std::span<const int32_t> edges, Control& control) {
  require_vertices(n, edges);
  struct Arc {
    int32_t head, half_edge;
  };
  std::vector<int32_t> first(n + 1, 0);
  std::vector<Arc> around(edges.size());
  for (const int32_t v : edges) ++first[v + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int32_t> next(first.begin(), first.end() - 1);
  for (size_t h = 0; h < edges.size(); ++h) {
    around[next[edges[h]]++] = {edges[h ^ 1], static_cast<int32_t>(h)};
  }
  control.spend(4 * static_cast<int64_t>(edges.size()));

  Blocks blocks;
  blocks.component_of.assign(edges.size() / 2, -1);
  blocks.is_cut.assign(n, 0);
  std::copy(first.begin(), first.end() - 1, next.begin());
  std::vector<int32_t> number(n, -1), low(n), entered(n, -1), stack;
  int32_t count = 0;
  for (int32_t root = 0; root < n; ++root) {
    if (number[root] >= 0) continue;
    number[root] = low[root] = count++;
    int32_t root_blocks = 0;
    for (int32_t v = root;;) {
      control.spend(4);
      if (next[v] < first[v + 1]) {
        const auto [w, h] = around[next[v]++];
        if ((h ^ 1) == entered[v]) continue;
        if (number[w] < 0) {
          stack.push_back(h >> 1);
          entered[w] = h;
          number[w] = low[w] = count++;
          v = w;
        } else if (number[w] < number[v]) {
          stack.push_back(h >> 1);
          low[v] = std::min(low[v], number[w]);
        }
        continue;
      }
      if (v == root) break;
      const int32_t edge = entered[v] >> 1, above = edges[entered[v]];
      low[above] = std::min(low[above], low[v]);
      if (low[v] >= number[above]) {  // nothing below reaches past `above`
        if (above == root)
          ++root_blocks;
        else
          blocks.is_cut[above] = 1;
        for (int32_t top = -1; top != edge;) {
          top = stack.back();
          stack.pop_back();
          blocks.component_of[top] = blocks.count;
        }
        blocks.top.push_back(above);
        ++blocks.count;
      }
      v = above;
    }
    if (root_blocks > 1) blocks.is_cut[root] = 1;
  }
  return blocks;
}

}  // namespace planaris
