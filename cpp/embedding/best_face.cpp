#include "embedding/best_face.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/grouping.hpp"
#include "graph/biconnected.hpp"

namespace planaris {

namespace {

// Faces of every block by itself. A corner is a half-edge; all corners of one block at one
// vertex share a spot.
struct BlockFaces {
  Blocks blocks;
  std::vector<int32_t> face_of;      // of each half-edge, in its block
  std::vector<int32_t> spot_of;      // of each half-edge: (block, vertex) pairs, numbered
  std::vector<int32_t> spot_degree;  // edges of the block at the vertex
  std::vector<int32_t> walk, offsets, block_of_face;
};

// Links every half-edge with the one clockwise before it in the same block.
std::vector<int32_t> clockwise_in_block(const RotationView& r, BlockFaces& faces) {
  std::vector<int32_t> clockwise(r.num_half_edges());
  std::vector<int32_t> first(faces.blocks.count, -1), last(faces.blocks.count, -1);
  faces.spot_of.resize(r.num_half_edges());
  for (int32_t v = 0; v < r.num_vertices(); ++v) {
    for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
      const int32_t h = r.rotation[k], block = faces.blocks.component_of[h >> 1];
      if (first[block] < 0) {
        first[block] = h;
        faces.spot_of[h] = static_cast<int32_t>(faces.spot_degree.size());
        faces.spot_degree.push_back(0);
      } else {
        clockwise[h] = last[block];
        faces.spot_of[h] = faces.spot_of[first[block]];
      }
      ++faces.spot_degree[faces.spot_of[h]];
      last[block] = h;
    }
    for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
      const int32_t block = faces.blocks.component_of[r.rotation[k] >> 1];
      if (first[block] < 0) continue;
      clockwise[first[block]] = last[block];
      first[block] = -1;
    }
  }
  return clockwise;
}

BlockFaces trace_block_faces(const RotationView& r) {
  BlockFaces faces;
  Control control;
  faces.blocks = biconnected_components(r.num_vertices(), r.edges, control);
  const std::vector<int32_t> clockwise = clockwise_in_block(r, faces);
  faces.face_of.assign(r.num_half_edges(), -1);
  faces.offsets.push_back(0);
  for (int32_t start = 0; start < r.num_half_edges(); ++start) {
    if (faces.face_of[start] >= 0) continue;
    for (int32_t h = start; faces.face_of[h] < 0; h = clockwise[h ^ 1]) {
      faces.face_of[h] = static_cast<int32_t>(faces.block_of_face.size());
      faces.walk.push_back(h);
    }
    faces.block_of_face.push_back(faces.blocks.component_of[start >> 1]);
    faces.offsets.push_back(static_cast<int32_t>(faces.walk.size()));
  }
  return faces;
}

// A block is embedded in one way only iff two of its faces meet at two vertices of degree
// three or more only where they share an edge or a path: any other closed curve through two
// faces and two vertices cuts off a part that can be reflected or moved. Such curves are the
// 4-cycles of the vertex-face graph, counted as in Chiba and Nishizeki (1985): linear time,
// because the graph is planar.
std::vector<uint8_t> unique_blocks(const BlockFaces& faces) {
  const auto num_spots = static_cast<int32_t>(faces.spot_degree.size());
  const auto num_faces = static_cast<int32_t>(faces.block_of_face.size());
  const int32_t num_nodes = num_spots + num_faces;
  std::vector<int32_t> first(num_nodes + 1, 0), block_of(num_nodes, 0);
  std::vector<int64_t> excess(faces.blocks.count, 0);  // twice (curves - edges)
  const auto for_each_corner = [&faces](auto&& use) {
    for (size_t h = 0; h < faces.face_of.size(); ++h) {
      const int32_t spot = faces.spot_of[h];
      if (faces.spot_degree[spot] > 2) use(spot, faces.face_of[h]);
    }
  };
  for_each_corner([&](int32_t spot, int32_t face) {
    ++first[spot + 1];
    ++first[num_spots + face + 1];
    block_of[spot] = faces.block_of_face[face];
    --excess[faces.block_of_face[face]];  // as many corners as ends of paths
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int32_t> place(first.begin(), first.end() - 1), around(first.back());
  for_each_corner([&](int32_t spot, int32_t face) {
    around[place[spot]++] = num_spots + face;
    around[place[num_spots + face]++] = spot;
  });
  for (int32_t f = 0; f < num_faces; ++f) block_of[num_spots + f] = faces.block_of_face[f];

  std::vector<int32_t> order(num_nodes), count(num_nodes, 0), touched;
  std::iota(order.begin(), order.end(), 0);
  const auto degree = [&first](int32_t a) { return first[a + 1] - first[a]; };
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return degree(a) > degree(b); });
  std::vector<uint8_t> done(num_nodes, 0);
  for (const int32_t a : order) {
    for (int32_t i = first[a]; i < first[a + 1]; ++i) {
      const int32_t b = around[i];
      if (done[b]) continue;
      for (int32_t j = first[b]; j < first[b + 1]; ++j) {
        const int32_t c = around[j];
        if (c != a && !done[c] && count[c]++ == 0) touched.push_back(c);
      }
    }
    for (const int32_t c : touched) {
      excess[block_of[a]] += static_cast<int64_t>(count[c]) * (count[c] - 1);
      count[c] = 0;
    }
    touched.clear();
    done[a] = 1;
  }
  std::vector<uint8_t> unique(faces.blocks.count);
  for (int32_t b = 0; b < faces.blocks.count; ++b) unique[b] = excess[b] <= 0;
  return unique;
}

// Blocks are met from the leaves up. hanging[v]: the most that blocks below v can add to a
// face through v. A best face has a topmost block or a topmost vertex.
class Heaviest {
 public:
  Heaviest(const RotationView& r, const BlockFaces& faces, std::span<const double> weights)
      : r_(r), faces_(faces), total_(weights.begin(), weights.end()),
        component_(connected_components(r.num_vertices(), r.edges)) {
    group_faces();
    best_through_top_.resize(faces.blocks.count, -1);
    int32_t num_components = 0;
    for (const int32_t c : component_) num_components = std::max(num_components, c + 1);
    best_.resize(num_components);
  }

  std::vector<uint8_t> choose() {
    for (int32_t b = 0; b < faces_.blocks.count; ++b) add_block(b);
    for (int32_t v = 0; v < r_.num_vertices(); ++v) {
      Best& best = best_[component_[v]];
      if (total_[v] > best.value) best = {total_[v], -1, v};
    }
    return collect();
  }

  const std::vector<int32_t>& component() const { return component_; }

 private:
  struct Best {
    double value = -1.0;
    int32_t face = -1, vertex = -1;
  };

  void group_faces() {
    auto [first, face] = group_by_key(faces_.blocks.count, faces_.block_of_face);
    first_face_ = std::move(first), face_ = std::move(face);
  }

  void add_block(int32_t b) {
    const int32_t top = faces_.blocks.top[b];
    Best& best = best_[component_[top]];
    double most = -1.0;
    for (int32_t k = first_face_[b]; k < first_face_[b + 1]; ++k) {
      double sum = 0.0;
      bool through_top = false;
      for (int32_t i = faces_.offsets[face_[k]]; i < faces_.offsets[face_[k] + 1]; ++i) {
        const int32_t v = r_.tail(faces_.walk[i]);
        if (v == top)
          through_top = true;
        else
          sum += total_[v];
      }
      if (through_top) {
        if (sum > most) most = sum, best_through_top_[b] = face_[k];
      } else if (sum > best.value) {
        best = {sum, face_[k], -1};
      }
    }
    total_[top] += most;
  }

  // Lists the vertices of the best faces, going down into hanging blocks.
  std::vector<uint8_t> collect() const {
    const auto [first, hanging] = group_by_key(r_.num_vertices(), faces_.blocks.top);
    std::vector<uint8_t> chosen(r_.num_vertices(), 0);
    std::vector<int32_t> stack;
    const auto reach = [&](int32_t v) {
      if (!chosen[v]) chosen[v] = 1, stack.push_back(v);
    };
    const auto reach_face = [&](int32_t face) {
      for (int32_t i = faces_.offsets[face]; i < faces_.offsets[face + 1]; ++i) {
        reach(r_.tail(faces_.walk[i]));
      }
    };
    for (const Best& best : best_) {
      if (best.vertex >= 0)
        reach(best.vertex);
      else
        reach_face(best.face);
    }
    while (!stack.empty()) {
      const int32_t v = stack.back();
      stack.pop_back();
      for (int32_t k = first[v]; k < first[v + 1]; ++k) reach_face(best_through_top_[hanging[k]]);
    }
    return chosen;
  }

  const RotationView& r_;
  const BlockFaces& faces_;
  std::vector<double> total_;
  std::vector<int32_t> component_, first_face_, face_, best_through_top_;
  std::vector<Best> best_;
};

}  // namespace

BestFace find_best_faces(const RotationView& r, std::span<const double> weights) {
  if (weights.size() != static_cast<size_t>(r.num_vertices())) {
    throw std::invalid_argument("one weight per vertex is needed");
  }
  trace_faces(r);  // refuses what is no rotation
  const BlockFaces faces = trace_block_faces(r);
  const std::vector<uint8_t> unique = unique_blocks(faces);
  Heaviest heaviest(r, faces, weights);
  BestFace best;
  best.chosen = heaviest.choose();
  for (const int32_t c : heaviest.component()) {
    if (c == static_cast<int32_t>(best.is_unique.size())) best.is_unique.push_back(1);
  }
  for (int32_t b = 0; b < faces.blocks.count; ++b) {
    if (!unique[b]) best.is_unique[heaviest.component()[faces.blocks.top[b]]] = 0;
  }
  return best;
}

}  // namespace planaris
