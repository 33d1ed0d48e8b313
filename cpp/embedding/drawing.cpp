#include "embedding/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "embedding/ordered_list.hpp"
#include "embedding/predicates.hpp"
#include "graph/biconnected.hpp"

namespace planaris {

namespace {

constexpr int32_t kNone = OrderedList::kNone;

// An edge as the sweep sees it: from its left end to its right end (ranks in sweep order).
struct Segment {
  int32_t left, right;
  int32_t half_edge;  // leaves the left end
};

// Shamos and Hoey's sweep (1976) stopped at the first flaw. Vertices are renumbered in sweep
// order, so that all memory touched around a vertex is near the sweep line.
class Sweep {
 public:
  Sweep(int32_t num_vertices, std::span<const int32_t> edges, std::span<const double> positions,
        Control& control)
      : n_(num_vertices), edges_(edges), control_(control) {
    sort_vertices(positions);
  }

  Drawing run() {
    group_segments();
    if (find_coincident() || !sort_fans()) return std::move(drawing_);
    lay_out_rotation();
    for (int32_t v = 0; v < n_; ++v) {
      control_.spend(8);
      if (degree(v) > 0 && !pass(v)) {
        drawing_.rotation.clear();
        return std::move(drawing_);
      }
    }
    find_outer();
    return std::move(drawing_);
  }

 private:
  void sort_vertices(std::span<const double> positions) {
    struct Item {
      Point point;
      int32_t vertex;
    };
    std::vector<Item> items(n_);
    for (int32_t v = 0; v < n_; ++v) items[v] = {{positions[2 * v], positions[2 * v + 1]}, v};
    std::sort(items.begin(), items.end(),
              [this](const Item& a, const Item& b) {
                control_.spend(8);
                return a.point < b.point;
              });
    rank_.resize(n_);
    points_.reserve(n_);
    vertex_.reserve(n_);
    for (const Item& item : items) {
      rank_[item.vertex] = static_cast<int32_t>(points_.size());
      points_.push_back(item.point);
      vertex_.push_back(item.vertex);
    }
  }

  bool fail(Flaw flaw, int32_t first, int32_t second) {
    drawing_.flaw = flaw;
    drawing_.first = std::min(first, second);
    drawing_.second = std::max(first, second);
    if (flaw == Flaw::through_vertex) drawing_.first = first, drawing_.second = second;
    return false;
  }

  int32_t degree(int32_t v) const { return first_[v + 1] - first_[v] + incoming_[v]; }

  bool find_coincident() {
    for (int32_t v = 0, last = kNone; v < n_; ++v) {
      if (degree(v) == 0) continue;
      if (last != kNone && points_[v] == points_[last]) {
        fail(Flaw::same_place, vertex_[last], vertex_[v]);
        return true;
      }
      last = v;
    }
    return false;
  }

  // Groups the segments by left end. Looking up the ranks is scattered: done once.
  void group_segments() {
    const auto num_edges = edges_.size() / 2;
    std::vector<Segment> given(num_edges);
    first_.assign(n_ + 1, 0);
    incoming_.assign(n_, 0);
    for (size_t e = 0; e < num_edges; ++e) {
      control_.spend(8);
      const int32_t a = rank_[edges_[2 * e]], b = rank_[edges_[2 * e + 1]];
      const auto h = static_cast<int32_t>(2 * e);
      given[e] = a < b ? Segment{a, b, h} : Segment{b, a, h + 1};
      ++first_[given[e].left + 1];
      ++incoming_[given[e].right];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    segments_.resize(num_edges);
    std::vector<int32_t> place(first_.begin(), first_.end() - 1);
    for (const Segment& s : given) segments_[place[s.left]++] = s;
  }

  // Sorts the segments leaving each vertex, bottom to top; false if two of them overlap.
  bool sort_fans() {
    for (int32_t v = 0; v < n_; ++v) {
      control_.spend(8);
      if (!sort_fan(v)) return false;
    }
    return true;
  }

  // All right ends lie in one half-plane of v, so one orientation compares two directions.
  bool sort_fan(int32_t v) {
    const auto begin = segments_.begin() + first_[v], end = segments_.begin() + first_[v + 1];
    if (end - begin < 2) return true;
    const auto lower = [this, v](const Segment& s, const Segment& t) {
      if (s.right == t.right) return s.half_edge < t.half_edge;
      return orientation(points_[v], points_[s.right], points_[t.right]) > 0;
    };
    if (end - begin <= 8) {
      for (auto i = begin + 1; i != end; ++i) {
        for (auto j = i; j != begin && lower(*j, *(j - 1)); --j) std::swap(*j, *(j - 1));
      }
    } else {
      std::sort(begin, end, lower);
    }
    for (auto i = begin + 1; i != end; ++i) {
      if ((i - 1)->right != i->right && !lower(*(i - 1), *i)) {
        return fail(Flaw::overlap, (i - 1)->half_edge >> 1, i->half_edge >> 1);
      }
    }
    return true;
  }

  void lay_out_rotation() {
    drawing_.offsets.assign(n_ + 1, 0);
    for (int32_t v = 0; v < n_; ++v) drawing_.offsets[vertex_[v] + 1] = degree(v);
    std::partial_sum(drawing_.offsets.begin(), drawing_.offsets.end(), drawing_.offsets.begin());
    drawing_.rotation.resize(edges_.size());
    an_incoming_.assign(n_, kNone);
  }

  // Moves the sweep line over vertex v; false if a flaw shows up.
  bool pass(int32_t v) {
    int32_t below = kNone, above = kNone, node = an_incoming_[v];
    int32_t* slot = &drawing_.rotation[drawing_.offsets[vertex_[v]]];
    for (int32_t s = first_[v]; s < first_[v + 1]; ++s) *slot++ = segments_[s].half_edge;
    if (node == kNone) {
      if (!locate(v, below)) return false;
      above = below == kNone ? status_.first() : status_.next(below);
    } else {  // segments that end here lie side by side on the sweep line
      while (above = status_.next(node), above != kNone && right_of(above) == v) node = above;
      int32_t met = 0;
      for (below = node; below != kNone && right_of(below) == v; below = status_.previous(below)) {
        *slot++ = segments_[status_.value(below)].half_edge ^ 1;
        ++met;
      }
      if (met != incoming_[v]) throw std::logic_error("sweep line out of order");
    }
    replace(v, below, above);
    const int32_t lowest = below == kNone ? status_.first() : status_.next(below);
    const int32_t highest = above == kNone ? kNone : status_.previous(above);
    if (lowest == above) return apart(below, above);
    return apart(below, lowest) && apart(highest, above);
  }

  int32_t right_of(int32_t node) { return segments_[status_.value(node)].right; }

  bool locate(int32_t v, int32_t& below) {
    int32_t touched = kNone;
    below = status_.last_below([&](int32_t s) {
      const int side =
          orientation(points_[segments_[s].left], points_[segments_[s].right], points_[v]);
      if (side == 0) touched = s;
      return side > 0;
    });
    if (touched == kNone) return true;
    return fail(Flaw::through_vertex, segments_[touched].half_edge >> 1, vertex_[v]);
  }

  // Puts the segments that leave v where those that end there were, reusing their nodes.
  void replace(int32_t v, int32_t below, int32_t above) {
    int32_t last = below;
    int32_t old = below == kNone ? status_.first() : status_.next(below);
    for (int32_t s = first_[v]; s < first_[v + 1]; ++s) {
      if (old != above) {
        last = old;
        status_.value(last) = s;
        old = status_.next(last);
      } else {
        last = status_.insert_after(last, s);
      }
      an_incoming_[segments_[s].right] = last;
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
    const Segment& low = segments_[status_.value(below)];
    const Segment& high = segments_[status_.value(above)];
    if (low.right == high.right) return true;
    const bool good =
        low.right < high.right
            ? orientation(points_[high.left], points_[high.right], points_[low.right]) < 0
            : orientation(points_[low.left], points_[low.right], points_[high.right]) > 0;
    return good || fail(Flaw::crossing, low.half_edge >> 1, high.half_edge >> 1);
  }

  // The leftmost vertex of a component sees its outer face left of its topmost edge.
  void find_outer() {
    std::vector<int32_t> parent(n_);
    std::iota(parent.begin(), parent.end(), 0);
    const auto find = [&parent](int32_t v) {
      while (parent[v] != v) v = parent[v] = parent[parent[v]];
      return v;
    };
    for (const Segment& s : segments_) {
      control_.spend(8);
      const int32_t a = find(s.left), b = find(s.right);
      if (a < b) parent[b] = a; else parent[a] = b;
    }
    for (int32_t v = 0; v < n_; ++v) {
      if (parent[v] != v || degree(v) == 0) continue;
      drawing_.outer.push_back(segments_[first_[v + 1] - 1].half_edge);
    }
  }

  int32_t n_;
  std::span<const int32_t> edges_;
  Control& control_;
  std::vector<int32_t> rank_, vertex_, first_, incoming_, an_incoming_;
  std::vector<Point> points_;      // in sweep order
  std::vector<Segment> segments_;  // grouped by left end, bottom to top
  OrderedList status_;             // segments on the sweep line, bottom to top
  Drawing drawing_;
};

}  // namespace

Drawing embed_drawing(int32_t num_vertices, std::span<const int32_t> edges,
                      std::span<const double> positions, Control& control) {
  if (positions.size() != 2 * static_cast<size_t>(num_vertices)) {
    throw std::invalid_argument("two coordinates per vertex are needed");
  }
  for (size_t h = 0; h < edges.size(); ++h) {
    if (edges[h] == edges[h ^ 1]) throw std::invalid_argument("an edge joins a vertex with itself");
  }
  for (const double value : positions) {
    if (!std::isfinite(value)) throw std::invalid_argument("coordinates must be finite");
  }
  require_vertices(num_vertices, edges);
  return Sweep(num_vertices, edges, positions, control).run();
}

}  // namespace planaris
