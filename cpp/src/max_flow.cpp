// Maximum flow by Boykov and Kolmogorov, "An experimental comparison of min-cut/max-flow
// algorithms" (PAMI 2004): two search trees grow from the terminals, are cut by augmentations
// and repaired by adopting orphans; distances with time stamps keep paths short.
#include "planaris/max_flow.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>

namespace planaris {
namespace {

template <class Capacity>
class TwoTrees {
 public:
  TwoTrees(int32_t n, std::span<const int32_t> edges)
      : n_(n), first_(static_cast<size_t>(n) + 1, 0), head_(edges.size()), twin_(edges.size()),
        arc_of_(edges.size() / 2), room_(edges.size()), tie_(n, 0), parent_(n, kNone), stamp_(n, 0),
        distance_(n, 0), in_sink_(n, 0), queued_(n, 0) {
    for (const int32_t v : edges) ++first_[v + 1];
    for (int32_t v = 0; v < n; ++v) first_[v + 1] += first_[v];
    std::vector<int32_t> at(first_.begin(), first_.end() - 1);
    for (size_t e = 0; e < edges.size() / 2; ++e) {
      const int32_t u = edges[2 * e], v = edges[2 * e + 1];
      const int32_t a = at[u]++, b = at[v]++;
      head_[a] = v;
      head_[b] = u;
      twin_[a] = b;
      twin_[b] = a;
      arc_of_[e] = a;
    }
  }

  void set_capacity(size_t edge, Capacity c) {
    room_[arc_of_[edge]] = room_[twin_[arc_of_[edge]]] = c;
  }
  void set_terminal(int32_t v, Capacity c) { tie_[v] = c; }
  Capacity room(size_t edge) const { return room_[arc_of_[edge]]; }
  bool on_source_side(int32_t v) const { return parent_[v] != kNone && !in_sink_[v]; }

  void run(Control& control) {
    for (int32_t v = 0; v < n_; ++v) {
      if (tie_[v] == 0) continue;
      in_sink_[v] = tie_[v] < 0;
      parent_[v] = kTerminal;
      distance_[v] = 1;
      activate(v);
    }
    while (!active_.empty()) {
      control.poll();
      const int32_t v = active_.front();
      int32_t bridge = kNone;
      if (parent_[v] != kNone) bridge = in_sink_[v] ? grow<true>(v) : grow<false>(v);
      ++time_;
      if (bridge == kNone) {
        active_.pop_front();
        queued_[v] = 0;
        continue;
      }
      augment(bridge);
      while (!orphans_.empty()) {
        const int32_t orphan = orphans_.front();
        orphans_.pop_front();
        in_sink_[orphan] ? adopt<true>(orphan) : adopt<false>(orphan);
      }
    }
  }

 private:
  // Parent of a vertex: an arc from it, or one of these.
  static constexpr int32_t kNone = -1, kTerminal = -2, kOrphan = -3;

  void activate(int32_t v) {
    if (queued_[v]) return;
    queued_[v] = 1;
    active_.push_back(v);
  }

  // Residual capacity of arc a in the tree's direction, away from the vertex in the source's
  // tree and towards it in the sink's.
  template <bool kSink>
  Capacity outward(int32_t a) const {
    return kSink ? room_[twin_[a]] : room_[a];
  }

  // Returns an arc with room from the source's tree to the sink's, if the vertex meets one.
  template <bool kSink>
  int32_t grow(int32_t v) {
    for (int32_t a = first_[v]; a < first_[v + 1]; ++a) {
      if (outward<kSink>(a) == 0) continue;
      const int32_t u = head_[a];
      if (parent_[u] == kNone) {
        in_sink_[u] = kSink;
        parent_[u] = twin_[a];
        stamp_[u] = stamp_[v];
        distance_[u] = distance_[v] + 1;
        activate(u);
      } else if (in_sink_[u] != kSink) {
        return kSink ? twin_[a] : a;
      } else if (stamp_[u] <= stamp_[v] && distance_[u] > distance_[v]) {
        parent_[u] = twin_[a];  // a shorter way to the terminal
        stamp_[u] = stamp_[v];
        distance_[u] = distance_[v] + 1;
      }
    }
    return kNone;
  }

  void orphan(int32_t v) {
    parent_[v] = kOrphan;
    orphans_.push_front(v);
  }

  void augment(int32_t bridge) {
    Capacity amount = room_[bridge];
    int32_t v = head_[twin_[bridge]];
    for (; parent_[v] != kTerminal; v = head_[parent_[v]]) {
      amount = std::min(amount, room_[twin_[parent_[v]]]);
    }
    amount = std::min(amount, tie_[v]);
    for (v = head_[bridge]; parent_[v] != kTerminal; v = head_[parent_[v]]) {
      amount = std::min(amount, room_[parent_[v]]);
    }
    amount = std::min<Capacity>(amount, -tie_[v]);

    room_[bridge] -= amount;
    room_[twin_[bridge]] += amount;
    for (v = head_[twin_[bridge]];;) {
      const int32_t a = parent_[v];
      if (a == kTerminal) break;
      const int32_t next = head_[a];
      room_[a] += amount;
      if ((room_[twin_[a]] -= amount) == 0) orphan(v);
      v = next;
    }
    if ((tie_[v] -= amount) == 0) orphan(v);
    for (v = head_[bridge];;) {
      const int32_t a = parent_[v];
      if (a == kTerminal) break;
      const int32_t next = head_[a];
      room_[twin_[a]] += amount;
      if ((room_[a] -= amount) == 0) orphan(v);
      v = next;
    }
    if ((tie_[v] += amount) == 0) orphan(v);
  }

  // Distance of v to its terminal, or none if its ancestors end in an orphan.
  int32_t trace(int32_t v) {
    int32_t steps = 0;
    for (;;) {
      if (stamp_[v] == time_) return steps + distance_[v];
      const int32_t a = parent_[v];
      ++steps;
      if (a == kTerminal) {
        stamp_[v] = time_;
        distance_[v] = 1;
        return steps;
      }
      if (a < 0) return std::numeric_limits<int32_t>::max();
      v = head_[a];
    }
  }

  template <bool kSink>
  void adopt(int32_t v) {
    constexpr int32_t kFar = std::numeric_limits<int32_t>::max();
    int32_t best = kNone, nearest = kFar;
    for (int32_t a = first_[v]; a < first_[v + 1]; ++a) {
      const int32_t u = head_[a];
      if (outward<kSink>(twin_[a]) == 0 || in_sink_[u] != kSink || parent_[u] == kNone) continue;
      int32_t d = trace(u);
      if (d == kFar) continue;
      if (d < nearest) {
        nearest = d;
        best = a;
      }
      for (int32_t w = u; stamp_[w] != time_; w = head_[parent_[w]]) {
        stamp_[w] = time_;
        distance_[w] = d--;
      }
    }
    parent_[v] = best;
    if (best != kNone) {
      stamp_[v] = time_;
      distance_[v] = nearest + 1;
      return;
    }
    for (int32_t a = first_[v]; a < first_[v + 1]; ++a) {
      const int32_t u = head_[a];
      if (in_sink_[u] != kSink || parent_[u] == kNone) continue;
      if (outward<kSink>(twin_[a]) != 0) activate(u);
      if (parent_[u] >= 0 && head_[parent_[u]] == v) {
        parent_[u] = kOrphan;
        orphans_.push_back(u);
      }
    }
  }

  int32_t n_;
  std::vector<int32_t> first_, head_, twin_, arc_of_;
  std::vector<Capacity> room_;  // residual capacity by arc
  std::vector<Capacity> tie_;   // residual capacity from the source (> 0) or to the sink (< 0)
  std::vector<int32_t> parent_;
  std::vector<int64_t> stamp_;
  std::vector<int32_t> distance_;
  std::vector<uint8_t> in_sink_, queued_;
  std::deque<int32_t> active_, orphans_;
  int64_t time_ = 0;
};

// Exponents of the largest and of the last bit set among all weights.
struct BitRange {
  int high = std::numeric_limits<int>::min(), low = std::numeric_limits<int>::max();

  void include(double x) {
    if (x == 0.0) return;
    int exponent;
    const auto whole =
        static_cast<int64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 53));
    high = std::max(high, exponent);
    low = std::min(low, exponent - 53 + __builtin_ctzll(static_cast<uint64_t>(whole)));
  }
};

// x / 2^unit to the nearest integer.
template <class Integer>
Integer to_units(double x, int unit) {
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  const auto whole = static_cast<int64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 - unit;
  if (shift >= 0) return static_cast<Integer>(whole) * (static_cast<Integer>(1) << shift);
  return static_cast<Integer>(std::nearbyint(std::ldexp(x, -unit)));
}

template <class Integer>
CutResult cut_with(std::span<const int32_t> edges, std::span<const double> capacities,
                   std::span<const double> terminals, int unit, Control& control) {
  const auto n = static_cast<int32_t>(terminals.size());
  CutResult result;
  result.bits = 8 * sizeof(Integer);
  TwoTrees<Integer> trees(n, edges);
  const auto convert = [&](double x) {
    if (x == 0.0) return Integer{0};
    const auto whole = to_units<Integer>(x, unit);
    result.rounding += std::abs(std::ldexp(static_cast<double>(whole), unit) - x);
    return whole;
  };
  std::vector<Integer> whole(capacities.size());
  for (size_t e = 0; e < capacities.size(); ++e) {
    whole[e] = convert(capacities[e]);
    trees.set_capacity(e, whole[e]);
  }
  for (int32_t v = 0; v < n; ++v) trees.set_terminal(v, convert(terminals[v]));
  trees.run(control);
  result.source_side.resize(n);
  for (int32_t v = 0; v < n; ++v) result.source_side[v] = trees.on_source_side(v);
  result.flow.resize(capacities.size());
  for (size_t e = 0; e < capacities.size(); ++e) {
    result.flow[e] = std::ldexp(static_cast<double>(whole[e] - trees.room(e)), unit);
  }
  return result;
}

}  // namespace

CutResult minimum_cut(std::span<const int32_t> edges, std::span<const double> capacities,
                      std::span<const double> terminals, Control& control) {
  if (edges.size() != 2 * capacities.size()) throw std::invalid_argument("edges: wrong length");
  BitRange range;
  for (const double x : capacities) {
    if (!(x >= 0.0)) throw std::invalid_argument("capacities: must not be negative");
    range.include(x);
  }
  for (const double x : terminals) range.include(x);
  if (range.high < range.low) range.high = range.low = 0;
  // A residual capacity is at most twice a capacity; the sum of all never arises.
  const int bits = range.high + 2 - range.low;
  if (bits <= 62) return cut_with<int64_t>(edges, capacities, terminals, range.low, control);
  const int unit = std::max(range.low, range.high + 2 - 124);
  return cut_with<__int128>(edges, capacities, terminals, unit, control);
}

SignedForest balance_signs(int32_t n, std::span<const int32_t> edges,
                           std::span<const double> couplings) {
  std::vector<int32_t> first(static_cast<size_t>(n) + 1, 0), arcs(edges.size());
  for (const int32_t v : edges) ++first[v + 1];
  for (int32_t v = 0; v < n; ++v) first[v + 1] += first[v];
  std::vector<int32_t> at(first.begin(), first.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i) arcs[at[edges[i]]++] = static_cast<int32_t>(i);

  SignedForest result;
  result.gauge.assign(n, 0);
  std::vector<int32_t> up(n, -1), depth(n, 0), queue;  // up: the arc that reached a vertex
  for (int32_t root = 0; root < n; ++root) {
    if (result.gauge[root]) continue;
    result.gauge[root] = 1;
    queue.assign(1, root);
    for (size_t i = 0; i < queue.size(); ++i) {
      const int32_t v = queue[i];
      for (int32_t k = first[v]; k < first[v + 1]; ++k) {
        const int32_t e = arcs[k] / 2, u = edges[arcs[k] ^ 1];
        if (couplings[e] == 0.0) continue;
        const auto sign = static_cast<int8_t>(couplings[e] > 0 ? result.gauge[v] : -result.gauge[v]);
        if (result.gauge[u] == 0) {
          result.gauge[u] = sign;
          up[u] = arcs[k];
          depth[u] = depth[v] + 1;
          queue.push_back(u);
        } else if (result.gauge[u] != sign) {
          result.frustrated.push_back(e);
          for (int32_t a = u, b = v; a != b;) {
            int32_t& deeper = depth[a] >= depth[b] ? a : b;
            result.frustrated.push_back(up[deeper] / 2);
            deeper = edges[up[deeper]];
          }
          return result;
        }
      }
    }
  }
  return result;
}

void descend_energy(std::span<const int32_t> edges, std::span<const double> couplings,
                    std::span<const double> fields, std::span<const uint8_t> fixed,
                    std::vector<int8_t>& spins, Control& control) {
  const auto n = static_cast<int32_t>(fields.size());
  std::vector<int32_t> first(static_cast<size_t>(n) + 1, 0), arcs(edges.size());
  for (const int32_t v : edges) ++first[v + 1];
  for (int32_t v = 0; v < n; ++v) first[v + 1] += first[v];
  std::vector<int32_t> at(first.begin(), first.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i) arcs[at[edges[i]]++] = static_cast<int32_t>(i);
  constexpr int kSweeps = 200;
  for (int sweep = 0, flips = 1; sweep < kSweeps && flips > 0; ++sweep) {
    flips = 0;
    for (int32_t v = 0; v < n; ++v) {
      control.poll();
      if (fixed[v]) continue;
      double pull = fields[v];
      for (int32_t k = first[v]; k < first[v + 1]; ++k) {
        pull += couplings[arcs[k] / 2] * spins[edges[arcs[k] ^ 1]];
      }
      if (pull * spins[v] < 0.0) {
        spins[v] = static_cast<int8_t>(-spins[v]);
        ++flips;
      }
    }
  }
}

}  // namespace planaris
