#include "labels/local_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/constants.hpp"
#include "base/splitmix64.hpp"

namespace planaris::labels {

FactorGraph::FactorGraph(const Factors& factors)
    : factors_(factors), strides_(factors.scopes.size()),
      first_(factors.cardinalities.size() + 1, 0), places_(factors.scopes.size()),
      factor_of_(factors.scopes.size()) {
  for (size_t f = 0; f + 1 < factors_.scope_offsets.size(); ++f) {
    int64_t stride = 1;
    for (int64_t k = factors_.scope_offsets[f + 1]; k-- > factors_.scope_offsets[f];) {
      strides_[k] = stride;
      stride *= factors_.cardinalities[factors_.scopes[k]];
      factor_of_[k] = static_cast<int64_t>(f);
      ++first_[factors_.scopes[k] + 1];
    }
    if (factors_.scope_offsets[f + 1] - factors_.scope_offsets[f] > 2)
      clusters_.push_back(static_cast<int64_t>(f));
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<int64_t> next(first_.begin(), first_.end() - 1);
  for (size_t k = 0; k < factors_.scopes.size(); ++k)
    places_[next[factors_.scopes[k]]++] = static_cast<int64_t>(k);
}

double FactorGraph::entry(int64_t f, std::span<const int32_t> state) const {
  int64_t at = factors_.table_offsets[f];
  for (int64_t k = factors_.scope_offsets[f]; k < factors_.scope_offsets[f + 1]; ++k) {
    at += strides_[k] * state[factors_.scopes[k]];
  }
  return 0.0 - factors_.log_values[at];
}

double FactorGraph::energy_of(std::span<const int32_t> state) const {
  double total = 0;
  for (size_t f = 0; f + 1 < factors_.scope_offsets.size(); ++f) {
    if (factors_.scope_offsets[f] < factors_.scope_offsets[f + 1])
      total += entry(static_cast<int64_t>(f), state);
  }
  return total;
}

void FactorGraph::local_energies(int32_t i, std::span<const int32_t> state,
                                 std::vector<double>& out) const {
  out.assign(factors_.cardinalities[i], 0.0);
  for (int64_t p = first_[i]; p < first_[i + 1]; ++p) {
    const int64_t own = places_[p], f = factor_of_[own];
    int64_t at = factors_.table_offsets[f];
    for (int64_t k = factors_.scope_offsets[f]; k < factors_.scope_offsets[f + 1]; ++k) {
      if (k != own) at += strides_[k] * state[factors_.scopes[k]];
    }
    for (size_t a = 0; a < out.size(); ++a) {
      out[a] -= factors_.log_values[at + strides_[own] * static_cast<int64_t>(a)];
    }
  }
}

void FactorGraph::descend(std::vector<int32_t>& state, std::span<const int32_t> first,
                          Control& control) const {
  std::vector<int32_t> queue(first.rbegin(), first.rend());
  std::vector<uint8_t> queued(size(), 0);
  for (int32_t i : queue) queued[i] = 1;
  std::vector<double> value;
  while (!queue.empty()) {
    const int32_t i = queue.back();
    control.spend(8 * (first_[i + 1] - first_[i]) + 8);
    queue.pop_back();
    queued[i] = 0;
    local_energies(i, state, value);
    const auto best =
        static_cast<int32_t>(std::min_element(value.begin(), value.end()) - value.begin());
    // More than rounding, so that the descent ends.
    if (!(value[best] < value[state[i]] - 1e-12 * std::abs(value[best]))) continue;
    state[i] = best;
    for (int64_t p = first_[i]; p < first_[i + 1]; ++p) {
      for (int32_t j : scope(factor_of_[places_[p]])) {
        if (j != i && !queued[j]) queued[j] = 1, queue.push_back(j);
      }
    }
  }
}

std::vector<int32_t> FactorGraph::ball(int32_t centre, size_t count, uint64_t seed) const {
  std::vector<int32_t> out{centre}, around;
  std::vector<uint8_t> seen(size(), 0);
  seen[centre] = 1;
  for (size_t at = 0; at < out.size() && out.size() < count; ++at) {
    around.clear();
    for (int64_t p = first_[out[at]]; p < first_[out[at] + 1]; ++p) {
      for (int32_t j : scope(factor_of_[places_[p]])) {
        if (!seen[j]) seen[j] = 1, around.push_back(j);
      }
    }
    // Hubs have more neighbours than there is room for: some of them.
    const size_t room = std::min(around.size(), count - out.size());
    for (size_t k = 0; k < room; ++k) {
      const size_t left = around.size() - k;
      std::swap(around[k], around[k + splitmix64(seed + at * 7919 + k) % left]);
      out.push_back(around[k]);
    }
  }
  return out;
}

Part FactorGraph::condition(std::span<const int32_t> variables,
                            std::span<const int32_t> state) const {
  Part part;
  part.variables.assign(variables.begin(), variables.end());
  std::sort(part.variables.begin(), part.variables.end());
  std::vector<int32_t> place(size(), -1);
  std::vector<int64_t> inside;
  for (size_t k = 0; k < part.variables.size(); ++k) {
    const int32_t i = part.variables[k];
    place[i] = static_cast<int32_t>(k);
    part.cardinalities.push_back(factors_.cardinalities[i]);
    for (int64_t p = first_[i]; p < first_[i + 1]; ++p) inside.push_back(factor_of_[places_[p]]);
  }
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  std::vector<int64_t> free;
  for (int64_t f : inside) {
    int64_t base = factors_.table_offsets[f], count = 1;
    free.clear();
    for (int64_t k = factors_.scope_offsets[f]; k < factors_.scope_offsets[f + 1]; ++k) {
      if (place[factors_.scopes[k]] < 0) {
        base += strides_[k] * state[factors_.scopes[k]];
      } else {
        free.push_back(k);
        part.scopes.push_back(place[factors_.scopes[k]]);
        count *= factors_.cardinalities[factors_.scopes[k]];
      }
    }
    part.scope_offsets.push_back(static_cast<int64_t>(part.scopes.size()));
    for (int64_t entry = 0; entry < count; ++entry) {
      int64_t at = base, rest = entry;
      for (size_t axis = free.size(); axis-- > 0;) {
        const int64_t labels = factors_.cardinalities[factors_.scopes[free[axis]]];
        at += strides_[free[axis]] * (rest % labels);
        rest /= labels;
      }
      part.log_values.push_back(factors_.log_values[at]);
    }
    part.table_offsets.push_back(static_cast<int64_t>(part.log_values.size()));
  }
  return part;
}

}  // namespace planaris::labels
