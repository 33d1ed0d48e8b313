#include "tensor/dense.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "third_party/doctest/doctest.h"

using namespace planaris::tensor;

static std::vector<double> random_matrix(int rows, int columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out(static_cast<size_t>(rows) * columns);
  for (double& x : out) x = normal(random);
  return out;
}

TEST_CASE("products of every shape agree with plain loops") {
  for (int rows : {1, 3, 4, 5, 9}) {
    for (int depth : {1, 2, 7}) {
      for (int columns : {1, 7, 8, 9, 17}) {
        const auto a = random_matrix(rows, depth, 1), b = random_matrix(depth, columns, 2);
        std::vector<double> c(rows * columns), turned(rows * depth), again(rows * columns);
        multiply(a.data(), b.data(), c.data(), rows, depth, columns);
        transpose(a.data(), turned.data(), rows, depth);
        multiply_transposed(turned.data(), b.data(), again.data(), depth, rows, columns);
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            double sum = 0;
            for (int k = 0; k < depth; ++k) sum += a[i * depth + k] * b[k * columns + j];
            CHECK(c[i * columns + j] == sum);
            CHECK(again[i * columns + j] == sum);
          }
        }
      }
    }
  }
}

TEST_CASE("products of parts of matrices agree with plain loops") {
  for (int rows : {1, 4, 6}) {
    for (int depth : {1, 5}) {
      for (int columns : {1, 7, 8, 19}) {
        for (int apart : {1, 2, 3}) {  // labels, of which the last is multiplied
          const auto a = random_matrix(rows, apart * depth, 3);
          const auto b = random_matrix(depth, apart * columns, 4);
          const double* first = a.data() + static_cast<size_t>(apart - 1) * depth;
          // No entry behind the last row, for sanitizers to see what is read.
          const std::vector<double> last(b.begin() + static_cast<size_t>(apart - 1) * columns,
                                         b.end());
          std::vector<double> c(rows * columns);
          multiply_parts(first, apart * depth, 1, last.data(), apart * columns, c.data(), rows,
                         depth, columns);
          const std::vector<Pair> pairs_a(a.begin(), a.end()), pairs_b(last.begin(), last.end());
          std::vector<Pair> pairs_c(rows * columns);
          multiply_parts(pairs_a.data() + static_cast<size_t>(apart - 1) * depth, apart * depth, 1,
                         pairs_b.data(), apart * columns, pairs_c.data(), rows, depth, columns);
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
              double sum = 0;
              for (int k = 0; k < depth; ++k) {
                sum += first[i * apart * depth + k] * last[k * apart * columns + j];
              }
              CHECK(c[i * columns + j] == sum);
              CHECK(std::abs(pairs_c[i * columns + j].high - sum) < 1e-14);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a skeleton of full rank gives the matrix back") {
  std::vector<double> work;
  for (int rank : {1, 3, 6}) {
    const int rows = 10, columns = 7;
    const auto a = random_matrix(rows, rank, 3), b = random_matrix(rank, columns, 4);
    std::vector<double> m(rows * columns);
    multiply(a.data(), b.data(), m.data(), rows, rank, columns);
    for (const Side side : {Side::kLeft, Side::kRight}) {
      Skeleton out;
      skeleton(m.data(), rows, columns, {columns, 1e-12}, side, out, work);
      CHECK(out.rank == rank);
      CHECK(out.residual < 1e-13);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          double sum = 0;
          for (int k = 0; k < rank; ++k) {
            sum += side == Side::kLeft
                       ? out.left[i * rank + k] * m[out.rows[k] * columns + j]
                       : m[i * columns + out.columns[k]] * out.right[k * columns + j];
          }
          CHECK(std::abs(sum - m[i * columns + j]) < 1e-12);
        }
      }
    }
  }
}

// Σ_k size^k u_k v_kᵀ: pivots fall by about `size` from one to the next.
static std::vector<double> falling_matrix(int rows, int columns, double size, uint64_t seed) {
  const int rank = std::min(rows, columns);
  auto a = random_matrix(rows, rank, seed);
  const auto b = random_matrix(rank, columns, seed + 1);
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < rank; ++k) a[i * rank + k] *= std::pow(size, k);
  }
  std::vector<double> m(static_cast<size_t>(rows) * columns);
  multiply(a.data(), b.data(), m.data(), rows, rank, columns);
  return m;
}

TEST_CASE("pivots that are found by blocks leave as little as complete pivoting") {
  std::vector<double> work;
  std::vector<Pair> pair_work;
  for (const auto& [rows, columns] :
       {std::pair{1, 9}, {9, 1}, {13, 70}, {70, 13}, {64, 64}, {97, 81}}) {
    for (const double size : {0.98, 0.8, 0.3, 0.01}) {
      const auto m = falling_matrix(rows, columns, size, rows + columns);
      const std::vector<Pair> pairs(m.begin(), m.end());
      const double first = std::abs(*std::max_element(
          m.begin(), m.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
      for (const double tolerance : {1e-3, 1e-8}) {
        for (const int max_rank : {5, 17, 100}) {
          Skeleton found;
          SkeletonOf<Pair> complete;
          skeleton(m.data(), rows, columns, {max_rank, tolerance}, Side::kLeft, found, work);
          skeleton(pairs.data(), rows, columns, {max_rank, tolerance}, Side::kLeft, complete,
                   pair_work);
          CHECK(std::abs(found.rank - complete.rank) <= 2 + complete.rank / 10);
          CHECK(found.rank <= max_rank);
          CHECK((found.residual <= tolerance || found.rank == std::min({max_rank, rows, columns})));
          CHECK(found.residual <= 10 * complete.residual + tolerance);
          // The residual is what the skeleton leaves, and the interpolation does not blow up.
          double left = 0, largest = 0, component = 0;
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
              double sum = m[i * columns + j];
              for (int k = 0; k < found.rank; ++k) {
                sum -= found.left[i * found.rank + k] * m[found.rows[k] * columns + j];
              }
              left = std::max(left, std::abs(sum));
              component = std::max(component, std::abs(sum / m[i * columns + j]));
            }
          }
          CHECK(component == doctest::Approx(found.component_error).epsilon(1e-3).scale(1e-6));
          for (const double x : found.left) largest = std::max(largest, std::abs(x));
          CHECK(left / first == doctest::Approx(found.residual).epsilon(1e-3).scale(1e-10));
          CHECK(largest < 50);
          Skeleton turned;
          skeleton(m.data(), rows, columns, {max_rank, tolerance}, Side::kRight, turned, work);
          double other = 0;
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) {
              double sum = m[i * columns + j];
              for (int k = 0; k < turned.rank; ++k) {
                sum -= m[i * columns + turned.columns[k]] * turned.right[k * columns + j];
              }
              other = std::max(other, std::abs(sum));
            }
          }
          CHECK(other / first == doctest::Approx(found.residual).epsilon(1e-3).scale(1e-10));
        }
      }
    }
  }
}

TEST_CASE("a block of pivots ends where the other rows have larger ones") {
  const int rows = 96, columns = 40;
  auto m = random_matrix(rows, columns, 21);
  for (int i = 0; i < 20; ++i) {  // large, and all but parallel
    for (int j = 0; j < columns; ++j) m[i * columns + j] = 8 * m[j] + 1e-6 * m[i * columns + j];
  }
  std::vector<double> work;
  Skeleton found;
  skeleton(m.data(), rows, columns, {12, 1e-14}, Side::kLeft, found, work);
  for (const double x : found.left) CHECK(std::abs(x) < 20);
}

TEST_CASE("pivots below the tolerance are kept where more are asked for") {
  // 1, a gap, three of about the same size, another gap, and what doubles do not resolve.
  const double sizes[] = {1, 3e-7, 2e-7, 1e-7, 1e-12, 1e-18};
  const int rows = 11, columns = 9;
  auto a = random_matrix(rows, 6, 31);
  const auto b = random_matrix(6, columns, 32);
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < 6; ++k) a[i * 6 + k] *= sizes[k];
  }
  std::vector<double> m(rows * columns), work;
  multiply(a.data(), b.data(), m.data(), rows, 6, columns);
  const std::vector<Pair> pairs(m.begin(), m.end());
  std::vector<Pair> pair_work;
  const auto rank = [&](const Cut& cut) {
    Skeleton found;
    SkeletonOf<Pair> complete;
    skeleton(m.data(), rows, columns, cut, Side::kLeft, found, work);
    skeleton(pairs.data(), rows, columns, cut, Side::kLeft, complete, pair_work);
    CHECK(found.rank == complete.rank);
    return found.rank;
  };
  for (const double tolerance : {1e-3, 1e-5}) {
    CHECK(rank({9, tolerance, 0}) == 1);
    CHECK(rank({9, tolerance, 1}) == 2);
    CHECK(rank({9, tolerance, 3}) == 4);
    CHECK(rank({3, tolerance, 8}) == 3);
    CHECK(rank({9, tolerance, 8}) == 5);
  }
  CHECK(rank({9, 1e-9, 0}) == 4);
  CHECK(rank({9, 1e-9, 1}) == 5);
  CHECK(rank({9, 1e-9, 4}) == 5);
}

TEST_CASE("a zero matrix has no skeleton") {
  std::vector<double> zero(12, 0.0), work;
  Skeleton out;
  skeleton(zero.data(), 3, 4, {3, 1e-14}, Side::kLeft, out, work);
  CHECK(out.rank == 0);
  CHECK(out.residual == 0);
}

// high + low of a and b differ by less than `error`.
static bool near(const Pair& a, const Pair& b, double error) {
  const Pair rest = a - b;
  return std::abs(rest.high) <= error;
}

TEST_CASE("pairs keep what doubles drop") {
  const Pair one(1.0), small(0x1p-80), third = one / Pair(3.0);
  CHECK(((one + small) - one).high == 0x1p-80);
  CHECK(near(third * Pair(3.0), one, 0x1p-104));
  CHECK(near(third * 3.0, one, 0x1p-104));
  const Pair x = one + small, square = x * x;  // 1 + 2^-79, and 2^-160 that is dropped
  CHECK((square - one).high == 0x1p-79);
  CHECK(divisor<Pair>(5.0) == 4.0);
  CHECK(divisor<double>(5.0) == 5.0);
}

TEST_CASE("skeletons of pairs resolve pivots that doubles drown") {
  // Rank two, the second part 2^-70 of the first.
  const auto u = random_matrix(6, 2, 11), v = random_matrix(2, 5, 12);
  std::vector<Pair> m(30), work, back(30);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) {
      m[i * 5 + j] = Pair(u[2 * i]) * v[j] + Pair(u[2 * i + 1]) * v[5 + j] * 0x1p-70;
    }
  }
  for (const Side side : {Side::kLeft, Side::kRight}) {
    SkeletonOf<Pair> found;
    skeleton(m.data(), 6, 5, {5, 1e-27}, side, found, work);
    REQUIRE(found.rank == 2);
    std::vector<Pair> rows(10), columns(12);
    for (int k = 0; k < 2; ++k) {
      for (int j = 0; j < 5; ++j) rows[k * 5 + j] = m[found.rows[k] * 5 + j];
      for (int i = 0; i < 6; ++i) columns[i * 2 + k] = m[i * 5 + found.columns[k]];
    }
    if (side == Side::kLeft) {
      multiply(found.left.data(), rows.data(), back.data(), 6, 2, 5);
    } else {
      multiply(columns.data(), found.right.data(), back.data(), 6, 2, 5);
    }
    for (int k = 0; k < 30; ++k) CHECK(near(back[k], m[k], 1e-28));
  }
}
