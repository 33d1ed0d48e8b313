#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "tjoin/state.hpp"

namespace planaris {

TJoinWeights dyadic_weights(std::span<const double> weights) {
  TJoinWeights result;
  result.mantissas.resize(weights.size());
  result.shifts.resize(weights.size());
  int32_t lowest = INT32_MAX;
  for (size_t e = 0; e < weights.size(); ++e) {
    if (!std::isfinite(weights[e])) throw std::invalid_argument("weights must be finite");
    int exponent = 0;
    auto mantissa = int64_t(std::ldexp(std::frexp(weights[e], &exponent), 53));
    if (mantissa == 0) continue;
    const int zeros = std::countr_zero(uint64_t(mantissa));
    mantissa >>= zeros;  // arithmetic, exact
    result.mantissas[e] = mantissa;
    result.shifts[e] = exponent - 53 + zeros;
    lowest = std::min(lowest, result.shifts[e]);
  }
  result.exponent = lowest == INT32_MAX ? 0 : lowest;
  for (size_t e = 0; e < weights.size(); ++e) {
    result.shifts[e] = result.mantissas[e] == 0 ? 0 : result.shifts[e] - result.exponent;
  }
  return result;
}

namespace tjoin {
namespace {

struct Adjacency {
  std::vector<int32_t> offsets, neighbours;
};

Adjacency adjacency(const TJoinProblem& problem) {
  Adjacency a;
  const int32_t n = problem.num_vertices;
  a.offsets.assign(size_t(n) + 1, 0);
  const auto& edges = problem.edges;
  for (const int32_t v : edges) {
    if (v < 0 || v >= n) throw std::invalid_argument("edges name a vertex that does not exist");
    ++a.offsets[v + 1];
  }
  std::partial_sum(a.offsets.begin(), a.offsets.end(), a.offsets.begin());
  a.neighbours.resize(edges.size());
  std::vector<int32_t> place(a.offsets.begin(), a.offsets.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i) a.neighbours[place[edges[i]]++] = edges[i ^ 1];
  return a;
}

// Numbers the inner vertices tile by tile, each a breadth-first ball of bounded size, so that
// what a search touches lies close together in memory.
void number_by_tiles(const Adjacency& graph, const std::vector<uint8_t>& is_boundary,
                     std::vector<int32_t>& order) {
  constexpr size_t kTile = 512;
  const auto n = int32_t(is_boundary.size());
  std::vector<uint8_t> taken = is_boundary;
  std::vector<int32_t> waiting;  // seeds of later tiles
  size_t next = 0;
  order.clear();
  for (int32_t s = 0; s < n; ++s) {
    if (!taken[s]) waiting.push_back(s);
    for (; next < waiting.size(); ++next) {
      if (taken[waiting[next]]) continue;
      taken[waiting[next]] = 1;
      size_t head = order.size();
      const size_t end = head + kTile;
      order.push_back(waiting[next]);
      for (; head < order.size(); ++head) {
        const int32_t u = order[head];
        for (int32_t i = graph.offsets[u]; i < graph.offsets[u + 1]; ++i) {
          const int32_t x = graph.neighbours[i];
          if (taken[x]) continue;
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

}  // namespace

Layout lay_out(const TJoinProblem& problem) {
  const int32_t n = problem.num_vertices;
  const Adjacency graph = adjacency(problem);
  std::vector<uint8_t> odd(n, problem.perfect ? 1 : 0), is_boundary(n, 0);
  for (const int32_t v : problem.odd) {
    if (v < 0 || v >= n) throw std::invalid_argument("odd names a vertex that does not exist");
    odd[v] ^= 1;
  }
  for (const int32_t v : problem.boundary) {
    if (v < 0 || v >= n) throw std::invalid_argument("boundary names a vertex that does not exist");
    is_boundary[v] = 1;
  }
  // A component without boundary gets one: its busiest vertex, whose parity the others settle.
  std::vector<int32_t> queue;
  queue.reserve(n);
  std::vector<uint8_t> seen(n, 0);
  Layout layout;
  layout.boundary.assign(problem.boundary.begin(), problem.boundary.end());
  layout.component.resize(n);
  const auto spread = [&](size_t head, auto&& visit) {
    for (; head < queue.size(); ++head) {
      const int32_t u = queue[head];
      visit(u);
      for (int32_t i = graph.offsets[u]; i < graph.offsets[u + 1]; ++i) {
        const int32_t x = graph.neighbours[i];
        if (!seen[x]) {
          seen[x] = 1;
          queue.push_back(x);
        }
      }
    }
  };
  for (int32_t s = 0; s < n; ++s) {
    if (seen[s]) continue;
    seen[s] = 1;
    queue.assign(1, s);
    int32_t busiest = s;
    bool parity = false, bounded = false;
    const auto label = int32_t(layout.bounded.size());
    spread(0, [&](int32_t u) {
      layout.component[u] = label;
      parity ^= odd[u];
      bounded |= is_boundary[u];
      const auto degree = [&](int32_t v) { return graph.offsets[v + 1] - graph.offsets[v]; };
      if (degree(u) > degree(busiest)) busiest = u;
    });
    layout.bounded.push_back(bounded);
    if (bounded) continue;
    if (parity) {
      layout.infeasible = s;
      return layout;
    }
    is_boundary[busiest] = 1;
  }
  number_by_tiles(graph, is_boundary, queue);
  layout.n = int32_t(queue.size());
  layout.index.assign(n, layout.n);
  layout.odd.resize(layout.n);
  for (int32_t i = 0; i < layout.n; ++i) {
    layout.index[queue[i]] = i;
    layout.odd[i] = odd[queue[i]];
  }
  layout.order = std::move(queue);
  return layout;
}

int bits_needed(const TJoinProblem& problem) {
  const TJoinWeights& w = *problem.weights;
  int bits = 1;
  for (size_t e = 0; e < w.mantissas.size(); ++e) {
    const int64_t m = w.mantissas[e];
    if (m < 0 && !problem.perfect) throw std::invalid_argument("weights must not be negative");
    const uint64_t size = m < 0 ? -uint64_t(m) : uint64_t(m);
    bits = std::max(bits, int(std::bit_width(size)) + (w.shifts.empty() ? 0 : w.shifts[e]));
  }
  // Doubled weights, a sum over all edges, a factor of four to spare, and the sign.
  const int sum = int(std::bit_width(w.mantissas.size()));
  const int offset = problem.perfect ? int(std::bit_width(uint32_t(problem.num_vertices))) + 2 : 0;
  return bits + offset + sum + 4;
}

}  // namespace tjoin
}  // namespace planaris
