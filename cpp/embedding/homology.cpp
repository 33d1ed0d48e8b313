#include "embedding/homology.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace planaris {

namespace {

struct Forest {
  std::vector<int32_t> to_parent;  // half-edge towards the root, -1 at roots
  std::vector<int32_t> depth;
};

Forest breadth_first_forest(const RotationView& r) {
  const int32_t n = r.num_vertices();
  Forest forest{std::vector<int32_t>(n, -1), std::vector<int32_t>(n, -1)};
  std::vector<int32_t> queue;
  queue.reserve(n);
  for (int32_t root = 0; root < n; ++root) {
    if (forest.depth[root] >= 0) continue;
    forest.depth[root] = 0;
    queue.assign(1, root);
    for (size_t at = 0; at < queue.size(); ++at) {
      const int32_t v = queue[at];
      for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
        const int32_t h = r.rotation[k], w = r.head(h);
        if (forest.depth[w] >= 0) continue;
        forest.depth[w] = forest.depth[v] + 1;
        forest.to_parent[w] = h ^ 1;
        queue.push_back(w);
      }
    }
  }
  return forest;
}

// Edges outside the forest that also do not fit into a spanning forest of the dual.
std::vector<int32_t> left_over_edges(const RotationView& r, std::span<const int32_t> face_of,
                                     const Forest& forest) {
  const auto num_edges = static_cast<int32_t>(r.edges.size() / 2);
  std::vector<char> in_tree(num_edges, 0);
  for (const int32_t h : forest.to_parent)
    if (h >= 0) in_tree[h >> 1] = 1;
  const int32_t num_faces =
      face_of.empty() ? 0 : *std::max_element(face_of.begin(), face_of.end()) + 1;
  std::vector<int32_t> parent(num_faces);
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&parent](int32_t f) {
    while (parent[f] != f) f = parent[f] = parent[parent[f]];
    return f;
  };
  std::vector<int32_t> left_over;
  for (int32_t e = 0; e < num_edges; ++e) {
    if (in_tree[e]) continue;
    const int32_t a = find(face_of[2 * e]), b = find(face_of[2 * e + 1]);
    if (a == b)
      left_over.push_back(e);
    else
      parent[b] = a;
  }
  return left_over;
}

}  // namespace

Cycles homology_basis(const RotationView& r, std::span<const int32_t> face_of) {
  if (face_of.size() != r.rotation.size() || face_of.size() != r.edges.size())
    throw std::invalid_argument("face_of, rotation and edges must have one entry per half-edge");
  const Forest forest = breadth_first_forest(r);
  Cycles cycles{{}, {0}};
  for (const int32_t e : left_over_edges(r, face_of, forest)) {
    cycles.edges.push_back(e);
    int32_t u = r.edges[2 * e], v = r.edges[2 * e + 1];
    while (u != v) {  // climb to the lowest common ancestor
      int32_t& low = forest.depth[u] >= forest.depth[v] ? u : v;
      const int32_t h = forest.to_parent[low];
      cycles.edges.push_back(h >> 1);
      low = r.head(h);
    }
    cycles.offsets.push_back(static_cast<int32_t>(cycles.edges.size()));
  }
  return cycles;
}

}  // namespace planaris
