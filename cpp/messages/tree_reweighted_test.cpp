#include "messages/tree_reweighted.hpp"

#include <cmath>
#include <stdexcept>

#include "messages/forest.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

// On a tree with every edge in it the messages are those of belief propagation: exact.
TEST_CASE("a tree is exact") {
  const std::vector<int32_t> edges{0, 1, 2, 0, 0, 3};
  const std::vector<double> J{0.7, -1.3, 2.0}, h{0.1, -0.4, 0.9, 0.0}, rho(3, 1.0);
  std::vector<double> messages(6, 0.0);
  Control control;
  const SweepReport report =
      reweighted_sweeps(4, edges, J, rho, h, messages, 50, 1e-14, 0.0, control);
  CHECK(report.change <= 1e-14);
  const ForestMoments truth = Forest(4, edges, control).evaluate(J, h, control);
  // Half-edge 0 goes from 0 to 1, half-edge 2 from 2 to 0.
  CHECK(std::abs(std::tanh(h[1] + messages[0]) - truth.spins[1]) < 1e-13);
  CHECK(std::abs(std::tanh(h[0] + messages[1] + messages[2] + messages[5]) - truth.spins[0]) <
        1e-13);
}

// Two labels are spins: both kernels pass the same messages, up to constants.
TEST_CASE("labels agree with spins") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<double> J{0.9, -0.6, 1.4}, h{0.3, -0.2, 0.5}, rho(3, 2.0 / 3);
  std::vector<double> scaled, node_logs, edge_logs;
  std::vector<int64_t> node_offsets{0, 2, 4, 6}, edge_offsets{0, 4, 8, 12};
  for (const double x : J) {
    scaled.push_back(1.5 * x);
    edge_logs.insert(edge_logs.end(), {1.5 * x, -1.5 * x, -1.5 * x, 1.5 * x});
  }
  for (const double x : h) node_logs.insert(node_logs.end(), {-x, x});
  std::vector<double> fields(6, 0.0), logs(12, 0.0);
  Control control;
  reweighted_sweeps(3, edges, scaled, rho, h, fields, 7, 0.0, 0.3, control);
  const LabelTables tables{node_offsets, node_logs, edge_offsets, edge_logs};
  reweighted_sweeps(edges, tables, rho, logs, 7, 0.0, 0.3, control);
  for (int k = 0; k < 6; ++k) {
    CHECK(std::abs((logs[2 * k + 1] - logs[2 * k]) / 2 - fields[k]) < 1e-13);
  }
}

TEST_CASE("a forest with labels is enumerated") {
  const std::vector<int32_t> edges{0, 1, 2, 1};
  const std::vector<int64_t> node_offsets{0, 2, 5, 7, 10}, edge_offsets{0, 6, 12};
  std::vector<double> nodes, pairs;
  for (int k = 0; k < 10; ++k) nodes.push_back(std::sin(3.0 * k));
  for (int k = 0; k < 12; ++k) pairs.push_back(2 * std::cos(5.0 * k));
  double z = 0;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 2; ++c)
        for (int d = 0; d < 3; ++d)
          z += std::exp(nodes[a] + nodes[2 + b] + nodes[5 + c] + nodes[7 + d] + pairs[3 * a + b] +
                        pairs[6 + 3 * c + b]);
  const LabelTables tables{node_offsets, nodes, edge_offsets, pairs};
  CHECK(std::abs(forest_log_partition(edges, tables) - std::log(z)) < 1e-13);
  const std::vector<int32_t> cycle{0, 2, 2, 0};
  const std::vector<int64_t> offsets{0, 4, 8};
  CHECK_THROWS_AS(forest_log_partition(cycle, {node_offsets, nodes, offsets, pairs}),
                  std::invalid_argument);
}

TEST_CASE("a sweep ends where the time does") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0};
  const std::vector<double> J(3, 0.5), h(3, 0.1), rho(3, 2.0 / 3);
  std::vector<double> messages(6, 0.0);
  int looks = 0;
  const auto stop = [&](double) -> bool {
    if (++looks > 9) throw DeadlinePassed();
    return true;
  };
  Control control(stop, INFINITY, {1, 0.0});  // six looks within a sweep, one after it
  SweepReport report = reweighted_sweeps(3, edges, J, rho, h, messages, 5, 0.0, 0.0, control);
  CHECK(report.sweeps == 1);
  CHECK(report.change > 0.0);
  CHECK(std::isfinite(report.change));
  report = reweighted_sweeps(3, edges, J, rho, h, messages, 5, 0.0, 0.0, control);
  CHECK(report.sweeps == 0);
  CHECK(report.change == INFINITY);
}
