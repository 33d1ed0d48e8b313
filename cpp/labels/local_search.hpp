// States of low energy: single variables, then whole parts of a model given the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "labels/problem.hpp"

namespace planaris::labels {

// A part of a model given the labels of the rest, with arrays of its own.
struct Part {
  std::vector<int32_t> variables;  // of the model
  std::vector<int32_t> cardinalities, scopes;
  std::vector<int64_t> scope_offsets{0}, table_offsets{0};
  std::vector<double> log_values;

  Factors factors() const {
    return {cardinalities, scopes, scope_offsets, log_values, table_offsets};
  }
};

// The factors of a model by variable. The arrays of the model are not copied.
class FactorGraph {
 public:
  explicit FactorGraph(const Factors& factors);

  int32_t size() const { return static_cast<int32_t>(factors_.cardinalities.size()); }
  double energy_of(std::span<const int32_t> state) const;
  // Sets single variables to their best label until none gains. Looks first at those given.
  void descend(std::vector<int32_t>& state, std::span<const int32_t> first, Control& control) const;
  // Variables near one, nearest first, in an order that depends on `seed`.
  std::vector<int32_t> ball(int32_t centre, size_t count, uint64_t seed) const;
  Part condition(std::span<const int32_t> variables, std::span<const int32_t> state) const;
  std::span<const int32_t> scope(int64_t factor) const {
    const int64_t begin = factors_.scope_offsets[factor];
    return factors_.scopes.subspan(begin, factors_.scope_offsets[factor + 1] - begin);
  }
  // Factors of three variables and more, in the order of the variables made for them.
  const std::vector<int64_t>& clusters() const { return clusters_; }

 private:
  double entry(int64_t factor, std::span<const int32_t> state) const;
  // Energies of all labels of a variable given the rest.
  void local_energies(int32_t i, std::span<const int32_t> state, std::vector<double>& out) const;

  Factors factors_;
  std::vector<int64_t> strides_;         // of every place in a scope
  std::vector<int64_t> first_, places_;  // of a variable: places in scopes
  std::vector<int64_t> factor_of_;       // of a place
  std::vector<int64_t> clusters_;        // factors of three variables and more
};

}  // namespace planaris::labels
