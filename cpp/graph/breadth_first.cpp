#include "graph/breadth_first.hpp"

#include <utility>

#include "base/grouping.hpp"

namespace planaris {

Neighbours neighbours_of(int32_t num_vertices, std::span<const int32_t> edges) {
  auto [offsets, vertices] = group_by_key<int64_t>(num_vertices, edges);  // as half-edges
  for (int32_t& v : vertices) v = edges[v ^ 1];
  return {std::move(offsets), std::move(vertices)};
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
