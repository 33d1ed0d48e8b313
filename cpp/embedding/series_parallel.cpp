#include "embedding/series_parallel.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace planaris {

namespace {

class Reduction {
 public:
  Reduction(int32_t num_vertices, std::span<const int32_t> edges, Control& control)
      : control_(control), num_edges_(edges.size() / 2), ends_(edges.begin(), edges.end()),
        parent_(edges.size() / 2), alive_(edges.size() / 2, 1), at_(num_vertices),
        degree_(num_vertices, 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
    between_.reserve(edges.size());
    for (int32_t e = 0; e < static_cast<int32_t>(parent_.size()); ++e) {
      control_.spend(16);
      attach(e);
    }
    for (int32_t v = 0; v < num_vertices; ++v) {
      if (degree_[v] <= 2) queue_.push_back(v);
    }
  }

  SeriesParallelCore run() {
    while (!queue_.empty()) {
      control_.spend(16);
      const int32_t v = queue_.back();
      queue_.pop_back();
      if (degree_[v] == 1 || degree_[v] == 2) reduce(v);
    }
    return list();
  }

 private:
  Control& control_;
  size_t num_edges_;
  std::vector<int32_t> ends_, parent_;  // of edges, and of those that replace two in series
  std::vector<int8_t> alive_;
  std::vector<std::vector<int32_t>> at_;  // edges of each vertex, and some that are gone
  std::vector<int32_t> degree_, queue_;
  std::unordered_map<int64_t, int32_t> between_;

  int64_t key(int32_t e) const {
    const auto [a, b] = std::minmax(ends_[2 * e], ends_[2 * e + 1]);
    return static_cast<int64_t>(a) << 32 | b;
  }

  int32_t find(int32_t e) {
    while (parent_[e] != e) e = parent_[e] = parent_[parent_[e]];
    return e;
  }

  void attach(int32_t e) {
    const auto [place, is_new] = between_.try_emplace(key(e), e);
    if (!is_new) {  // parallel to another one
      parent_[e] = place->second;
      alive_[e] = 0;
      for (const int32_t v : {ends_[2 * e], ends_[2 * e + 1]}) {
        if (degree_[v] <= 2) queue_.push_back(v);
      }
      return;
    }
    for (const int32_t v : {ends_[2 * e], ends_[2 * e + 1]}) {
      at_[v].push_back(e);
      ++degree_[v];
    }
  }

  void detach(int32_t e) {
    alive_[e] = 0;
    between_.erase(key(e));
    for (const int32_t v : {ends_[2 * e], ends_[2 * e + 1]}) {
      if (--degree_[v] <= 2) queue_.push_back(v);
    }
  }

  int32_t other(int32_t e, int32_t v) const { return ends_[2 * e] ^ ends_[2 * e + 1] ^ v; }

  void reduce(int32_t v) {
    int32_t live[2] = {-1, -1};
    int32_t count = 0;
    for (const int32_t e : at_[v]) {
      if (alive_[e]) live[count++] = e;
    }
    at_[v].clear();
    const int32_t first = live[0], second = live[1];
    if (count == 1) return detach(first);
    const int32_t a = other(first, v), b = other(second, v);
    detach(first);
    detach(second);
    const auto joined = static_cast<int32_t>(parent_.size());
    parent_[first] = parent_[second] = joined;
    parent_.push_back(joined);
    alive_.push_back(1);
    ends_.insert(ends_.end(), {a, b});
    attach(joined);
  }

  SeriesParallelCore list() {
    SeriesParallelCore core;
    std::vector<int32_t> number(parent_.size(), -1);
    for (size_t e = 0; e < parent_.size(); ++e) {
      if (!alive_[e]) continue;
      number[e] = static_cast<int32_t>(core.edges.size() / 2);
      core.edges.insert(core.edges.end(), {ends_[2 * e], ends_[2 * e + 1]});
    }
    core.group_of.resize(num_edges_);
    for (size_t e = 0; e < num_edges_; ++e) {
      core.group_of[e] = number[find(static_cast<int32_t>(e))];
    }
    return core;
  }
};

}  // namespace

SeriesParallelCore reduce_series_parallel(int32_t num_vertices, std::span<const int32_t> edges,
                                          Control& control) {
  return Reduction(num_vertices, edges, control).run();
}

}  // namespace planaris
