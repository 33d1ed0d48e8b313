#include "graph/breadth_first.hpp"

#include <numeric>

namespace planaris {

Neighbours neighbours_of(int32_t num_vertices, std::span<const int32_t> edges) {
  Neighbours graph;
  graph.offsets.assign(num_vertices + 1, 0);
  for (const int32_t v : edges) ++graph.offsets[v + 1];
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  graph.vertices.resize(edges.size());
  std::vector<int64_t> at(graph.offsets.begin(), graph.offsets.end() - 1);
  for (size_t k = 0; k < edges.size(); ++k) graph.vertices[at[edges[k]]++] = edges[k ^ 1];
  return graph;
}

std::vector<int32_t> breadth_first_order(const Neighbours& graph, int32_t root) {
  const auto count = static_cast<int32_t>(graph.offsets.size()) - 1;
  std::vector<int32_t> order;
  std::vector<uint8_t> seen(count, 0);
  order.reserve(count);
  const auto reach = [&](int32_t v) {
    if (!seen[v]) order.push_back(v);
    seen[v] = 1;
  };
  size_t next = 0;
  for (int32_t k = -1; k < count; ++k) {
    if (count > 0) reach(k < 0 ? root : k);
    for (; next < order.size(); ++next) {
      const int32_t v = order[next];
      for (int64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) reach(graph.vertices[i]);
    }
  }
  return order;
}

}  // namespace planaris
