// Building, solving, reading off the join and the certificate, for one number type.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/running_sums.hpp"
#include "tjoin/answer.hpp"
#include "tjoin/ranges.hpp"
#include "tjoin/state.hpp"

namespace planaris::tjoin {

template <typename Int>
class TypedState final : public TJoinState {
 public:
  TypedState(const TJoinProblem& problem, Layout&& layout, Team& team)
      : layout_(std::make_shared<Layout>(std::move(layout))), edges_(copy_of(problem.edges, team)),
        odd_(layout_->odd), graph_(build(problem, team)), store_(graph_->n, odd_, team),
        bits_(layout_->bits) {
    layout_->graph = {};
  }

  bool solve(const TJoinProblem& problem, bool cold, Control& control, TJoinSolution& out);
  bool resolve(const TJoinProblem& problem, Control& control, TJoinSolution& out) const override;

 private:
  template <typename>
  friend class TypedSolver;
  static std::shared_ptr<const UnwrittenVector<int32_t>> copy_of(std::span<const int32_t> edges,
                                                                 Team& team);
  std::shared_ptr<Graph<Int>> build(const TJoinProblem& problem, Team& team);
  bool fits(const TJoinProblem& problem) const;
  bool change_parity(const TJoinProblem& problem);
  void change_weights(const TJoinWeights& weights);
  void replace_weights(const TJoinWeights& weights);
  std::vector<int32_t> join_of(const Pairs& pairs, bool cold, Team& team);

  // Shared with states that started from this one, until a weight changes.
  std::shared_ptr<Layout> layout_;
  std::shared_ptr<const UnwrittenVector<int32_t>> edges_;
  UnwrittenVector<uint8_t> odd_;
  int32_t exponent_ = 0;
  Int offset_ = 0;
  std::shared_ptr<UnwrittenVector<Int>> weight_;  // by edge, not doubled
  std::shared_ptr<Graph<Int>> graph_;
  Store<Int> store_;
  int bits_ = 0;
};

template <typename Int>
std::shared_ptr<const UnwrittenVector<int32_t>> TypedState<Int>::copy_of(
    std::span<const int32_t> edges, Team& team) {
  auto copy = std::make_shared<UnwrittenVector<int32_t>>(edges.size());
  in_parts(team, edges.size(), [&](size_t, size_t low, size_t high) {
    std::copy(edges.begin() + low, edges.begin() + high, copy->begin() + low);
  });
  return copy;
}

template <typename Int>
std::shared_ptr<Graph<Int>> TypedState<Int>::build(const TJoinProblem& problem, Team& team) {
  const TJoinWeights& w = *problem.weights;
  exponent_ = w.exponent;
  const size_t m = w.mantissas.size();
  weight_ = std::make_shared<UnwrittenVector<Int>>(m);
  UnwrittenVector<Int>& weight = *weight_;
  in_parts(team, m, [&](size_t, size_t low, size_t high) {
    for (size_t e = low; e < high; ++e) {
      weight[e] = shifted(Int(w.mantissas[e]), w.shifts.empty() ? 0 : w.shifts[e]);
    }
  });
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
  team.check(0);
  auto made = std::make_shared<Graph<Int>>();
  Graph<Int>& g = *made;
  g.n = layout_->n;
  g.offsets.resize(size_t(g.n) + 2);
  g.offsets[0] = 0;
  const Adjacency& from = layout_->graph;
  const auto& index = layout_->index;
  // No loops, and no edges between boundary vertices. The boundary is never scanned, so that its
  // arcs, the last ones, are left out.
  in_parts(team, size_t(g.n), [&](size_t, size_t low, size_t high) {
    for (size_t i = low; i < high; ++i) {
      const int32_t u = layout_->order[i];
      int32_t arcs = 0;
      for (int32_t k = from.offsets[u]; k < from.offsets[u + 1]; ++k)
        arcs += from.neighbours[k] != u;
      g.offsets[i + 1] = arcs;
    }
  });
  team.check(0);
  running_sums({g.offsets.data(), size_t(g.n) + 1}, team);
  g.offsets[g.n + 1] = g.offsets[g.n];
  g.arcs.resize(g.offsets[g.n]);
  in_parts(team, size_t(g.n), [&](size_t, size_t low, size_t high) {
    for (size_t i = low; i < high; ++i) {
      const int32_t u = layout_->order[i];
      Arc<Int>* arc = g.arcs.data() + g.offsets[i];
      for (int32_t k = from.offsets[u]; k < from.offsets[u + 1]; ++k) {
        if (from.neighbours[k] == u) continue;
        const int32_t e = from.half[k] / 2;
        *arc++ = {weight[e] + weight[e], index[from.neighbours[k]], e};
      }
    }
  });
  return made;
}

// Joins every pair by a shortest path; where paths share an edge it cancels.
template <typename Int>
std::vector<int32_t> TypedState<Int>::join_of(const Pairs& pairs, bool cold, Team& team) {
  // Fixed shares, so that the threads' number changes nothing.
  constexpr size_t kShare = 1 << 14;
  const size_t shares = (pairs.matched.size() + kShare - 1) / kShare;
  std::vector<std::vector<int32_t>> edges(shares + 1);
  std::vector<std::optional<Paths<Int>>> paths(team.threads());
  const auto begin = [&](int worker) {
    if (!paths[worker]) {
      paths[worker].emplace(*graph_, [&team, worker] { team.check(worker, 1.0); });
    }
  };
  const auto end_of = [this](int32_t e, int side) {
    return layout_->index[(*edges_)[2 * e + side]];
  };
  team.work(shares, [&](int worker, int share) {
    begin(worker);
    const size_t end = std::min((share + 1) * kShare, pairs.matched.size());
    for (size_t k = share * kShare; k < end; ++k) {
      if (k % 64 == 0) team.check(worker, 1.0);
      append_matched(store_, pairs.parent, pairs.matched[k], cold, end_of, *paths[worker],
                     edges[share]);
    }
  });
  begin(0);
  paths[0]->append_rest(pairs.loose, edges.back());
  return odd_edges(edges, weight_->size(), team);
}

// False when primal and dual differ, which a cold start excludes.
template <typename Int>
bool TypedState<Int>::solve(const TJoinProblem& problem, bool cold, Control& control,
                            TJoinSolution& out) {
  Laps lap;
  // What follows the search takes about as long as what came before it, twice.
  control.reserve(2.5);
  if (cold && problem.give_up) control.poll_now();  // out of here, where there is too little left
  try {
    if (cold) {
      match_cold(store_, *graph_, layout_->ranges, problem.threads, control);
    } else {
      match_warm(store_, *graph_, control);
    }
    control.poll_now(1.0);
  } catch (const DeadlinePassed&) {
    if (problem.perfect) throw;  // a part of a matching is of no use
  }
  out.seconds[2] = lap();
  if (problem.give_up) {
    control.extend();
  } else {
    control.set_finishing(true);
  }
  Team team(problem.threads, control);
  const Pairs pairs = matched_pairs(store_, team);
  out.exact = pairs.loose.empty();
  out.join = join_of(pairs, cold, team);
  const Int objective =
      sum_in_parts<Int>(team, out.join.size(), [&](size_t i) { return (*weight_)[out.join[i]]; });
  const Int duals =
      sum_in_parts<Int>(team, store_.region.size(), [&](size_t r) { return store_.dual(r); });
  if (out.exact ? objective + objective != duals : objective + objective < duals) {
    control.set_finishing(false);
    return false;
  }
  write_certificate(store_, layout_->order, team, out);
  const int32_t digits = kBits<Int> / 32;
  append_digits(objective, digits, out.objective);
  append_digits(duals, digits, out.lower);
  append_digits(offset_, digits, out.offset);
  out.exponent = exponent_;
  const Counters& c = store_.count;
  out.counters = {c.searches,   c.scans,    c.pushes,   c.pops,   c.blossoms,
                  c.expansions, c.absorbed, c.released, c.largest};
  out.seconds[3] = lap();
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
    weight_ = std::make_shared<UnwrittenVector<Int>>(*weight_);
    graph_ = std::make_shared<Graph<Int>>(*graph_);
  };
  if (finer > 0) {
    copy();
    store_.scale(finer);
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
      store_.dissolve(v);
      if (v == graph_->n) continue;
      for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
        if (graph_->arcs[a].edge == int32_t(e)) graph_->arcs[a].weight = now + now;
      }
    }
  }
}

// Of a store without regions.
template <typename Int>
void TypedState<Int>::replace_weights(const TJoinWeights& w) {
  exponent_ = w.exponent;
  UnwrittenVector<Int>& weight = *weight_;
  if (w.shifts.empty()) {
    std::copy(w.mantissas.begin(), w.mantissas.end(), weight.begin());
  } else {
    for (size_t e = 0; e < weight.size(); ++e)
      weight[e] = shifted(Int(w.mantissas[e]), w.shifts[e]);
  }
  for (Arc<Int>& arc : graph_->arcs) arc.weight = weight[arc.edge] + weight[arc.edge];
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
    store_.dissolve(i);
    if (odd[v]) {
      store_.make_odd(i);
    } else {
      store_.make_even(i);
    }
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
  next->store_.count = {};
  const int32_t unit = std::min(exponent_, problem.weights->exponent);
  next->bits_ = bits_needed(problem) + problem.weights->exponent - unit;
  if (!next->change_parity(problem)) return false;
  next->change_weights(*problem.weights);
  // A zero-weight edge that a matched pair passed by may have grown: then start afresh.
  if (!next->solve(problem, false, control, out)) {
    out = {};
    return false;
  }
  out.state = std::move(next);
  return true;
}

template <typename Int>
TJoinSolution solve_with(const TJoinProblem& problem, Layout&& layout, Control& control) {
  std::shared_ptr<TypedState<Int>> state;
  Laps lap;
  {
    Team team(problem.threads, control);
    control.set_finishing(!problem.give_up);
    state = std::make_shared<TypedState<Int>>(problem, std::move(layout), team);
    control.set_finishing(false);
  }
  TJoinSolution out;
  out.seconds[1] = lap();
  if (!state->solve(problem, true, control, out))
    throw std::logic_error("T-join: primal and dual differ");
  out.state = std::move(state);
  return out;
}

}  // namespace planaris::tjoin
