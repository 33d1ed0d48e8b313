#include "embedding/planarity.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "graph/biconnected.hpp"

namespace planaris {

LeftRight::LeftRight(int32_t num_vertices, std::span<const int32_t> edges, Control& control)
    : n_(num_vertices), control_(control) {
  require_vertices(num_vertices, edges);
  build_adjacency(edges);
  number_vertices();
  list_out_edges();
  find_low_points();
  sort_out_edges();
}

void LeftRight::build_adjacency(std::span<const int32_t> edges) {
  offsets_.assign(n_ + 1, 0);
  for (size_t h = 0; h < edges.size(); ++h) {
    if (edges[h] == edges[h ^ 1]) throw std::invalid_argument("an edge joins a vertex with itself");
    ++offsets_[edges[h] + 1];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  std::vector<int32_t> place(offsets_.begin(), offsets_.end() - 1);
  arcs_.resize(edges.size());
  for (size_t e = 0; e < edges.size() / 2; ++e) {
    control_.spend(4);
    for (const size_t h : {2 * e, 2 * e + 1}) {
      arcs_[place[edges[h]]++] = {edges[h ^ 1], static_cast<int32_t>(h)};
    }
  }
}

// Depth-first search; half_edge_[w] becomes the half-edge through which w was found. When v is
// reached, its numbered neighbours are ancestors: their edges are the back edges of v. The
// others are kept to be tried one by one. All neighbours are looked up at once, because these
// scattered reads dominate the time and can then overlap.
void LeftRight::number_vertices() {
  struct Range {
    int32_t next, end;
  };
  number_.assign(n_, -1);
  order_.reserve(n_);
  parent_.assign(n_, -1);
  half_edge_.reserve(n_ + arcs_.size() / 2);
  half_edge_.assign(n_, -1);
  std::vector<Range> untried(n_);
  const auto reach = [&](int32_t given) {
    const auto v = static_cast<int32_t>(order_.size());
    number_[given] = v;
    order_.push_back(given);
    int32_t kept = offsets_[given];
    untried[v].next = kept;
    for (int32_t k = offsets_[given]; k < offsets_[given + 1]; ++k) {
      const Arc arc = arcs_[k];
      const int32_t w = number_[arc.head];
      if (w < 0) {
        __builtin_prefetch(&offsets_[arc.head]);
        arcs_[kept++] = arc;
      } else if ((arc.half_edge ^ 1) != half_edge_[v]) {
        tail_.push_back(v);
        head_.push_back(w);
        half_edge_.push_back(arc.half_edge);
      }
    }
    untried[v].end = kept;
    return v;
  };
  for (int32_t root = 0; root < n_; ++root) {
    if (number_[root] >= 0) continue;
    for (int32_t v = reach(root); v >= 0;) {
      control_.spend(4);
      if (untried[v].next == untried[v].end) {
        v = parent_[v];
        continue;
      }
      const Arc arc = arcs_[untried[v].next++];
      if (number_[arc.head] >= 0) continue;
      const auto found = static_cast<int32_t>(order_.size());
      parent_[found] = v;
      half_edge_[found] = arc.half_edge;
      v = reach(arc.head);
    }
  }
  arcs_ = {};
}

// Lists the edges leaving every vertex: to children, and back to ancestors.
void LeftRight::list_out_edges() {
  first_out_.assign(n_ + 1, 0);
  for (const int32_t v : tail_) ++first_out_[v + 1];
  for (const int32_t v : parent_) {
    if (v >= 0) ++first_out_[v + 1];
  }
  std::partial_sum(first_out_.begin(), first_out_.end(), first_out_.begin());
  cursor_.assign(first_out_.begin(), first_out_.end() - 1);
  out_.resize(first_out_.back());
  for (size_t k = 0; k < tail_.size(); ++k) {
    out_[cursor_[tail_[k]]++] = n_ + static_cast<int32_t>(k);
  }
  control_.spend(4 * static_cast<int64_t>(tail_.size()));
  for (int32_t w = 0; w < n_; ++w) {
    if (parent_[w] >= 0) out_[cursor_[parent_[w]]++] = w;
  }
}

// low and low2 of an edge: the lowest and second lowest ancestors of its tail that can be
// reached over it. Vertex numbers serve as heights: they agree along every path to the root.
void LeftRight::find_low_points() {
  const auto num_edges = half_edge_.size();
  low_.resize(num_edges);
  low2_.resize(num_edges);
  nesting_.resize(num_edges);
  for (int32_t v = 0; v < n_; ++v) low_[v] = low2_[v] = parent_[v] < 0 ? v : parent_[v];
  for (int32_t v = n_ - 1; v >= 0; --v) {
    control_.spend(4);
    int32_t low = low_[v], low2 = low2_[v];
    for (int32_t k = first_out_[v]; k < first_out_[v + 1]; ++k) {
      const int32_t e = out_[k];
      if (e >= n_) low_[e] = head_[e - n_], low2_[e] = v;
      nesting_[e] = 2 * low_[e] + (low2_[e] < v);
      if (low_[e] < low) {
        low2 = std::min(low, low2_[e]);
        low = low_[e];
      } else {
        low2 = std::min(low2, low_[e] > low ? low_[e] : low2_[e]);
      }
    }
    low_[v] = low;
    low2_[v] = low2;
  }
}

void LeftRight::sort_out_edges() {
  const auto before = [this](int32_t a, int32_t b) { return nesting_[a] < nesting_[b]; };
  for (int32_t v = 0; v < n_; ++v) {
    control_.spend(4);
    const auto begin = out_.begin() + first_out_[v], end = out_.begin() + first_out_[v + 1];
    if (end - begin > 12) {
      std::sort(begin, end, before);
      continue;
    }
    for (auto i = begin; i != end; ++i) {
      for (auto j = i; j != begin && before(*j, *(j - 1)); --j) std::swap(*j, *(j - 1));
    }
  }
}

bool LeftRight::test(bool keep_links) {
  const auto num_edges = half_edge_.size();
  keep_links_ = keep_links;
  reference_.assign(num_edges, -1);
  side_.assign(num_edges, 1);
  low_edge_.assign(num_edges, -1);
  bottom_.assign(num_edges, 0);
  cursor_.assign(first_out_.begin(), first_out_.end() - 1);
  for (int32_t v = 0; v < n_; ++v) {
    if (parent_[v] < 0 && !test_component(v)) return false;
  }
  return true;
}

bool LeftRight::test_component(int32_t root) {
  stack_.clear();
  for (int32_t v = root;;) {
    control_.spend(4);
    if (cursor_[v] < first_out_[v + 1]) {
      const int32_t e = out_[cursor_[v]];
      bottom_[e] = static_cast<int32_t>(stack_.size());
      if (e < n_) {  // down a tree edge; it is finished on the way back
        v = e;
        continue;
      }
      low_edge_[e] = e;
      stack_.push_back({{}, {e, e}});
      if (!finish_edge(e, v)) return false;
    } else {
      if (v == root) return true;
      remove_back_edges(v);
      const int32_t e = v;
      v = parent_[v];
      if (!finish_edge(e, v)) return false;
    }
  }
}

// Takes the return edges of `edge`, which leaves `vertex`, into account.
bool LeftRight::finish_edge(int32_t edge, int32_t vertex) {
  const bool is_first = cursor_[vertex]++ == first_out_[vertex];
  if (low_[edge] >= vertex) return true;
  if (!is_first) return add_constraints(edge, vertex);
  low_edge_[vertex] = low_edge_[edge];
  return true;
}

bool LeftRight::add_constraints(int32_t edge, int32_t vertex) {
  ConflictPair merged;
  // Return edges of `edge` above low(vertex) must share one side.
  do {
    ConflictPair top = stack_.back();
    stack_.pop_back();
    if (!top.left.empty()) std::swap(top.left, top.right);
    if (!top.left.empty()) {
      return refuse(top.left.high, top.right.high, edge, vertex, merged.right.high);
    }
    if (low_[top.right.low] > low_[vertex]) {
      if (merged.right.empty()) {
        merged.right.high = top.right.high;
      } else {
        reference_[merged.right.low] = top.right.high;
        link(merged.right.high, top.right.high, vertex);
      }
      merged.right.low = top.right.low;
    } else {
      reference_[top.right.low] = low_edge_[vertex];
    }
  } while (static_cast<int32_t>(stack_.size()) > bottom_[edge]);
  // Return edges of earlier siblings above low(edge) go to the other side.
  while (static_cast<int32_t>(stack_.size()) > bottom_[vertex] &&
         (conflicts(stack_.back().left, edge) || conflicts(stack_.back().right, edge))) {
    ConflictPair top = stack_.back();
    stack_.pop_back();
    if (conflicts(top.right, edge)) std::swap(top.left, top.right);
    if (conflicts(top.right, edge)) {
      return refuse(top.left.high, top.right.high, edge, vertex, merged.right.high);
    }
    if (!merged.right.empty()) link(merged.right.high, top.left.high, vertex);
    if (!top.right.empty()) {
      if (merged.right.empty()) {
        merged.right.high = top.right.high;
      } else {
        reference_[merged.right.low] = top.right.high;
      }
      merged.right.low = top.right.low;
    }
    if (merged.left.empty()) {
      merged.left.high = top.left.high;
    } else {
      reference_[merged.left.low] = top.left.high;
    }
    merged.left.low = top.left.low;
  }
  if (!merged.left.empty() || !merged.right.empty()) stack_.push_back(merged);
  return true;
}

int32_t LeftRight::lowest(const ConflictPair& pair) const {
  if (pair.left.empty()) return low_[pair.right.low];
  if (pair.right.empty()) return low_[pair.left.low];
  return std::min(low_[pair.left.low], low_[pair.right.low]);
}

// Drops return edges that end at `target` from an interval.
void LeftRight::trim(Interval& side, const Interval& other, int32_t target) {
  if (side.empty()) return;
  while (side.high >= 0 && head_[side.high - n_] == target) side.high = reference_[side.high];
  if (side.high >= 0) return;
  reference_[side.low] = other.low;
  side_[side.low] = -1;
  side.low = -1;
}

// All below `vertex` is done: forget return edges that end at its parent.
void LeftRight::remove_back_edges(int32_t vertex) {
  const int32_t target = parent_[vertex];
  while (!stack_.empty() && lowest(stack_.back()) == target) {
    if (!stack_.back().left.empty()) side_[stack_.back().left.low] = -1;
    stack_.pop_back();
  }
  if (stack_.empty()) return;
  ConflictPair& top = stack_.back();
  trim(top.left, top.right, target);
  trim(top.right, top.left, target);
  if (low_[vertex] >= target) return;
  // The side of a tree edge is that of its highest return edge.
  const int32_t left = top.left.high, right = top.right.high;
  reference_[vertex] = left >= 0 && (right < 0 || low_[left] > low_[right]) ? left : right;
}

// side(e) <- side(e) side(reference(e)) side(reference(reference(e))) ...
void LeftRight::resolve_side(int32_t edge) {
  stack_.clear();
  int32_t e = edge;
  while (reference_[e] >= 0) {
    stack_.push_back({{e, e}, {}});
    e = reference_[e];
  }
  for (; !stack_.empty(); stack_.pop_back()) {
    const int32_t above = stack_.back().left.low;
    side_[above] = static_cast<int8_t>(side_[above] * side_[e]);
    reference_[above] = -1;
    e = above;
  }
}

// At its head a back edge lies beside the tree edge it came over: left ones form a list that
// starts at leftmost[child] and ends in the child, right ones follow; the later the nearer
// (right) or the farther (left).
void LeftRight::place_back_edges(std::vector<int32_t>& next, std::vector<int32_t>& leftmost) {
  next.assign(half_edge_.size(), -1);
  leftmost.resize(n_);
  std::iota(leftmost.begin(), leftmost.end(), 0);
  std::vector<int32_t>& child = low_edge_;  // the tree edge now followed at each vertex
  cursor_.assign(first_out_.begin(), first_out_.end() - 1);
  for (int32_t root = 0; root < n_; ++root) {
    if (parent_[root] >= 0) continue;
    for (int32_t v = root; v >= 0;) {
      control_.spend(4);
      if (cursor_[v] == first_out_[v + 1]) {
        v = parent_[v];
        continue;
      }
      const int32_t e = out_[cursor_[v]++];
      if (e < n_) {
        child[v] = e;
        v = e;
        continue;
      }
      const int32_t beside = child[head_[e - n_]];
      int32_t& at = side_[e] > 0 ? next[beside] : leftmost[beside];
      next[e] = at;
      at = e;
    }
  }
}

std::vector<int32_t> LeftRight::rotation() {
  for (size_t e = 0; e < half_edge_.size(); ++e) {
    control_.spend(4);
    resolve_side(static_cast<int32_t>(e));
    nesting_[e] *= side_[e];
  }
  sort_out_edges();
  std::vector<int32_t> next, leftmost;
  place_back_edges(next, leftmost);
  std::vector<int32_t> result(2 * out_.size());
  for (int32_t v = 0; v < n_; ++v) {
    control_.spend(4);
    int32_t* slot = result.data() + offsets_[order_[v]];
    if (parent_[v] >= 0) *slot++ = half_edge_[v] ^ 1;
    for (int32_t k = first_out_[v]; k < first_out_[v + 1]; ++k) {
      if (out_[k] >= n_) {
        *slot++ = half_edge_[out_[k]];
        continue;
      }
      for (int32_t e = leftmost[out_[k]]; e >= 0; e = next[e]) {
        *slot++ = e < n_ ? half_edge_[e] : half_edge_[e] ^ 1;
      }
    }
  }
  return result;
}

}  // namespace planaris
