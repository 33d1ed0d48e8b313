#include "polytope/cycle_separation.hpp"

#include <stdexcept>

#include "polytope/cut_reduction.hpp"
#include "polytope/cut_search.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

// A ring of n spins, all edges satisfied but one.
static std::vector<int32_t> ring(int32_t n) {
  std::vector<int32_t> edges;
  for (int32_t v = 0; v < n; ++v) {
    edges.push_back(v);
    edges.push_back((v + 1) % n);
  }
  return edges;
}

TEST_CASE("a frustrated ring is found by both searches") {
  for (int32_t n : {3, 4, 50, 3000}) {
    const auto edges = ring(n);
    std::vector<double> x(n, 0.0);
    x[0] = 0.75;
    for (int32_t budget : {0, 48}) {
      Control control;
      SeparationOptions options;
      options.budget = budget;
      const CycleCuts cuts = separate_cycles(n, edges, x, options, control);
      CHECK(cuts.violation.size() == 1);
      CHECK(cuts.offsets[1] == n);
      CHECK(cuts.violation[0] > 0.7499);
      CHECK(cuts.violation[0] < 0.7501);
    }
  }
}

TEST_CASE("a consistent ring has none") {
  const auto edges = ring(10);
  std::vector<double> x(10, 0.1);
  x[3] = 0.9;
  Control control;
  CHECK(separate_cycles(10, edges, x, {}, control).violation.empty());
}

TEST_CASE("a ring reduces to nothing and lifts") {
  const int32_t n = 1000;
  const auto edges = ring(n);
  std::vector<double> couplings(n, 1.0);
  couplings[7] = -2.0;
  couplings[11] = 0.5;
  Control control;
  const CutReduction small = reduce_cut(n, edges, couplings, true, control);
  CHECK(small.num_spins == 0);
  CHECK(small.constant == -(n - 2 + 2.0 - 0.5));
  const auto spins = lift_spins(small, n, {});
  double energy = 0;
  for (int32_t e = 0; e < n; ++e) energy -= couplings[e] * spins[e] * spins[(e + 1) % n];
  CHECK(energy == small.constant);
  const auto x = lift_disagreements(small, n, {});
  for (int32_t e = 0; e < n; ++e) CHECK(x[e] == (spins[e] != spins[(e + 1) % n]));
}

TEST_CASE("rounding follows decided edges") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 3, 0, 3};
  const auto spins = round_disagreements(4, edges, std::vector<double>{1, 0.1, 0.9, 0.5});
  CHECK(spins[0] != spins[1]);
  CHECK(spins[1] == spins[2]);
  CHECK(spins[2] != spins[3]);
  Control control;
  auto state = spins;
  improve_spins(4, edges, std::vector<double>{1, 1, 1, 1}, state, 10, 1, control);
  CHECK(state[0] == state[1]);
  CHECK(state[1] == state[2]);
  CHECK(state[2] == state[3]);
}

TEST_CASE("broken arrays are refused") {
  Control control;
  CHECK_THROWS_AS(
      separate_cycles(2, std::vector<int32_t>{0, 5}, std::vector<double>{0}, {}, control),
      std::invalid_argument);
}
