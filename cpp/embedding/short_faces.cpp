#include "embedding/short_faces.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/grouping.hpp"

namespace planaris {

namespace {

constexpr int64_t kMaxWork = 400;      // paths of three edges per edge, before it is given up
constexpr int32_t kMaxCandidates = 8;  // cycles per edge

struct Cycle {
  std::array<int32_t, 4> half{-1, -1, -1, -1};  // half-edges in the order of the cycle
  int32_t length = 0;
};

class FaceSearch {
 public:
  FaceSearch(int32_t num_vertices, std::span<const int32_t> edges, Control& control)
      : n_(num_vertices), edges_(edges), control_(control) {}

  ShortFaces run() {
    ShortFaces result;
    if (!list_neighbours() || !find_cycles() || !choose_faces() || !orient() || !join(result)) {
      return {};
    }
    result.found = true;
    return result;
  }

 private:
  int32_t n_;
  std::span<const int32_t> edges_;
  Control& control_;
  std::vector<int32_t> begin_, around_;  // half-edges that leave each vertex
  std::vector<int32_t> mark_;            // half-edge to a neighbour of the vertex looked at, or -1
  std::vector<Cycle> cycles_;
  std::vector<std::vector<int32_t>> at_edge_;  // cycles of each edge
  std::vector<int8_t> chosen_;                 // of each cycle: 1 a face, 0 undecided, -1 not one
  std::vector<int8_t> turned_;                 // 1: the face is walked backwards

  int32_t tail(int32_t half) const { return edges_[half]; }
  int32_t head(int32_t half) const { return edges_[half ^ 1]; }
  int32_t num_edges() const { return static_cast<int32_t>(edges_.size() / 2); }

  bool list_neighbours() {
    auto [begin, around] = group_by_key(n_, edges_);
    begin_ = std::move(begin), around_ = std::move(around);
    mark_.assign(n_, -1);
    int64_t work = 0;
    for (int32_t v = 0; v < n_; ++v) {
      control_.spend(8);
      bool simple = true;
      for_each(v, [&](int32_t h) {
        simple = simple && head(h) != v && mark_[head(h)] < 0;
        mark_[head(h)] = h;
      });
      for_each(v, [&](int32_t h) { mark_[head(h)] = -1; });
      if (!simple) return false;
      const int64_t degree = begin_[v + 1] - begin_[v];
      work += degree * degree * degree;
    }
    return work <= kMaxWork * static_cast<int64_t>(num_edges());
  }

  template <class Visit>
  void for_each(int32_t v, Visit visit) const {
    for (int32_t k = begin_[v]; k < begin_[v + 1]; ++k) visit(around_[k]);
  }

  // Triangles and chordless cycles of four edges, each from its least vertex.
  bool find_cycles() {
    at_edge_.assign(num_edges(), {});
    std::vector<int32_t> hop(n_, -1);  // half-edge from b to its neighbours
    for (int32_t u = 0; u < n_; ++u) {
      control_.spend(8);
      for_each(u, [&](int32_t h) { mark_[head(h)] = h; });
      for (int32_t k = begin_[u]; k < begin_[u + 1]; ++k) {
        const int32_t first = around_[k], a = head(first);
        if (a < u) continue;
        for_each(a, [&](int32_t h) { hop[head(h)] = h; });
        for (int32_t l = k + 1; l < begin_[u + 1]; ++l) {
          const int32_t last = around_[l] ^ 1, b = tail(last);
          if (b < u) continue;
          if (hop[b] >= 0) {
            add({{first, hop[b], last, -1}, 3});
            continue;
          }
          for_each(b, [&](int32_t h) {
            const int32_t w = head(h);
            if (w > u && mark_[w] < 0 && hop[w] >= 0) add({{first, hop[w], h ^ 1, last}, 4});
          });
        }
        for_each(a, [&](int32_t h) { hop[head(h)] = -1; });
      }
      for_each(u, [&](int32_t h) { mark_[head(h)] = -1; });
      if (cycles_.size() > static_cast<size_t>(kMaxCandidates) * num_edges()) return false;
    }
    return !cycles_.empty();
  }

  void add(const Cycle& cycle) {
    for (int32_t k = 0; k < cycle.length; ++k) {
      at_edge_[cycle.half[k] >> 1].push_back(static_cast<int32_t>(cycles_.size()));
    }
    cycles_.push_back(cycle);
  }

  // Two cycles at an edge are its faces; others at an edge that has its two faces are not.
  bool choose_faces() {
    chosen_.assign(cycles_.size(), 0);
    std::vector<int32_t> faces(num_edges(), 0), left(num_edges());
    std::vector<int32_t> queue;
    for (int32_t e = 0; e < num_edges(); ++e) {
      left[e] = static_cast<int32_t>(at_edge_[e].size());
      if (left[e] <= 2) queue.push_back(e);
    }
    const auto choose = [&](int32_t c) {
      chosen_[c] = 1;
      for (int32_t k = 0; k < cycles_[c].length; ++k) {
        const int32_t e = cycles_[c].half[k] >> 1;
        if (++faces[e] >= 2) queue.push_back(e);
      }
    };
    const auto drop = [&](int32_t c) {
      chosen_[c] = -1;
      for (int32_t k = 0; k < cycles_[c].length; ++k) {
        const int32_t e = cycles_[c].half[k] >> 1;
        if (--left[e] == 2) queue.push_back(e);
      }
    };
    // Edges with two cycles go first; one cycle alone may be a false one at a hole.
    std::stable_partition(queue.begin(), queue.end(), [&](int32_t e) { return left[e] < 2; });
    while (!queue.empty()) {
      control_.spend(8);
      const int32_t e = queue.back();
      queue.pop_back();
      for (const int32_t c : at_edge_[e]) {
        if (chosen_[c] != 0) continue;
        if (faces[e] >= 2) {
          drop(c);
        } else if (left[e] <= 2) {
          choose(c);
        }
      }
    }
    const bool decided = std::find(chosen_.begin(), chosen_.end(), 0) == chosen_.end();
    return decided && *std::max_element(faces.begin(), faces.end()) <= 2;
  }

  // Faces on both sides of an edge walk along it in opposite directions.
  bool orient() {
    turned_.assign(cycles_.size(), -1);
    std::vector<int32_t> stack;
    for (int32_t start = 0; start < static_cast<int32_t>(cycles_.size()); ++start) {
      if (chosen_[start] != 1 || turned_[start] >= 0) continue;
      turned_[start] = 0;
      stack.push_back(start);
      while (!stack.empty()) {
        control_.spend(8);
        const int32_t c = stack.back();
        stack.pop_back();
        for (int32_t k = 0; k < cycles_[c].length; ++k) {
          const int32_t half = cycles_[c].half[k];
          for (const int32_t d : at_edge_[half >> 1]) {
            if (d == c || chosen_[d] != 1) continue;
            const auto& theirs = cycles_[d].half;
            const bool same = std::find(theirs.begin(), theirs.end(), half) != theirs.end();
            const auto wanted = static_cast<int8_t>(same ? 1 - turned_[c] : turned_[c]);
            if (turned_[d] < 0) {
              turned_[d] = wanted;
              stack.push_back(d);
            } else if (turned_[d] != wanted) {
              return false;
            }
          }
        }
      }
    }
    return true;
  }

  // A face that comes in by u -> v and leaves by v -> w lies between v -> w and, counter-clockwise
  // next, v -> u.
  bool join(ShortFaces& result) {
    std::vector<int32_t> next(edges_.size(), -1), before(edges_.size(), -1);
    for (size_t c = 0; c < cycles_.size(); ++c) {
      control_.spend(8);
      if (chosen_[c] != 1) continue;
      const Cycle& cycle = cycles_[c];
      for (int32_t k = 0; k < cycle.length; ++k) {
        int32_t in = cycle.half[k], out = cycle.half[(k + 1) % cycle.length];
        if (turned_[c] == 1) std::tie(in, out) = std::pair(out ^ 1, in ^ 1);
        if (next[out] >= 0 || before[in ^ 1] >= 0) return false;
        next[out] = in ^ 1;
        before[in ^ 1] = out;
      }
    }
    return list_rotation(next, before, result);
  }

  bool list_rotation(const std::vector<int32_t>& next, const std::vector<int32_t>& before,
                     ShortFaces& result) {
    std::vector<int8_t> closed(n_, 0), out(num_edges(), 0), seen(edges_.size(), 0);
    // A cycle of corners closes up its vertex: other edges there have no place.
    for (int32_t v = 0; v < n_; ++v) {
      control_.spend(8);
      for (int32_t k = begin_[v]; k < begin_[v + 1]; ++k) {
        if (seen[around_[k]] || before[around_[k]] < 0) continue;
        int32_t h = around_[k];
        while (h >= 0 && !seen[h]) seen[h] = 1, h = next[h];
        if (h == around_[k]) {
          if (closed[v]) return false;  // two sheets that touch in one vertex
          closed[v] = 1;
        }
      }
      if (!closed[v]) continue;
      for_each(v, [&](int32_t h) {
        if (next[h] < 0 && before[h] < 0) out[h >> 1] = 1;
      });
    }
    result.offsets.assign(1, 0);
    std::fill(seen.begin(), seen.end(), 0);
    for (int32_t v = 0; v < n_; ++v) {
      control_.spend(8);
      const size_t first = result.rotation.size();
      size_t kept = 0;
      const auto walk = [&](int32_t h) {
        for (; h >= 0 && !seen[h]; h = next[h]) {
          seen[h] = 1;
          result.rotation.push_back(h);
        }
      };
      for_each(v, [&](int32_t h) {
        kept += !out[h >> 1];
        if (!out[h >> 1] && (before[h] < 0 || closed[v])) walk(h);
      });
      if (result.rotation.size() - first != kept) return false;
      result.offsets.push_back(static_cast<int32_t>(result.rotation.size()));
    }
    for (int32_t e = 0; e < num_edges(); ++e) {
      if (out[e]) result.left_out.push_back(e);
    }
    return true;
  }
};

}  // namespace

ShortFaces embed_by_short_faces(int32_t num_vertices, std::span<const int32_t> edges,
                                Control& control) {
  return FaceSearch(num_vertices, edges, control).run();
}

}  // namespace planaris
