#include "tjoin/tiles.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/running_sums.hpp"

namespace planaris::tjoin {

namespace {

// As adjacency(), by several threads: half-edges come in any order and are sorted afterwards.
void fill_together(std::span<const int32_t> edges, Adjacency& a, Team& team) {
  const auto n = size_t(a.num_vertices());
  const auto over = [&](size_t count, auto&& body) {
    in_parts(team, count, [&](size_t, size_t low, size_t high) {
      for (size_t i = low; i < high; ++i) body(i);
    });
  };
  over(edges.size(), [&](size_t i) {
    __atomic_fetch_add(&a.offsets[size_t(edges[i]) + 1], 1, __ATOMIC_RELAXED);
  });
  running_sums(a.offsets, team);
  UnwrittenVector<int32_t> place(n);
  over(n, [&](size_t u) { place[u] = a.offsets[u]; });
  over(edges.size(), [&](size_t i) {
    a.half[__atomic_fetch_add(&place[edges[i]], 1, __ATOMIC_RELAXED)] = int32_t(i);
  });
  over(n, [&](size_t u) {
    const int32_t begin = a.offsets[u], end = a.offsets[u + 1];
    std::sort(a.half.begin() + begin, a.half.begin() + end);
    for (int32_t k = begin; k < end; ++k) a.neighbours[k] = edges[a.half[k] ^ 1];
  });
}

// Appends the tiles of the vertices [low, high).
void tile_part(const Adjacency& graph, int32_t low, int32_t high, int32_t most,
               std::vector<uint8_t>& taken, Tiles& tiles) {
  UnwrittenVector<int32_t>& order = tiles.order;
  std::vector<int32_t> waiting;  // seeds of later tiles
  size_t next = 0;
  for (int32_t s = low; s < high; ++s) {
    if (!taken[s]) waiting.push_back(s);
    for (; next < waiting.size(); ++next) {
      if (taken[waiting[next]]) continue;
      taken[waiting[next]] = 1;
      size_t head = order.size();
      const size_t end = head + size_t(most);
      tiles.begin.push_back(int32_t(head));
      order.push_back(waiting[next]);
      for (; head < order.size(); ++head) {
        const int32_t u = order[head];
        for (int32_t i = graph.offsets[u]; i < graph.offsets[u + 1]; ++i) {
          const int32_t x = graph.neighbours[i];
          if (x < low || x >= high || taken[x]) continue;
          if (order.size() == end) {
            waiting.push_back(x);
            continue;
          }
          taken[x] = 1;
          order.push_back(x);
        }
      }
    }
    waiting.clear();
    next = 0;
  }
}

// The vertices of one side, as a graph of their own.
WeightedGraph side_of(const WeightedGraph& whole, const std::vector<uint8_t>& side, uint8_t wanted,
                      std::vector<int32_t>& members) {
  WeightedGraph part;
  std::vector<int32_t> local(whole.count(), -1);
  for (int32_t v = 0; v < whole.count(); ++v) {
    if (side[v] != wanted) continue;
    local[v] = int32_t(members.size());
    members.push_back(v);
  }
  part.begin.push_back(0);
  for (const int32_t v : members) {
    for (int32_t k = whole.begin[v]; k < whole.begin[v + 1]; ++k) {
      if (local[whole.neighbour[k]] < 0) continue;
      part.neighbour.push_back(local[whole.neighbour[k]]);
      part.weight.push_back(whole.weight[k]);
    }
    part.begin.push_back(int32_t(part.neighbour.size()));
    part.size.push_back(whole.size[v]);
  }
  return part;
}

}  // namespace

Adjacency adjacency(int32_t num_vertices, std::span<const int32_t> edges, Team& team) {
  in_parts(team, edges.size(), [&](size_t, size_t low, size_t high) {
    for (size_t i = low; i < high; ++i) {
      if (edges[i] >= 0 && edges[i] < num_vertices) continue;
      throw std::invalid_argument("edges name a vertex that does not exist");
    }
  });
  Adjacency a;
  a.offsets.assign(size_t(num_vertices) + 1, 0);
  a.neighbours.resize(edges.size());
  a.half.resize(edges.size());
  if (team.threads() > 1) {
    fill_together(edges, a, team);
    return a;
  }
  for (const int32_t v : edges) ++a.offsets[v + 1];
  std::partial_sum(a.offsets.begin(), a.offsets.end(), a.offsets.begin());
  std::vector<int32_t> place(a.offsets.begin(), a.offsets.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i) {
    const int32_t k = place[edges[i]]++;
    a.half[k] = int32_t(i);
    a.neighbours[k] = edges[i ^ 1];
  }
  return a;
}

Tiles tile(const Adjacency& graph, const std::vector<uint8_t>& left_out, int32_t most, Team& team) {
  // Parts of neighbouring numbers are tiled each by itself, where most edges stay inside one.
  const int64_t n = graph.num_vertices();
  int64_t parts = std::max<int64_t>(n / (int64_t{1024} * most), 1);
  if (parts > 1) {
    std::vector<int64_t> leaving(parts, 0);
    team.work(size_t(parts), [&](int, int p) {
      const int64_t low = n * p / parts, high = n * (p + 1) / parts;
      for (int32_t k = graph.offsets[low]; k < graph.offsets[high]; ++k) {
        leaving[p] += graph.neighbours[k] < low || graph.neighbours[k] >= high;
      }
    });
    const int64_t all = std::accumulate(leaving.begin(), leaving.end(), int64_t{0});
    if (16 * all > int64_t(graph.half.size())) parts = 1;
  }
  std::vector<uint8_t> taken = left_out;
  std::vector<Tiles> found(parts);
  team.work(size_t(parts), [&](int, int p) {
    tile_part(graph, int32_t(n * p / parts), int32_t(n * (p + 1) / parts), most, taken, found[p]);
  });
  Tiles tiles;
  std::vector<int32_t> before{0};
  for (const Tiles& part : found) {
    for (const int32_t b : part.begin) tiles.begin.push_back(before.back() + b);
    before.push_back(before.back() + int32_t(part.order.size()));
  }
  tiles.begin.push_back(before.back());
  tiles.order.resize(size_t(before.back()));
  team.work(size_t(parts), [&](int, int p) {
    std::ranges::copy(found[p].order, tiles.order.begin() + before[p]);
    found[p] = {};
  });
  return tiles;
}

WeightedGraph graph_of_tiles(const Adjacency& graph, const Tiles& tiles,
                             const UnwrittenVector<int32_t>& tile_of, Team& team) {
  const auto count = size_t(tiles.count());
  const size_t parts = num_parts(tiles.order.size());
  std::vector<WeightedGraph> found(parts);
  team.work(parts, [&](int, int p) {
    WeightedGraph& part = found[p];
    std::vector<int32_t> slot(count, -1);
    const auto first = int32_t(count * size_t(p) / parts);
    const auto last = int32_t(count * size_t(p + 1) / parts);
    part.begin.push_back(0);
    for (int32_t t = first; t < last; ++t) {
      for (int32_t i = tiles.begin[t]; i < tiles.begin[t + 1]; ++i) {
        const int32_t u = tiles.order[i];
        for (int32_t k = graph.offsets[u]; k < graph.offsets[u + 1]; ++k) {
          const int32_t other = tile_of[graph.neighbours[k]];
          if (other < 0 || other == t) continue;
          if (slot[other] >= part.begin.back()) {
            ++part.weight[slot[other]];
          } else {
            slot[other] = int32_t(part.neighbour.size());
            part.neighbour.push_back(other);
            part.weight.push_back(1);
          }
        }
      }
      part.begin.push_back(int32_t(part.neighbour.size()));
      part.size.push_back(tiles.begin[t + 1] - tiles.begin[t]);
    }
  });
  WeightedGraph whole;
  whole.begin.push_back(0);
  for (const WeightedGraph& part : found) {
    const auto before = int32_t(whole.neighbour.size());
    whole.neighbour.insert(whole.neighbour.end(), part.neighbour.begin(), part.neighbour.end());
    whole.weight.insert(whole.weight.end(), part.weight.begin(), part.weight.end());
    whole.size.insert(whole.size.end(), part.size.begin(), part.size.end());
    for (size_t k = 1; k < part.begin.size(); ++k) whole.begin.push_back(before + part.begin[k]);
  }
  return whole;
}

std::vector<Range> sort_into_ranges(Tiles& tiles, WeightedGraph&& graph, int32_t most, Team& team) {
  struct Part {
    WeightedGraph graph;
    std::vector<int32_t> tiles;
    int32_t size = 0, parent = -1, children[2] = {-1, -1};
  };
  std::vector<Part> parts(1);  // level by level
  parts[0].tiles.resize(graph.size.size());
  std::iota(parts[0].tiles.begin(), parts[0].tiles.end(), 0);
  parts[0].graph = std::move(graph);
  for (size_t first = 0; first < parts.size();) {
    const size_t last = parts.size();
    std::vector<std::vector<Part>> halves(last - first);
    team.work(last - first, [&](int, int k) {
      Part& part = parts[first + size_t(k)];
      part.size = std::accumulate(part.graph.size.begin(), part.graph.size.end(), 0);
      if (part.size <= most || part.graph.count() < 2) return;
      GraphBisection bisection;
      const std::vector<uint8_t> side = bisection.run(part.graph);
      halves[k].resize(2);
      for (uint8_t wanted = 0; wanted < 2; ++wanted) {
        Part& half = halves[k][wanted];
        half.graph = side_of(part.graph, side, wanted, half.tiles);
        half.parent = int32_t(first) + k;
        for (int32_t& t : half.tiles) t = part.tiles[t];
      }
      part.graph = {};
    });
    for (std::vector<Part>& pair : halves) {
      for (size_t side = 0; side < pair.size(); ++side) {
        parts[pair[side].parent].children[side] = int32_t(parts.size());
        parts.push_back(std::move(pair[side]));
      }
    }
    first = last;
  }
  // Depth first, so that a range is a run of places; then reversed, children before parents.
  std::vector<Range> ranges;
  std::vector<int32_t> open{0}, range_of(parts.size()), sorted;
  int32_t place = 0;
  while (!open.empty()) {
    const int32_t k = open.back();
    open.pop_back();
    const Part& part = parts[k];
    range_of[k] = int32_t(ranges.size());
    ranges.push_back({place, place + part.size, part.parent < 0 ? -1 : range_of[part.parent]});
    if (part.children[0] >= 0) {
      open.insert(open.end(), {part.children[1], part.children[0]});
      continue;
    }
    sorted.insert(sorted.end(), part.tiles.begin(), part.tiles.end());
    place += part.size;
  }
  std::reverse(ranges.begin(), ranges.end());
  for (Range& range : ranges) {
    if (range.parent >= 0) range.parent = int32_t(ranges.size()) - 1 - range.parent;
  }
  Tiles moved;
  moved.begin.push_back(0);
  for (const int32_t t : sorted)
    moved.begin.push_back(moved.begin.back() + tiles.begin[t + 1] - tiles.begin[t]);
  moved.order.resize(tiles.order.size());
  team.split(int64_t(sorted.size()), Team::parts(double(tiles.order.size())),
             [&](int64_t low, int64_t high, int) {
               for (int64_t k = low; k < high; ++k) {
                 const int32_t t = sorted[k];
                 std::copy(tiles.order.begin() + tiles.begin[t],
                           tiles.order.begin() + tiles.begin[t + 1],
                           moved.order.begin() + moved.begin[k]);
               }
             });
  tiles = std::move(moved);
  return ranges;
}

}  // namespace planaris::tjoin
