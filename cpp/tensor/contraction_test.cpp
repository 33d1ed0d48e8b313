#include "tensor/contraction.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "third_party/doctest/doctest.h"

using namespace planaris::tensor;

namespace {

// A grid of spins with random couplings and fields.
struct Grid {
  Grid(int rows, int columns) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    const int n = rows * columns;
    cardinalities.assign(n, 2);
    for (int v = 0; v < n; ++v) {
      const int row = v / columns, column = v % columns;
      const double h = normal(random);
      node_logs.insert(node_logs.end(), {-h, h});
      if (column + 1 < columns) join(v, v + 1, normal(random));
      if (row + 1 < rows) join(v, v + columns, normal(random));
      order.push_back(row * columns + (row % 2 == 0 ? column : columns - 1 - column));
      heights.push_back(column);
    }
    for (int v = 0; v <= n; ++v) node_offsets.push_back(2 * v);
    for (size_t e = 0; e <= edges.size() / 2; ++e) edge_offsets.push_back(4 * e);
    planaris::Control control;
    program = compile(view(), order, heights, control);
  }
  void join(int u, int v, double coupling) {
    edges.insert(edges.end(), {u, v});
    edge_logs.insert(edge_logs.end(), {coupling, -coupling, -coupling, coupling});
  }
  NetworkView view() const {
    return {cardinalities, node_logs, node_offsets, edges, edge_logs, edge_offsets};
  }

  std::vector<int32_t> cardinalities, edges, order;
  std::vector<double> node_logs, edge_logs, heights;
  std::vector<int64_t> node_offsets, edge_offsets;
  Program program;
};

bool same(std::span<const double> a, std::span<const double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST_CASE("a tape goes back through the same states, whatever memory it has") {
  const Grid grid(14, 7);
  const NetworkView network = grid.view();
  const auto total = static_cast<int64_t>(grid.program.steps.size());
  const ChainOptions options{{8, 1e-6, 0}, 0.5};
  for (double limit : {1e12, 30e3, 20e3, 0.0}) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      Tape tape(network, grid.program, direction, options, limit);
      const bool forward = direction == Direction::kForward;
      std::vector<Chain> states;
      for (int64_t k = 0; k < total; ++k) {
        states.push_back(tape.onward().chain());
        tape.step(true);
      }
      int64_t again = 0;
      for (int64_t k = total - 1; k >= 0; --k) {
        tape.step_back([&] { ++again; });
        CHECK(tape.time() == (forward ? k : total - k));
        REQUIRE(tape.chain().size() == states[k].size());
        for (int i = 0; i < states[k].size(); ++i) {
          if (tape.chain().site(i) == nullptr) continue;  // the next step back brings it
          CHECK(same(tape.chain()[i].values, states[k][i].values));
          CHECK(same(tape.chain()[i].logs, states[k][i].logs));
        }
      }
      if (limit > 1e9) {
        CHECK(again == 0);
      } else {
        CHECK(again > 0);
      }
      if (limit > 0) CHECK(tape.most_bytes() <= limit);
    }
  }
}

TEST_CASE("what fits is not computed twice") {
  const Grid grid(80, 6);
  const NetworkView network = grid.view();
  const auto total = static_cast<int64_t>(grid.program.steps.size());
  double all = 0;
  for (const double part : {1.0, 0.75, 0.5}) {
    Tape tape(network, grid.program, Direction::kForward, {{8, 1e-6, 0}, 0.5},
              part == 1.0 ? 1e12 : part * all);
    for (int64_t k = 0; k < total; ++k) tape.step(true);
    int64_t again = 0;
    for (int64_t k = 0; k < total; ++k) tape.step_back([&] { ++again; });
    if (part == 1.0) all = tape.most_bytes();
    CHECK(static_cast<double>(again) <= 1.6 * (1 - part) * static_cast<double>(total));
  }
}

TEST_CASE("a tape forgets its tensors without a look at them") {
  const Grid grid(14, 7);
  const NetworkView network = grid.view();
  Tape tape(network, grid.program, Direction::kForward, {{8, 1e-6, 0}, 0.5}, 1e12);
  for (size_t k = 0; k < grid.program.steps.size(); ++k) tape.step(true);
  const Tape copy = tape;
  const size_t before = tape.chain().slabs().objects();
  CHECK(before > 100);
  tape.forget();
  CHECK(copy.chain().slabs().objects() == before);
  CHECK(copy.chain().log_scale().high == tape.chain().log_scale().high);
}
