#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <stdexcept>

#include "base/constants.hpp"
#include "base/table_too_large.hpp"
#include "frontier/frontier.hpp"

namespace planaris {
namespace {

constexpr size_t kGroupSlots = 6;  // a block of 2^6 rows of 16 lanes is 8 KiB
constexpr int32_t kGroupOps = 8;   // whose history has to stay in the cache

struct Links {
  std::vector<int32_t> offsets, neighbors, edges;
};

Links links_of(const PairwiseView& model) {
  const int32_t n = model.num_spins(), m = model.num_edges();
  Links links;
  links.offsets.assign(static_cast<size_t>(n) + 1, 0);
  for (const int32_t v : model.edges) ++links.offsets[v + 1];
  for (int32_t v = 0; v < n; ++v) links.offsets[v + 1] += links.offsets[v];
  links.neighbors.resize(2 * static_cast<size_t>(m));
  links.edges.resize(2 * static_cast<size_t>(m));
  std::vector<int32_t> at(links.offsets.begin(), links.offsets.end() - 1);
  for (int32_t e = 0; e < m; ++e) {
    for (int side = 0; side < 2; ++side) {
      const int32_t u = model.edges[2 * e + side];
      links.neighbors[at[u]] = model.edges[2 * e + 1 - side];
      links.edges[at[u]++] = e;
    }
  }
  return links;
}

std::vector<int32_t> positions_of(std::span<const int32_t> layout, int32_t n) {
  std::vector<int32_t> position(n, -1);
  if (static_cast<int32_t>(layout.size()) != n) {
    throw std::invalid_argument("layout: wrong length");
  }
  for (int32_t t = 0; t < n; ++t) {
    if (layout[t] < 0 || layout[t] >= n || position[layout[t]] >= 0) {
      throw std::invalid_argument("layout: not a permutation");
    }
    position[layout[t]] = t;
  }
  return position;
}

// Position of the last neighbour (or of the spin itself).
std::vector<int32_t> last_positions(const Links& links, const std::vector<int32_t>& position) {
  std::vector<int32_t> last(position);
  for (size_t v = 0; v < position.size(); ++v) {
    for (int32_t i = links.offsets[v]; i < links.offsets[v + 1]; ++i) {
      last[v] = std::max(last[v], position[links.neighbors[i]]);
    }
  }
  return last;
}

class Builder {
 public:
  Builder(const PairwiseView& model, std::span<const int32_t> layout, int32_t max_bits)
      : model_(model), layout_(layout), limit_(max_bits), links_(links_of(model)),
        position_(positions_of(layout, model.num_spins())),
        last_(last_positions(links_, position_)), slot_of_(model.num_spins(), -1) {}

  FrontierProgram build() {
    normalize();
    if (!program_.feasible) return std::move(program_);
    for (int32_t t = 0; t < static_cast<int32_t>(layout_.size()); ++t) enter(layout_[t], t);
    while (!occupant_.empty()) pop(static_cast<int32_t>(occupant_.size()) - 1);
    close_group();
    bound_growth();
    return std::move(program_);
  }

 private:
  // Subtracts the maximum of every table; the sum of maxima is exact to one rounding.
  void normalize() {
    double sum = 0.0, rest = 0.0, size = 0.0;
    const auto shift = [&](std::span<const double> from, std::vector<double>& to, size_t block) {
      to.resize(from.size());
      for (size_t i = 0; i < from.size(); i += block) {
        const double top = *std::max_element(from.begin() + i, from.begin() + i + block);
        if (top == -kInfinity) program_.feasible = false;
        for (size_t k = i; k < i + block; ++k) to[k] = from[k] - top;
        const double t = sum + top;
        rest += std::abs(sum) >= std::abs(top) ? (sum - t) + top : (top - t) + sum;
        sum = t;
        size += std::abs(top);
      }
    };
    shift(model_.pair_logs, pairs_, 4);
    shift(model_.single_logs, singles_, 2);
    program_.log_constant = sum + rest;
    const double eps = std::numeric_limits<double>::epsilon();
    // One rounding of the result, second-order terms of the sum, one per subtraction above.
    program_.constant_error = eps * std::abs(sum) + eps * size;
  }

  // An entry with label a passes w(a, b) on to every b; backwards, b to every a.
  void bound_growth() {
    const auto bound = [](const FrontierOp& op, int by_old, int by_new) {
      double most = 1.0;
      for (int c = 0; c < 2; ++c) {
        for (int k = 0; k < 2; ++k) {
          const double* logs = op.logs + 4 * c + by_old * k;
          most = std::max(most, std::exp(logs[0]) + std::exp(logs[by_new]));
        }
      }
      return std::log2(most) + 1e-12;
    };
    double before = 0.0, after = 0.0;
    for (FrontierStep& step : program_.steps) {
      step.growth_before = before;
      for (int32_t i = step.first_op; i < step.last_op; ++i) {
        const FrontierOp& op = program_.ops[i];
        if (op.old_spin >= 0) before += op.new_spin >= 0 ? bound(op, 1, 2) : 1.0;
      }
    }
    for (auto step = program_.steps.rbegin(); step != program_.steps.rend(); ++step) {
      step->growth_after = after;
      for (int32_t i = step->first_op; i < step->last_op; ++i) {
        const FrontierOp& op = program_.ops[i];
        if (op.new_spin >= 0) after += op.old_spin >= 0 ? bound(op, 2, 1) : 1.0;
      }
    }
  }

  double pair_log(int32_t e, int32_t spin, int label, int other_label) const {
    const bool first = model_.edges[2 * e] == spin;
    return pairs_[4 * e + (first ? 2 * label + other_label : 2 * other_label + label)];
  }

  void enter(int32_t v, int32_t t) {
    // Neighbours in the table, and the one whose place v takes.
    std::vector<std::pair<int32_t, int32_t>> met;  // spin, edge
    int32_t leaver = -1, leaver_edge = -1;
    for (int32_t i = links_.offsets[v]; i < links_.offsets[v + 1]; ++i) {
      const int32_t u = links_.neighbors[i];
      if (position_[u] >= t) continue;
      if (last_[u] == t && leaver < 0) {
        leaver = u;
        leaver_edge = links_.edges[i];
      } else {
        met.emplace_back(u, links_.edges[i]);
      }
    }
    if (leaver < 0 && !dead_.empty()) {
      leaver = dead_.back();
      dead_.pop_back();
    }
    if (leaver >= 0) {
      replace(leaver, leaver_edge, v, met);
    } else {
      push(v);
    }
    for (const auto& [u, e] : met) pair(u, v, e);
    for (const auto& [u, e] : met) {
      if (last_[u] == t) dead_.push_back(u);
    }
    if (last_[v] <= t) dead_.push_back(v);
    // One spin without neighbours to come may wait for a spin that takes its place.
    while (dead_.size() > 1) {
      pop(slot_of_[dead_.back()]);
      dead_.pop_back();
    }
  }

  void replace(int32_t u, int32_t edge, int32_t v, std::vector<std::pair<int32_t, int32_t>>& met) {
    FrontierOp op;
    op.slot = slot_of_[u];
    op.old_spin = u;
    op.new_spin = v;
    op.edge = edge;
    if (!met.empty()) {
      op.control = slot_of_[met.back().first];
      op.control_edge = met.back().second;
      met.pop_back();
      const int32_t w = occupant_[op.control];
      if (last_[w] == position_[v]) dead_after_.push_back(w);
    }
    for (int c = 0; c < 2; ++c) {
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          double log = singles_[2 * v + b];
          if (edge >= 0) log += pair_log(edge, u, a, b);
          if (op.control_edge >= 0) log += pair_log(op.control_edge, v, b, c);
          op.logs[4 * c + 2 * a + b] = log;
        }
      }
    }
    slot_of_[u] = -1;
    slot_of_[v] = op.slot;
    occupant_[op.slot] = v;
    add_to_group(op, {op.slot, op.control});
    dead_.insert(dead_.end(), dead_after_.begin(), dead_after_.end());
    dead_after_.clear();
  }

  void pair(int32_t u, int32_t v, int32_t e) {
    FrontierOp op;
    op.slot = slot_of_[v];
    op.control = slot_of_[u];
    op.spin = v;
    op.edge = e;
    for (int c = 0; c < 2; ++c) {
      for (int b = 0; b < 2; ++b) op.logs[2 * c + b] = pair_log(e, v, b, c);
    }
    add_to_group(op, {op.slot, op.control});
  }

  void push(int32_t v) {
    close_group();
    FrontierOp op;
    op.slot = static_cast<int32_t>(occupant_.size());
    op.new_spin = v;
    op.logs[0] = singles_[2 * v];
    op.logs[1] = singles_[2 * v + 1];
    if (op.slot + 1 > limit_) throw TableTooLarge("the frontier is too wide");
    occupant_.push_back(v);
    slot_of_[v] = op.slot;
    add_step(FrontierStep::kPush, op, op.slot, op.slot + 1);
  }

  // The spin of the last slot moves to the slot that falls free.
  void pop(int32_t slot) {
    close_group();
    FrontierOp op;
    op.slot = slot;
    op.old_spin = occupant_[slot];
    const auto bits = static_cast<int32_t>(occupant_.size());
    slot_of_[occupant_.back()] = slot;
    slot_of_[op.old_spin] = -1;
    occupant_[slot] = occupant_.back();
    occupant_.pop_back();
    add_step(FrontierStep::kPop, op, bits, bits - 1);
  }

  void add_step(FrontierStep::Kind kind, const FrontierOp& op, int32_t before, int32_t after) {
    const auto at = static_cast<int32_t>(program_.ops.size());
    program_.ops.push_back(op);
    program_.steps.push_back({kind, before, after, at, at + 1, 0, 0, {}});
    program_.max_bits = std::max({program_.max_bits, before, after});
    program_.entries += std::exp2(std::max(before, after));
  }

  void add_to_group(const FrontierOp& op, std::initializer_list<int32_t> slots) {
    const auto bits = static_cast<int32_t>(occupant_.size());
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::vector<int32_t> joined = group_;
      for (const int32_t s : slots) {
        if (s >= 0 && std::find(joined.begin(), joined.end(), s) == joined.end()) {
          joined.push_back(s);
        }
      }
      const auto count = static_cast<int32_t>(program_.ops.size()) - group_begin_;
      if (group_open_ && (joined.size() > kGroupSlots || count >= kGroupOps)) {
        close_group();
        continue;
      }
      if (!group_open_) group_begin_ = static_cast<int32_t>(program_.ops.size());
      group_open_ = true;
      group_ = std::move(joined);
      program_.ops.push_back(op);
      program_.entries += std::exp2(bits);
      return;
    }
  }

  void close_group() {
    if (!group_open_) return;
    group_open_ = false;
    std::sort(group_.begin(), group_.end());
    const auto bits = static_cast<int32_t>(occupant_.size());
    program_.steps.push_back({FrontierStep::kGroup, bits, bits, group_begin_,
                              static_cast<int32_t>(program_.ops.size()), 0, 0, std::move(group_)});
    group_.clear();
  }

  const PairwiseView& model_;
  std::span<const int32_t> layout_;
  int32_t limit_;
  Links links_;
  std::vector<int32_t> position_, last_, slot_of_, occupant_, dead_, dead_after_, group_;
  std::vector<double> pairs_, singles_;
  bool group_open_ = false;
  int32_t group_begin_ = 0;
  FrontierProgram program_;
};

}  // namespace

FrontierProgram frontier_program(const PairwiseView& model, std::span<const int32_t> layout,
                                 int32_t max_bits) {
  return Builder(model, layout, max_bits).build();
}

int32_t frontier_width(const PairwiseView& model, std::span<const int32_t> layout, int32_t limit) {
  const Links links = links_of(model);
  const auto position = positions_of(layout, model.num_spins());
  const auto last = last_positions(links, position);
  // Mirrors Builder: a spin that leaves when another enters gives it its place.
  int32_t inside = 0, waiting = 0, most = 0;
  for (int32_t t = 0; t < model.num_spins(); ++t) {
    const int32_t v = layout[t];
    int32_t dying = last[v] <= t;
    bool replaced = false;
    for (int32_t i = links.offsets[v]; i < links.offsets[v + 1]; ++i) {
      const int32_t u = links.neighbors[i];
      if (position[u] < t && last[u] == t) ++dying;
    }
    if (dying - (last[v] <= t) > 0) {
      replaced = true;
      --dying;
    } else if (waiting > 0) {
      replaced = true;
      --waiting;
    }
    if (!replaced) ++inside;
    most = std::max(most, inside);
    if (most > limit) return most;
    waiting += dying;
    if (waiting > 1) {
      inside -= waiting - 1;
      waiting = 1;
    }
  }
  return most;
}

namespace {

std::vector<int32_t> breadth_first(const Links& links, int32_t root, std::vector<int32_t>& seen,
                                   int32_t stamp) {
  std::vector<int32_t> queue{root};
  seen[root] = stamp;
  for (size_t i = 0; i < queue.size(); ++i) {
    const int32_t v = queue[i];
    for (int32_t k = links.offsets[v]; k < links.offsets[v + 1]; ++k) {
      const int32_t u = links.neighbors[k];
      if (seen[u] != stamp) {
        seen[u] = stamp;
        queue.push_back(u);
      }
    }
  }
  return queue;
}

}  // namespace

std::vector<int32_t> greedy_layout(const PairwiseView& model, Control& control) {
  const Links links = links_of(model);
  const int32_t n = model.num_spins();
  std::vector<int32_t> layout, seen(n, -1), ahead(n);
  std::vector<char> placed(n, 0);
  layout.reserve(n);
  for (int32_t v = 0; v < n; ++v) ahead[v] = links.offsets[v + 1] - links.offsets[v];
  int32_t stamp = 0;
  // New neighbours that entering v would leave open, minus spins it would close; the earlier
  // a neighbour has entered the more it is worth closing.
  using Entry = std::tuple<int32_t, int32_t, int32_t>;
  for (int32_t start = 0; start < n; ++start) {
    if (placed[start]) continue;
    int32_t root = breadth_first(links, start, seen, stamp++).back();
    root = breadth_first(links, root, seen, stamp++).back();
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<int32_t> first_met;
    const auto gain = [&](int32_t v) {
      int32_t closes = 0;
      for (int32_t k = links.offsets[v]; k < links.offsets[v + 1]; ++k) {
        const int32_t u = links.neighbors[k];
        closes += placed[u] && ahead[u] == 1;
      }
      return (ahead[v] > 0) - closes;
    };
    queue.emplace(0, 0, root);
    while (!queue.empty()) {
      const auto [key, tie, v] = queue.top();
      queue.pop();
      control.spend(64);
      if (placed[v]) continue;
      const int32_t now = gain(v);
      if (now != key && v != root) {
        queue.emplace(now, tie, v);
        continue;
      }
      placed[v] = 1;
      layout.push_back(v);
      for (int32_t k = links.offsets[v]; k < links.offsets[v + 1]; ++k) --ahead[links.neighbors[k]];
      for (int32_t k = links.offsets[v]; k < links.offsets[v + 1]; ++k) {
        const int32_t u = links.neighbors[k];
        const auto since = static_cast<int32_t>(layout.size());
        if (!placed[u]) {
          queue.emplace(gain(u), since, u);
        } else if (ahead[u] == 1) {  // its last neighbour has just become worth more
          for (int32_t i = links.offsets[u]; i < links.offsets[u + 1]; ++i) {
            const int32_t w = links.neighbors[i];
            if (!placed[w]) queue.emplace(gain(w), since, w);
          }
        }
      }
    }
  }
  return layout;
}

}  // namespace planaris
