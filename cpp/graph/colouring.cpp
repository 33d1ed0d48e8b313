#include "graph/colouring.hpp"

#include <numeric>

#include "graph/breadth_first.hpp"

namespace planaris {

Colouring colour_greedily(std::span<const int64_t> offsets, std::span<const int32_t> neighbours,
                          std::span<const int32_t> sequence) {
  std::vector<int32_t> colour(sequence.size(), -1), last_seen, sizes;
  for (const int32_t v : sequence) {
    for (int64_t k = offsets[v]; k < offsets[v + 1]; ++k) {
      const int32_t c = colour[neighbours[k]];
      if (c >= 0) last_seen[c] = v;
    }
    int32_t c = 0;
    while (c < std::ssize(sizes) && last_seen[c] == v) ++c;
    if (c == std::ssize(sizes)) {
      sizes.push_back(0);
      last_seen.push_back(-1);
    }
    colour[v] = c;
    ++sizes[c];
  }
  Colouring found;
  found.offsets.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), found.offsets.begin() + 1);
  std::vector<int32_t> place(found.offsets);
  found.order.resize(sequence.size());
  for (int32_t v = 0; v < std::ssize(sequence); ++v) found.order[place[colour[v]]++] = v;
  return found;
}

Colouring colour_greedily(std::span<const int64_t> offsets, std::span<const int32_t> neighbours) {
  std::vector<int32_t> all(offsets.size() - 1);
  std::iota(all.begin(), all.end(), 0);
  return colour_greedily(offsets, neighbours, all);
}

Colouring colour_breadth_first(int32_t num_vertices, std::span<const int32_t> edges) {
  const Neighbours graph = neighbours_of(num_vertices, edges);
  return colour_greedily(graph.offsets, graph.vertices, breadth_first_order(graph));
}

}  // namespace planaris
