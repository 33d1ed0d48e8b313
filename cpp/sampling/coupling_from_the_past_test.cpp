#include "sampling/coupling_from_the_past.hpp"

#include <cmath>

#include "sampling/all_states.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// A triangle with a tail, in fields of both signs.
const std::vector<int32_t> kEdges{0, 1, 1, 2, 2, 0, 2, 3};
const std::vector<double> kCouplings{0.4, 0.3, 0.6, 0.5}, kFields{0.3, -0.5, 0.1, 0.2};

}  // namespace

TEST_CASE("samples have the probabilities of the states") {
  Control control;
  const AttractiveModel model(4, kEdges, kCouplings, kFields);
  const int64_t count = 40000;
  const CoupledSamples found = sample_read_once(model, count, 5, 1, control);
  std::vector<double> seen(16);
  for (int64_t r = 0; r < count; ++r) {
    int code = 0;
    for (int v = 0; v < 4; ++v) code |= (found.spins[4 * r + v] > 0) << v;
    ++seen[code];
  }
  const std::vector<double> p = state_probabilities(kEdges, kCouplings, kFields);
  double chi = 0;
  for (int code = 0; code < 16; ++code) {
    chi += (seen[code] - count * p[code]) * (seen[code] - count * p[code]) / (count * p[code]);
  }
  CHECK(chi < 44.3);  // 15 degrees of freedom: passed by one seed in 10,000
}

TEST_CASE("the table decides as the logarithm does") {
  const HeatBath heat_bath;
  for (int k = 0; k < 200000; ++k) {
    const double u = std::fmod(k * 0.6180339887498949, 1.0) * 0.999998 + 1e-6;
    const double field = 16 * std::fmod(k * 0.7548776662466927, 1.0) - 8;
    const double logit = std::log(u / (1 - u));
    CHECK(heat_bath.up(u, field) == (logit < 2 * field));
    const double near = logit / 2 + 1e-9 * (k % 7 - 3);  // where u is the probability itself
    if (k % 7 != 3) CHECK(heat_bath.up(u, near) == (k % 7 > 3));
  }
  CHECK(heat_bath.up(0x1p-53, 1e300));
  CHECK(!heat_bath.up(1 - 0x1p-53, -1e300));
  CHECK(!heat_bath.up(0x1p-53, -19.0));
  CHECK(heat_bath.up(0x1p-53, -18.0));
}

TEST_CASE("threads change nothing, and spins of one colour do not interact") {
  const int32_t side = 40;
  std::vector<int32_t> edges;
  for (int32_t v = 0; v < side * side; ++v) {
    if (v % side + 1 < side) edges.insert(edges.end(), {v, v + 1});
    if (v + side < side * side) edges.insert(edges.end(), {v, v + side});
  }
  const std::vector<double> couplings(edges.size() / 2, 0.3), fields(side * side, 0.01);
  const AttractiveModel model(side * side, edges, couplings, fields);
  CHECK(model.colours.size() == 3);
  for (const int64_t count : {1, 5}) {
    Control control;
    const CoupledSamples once = sample_read_once(model, count, 9, 1, control);
    for (const int threads : {2, 3, 7}) {
      CHECK(sample_read_once(model, count, 9, threads, control).spins == once.spins);
    }
  }
}

TEST_CASE("bounds from the past close") {
  Control control;
  const AttractiveModel model(4, kEdges, kCouplings, kFields);
  const PastBounds open = bound_from_the_past(model, 50, 1, 3, 1, control);
  const PastBounds closed = bound_from_the_past(model, 50, 1 << 20, 3, 2, control);
  for (int v = 0; v < 4; ++v) {
    CHECK(closed.lower[v] == closed.upper[v]);
    CHECK(open.lower[v] <= closed.lower[v]);
    CHECK(closed.upper[v] <= open.upper[v]);
  }
}

TEST_CASE("chains that do not meet stop at the deadline") {
  const AttractiveModel model(2, std::vector<int32_t>{0, 1}, std::vector<double>{500.0},
                              std::vector<double>{0.0, 0.0});
  Control control({}, 0.01);
  CHECK_THROWS_AS(sample_read_once(model, 1, 1, 1, control), DeadlinePassed);
}

TEST_CASE("no spins, no samples") {
  Control control;
  const AttractiveModel none(0, {}, {}, {});
  CHECK(sample_read_once(none, 3, 0, 1, control).spins.empty());
  const AttractiveModel one(1, {}, {}, std::vector<double>{800.0});
  CHECK(sample_read_once(one, 2, 0, 4, control).spins == std::vector<int8_t>{1, 1});
}
