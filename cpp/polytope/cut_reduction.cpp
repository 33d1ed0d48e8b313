#include "polytope/cut_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/scaled.hpp"

namespace planaris {

namespace {

constexpr double kRounding = 1.2e-16;  // a little over half an ulp of 1

// The graph as linked half-edges: 2e leaves the first end of e, 2e + 1 the second.
class LinkedGraph {
 public:
  LinkedGraph(int32_t n, std::span<const int32_t> edges, std::span<const double> couplings,
              Control& control)
      : first_(n, -1), degree(n, 0), weight(couplings.begin(), couplings.end()) {
    ends_.resize(edges.size());
    next_.resize(edges.size());
    prev_.resize(edges.size());
    for (size_t k = 0; k < edges.size(); ++k) {
      control.spend(8);
      link(static_cast<int32_t>(k), edges[k]);
    }
  }

  int32_t first(int32_t v) const { return first_[v]; }
  int32_t next(int32_t h) const { return next_[h]; }
  int32_t target(int32_t h) const { return ends_[h ^ 1]; }
  int32_t num_edges() const { return static_cast<int32_t>(weight.size()); }

  int32_t add_edge(int32_t u, int32_t v, double w) {
    const int32_t e = num_edges();
    weight.push_back(w);
    for (auto* list : {&ends_, &next_, &prev_}) list->resize(2 * weight.size());
    link(2 * e, u);
    link(2 * e + 1, v);
    return e;
  }
  void remove_edge(int32_t e) {
    unlink(2 * e);
    unlink(2 * e + 1);
  }
  // Hangs half-edge h on another vertex.
  void move(int32_t h, int32_t v) {
    unlink(h);
    link(h, v);
  }
  // The edge joining u and v, or -1.
  int32_t find(int32_t u, int32_t v) const {
    if (degree[u] > degree[v]) std::swap(u, v);
    for (int32_t h = first_[u]; h >= 0; h = next_[h]) {
      if (target(h) == v) return h >> 1;
    }
    return -1;
  }

 private:
  void link(int32_t h, int32_t v) {
    ends_[h] = v;
    prev_[h] = -1;
    next_[h] = first_[v];
    if (first_[v] >= 0) prev_[first_[v]] = h;
    first_[v] = h;
    ++degree[v];
  }
  void unlink(int32_t h) {
    const int32_t v = ends_[h];
    if (prev_[h] >= 0)
      next_[prev_[h]] = next_[h];
    else
      first_[v] = next_[h];
    if (next_[h] >= 0) prev_[next_[h]] = prev_[h];
    --degree[v];
  }
  std::vector<int32_t> first_, ends_, next_, prev_;

 public:
  std::vector<int32_t> degree;
  std::vector<double> weight;
};

class Reducer {
 public:
  Reducer(int32_t n, std::span<const int32_t> edges, std::span<const double> couplings,
          bool keep_zero_edges, Control& control)
      : graph_(n, edges, couplings, control), keep_zero_(keep_zero_edges), gone_(n, 0),
        queued_(n, 1) {
    if (!keep_zero_) {
      for (int32_t e = 0; e < graph_.num_edges(); ++e) {
        if (graph_.weight[e] == 0) graph_.remove_edge(e);
      }
    }
    for (int32_t v = n - 1; v >= 0; --v) queue_.push_back(v);
    strongest_first(control);
  }

  // Degrees count neighbours: loops and parallel edges would break that.
  void require_simple(Control& control) const {
    std::vector<int32_t> seen(gone_.size(), -1);
    for (int32_t v = 0; v < static_cast<int32_t>(gone_.size()); ++v) {
      control.spend(8);
      seen[v] = v;
      for (int32_t h = graph_.first(v); h >= 0; h = graph_.next(h)) {
        if (seen[graph_.target(h)] == v) {
          throw std::invalid_argument("edges must join different spins, each pair once");
        }
        seen[graph_.target(h)] = v;
      }
    }
  }

  void run(Control& control) {
    while (!queue_.empty()) {
      control.poll();
      const int32_t u = queue_.back();
      queue_.pop_back();
      queued_[u] = 0;
      if (gone_[u] || graph_.degree[u] == 0) continue;
      const int32_t strongest = dominating_half_edge(u);
      if (strongest >= 0) {
        contract(u, strongest);
      } else if (graph_.degree[u] == 3 && is_even(u)) {
        star_triangle(u);
      }
    }
  }

  CutReduction take(Control& control) {
    const auto n = static_cast<int32_t>(gone_.size());
    std::vector<int32_t> small(n, -1);
    for (int32_t v = 0; v < n; ++v) {
      if (gone_[v] || graph_.degree[v] == 0) continue;  // free spins are lifted as +1
      small[v] = out_.num_spins++;
      out_.spin_of.push_back(v);
    }
    for (int32_t v = 0; v < n; ++v) {
      control.spend(8);
      if (gone_[v]) continue;
      for (int32_t h = graph_.first(v); h >= 0; h = graph_.next(h)) {
        const int32_t w = graph_.target(h);
        if (w < v) continue;
        out_.edges.push_back(small[v]);
        out_.edges.push_back(small[w]);
        out_.couplings.push_back(graph_.weight[h >> 1]);
        out_.edge_id.push_back(h >> 1);
      }
    }
    out_.num_edge_ids = graph_.num_edges();
    out_.constant = constant_.high;
    out_.constant_rest = constant_.low;
    out_.error *= 1 + 1e-12;
    return std::move(out_);
  }

 private:
  // The half-edge of u that outweighs all others together (rounding allowed for), or -1.
  int32_t dominating_half_edge(int32_t u) const {
    int32_t best = -1;
    double strongest = -1, total = 0;
    for (int32_t h = graph_.first(u); h >= 0; h = graph_.next(h)) {
      const double w = std::abs(graph_.weight[h >> 1]);
      total += w;
      if (w > strongest) strongest = w, best = h;
    }
    if (graph_.degree[u] <= 2) return best;
    const double others = (total - strongest) + 2 * kRounding * graph_.degree[u] * total;
    return strongest >= others ? best : -1;
  }

  // Where couplings differ much in size, the strong ones are contracted before weak ones are
  // laid upon them and lost.
  void strongest_first(Control& control) {
    std::vector<double> strength(gone_.size(), 0.0);
    double least = std::numeric_limits<double>::infinity(), most = 0.0;
    for (int32_t v = 0; v < static_cast<int32_t>(gone_.size()); ++v) {
      control.spend(8);
      for (int32_t h = graph_.first(v); h >= 0; h = graph_.next(h)) {
        const double w = std::abs(graph_.weight[h >> 1]);
        strength[v] = std::max(strength[v], w);
        if (w > 0) least = std::min(least, w);
      }
      most = std::max(most, strength[v]);
    }
    if (most <= kUneven * least) return;
    std::stable_sort(queue_.begin(), queue_.end(),
                     [&](int32_t a, int32_t b) { return strength[a] < strength[b]; });
  }

  // Whether the couplings of u are of like size: the sides of a triangle are sums of them, in
  // which what is much smaller would be lost.
  bool is_even(int32_t u) const {
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (int32_t h = graph_.first(u); h >= 0; h = graph_.next(h)) {
      const double w = std::abs(graph_.weight[h >> 1]);
      most = std::max(most, w);
      if (w > 0) least = std::min(least, w);
    }
    return most <= kUneven * least;
  }

  void enqueue(int32_t v) {
    // Very large degrees (the field spin) would be rescanned at every change.
    if (queued_[v] || graph_.degree[v] > kMaxDegree) return;
    queued_[v] = 1;
    queue_.push_back(v);
  }

  void add_constant(const TwoDoubles& value) {
    constant_ = constant_ + value;
    out_.error += 0x1p-100 * (std::abs(constant_.high) + std::abs(value.high));
  }

  // Adds w to edge e and drops the edge if it cancels.
  void add_weight(int32_t e, double w) {
    const TwoDoubles sum = TwoDoubles::sum(graph_.weight[e], w);
    graph_.weight[e] = sum.high;
    out_.error += std::abs(sum.low);
    if (graph_.weight[e] == 0 && !keep_zero_) graph_.remove_edge(e);
  }

  void contract(int32_t u, int32_t half_edge) {
    const int32_t e = half_edge >> 1, v = graph_.target(half_edge);
    const double w = graph_.weight[e];
    const bool flip = w < 0;
    ReductionStep step{u, {v, -1, -1}, {w, 0, 0}, {e, -1, -1}, {-1, -1, -1}, 0, 0};
    step.merges_begin = static_cast<int32_t>(out_.merges.size());
    add_constant({-std::abs(w), 0.0});
    graph_.remove_edge(e);
    for (int32_t h = graph_.first(u); h >= 0;) {
      const int32_t following = graph_.next(h), x = graph_.target(h), f = h >> 1;
      const double weight = flip ? -graph_.weight[f] : graph_.weight[f];
      const int32_t onto = graph_.find(v, x);
      if (onto >= 0) {
        graph_.remove_edge(f);
        add_weight(onto, weight);
      } else {
        graph_.weight[f] = weight;
        graph_.move(h, v);
      }
      out_.merges.push_back({f, onto >= 0 ? onto : f, flip});
      enqueue(x);
      h = following;
    }
    step.merges_end = static_cast<int32_t>(out_.merges.size());
    gone_[u] = 1;
    enqueue(v);
    out_.steps.push_back(step);
  }

  void star_triangle(int32_t u) {
    ReductionStep step{u, {}, {}, {}, {}, 0, 0};
    int k = 0;
    for (int32_t h = graph_.first(u); h >= 0; h = graph_.next(h), ++k) {
      step.towards[k] = graph_.target(h);
      step.edge[k] = h >> 1;
      step.coupling[k] = graph_.weight[h >> 1];
    }
    // A quarter of |±a ± b ± c|, for all signs up to a common one.
    const auto quarter = [&](double a, double b, double c) {
      const TwoDoubles sum = TwoDoubles::sum(a / 4, b / 4) + TwoDoubles{c / 4, 0.0};
      return sum.high < 0 ? -sum : sum;
    };
    const double a = step.coupling[0], b = step.coupling[1], c = step.coupling[2];
    const TwoDoubles same = quarter(a, b, c), odd_a = quarter(-a, b, c);
    const TwoDoubles odd_b = quarter(a, -b, c), odd_c = quarter(a, b, -c);
    add_constant(-(same + odd_a + odd_b + odd_c));
    out_.error += 0x1p-98 * (std::abs(a) + std::abs(b) + std::abs(c)) + 0x1p-1070;
    for (int32_t e : step.edge) graph_.remove_edge(e);
    const TwoDoubles sides[3] = {same + odd_c + -(odd_a + odd_b), same + odd_b + -(odd_a + odd_c),
                                 same + odd_a + -(odd_b + odd_c)};
    double side[3];
    for (int s = 0; s < 3; ++s) {
      side[s] = sides[s].high;
      out_.error += std::abs(sides[s].low);
    }
    constexpr int kEnds[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int s = 0; s < 3; ++s) {
      const int32_t v = step.towards[kEnds[s][0]], w = step.towards[kEnds[s][1]];
      int32_t e = graph_.find(v, w);
      if (e >= 0) {
        add_weight(e, side[s]);
      } else if (side[s] != 0 || keep_zero_) {
        e = graph_.add_edge(v, w, side[s]);
      }
      step.side[s] = e;
    }
    gone_[u] = 1;
    for (int32_t v : step.towards) enqueue(v);
    out_.steps.push_back(step);
  }

  static constexpr int32_t kMaxDegree = 64;
  static constexpr double kUneven = 0x1p24;
  LinkedGraph graph_;
  bool keep_zero_;
  std::vector<int8_t> gone_, queued_;
  std::vector<int32_t> queue_;
  TwoDoubles constant_;
  CutReduction out_;
};

}  // namespace

CutReduction reduce_cut(int32_t num_spins, std::span<const int32_t> edges,
                        std::span<const double> couplings, bool keep_zero_edges, Control& control) {
  for (int32_t v : edges) {
    if (v < 0 || v >= num_spins) throw std::invalid_argument("edge names no spin");
  }
  if (edges.size() != 2 * couplings.size()) throw std::invalid_argument("one coupling per edge");
  for (const double coupling : couplings) {
    if (!std::isfinite(coupling)) throw std::invalid_argument("couplings must be finite");
  }
  Reducer reducer(num_spins, edges, couplings, keep_zero_edges, control);
  reducer.require_simple(control);
  reducer.run(control);
  return reducer.take(control);
}

std::vector<int8_t> lift_spins(const CutReduction& reduction, int32_t num_spins,
                               std::span<const int8_t> small) {
  std::vector<int8_t> spins(num_spins, 1);
  for (size_t k = 0; k < small.size(); ++k) spins[reduction.spin_of[k]] = small[k];
  for (auto step = reduction.steps.rbegin(); step != reduction.steps.rend(); ++step) {
    double pull = 0;
    for (int k = 0; k < 3 && step->towards[k] >= 0; ++k) {
      pull += step->coupling[k] * spins[step->towards[k]];
    }
    spins[step->spin] = pull < 0 ? -1 : 1;
  }
  return spins;
}

namespace {

// Values of the star's edges: the triangle's values are a mixture of the four cuts of three
// spins; in each, the centre takes its best side.
void lift_star(const ReductionStep& step, std::vector<double>& x) {
  const double ab = x[step.side[0]], ac = x[step.side[1]], bc = x[step.side[2]];
  const double mixture[4] = {1 - (ab + ac + bc) / 2, (ab + ac - bc) / 2, (ab + bc - ac) / 2,
                             (ac + bc - ab) / 2};
  double value[3] = {0, 0, 0};
  for (int odd = 0; odd < 4; ++odd) {  // 0: all equal; k: the k-th differs
    double sign[3] = {1, 1, 1}, pull = 0;
    if (odd > 0) sign[odd - 1] = -1;
    for (int k = 0; k < 3; ++k) pull += sign[k] * step.coupling[k];
    for (int k = 0; k < 3; ++k) {
      if ((pull < 0 ? -1.0 : 1.0) != sign[k]) value[k] += mixture[odd];
    }
  }
  for (int k = 0; k < 3; ++k) x[step.edge[k]] = std::clamp(value[k], 0.0, 1.0);
}

}  // namespace

std::vector<double> lift_disagreements(const CutReduction& reduction, int32_t num_edges,
                                       std::span<const double> small) {
  std::vector<double> x(reduction.num_edge_ids, 0.5);
  for (size_t k = 0; k < small.size(); ++k) x[reduction.edge_id[k]] = small[k];
  for (auto step = reduction.steps.rbegin(); step != reduction.steps.rend(); ++step) {
    if (step->towards[1] >= 0) {
      lift_star(*step, x);
      continue;
    }
    for (int32_t k = step->merges_begin; k < step->merges_end; ++k) {
      const EdgeMerge& merge = reduction.merges[k];
      x[merge.from] = merge.flip ? 1 - x[merge.onto] : x[merge.onto];
    }
    x[step->edge[0]] = step->coupling[0] < 0 ? 1 : 0;
  }
  x.resize(num_edges);
  return x;
}

}  // namespace planaris
