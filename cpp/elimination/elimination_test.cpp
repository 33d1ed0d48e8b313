#include "elimination/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/scaled.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// A cycle of four ternary variables with random-looking tables.
struct Cycle {
  std::vector<int32_t> cardinalities{3, 2, 3, 2}, scopes{0, 1, 1, 2, 2, 3, 3, 0};
  std::vector<int64_t> scope_offsets{0, 2, 4, 6, 8}, table_offsets{0, 6, 12, 18, 24};
  std::vector<double> logs;
  Cycle() {
    for (int i = 0; i < 24; ++i) logs.push_back(std::sin(7.0 * i) * 3);
    logs[5] = -std::numeric_limits<double>::infinity();
  }
  FactorGraphView view() const {
    return {cardinalities, scopes, scope_offsets, logs, table_offsets};
  }
  double log_weight(const std::vector<int32_t>& x) const {
    double total = 0;
    for (int f = 0; f < 4; ++f) {
      const int32_t u = scopes[2 * f], v = scopes[2 * f + 1];
      total += logs[table_offsets[f] + x[u] * cardinalities[v] + x[v]];
    }
    return total;
  }
};

template <class Visit>
void each_state(const Cycle& cycle, Visit&& visit) {
  std::vector<int32_t> x(4);
  for (x[0] = 0; x[0] < 3; ++x[0])
    for (x[1] = 0; x[1] < 2; ++x[1])
      for (x[2] = 0; x[2] < 3; ++x[2])
        for (x[3] = 0; x[3] < 2; ++x[3]) visit(x, cycle.log_weight(x));
}

}  // namespace

TEST_CASE("a cycle agrees with its states") {
  const Cycle cycle;
  double z = 0, best = -1e9, node = 0;
  each_state(cycle, [&](const std::vector<int32_t>& x, double log) {
    z += std::exp(log);
    best = std::max(best, log);
    if (x[2] == 1) node += std::exp(log);
  });
  Control control;
  const auto graph = cycle.view();
  const auto adjacency = factor_adjacency(graph, control);
  std::vector<std::vector<int32_t>> orders;
  for (const auto rule : {OrderRule::kMinDegree, OrderRule::kMinFill}) {
    orders.push_back(greedy_order(graph, adjacency, rule, 1, 40, control).order);
  }
  for (std::vector<int32_t> order{0, 1, 2, 3};;) {  // scopes are then read along and across
    orders.push_back(order);
    if (!std::next_permutation(order.begin(), order.end())) break;
  }
  for (const auto& order : orders) {
    const auto tree = elimination_tree(graph, adjacency, order, 40, control);
    CHECK(tree.width == 2);
    const auto sum = eliminate_sum(graph, tree, true, control);
    CHECK(std::abs(sum.log_partition - std::log(z)) < 1e-13);
    CHECK(std::abs(sum.nodes[3 + 2 + 1] - node / z) < 1e-13);
    for (const bool wide : {false, true}) {
      const auto most = eliminate_max(graph, tree, wide, control);
      CHECK(cycle.log_weight(most.assignment) == best);
      CHECK(std::abs(most.value - best) <= most.error + 1e-15);
    }
    CHECK(eliminate_sample(graph, tree, 10, 3, control).size() == 40);
  }
}

TEST_CASE("wide tables are refused") {
  const Cycle cycle;
  const auto graph = cycle.view();
  const std::vector<int32_t> order{0, 1, 2, 3};
  Control control;
  CHECK_THROWS_AS(elimination_tree(graph, factor_adjacency(graph, control), order, 2.0, control),
                  std::length_error);
}

TEST_CASE("a broken order is refused") {
  const Cycle cycle;
  const auto graph = cycle.view();
  const std::vector<int32_t> order{0, 1, 1, 3};
  Control control;
  CHECK_THROWS_AS(elimination_tree(graph, factor_adjacency(graph, control), order, 40, control),
                  std::invalid_argument);
}

TEST_CASE("scaled numbers hold any logarithm") {
  for (const double log : {0.0, 1.0, -1e5, 1e5, 1e9, -1e15, 3e17, -1e18}) {
    const Scaled x = Scaled::from_log(log);
    CHECK(std::abs(x.log() - log) <= 1e-15 * std::max(1.0, std::abs(log)));
  }
  for (const double log : {1e7, 1e10, 1e15, 4e15}) {  // one apart stays one apart
    const Scaled x = Scaled::from_log(log), y = Scaled::from_log(log + 1.0);
    CHECK(std::abs(std::ldexp(y.m / x.m, static_cast<int>(y.e - x.e)) - std::exp(1.0)) <= 1e-14);
  }
  for (const double log : {1e16, 1e17, 1e18}) {  // and so do 128
    const Scaled x = Scaled::from_log(log), y = Scaled::from_log(log + 128.0);
    const double ratio = std::ldexp(y.m / x.m, static_cast<int>(y.e - x.e));
    CHECK(std::abs(ratio / std::exp(128.0) - 1.0) <= 1e-14);
  }
  CHECK(Scaled::from_log(-1e300).log() == -Scaled::kLargestLog);
  Scaled tiny{5e-324, 0};
  tiny.normalize();
  CHECK(tiny.m == 1.0);
  CHECK(tiny.e == -1074);
}
