#include "messages/tree_reweighted.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "messages/log_2cosh.hpp"
#include "messages/rooted_forest.hpp"

namespace planaris {

namespace {

// Runs `visit(v, forwards)`, which looks at the clock, over all vertices and back until messages
// stop changing. The change is that of the last sweep that was ended.
template <typename Visit>
SweepReport sweep(int32_t n, int32_t max_sweeps, double tolerance, Control& control, Visit visit) {
  SweepReport report;
  try {
    while (report.sweeps < max_sweeps) {
      double change = 0.0;
      for (int32_t v = 0; v < n; ++v) change = std::max(change, visit(v, true));
      for (int32_t v = n; v-- > 0;) change = std::max(change, visit(v, false));
      report.change = change;
      ++report.sweeps;
      if (report.change <= tolerance) break;
      control.poll_now();
    }
  } catch (const DeadlinePassed&) {  // any messages will do
    if (report.sweeps == 0) report.change = INFINITY;
  }
  return report;
}

// log Σ exp over a row, robust against -inf entries.
double log_sum(std::span<const double> logs) {
  double top = -INFINITY;
  for (const double x : logs) top = std::max(top, x);
  if (top == -INFINITY) return top;
  double total = 0.0;
  for (const double x : logs) total += std::exp(x - top);
  return top + std::log(total);
}

// Adds the belief at `from`, sums it out over the edge of `h`, and leaves the result in `out`.
void send(const LabelTables& t, std::span<const int32_t> edges, int32_t h,
          std::span<const double> belief, std::span<double> out, std::vector<double>& work) {
  const int32_t to = edges[h ^ 1];
  const auto labels_to = t.node_offsets[to + 1] - t.node_offsets[to];
  const auto labels_from = static_cast<int64_t>(belief.size());
  const double* table = t.edge_logs.data() + t.edge_offsets[h / 2];
  work.resize(labels_from);
  for (int64_t y = 0; y < labels_to; ++y) {
    for (int64_t x = 0; x < labels_from; ++x) {
      // The half-edge 2e leaves the slow axis.
      work[x] = belief[x] + (h % 2 == 0 ? table[x * labels_to + y] : table[y * labels_from + x]);
    }
    out[y] = log_sum(work);
  }
}

}  // namespace

SweepReport reweighted_sweeps(int32_t n, std::span<const int32_t> edges,
                              std::span<const double> couplings, std::span<const double> rho,
                              std::span<const double> fields, std::span<double> messages,
                              int32_t max_sweeps, double tolerance, double damping,
                              Control& control) {
  const size_t m = edges.size() / 2;
  if (couplings.size() != m || rho.size() != m || messages.size() != 2 * m ||
      fields.size() != static_cast<size_t>(n)) {
    throw std::invalid_argument("one coupling and one probability per edge, one field per vertex");
  }
  const Leaving leaving(n, edges);
  return sweep(n, max_sweeps, tolerance, control, [&](int32_t v, bool forwards) {
    control.spend(16 * static_cast<int64_t>(leaving.of(v).size()) + 8);
    double belief = fields[v];
    for (const int32_t h : leaving.of(v)) belief += rho[h / 2] * messages[h ^ 1];
    double change = 0.0;
    for (const int32_t h : leaving.of(v)) {
      const int32_t w = edges[h ^ 1];
      if ((w > v) != forwards) continue;
      const double away = belief - messages[h ^ 1];
      const double J = couplings[h / 2];
      const double fresh = 0.5 * (log_2cosh(J + away) - log_2cosh(J - away));
      const double step = (1.0 - damping) * (fresh - messages[h]);
      messages[h] += step;
      change = std::max(change, std::abs(step));
    }
    return change;
  });
}

std::vector<int64_t> message_offsets(std::span<const int32_t> edges,
                                     std::span<const int64_t> node_offsets) {
  std::vector<int64_t> offsets(edges.size() + 1, 0);
  for (size_t h = 0; h < edges.size(); ++h) {
    const int32_t to = edges[h ^ 1];
    offsets[h + 1] = offsets[h] + node_offsets[to + 1] - node_offsets[to];
  }
  return offsets;
}

SweepReport reweighted_sweeps(std::span<const int32_t> edges, const LabelTables& t,
                              std::span<const double> rho, std::span<double> messages,
                              int32_t max_sweeps, double tolerance, double damping,
                              Control& control) {
  const auto n = static_cast<int32_t>(t.node_offsets.size()) - 1;
  const Leaving leaving(n, edges);
  const std::vector<int64_t> at = message_offsets(edges, t.node_offsets);
  if (static_cast<int64_t>(messages.size()) != at.back()) {
    throw std::invalid_argument("one message entry per label of the vertex it goes to");
  }
  std::vector<double> belief, away, fresh, work;
  return sweep(n, max_sweeps, tolerance, control, [&](int32_t v, bool forwards) {
    const int64_t begin = t.node_offsets[v], labels = t.node_offsets[v + 1] - begin;
    int64_t entries = 1;
    for (const int32_t h : leaving.of(v)) {
      entries += t.edge_offsets[h / 2 + 1] - t.edge_offsets[h / 2];
    }
    control.spend(8 * entries);
    belief.assign(t.node_logs.begin() + begin, t.node_logs.begin() + begin + labels);
    for (const int32_t h : leaving.of(v)) {
      for (int64_t x = 0; x < labels; ++x) belief[x] += rho[h / 2] * messages[at[h ^ 1] + x];
    }
    double change = 0.0;
    for (const int32_t h : leaving.of(v)) {
      const int32_t w = edges[h ^ 1];
      if ((w > v) != forwards) continue;
      away = belief;
      for (int64_t x = 0; x < labels; ++x) away[x] -= messages[at[h ^ 1] + x];
      fresh.resize(at[h + 1] - at[h]);
      send(t, edges, h, away, fresh, work);
      // A constant in a message means nothing; keep them around zero.
      double mean = 0.0;
      for (const double x : fresh) mean += x / static_cast<double>(fresh.size());
      for (size_t y = 0; y < fresh.size(); ++y) {
        double& old = messages[at[h] + y];
        const double step = (1.0 - damping) * (fresh[y] - mean - old);
        old += step;
        change = std::max(change, std::abs(step));
      }
    }
    return change;
  });
}

double forest_log_partition(std::span<const int32_t> edges, const LabelTables& t) {
  const auto n = static_cast<int32_t>(t.node_offsets.size()) - 1;
  const auto [order, to_parent] = RootedForest(n, edges);
  std::vector<double> belief(t.node_logs.begin(), t.node_logs.end());
  std::vector<double> fresh, work;
  double total = 0.0;
  for (size_t k = order.size(); k-- > 0;) {
    const int32_t v = order[k];
    const std::span<const double> own{belief.data() + t.node_offsets[v],
                                      belief.data() + t.node_offsets[v + 1]};
    if (to_parent[v] < 0) {
      total += log_sum(own);
      continue;
    }
    const int32_t p = edges[to_parent[v] ^ 1];
    fresh.resize(t.node_offsets[p + 1] - t.node_offsets[p]);
    send(t, edges, to_parent[v], own, fresh, work);
    // Messages without their largest entry stay small, and so does their rounding.
    const double top = *std::max_element(fresh.begin(), fresh.end());
    if (top == -INFINITY) return top;
    total += top;
    for (size_t y = 0; y < fresh.size(); ++y) belief[t.node_offsets[p] + y] += fresh[y] - top;
  }
  return total;
}

}  // namespace planaris
