#include "embedding/kuratowski.hpp"

#include <algorithm>
#include <numeric>

#include "embedding/planarity.hpp"

namespace planaris {

namespace {

// A graph whose edges stand for paths of the given graph. Paths are ropes: piece p < m is the
// given edge p, later pieces join two earlier ones.
class PathGraph {
 public:
  PathGraph(int32_t num_vertices, std::span<const int32_t> edges, Control& control)
      : control_(&control), n_(num_vertices), m_(static_cast<int32_t>(edges.size() / 2)),
        ends_(edges.begin(), edges.end()), pieces_(m_) {
    std::iota(pieces_.begin(), pieces_.end(), 0);
  }

  int32_t num_edges() const { return static_cast<int32_t>(pieces_.size()); }

  bool is_planar_with_only(const std::vector<int32_t>& kept) const {
    std::vector<int32_t> ends;
    ends.reserve(2 * kept.size());
    for (const int32_t e : kept) ends.insert(ends.end(), {ends_[2 * e], ends_[2 * e + 1]});
    control_->spend(4 * static_cast<int64_t>(kept.size()));
    return LeftRight(n_, ends, *control_).test();
  }

  // The subgraph of one failed test (empty if the test passes).
  std::vector<int32_t> contradiction() const {
    LeftRight test(n_, ends_, *control_);
    return test.test(true) ? std::vector<int32_t>{} : test.contradiction();
  }

  void keep(const std::vector<int32_t>& kept) {
    std::vector<int32_t> ends, pieces;
    for (const int32_t e : kept) {
      ends.insert(ends.end(), {ends_[2 * e], ends_[2 * e + 1]});
      pieces.push_back(pieces_[e]);
    }
    control_->spend(4 * static_cast<int64_t>(kept.size()));
    ends_ = std::move(ends);
    pieces_ = std::move(pieces);
  }

  // Drops dead ends and parallel edges and contracts paths; planarity stays what it was.
  void reduce() {
    for (int32_t before = -1; before != num_edges();) {
      before = num_edges();
      drop_parallel();
      contract();
    }
    renumber();
  }

  std::vector<int32_t> given_edges() const {
    std::vector<int32_t> result, stack(pieces_);
    while (!stack.empty()) {
      const int32_t piece = stack.back();
      stack.pop_back();
      if (piece < m_) {
        result.push_back(piece);
      } else {
        stack.push_back(joins_[piece - m_].first);
        stack.push_back(joins_[piece - m_].second);
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  void drop_parallel() {
    std::vector<int32_t> order(num_edges());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [this](int32_t e) { return std::minmax(ends_[2 * e], ends_[2 * e + 1]); };
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const auto key_a = key(a), key_b = key(b);
      control_->spend(4);
      return std::pair(key_a.first, key_a.second) < std::pair(key_b.first, key_b.second);
    });
    std::vector<int32_t> kept;
    for (size_t k = 0; k < order.size(); ++k) {
      const auto [a, b] = key(order[k]);
      if (a == b) continue;
      if (k > 0) {
        const auto [c, d] = key(order[k - 1]);
        if (a == c && b == d) continue;
      }
      kept.push_back(order[k]);
    }
    keep(kept);
  }

  // Removes vertices of degree one and two in any order; parallel edges may appear.
  void contract() {
    std::vector<int32_t> degree(n_, 0), first(n_ + 1, 0);
    for (const int32_t v : ends_) ++degree[v], ++first[v + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int32_t> around(ends_.size()), next(first.begin(), first.end() - 1);
    std::vector<int32_t> place(ends_.size());  // of each end in `around`
    for (size_t h = 0; h < ends_.size(); ++h) {
      place[h] = next[ends_[h]]++;
      around[place[h]] = static_cast<int32_t>(h >> 1);
    }
    control_->spend(8 * static_cast<int64_t>(ends_.size()));
    std::vector<char> dead(pieces_.size(), 0);
    std::vector<int32_t> work;
    for (int32_t v = 0; v < n_; ++v) {
      if (degree[v] == 1 || degree[v] == 2) work.push_back(v);
    }
    while (!work.empty()) {
      control_->spend(4);
      const int32_t v = work.back();
      work.pop_back();
      if (degree[v] == 0 || degree[v] > 2) continue;
      int32_t live[2] = {-1, -1}, found = 0;
      for (int32_t k = first[v]; k < first[v + 1] && found < 2; ++k) {
        if (!dead[around[k]]) live[found++] = around[k];
      }
      const int32_t a = other_end(live[0], v);
      dead[live[0]] = 1;
      degree[v] = 0;
      if (found < 2 || other_end(live[1], v) == a) {  // a dead end, or a loop once contracted
        if (found == 2) dead[live[1]] = 1;
        degree[a] -= found;
        if (degree[a] > 0 && degree[a] <= 2) work.push_back(a);
        continue;
      }
      // live[1] becomes the contracted edge; a finds it where live[0] was.
      const int32_t e = live[1];
      joins_.emplace_back(pieces_[live[0]], pieces_[e]);
      pieces_[e] = m_ + static_cast<int32_t>(joins_.size()) - 1;
      const int32_t at_v = 2 * e + (ends_[2 * e] != v);
      ends_[at_v] = a;
      place[at_v] = place[2 * live[0] + (ends_[2 * live[0]] != a)];
      around[place[at_v]] = e;
    }
    std::vector<int32_t> kept;
    for (int32_t e = 0; e < num_edges(); ++e) {
      if (!dead[e]) kept.push_back(e);
    }
    keep(kept);
  }

  int32_t other_end(int32_t edge, int32_t v) const {
    return ends_[2 * edge] == v ? ends_[2 * edge + 1] : ends_[2 * edge];
  }

  void renumber() {
    std::vector<int32_t> name(n_, -1);
    n_ = 0;
    for (int32_t& v : ends_) {
      if (name[v] < 0) name[v] = n_++;
      v = name[v];
    }
  }

  Control* control_;
  int32_t n_, m_;
  std::vector<int32_t> ends_, pieces_;
  std::vector<std::pair<int32_t, int32_t>> joins_;
};

// Follows contradictions while they shrink the graph; false if there is none.
bool shrink(PathGraph& graph) {
  std::vector<int32_t> kept = graph.contradiction();
  if (kept.empty()) return false;
  for (;;) {
    const int32_t before = graph.num_edges();
    PathGraph smaller = graph;
    smaller.keep(kept);
    smaller.reduce();
    kept = smaller.contradiction();
    if (kept.empty()) return true;  // a constraint rested on more than was kept
    graph = std::move(smaller);
    if (graph.num_edges() > before - before / 4) return true;
  }
}

// Deletes chunks of edges while the graph stays non-planar; ends with single edges, so that
// every edge left is needed.
void minimise(PathGraph& graph) {
  for (int32_t chunk = std::max(1, graph.num_edges() / 4);; chunk = std::max(1, chunk / 2)) {
    for (int32_t from = 0; from < graph.num_edges();) {
      std::vector<int32_t> kept;
      for (int32_t e = 0; e < graph.num_edges(); ++e) {
        if (e < from || e >= from + chunk) kept.push_back(e);
      }
      if (graph.is_planar_with_only(kept))
        from += chunk;
      else
        graph.keep(kept);
    }
    graph.reduce();
    if (chunk == 1) return;
    chunk = std::min(chunk, std::max(2, graph.num_edges() / 2));
  }
}

}  // namespace

Kuratowski find_kuratowski(int32_t num_vertices, std::span<const int32_t> edges, Control& control) {
  PathGraph graph(num_vertices, edges, control);
  Kuratowski result;
  if (!shrink(graph)) return result;
  minimise(graph);
  result.is_k5 = graph.num_edges() == 10;
  result.edges = graph.given_edges();
  return result;
}

}  // namespace planaris
