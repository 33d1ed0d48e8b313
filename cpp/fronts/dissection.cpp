#include "fronts/dissection.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/team.hpp"
#include "graph/graph_bisection.hpp"

namespace planaris {

namespace {

constexpr int32_t kWorthATask = 20000;    // faces
constexpr int32_t kLargeGraph = 1 << 17;  // faces above which
constexpr int32_t kSmallPart = 1 << 10;   // parts of so few are cut straight and left at that,
constexpr int32_t kBand = 12;             // and larger ones improved this near to the cut only

// Some faces, as a graph of their own.
struct Part {
  WeightedGraph graph;
  std::vector<int32_t> face;
};

Part whole(const Faces& faces) {
  const auto n = static_cast<int32_t>(faces.offsets.size()) - 1;
  Part part;
  part.face.resize(n);
  std::iota(part.face.begin(), part.face.end(), 0);
  WeightedGraph& g = part.graph;
  g.size.assign(n, 1);
  g.begin.assign(1, 0);
  std::vector<int32_t> slot(n, -1);
  for (int32_t f = 0; f < n; ++f) {
    const int32_t start = g.begin.back();
    for (int32_t k = faces.offsets[f]; k < faces.offsets[f + 1]; ++k) {
      const int32_t other = faces.face_of[faces.walk[k] ^ 1];
      if (other == f) continue;
      if (slot[other] >= start) {
        ++g.weight[slot[other]];
      } else {
        slot[other] = static_cast<int32_t>(g.neighbour.size());
        g.neighbour.push_back(other);
        g.weight.push_back(1);
      }
    }
    g.begin.push_back(static_cast<int32_t>(g.neighbour.size()));
  }
  return part;
}

std::pair<Part, Part> split(const Part& part, const std::vector<uint8_t>& side) {
  Part halves[2];
  const int32_t n = part.graph.count();
  const auto second = static_cast<size_t>(std::count(side.begin(), side.end(), 1));
  for (const int s : {0, 1}) {
    const size_t count = s == 0 ? n - second : second;
    const size_t arcs = part.graph.neighbour.size() * count / std::max(n, 1) + 8;
    halves[s].face.reserve(count);
    halves[s].graph.size.reserve(count);
    halves[s].graph.begin.reserve(count + 1);
    halves[s].graph.neighbour.reserve(arcs);
    halves[s].graph.weight.reserve(arcs);
  }
  std::vector<int32_t> local(n);
  for (int32_t v = 0; v < n; ++v) {
    Part& half = halves[side[v]];
    local[v] = half.graph.count();
    half.graph.size.push_back(part.graph.size[v]);
    half.face.push_back(part.face[v]);
  }
  for (Part& half : halves) half.graph.begin.assign(1, 0);
  for (int32_t v = 0; v < n; ++v) {
    WeightedGraph& g = halves[side[v]].graph;
    for (int32_t k = part.graph.begin[v]; k < part.graph.begin[v + 1]; ++k) {
      const int32_t b = part.graph.neighbour[k];
      if (side[b] != side[v]) continue;
      g.neighbour.push_back(local[b]);
      g.weight.push_back(part.graph.weight[k]);
    }
    g.begin.push_back(static_cast<int32_t>(g.neighbour.size()));
  }
  return {std::move(halves[0]), std::move(halves[1])};
}

void append(Dissection& to, const Dissection& from) {
  const auto faces = static_cast<int32_t>(to.order.size());
  const auto nodes = static_cast<int32_t>(to.range.size());
  to.order.insert(to.order.end(), from.order.begin(), from.order.end());
  for (size_t k = 0; k < from.range.size(); ++k) {
    to.range.push_back({from.range[k].begin + faces, from.range[k].end + faces});
    to.left.push_back(from.left[k] < 0 ? -1 : from.left[k] + nodes);
    to.right.push_back(from.right[k] < 0 ? -1 : from.right[k] + nodes);
  }
}

int32_t add_node(Dissection& d, int32_t begin, int32_t left, int32_t right) {
  d.range.push_back({begin, static_cast<int32_t>(d.order.size())});
  d.left.push_back(left);
  d.right.push_back(right);
  return static_cast<int32_t>(d.range.size()) - 1;
}

// Halves along the longer extent. Ties are broken by the other coordinate, then by number:
// straight cuts, the same on every run.
std::vector<uint8_t> split_straight(const Part& part, std::span<const double> centres) {
  double low[2] = {1e308, 1e308}, high[2] = {-1e308, -1e308};
  for (const int32_t f : part.face) {
    for (int axis = 0; axis < 2; ++axis) {
      low[axis] = std::min(low[axis], centres[2 * f + axis]);
      high[axis] = std::max(high[axis], centres[2 * f + axis]);
    }
  }
  const int axis = high[1] - low[1] > high[0] - low[0] ? 1 : 0;
  std::vector<int32_t> order(part.face.size());
  std::iota(order.begin(), order.end(), 0);
  const auto half = static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), order.begin() + half, order.end(), [&](int32_t i, int32_t j) {
    const int32_t a = part.face[i], b = part.face[j];
    const double pa = centres[2 * a + axis], pb = centres[2 * b + axis];
    if (pa != pb) return pa < pb;
    const double qa = centres[2 * a + 1 - axis], qb = centres[2 * b + 1 - axis];
    return qa != qb ? qa < qb : a < b;
  });
  std::vector<uint8_t> side(order.size(), 0);
  for (auto k = order.begin() + half; k != order.end(); ++k) side[*k] = 1;
  return side;
}

// What lies within kBand steps of the cut, as a graph in which the rest of either side is one
// vertex; empty if that is nearly all.
Part near_cut(const WeightedGraph& graph, const std::vector<uint8_t>& side) {
  const int32_t n = graph.count();
  Part band;
  std::vector<int32_t> local(n, -1);
  const auto take = [&](int32_t v) {
    local[v] = static_cast<int32_t>(band.face.size());
    band.face.push_back(v);
  };
  for (int32_t v = 0; v < n; ++v) {
    for (int32_t k = graph.begin[v]; k < graph.begin[v + 1] && local[v] < 0; ++k) {
      if (side[graph.neighbour[k]] != side[v]) take(v);
    }
  }
  for (size_t begin = 0, step = 0; step < kBand; ++step) {
    const size_t end = band.face.size();
    for (; begin < end; ++begin) {
      const int32_t v = band.face[begin];
      for (int32_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) {
        if (local[graph.neighbour[k]] < 0) take(graph.neighbour[k]);
      }
    }
  }
  const auto count = static_cast<int32_t>(band.face.size());
  if (count > n / 2) return {};
  WeightedGraph& g = band.graph;
  int64_t rest[2] = {0, 0};
  for (int32_t v = 0; v < n; ++v) rest[side[v]] += local[v] < 0 ? graph.size[v] : 0;
  std::vector<int32_t> to_rest(count, 0);
  g.begin.push_back(0);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t v = band.face[i];
    for (int32_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) {
      const int32_t other = local[graph.neighbour[k]];
      if (other < 0) {
        to_rest[i] += graph.weight[k];
      } else {
        g.neighbour.push_back(other);
        g.weight.push_back(graph.weight[k]);
      }
    }
    if (to_rest[i] > 0) {
      g.neighbour.push_back(count + side[v]);
      g.weight.push_back(to_rest[i]);
    }
    g.begin.push_back(static_cast<int32_t>(g.neighbour.size()));
    g.size.push_back(graph.size[v]);
  }
  for (const uint8_t s : {0, 1}) {
    for (int32_t i = 0; i < count; ++i) {
      if (to_rest[i] == 0 || side[band.face[i]] != s) continue;
      g.neighbour.push_back(i);
      g.weight.push_back(to_rest[i]);
    }
    g.begin.push_back(static_cast<int32_t>(g.neighbour.size()));
    g.size.push_back(static_cast<int32_t>(std::max<int64_t>(rest[s], 1)));
  }
  return band;
}

// A straight cut is good already: large graphs are looked at near it only.
void improve_cut(const Part& part, bool near_it, GraphBisection& bisection,
                 std::vector<uint8_t>& side) {
  const Part band = near_it ? near_cut(part.graph, side) : Part{};
  if (band.face.empty()) return bisection.improve(part.graph, side);
  std::vector<uint8_t> inside(band.face.size() + 2);
  for (size_t i = 0; i < band.face.size(); ++i) inside[i] = side[band.face[i]];
  inside[band.face.size() + 1] = 1;
  bisection.improve(band.graph, inside);
  if (inside[band.face.size()] == inside.back()) return;  // the rest of both sides on one
  const uint8_t swapped = inside.back() == 0;
  for (size_t i = 0; i < band.face.size(); ++i) side[band.face[i]] = inside[i] ^ swapped;
}

std::pair<Part, Part> halve(const Part& part, std::span<const double> centres, int32_t num_faces,
                            GraphBisection& bisection) {
  if (centres.empty()) return split(part, bisection.run(part.graph));
  std::vector<uint8_t> side = split_straight(part, centres);
  improve_cut(part, num_faces > kLargeGraph, bisection, side);
  return split(part, side);
}

struct Spot {
  double at[2];
  int32_t face;
};

// On lattices the median runs through a column of equal coordinates: returns a place on either side
// of it, and moves the column there, unless the halves would be too uneven.
size_t between_columns(std::span<Spot> spots, int axis, size_t half) {
  const double column = spots[half].at[axis];
  const auto first =
      std::partition(spots.begin(), spots.begin() + static_cast<std::ptrdiff_t>(half),
                     [&](const Spot& s) { return s.at[axis] < column; });
  const auto last = std::partition(spots.begin() + static_cast<std::ptrdiff_t>(half), spots.end(),
                                   [&](const Spot& s) { return s.at[axis] == column; });
  const auto before = static_cast<size_t>(first - spots.begin());
  const auto after = static_cast<size_t>(last - spots.begin());
  const size_t nearer = half - before <= after - half ? before : after;
  const size_t moved = nearer < half ? half - nearer : nearer - half;
  return 5 * moved <= spots.size() ? nearer : half;
}

// As split_straight, over and over: no graph is needed. As deep as the tree: O(log n).
int32_t dissect_straight(std::span<Spot> spots, int32_t leaf_size, Dissection& d) {
  const auto begin = static_cast<int32_t>(d.order.size());
  if (static_cast<int32_t>(spots.size()) <= leaf_size) {
    for (const Spot& spot : spots) d.order.push_back(spot.face);
    std::sort(d.order.begin() + begin, d.order.end());
    return add_node(d, begin, -1, -1);
  }
  double low[2] = {1e308, 1e308}, high[2] = {-1e308, -1e308};
  for (const Spot& spot : spots) {
    for (int axis = 0; axis < 2; ++axis) {
      low[axis] = std::min(low[axis], spot.at[axis]);
      high[axis] = std::max(high[axis], spot.at[axis]);
    }
  }
  const int axis = high[1] - low[1] > high[0] - low[0] ? 1 : 0;
  size_t half = spots.size() / 2;
  std::nth_element(spots.begin(), spots.begin() + static_cast<std::ptrdiff_t>(half), spots.end(),
                   [axis](const Spot& a, const Spot& b) {
                     return std::tie(a.at[axis], a.at[1 - axis], a.face) <
                            std::tie(b.at[axis], b.at[1 - axis], b.face);
                   });
  half = between_columns(spots, axis, half);
  const int32_t left = dissect_straight(spots.first(half), leaf_size, d);
  const int32_t right = dissect_straight(spots.subspan(half), leaf_size, d);
  return add_node(d, begin, left, right);
}

int32_t dissect_straight(const Part& part, std::span<const double> centres, int32_t leaf_size,
                         Dissection& d) {
  std::vector<Spot> spots;
  spots.reserve(part.face.size());
  for (const int32_t f : part.face) spots.push_back({{centres[2 * f], centres[2 * f + 1]}, f});
  return dissect_straight(spots, leaf_size, d);
}

// Halves are never empty and rarely uneven, so the recursion is as deep as the tree: O(log n).
int32_t dissect(Part part, std::span<const double> centres, int32_t num_faces, int32_t leaf_size,
                GraphBisection& bisection, Dissection& d) {
  const auto begin = static_cast<int32_t>(d.order.size());
  if (part.graph.count() <= leaf_size) {
    d.order.insert(d.order.end(), part.face.begin(), part.face.end());
    return add_node(d, begin, -1, -1);
  }
  bisection.poll();
  if (!centres.empty() && num_faces > kLargeGraph && part.graph.count() <= kSmallPart) {
    return dissect_straight(part, centres, leaf_size, d);
  }
  auto [first, second] = halve(part, centres, num_faces, bisection);
  part = {};
  const int32_t left = dissect(std::move(first), centres, num_faces, leaf_size, bisection, d);
  const int32_t right = dissect(std::move(second), centres, num_faces, leaf_size, bisection, d);
  return add_node(d, begin, left, right);
}

// A node of the top of the tree, one task each: either halved, or dissected by one thread.
struct Top {
  Part part;
  bool halved = false;
  Dissection below;
};

// Top nodes form a heap: node k has the halves 2k + 1 and 2k + 2. As deep as the heap.
int32_t gather(const std::vector<Top>& top, size_t k, Dissection& d) {
  const auto begin = static_cast<int32_t>(d.order.size());
  if (!top[k].halved) {
    append(d, top[k].below);
    return static_cast<int32_t>(d.range.size()) - 1;
  }
  const int32_t left = gather(top, 2 * k + 1, d);
  const int32_t right = gather(top, 2 * k + 2, d);
  return add_node(d, begin, left, right);
}

}  // namespace

Dissection bisect_faces(const Faces& faces, std::span<const double> centres, int32_t leaf_size,
                        Control& control) {
  const int32_t worth_halving = std::max(kWorthATask, leaf_size);
  const auto num_faces = static_cast<int32_t>(faces.offsets.size()) - 1;
  Team team(num_faces > worth_halving ? control.threads() : 1, control);
  const size_t inner = std::bit_ceil(static_cast<size_t>(team.threads())) - 1;
  std::vector<Top> top(2 * inner + 1);
  std::vector<std::vector<int32_t>> successors(top.size());
  std::vector<int32_t> waits(top.size(), 1);
  waits[0] = 0;
  for (int32_t k = 0; k < static_cast<int32_t>(inner); ++k) {
    successors[k] = {2 * k + 1, 2 * k + 2};
  }
  top[0].part = whole(faces);
  team.work(std::move(successors), std::move(waits), [&](int worker, int task) {
    const auto k = static_cast<size_t>(task);
    if (k > 0 && !top[(k - 1) / 2].halved) return;
    GraphBisection bisection;
    bisection.poll = [&team, worker] { team.check(worker); };
    Part part = std::move(top[k].part);
    top[k].halved = k < inner && part.graph.count() > worth_halving;
    if (top[k].halved) {
      std::tie(top[2 * k + 1].part, top[2 * k + 2].part) =
          halve(part, centres, num_faces, bisection);
    } else {
      dissect(std::move(part), centres, num_faces, leaf_size, bisection, top[k].below);
    }
  });
  Dissection d;
  gather(top, 0, d);
  return d;
}

}  // namespace planaris
