// Why the left-right test refused: a cycle of constraints between back edges that cannot hold.
#include <algorithm>
#include <numeric>

#include "embedding/planarity.hpp"

namespace planaris {

bool LeftRight::refuse(int32_t a, int32_t b, int32_t edge, int32_t vertex, int32_t highest) {
  failure_ = {a, b, vertex};
  failed_edge_ = edge;
  failed_highest_ = highest;
  return false;
}

// The edge leaving `vertex` over which the tail of `back_edge` is reached (or -1).
int32_t LeftRight::branch(int32_t vertex, int32_t back_edge) const {
  const int32_t tail = tail_[back_edge - n_];
  if (tail == vertex) return back_edge;
  int32_t found = -1;  // the last child numbered no later than the tail
  for (int32_t k = first_out_[vertex]; k < first_out_[vertex + 1]; ++k) {
    if (out_[k] < n_ && out_[k] <= tail) found = std::max(found, out_[k]);
  }
  return found;
}

// Breadth-first search over the links from one end of the failure to the other.
std::vector<LeftRight::Link> LeftRight::path_of_links() const {
  const auto num_edges = half_edge_.size();
  std::vector<int32_t> first(num_edges + 1, 0), around(2 * links_.size());
  for (const Link& l : links_) ++first[l.a + 1], ++first[l.b + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int32_t> place(first.begin(), first.end() - 1);
  for (size_t k = 0; k < links_.size(); ++k) {
    around[place[links_[k].a]++] = static_cast<int32_t>(k);
    around[place[links_[k].b]++] = static_cast<int32_t>(k);
  }
  std::vector<int32_t> through(num_edges, -2), queue{failure_.a};
  through[failure_.a] = -1;
  for (size_t q = 0; q < queue.size() && through[failure_.b] == -2; ++q) {
    for (int32_t k = first[queue[q]]; k < first[queue[q] + 1]; ++k) {
      const Link& l = links_[around[k]];
      const int32_t other = l.a == queue[q] ? l.b : l.a;
      if (through[other] != -2) continue;
      through[other] = around[k];
      queue.push_back(other);
    }
  }
  std::vector<Link> path;
  if (through[failure_.b] == -2) return path;
  for (int32_t e = failure_.b; e != failure_.a;) {
    const Link& l = links_[through[e]];
    path.push_back(l);
    e = l.a == e ? l.b : l.a;
  }
  return path;
}

std::vector<int32_t> LeftRight::contradiction() const {
  std::vector<int32_t> kept;
  const auto keep = [&kept](int32_t edge) {
    if (edge >= 0) kept.push_back(edge);
  };
  std::vector<Link> links = path_of_links();
  links.push_back(failure_);
  for (const Link& l : links) {
    // A fork's constraint rests on the lowest return edges of its branches.
    keep(low_edge_[l.vertex]);
    for (const int32_t e : {l.a, l.b}) {
      keep(e);
      const int32_t over = branch(l.vertex, e);
      if (over >= 0) keep(low_edge_[over]);
    }
  }
  keep(low_edge_[failed_edge_]);
  keep(failed_highest_);
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  std::vector<int32_t> edges;
  for (const int32_t e : kept) edges.push_back(half_edge_[e] >> 1);
  for (int32_t v = 0; v < n_; ++v) {
    if (parent_[v] >= 0) edges.push_back(half_edge_[v] >> 1);
  }
  return edges;
}

}  // namespace planaris
