#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "tjoin/state.hpp"

namespace planaris {

TJoinWeights dyadic_weights(std::span<const double> weights, int threads, bool absolute) {
  constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
  TJoinWeights result;
  result.mantissas.resize(weights.size());
  result.shifts.resize(weights.size());
  Control quiet;
  Team team(threads, quiet);
  std::vector<int32_t> lowest(tjoin::num_parts(weights.size()), INT32_MAX);
  tjoin::in_parts(team, weights.size(), [&](size_t part, size_t low, size_t high) {
    for (size_t e = low; e < high; ++e) {
      const auto bits = std::bit_cast<uint64_t>(weights[e]);
      const auto exponent = int32_t(bits >> 52) & 0x7ff;
      if (exponent == 0x7ff) throw std::invalid_argument("weights must be finite");
      // Subnormal numbers have no leading one and the exponent of the smallest normal ones.
      const uint64_t size = (bits & kFraction) | (exponent == 0 ? 0 : kFraction + 1);
      if (size == 0) {
        result.mantissas[e] = result.shifts[e] = 0;
        continue;
      }
      const int zeros = std::countr_zero(size);
      const auto mantissa = int64_t(size >> zeros);
      result.mantissas[e] = bits >> 63 && !absolute ? -mantissa : mantissa;
      result.shifts[e] = std::max(exponent, 1) - 1075 + zeros;
      lowest[part] = std::min(lowest[part], result.shifts[e]);
    }
  });
  const int32_t least = *std::ranges::min_element(lowest);
  result.exponent = least == INT32_MAX ? 0 : least;
  tjoin::in_parts(team, weights.size(), [&](size_t, size_t low, size_t high) {
    for (size_t e = low; e < high; ++e) {
      result.shifts[e] = result.mantissas[e] == 0 ? 0 : result.shifts[e] - result.exponent;
    }
  });
  return result;
}

std::vector<uint8_t> negative_parity(int32_t num_vertices, std::span<const int32_t> edges,
                                     std::span<const double> values, int threads) {
  if (edges.size() != 2 * values.size()) {
    throw std::invalid_argument("values and edges differ in length");
  }
  Control quiet;
  Team team(threads, quiet);
  tjoin::in_parts(team, edges.size(), [&](size_t, size_t low, size_t high) {
    for (size_t i = low; i < high; ++i) {
      if (edges[i] >= 0 && edges[i] < num_vertices) continue;
      throw std::invalid_argument("an end of an edge does not exist");
    }
  });
  std::vector<uint8_t> parity(num_vertices, 0);
  if (threads < 6) {  // what threads share takes four times as long
    for (size_t e = 0; e < values.size(); ++e) {
      const uint8_t negative = values[e] < 0.0;
      parity[edges[2 * e]] ^= negative;
      parity[edges[2 * e + 1]] ^= negative;
    }
    return parity;
  }
  tjoin::in_parts(team, values.size(), [&](size_t, size_t low, size_t high) {
    for (size_t e = low; e < high; ++e) {
      if (!(values[e] < 0.0)) continue;
      __atomic_fetch_xor(&parity[edges[2 * e]], uint8_t(1), __ATOMIC_RELAXED);
      __atomic_fetch_xor(&parity[edges[2 * e + 1]], uint8_t(1), __ATOMIC_RELAXED);
    }
  });
  return parity;
}

TJoinWeights rounded_weights(std::span<const double> weights) {
  TJoinWeights result;
  round_weights(weights, result);
  return result;
}

void round_weights(std::span<const double> weights, TJoinWeights& result) {
  double largest = 0.0;
  bool fit = true;
  for (const double w : weights) {
    fit &= w >= 0.0 && w <= std::numeric_limits<double>::max();
    largest = std::max(largest, w);
  }
  if (!fit) throw std::invalid_argument("weights must be finite and >= 0");
  const int bits = 63 - tjoin::kSpareBits - int(std::bit_width(weights.size()));
  result.mantissas.assign(largest == 0.0 ? weights.size() : 0, 0);
  result.shifts.clear();
  result.exponent = 0;
  if (largest == 0.0) return;
  result.mantissas.resize(weights.size());
  result.exponent = std::ilogb(largest) + 1 - bits;
  const double unit = std::ldexp(1.0, -result.exponent);
  if (std::isnormal(unit)) {
    for (size_t e = 0; e < weights.size(); ++e) {
      result.mantissas[e] = static_cast<int64_t>(weights[e] * unit + 0.5);
    }
  } else {  // the largest weight is tiny
    for (size_t e = 0; e < weights.size(); ++e) {
      result.mantissas[e] = std::llround(std::ldexp(weights[e], -result.exponent));
    }
  }
}

namespace tjoin {
namespace {

// Numbers the components of tiles and the vertices in none of them; returns how many there are.
int32_t label_components(const Adjacency& graph, const WeightedGraph& tiles,
                         const UnwrittenVector<int32_t>& tile_of, Team& team,
                         UnwrittenVector<int32_t>& component) {
  const int32_t n = graph.num_vertices(), count = tiles.count();
  std::vector<int32_t> outside, leader;  // vertices in no tile, numbered after the tiles
  for (int32_t v = 0; v < n; ++v) {
    if (tile_of[v] < 0) outside.push_back(v);
  }
  leader.resize(size_t(count) + outside.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](int32_t x) {
    while (leader[x] != x) x = leader[x] = leader[leader[x]];
    return x;
  };
  const auto join = [&](int32_t a, int32_t b) { leader[find(a)] = find(b); };
  for (int32_t t = 0; t < count; ++t) {
    for (int32_t k = tiles.begin[t]; k < tiles.begin[t + 1]; ++k) join(t, tiles.neighbour[k]);
  }
  const auto place = [&](int32_t v) {
    if (tile_of[v] >= 0) return tile_of[v];
    return count + int32_t(std::ranges::lower_bound(outside, v) - outside.begin());
  };
  for (size_t i = 0; i < outside.size(); ++i) {
    for (int32_t k = graph.offsets[outside[i]]; k < graph.offsets[outside[i] + 1]; ++k) {
      join(count + int32_t(i), place(graph.neighbours[k]));
    }
  }
  std::vector<int32_t> number(leader.size(), -1), label(leader.size());
  int32_t labels = 0;
  for (size_t x = 0; x < leader.size(); ++x) {
    int32_t& of_leader = number[find(int32_t(x))];
    if (of_leader < 0) of_leader = labels++;
    label[x] = of_leader;
  }
  component.resize(n);
  in_parts(team, size_t(n), [&](size_t, size_t low, size_t high) {
    for (size_t v = low; v < high; ++v) component[v] = label[place(int32_t(v))];
  });
  return labels;
}

UnwrittenVector<int32_t> tile_numbers(const Tiles& tiles, int32_t num_vertices, Team& team) {
  UnwrittenVector<int32_t> tile_of(num_vertices);
  in_parts(team, tile_of.size(), [&](size_t, size_t low, size_t high) {
    std::fill(tile_of.begin() + low, tile_of.begin() + high, -1);
  });
  team.split(tiles.count(), Team::parts(2.0 * num_vertices), [&](int64_t low, int64_t high, int) {
    for (int64_t t = low; t < high; ++t) {
      for (int32_t i = tiles.begin[t]; i < tiles.begin[t + 1]; ++i) {
        tile_of[tiles.order[i]] = int32_t(t);
      }
    }
  });
  return tile_of;
}

// Takes vertices out of their tiles, which may fall apart.
void remove(const std::vector<int32_t>& vertices, UnwrittenVector<int32_t>& tile_of, Tiles& tiles) {
  for (const int32_t v : vertices) tile_of[v] = -1;
  Tiles left;
  for (int32_t t = 0; t < tiles.count(); ++t) {
    if (left.begin.empty() || left.begin.back() < int32_t(left.order.size())) {
      left.begin.push_back(int32_t(left.order.size()));
    }
    for (int32_t i = tiles.begin[t]; i < tiles.begin[t + 1]; ++i) {
      if (tile_of[tiles.order[i]] >= 0) left.order.push_back(tiles.order[i]);
    }
  }
  if (left.begin.empty() || left.begin.back() < int32_t(left.order.size())) {
    left.begin.push_back(int32_t(left.order.size()));
  }
  tiles = std::move(left);
}

}  // namespace

Layout lay_out(const TJoinProblem& problem, Team& team) {
  constexpr int32_t kTile = 512;
  const int32_t n = problem.num_vertices;
  Layout layout;
  team.check(0);
  layout.graph = adjacency(n, problem.edges, team);
  team.check(0);
  const Adjacency& graph = layout.graph;
  std::vector<uint8_t> odd(n, problem.perfect ? 1 : 0), is_boundary(n, 0);
  for (const int32_t v : problem.odd) {
    if (v < 0 || v >= n) throw std::invalid_argument("odd names a vertex that does not exist");
    odd[v] ^= 1;
  }
  for (const int32_t v : problem.boundary) {
    if (v < 0 || v >= n) throw std::invalid_argument("boundary names a vertex that does not exist");
    is_boundary[v] = 1;
  }
  layout.boundary.assign(problem.boundary.begin(), problem.boundary.end());
  Tiles tiles = tile(graph, is_boundary, std::clamp(problem.range / 64, 1, kTile), team);
  team.check(0);
  UnwrittenVector<int32_t> tile_of = tile_numbers(tiles, n, team);
  WeightedGraph between = graph_of_tiles(graph, tiles, tile_of, team);
  team.check(0);
  const int32_t labels = label_components(graph, between, tile_of, team, layout.component);
  layout.bounded.assign(labels, 0);
  for (const int32_t v : problem.boundary) layout.bounded[layout.component[v]] = 1;
  if (std::ranges::find(layout.bounded, 0) != layout.bounded.end()) {
    // A component without boundary gets one: its busiest vertex, whose parity the others settle.
    std::vector<int32_t> busiest(labels, -1);
    std::vector<uint8_t> parity(labels, 0);
    for (int32_t v = 0; v < n; ++v) {
      const int32_t c = layout.component[v];
      if (layout.bounded[c]) continue;
      parity[c] ^= odd[v];
      if (busiest[c] < 0 || graph.degree(v) > graph.degree(busiest[c])) busiest[c] = v;
    }
    for (int32_t v = 0; v < n && layout.infeasible < 0; ++v) {
      if (parity[layout.component[v]]) layout.infeasible = v;
    }
    if (layout.infeasible >= 0) return layout;
    std::erase(busiest, -1);
    remove(busiest, tile_of, tiles);
    tile_of = tile_numbers(tiles, n, team);
    between = graph_of_tiles(graph, tiles, tile_of, team);
  }
  team.check(0);
  layout.ranges = sort_into_ranges(tiles, std::move(between), problem.range, team);
  layout.order = std::move(tiles.order);
  layout.n = int32_t(layout.order.size());
  layout.index.resize(n);
  in_parts(team, size_t(n), [&](size_t, size_t low, size_t high) {
    std::fill(layout.index.begin() + low, layout.index.begin() + high, layout.n);
  });
  layout.odd.resize(layout.n);
  in_parts(team, size_t(layout.n), [&](size_t, size_t low, size_t high) {
    for (size_t i = low; i < high; ++i) {
      layout.index[layout.order[i]] = int32_t(i);
      layout.odd[i] = odd[layout.order[i]];
    }
  });
  return layout;
}

int bits_needed(const TJoinProblem& problem) {
  return bits_needed(*problem.weights, problem.perfect ? problem.num_vertices : 0, problem.threads);
}

int bits_needed(const TJoinWeights& w, int32_t perfect_vertices, int threads) {
  struct Found {
    int bits = 1;
    bool negative = false;
    uint64_t unshifted = 0;  // all bits that are set anywhere
  };
  Control quiet;
  Team team(threads, quiet);
  std::vector<Found> found(num_parts(w.mantissas.size()));
  in_parts(team, w.mantissas.size(), [&](size_t part, size_t low, size_t high) {
    Found own;
    for (size_t e = low; e < high; ++e) {
      const int64_t m = w.mantissas[e];
      const uint64_t size = m < 0 ? -uint64_t(m) : uint64_t(m);
      own.negative |= m < 0;
      if (w.shifts.empty()) {
        own.unshifted |= size;
      } else {
        own.bits = std::max(own.bits, int(std::bit_width(size)) + w.shifts[e]);
      }
    }
    found[part] = own;
  });
  int bits = 1;
  for (const Found& part : found) {
    if (part.negative && perfect_vertices == 0)
      throw std::invalid_argument("weights must not be negative");
    bits = std::max({bits, part.bits, int(std::bit_width(part.unshifted))});
  }
  const int sum = int(std::bit_width(w.mantissas.size()));
  const int offset = perfect_vertices > 0 ? int(std::bit_width(uint32_t(perfect_vertices))) + 2 : 0;
  return bits + offset + sum + kSpareBits;
}

}  // namespace tjoin
}  // namespace planaris
