// Building, solving, reading off the join and the certificate, for one number type.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "tjoin_state.hpp"
#include "tjoin_wide.hpp"

namespace planaris::tjoin {

template <typename Int>
class TypedState final : public TJoinState {
 public:
  TypedState(const TJoinProblem& problem, Layout&& layout)
      : layout_(std::make_shared<const Layout>(std::move(layout))),
        edges_(std::make_shared<const std::vector<int32_t>>(problem.edges.begin(),
                                                            problem.edges.end())),
        odd_(layout_->odd),
        graph_(build(problem)),
        engine_(*graph_, odd_),
        bits_(bits_needed(problem)) {}

  bool solve(Control& control, TJoinSolution& out);
  bool resolve(const TJoinProblem& problem, Control& control,
               TJoinSolution& out) const override;

 private:
  std::shared_ptr<Graph<Int>> build(const TJoinProblem& problem);
  bool fits(const TJoinProblem& problem) const;
  bool change_parity(const TJoinProblem& problem);
  void change_weights(const TJoinWeights& weights);
  bool is_outermost(size_t r) const {
    return engine_.alive(int32_t(r)) && !engine_.regions()[r].inside &&
           int32_t(r) != engine_.boundary();
  }
  void match_all(Control& control);
  std::vector<std::pair<int32_t, int32_t>> matched_pairs();
  std::vector<int32_t> join_of(const std::vector<std::pair<int32_t, int32_t>>& pairs);
  void write_certificate(TJoinSolution& out) const;

  // Shared with states that started from this one, until a weight changes.
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const std::vector<int32_t>> edges_;
  std::vector<uint8_t> odd_;
  int32_t exponent_ = 0;
  Int offset_ = 0;
  std::shared_ptr<std::vector<Int>> weight_;  // by edge, not doubled
  std::shared_ptr<Graph<Int>> graph_;
  Engine<Int> engine_;
  int bits_ = 0;
};

template <typename Int>
std::shared_ptr<Graph<Int>> TypedState<Int>::build(const TJoinProblem& problem) {
  const TJoinWeights& w = *problem.weights;
  exponent_ = w.exponent;
  const size_t m = w.mantissas.size();
  weight_ = std::make_shared<std::vector<Int>>(m);
  std::vector<Int>& weight = *weight_;
  for (size_t e = 0; e < m; ++e) {
    weight[e] = shifted(Int(w.mantissas[e]), w.shifts.empty() ? 0 : w.shifts[e]);
  }
  if (problem.perfect && m > 0) {
    // One edge more than n/2 costs more than all that the choice of n/2 edges can save.
    const auto [low, high] = std::minmax_element(weight.begin(), weight.end());
    Int spread = *high - *low, total = 1;
    for (int32_t k = problem.num_vertices / 2; k > 0; k >>= 1) {
      if (k & 1) total += spread;
      spread += spread;
    }
    offset_ = total - *low;
    for (Int& x : weight) x += offset_;
  }
  auto made = std::make_shared<Graph<Int>>();
  Graph<Int>& g = *made;
  g.n = layout_->n;
  g.offsets.assign(size_t(g.n) + 2, 0);
  const auto end = [&](size_t e, int side) { return layout_->index[(*edges_)[2 * e + side]]; };
  for (size_t e = 0; e < m; ++e) {
    const int32_t u = end(e, 0), v = end(e, 1);
    if (u == v) continue;  // loops, and edges between boundary vertices
    ++g.offsets[u + 1], ++g.offsets[v + 1];
  }
  for (int32_t v = 0; v <= g.n; ++v) g.offsets[v + 1] += g.offsets[v];
  // The boundary is never scanned, so its arcs, the last ones, are left out.
  g.arcs.resize(g.offsets[g.n]);
  std::vector<int32_t> place(g.offsets.begin(), g.offsets.end() - 1);
  for (size_t e = 0; e < m; ++e) {
    const int32_t u = end(e, 0), v = end(e, 1);
    if (u == v) continue;
    const Int doubled = weight[e] + weight[e];
    if (u != g.n) g.arcs[place[u]++] = {doubled, v, int32_t(e)};
    if (v != g.n) g.arcs[place[v]++] = {doubled, u, int32_t(e)};
  }
  return made;
}

// Rounds of single-tree searches, each given up after a number of scans that grows from round
// to round: trees stay as small as if all grew at once, and none is kept alive.
template <typename Int>
void TypedState<Int>::match_all(Control& control) {
  std::vector<int32_t> roots;  // one odd vertex of each free region
  const auto& region = engine_.regions();
  for (size_t r = 0; r < region.size(); ++r) {
    if (!is_outermost(r) || region[r].mate_to >= 0) continue;
    roots.push_back(engine_.vertices()[region[r].core].source);
  }
  const double all = double(roots.size());
  int64_t budget = 2;
  while (!roots.empty()) {
    budget = std::max(2 * budget, int64_t(graph_->n) / int64_t(roots.size()));
    size_t kept = 0;
    const double done = 1.0 - double(roots.size()) / all;
    for (const int32_t v : roots) {
      if (engine_.is_free(v) && !engine_.search(v, budget, control, done)) roots[kept++] = v;
    }
    roots.resize(kept);
    std::erase_if(roots, [this](int32_t v) { return !engine_.is_free(v); });
  }
}

template <typename Int>
std::vector<std::pair<int32_t, int32_t>> TypedState<Int>::matched_pairs() {
  // Blossoms are opened from outside in: the child with the matched vertex keeps that match,
  // the others pair up along the cycle.
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto& region = engine_.regions();
  std::vector<int32_t> parent(region.size(), -1), stack, cycle;
  for (size_t r = 0; r < region.size(); ++r) {
    if (!engine_.alive(int32_t(r)) || region[r].child < 0) continue;
    int32_t c = region[r].child;
    do {
      parent[c] = int32_t(r);
      c = region[c].cycle;
    } while (c != region[r].child);
  }
  const auto keep = [&](int32_t from, int32_t to) {
    if (to == graph_->n || from < to) pairs.emplace_back(from, to);
  };
  std::vector<std::pair<int32_t, int32_t>> open;  // region, its matched vertex
  const auto assign = [&](int32_t r, int32_t from) {
    if (region[r].child >= 0) open.emplace_back(r, from);
  };
  for (size_t r = 0; r < region.size(); ++r) {
    if (!is_outermost(r)) continue;
    keep(region[r].mate_from, region[r].mate_to);
    assign(int32_t(r), region[r].mate_from);
  }
  while (!open.empty()) {
    const auto [r, from] = open.back();
    open.pop_back();
    int32_t base = engine_.base_region(from);
    while (parent[base] != r) base = parent[base];
    assign(base, from);
    for (int32_t c = region[base].cycle; c != base; c = region[region[c].cycle].cycle) {
      const int32_t a = region[c].cycle_from, b = region[c].cycle_to;
      keep(std::min(a, b), std::max(a, b));
      assign(c, a);
      assign(region[c].cycle, b);
    }
  }
  return pairs;
}

// Joins every pair by a shortest path; where paths share an edge it cancels.
template <typename Int>
std::vector<int32_t> TypedState<Int>::join_of(
    const std::vector<std::pair<int32_t, int32_t>>& pairs) {
  struct Item {
    Int distance;
    int32_t vertex;
  };
  const auto later = [](const Item& a, const Item& b) { return a.distance > b.distance; };
  const int32_t n = graph_->n;
  std::vector<Int> distance(size_t(n) + 1);
  std::vector<int32_t> via(size_t(n) + 1), stamp(size_t(n) + 1, -1);  // via: arc into a vertex
  std::vector<int32_t> from(size_t(n) + 1);
  std::vector<uint8_t> parity(weight_->size(), 0);
  std::vector<Item> heap;
  for (size_t k = 0; k < pairs.size(); ++k) {
    const auto [s, t] = pairs[k];
    const auto tag = int32_t(k);
    heap.assign(1, {Int(0), s});
    distance[s] = 0;
    stamp[s] = tag;
    for (;;) {
      std::pop_heap(heap.begin(), heap.end(), later);
      const Item item = heap.back();
      heap.pop_back();
      const int32_t v = item.vertex;
      if (item.distance != distance[v]) continue;
      if (v == t) break;
      if (v == n) continue;
      for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
        const Arc<Int>& arc = graph_->arcs[a];
        const Int d = item.distance + arc.weight;
        if (stamp[arc.to] == tag && distance[arc.to] <= d) continue;
        stamp[arc.to] = tag;
        distance[arc.to] = d;
        via[arc.to] = arc.edge;
        from[arc.to] = v;
        heap.push_back({d, arc.to});
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
    for (int32_t v = t; v != s; v = from[v]) parity[via[v]] ^= 1;
  }
  std::vector<int32_t> join;
  for (size_t e = 0; e < parity.size(); ++e) {
    if (parity[e]) join.push_back(int32_t(e));
  }
  return join;
}

template <typename Int>
void TypedState<Int>::write_certificate(TJoinSolution& out) const {
  const auto& region = engine_.regions();
  const auto& vertex = engine_.vertices();
  std::vector<int32_t> original(layout_->n), place(layout_->n);
  for (size_t v = 0; v < layout_->index.size(); ++v) {
    if (layout_->index[v] < layout_->n) original[layout_->index[v]] = int32_t(v);
  }
  constexpr bool plain = kBits<Int> == 64;
  out.num_digits = plain ? 0 : kBits<Int> / 32;
  struct Item {
    int32_t region, parent;
    Int above;  // duals of the regions between this one's vertices and the outermost
  };
  std::vector<Item> stack;
  const auto emit = [&](const Int& value, int32_t start, int32_t stop, int32_t& parent) {
    if (value == 0) return;
    out.start.push_back(start);
    out.stop.push_back(stop);
    out.parent.push_back(parent);
    if constexpr (plain) {
      out.values.push_back(value);
    } else {
      append_digits(value, out.num_digits, out.values);
    }
    parent = int32_t(out.start.size()) - 1;
  };
  for (size_t r = 0; r < region.size(); ++r) {
    if (!is_outermost(r)) continue;
    for (int32_t v = region[r].first;; v = vertex[v].next) {
      place[v] = int32_t(out.order.size());
      out.order.push_back(original[v]);
      if (v == region[r].last) break;
    }
    stack.push_back({int32_t(r), -1, Int(0)});
    while (!stack.empty()) {
      Item item = stack.back();
      stack.pop_back();
      const Region<Int>& g = region[item.region];
      const int32_t stop = place[g.last] + 1;
      Int radius = g.y;
      for (int32_t v = g.first; v != g.core; v = vertex[v].next) {
        const Int inner = item.above - vertex[v].height;
        emit(radius - inner, place[v], stop, item.parent);
        radius = inner;
      }
      emit(radius, place[g.core], stop, item.parent);
      if (g.child < 0) continue;
      int32_t c = g.child;
      do {
        stack.push_back({c, item.parent, item.above + region[c].y});
        c = region[c].cycle;
      } while (c != g.child);
    }
  }
}

// False when primal and dual differ, which a cold start excludes.
template <typename Int>
bool TypedState<Int>::solve(Control& control, TJoinSolution& out) {
  match_all(control);
  control.poll_now(1.0);
  out.join = join_of(matched_pairs());
  Int objective = 0, duals = 0;
  for (const int32_t e : out.join) objective += (*weight_)[e];
  for (size_t r = 0; r < engine_.regions().size(); ++r) {
    if (engine_.alive(int32_t(r))) duals += engine_.regions()[r].y;
  }
  if (objective + objective != duals) return false;
  write_certificate(out);
  const int32_t digits = kBits<Int> / 32;
  append_digits(objective, digits, out.objective);
  append_digits(offset_, digits, out.offset);
  out.exponent = exponent_;
  const Counters& c = engine_.count;
  out.counters = {c.searches, c.scans, c.pushes, c.pops, c.blossoms, c.expansions, c.absorbed,
                  c.released, c.largest};
  return true;
}

template <typename Int>
bool TypedState<Int>::fits(const TJoinProblem& problem) const {
  const int32_t unit = std::min(exponent_, problem.weights->exponent);
  const int bits = bits_needed(problem) + problem.weights->exponent - unit;
  return !problem.perfect && size_t(problem.num_vertices) == layout_->index.size() &&
         std::max(bits, bits_ + exponent_ - unit) <= kBits<Int> &&
         std::ranges::equal(problem.edges, *edges_) &&
         std::ranges::equal(problem.boundary, layout_->boundary);
}

// Regions that no change touches keep their duals: an edge with a new weight has both ends out
// of all regions afterwards, so no dual constraint can be broken.
template <typename Int>
void TypedState<Int>::change_weights(const TJoinWeights& w) {
  const int32_t finer = exponent_ - w.exponent, lift = std::max(-finer, 0);
  bool own = false;
  const auto copy = [&] {
    if (own) return;
    own = true;
    weight_ = std::make_shared<std::vector<Int>>(*weight_);
    graph_ = std::make_shared<Graph<Int>>(*graph_);
    engine_.attach(*graph_);
  };
  if (finer > 0) {
    copy();
    engine_.scale(finer);
    for (Int& x : *weight_) x = shifted(x, finer);
    for (Arc<Int>& arc : graph_->arcs) arc.weight = shifted(arc.weight, finer);
    exponent_ = w.exponent;
  }
  for (size_t e = 0; e < weight_->size(); ++e) {
    const Int now = shifted(Int(w.mantissas[e]), lift + (w.shifts.empty() ? 0 : w.shifts[e]));
    if (now == (*weight_)[e]) continue;
    copy();
    (*weight_)[e] = now;
    for (int side = 0; side < 2; ++side) {
      const int32_t v = layout_->index[(*edges_)[2 * e + side]];
      engine_.dissolve(v);
      if (v == graph_->n) continue;
      for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
        if (graph_->arcs[a].edge == int32_t(e)) graph_->arcs[a].weight = now + now;
      }
    }
  }
}

// False when the new odd vertices cannot be joined.
template <typename Int>
bool TypedState<Int>::change_parity(const TJoinProblem& problem) {
  std::vector<uint8_t> odd(problem.num_vertices, 0), parity(layout_->bounded.size(), 0);
  for (const int32_t v : problem.odd) {
    if (v < 0 || v >= problem.num_vertices) return false;
    odd[v] ^= 1;
  }
  for (int32_t v = 0; v < problem.num_vertices; ++v) {
    parity[layout_->component[v]] ^= odd[v];
    const int32_t i = layout_->index[v];
    if (i == graph_->n || odd[v] == odd_[i]) continue;
    odd_[i] = odd[v];
    engine_.dissolve(i);
    odd[v] ? engine_.make_odd(i) : engine_.make_even(i);
  }
  for (size_t c = 0; c < parity.size(); ++c) {
    if (parity[c] && !layout_->bounded[c]) return false;
  }
  return true;
}

template <typename Int>
bool TypedState<Int>::resolve(const TJoinProblem& problem, Control& control,
                              TJoinSolution& out) const {
  if (!fits(problem)) return false;
  auto next = std::make_shared<TypedState>(*this);
  next->engine_.count = {};
  const int32_t unit = std::min(exponent_, problem.weights->exponent);
  next->bits_ = bits_needed(problem) + problem.weights->exponent - unit;
  if (!next->change_parity(problem)) return false;
  next->change_weights(*problem.weights);
  // A zero-weight edge that a matched pair passed by may have grown: then start afresh.
  if (!next->solve(control, out)) {
    out = {};
    return false;
  }
  out.state = std::move(next);
  return true;
}

template <typename Int>
TJoinSolution solve_with(const TJoinProblem& problem, Layout&& layout, Control& control) {
  auto state = std::make_shared<TypedState<Int>>(problem, std::move(layout));
  TJoinSolution out;
  if (!state->solve(control, out)) throw std::logic_error("T-join: primal and dual differ");
  out.state = std::move(state);
  return out;
}

}  // namespace planaris::tjoin
