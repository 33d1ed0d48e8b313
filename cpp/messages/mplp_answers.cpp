// What is read off the messages: safe bounds and states.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/constants.hpp"
#include "messages/mplp.hpp"

namespace planaris {

namespace {

// A sum of k terms that came out as `value`, made certainly no larger than the true sum.
inline double lowered(double value, double size, int64_t terms) {
  return value - 1.01 * kUnit * static_cast<double>(terms + 2) * size;
}

}  // namespace

double MessagePassing::safe_bound(Control& control) const {
  if (!feasible_) return kInfinity;
  double total = 0, size = 0;
  int64_t terms = 0;
  const auto add = [&](double value) {
    total += value;
    size += std::abs(value);
    ++terms;
  };
  for (int32_t i = 0; i < num_variables(); ++i) {
    control.spend(steps(i));
    double best = kInfinity;
    for (int32_t a = 0; a < cards_[i]; ++a) {
      if (!alive_[offsets_[i] + a]) continue;
      double value = energy_[offsets_[i] + a], magnitude = std::abs(value);
      for (int32_t e : incident_[i]) {
        const double m = edges_[e].message[edges_[e].ends[1] == i][a];
        value += m;
        magnitude += std::abs(m);
      }
      best = std::min(best, lowered(value, magnitude, static_cast<int64_t>(incident_[i].size())));
    }
    add(best);
  }
  // f_e + sum l is summed anew from its parts, not taken from the running table.
  std::vector<std::vector<std::pair<int32_t, int>>> triplets_of(edges_.size());
  for (int32_t t = 0; t < num_triplets(); ++t) {
    for (int k = 0; k < 3; ++k) triplets_of[triplets_[t].edge[k]].push_back({t, k});
  }
  for (size_t e = 0; e < edges_.size(); ++e) {
    const Edge& edge = edges_[e];
    const int32_t u = edge.ends[0], v = edge.ends[1];
    control.spend(8 + 2 * static_cast<int64_t>(edge.table.size() * (1 + triplets_of[e].size())));
    double best = kInfinity;
    for (int32_t a = 0; a < cards_[u]; ++a) {
      for (int32_t b = 0; b < cards_[v]; ++b) {
        if (!alive_[offsets_[u] + a] || !alive_[offsets_[v] + b]) continue;
        const int64_t p = static_cast<int64_t>(a) * cards_[v] + b;
        double value = edge.given.empty() ? 0.0 : edge.given[p], magnitude = std::abs(value);
        for (const auto& [t, k] : triplets_of[e]) {
          value += triplets_[t].given[k][p];
          magnitude += std::abs(triplets_[t].given[k][p]);
        }
        value -= edge.message[0][a] + edge.message[1][b];
        magnitude += std::abs(edge.message[0][a]) + std::abs(edge.message[1][b]);
        const auto parts = static_cast<int64_t>(triplets_of[e].size()) + 2;
        if (value < kInfinity) best = std::min(best, lowered(value, magnitude, parts));
      }
    }
    if (best == kInfinity) return kInfinity;  // every pair is forbidden
    add(best);
  }
  for (const Triplet& t : triplets_) {
    control.spend(steps(t));
    const int32_t* v = t.variable;
    const auto open = [&](int k, int64_t p) {
      const auto& given = edges_[t.edge[k]].given;
      return given.empty() || given[p] < kInfinity;
    };
    double best = kInfinity;
    for (int32_t a = 0; a < cards_[v[0]]; ++a) {
      if (!alive_[offsets_[v[0]] + a]) continue;
      for (int32_t b = 0; b < cards_[v[1]]; ++b) {
        const int64_t ab = static_cast<int64_t>(a) * cards_[v[1]] + b;
        if (!alive_[offsets_[v[1]] + b] || !open(0, ab)) continue;
        for (int32_t c = 0; c < cards_[v[2]]; ++c) {
          const int64_t ac = static_cast<int64_t>(a) * cards_[v[2]] + c;
          const int64_t bc = static_cast<int64_t>(b) * cards_[v[2]] + c;
          if (!alive_[offsets_[v[2]] + c] || !open(1, ac) || !open(2, bc)) continue;
          const double x = t.given[0][ab], y = t.given[1][ac], z = t.given[2][bc];
          best = std::min(best, lowered(-(x + y + z), std::abs(x) + std::abs(y) + std::abs(z), 3));
        }
      }
    }
    if (best == kInfinity) return kInfinity;
    add(best);
  }
  return lowered(total, size, terms);
}

std::vector<int32_t> MessagePassing::decode(Control& control) const {
  std::vector<int32_t> state(cards_.size(), 0);
  for (int32_t i = 0; i < num_variables(); ++i) {
    control.spend(steps(i));
    double best = kInfinity;
    for (int32_t a = 0; a < cards_[i]; ++a) {
      if (!alive_[offsets_[i] + a]) continue;
      double value = energy_[offsets_[i] + a];
      for (int32_t e : incident_[i]) {
        const Edge& edge = edges_[e];
        const int side = edge.ends[1] == i;
        const int32_t other = edge.ends[1 - side];
        if (other < i) {
          const int64_t p = side ? static_cast<int64_t>(state[other]) * cards_[i] + a
                                 : static_cast<int64_t>(a) * cards_[other] + state[other];
          value += edge.table[p] - edge.message[1 - side][state[other]];
        } else {
          value += edge.message[side][a];
        }
      }
      if (value < best) best = value, state[i] = a;
    }
  }
  return state;
}

void MessagePassing::improve(std::vector<int32_t>& state, Control& control) const {
  if (state.size() != cards_.size()) throw std::invalid_argument("one label per variable");
  for (int32_t i = 0; i < num_variables(); ++i) {
    if (state[i] < 0 || state[i] >= cards_[i]) throw std::invalid_argument("no such label");
  }
  std::vector<int32_t> queue(cards_.size());
  std::vector<uint8_t> queued(cards_.size(), 1);
  for (int32_t i = 0; i < num_variables(); ++i) queue[i] = num_variables() - 1 - i;
  std::vector<double> energy;
  while (!queue.empty()) {
    const int32_t i = queue.back();
    control.spend(steps(i));
    queue.pop_back();
    queued[i] = 0;
    energy.assign(&energy_[offsets_[i]], &energy_[0] + offsets_[i + 1]);
    for (int32_t e : incident_[i]) {
      const Edge& edge = edges_[e];
      if (edge.given.empty()) continue;
      const int side = edge.ends[1] == i;
      const int32_t other = edge.ends[1 - side];
      for (int32_t a = 0; a < cards_[i]; ++a) {
        energy[a] += side ? edge.given[static_cast<int64_t>(state[other]) * cards_[i] + a]
                          : edge.given[static_cast<int64_t>(a) * cards_[other] + state[other]];
      }
    }
    const auto best =
        static_cast<int32_t>(std::min_element(energy.begin(), energy.end()) - energy.begin());
    // More than rounding, so that the descent ends.
    if (!(energy[best] < energy[state[i]] - 1e-12 * std::abs(energy[best]))) continue;
    state[i] = best;
    for (int32_t e : incident_[i]) {
      const int32_t other = edges_[e].ends[0] == i ? edges_[e].ends[1] : edges_[e].ends[0];
      if (!queued[other]) queued[other] = 1, queue.push_back(other);
    }
  }
}

int64_t MessagePassing::forbid_beyond(double room) {
  int64_t count = 0;
  for (int32_t i = 0; i < num_variables(); ++i) {
    double* belief = &belief_[offsets_[i]];
    const double least = *std::min_element(belief, belief + cards_[i]);
    for (int32_t a = 0; a < cards_[i]; ++a) {
      if (!alive_[offsets_[i] + a] || belief[a] - least <= room) continue;
      alive_[offsets_[i] + a] = 0;
      belief[a] = kInfinity;
      ++count;
    }
  }
  return count;
}

std::vector<double> MessagePassing::messages() const {
  std::vector<double> out;
  const auto add = [&](std::span<const double> values) {
    for (double value : values) out.push_back(std::isfinite(value) ? value : 0.0);
  };
  for (const Edge& edge : edges_) {
    for (int side : {0, 1}) add(edge.message[side]);
  }
  for (const Triplet& triplet : triplets_) {
    for (int k : {0, 1, 2}) add(triplet.given[k]);
  }
  return out;
}

}  // namespace planaris
