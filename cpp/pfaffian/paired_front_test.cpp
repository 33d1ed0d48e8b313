#include "pfaffian/paired_front.hpp"

#include <cmath>
#include <random>

#include "fronts/front_elimination.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

using Front = std::vector<DoubleDouble>;

// Pairs of neighbouring rows are joined by entries that outweigh all others. Rows are scaled by
// powers of two up to 2^spread.
Front random_front(int rows, int spread, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<DoubleDouble> scale;
  for (int i = 0; i < rows; ++i) {
    const auto exponent = static_cast<int64_t>(random() % (2 * spread + 1)) - spread;
    scale.push_back(power_of_two<DoubleDouble>(exponent));
  }
  Front a(size_t(rows) * rows);
  for (int j = 0; j < rows; ++j) {
    for (int i = j + 1; i < rows; ++i) {
      const bool joined = j % 2 == 0 && i == j + 1;
      const double high = normal(random) + (joined ? 3.0 * rows : 0.0);
      if (!joined && random() % 4 == 0) continue;  // a zero
      const DoubleDouble entry = DoubleDouble(high) + DoubleDouble(high * 0x1p-60 * normal(random));
      a[size_t(j) * rows + i] = entry * scale[i] * scale[j];
    }
  }
  return a;
}

void eliminate_wide(Front& a, int rows, int eliminated) {
  std::vector<int32_t> perm(rows);
  for (int k = 0; k < rows; ++k) perm[k] = k;
  std::vector<RowPair> pairs;
  for (int k = 0; k < eliminated; k += 2) pairs.push_back({k, k + 1});
  Packing packing;
  std::vector<DoubleDouble> pivot_rows;
  const ParallelFor alone;
  FrontElimination<DoubleDouble> front(a.data(), rows, eliminated, perm.data(), packing, pivot_rows,
                                       alone);
  front.run_in_order(pairs, eliminated / 2);
}

bool same_bits(const Front& a, const Front& b) {
  const auto same = [](const DoubleDouble& x, const DoubleDouble& y) {
    return x.high == y.high && x.low == y.low && x.exponent == y.exponent;
  };
  return std::equal(a.begin(), a.end(), b.begin(), same);
}

}  // namespace

TEST_CASE("fronts of double-double numbers are eliminated as pairs of doubles") {
  std::mt19937_64 random(5);
  const ParallelFor alone;
  PairedFront paired;
  for (const int rows : {0, 1, 2, 3, 7, 16, 33, 90, 150}) {
    for (const int eliminated : {0, rows / 4 * 2, rows / 2 * 2}) {
      const Front start = random_front(rows, 20, random);
      Front wide = start, found = start;
      eliminate_wide(wide, rows, eliminated);
      REQUIRE(paired.run(found.data(), rows, eliminated, alone));
      for (int j = 0; j < rows; ++j) {
        for (int i = j + 1; i < rows; ++i) {
          const size_t at = size_t(j) * rows + i;
          const DoubleDouble apart = magnitude(found[at] - wide[at]);
          const DoubleDouble size = magnitude(wide[at]) + magnitude(start[at]);
          CHECK_FALSE(apart > size * DoubleDouble(0x1p-80));
        }
      }
    }
  }
}

TEST_CASE("numbers too small for doubles count as zero where that is asked for") {
  std::mt19937_64 random(7);
  const ParallelFor alone;
  PairedFront paired;
  for (const int rows : {4, 16, 90}) {
    Front start = random_front(rows, 0, random);
    for (int j = 0; j < rows; ++j) {
      for (int i = j + 2; i < rows; ++i) {
        if (random() % 2) continue;
        DoubleDouble& entry = start[size_t(j) * rows + i];
        entry = entry * power_of_two<DoubleDouble>(-(600 + int64_t(random() % 3000)));
      }
    }
    Front wide = start, found = start;
    CHECK_FALSE(paired.run(found.data(), rows, rows / 4 * 2, alone));
    CHECK(same_bits(found, start));
    eliminate_wide(wide, rows, rows / 4 * 2);
    REQUIRE(paired.run(found.data(), rows, rows / 4 * 2, alone, true));
    for (int j = 0; j < rows; ++j) {
      for (int i = j + 1; i < rows; ++i) {
        const size_t at = size_t(j) * rows + i;
        const DoubleDouble size = DoubleDouble(1.0) + magnitude(wide[at]);
        CHECK_FALSE(magnitude(found[at] - wide[at]) > size * DoubleDouble(0x1p-80));
      }
    }
  }
}

TEST_CASE("fronts beyond the range of doubles are left as they were") {
  std::mt19937_64 random(6);
  const ParallelFor alone;
  PairedFront paired;
  const auto check_left = [&](const Front& start, int rows, int eliminated) {
    Front found = start;
    CHECK_FALSE(paired.run(found.data(), rows, eliminated, alone));
    CHECK(same_bits(found, start));
  };
  check_left(random_front(12, 400, random), 12, 8);
  for (const int exponent : {-380, 380}) {  // of a pivot; products have -3 times as much
    Front start(16, power_of_two<DoubleDouble>(-exponent));
    start[1] = power_of_two<DoubleDouble>(exponent);
    check_left(start, 4, 2);
  }
  Front lost = random_front(6, 0, random);
  lost[1] = DoubleDouble(0.0);  // a pivot
  check_left(lost, 6, 6);
}
