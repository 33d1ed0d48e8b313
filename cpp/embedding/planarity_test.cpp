#include "embedding/planarity.hpp"

#include <algorithm>
#include <random>

#include "embedding/best_face.hpp"
#include "embedding/chords.hpp"
#include "embedding/embedding.hpp"
#include "embedding/kuratowski.hpp"
#include "graph/biconnected.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

static std::vector<int32_t> complete(int32_t n) {
  std::vector<int32_t> edges;
  for (int32_t u = 0; u < n; ++u) {
    for (int32_t v = 0; v < u; ++v) edges.insert(edges.end(), {u, v});
  }
  return edges;
}

static std::vector<int32_t> k33() {
  std::vector<int32_t> edges;
  for (int32_t u = 0; u < 3; ++u) {
    for (int32_t v = 3; v < 6; ++v) edges.insert(edges.end(), {u, v});
  }
  return edges;
}

static int32_t num_faces(int32_t n, const std::vector<int32_t>& edges) {
  Control control;
  LeftRight test(n, edges, control);
  CHECK(test.test());
  const std::vector<int32_t> rotation = test.rotation();
  const std::vector<int32_t> offsets = std::move(test).offsets();
  return static_cast<int32_t>(trace_faces({edges, rotation, offsets}).offsets.size()) - 1;
}

TEST_CASE("planar graphs get a plane rotation") {
  CHECK(num_faces(0, {}) == 0);
  CHECK(num_faces(1, {}) == 0);
  CHECK(num_faces(2, {0, 1}) == 1);
  CHECK(num_faces(2, {0, 1, 1, 0, 0, 1}) == 3);
  CHECK(num_faces(4, complete(4)) == 4);
}

TEST_CASE("k5 and k33 are found") {
  Control control;
  std::vector<int32_t> edges = complete(5);
  CHECK(!LeftRight(5, edges, control).test());
  CHECK(find_kuratowski(5, edges, control).is_k5);
  CHECK(find_kuratowski(5, edges, control).edges.size() == 10);
  edges = k33();
  CHECK(!find_kuratowski(6, edges, control).is_k5);
  CHECK(find_kuratowski(6, edges, control).edges.size() == 9);
  CHECK(find_kuratowski(4, complete(4), control).edges.empty());
  CHECK(find_kuratowski(40, complete(40), control).edges.size() >= 9);
}

// Random graphs around the threshold: Euler's formula or a small proof.
TEST_CASE("random graphs are decided") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const int32_t n = 2 + static_cast<int32_t>(random() % 12);
    std::vector<int32_t> edges;
    for (uint32_t k = random() % (2 * n + 2); k > 0; --k) {
      const auto u = static_cast<int32_t>(random() % n), v = static_cast<int32_t>(random() % n);
      if (u != v) edges.insert(edges.end(), {u, v});
    }
    Control control;
    if (!LeftRight(n, edges, control).test()) {
      CHECK(find_kuratowski(n, edges, control).edges.size() >= 9);
      continue;
    }
    LeftRight test(n, edges, control);
    CHECK(test.test());
    const std::vector<int32_t> rotation = test.rotation();
    const std::vector<int32_t> offsets = std::move(test).offsets();
    const RotationView view{edges, rotation, offsets};
    const Faces faces = trace_faces(view);
    int32_t components = 0, isolated = 0;
    for (const int32_t c : connected_components(n, edges)) components = std::max(components, c + 1);
    for (int32_t v = 0; v < n; ++v) isolated += offsets[v] == offsets[v + 1];
    const auto count = static_cast<int32_t>(faces.offsets.size()) - 1 + isolated;
    CHECK(n - static_cast<int32_t>(edges.size() / 2) + count == 2 * components);
    const Split split = split_faces(view, 3 + trial % 5, control);
    std::vector<int32_t> all(edges);
    all.insert(all.end(), split.chords.begin(), split.chords.end());
    const Faces parts = trace_faces({all, split.rotation, split.offsets});
    for (size_t f = 0; f + 1 < parts.offsets.size(); ++f) {
      CHECK(parts.offsets[f + 1] - parts.offsets[f] <= 3 + trial % 5);
    }
    CHECK(parts.offsets.size() == faces.offsets.size() + split.chords.size() / 2);
    std::vector<double> weights(n);
    for (double& w : weights) w = static_cast<double>(random() % 5);
    const BestFace best = find_best_faces(view, weights);
    double chosen = 0.0, face = 0.0;  // at least as heavy as any face of this embedding
    for (int32_t v = 0; v < n; ++v) chosen += best.chosen[v] * weights[v];
    for (size_t f = 0; f + 1 < faces.offsets.size(); ++f) {
      std::vector<uint8_t> met(n, 0);
      double sum = 0.0;
      for (int32_t k = faces.offsets[f]; k < faces.offsets[f + 1]; ++k) {
        const int32_t v = view.tail(faces.walk[k]);
        if (!met[v]) sum += weights[v];
        met[v] = 1;
      }
      face = std::max(face, sum);
    }
    CHECK(chosen >= face);
    CHECK(static_cast<int32_t>(best.is_unique.size()) == components);
  }
}

TEST_CASE("a long path needs no stack") {
  std::vector<int32_t> edges;
  for (int32_t v = 0; v < 200000; ++v) edges.insert(edges.end(), {v, v + 1});
  CHECK(num_faces(200001, edges) == 1);
  Control control;
  CHECK(biconnected_components(200001, edges, control).count == 200000);
}
