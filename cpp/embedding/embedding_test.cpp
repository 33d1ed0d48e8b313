#include "embedding/embedding.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("a triangle has two faces") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<int32_t> rotation{0, 5, 2, 1, 4, 3}, offsets{0, 2, 4, 6};
  const Faces faces = trace_faces({edges, rotation, offsets});
  CHECK(faces.offsets.size() == 3);
  CHECK(faces.offsets[1] == 3);
}

TEST_CASE("a repeated half edge is refused") {
  const std::vector<int32_t> edges{0, 1}, rotation{0, 0}, offsets{0, 2, 2};
  CHECK_THROWS_AS(trace_faces({edges, rotation, offsets}), std::invalid_argument);
}

TEST_CASE("components are numbered by first vertex") {
  const std::vector<int32_t> edges{4, 2, 1, 3};
  const std::vector<int32_t> expected{0, 1, 2, 1, 2};
  CHECK(connected_components(5, edges) == expected);
}

namespace {

// A rotation system of any graph: the half-edges of each vertex in a random order.
struct RandomRotation {
  std::vector<int32_t> edges, rotation, offsets;

  RandomRotation(int32_t n, std::vector<int32_t> given, uint32_t seed) : edges(std::move(given)) {
    std::vector<std::vector<int32_t>> around(n);
    for (size_t h = 0; h < edges.size(); ++h) around[edges[h]].push_back(int32_t(h));
    std::mt19937 rng(seed);
    offsets.push_back(0);
    for (auto& list : around) {
      std::shuffle(list.begin(), list.end(), rng);
      rotation.insert(rotation.end(), list.begin(), list.end());
      offsets.push_back(int32_t(rotation.size()));
    }
  }
  RotationView view() const { return {edges, rotation, offsets}; }
};

bool same(const Faces& a, const Faces& b) {
  return a.face_of == b.face_of && a.walk == b.walk && a.offsets == b.offsets;
}

// Graphs with isolated vertices, several components, parallel edges and bridges.
std::vector<int32_t> random_edges(int32_t n, int32_t count, int32_t reach, std::mt19937& rng) {
  std::vector<int32_t> edges;
  for (int32_t e = 0; e < count; ++e) {
    const auto u = int32_t(rng() % uint32_t(n)),
               v = std::min(n - 1, u + 1 + int32_t(rng() % uint32_t(reach)));
    if (u == v) continue;
    for (int copies = rng() % 5 ? 1 : 2; copies > 0; --copies) edges.insert(edges.end(), {v, u});
  }
  return edges;
}

// By definition: faces are orbits, in order of their smallest half-edges.
Faces traced_slowly(const RotationView& r) {
  std::map<int32_t, int32_t> next;
  for (int32_t v = 0; v < r.num_vertices(); ++v) {
    for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
      next[r.rotation[k]] = r.rotation[k > r.offsets[v] ? k - 1 : r.offsets[v + 1] - 1];
    }
  }
  Faces faces;
  faces.face_of.assign(r.edges.size(), -1);
  faces.offsets.push_back(0);
  for (const auto& [start, unused] : next) {
    if (faces.face_of[start] >= 0) continue;
    int32_t h = start;
    do {
      faces.face_of[h] = int32_t(faces.offsets.size()) - 1;
      faces.walk.push_back(h);
      h = next[h ^ 1];
    } while (h != start);
    faces.offsets.push_back(int32_t(faces.walk.size()));
  }
  return faces;
}

}  // namespace

TEST_CASE("faces are the same for any number of threads") {
  std::mt19937 rng(5);
  int long_faces = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int32_t n = 1 + int32_t(rng() % 3000), count = int32_t(rng() % uint32_t(2 * n + 1));
    const RandomRotation random(n, random_edges(n, count, trial % 3 ? 3 : n, rng), uint32_t(trial));
    const Faces expected = traced_slowly(random.view());
    CHECK(same(expected, trace_faces(random.view())));
    for (size_t f = 0; f + 1 < expected.offsets.size(); ++f) {
      long_faces += expected.offsets[f + 1] - expected.offsets[f] > 1000;
    }
    for (const int threads : {2, 16}) {
      Control quiet;
      Team team(threads, quiet);
      CHECK(same(expected, trace_faces(random.view(), team, 0)));
    }
  }
  CHECK(long_faces > 5);
}

TEST_CASE("the faces of a lattice are shared among threads") {
  const int32_t columns = 70;
  std::vector<int32_t> edges;
  for (int32_t v = 0; v < columns * columns; ++v) {
    if (v % columns + 1 < columns) edges.insert(edges.end(), {v, v + 1});
  }
  for (int32_t v = 0; v + columns < columns * columns; ++v)
    edges.insert(edges.end(), {v, v + columns});
  std::vector<int32_t> rotation, offsets{0};
  std::map<std::pair<int32_t, int32_t>, int32_t> half;
  for (size_t h = 0; h < edges.size(); ++h) half[{edges[h], edges[h ^ 1]}] = int32_t(h);
  for (int32_t v = 0; v < columns * columns; ++v) {
    for (const int32_t step : {1, columns, -1, -columns}) {
      const auto found = half.find({v, v + step});
      if (found != half.end()) rotation.push_back(found->second);
    }
    offsets.push_back(int32_t(rotation.size()));
  }
  const Faces expected = traced_slowly({edges, rotation, offsets});
  CHECK(expected.offsets.size() == size_t((columns - 1) * (columns - 1) + 2));
  for (const int threads : {1, 2, 3, 16}) {
    Control quiet;
    Team team(threads, quiet);
    CHECK(same(expected, trace_faces({edges, rotation, offsets}, team, 0)));
  }
}

TEST_CASE("flaws of rotations are named alike by any number of threads") {
  std::mt19937 rng(9);
  for (int trial = 0; trial < 200; ++trial) {
    const int32_t n = 2 + int32_t(rng() % 2000);
    RandomRotation random(n, random_edges(n, n, 5, rng), uint32_t(trial));
    if (random.rotation.size() < 4) continue;
    auto& flawed = trial % 2 ? random.rotation : random.offsets;
    flawed[1 + rng() % (flawed.size() - 2)] = int32_t(rng() % 4000) - 1000;
    std::string said[2];
    for (const int threads : {1, 3}) {
      Control quiet;
      Team team(threads, quiet);
      try {
        trace_faces(random.view(), team, 0);
      } catch (const std::invalid_argument& error) {
        said[threads > 1] = error.what();
      }
    }
    CHECK(said[0] == said[1]);
  }
}

TEST_CASE("components are the same for any number of threads") {
  std::mt19937 rng(6);
  for (int trial = 0; trial < 40; ++trial) {
    const int32_t n = 1 + int32_t(rng() % 20000), count = int32_t(rng() % uint32_t(n + 1));
    const std::vector<int32_t> edges = random_edges(n, count, trial % 2 ? 2 : n, rng);
    const std::vector<int32_t> expected = connected_components(n, edges);
    for (const int threads : {2, 4, 16}) {
      Control quiet;
      Team team(threads, quiet);
      CHECK(connected_components(n, edges, team) == expected);
    }
  }
  Control quiet;
  Team team(4, quiet);
  std::vector<int32_t> wrong(20000, 0);
  wrong[12345] = 7;
  CHECK_THROWS_AS(connected_components(5, wrong, team), std::invalid_argument);
}
