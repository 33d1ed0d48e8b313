#include "embedding/embedding.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "graph/biconnected.hpp"
#include "graph/shared_forest.hpp"

namespace planaris {

namespace {

// Refuses what is no permutation of the half-edges grouped by tail; called where something is
// wrong.
[[noreturn]] void refuse(const RotationView& r) {
  std::vector<uint8_t> seen(r.num_half_edges(), 0);
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
      if (seen[h]++) {
        throw std::invalid_argument("half-edge " + std::to_string(h) +
                                    " stands twice in the rotation of vertex " + std::to_string(v));
      }
    }
  }
  throw std::logic_error("a rotation was refused that is right");
}

constexpr double kNanoseconds = 5.0;  // for a half-edge, about

// next[h]: the half-edge clockwise after h around its tail. Only its tail's turn writes it.
UnwrittenVector<int32_t> clockwise_next(const RotationView& r, Team& team) {
  if (r.rotation.size() != r.edges.size() || r.offsets.empty() || r.offsets.front() != 0 ||
      r.offsets.back() != r.num_half_edges()) {
    throw std::invalid_argument("offsets must run from 0 to the number of half-edges");
  }
  const int32_t half_edges = r.num_half_edges();
  const int parts = Team::parts(kNanoseconds * half_edges);
  UnwrittenVector<int32_t> next(half_edges);
  team.split(half_edges, parts, [&](int64_t low, int64_t high, int) {
    std::fill(next.begin() + low, next.begin() + high, -1);
  });
  const auto turn = [&](int32_t v) {
    const int32_t begin = r.offsets[v], end = r.offsets[v + 1];
    if (begin < 0 || end < begin || end > half_edges) return false;
    for (int32_t k = begin; k < end; ++k) {
      const int32_t h = r.rotation[k];
      if (h < 0 || h >= half_edges || r.tail(h) != v || next[h] != -1) return false;
      next[h] = k == begin ? r.rotation[end - 1] : r.rotation[k - 1];
      if (next[h] == -1) return false;
    }
    return true;
  };
  std::atomic<bool> good{true};
  team.split(r.num_vertices(), parts, [&](int64_t low, int64_t high, int) {
    for (int64_t v = low; v < high; ++v) {
      if (!turn(int32_t(v))) good = false;
    }
  });
  if (!good) refuse(r);
  return next;
}

class FaceTracer {
 public:
  FaceTracer(const RotationView& r, Team& team)
      : half_edges_(r.num_half_edges()), next_(clockwise_next(r, team)), team_(team) {
    faces_.face_of.resize(half_edges_);
    team.split(half_edges_, Team::parts(double(half_edges_)), [&](int64_t low, int64_t high, int) {
      std::fill(faces_.face_of.begin() + low, faces_.face_of.begin() + high, kNew);
    });
  }

  Faces trace_alone() {
    faces_.walk.reserve(half_edges_);
    faces_.offsets.push_back(0);
    for (int32_t start = 0; start < half_edges_; ++start) {
      if (faces_.face_of[start] >= 0) continue;
      const auto face = static_cast<int32_t>(faces_.offsets.size()) - 1;
      for (int32_t h = start; faces_.face_of[h] < 0; h = next_[h ^ 1]) {
        faces_.face_of[h] = face;
        faces_.walk.push_back(h);
      }
      faces_.offsets.push_back(static_cast<int32_t>(faces_.walk.size()));
    }
    return std::move(faces_);
  }

  // Parts of the half-edges find the faces whose smallest half-edge they hold; then every face is
  // walked once more, to write it where it belongs.
  Faces trace_together() {
    const int parts = 4 * team_.threads();
    std::vector<std::vector<Start>> found(parts);
    std::atomic<bool> good{true};
    team_.work(size_t(parts), [&](int worker, int p) {
      team_.check(worker);
      if (!good) return;
      const int64_t low = int64_t(half_edges_) * p / parts,
                    high = int64_t(half_edges_) * (p + 1) / parts;
      if (!find_starts(int32_t(low), int32_t(high), found[p])) good = false;
    });
    if (!good) return trace_alone();  // long faces: each part would walk them
    std::vector<int32_t> first(size_t(parts) + 1, 0), place(size_t(parts) + 1, 0);
    for (int p = 0; p < parts; ++p) {
      first[p + 1] = first[p] + static_cast<int32_t>(found[p].size());
      place[p + 1] = place[p];
      for (const Start& start : found[p]) place[p + 1] += start.length;
    }
    faces_.walk.resize(half_edges_);
    faces_.offsets.resize(size_t(first[parts]) + 1);
    faces_.offsets[first[parts]] = half_edges_;
    // Most of the smallest half-edges may lie in few parts, so each is cut into shares.
    constexpr int32_t kShare = 1 << 14;
    struct Share {
      int part;
      size_t begin;
      int32_t place;
    };
    std::vector<Share> shares;
    for (int p = 0; p < parts; ++p) {
      int32_t at = place[p];
      for (size_t k = 0; k < found[p].size(); ++k) {
        if (k % kShare == 0) shares.push_back({p, k, at});
        at += found[p][k].length;
      }
    }
    team_.work(shares.size(), [&](int worker, int k) {
      team_.check(worker);
      auto [part, begin, at] = shares[k];
      const size_t end = std::min(begin + kShare, found[part].size());
      for (size_t i = begin; i < end; ++i) {
        const auto face = first[part] + static_cast<int32_t>(i);
        faces_.offsets[face] = at;
        int32_t h = found[part][i].half_edge;
        for (int32_t left = found[part][i].length; left > 0; --left, h = next_[h ^ 1]) {
          faces_.face_of[h] = face;
          faces_.walk[at++] = h;
        }
      }
    });
    return std::move(faces_);
  }

 private:
  static constexpr int32_t kNew = -1, kSeen = -2;
  struct Start {
    int32_t half_edge, length;  // the smallest one of a face, and how many it has
  };

  // Of [low, high). Gives up, with false, after too many steps outside.
  bool find_starts(int32_t low, int32_t high, std::vector<Start>& found) {
    const int64_t limit = 16 * int64_t{high - low};
    int64_t outside = 0;
    for (int32_t start = low; start < high; ++start) {
      if (faces_.face_of[start] == kSeen) continue;
      int32_t h = start, length = 0;
      do {
        if (h >= low && h < high) {
          if (faces_.face_of[h] == kSeen) break;
          faces_.face_of[h] = kSeen;
        } else {
          if (h < low) break;
          if (++outside > limit) return false;
        }
        ++length;
        h = next_[h ^ 1];
      } while (h != start);
      if (h == start) found.push_back({start, length});
    }
    return true;
  }

  int32_t half_edges_;
  UnwrittenVector<int32_t> next_;
  Team& team_;
  Faces faces_;
};

}  // namespace

Faces trace_faces(const RotationView& r) {
  Control quiet;
  Team alone(1, quiet);
  return trace_faces(r, alone);
}

Faces trace_faces(const RotationView& r, Team& team, int32_t least) {
  FaceTracer tracer(r, team);
  return team.threads() == 1 || r.num_half_edges() < least ? tracer.trace_alone()
                                                           : tracer.trace_together();
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
    if (a < b)
      parent[b] = a;
    else
      parent[a] = b;
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

std::vector<int32_t> connected_components(int32_t num_vertices, std::span<const int32_t> edges,
                                          Team& team) {
  const int parts = Team::parts(kNanoseconds * double(edges.size() + size_t(num_vertices)));
  // What threads share takes two to three times as long.
  if (team.threads() < 4 || parts == 1) return connected_components(num_vertices, edges);
  std::atomic<bool> good{true};
  team.split(int64_t(edges.size()), parts, [&](int64_t low, int64_t high, int) {
    bool fine = true;
    for (int64_t k = low; k < high; ++k) fine &= edges[k] >= 0 && edges[k] < num_vertices;
    if (!fine) good = false;
  });
  if (!good) require_vertices(num_vertices, edges);  // throws
  SharedForest forest(num_vertices, team);
  team.split(int64_t(edges.size() / 2), parts, [&](int64_t low, int64_t high, int) {
    for (int64_t e = low; e < high; ++e) forest.join(edges[2 * e], edges[2 * e + 1]);
  });
  std::vector<int32_t> component(num_vertices), roots(size_t(parts) + 1, 0);
  team.split(num_vertices, parts, [&](int64_t low, int64_t high, int part) {
    for (int64_t v = low; v < high; ++v) roots[size_t(part) + 1] += forest.find(int32_t(v)) == v;
  });
  std::partial_sum(roots.begin(), roots.end(), roots.begin());
  team.split(num_vertices, parts, [&](int64_t low, int64_t high, int part) {
    int32_t number = roots[part];
    for (int64_t v = low; v < high; ++v) {
      if (forest.find(int32_t(v)) == v) component[v] = number++;
    }
  });
  team.split(num_vertices, parts, [&](int64_t low, int64_t high, int) {
    for (int64_t v = low; v < high; ++v) {
      const int32_t root = forest.find(int32_t(v));
      if (root != v) component[v] = component[root];
    }
  });
  return component;
}

}  // namespace planaris
