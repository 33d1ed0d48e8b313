#include "rigour/swept_front.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "base/double_double.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

constexpr int kRows = 210, kEliminated = 150;  // three blocks of columns

// Of a factor as an elimination leaves it, in `columns`.
FactorColumns random_factor(std::mt19937_64& rng, std::vector<double>& columns) {
  std::normal_distribution<double> normal;
  std::vector<double> lower;
  ProofFactor f;
  f.rows = kRows;
  f.eliminated = kEliminated;
  for (int j = 0; j < kEliminated; ++j) {
    for (int i = j + 1; i < kRows; ++i) {
      const double entry = normal(rng);
      lower.push_back(i > (j | 1) ? 0.1 * entry : 1 + std::fabs(entry));  // the pivot
    }
  }
  lower.resize(lower.size() + kWideSlack);
  f.lower = lower.data();
  return f.unpack(columns);
}

double pivot_of(const FactorColumns& f, int k) { return f.column(k & ~1)[k | 1]; }

// Column j of N, then of W, by substitution, one column after the other.
std::vector<DoubleDouble> substituted(const FactorColumns& f, int j) {
  std::vector<DoubleDouble> x(kRows);
  x[j] = 1.0;
  for (int k = j; k < kEliminated; ++k) {
    for (int i = (k | 1) + 1; i < kRows; ++i) x[i] += -DoubleDouble(f.column(k)[i]) * x[k];
  }
  return x;
}

// (Nᵀ |D|⁻¹ N)_jj
DoubleDouble own_size(const FactorColumns& f, int j, const std::vector<DoubleDouble>& x) {
  DoubleDouble sum;
  for (int k = j; k < kEliminated; ++k) sum += x[k] * x[k] / DoubleDouble(pivot_of(f, k));
  return sum;
}

// sqrt((Nᵀ |D|⁻¹ N)_jj + (Σ_i root_i |W_ij|)²)
double size_of_row(const FactorColumns& f, int j, const std::vector<double>& root) {
  const std::vector<DoubleDouble> x = substituted(f, j);
  DoubleDouble below;
  for (int i = kEliminated; i < kRows; ++i) below += DoubleDouble(root[i]) * magnitude(x[i]);
  return std::sqrt(to_double(own_size(f, j, x) + below * below));
}

// From the last columns to the first, fifty at a time.
void sweep(SweptFront& front) {
  for (int end = kEliminated; end > 0; end -= 50) {
    front.extend(end - 50, end);
    front.enlarge(end - 50, 1.0);
  }
}

}  // namespace

TEST_CASE("sizes of a whole front, several blocks of columns, are those of its columns") {
  std::mt19937_64 rng(1);
  std::vector<double> columns;
  const FactorColumns f = random_factor(rng, columns);
  std::vector<double> root(kRows + kWeightSlack, 0.0);
  for (int i = kEliminated; i < kRows; ++i) root[i] = 0.5 + i % 3;
  const std::vector<double> given = root;
  SweepBuffers buffers;
  const ParallelFor alone;
  SweptFront front(f, nullptr, nullptr, root.data(), true, buffers, alone);
  const double rounded = front.extend_sizes(0, kEliminated);
  CHECK(rounded < 0x1p-10);
  CHECK(front.in_range());
  PanelSums expected;
  std::vector<double> omega(kEliminated, 0.0);
  for (int j = 0; j < kEliminated; ++j) {
    CHECK(std::fabs(root[j] / size_of_row(f, j, given) - 1) < rounded);
  }
  for (int k = 0; k < kEliminated; ++k) {
    omega[k] = root[k];
    for (int i = (k | 1) + 1; i < kRows; ++i) omega[k] += root[i] * std::fabs(f.column(k)[i]);
  }
  for (int k = 0; k < kEliminated; k += 2) {
    expected.products += pivot_of(f, k) * omega[k] * omega[k + 1];
  }
  CHECK(front.sums(0, kEliminated).products == doctest::Approx(expected.products).epsilon(1e-10));
}

TEST_CASE(
    "sizes are at least the square roots of the diagonal of H, and those without rows below") {
  std::mt19937_64 rng(2);
  std::vector<double> columns;
  const FactorColumns f = random_factor(rng, columns);
  std::vector<double> root(kRows + kWeightSlack, 0.0), sizes = root;
  std::vector<double> h(SweptFront::room(f), 0.0);
  for (const double below : {0.0, 1.0}) {
    // H of the rows below: ones, or nearly nothing.
    for (int i = kEliminated; i < kRows; ++i) {
      const double entry = below > 0.0 ? 1.0 : 0x1p-200;
      h[i * f.step() + i] = entry;
      root[i] = sizes[i] = std::sqrt(entry);
    }
    SweepBuffers buffers;
    const ParallelFor alone;
    SweptFront fine(f, h.data(), nullptr, root.data(), true, buffers, alone);
    sweep(fine);
    SweptFront coarse(f, nullptr, nullptr, sizes.data(), true, buffers, alone);
    coarse.extend_sizes(0, kEliminated);
    for (int j = 0; j < kEliminated; ++j) {
      const double exact = std::sqrt(fine.bound(j, j));
      CHECK(sizes[j] > exact * (1 - 1e-10));
      if (below == 0.0) CHECK(sizes[j] < exact * (1 + 1e-10));
    }
  }
}

TEST_CASE("with H of the rows below, sizes are the square roots of its diagonal") {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> normal;
  std::vector<double> columns;
  const FactorColumns f = random_factor(rng, columns);
  constexpr int kLeft = kRows - kEliminated;
  std::vector<double> factor(kLeft * kLeft), root(kRows + kWeightSlack, 0.0), sizes = root;
  for (double& x : factor) x = normal(rng);
  std::vector<double> h(SweptFront::room(f), 0.0), above(kLeft * (kLeft + kProductSlack), 0.0);
  for (int i = 0; i < kLeft; ++i) {
    for (int j = 0; j < kLeft; ++j) {
      double entry = 0.0;
      for (int k = 0; k < kLeft; ++k) entry += factor[i * kLeft + k] * factor[j * kLeft + k];
      h[(kEliminated + j) * f.step() + kEliminated + i] = entry;
      above[j * (kLeft + kProductSlack) + i] = entry;
      if (i == j) root[kEliminated + i] = sizes[kEliminated + i] = std::sqrt(entry);
    }
  }
  SweepBuffers buffers;
  const ParallelFor alone;
  SweptFront fine(f, h.data(), nullptr, root.data(), true, buffers, alone);
  sweep(fine);
  SweptFront last(f, nullptr, nullptr, sizes.data(), true, buffers, alone);
  const double rounded = last.extend_sizes(0, kEliminated, {above.data(), kLeft + kProductSlack});
  CHECK(rounded < 0x1p-10);
  for (int j = 0; j < kEliminated; ++j) {
    CHECK(sizes[j] == doctest::Approx(std::sqrt(fine.bound(j, j))).epsilon(1e-9));
  }
}

// Errors of W as large as unit_p |L_Tp||N|: those of L_Tp, of the signs that enlarge a size most.
TEST_CASE("sizes are enlarged by more than errors as large as claimed add to them") {
  std::mt19937_64 rng(4);
  std::vector<double> columns;
  const FactorColumns f = random_factor(rng, columns);
  std::vector<double> root(kRows + kWeightSlack, 0.0);
  for (int i = kEliminated; i < kRows; ++i) root[i] = 0x1p20;  // the rows below count most
  const std::vector<double> given = root;
  SweepBuffers buffers;
  const ParallelFor alone;
  SweptFront front(f, nullptr, nullptr, root.data(), true, buffers, alone);
  const double rounded = front.extend_sizes(0, kEliminated) - 0x1p-39;
  const double unit = (3 * 64 + 4 + kEliminated / 64 + 12) * 0x1p-53;
  double most = 0.0;
  for (int j = 0; j < kEliminated; ++j) {
    const std::vector<DoubleDouble> x = substituted(f, j);
    const DoubleDouble own = own_size(f, j, x);
    DoubleDouble below;
    for (int i = kEliminated; i < kRows; ++i) {
      DoubleDouble moved = magnitude(x[i]);
      for (int k = j; k < kEliminated; ++k) {
        moved += DoubleDouble(unit) * magnitude(DoubleDouble(f.column(k)[i]) * x[k]);
      }
      below += DoubleDouble(given[i]) * moved;
    }
    const DoubleDouble bound =
        DoubleDouble(root[j]) * (DoubleDouble(1.0) + DoubleDouble(2 * rounded));
    CHECK(to_double(bound * bound - (own + below * below)) > 0.0);
    most = std::max(most, to_double((own + below * below) / (DoubleDouble(root[j]) * root[j])) - 1);
  }
  CHECK(most > rounded / 16);
}
