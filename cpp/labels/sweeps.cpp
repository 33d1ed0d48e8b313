// Messages of a problem: sweeps, bounds, states.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/constants.hpp"
#include "base/min_plus.hpp"
#include "labels/problem.hpp"

namespace planaris::labels {

namespace {

// A sum of k terms that came out as `value`, made certainly no larger than the true sum.
inline double lowered(double value, double size, int64_t terms) {
  return value - 1.01 * kUnit * static_cast<double>(terms + 2) * size;
}

}  // namespace

// Takes all energy that the edges ahead, or behind, can give. False when no label is left.
bool Problem::pull(int32_t i, bool ahead) {
  auto& belief = belief_[i];
  const int32_t count = labels_of(i);
  std::vector<double>& fresh = scratch_;
  for (int32_t e : incident[i]) {
    Edge& edge = edges[e];
    const int side = edge.ends[1] == i;
    if ((side == 0) != ahead) continue;
    const auto& given = edge.message[1 - side];
    const double* table = columns_of(edge, i);
    fresh.assign(count, kInfinity);
    for (size_t c = 0; c < given.size(); ++c) {
      lower_by_row(fresh.data(), table + static_cast<int64_t>(c) * count, given[c], count);
    }
    auto& message = edge.message[side];
    for (int32_t a = 0; a < count; ++a) {
      if (fresh[a] == kInfinity) {  // no partner: the label is impossible
        belief[a] = kInfinity;
      } else {
        belief[a] += fresh[a] - message[a];
        message[a] = fresh[a];
      }
    }
  }
  return std::any_of(belief.begin(), belief.end(), [](double x) { return x < kInfinity; });
}

// Shares the energy of a variable out among the edges ahead, or behind.
void Problem::push(int32_t i, bool ahead) {
  int32_t forward = 0, backward = 0;
  for (int32_t e : incident[i]) ++(edges[e].ends[0] == i ? forward : backward);
  const int32_t taking = ahead ? forward : backward;
  if (taking == 0) return;
  const double share = 1.0 / std::max(forward, backward);
  auto& belief = belief_[i];
  for (int32_t e : incident[i]) {
    Edge& edge = edges[e];
    const int side = edge.ends[1] == i;
    if ((side == 0) != ahead) continue;
    auto& message = edge.message[side];
    for (size_t a = 0; a < belief.size(); ++a) {
      if (belief[a] < kInfinity) message[a] -= share * belief[a];
    }
  }
  const double rest = std::max(1.0 - share * taking, 0.0);
  for (double& value : belief) {
    if (value < kInfinity) value *= rest;
  }
}

bool Problem::sweep(int rounds, Control& control) {
  belief_.resize(size());
  for (const Edge& edge : edges)
    work += 2 * rounds * (static_cast<int64_t>(edge.table.size()) + 16);
  for (int32_t i = 0; i < size(); ++i) belief_[i] = belief(i);
  for (int round = 0; round < rounds; ++round) {
    for (bool ahead : {true, false}) {
      for (int32_t k = 0; k < size(); ++k) {
        const int32_t i = ahead ? k : size() - 1 - k;
        control.poll();
        if (!pull(i, !ahead)) return false;
        push(i, ahead);
      }
    }
  }
  return true;
}

Evaluation Problem::evaluate() const {
  Evaluation found;
  std::vector<int64_t> first(size() + 1, 0);
  for (int32_t i = 0; i < size(); ++i) first[i + 1] = first[i] + labels_of(i);
  found.slack.assign(first.back(), 0.0);
  double total = base + base_low, weight = std::abs(base);
  const int64_t terms = size() + static_cast<int64_t>(edges.size());
  std::vector<double> rows, columns;
  for (const Edge& edge : edges) {
    const int32_t u = edge.ends[0], v = edge.ends[1];
    const int64_t height = labels_of(u), width = labels_of(v);
    rows.assign(height, kInfinity);
    columns.assign(width, kInfinity);
    const double* to_v = edge.message[1].data();
    for (int64_t a = 0; a < height; ++a) {
      const double* row = &edge.table[a * width];
      const double m = edge.message[0][a];
      double least = kInfinity;
      for (int64_t b = 0; b < width; ++b) {
        const double value = row[b] - m - to_v[b];
        const double charged =
            value - 6 * kUnit * (std::abs(row[b]) + std::abs(m) + std::abs(to_v[b]));
        const double low = row[b] < kInfinity ? charged : kInfinity;
        least = low < least ? low : least;
        columns[b] = low < columns[b] ? low : columns[b];
      }
      rows[a] = least;
    }
    const double least = *std::min_element(rows.begin(), rows.end());
    total += least;
    weight += std::abs(least);
    if (least == kInfinity) break;
    for (int64_t a = 0; a < height; ++a) found.slack[first[u] + a] += rows[a] - least;
    for (int64_t b = 0; b < width; ++b) found.slack[first[v] + b] += columns[b] - least;
  }
  if (total == kInfinity) {
    found.bound = kInfinity;
    return found;
  }
  for (int32_t i = 0; i < size(); ++i) {
    const auto degree = static_cast<int64_t>(incident[i].size());
    double least = kInfinity;
    std::vector<double> values(labels_of(i));
    for (int32_t a = 0; a < labels_of(i); ++a) {
      double value = energy[i][a], magnitude = std::abs(value);
      for (int32_t e : incident[i]) {
        const double m = edges[e].message[edges[e].ends[1] == i][a];
        value += m;
        magnitude += std::abs(m);
      }
      values[a] = value < kInfinity ? lowered(value, magnitude, degree) : kInfinity;
      least = std::min(least, values[a]);
    }
    total += least;
    weight += std::abs(least);
    if (least == kInfinity) break;
    for (int32_t a = 0; a < labels_of(i); ++a) {
      double& slack = found.slack[first[i] + a];
      // Of about as many terms as there are edges, none negative: rounding is relative.
      slack = (slack + (values[a] - least)) * (1 - 4 * kUnit * static_cast<double>(degree + 2));
    }
  }
  found.bound = total == kInfinity ? kInfinity : lowered(total, weight, terms);
  return found;
}

int64_t Problem::drop_beyond(const Evaluation& found, double room, double& least, Record* record) {
  int64_t count = 0, at = 0;
  std::vector<uint8_t> keep;
  for (int32_t i = 0; i < size(); ++i) {
    const int32_t labels = labels_of(i);
    keep.assign(labels, 1);
    bool any = false;
    for (int32_t a = 0; a < labels; ++a, ++at) {
      if (!(found.slack[at] >= room)) continue;
      keep[a] = 0;
      any = true;
      ++count;
      least = std::min(least, found.slack[at]);
      if (record) record->add(Record::kTooDear, variable[i], label[i][a]);
    }
    if (any) keep_labels(i, keep);
  }
  return count;
}

std::vector<int32_t> Problem::decode() const {
  std::vector<int32_t> state(size(), 0);
  std::vector<double> value;
  for (int32_t i = 0; i < size(); ++i) {
    value = energy[i];
    for (int32_t e : incident[i]) {
      const Edge& edge = edges[e];
      const int side = edge.ends[1] == i;
      if (side) {  // decided before
        const double* row =
            columns_of(edge, i) + static_cast<int64_t>(state[edge.ends[0]]) * labels_of(i);
        for (size_t a = 0; a < value.size(); ++a) value[a] += row[a];
      } else {
        for (size_t a = 0; a < value.size(); ++a) value[a] += edge.message[side][a];
      }
    }
    state[i] = static_cast<int32_t>(std::min_element(value.begin(), value.end()) - value.begin());
  }
  return state;
}

void Problem::descend(std::vector<int32_t>& state, Control& control) const {
  std::vector<int32_t> queue(size());
  std::iota(queue.rbegin(), queue.rend(), 0);
  std::vector<uint8_t> queued(size(), 1);
  std::vector<double> value;
  while (!queue.empty()) {
    control.poll();
    const int32_t i = queue.back();
    queue.pop_back();
    queued[i] = 0;
    value = energy[i];
    for (int32_t e : incident[i]) {
      const Edge& edge = edges[e];
      const double* row =
          columns_of(edge, i) + static_cast<int64_t>(state[other_end(edge, i)]) * labels_of(i);
      for (size_t a = 0; a < value.size(); ++a) value[a] += row[a];
    }
    const auto best =
        static_cast<int32_t>(std::min_element(value.begin(), value.end()) - value.begin());
    // More than rounding, so that the descent ends.
    if (!(value[best] < value[state[i]] - 1e-12 * std::abs(value[best]))) continue;
    state[i] = best;
    for (int32_t e : incident[i]) {
      const int32_t j = other_end(edges[e], i);
      if (!queued[j]) queued[j] = 1, queue.push_back(j);
    }
  }
}

double Problem::energy_of(std::span<const int32_t> state) const {
  double total = base + base_low;
  for (int32_t i = 0; i < size(); ++i) total += energy[i][state[i]];
  for (const Edge& edge : edges) {
    total += entry(edge, edge.ends[0], state[edge.ends[0]], state[edge.ends[1]]);
  }
  return total;
}

std::vector<double> Problem::contest(std::span<const int32_t> state) const {
  std::vector<double> out(size(), 0.0);
  for (int32_t i = 0; i < size(); ++i) {
    const auto values = belief(i);
    out[i] += values[state[i]] - *std::min_element(values.begin(), values.end());
  }
  for (const Edge& edge : edges) {
    const int32_t u = edge.ends[0], v = edge.ends[1];
    const int64_t height = labels_of(u), width = labels_of(v);
    double least = kInfinity;
    for (int64_t a = 0; a < height; ++a) {
      for (int64_t b = 0; b < width; ++b) {
        const double value = edge.table[a * width + b] - edge.message[0][a] - edge.message[1][b];
        least = value < least ? value : least;
      }
    }
    const double here = edge.table[state[u] * width + state[v]] - edge.message[0][state[u]] -
                        edge.message[1][state[v]];
    const double excess = std::min(here - least, 1e100);
    out[u] += excess;
    out[v] += excess;
  }
  return out;
}

void Problem::write_messages(Record& record) const {
  std::vector<int32_t> order(edges.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t e, int32_t f) {
    const auto& x = edges[e].ends;
    const auto& y = edges[f].ends;
    return x[0] != y[0] ? x[0] < y[0] : x[1] < y[1];
  });
  record.steps.push_back(Record::kMessages);
  for (int32_t e : order) {
    for (const auto& message : edges[e].message) {
      record.numbers.insert(record.numbers.end(), message.begin(), message.end());
    }
  }
}

}  // namespace planaris::labels
