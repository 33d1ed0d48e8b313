#include "frontier/piece_bounds.hpp"

#include <cmath>
#include <random>
#include <stdexcept>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

double log_sum(int n, const std::vector<int32_t>& edges, const std::vector<double>& J,
               const std::vector<double>& h) {
  double z = 0;
  for (int state = 0; state < (1 << n); ++state) {
    const auto s = [&](int v) { return (state >> v & 1) ? 1.0 : -1.0; };
    double e = 0;
    for (size_t k = 0; k < J.size(); ++k) e += J[k] * s(edges[2 * k]) * s(edges[2 * k + 1]);
    for (int v = 0; v < n; ++v) e += h[v] * s(v);
    z += std::exp(e);
  }
  return std::log(z);
}

// Two triangles of spins that share the spins 2 and 3 of a model of five, in that order: 0, 1, 4
// belong to one piece each.
struct Example {
  std::vector<int32_t> edges{0, 1, 0, 2, 1, 3, 2, 3, 2, 4, 3, 4};
  std::vector<double> J{0.7, -1.2, 0.4, 0.9, -0.3, 1.1}, h{0.1, -0.4, 0.3, 0.2, -0.6};
  // First piece: spins 0 1 2 3; second: 4 2 3, numbered 0 1 2.
  std::vector<Piece> pieces{{{0, 1, 0, 2, 1, 3, 2, 3}, {0, 0, 1, 1}, {-1, -1, 3, -1}},
                            {{1, 2, 1, 0, 2, 0}, {0, 1, 1}, {-1, 2, -1}}};
  std::vector<double> couplings{0.7, -1.2, 0.4, 0.5, 0.4, -0.3, 1.1};
  std::vector<double> fields{0.1, -0.4, 0.1, 0.3, -0.6, 0.2, -0.1};
  std::vector<double> weights{1, 1, 0.5, 0.3, 1, 0.5, 0.7};
  std::vector<double> up{0, 0, 0, 0, 0.3, 0.8, 0.6, 0.6, 0, 0, 0.3, 0.8, 0.6, 0.6};

  PieceNumbers numbers() const { return {couplings, fields, weights}; }
};

double total(const PieceSums& sums) {
  double sum = 0;
  for (const double log : sums.logs) sum += log;
  return sum;
}

}  // namespace

TEST_CASE("pieces that share spins enclose the sum") {
  Example e;
  Control control;
  const PieceSweep sweep(e.pieces, 10);
  const double truth = log_sum(5, e.edges, e.J, e.h);
  CHECK(total(sweep.above(e.numbers(), control)) > truth);
  CHECK(total(sweep.below(e.numbers(), e.up, control)) < truth);
  CHECK(total(sweep.above(e.numbers(), control)) < truth + 1);
  CHECK(total(sweep.below(e.numbers(), e.up, control)) > truth - 1);
}

TEST_CASE("derivatives of the upper bound are those of differences") {
  Example e;
  Control control;
  const PieceSweep sweep(e.pieces, 10);
  const PieceSums sums = sweep.above(e.numbers(), control);
  const double step = 1e-6;
  const auto slope = [&](double& x) {
    const double x0 = x;
    x = x0 + step;
    const double high = total(sweep.above(e.numbers(), control));
    x = x0 - step;
    const double low = total(sweep.above(e.numbers(), control));
    x = x0;
    return (high - low) / (2 * step);
  };
  for (const int k : {2, 3, 5, 6}) {
    CHECK(std::abs(slope(e.fields[k]) - sums.by_field[k]) < 1e-8);
    CHECK(std::abs(slope(e.weights[k]) - sums.by_weight[k]) < 1e-7);
  }
  for (const int k : {3, 4}) CHECK(std::abs(slope(e.couplings[k]) - sums.by_coupling[k]) < 1e-8);
}

TEST_CASE("gains of the lower bound lead to better probabilities") {
  Example e;
  Control control;
  const PieceSweep sweep(e.pieces, 10);
  double last = total(sweep.below(e.numbers(), e.up, control));
  for (int round = 0; round < 20; ++round) {
    const PieceSums sums = sweep.below(e.numbers(), e.up, control);
    CHECK(std::abs(sums.reached[4] + sums.reached[5] - 1) < 1e-12);
    // One spin at a time cannot lose; the last one has no context.
    const int first = round % 2 ? 4 : 6, second = round % 2 ? 10 : 12;
    for (int c = 0; c < 2; ++c) {
      const double q = e.up[first + c];
      const int at = round % 2 ? c : 0;
      const double gain = sums.gain[first + at] + sums.gain[second + at] + std::log(q / (1 - q));
      e.up[first + c] = e.up[second + c] = 1 / (1 + std::exp(-gain));
    }
    const double now = total(sweep.below(e.numbers(), e.up, control));
    CHECK(now > last - 1e-12);
    last = now;
  }
  // The pieces are independent given both shared spins, whose distribution q can be any.
  CHECK(std::abs(last - log_sum(5, e.edges, e.J, e.h)) < 1e-9);
}

TEST_CASE("a lattice in one piece is summed exactly") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Piece piece;
  const int rows = 4, columns = 4;
  std::vector<double> J, h, ones(16, 1.0);
  for (int v = 0; v < rows * columns; ++v) {
    h.push_back(normal(random));
    piece.shared.push_back(0);
    piece.context.push_back(-1);
    if (v % rows + 1 < rows) piece.edges.insert(piece.edges.end(), {v, v + 1});
    if (v + rows < rows * columns) piece.edges.insert(piece.edges.end(), {v, v + rows});
  }
  for (size_t k = 0; k < piece.edges.size() / 2; ++k) J.push_back(normal(random));
  Control control;
  const PieceSweep sweep({piece}, 10);
  CHECK(sweep.bits()[0] == 4);
  const PieceSums found = sweep.above({J, h, ones}, control);
  CHECK(std::abs(found.logs[0] - log_sum(16, piece.edges, J, h)) < 1e-12);
  CHECK(found.errors[0] < 1e-11);
}

TEST_CASE("wide tables, late contexts and large ranges are refused") {
  Example e;
  Control control;
  CHECK_THROWS_AS(PieceSweep(e.pieces, 1), std::length_error);
  e.pieces[0].context[3] = 2;
  CHECK_THROWS_AS(PieceSweep(e.pieces, 10), std::invalid_argument);
  Example cold;
  for (double& j : cold.couplings) j *= 1000;
  CHECK_THROWS_AS(PieceSweep(cold.pieces, 10).below(cold.numbers(), cold.up, control),
                  std::range_error);
}

TEST_CASE("tables shrink between wide parts of a piece and grow again") {
  // Two cliques of six spins joined by one edge: five spins in the table, then one, then five.
  std::vector<int32_t> edges;
  for (int32_t first : {0, 6}) {
    for (int32_t u = first; u < first + 6; ++u) {
      for (int32_t v = u + 1; v < first + 6; ++v) edges.insert(edges.end(), {u, v});
    }
  }
  edges.insert(edges.end(), {5, 6});
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> J(edges.size() / 2), h(12), weights(12, 1.0);
  for (double& x : J) x = normal(random);
  for (double& x : h) x = normal(random);
  Piece piece{edges, std::vector<uint8_t>(12, 0), std::vector<int32_t>(12, -1)};
  Control control;
  const PieceSweep sweep({piece}, 10);
  CHECK(sweep.bits()[0] == 5);
  CHECK(sweep.entries() < 12 * 32);
  const double truth = log_sum(12, edges, J, h);
  CHECK(total(sweep.above({J, h, weights}, control)) == doctest::Approx(truth).epsilon(1e-12));

  // Spins 1 and 8 as if they were shared: derivatives are those of differences.
  piece.shared[1] = piece.shared[8] = 1;
  weights[1] = 0.5, weights[8] = 0.3;
  const PieceSweep shared({piece}, 10);
  const PieceSums sums = shared.above({J, h, weights}, control);
  for (const int v : {1, 8}) {
    double ends[2];
    for (const int k : {0, 1}) {
      std::vector<double> moved = h;
      moved[v] += k ? 1e-5 : -1e-5;
      ends[k] = total(shared.above({J, moved, weights}, control));
    }
    CHECK(sums.by_field[v] == doctest::Approx((ends[1] - ends[0]) / 2e-5).epsilon(1e-6));
  }
}
