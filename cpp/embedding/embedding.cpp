#include "embedding/embedding.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "graph/biconnected.hpp"

namespace planaris {

namespace {

// next[h]: the half-edge clockwise after h around its tail.
std::vector<int32_t> clockwise_next(const RotationView& r) {
  if (r.rotation.size() != r.edges.size() || r.offsets.empty() || r.offsets.front() != 0 ||
      r.offsets.back() != r.num_half_edges()) {
    throw std::invalid_argument("offsets must run from 0 to the number of half-edges");
  }
  std::vector<int32_t> next(r.num_half_edges(), -1);
  for (int32_t v = 0; v < r.num_vertices(); ++v) {
    const int32_t begin = r.offsets[v], end = r.offsets[v + 1];
    if (begin < 0 || end < begin || end > r.num_half_edges()) {
      throw std::invalid_argument("offsets must not fall, as they do at vertex " +
                                  std::to_string(v));
    }
    for (int32_t k = begin; k < end; ++k) {
      const int32_t h = r.rotation[k];
      if (h < 0 || h >= r.num_half_edges() || r.tail(h) != v) {
        throw std::invalid_argument("half-edge " + std::to_string(h) +
                                    " stands in the rotation of vertex " + std::to_string(v) +
                                    " but does not leave it");
      }
      if (next[h] >= 0) {
        throw std::invalid_argument("half-edge " + std::to_string(h) +
                                    " stands twice in the rotation of vertex " +
                                    std::to_string(v));
      }
      next[h] = r.rotation[k == begin ? end - 1 : k - 1];
    }
  }
  return next;
}

}  // namespace

Faces trace_faces(const RotationView& r) {
  const int32_t half_edges = r.num_half_edges();
  const std::vector<int32_t> next = clockwise_next(r);
  Faces faces;
  faces.face_of.assign(half_edges, -1);
  faces.walk.reserve(half_edges);
  faces.offsets.push_back(0);
  for (int32_t start = 0; start < half_edges; ++start) {
    if (faces.face_of[start] >= 0) continue;
    const auto face = static_cast<int32_t>(faces.offsets.size()) - 1;
    for (int32_t h = start; faces.face_of[h] < 0; h = next[h ^ 1]) {
      faces.face_of[h] = face;
      faces.walk.push_back(h);
    }
    faces.offsets.push_back(static_cast<int32_t>(faces.walk.size()));
  }
  return faces;
}

std::vector<double> face_centres(std::span<const int32_t> edges, std::span<const int32_t> walk,
                                 std::span<const int32_t> offsets,
                                 std::span<const double> positions) {
  std::vector<double> centres(offsets.empty() ? 0 : 2 * (offsets.size() - 1), 0.0);
  for (size_t f = 0; 2 * f < centres.size(); ++f) {
    double x = 0.0, y = 0.0, count = 0.0;
    for (int32_t k = offsets[f]; k < offsets[f + 1]; ++k) {
      const double* at = positions.data() + 2 * size_t(edges[walk[k]]);
      if (!std::isfinite(at[0]) || !std::isfinite(at[1])) continue;
      x += at[0];
      y += at[1];
      count += 1.0;
    }
    if (count == 0.0) continue;
    centres[2 * f] = x / count;
    centres[2 * f + 1] = y / count;
  }
  return centres;
}

std::vector<int32_t> connected_components(int32_t num_vertices, std::span<const int32_t> edges) {
  require_vertices(num_vertices, edges);
  std::vector<int32_t> parent(num_vertices);
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&parent](int32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (size_t k = 0; k + 1 < edges.size(); k += 2) {
    const int32_t a = find(edges[k]), b = find(edges[k + 1]);
    if (a < b) parent[b] = a; else parent[a] = b;
  }
  // Roots are the smallest vertex of their component, so they come first.
  int32_t count = 0;
  std::vector<int32_t> component(num_vertices);
  for (int32_t v = 0; v < num_vertices; ++v) {
    const int32_t root = find(v);
    component[v] = root == v ? count++ : component[root];
  }
  return component;
}

}  // namespace planaris
