#include "polytope/cycle_separation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/polled_sort.hpp"
#include "base/splitmix64.hpp"
#include "base/team.hpp"
#include "polytope/odd_cycles.hpp"

namespace planaris {

namespace {

using odd::Arc;
using odd::Cycle;
using odd::Instance;
using odd::Step;
using odd::Walk;

// Cycles one after the other in few pieces of memory, which are gone at once.
struct CycleList {
  std::vector<Step> steps;
  std::vector<int64_t> offsets{0};
  std::vector<double> lengths;

  void add(std::span<const Step> cycle, double length) {
    steps.insert(steps.end(), cycle.begin(), cycle.end());
    offsets.push_back(static_cast<int64_t>(steps.size()));
    lengths.push_back(length);
  }
  size_t size() const { return lengths.size(); }
  std::span<const Step> operator[](size_t k) const {
    return std::span(steps).subspan(offsets[k], offsets[k + 1] - offsets[k]);
  }
};

// Edges this close to 0 or 1 are contracted before the exact search.
constexpr double kIntegral = 1e-9;

// All triangles, each found once from its edge that comes last.
void collect_triangles(const Instance& in, double limit, Control& control, CycleList& out) {
  const odd::Graph& g = in.graph;
  const int32_t n = g.num_vertices();
  std::vector<int32_t> edge_to(n, -1);
  // Arcs run from lower to higher rank by degree: at most O(m sqrt m) pairs are looked at.
  const auto before = [&g](int32_t u, int32_t v) {
    return g.degree(u) != g.degree(v) ? g.degree(u) < g.degree(v) : u < v;
  };
  std::vector<Arc> ahead;
  std::vector<size_t> begin(1, 0);
  for (int32_t u = 0; u < n; ++u) {
    for (const Arc& arc : std::span(g.arcs).subspan(g.offsets[u], g.degree(u))) {
      if (before(u, arc.to)) ahead.push_back(arc);
    }
    begin.push_back(ahead.size());
  }
  const auto arcs_of = [&](int32_t v) {
    return std::span(ahead).subspan(begin[v], begin[v + 1] - begin[v]);
  };
  for (int32_t u = 0; u < n; ++u) {
    for (const Arc& arc : arcs_of(u)) edge_to[arc.to] = arc.edge[0];
    for (const Arc& arc : arcs_of(u)) {
      control.spend(8 * static_cast<int64_t>(arcs_of(arc.to).size()) + 1);
      for (const Arc& far : arcs_of(arc.to)) {
        if (edge_to[far.to] < 0) continue;
        const int32_t e[3] = {arc.edge[0], far.edge[0], edge_to[far.to]};
        const double x[3] = {in.x[e[0]], in.x[e[1]], in.x[e[2]]};
        const double all_odd = 3 - x[0] - x[1] - x[2];
        if (all_odd < limit) {
          out.add(std::array<Step, 3>{{{e[0], 1}, {e[1], 1}, {e[2], 1}}}, all_odd);
        }
        for (int k = 0; k < 3; ++k) {
          const double length = x[0] + x[1] + x[2] + 1 - 2 * x[k];
          if (length >= limit) continue;
          std::array<Step, 3> steps{{{e[0], 0}, {e[1], 0}, {e[2], 0}}};
          steps[k].odd = 1;
          out.add(steps, length);
        }
      }
    }
    for (const Arc& arc : arcs_of(u)) edge_to[arc.to] = -1;
  }
}

// Short-range search around every spin, in parallel; results come in the order of spins.
void quick_search(const Instance& in, double limit, const SeparationOptions& options,
                  Control& control, CycleList& out) {
  const int32_t n = in.graph.num_vertices();
  std::vector<std::vector<Cycle>> found(n);
  // Hubs (the field spin) would be met from everywhere; the triangles at them are known.
  std::vector<int8_t> dead(n, 0);
  const double mean_degree = static_cast<double>(in.graph.arcs.size()) / std::max(n, 1);
  for (int32_t v = 0; v < n; ++v) dead[v] = in.graph.degree(v) > 32 + 8 * mean_degree;
  struct Worker {
    odd::Search search;
    odd::Simplifier simplifier;
  };
  constexpr int32_t kShare = 64;
  const int32_t shares = (n + kShare - 1) / kShare;
  Team team(std::clamp(options.threads, 1, std::max(1, shares / 2)), control);  // two shares pay
  std::vector<std::optional<Worker>> workers(team.threads());
  team.work(shares, [&](int worker, int share) {
    auto& own = workers[worker];
    if (!own) own.emplace(Worker{odd::Search(in.graph), odd::Simplifier(in)});
    std::vector<Walk> walks;
    for (int32_t v = share * kShare; v < std::min(n, (share + 1) * kShare); ++v) {
      team.check(worker, static_cast<double>(v) / n);
      if (dead[v]) continue;
      walks.clear();
      own->search.run(v, limit, options.budget, dead, walks);
      for (const Walk& walk : walks) {
        Cycle cycle = own->simplifier.simplify(walk, v);
        if (cycle.length < limit) found[v].push_back(std::move(cycle));
      }
    }
  });
  for (std::vector<Cycle>& cycles : found) {
    control.spend(64 * static_cast<int64_t>(cycles.size()) + 1);
    for (const Cycle& cycle : cycles) out.add(cycle.steps, cycle.length);
    cycles = {};  // all at once would take a while
  }
}

// The instance with its integral edges contracted: every class of spins hangs on a forest of
// edges of length zero, with the parity of each spin relative to its root.
class Contraction {
 public:
  explicit Contraction(const Instance& in) : in_(in) {
    const int32_t n = in.graph.num_vertices();
    class_of_.assign(n, -1);
    parity_.assign(n, 0);
    depth_.assign(n, 0);
    up_.assign(n, {-1, 0});
    std::vector<int32_t> queue;
    for (int32_t root = 0; root < n; ++root) {
      if (class_of_[root] >= 0) continue;
      class_of_[root] = num_classes_;
      queue.assign(1, root);
      for (size_t k = 0; k < queue.size(); ++k) grow(queue[k], queue);
      ++num_classes_;
    }
    build();
  }

  const odd::Graph& graph() const { return graph_; }
  // Odd walks that lie in one class: an edge against the parity of the forest.
  const std::vector<std::pair<Walk, int32_t>>& inner_walks() const { return inner_; }

  // A closed walk over classes as one over spins; also gives its first spin.
  std::pair<Walk, int32_t> expand(const Walk& walk, int32_t first_class) const {
    Walk out;
    int32_t at_class = first_class, at = -1, start = -1;
    for (Step step : walk) {
      const int32_t u = in_.ends[2 * step.edge], v = in_.ends[2 * step.edge + 1];
      const bool forward = class_of_[u] == at_class;
      const int32_t tail = forward ? u : v, head = forward ? v : u;
      if (at < 0)
        start = tail;
      else
        append_path(at, tail, out);
      // `odd` of the walk is relative to the classes; of the edge, to its spins.
      const int8_t own = step.odd ^ parity_[tail] ^ parity_[head];
      out.push_back({step.edge, own});
      at = head;
      at_class = class_of_[head];
    }
    append_path(at, start, out);
    return {std::move(out), start};
  }

 private:
  void grow(int32_t v, std::vector<int32_t>& queue) {
    const odd::Graph& g = in_.graph;
    for (int32_t a = g.offsets[v]; a < g.offsets[v + 1]; ++a) {
      const Arc& arc = g.arcs[a];
      const int odd = arc.length[1] < arc.length[0];
      if (class_of_[arc.to] >= 0 || arc.length[odd] > kIntegral) continue;
      class_of_[arc.to] = class_of_[v];
      parity_[arc.to] = parity_[v] ^ odd;
      depth_[arc.to] = depth_[v] + 1;
      up_[arc.to] = {arc.edge[0], static_cast<int8_t>(odd)};
      queue.push_back(arc.to);
    }
  }

  void build() {
    struct Pair {
      int32_t u, v;
      Arc arc;
    };
    std::unordered_map<int64_t, size_t> index;
    std::vector<Pair> pairs;
    const auto m = static_cast<int32_t>(in_.x.size());
    for (int32_t e = 0; e < m; ++e) {
      const int32_t a = in_.ends[2 * e], b = in_.ends[2 * e + 1];
      int32_t u = class_of_[a], v = class_of_[b];
      const int8_t turn = parity_[a] ^ parity_[b];
      if (u == v) {
        // Odd relative to the class: own odd = 1 ^ turn.
        const Step step{e, static_cast<int8_t>(1 ^ turn)};
        if (in_.length(step) < 1 - kIntegral) {
          Walk walk{step};
          append_path(b, a, walk);
          inner_.push_back({std::move(walk), a});
        }
        continue;
      }
      if (u > v) std::swap(u, v);
      const auto [it, fresh] =
          index.try_emplace(static_cast<int64_t>(u) * num_classes_ + v, pairs.size());
      if (fresh) pairs.push_back({u, v, {v, {-1, -1}, {2.0, 2.0}}});
      Arc& arc = pairs[it->second].arc;
      for (int odd = 0; odd < 2; ++odd) {
        const double length = in_.length({e, static_cast<int8_t>(odd ^ turn)});
        if (length < arc.length[odd]) arc.length[odd] = length, arc.edge[odd] = e;
      }
    }
    graph_.offsets.assign(num_classes_ + 1, 0);
    for (const Pair& p : pairs) ++graph_.offsets[p.u + 1], ++graph_.offsets[p.v + 1];
    std::partial_sum(graph_.offsets.begin(), graph_.offsets.end(), graph_.offsets.begin());
    graph_.arcs.resize(2 * pairs.size());
    std::vector<int32_t> fill(graph_.offsets.begin(), graph_.offsets.end() - 1);
    for (const Pair& p : pairs) {
      graph_.arcs[fill[p.u]++] = p.arc;
      Arc back = p.arc;
      back.to = p.u;
      graph_.arcs[fill[p.v]++] = back;
    }
  }

  void append_path(int32_t from, int32_t to, Walk& out) const {
    Walk tail;
    while (from != to) {
      if (depth_[from] >= depth_[to]) {
        out.push_back(up_[from]);
        from = in_.other_end(up_[from].edge, from);
      } else {
        tail.push_back(up_[to]);
        to = in_.other_end(up_[to].edge, to);
      }
    }
    out.insert(out.end(), tail.rbegin(), tail.rend());
  }

  const Instance& in_;
  int32_t num_classes_ = 0;
  std::vector<int32_t> class_of_, depth_;
  std::vector<int8_t> parity_;
  std::vector<Step> up_;
  odd::Graph graph_;
  std::vector<std::pair<Walk, int32_t>> inner_;
};

void exact_search(const Instance& in, double limit, Control& control, CycleList& out) {
  const Contraction small(in);
  odd::Simplifier simplifier(in);
  const auto keep = [&](const Walk& walk, int32_t start) {
    const Cycle cycle = simplifier.simplify(walk, start);
    if (cycle.length < limit) out.add(cycle.steps, cycle.length);
  };
  for (const auto& [walk, start] : small.inner_walks()) {
    control.poll();
    keep(walk, start);
  }
  const int32_t n = small.graph().num_vertices();
  odd::Search search(small.graph());
  std::vector<int8_t> dead(n, 0);
  std::vector<Walk> walks;
  // High degrees last: cycles through them are mostly found from elsewhere by then.
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&small](int32_t a, int32_t b) {
    return small.graph().degree(a) < small.graph().degree(b);
  });
  for (int32_t k = 0; k < n; ++k) {
    control.poll_now(static_cast<double>(k) / n);
    walks.clear();
    search.run(order[k], limit, int64_t{1} << 60, dead, walks);
    for (const Walk& walk : walks) {
      const auto [expanded, start] = small.expand(walk, order[k]);
      keep(expanded, start);
    }
    dead[order[k]] = 1;  // all its cycles have been seen
  }
}

uint64_t fingerprint(std::span<const Step> cycle) {
  uint64_t sum = 0;
  for (Step s : cycle) {
    sum += mix64((2 * static_cast<uint64_t>(s.edge) + s.odd + 1) * kGoldenGamma);
  }
  return sum;
}

// Fingerprints that were met, in one piece of memory, which is gone at once.
class Fingerprints {
 public:
  explicit Fingerprints(size_t most) : slots_(std::bit_ceil(2 * most + 1), 0) {}

  // False if it was met before. At most `most` different ones.
  bool insert(uint64_t print) {
    print += print == 0;  // zero marks slots that are free
    size_t k = print & (slots_.size() - 1);
    for (; slots_[k] != 0; k = (k + 1) & (slots_.size() - 1)) {
      if (slots_[k] == print) return false;
    }
    slots_[k] = print;
    return true;
  }

 private:
  std::vector<uint64_t> slots_;
};

CycleCuts select(const CycleList& cycles, size_t num_edges, const SeparationOptions& options,
                 Control& control) {
  struct Key {
    double length;
    int64_t size, cycle;
  };
  std::vector<Key> order(cycles.size());
  for (size_t k = 0; k < order.size(); ++k) {
    order[k] = {cycles.lengths[k], cycles.offsets[k + 1] - cycles.offsets[k],
                static_cast<int64_t>(k)};
  }
  const auto shorter = [](const Key& a, const Key& b) {
    return a.length != b.length ? a.length < b.length : a.size < b.size;
  };
  polled_sort(order, shorter, control);
  CycleCuts cuts;
  Fingerprints seen(cycles.size());
  std::vector<int32_t> uses(num_edges, 0);
  for (const Key& key : order) {
    control.spend(64);
    const std::span<const Step> cycle = cycles[key.cycle];
    if (!seen.insert(fingerprint(cycle))) continue;
    ++cuts.num_found;
    if (static_cast<int32_t>(cuts.violation.size()) >= options.max_cuts) continue;
    const bool fresh = std::any_of(cycle.begin(), cycle.end(),
                                   [&](Step s) { return uses[s.edge] < options.max_per_edge; });
    if (!fresh) continue;
    for (Step s : cycle) {
      ++uses[s.edge];
      cuts.edges.push_back(s.edge);
      cuts.odd.push_back(s.odd);
    }
    cuts.offsets.push_back(static_cast<int32_t>(cuts.edges.size()));
    cuts.violation.push_back(1 - key.length);
  }
  return cuts;
}

}  // namespace

CycleCuts separate_cycles(int32_t num_spins, std::span<const int32_t> edges,
                          std::span<const double> x, const SeparationOptions& options,
                          Control& control) {
  if (edges.size() != 2 * x.size()) throw std::invalid_argument("one value per edge");
  for (size_t k = 0; k < edges.size(); ++k) {
    if (edges[k] < 0 || edges[k] >= num_spins || edges[k] == edges[k ^ 1]) {
      throw std::invalid_argument("edge names no pair of spins");
    }
  }
  const Instance in(num_spins, edges, x);
  const double limit = 1 - options.min_violation;
  CycleList cycles;
  collect_triangles(in, limit, control, cycles);
  // In a nearly complete graph all chordless cycles are triangles.
  const bool dense = 4.0 * static_cast<double>(x.size()) > 0.8 * num_spins * (num_spins - 1.0) * 2;
  if (options.budget > 0 && !(dense && cycles.size() > 0)) {
    quick_search(in, limit, options, control, cycles);
  }
  if (static_cast<int64_t>(cycles.size()) <= options.exact_below) {
    exact_search(in, limit, control, cycles);
  }
  return select(cycles, x.size(), options, control);
}

}  // namespace planaris
