#include "polytope/wheel_separation.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "base/constants.hpp"

namespace planaris {

namespace {

struct Wheel {
  std::vector<int32_t> edges;
  std::vector<int8_t> flipped;
  int32_t rim;
  double violation;
};

class WheelSearch {
 public:
  WheelSearch(int32_t n, std::span<const int32_t> edges, std::span<const double> x)
      : x_(x), neighbours_(n) {
    for (size_t e = 0; e < x.size(); ++e) {
      const int32_t u = edges[2 * e], v = edges[2 * e + 1];
      id_[key(u, v)] = static_cast<int32_t>(e);
      neighbours_[u].push_back(v);
      neighbours_[v].push_back(u);
    }
    for (auto& list : neighbours_) std::sort(list.begin(), list.end());
  }

  // The best wheel with hubs u, v, the second hub switched or not.
  bool best(int32_t u, int32_t v, int8_t turned, double least, Wheel& out) {
    hub_[0] = u, hub_[1] = v, turned_ = turned;
    const double target = value(edge(u, v), turned) - least;
    if (target <= 0) return false;
    rim_.clear();
    std::set_intersection(neighbours_[u].begin(), neighbours_[u].end(), neighbours_[v].begin(),
                          neighbours_[v].end(), std::back_inserter(rim_));
    if (rim_.size() < 3) return false;
    build_arcs(target);
    dead_.assign(rim_.size(), 0);
    double shortest = target;
    std::vector<int32_t> walk;
    for (int32_t i = 0; i < static_cast<int32_t>(rim_.size()); ++i) {
      for (int32_t a = 0; a < 2; ++a) {
        std::vector<int32_t> found;
        const double length = odd_cycle(2 * i + a, shortest, found);
        if (length < shortest) shortest = length, walk = std::move(found);
      }
      dead_[i] = 1;
    }
    if (walk.empty()) return false;
    assemble(walk, out);
    out.violation = target + least - shortest;
    return true;
  }

 private:
  struct Arc {
    int32_t to;  // 2 * place on the rim + switched
    double length;
  };

  static int64_t key(int32_t u, int32_t v) {
    return (static_cast<int64_t>(std::min(u, v)) << 32) | std::max(u, v);
  }
  int32_t edge(int32_t u, int32_t v) const {
    const auto it = id_.find(key(u, v));
    return it == id_.end() ? -1 : it->second;
  }
  double value(int32_t e, int flipped) const { return flipped ? 1 - x_[e] : x_[e]; }

  void build_arcs(double target) {
    const auto k = static_cast<int32_t>(rim_.size());
    arcs_.assign(2 * rim_.size(), {});
    for (int32_t i = 0; i < k; ++i) {
      for (int32_t j = i + 1; j < k; ++j) {
        const int32_t e = edge(rim_[i], rim_[j]);
        if (e < 0) continue;
        for (int a = 0; a < 2; ++a) {
          for (int b = 0; b < 2; ++b) {
            double spokes = 0;
            for (int h = 0; h < 2; ++h) {
              const int turn = h ? turned_ : 0;
              spokes += value(edge(hub_[h], rim_[i]), a ^ turn);
              spokes += value(edge(hub_[h], rim_[j]), b ^ turn);
            }
            const double length = std::max(0.0, 2 - value(e, a ^ b) - spokes / 2);
            if (length >= target) continue;
            arcs_[2 * i + a].push_back({2 * j + b, length});
            arcs_[2 * j + b].push_back({2 * i + a, length});
          }
        }
      }
    }
  }

  // Shortest closed walk of odd length through a node; empty if not below `limit` or if it
  // meets a spin twice.
  double odd_cycle(int32_t source, double limit, std::vector<int32_t>& walk) {
    const size_t size = 2 * arcs_.size();  // node * 2 + parity
    std::vector<double> distance(size, kInfinity);
    std::vector<int32_t> parent(size, -1);
    using Item = std::pair<double, int32_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> heap;
    distance[2 * source] = 0;
    heap.push({0.0, 2 * source});
    while (!heap.empty()) {
      const auto [d, state] = heap.top();
      heap.pop();
      if (d > distance[state]) continue;
      if (state == 2 * source + 1) break;
      for (const Arc& arc : arcs_[state >> 1]) {
        const int32_t next = 2 * arc.to + (1 ^ (state & 1));
        const double length = d + arc.length + 1e-9;  // fewest edges among equals
        if (dead_[arc.to >> 1] || length >= limit || length >= distance[next]) continue;
        distance[next] = length;
        parent[next] = state;
        heap.push({length, next});
      }
    }
    if (distance[2 * source + 1] == kInfinity) return kInfinity;
    std::vector<int8_t> seen(rim_.size(), 0);
    for (int32_t s = parent[2 * source + 1]; s >= 0; s = parent[s]) {
      if (seen[s >> 2]++) return kInfinity;
      walk.push_back(s >> 1);
    }
    return walk.size() >= 3 ? distance[2 * source + 1] : kInfinity;
  }

  void assemble(const std::vector<int32_t>& walk, Wheel& out) const {
    out.edges = {edge(hub_[0], hub_[1])};
    out.flipped = {turned_};
    out.rim = static_cast<int32_t>(walk.size());
    for (size_t k = 0; k < walk.size(); ++k) {
      const int32_t node = walk[k], next = walk[(k + 1) % walk.size()];
      const auto a = static_cast<int8_t>(node & 1), b = static_cast<int8_t>(next & 1);
      const int32_t i = rim_[node >> 1];
      out.edges.insert(out.edges.end(),
                       {edge(i, rim_[next >> 1]), edge(hub_[0], i), edge(hub_[1], i)});
      out.flipped.insert(out.flipped.end(),
                         {static_cast<int8_t>(a ^ b), a, static_cast<int8_t>(a ^ turned_)});
    }
  }

  std::span<const double> x_;
  std::vector<std::vector<int32_t>> neighbours_;
  std::unordered_map<int64_t, int32_t> id_;
  int32_t hub_[2] = {0, 0};
  int8_t turned_ = 0;
  std::vector<int32_t> rim_;
  std::vector<std::vector<Arc>> arcs_;
  std::vector<int8_t> dead_;
};

}  // namespace

WheelCuts separate_wheels(int32_t num_spins, std::span<const int32_t> edges,
                          std::span<const double> x, double min_violation, int32_t max_cuts,
                          Control& control) {
  if (edges.size() != 2 * x.size()) throw std::invalid_argument("one value per edge");
  for (int32_t v : edges) {
    if (v < 0 || v >= num_spins) throw std::invalid_argument("edge names no spin");
  }
  WheelSearch search(num_spins, edges, x);
  std::vector<Wheel> wheels;
  for (size_t e = 0; e < x.size(); ++e) {
    for (int8_t turned : {0, 1}) {
      control.poll_now(static_cast<double>(e) / static_cast<double>(x.size()));
      Wheel wheel;
      if (search.best(edges[2 * e], edges[2 * e + 1], turned, min_violation, wheel)) {
        wheels.push_back(std::move(wheel));
      }
    }
  }
  std::stable_sort(wheels.begin(), wheels.end(),
                   [](const Wheel& a, const Wheel& b) { return a.violation > b.violation; });
  WheelCuts cuts;
  std::set<std::vector<int32_t>> seen;  // a wheel may have several pairs of hubs
  for (const Wheel& wheel : wheels) {
    if (static_cast<int32_t>(cuts.rim.size()) >= max_cuts) break;
    std::vector<int32_t> sorted;
    for (size_t k = 0; k < wheel.edges.size(); ++k) {
      sorted.push_back(2 * wheel.edges[k] + wheel.flipped[k]);
    }
    std::sort(sorted.begin(), sorted.end());
    if (!seen.insert(std::move(sorted)).second) continue;
    cuts.edges.insert(cuts.edges.end(), wheel.edges.begin(), wheel.edges.end());
    cuts.flipped.insert(cuts.flipped.end(), wheel.flipped.begin(), wheel.flipped.end());
    cuts.offsets.push_back(static_cast<int32_t>(cuts.edges.size()));
    cuts.rim.push_back(wheel.rim);
    cuts.violation.push_back(wheel.violation);
  }
  return cuts;
}

}  // namespace planaris
