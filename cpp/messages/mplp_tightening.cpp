// What to tighten a stalled message passing by: triangles, and pairs of labels for odd cycles.
#include <algorithm>
#include <cmath>

#include "base/constants.hpp"
#include "base/polled_sort.hpp"
#include "messages/mplp.hpp"

namespace planaris {

namespace {

// The min over [x = a] == [y = b] minus the min over [x = a] != [y = b]; NaN if neither is allowed.
double preference(std::span<const double> table, int32_t rows, int32_t columns, int32_t a,
                  int32_t b) {
  double least[2] = {kInfinity, kInfinity};  // where they differ, where they agree
  for (int32_t x = 0; x < rows; ++x) {
    for (int32_t y = 0; y < columns; ++y) {
      double& best = least[(x == a) == (y == b)];
      best = std::min(best, table[static_cast<int64_t>(x) * columns + y]);
    }
  }
  return least[1] - least[0];
}

// The best labels, by slack; none where there is nothing to choose. "Label a against the rest" is a
// partition of the labels: of two labels there is one.
void add_partitions(std::span<const double> slacks, int32_t most, std::vector<int32_t>& labels) {
  std::vector<int32_t> order(slacks.size());
  for (size_t a = 0; a < order.size(); ++a) order[a] = static_cast<int32_t>(a);
  std::erase_if(order, [&](int32_t a) { return slacks[a] == kInfinity; });
  if (order.size() < 2) return;
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return slacks[a] < slacks[b]; });
  const size_t count = slacks.size() == 2 ? 1 : std::min<size_t>(order.size(), most);
  labels.insert(labels.end(), order.begin(), order.begin() + static_cast<int64_t>(count));
}

}  // namespace

std::vector<double> MessagePassing::edge_slacks(const Edge& edge) const {
  std::vector<double> out;
  fill_residual(edge, out);
  const int32_t u = edge.ends[0], v = edge.ends[1];
  for (int32_t a = 0; a < cards_[u]; ++a) {
    for (int32_t b = 0; b < cards_[v]; ++b) {
      double& value = out[static_cast<int64_t>(a) * cards_[v] + b];
      if (value == kInfinity) continue;
      value += belief_[offsets_[u] + a] / static_cast<double>(incident_[u].size());
      value += belief_[offsets_[v] + b] / static_cast<double>(incident_[v].size());
    }
  }
  return out;
}

std::vector<ScoredTriplet> MessagePassing::triangles(double min_gain, size_t most,
                                                     Control& control) const {
  std::vector<double> slacks, least;  // of all edges, one after the other
  std::vector<int64_t> first{0};
  for (const Edge& edge : edges_) {
    control.spend(16 + 4 * static_cast<int64_t>(edge.table.size()));
    const std::vector<double> own = edge_slacks(edge);
    slacks.insert(slacks.end(), own.begin(), own.end());
    first.push_back(static_cast<int64_t>(slacks.size()));
    least.push_back(*std::min_element(own.begin(), own.end()));
  }
  std::vector<ScoredTriplet> found;
  const auto better = [](const ScoredTriplet& a, const ScoredTriplet& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.variables > b.variables;
  };
  const auto keep = [&](const ScoredTriplet& triplet) {
    found.push_back(triplet);
    if (found.size() < 4 * most + 1024) return;
    control.spend(8 * static_cast<int64_t>(found.size()));
    std::nth_element(found.begin(), found.begin() + static_cast<int64_t>(most), found.end(),
                     better);
    found.resize(most);
  };
  std::vector<int32_t> edge_to(cards_.size(), -1);  // from u
  for (int32_t u = 0; u < num_variables(); ++u) {
    for (const int32_t uw : ahead_[u]) edge_to[edges_[uw].ends[1]] = uw;
    for (const int32_t uv : ahead_[u]) {
      const int32_t v = edges_[uv].ends[1];
      control.spend(4 * static_cast<int64_t>(ahead_[v].size()));
      for (const int32_t vw : ahead_[v]) {
        const int32_t w = edges_[vw].ends[1], uw = edge_to[w];
        if (uw < 0 || known_.contains({u, v, w})) continue;
        const int32_t n[3] = {cards_[u], cards_[v], cards_[w]};
        control.spend(static_cast<int64_t>(n[0]) * n[1] * n[2]);
        double best = kInfinity;
        for (int32_t a = 0; a < n[0]; ++a) {
          for (int32_t b = 0; b < n[1]; ++b) {
            const double* x = &slacks[first[uw] + static_cast<int64_t>(a) * n[2]];
            const double* y = &slacks[first[vw] + static_cast<int64_t>(b) * n[2]];
            double through = kInfinity;
            for (int32_t c = 0; c < n[2]; ++c) through = std::min(through, x[c] + y[c]);
            const double own = slacks[first[uv] + static_cast<int64_t>(a) * n[1] + b];
            best = std::min(best, own + through);
          }
        }
        const double gain = best - (least[uv] + least[uw] + least[vw]);
        if (gain > min_gain) keep({gain, {u, v, w}});
      }
    }
    for (const int32_t uw : ahead_[u]) edge_to[edges_[uw].ends[1]] = -1;
  }
  polled_sort(found, better, control);
  if (found.size() > most) found.resize(most);
  return found;
}

Projection MessagePassing::projection(double min_gain, int32_t most, Control& control) const {
  Projection result;
  std::vector<int32_t> labels;
  std::vector<int64_t> first{0};
  std::vector<double> slacks;
  for (int32_t i = 0; i < num_variables(); ++i) {
    control.spend(32 + 8 * cards_[i]);
    const double* belief = &belief_[offsets_[i]];
    slacks.assign(belief, belief + cards_[i]);
    add_partitions(slacks, most, labels);
    first.push_back(static_cast<int64_t>(labels.size()));
    result.owners.resize(labels.size(), i);
  }
  double largest = 0.0;
  for (const Edge& edge : edges_) {
    const int32_t u = edge.ends[0], v = edge.ends[1];
    const int64_t pairs = (first[u + 1] - first[u]) * (first[v + 1] - first[v]);
    control.spend(16 + (pairs + 4) * static_cast<int64_t>(edge.table.size()));
    if (pairs == 0) continue;
    const std::vector<double> table = edge_slacks(edge);
    for (int64_t p = first[u]; p < first[u + 1]; ++p) {
      for (int64_t q = first[v]; q < first[v + 1]; ++q) {
        const double weight = preference(table, cards_[u], cards_[v], labels[p], labels[q]);
        if (!(std::abs(weight) > min_gain)) continue;
        result.ends.push_back(static_cast<int32_t>(p));
        result.ends.push_back(static_cast<int32_t>(q));
        result.weights.push_back(weight);
        if (std::abs(weight) < kInfinity) largest = std::max(largest, std::abs(weight));
      }
    }
  }
  // Hard constraints count as much as twice the rest.
  const double bound = largest > 0.0 ? 2.0 * largest : 1.0 + 2.0 * min_gain;
  for (double& weight : result.weights) weight = std::clamp(weight, -bound, bound);
  return result;
}

}  // namespace planaris
