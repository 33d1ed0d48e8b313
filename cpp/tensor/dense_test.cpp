#include "tensor/dense.hpp"

#include <cmath>
#include <random>

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

TEST_CASE("a skeleton of full rank gives the matrix back") {
  std::vector<double> work;
  for (int rank : {1, 3, 6}) {
    const int rows = 10, columns = 7;
    const auto a = random_matrix(rows, rank, 3), b = random_matrix(rank, columns, 4);
    std::vector<double> m(rows * columns);
    multiply(a.data(), b.data(), m.data(), rows, rank, columns);
    for (const Side side : {Side::kLeft, Side::kRight}) {
      Skeleton out;
      skeleton(m.data(), rows, columns, columns, 1e-12, side, out, work);
      CHECK(out.rank == rank);
      CHECK(out.residual < 1e-13);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          double sum = 0;
          for (int k = 0; k < rank; ++k) {
            sum += side == Side::kLeft ? out.left[i * rank + k] * m[out.rows[k] * columns + j]
                                       : m[i * columns + out.columns[k]] * out.right[k * columns + j];
          }
          CHECK(std::abs(sum - m[i * columns + j]) < 1e-12);
        }
      }
    }
  }
}

TEST_CASE("a zero matrix has no skeleton") {
  std::vector<double> zero(12, 0.0), work;
  Skeleton out;
  skeleton(zero.data(), 3, 4, 3, 1e-14, Side::kLeft, out, work);
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
    skeleton(m.data(), 6, 5, 5, 1e-27, side, found, work);
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
