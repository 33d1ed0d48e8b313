#include "polytope/sparse_cholesky.hpp"

#include <cmath>
#include <random>
#include <stdexcept>

#include "base/table_too_large.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

std::vector<double> solve_symmetric(std::span<const int64_t> offsets, std::span<const int32_t> rows,
                                    std::span<const double> values, std::span<const double> side,
                                    int64_t max_entries, Control& control) {
  return SparseFactor(offsets, rows, values, max_entries, control).solve(side, control);
}

struct Sparse {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> rows;
  std::vector<double> values;

  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> y(x.size(), 0.0);
    for (size_t k = 0; k + 1 < offsets.size(); ++k) {
      for (int64_t p = offsets[k]; p < offsets[k + 1]; ++p) {
        y[k] += values[p] * x[rows[p]];
        if (size_t(rows[p]) != k) y[rows[p]] += values[p] * x[k];
      }
    }
    return y;
  }
};

// Diagonally dominant, with about `degree` entries per column above the diagonal.
Sparse random_matrix(int32_t n, double degree, std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Sparse made;
  for (int32_t k = 0; k < n; ++k) {
    for (int32_t i = 0; i < k; ++i) {
      if (uniform(rng) > 2.0 * degree / k - 1.0) continue;
      made.rows.push_back(i);
      made.values.push_back(uniform(rng));
    }
    made.rows.push_back(k);
    made.values.push_back(n + 1.0);
    made.offsets.push_back(int64_t(made.rows.size()));
  }
  return made;
}

}  // namespace

TEST_CASE("sparse symmetric systems are solved") {
  std::mt19937 rng(3);
  std::normal_distribution<double> normal;
  for (const int32_t n : {0, 1, 2, 7, 60, 300}) {
    for (const double degree : {0.0, 1.5, 5.0, 1e9}) {
      const Sparse a = random_matrix(n, degree, rng);
      std::vector<double> x(n);
      for (double& value : x) value = normal(rng);
      Control control;
      const auto found = solve_symmetric(a.offsets, a.rows, a.values, a.times(x), 1 << 20, control);
      for (int32_t k = 0; k < n; ++k) CHECK(std::abs(found[k] - x[k]) < 1e-10);
    }
  }
}

TEST_CASE("what is not a matrix, too large, or singular is refused") {
  Control control;
  const std::vector<int64_t> offsets{0, 1, 3};
  const std::vector<double> values{1.0, 1.0, 1.0}, side{1.0, 2.0};
  const std::vector<int32_t> rows{0, 0, 1}, below{1, 0, 1};
  CHECK_THROWS_AS(solve_symmetric(offsets, below, values, side, 9, control), std::invalid_argument);
  CHECK_THROWS_AS(solve_symmetric(offsets, rows, values, side, 0, control), TableTooLarge);
  CHECK_THROWS_AS(solve_symmetric(offsets, rows, values, side, 9, control), std::range_error);
  CHECK_THROWS_AS(solve_symmetric(offsets, rows, std::vector<double>{1.0, 0.0, 1.0},
                                  std::vector<double>(3), 9, control),
                  std::invalid_argument);
  CHECK_THROWS_AS(solve_symmetric({}, {}, {}, {}, 9, control), std::invalid_argument);
}

TEST_CASE("a deadline stops a factorization") {
  std::mt19937 rng(1);
  const Sparse a = random_matrix(300, 1e9, rng);
  Control control({}, 0.0, {1, 0.0});
  CHECK_THROWS_AS(
      solve_symmetric(a.offsets, a.rows, a.values, std::vector<double>(300), 1 << 20, control),
      DeadlinePassed);
  const SparseFactor factor = [&] {
    Control free;
    return SparseFactor(a.offsets, a.rows, a.values, 1 << 20, free);
  }();
  CHECK_THROWS_AS(factor.solve(std::vector<double>(300), control), DeadlinePassed);
}
