#include "elimination/binary_sum.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// Random factors of one to three binary variables.
struct BinaryFactors {
  std::vector<int32_t> cardinalities, scopes;
  std::vector<int64_t> scope_offsets{0}, table_offsets{0};
  std::vector<double> logs;

  BinaryFactors(int32_t n, int factors, double size, uint64_t seed) : cardinalities(n, 2) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-size, size);
    std::vector<int32_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    for (int f = 0; f < factors; ++f) {
      std::shuffle(all.begin(), all.end(), random);
      add({all.begin(), all.begin() + 1 + f % std::min(n, 3)}, [&] { return uniform(random); });
    }
  }
  template <class Value>
  void add(const std::vector<int32_t>& scope, Value&& value) {
    scopes.insert(scopes.end(), scope.begin(), scope.end());
    scope_offsets.push_back(static_cast<int64_t>(scopes.size()));
    for (int i = 0; i < 1 << scope.size(); ++i) logs.push_back(value());
    table_offsets.push_back(static_cast<int64_t>(logs.size()));
  }
  FactorGraphView view() const {
    return {cardinalities, scopes, scope_offsets, logs, table_offsets};
  }
  int64_t entry(int64_t f, uint64_t state) const {
    int64_t at = 0;
    for (int64_t k = scope_offsets[f]; k < scope_offsets[f + 1]; ++k) {
      at = 2 * at + static_cast<int64_t>(state >> scopes[k] & 1);
    }
    return table_offsets[f] + at;
  }
};

EliminationTree tree_of(const FactorGraphView& graph, Control& control) {
  const auto adjacency = factor_adjacency(graph, control);
  const auto order = greedy_order(graph, adjacency, OrderRule::kMinDegree, 1, 40, control).order;
  return elimination_tree(graph, adjacency, order, 40, control);
}

}  // namespace

TEST_CASE("sums in doubles agree with all states") {
  for (const auto& [n, factors] : {std::pair{1, 1}, {2, 0}, {5, 4}, {9, 12}, {13, 30}, {14, 25}}) {
    Control control;
    const BinaryFactors model(n, factors, 2.0, 17 + n);
    const auto graph = model.view();
    const auto tree = tree_of(graph, control);
    const auto found = eliminate_binary(graph, tree, control);
    REQUIRE(found);
    std::vector<double> nodes(2 * n, 0.0), tables(model.logs.size(), 0.0);
    double z = 0;
    for (uint64_t state = 0; state < uint64_t{1} << n; ++state) {
      double log = 0;
      for (int f = 0; f < factors; ++f) log += model.logs[model.entry(f, state)];
      const double weight = std::exp(log);
      z += weight;
      for (int v = 0; v < n; ++v) nodes[2 * v + (state >> v & 1)] += weight;
      for (int f = 0; f < factors; ++f) tables[model.entry(f, state)] += weight;
    }
    CHECK(found->error < 1e-11);
    CHECK(std::abs(found->log_partition + found->rest - std::log(z)) < 1e-12);
    for (int i = 0; i < 2 * n; ++i) CHECK(std::abs(found->nodes[i] - nodes[i] / z) < 1e-12);
    for (size_t i = 0; i < tables.size(); ++i) {
      CHECK(std::abs(found->factors[i] - tables[i] / z) < 1e-12);
    }
  }
}

TEST_CASE("sums in doubles agree with numbers that have exponents") {
  for (const double size : {0.1, 2.0, 8.0, 20.0}) {
    Control control;
    constexpr int32_t kColumns = 13;
    BinaryFactors model(12 * kColumns, 0, size, 3);
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(-size, size);
    const auto value = [&] { return uniform(random); };
    for (int32_t v = 0; v < 12 * kColumns; ++v) {
      model.add({v}, value);
      if (v % kColumns > 0) model.add({v, v - 1}, value);
      if (v >= kColumns) model.add({v - kColumns, v}, value);
    }
    const auto tree = tree_of(model.view(), control);
    CHECK(tree.width >= 12);  // several pieces
    const auto found = eliminate_binary(model.view(), tree, control);
    REQUIRE(found);
    model.scope_offsets.push_back(model.scope_offsets.back());  // a constant: it is refused
    model.logs.push_back(0.0);
    model.table_offsets.push_back(static_cast<int64_t>(model.logs.size()));
    CHECK(!eliminate_binary(model.view(), tree, control));
    const auto other = eliminate_sum(model.view(), tree, true, control);
    const double error = found->error + other.error;
    CHECK(std::abs(found->log_partition - other.log_partition) <= error + 1e-13 * size);
    for (size_t i = 0; i < found->nodes.size(); ++i) {
      CHECK(std::abs(found->nodes[i] - other.nodes[i]) <= 2 * error);
    }
  }
}

TEST_CASE("sums in doubles are refused where doubles do not hold them") {
  Control control;
  const auto refused = [&](const BinaryFactors& model) {
    return !eliminate_binary(model.view(), tree_of(model.view(), control), control);
  };
  BinaryFactors zero(6, 9, 1.0, 1);
  zero.logs[4] = -std::numeric_limits<double>::infinity();
  CHECK(refused(zero));
  CHECK(refused(BinaryFactors(6, 9, 400.0, 1)));
  BinaryFactors labels(6, 0, 1.0, 1);
  labels.cardinalities[3] = 3;
  CHECK(refused(labels));
  BinaryFactors far(2, 0, 1.0, 1);  // every factor fits, their product does not
  for (int k = 0; k < 2; ++k) {
    double next = 0;
    far.add({0, 1}, [&] { return next -= 100; });
  }
  CHECK(refused(far));
}
