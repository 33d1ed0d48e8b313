#include "embedding/drawing.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "embedding/ordered_list.hpp"
#include "embedding/sweep_order.hpp"
#include "graph/biconnected.hpp"

namespace planaris {

namespace {

constexpr int32_t kNone = OrderedList::kNone;

// What is wrong with a drawing, numbered as the caller does.
struct Fault {
  Flaw flaw = Flaw::none;
  int32_t first = -1, second = -1;

  Fault() = default;
  Fault(Flaw what, int32_t a, int32_t b)
      : flaw(what), first(std::min(a, b)), second(std::max(a, b)) {
    if (flaw == Flaw::through_vertex) first = a, second = b;  // an edge and a vertex
  }
};

// The sweep of Shamos and Hoey (1976) over the vertices [low, high), stopped at the first flaw. It
// begins with `crossing`, the segments that cross the line in front of `low`. If nothing to the
// left of that line is wrong, it does what one sweep over all vertices does there.
class StripSweep {
 public:
  StripSweep(const SweepOrder& order, int32_t low, int32_t high, std::vector<int32_t> crossing,
             UnwrittenVector<int32_t>& an_incoming, Drawing& drawing)
      : g_(order), low_(low), high_(high), an_incoming_(an_incoming), drawing_(drawing) {
    // Sorted by merging: where edges cross, this is no order.
    std::stable_sort(crossing.begin(), crossing.end(),
                     [this](int32_t s, int32_t t) { return lies_below(s, t); });
    for (int32_t v = low; v < high; ++v) an_incoming_[v] = kNone;
    int32_t last = kNone;
    for (const int32_t s : crossing) last = append(last, s);
  }

  template <class Look>
  Fault run(const Look& look) {
    for (int32_t v = low_; v < high_; ++v) {
      if (v % 4096 == 0) look();
      if (g_.degree(v) > 0 && !pass(v)) return fault_;
    }
    return {};
  }

 private:
  const Segment& segment(int32_t node) { return g_.segments[status_.value(node)]; }
  const Point& left_end(const Segment& s) const { return g_.points[s.left]; }
  const Point& right_end(const Segment& s) const { return g_.points[s.right]; }

  bool fail(Flaw flaw, int32_t first, int32_t second) {
    fault_ = {flaw, first, second};
    return false;
  }

  // Whether s lies below t, where both cross one line and nothing to the left of it is wrong.
  bool lies_below(int32_t s, int32_t t) const {
    const Segment &a = g_.segments[s], &b = g_.segments[t];
    if (a.left == b.left) return s < t;
    if (a.left > b.left) return orientation(left_end(b), right_end(b), left_end(a)) < 0;
    return orientation(left_end(a), right_end(a), left_end(b)) > 0;
  }

  int32_t append(int32_t last, int32_t s) {
    last = status_.insert_after(last, s);
    arrive(s, last);
    return last;
  }
  void arrive(int32_t s, int32_t node) {
    const int32_t right = g_.segments[s].right;
    if (right < high_) an_incoming_[right] = node;  // the others are those of later strips
  }

  // Moves the sweep line over vertex v; false if a flaw shows up.
  bool pass(int32_t v) {
    int32_t below = kNone, above = kNone, node = an_incoming_[v];
    int32_t* slot = &drawing_.rotation[drawing_.offsets[g_.vertex[v]]];
    for (int32_t s = g_.first[v]; s < g_.first[v + 1]; ++s) *slot++ = g_.segments[s].half_edge;
    if (node == kNone) {
      if (!locate(v, below)) return false;
      above = below == kNone ? status_.first() : status_.next(below);
    } else {  // segments that end here lie side by side on the sweep line
      while (above = status_.next(node), above != kNone && segment(above).right == v) node = above;
      int32_t met = 0;
      for (below = node; below != kNone && segment(below).right == v;
           below = status_.previous(below)) {
        *slot++ = segment(below).half_edge ^ 1;
        ++met;
      }
      if (met != g_.incoming[v]) throw std::logic_error("sweep line out of order");
    }
    replace(v, below, above);
    const int32_t lowest = below == kNone ? status_.first() : status_.next(below);
    const int32_t highest = above == kNone ? kNone : status_.previous(above);
    if (lowest == above) return apart(below, above);
    return apart(below, lowest) && apart(highest, above);
  }

  bool locate(int32_t v, int32_t& below) {
    int32_t touched = kNone;
    below = status_.last_below([&](int32_t s) {
      const Segment& segment = g_.segments[s];
      const int side = orientation(left_end(segment), right_end(segment), g_.points[v]);
      if (side == 0) touched = s;
      return side > 0;
    });
    if (touched == kNone) return true;
    return fail(Flaw::through_vertex, g_.segments[touched].half_edge >> 1, g_.vertex[v]);
  }

  // Puts the segments that leave v where those that end there were, reusing their nodes.
  void replace(int32_t v, int32_t below, int32_t above) {
    int32_t last = below;
    int32_t old = below == kNone ? status_.first() : status_.next(below);
    for (int32_t s = g_.first[v]; s < g_.first[v + 1]; ++s) {
      if (old == above) {
        last = append(last, s);
        continue;
      }
      last = old;
      status_.value(last) = s;
      arrive(s, last);
      old = status_.next(last);
    }
    while (old != above) {
      const int32_t next = status_.next(old);
      status_.erase(old);
      old = next;
    }
  }

  // Whether neighbours on the sweep line stay apart until the first of them ends.
  bool apart(int32_t below, int32_t above) {
    if (below == kNone || above == kNone) return true;
    const Segment &low = segment(below), &high = segment(above);
    if (low.right == high.right) return true;
    const bool good = low.right < high.right
                          ? orientation(left_end(high), right_end(high), right_end(low)) < 0
                          : orientation(left_end(low), right_end(low), right_end(high)) > 0;
    return good || fail(Flaw::crossing, low.half_edge >> 1, high.half_edge >> 1);
  }

  const SweepOrder& g_;
  int32_t low_, high_;
  UnwrittenVector<int32_t>& an_incoming_;  // of each vertex: a node of the status that ends there
  Drawing& drawing_;
  OrderedList status_;  // segments on the sweep line, bottom to top
  Fault fault_;
};

// Vertical strips of a drawing, swept at the same time.
class Strips {
 public:
  Strips(const SweepOrder& order, int32_t least, Team& team) : g_(order), team_(team) {
    const int64_t most = team.threads() == 1 ? 1 : 4 * int64_t{team.threads()};
    count_ = std::clamp<int64_t>(g_.num_vertices() / least, 1, most);
    find_long();
    size_t all = 0;
    for (const auto& list : long_) all += list.size();
    if (all <= size_t(g_.num_vertices()) / 8) return;
    count_ = 1;  // long edges: they would be sorted in front of every strip
    find_long();
  }

  // The first flaw that one sweep from left to right meets.
  Fault sweep(Drawing& drawing) {
    UnwrittenVector<int32_t> an_incoming(g_.num_vertices());
    std::vector<Fault> found(count_);
    std::vector<std::exception_ptr> lost(count_);
    team_.work(size_t(count_), [&](int worker, int k) {
      StripSweep strip(g_, begin(k), begin(k + 1), crossing(k), an_incoming, drawing);
      try {
        found[k] = strip.run([&] { team_.check(worker); });
      } catch (const std::logic_error&) {
        lost[k] = std::current_exception();  // what comes after a flaw is in no order
      }
    });
    for (int64_t k = 0; k < count_; ++k) {
      if (lost[k]) std::rethrow_exception(lost[k]);
      if (found[k].flaw != Flaw::none) return found[k];
    }
    return {};
  }

  // The leftmost vertex of a component sees its outer face left of its topmost edge.
  std::vector<int32_t> outer() {
    UnwrittenVector<int32_t> parent(g_.num_vertices());
    const auto find = [&parent](int32_t v) {
      while (parent[v] != v) v = parent[v] = parent[parent[v]];
      return v;
    };
    const auto join = [&](const Segment& s) {
      const int32_t a = find(s.left), b = find(s.right);
      if (a < b)
        parent[b] = a;
      else
        parent[a] = b;
    };
    team_.work(size_t(count_), [&](int worker, int k) {
      team_.check(worker);
      const int32_t high = begin(k + 1);
      std::iota(parent.begin() + begin(k), parent.begin() + high, begin(k));
      for (int32_t s = g_.first[begin(k)]; s < g_.first[high]; ++s) {
        if (g_.segments[s].right < high) join(g_.segments[s]);
      }
    });
    for (const auto& list : long_) {
      for (const int32_t s : list) join(g_.segments[s]);
    }
    std::vector<int32_t> outer;
    for (int32_t v = 0; v < g_.num_vertices(); ++v) {
      if (parent[v] != v || g_.degree(v) == 0) continue;
      outer.push_back(g_.segments[g_.first[v + 1] - 1].half_edge);
    }
    return outer;
  }

 private:
  int32_t begin(int64_t k) const { return int32_t(g_.num_vertices() * k / count_); }

  // Segments that leave the strip of their left ends.
  void find_long() {
    long_.assign(count_, {});
    if (count_ == 1) return;
    team_.work(size_t(count_), [&](int, int k) {
      const int32_t high = begin(k + 1);
      for (int32_t s = g_.first[begin(k)]; s < g_.first[high]; ++s) {
        if (g_.segments[s].right >= high) long_[k].push_back(s);
      }
    });
  }

  // Segments that cross the line in front of strip k.
  std::vector<int32_t> crossing(int64_t k) const {
    std::vector<int32_t> found;
    for (int64_t before = 0; before < k; ++before) {
      for (const int32_t s : long_[before]) {
        if (g_.segments[s].right >= begin(k)) found.push_back(s);
      }
    }
    return found;
  }

  const SweepOrder& g_;
  Team& team_;
  int64_t count_ = 1;
  std::vector<std::vector<int32_t>> long_;  // by strip
};

Drawing sweep(SweepOrder& order, int32_t least_strip, Team& team) {
  Drawing drawing;
  const auto fails = [&drawing](const Fault& fault) {
    drawing.flaw = fault.flaw, drawing.first = fault.first, drawing.second = fault.second;
    if (fault.flaw != Flaw::none) drawing.rotation.clear();
    return fault.flaw != Flaw::none;
  };
  team.check(0);
  if (const auto [u, v] = order.coincident(team); v >= 0) {
    fails({Flaw::same_place, order.vertex[u], order.vertex[v]});
    return drawing;
  }
  if (const auto [e, f] = order.sort_fans(team); f >= 0) {
    fails({Flaw::overlap, e, f});
    return drawing;
  }
  team.check(0);
  drawing.offsets = order.rotation_offsets(team);
  drawing.rotation.resize(2 * order.segments.size());
  Strips strips(order, least_strip, team);
  if (!fails(strips.sweep(drawing))) drawing.outer = strips.outer();
  return drawing;
}

}  // namespace

Drawing embed_drawing(int32_t num_vertices, std::span<const int32_t> edges,
                      std::span<const double> positions, Control& control, int32_t least_strip) {
  if (positions.size() != 2 * static_cast<size_t>(num_vertices)) {
    throw std::invalid_argument("two coordinates per vertex are needed");
  }
  Team team(control.threads(), control);
  const auto all = [&team](size_t count, auto&& holds) {
    std::atomic<bool> good{true};
    const auto parts = Team::parts(double(count));
    team.split(int64_t(count), parts, [&](int64_t low, int64_t high, int) {
      bool fine = true;
      for (int64_t i = low; i < high; ++i) fine &= holds(i);
      if (!fine) good = false;
    });
    return good.load();
  };
  if (!all(edges.size() / 2, [&](int64_t e) { return edges[2 * e] != edges[2 * e + 1]; })) {
    throw std::invalid_argument("an edge joins a vertex with itself");
  }
  if (!all(positions.size(), [&](int64_t i) { return std::isfinite(positions[i]); })) {
    throw std::invalid_argument("coordinates must be finite");
  }
  if (!all(edges.size(), [&](int64_t i) { return edges[i] >= 0 && edges[i] < num_vertices; })) {
    require_vertices(num_vertices, edges);  // throws
  }
  SweepOrder order(num_vertices, edges, positions, team);
  return sweep(order, least_strip, team);
}

}  // namespace planaris
