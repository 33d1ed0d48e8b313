#include "polytope/odd_cycles.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/constants.hpp"

namespace planaris::odd {

namespace {

// Charged per edge, so that of equally long ways the one with fewest edges is taken.
constexpr double kHop = 1e-9;

}  // namespace

Instance::Instance(int32_t num_spins, std::span<const int32_t> edges, std::span<const double> xs)
    : ends(edges), x(xs.begin(), xs.end()) {
  for (double& value : x) value = std::clamp(value, 0.0, 1.0);
  graph.offsets.assign(num_spins + 1, 0);
  for (int32_t v : edges) ++graph.offsets[v + 1];
  for (int32_t v = 0; v < num_spins; ++v) graph.offsets[v + 1] += graph.offsets[v];
  graph.arcs.resize(edges.size());
  std::vector<int32_t> fill(graph.offsets.begin(), graph.offsets.end() - 1);
  for (size_t h = 0; h < edges.size(); ++h) {
    const auto e = static_cast<int32_t>(h / 2);
    graph.arcs[fill[edges[h]]++] = {edges[h ^ 1], {e, e}, {x[e], 1 - x[e]}};
  }
}

Search::Search(const Graph& graph)
    : graph_(graph), distance_(2 * graph.num_vertices(), kInfinity),
      via_(2 * graph.num_vertices(), -1), parent_(2 * graph.num_vertices(), -1),
      root_(2 * graph.num_vertices(), -1), settled_(2 * graph.num_vertices(), 0) {}

void Search::reset() {
  for (int32_t node : touched_) {
    distance_[node] = kInfinity;
    parent_[node] = root_[node] = via_[node] = -1;
    settled_[node] = 0;
  }
  touched_.clear();
  heap_ = {};
}

void Search::run(int32_t source, double limit, int64_t budget, const std::vector<int8_t>& dead,
                 std::vector<Walk>& out) {
  reset();
  source_ = source;
  best_.assign(graph_.degree(source), {kInfinity, -1, -1, -1});
  distance_[2 * source] = 0;
  touched_.push_back(2 * source);
  heap_.push({0.0, 2 * source});
  while (!heap_.empty() && budget > 0) {
    const auto [d, node] = heap_.top();
    heap_.pop();
    if (settled_[node]) continue;
    if (2 * d >= limit) break;
    settled_[node] = 1;
    --budget;
    settle(node, dead, limit);
  }
  // A cycle may be best for both of its edges at the source: give it once.
  for (size_t k = 0; k < best_.size(); ++k) {
    const Closing& c = best_[k];
    if (c.arc < 0) continue;
    const int32_t a = root_[c.from], b = root_[c.to ^ 1];
    const int32_t lowest = std::min(a < 0 ? b : a, b < 0 ? a : b);
    const bool repeated = lowest >= 0 && lowest < static_cast<int32_t>(k) &&
                          best_[lowest].from == c.from && best_[lowest].arc == c.arc;
    if (!repeated) out.push_back(assemble(c));
  }
}

void Search::settle(int32_t node, const std::vector<int8_t>& dead, double limit) {
  const int32_t v = node >> 1, copy = node & 1;
  for (int32_t a = graph_.offsets[v]; a < graph_.offsets[v + 1]; ++a) {
    const Arc& arc = graph_.arcs[a];
    if (dead[arc.to]) continue;
    const int32_t root = v == source_ ? a - graph_.offsets[v] : root_[node];
    for (int odd = 0; odd < 2; ++odd) {
      if (arc.edge[odd] < 0) continue;
      const double d = distance_[node] + arc.length[odd] + kHop;
      if (d >= limit) continue;
      const int32_t target = 2 * arc.to + (copy ^ odd), twin = target ^ 1;
      if (settled_[twin]) {
        const double length = d + distance_[twin];
        if (length < limit) {
          const Closing closing{length, node, 2 * a + odd, target};
          offer(root, closing);
          offer(root_[twin], closing);
        }
      }
      if (2 * d < limit && d < distance_[target]) {
        if (distance_[target] == kInfinity) touched_.push_back(target);
        distance_[target] = d;
        parent_[target] = node;
        via_[target] = 2 * a + odd;
        root_[target] = root;
        heap_.push({d, target});
      }
    }
  }
}

void Search::offer(int32_t root, const Closing& closing) {
  if (root >= 0 && closing.length < best_[root].length) best_[root] = closing;
}

// From the source to `from`, over the arc, and back along the way to the twin of `to`.
Walk Search::assemble(const Closing& closing) const {
  Walk walk;
  const auto climb = [this, &walk](int32_t node) {
    for (; parent_[node] >= 0; node = parent_[node]) {
      const Arc& arc = graph_.arcs[via_[node] >> 1];
      const int odd = via_[node] & 1;
      walk.push_back({arc.edge[odd], static_cast<int8_t>(odd)});
    }
  };
  climb(closing.from);
  std::reverse(walk.begin(), walk.end());
  const int odd = closing.arc & 1;
  walk.push_back({graph_.arcs[closing.arc >> 1].edge[odd], static_cast<int8_t>(odd)});
  climb(closing.to ^ 1);
  return walk;
}

Simplifier::Simplifier(const Instance& instance)
    : instance_(instance), place_(instance.graph.num_vertices(), -1) {}

Cycle Simplifier::simplify(const Walk& walk, int32_t start) {
  int32_t loop_start = start;
  Walk cycle = first_odd_loop(walk, start, loop_start);
  while (cycle.size() > 3 && cut_chord(cycle, loop_start)) {
  }
  if (cycle.size() < 3) return {{}, 1.0};
  double length = 0;
  for (Step s : cycle) length += instance_.length(s);
  return {std::move(cycle), length};
}

// Walks until a spin is met again: an odd loop is the answer, an even one is cut off.
Walk Simplifier::first_odd_loop(const Walk& walk, int32_t start, int32_t& loop_start) {
  Walk kept;
  std::vector<int32_t> spins{start};
  place_[start] = 0;
  int32_t at = start;
  Walk found;
  for (Step step : walk) {
    at = instance_.other_end(step.edge, at);
    kept.push_back(step);
    const int32_t back = place_[at];
    if (back < 0) {
      place_[at] = static_cast<int32_t>(spins.size());
      spins.push_back(at);
      continue;
    }
    int parity = 0;
    for (size_t k = back; k < kept.size(); ++k) parity ^= kept[k].odd;
    if (parity) {
      found.assign(kept.begin() + back, kept.end());
      loop_start = at;
      break;
    }
    kept.resize(back);
    for (size_t k = back + 1; k < spins.size(); ++k) place_[spins[k]] = -1;
    spins.resize(back + 1);
  }
  for (int32_t v : spins) place_[v] = -1;
  return found;
}

// Replaces the cycle by the shortest of those that a chord makes of it; false without chord.
bool Simplifier::cut_chord(Walk& cycle, int32_t& start) {
  const auto size = static_cast<int32_t>(cycle.size());
  std::vector<int32_t> spins(size), parity(size + 1, 0);
  std::vector<double> length(size + 1, 0);
  int32_t at = start;
  for (int32_t k = 0; k < size; ++k) {
    spins[k] = at;
    place_[at] = k;
    length[k + 1] = length[k] + instance_.length(cycle[k]);
    parity[k + 1] = parity[k] ^ cycle[k].odd;
    at = instance_.other_end(cycle[k].edge, at);
  }
  double best = kInfinity;
  int32_t from = -1, to = -1;
  Step chord{-1, 0};
  bool inner = true;
  const Graph& graph = instance_.graph;
  for (int32_t k = 0; k < size; ++k) {
    for (int32_t a = graph.offsets[spins[k]]; a < graph.offsets[spins[k] + 1]; ++a) {
      const Arc& arc = graph.arcs[a];
      const int32_t other = place_[arc.to];
      // Each chord is met from both ends; spins of huge degree leave it to the other one.
      const int32_t degree = graph.degree(spins[k]), far = graph.degree(arc.to);
      if (other < 0) {
        if (degree > 256 && degree > 8 * size) break;
        continue;
      }
      if (far < degree || (far == degree && other < k)) continue;
      const int32_t low = std::min(k, other), high = std::max(k, other);
      if (high - low == 1 || high - low == size - 1) continue;
      const int inside = parity[high] ^ parity[low];
      const double part = length[high] - length[low];
      for (bool in : {true, false}) {
        const int odd = in ? !inside : inside;
        const double total = (in ? part : length[size] - part) + arc.length[odd];
        if (total < best) {
          best = total, from = low, to = high, inner = in;
          chord = {arc.edge[odd], static_cast<int8_t>(odd)};
        }
      }
    }
  }
  for (int32_t v : spins) place_[v] = -1;
  if (chord.edge < 0) return false;
  Walk shorter;
  if (inner) {
    shorter.assign(cycle.begin() + from, cycle.begin() + to);
    shorter.push_back(chord);
    start = spins[from];
  } else {
    shorter.assign(cycle.begin(), cycle.begin() + from);
    shorter.push_back(chord);
    shorter.insert(shorter.end(), cycle.begin() + to, cycle.end());
  }
  cycle = std::move(shorter);
  return true;
}

}  // namespace planaris::odd
