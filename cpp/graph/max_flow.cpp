// Maximum flow by Boykov and Kolmogorov, "An experimental comparison of min-cut/max-flow
// algorithms" (PAMI 2004): two search trees grow from the terminals, are cut by augmentations
// and repaired by adopting orphans; distances with time stamps keep paths short.
#include "graph/max_flow.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>

#include "base/grouping.hpp"
#include "base/wide_integer.hpp"

namespace planaris {
namespace {

// Vertices and arcs are structs, not columns: what an operation needs of one lies in one
// cache line.
template <class Capacity>
class TwoTrees {
 public:
  TwoTrees(int32_t n, std::span<const int32_t> edges, Control& control)
      : vertices_(static_cast<size_t>(n) + 1), arcs_(edges.size()), arc_of_(edges.size() / 2) {
    for (const int32_t v : edges) {
      control.spend(2);
      ++vertices_[v + 1].first;
    }
    for (int32_t v = 0; v < n; ++v) vertices_[v + 1].first += vertices_[v].first;
    std::vector<int32_t> at(n);
    for (int32_t v = 0; v < n; ++v) at[v] = vertices_[v].first;
    for (size_t e = 0; e < edges.size() / 2; ++e) {
      control.spend(8);
      const int32_t u = edges[2 * e], v = edges[2 * e + 1];
      const int32_t a = at[u]++, b = at[v]++;
      arcs_[a] = {0, v, b};
      arcs_[b] = {0, u, a};
      arc_of_[e] = a;
    }
  }

  void set_capacity(size_t edge, Capacity c) {
    Arc& arc = arcs_[arc_of_[edge]];
    arc.room = arcs_[arc.twin].room = c;
  }
  void set_terminal(int32_t v, Capacity c) { vertices_[v].tie = c; }
  Capacity room(size_t edge) const { return arcs_[arc_of_[edge]].room; }
  bool on_source_side(int32_t v) const {
    return vertices_[v].parent != kNone && !vertices_[v].in_sink;
  }

  void run(Control& control) {
    for (int32_t v = 0; v + 1 < static_cast<int32_t>(vertices_.size()); ++v) {
      Vertex& vertex = vertices_[v];
      if (vertex.tie == 0) continue;
      vertex.in_sink = vertex.tie < 0;
      vertex.parent = kTerminal;
      vertex.distance = 1;
      activate(v);
    }
    while (!active_.empty()) {
      control.poll();
      const int32_t v = active_.front();
      int32_t bridge = kNone;
      if (vertices_[v].parent != kNone) {
        bridge = vertices_[v].in_sink ? grow<true>(v) : grow<false>(v);
      }
      ++time_;
      if (bridge == kNone) {
        active_.pop_front();
        vertices_[v].queued = false;
        continue;
      }
      augment(bridge);
      while (!orphans_.empty()) {
        control.poll();
        const int32_t orphan = orphans_.front();
        orphans_.pop_front();
        vertices_[orphan].in_sink ? adopt<true>(orphan) : adopt<false>(orphan);
      }
    }
  }

 private:
  // Parent of a vertex: an arc from it, or one of these.
  static constexpr int32_t kNone = -1, kTerminal = -2, kOrphan = -3;

  struct Vertex {
    Capacity tie = 0;  // residual capacity from the source (> 0) or to the sink (< 0)
    int64_t stamp = 0;
    int32_t first = 0;  // its arcs end where those of the next vertex begin
    int32_t parent = kNone, distance = 0;
    bool in_sink = false, queued = false;
  };
  struct Arc {
    Capacity room;  // residual capacity
    int32_t head, twin;
  };

  void activate(int32_t v) {
    if (vertices_[v].queued) return;
    vertices_[v].queued = true;
    active_.push_back(v);
  }

  // Residual capacity of an arc in the tree's direction, away from the vertex in the source's
  // tree and towards it in the sink's.
  template <bool kSink>
  Capacity outward(const Arc& arc) const {
    return kSink ? arcs_[arc.twin].room : arc.room;
  }
  template <bool kSink>
  Capacity inward(const Arc& arc) const {
    return kSink ? arc.room : arcs_[arc.twin].room;
  }

  // Returns an arc with room from the source's tree to the sink's, if the vertex meets one.
  template <bool kSink>
  int32_t grow(int32_t v) {
    const Vertex& from = vertices_[v];
    for (int32_t a = from.first, end = vertices_[v + 1].first; a < end; ++a) {
      const Arc& arc = arcs_[a];
      if (outward<kSink>(arc) == 0) continue;
      Vertex& to = vertices_[arc.head];
      if (to.parent == kNone) {
        to.in_sink = kSink;
        to.parent = arc.twin;
        to.stamp = from.stamp;
        to.distance = from.distance + 1;
        activate(arc.head);
      } else if (to.in_sink != kSink) {
        return kSink ? arc.twin : a;
      } else if (to.stamp <= from.stamp && to.distance > from.distance) {
        to.parent = arc.twin;  // a shorter way to the terminal
        to.stamp = from.stamp;
        to.distance = from.distance + 1;
      }
    }
    return kNone;
  }

  void orphan(int32_t v) {
    vertices_[v].parent = kOrphan;
    orphans_.push_front(v);
  }

  // Least room on the way from v to its terminal; rooms towards the source's vertices are
  // those of the twins.
  template <bool kSink>
  Capacity bottleneck(int32_t v, Capacity amount) const {
    for (int32_t a; (a = vertices_[v].parent) != kTerminal; v = arcs_[a].head) {
      amount = std::min(amount, inward<kSink>(arcs_[a]));
    }
    return std::min<Capacity>(amount, kSink ? -vertices_[v].tie : vertices_[v].tie);
  }

  template <bool kSink>
  void push(int32_t v, Capacity amount) {
    for (int32_t a; (a = vertices_[v].parent) != kTerminal;) {
      Arc& arc = arcs_[a];
      Arc& twin = arcs_[arc.twin];
      (kSink ? twin : arc).room += amount;
      Capacity& left = (kSink ? arc : twin).room;
      left -= amount;
      const int32_t next = arc.head;
      if (left == 0) orphan(v);
      v = next;
    }
    vertices_[v].tie += kSink ? amount : -amount;
    if (vertices_[v].tie == 0) orphan(v);
  }

  void augment(int32_t bridge) {
    const int32_t tail = arcs_[arcs_[bridge].twin].head, head = arcs_[bridge].head;
    const Capacity amount = bottleneck<true>(head, bottleneck<false>(tail, arcs_[bridge].room));
    arcs_[bridge].room -= amount;
    arcs_[arcs_[bridge].twin].room += amount;
    push<false>(tail, amount);
    push<true>(head, amount);
  }

  // Distance of v to its terminal, or none if its ancestors end in an orphan.
  int32_t trace(int32_t v) {
    for (int32_t steps = 0;;) {
      Vertex& vertex = vertices_[v];
      if (vertex.stamp == time_) return steps + vertex.distance;
      ++steps;
      if (vertex.parent == kTerminal) {
        vertex.stamp = time_;
        vertex.distance = 1;
        return steps;
      }
      if (vertex.parent < 0) return std::numeric_limits<int32_t>::max();
      v = arcs_[vertex.parent].head;
    }
  }

  template <bool kSink>
  void adopt(int32_t v) {
    constexpr int32_t kFar = std::numeric_limits<int32_t>::max();
    const int32_t begin = vertices_[v].first, end = vertices_[v + 1].first;
    int32_t best = kNone, nearest = kFar;
    for (int32_t a = begin; a < end; ++a) {
      const Vertex& near = vertices_[arcs_[a].head];
      if (near.in_sink != kSink || near.parent == kNone) continue;
      if (inward<kSink>(arcs_[a]) == 0) continue;
      int32_t d = trace(arcs_[a].head);
      if (d == kFar) continue;
      if (d < nearest) {
        nearest = d;
        best = a;
      }
      for (int32_t w = arcs_[a].head; vertices_[w].stamp != time_;) {
        vertices_[w].stamp = time_;
        vertices_[w].distance = d--;
        w = arcs_[vertices_[w].parent].head;
      }
    }
    Vertex& child = vertices_[v];
    child.parent = best;
    if (best != kNone) {
      child.stamp = time_;
      child.distance = nearest + 1;
      return;
    }
    for (int32_t a = begin; a < end; ++a) {
      Vertex& near = vertices_[arcs_[a].head];
      if (near.in_sink != kSink || near.parent == kNone) continue;
      if (inward<kSink>(arcs_[a]) != 0) activate(arcs_[a].head);
      if (near.parent >= 0 && arcs_[near.parent].head == v) {
        near.parent = kOrphan;
        orphans_.push_back(arcs_[a].head);
      }
    }
  }

  std::vector<Vertex> vertices_;  // and one more, which ends the last one's arcs
  std::vector<Arc> arcs_;
  std::vector<int32_t> arc_of_;
  std::deque<int32_t> active_, orphans_;
  int64_t time_ = 0;
};

// Exponents of the largest and of the last bit set among all weights.
struct BitRange {
  int high = std::numeric_limits<int>::min(), low = std::numeric_limits<int>::max();

  void include(double x) {
    if (x == 0.0) return;
    int exponent;
    const auto whole = static_cast<int64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 53));
    high = std::max(high, exponent);
    low = std::min(low, exponent - 53 + std::countr_zero(static_cast<uint64_t>(whole)));
  }
};

// x / 2^unit to the nearest integer.
template <class Integer>
Integer to_units(double x, int unit) {
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  const auto whole = static_cast<int64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 - unit;
  if (shift >= 0) return shifted(static_cast<Integer>(whole), shift);
  return static_cast<Integer>(std::nearbyint(std::ldexp(x, -unit)));  // below 2^53
}

template <class Integer>
CutResult cut_with(std::span<const int32_t> edges, std::span<const double> capacities,
                   std::span<const double> terminals, int unit, Control& control) {
  const auto n = static_cast<int32_t>(terminals.size());
  CutResult result;
  result.bits = 8 * sizeof(Integer);
  TwoTrees<Integer> trees(n, edges, control);
  const auto convert = [&](double x) {
    if (x == 0.0) return Integer{0};
    const auto whole = to_units<Integer>(x, unit);
    result.rounding += std::abs(std::ldexp(as_double(whole), unit) - x);
    return whole;
  };
  std::vector<Integer> whole(capacities.size());
  for (size_t e = 0; e < capacities.size(); ++e) {
    control.spend(8);
    whole[e] = convert(capacities[e]);
    trees.set_capacity(e, whole[e]);
  }
  for (int32_t v = 0; v < n; ++v) {
    control.spend(8);
    trees.set_terminal(v, convert(terminals[v]));
  }
  trees.run(control);
  result.source_side.resize(n);
  for (int32_t v = 0; v < n; ++v) result.source_side[v] = trees.on_source_side(v);
  result.flow.resize(capacities.size());
  for (size_t e = 0; e < capacities.size(); ++e) {
    control.spend(8);
    result.flow[e] = std::ldexp(as_double(whole[e] - trees.room(e)), unit);
  }
  return result;
}

}  // namespace

CutResult minimum_cut(std::span<const int32_t> edges, std::span<const double> capacities,
                      std::span<const double> terminals, Control& control) {
  if (edges.size() != 2 * capacities.size()) throw std::invalid_argument("edges: wrong length");
  BitRange range;
  for (const double x : capacities) {
    control.spend(8);
    if (!(x >= 0.0)) throw std::invalid_argument("capacities: must not be negative");
    range.include(x);
  }
  for (const double x : terminals) range.include(x);
  if (range.high < range.low) range.high = range.low = 0;
  // A residual capacity is at most twice a capacity; the sum of all never arises.
  const int bits = range.high + 2 - range.low;
  if (bits <= 62) return cut_with<int64_t>(edges, capacities, terminals, range.low, control);
  const int unit = std::max(range.low, range.high + 2 - 124);
  return cut_with<Int128>(edges, capacities, terminals, unit, control);
}

SignedForest balance_signs(int32_t n, std::span<const int32_t> edges,
                           std::span<const double> couplings) {
  const auto [first, arcs] = group_by_key(n, edges);

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
        const auto sign =
            static_cast<int8_t>(couplings[e] > 0 ? result.gauge[v] : -result.gauge[v]);
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
                    std::vector<int8_t>& spins, int sweeps, Control& control) {
  const auto n = static_cast<int32_t>(fields.size());
  const auto [first, arcs] = group_by_key(n, edges);
  for (int sweep = 0, flips = 1; sweep < sweeps && flips > 0; ++sweep) {
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
