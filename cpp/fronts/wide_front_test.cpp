#include "fronts/wide_front.hpp"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "base/double_double.hpp"
#include "fronts/rank_update.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// The sum of numbers, rounded once or so: partial sums that do not overlap (Shewchuk).
double exact_sum(const std::vector<double>& numbers) {
  std::vector<double> partials;
  for (double x : numbers) {
    std::vector<double> next;
    for (double y : partials) {
      const double s = x + y, other = s - x, lost = (x - (s - other)) + (y - other);
      if (lost != 0.0) next.push_back(lost);
      x = s;
    }
    next.push_back(x);
    partials = std::move(next);
  }
  double total = 0.0;
  for (double x : partials) total += x;
  return total;
}

struct Pairs {
  std::vector<double> high, low;

  Pairs(size_t count, std::mt19937_64& random, double spread) {
    std::normal_distribution<double> normal;
    for (size_t k = 0; k < count; ++k) {
      high.push_back(normal(random) * std::exp(spread * normal(random)));
      low.push_back(high[k] * 0x1p-54 * std::tanh(normal(random)));
    }
  }
};

void add_product(std::vector<double>& terms, double a, double b) {
  const double p = a * b;
  terms.push_back(p);
  terms.push_back(std::fma(a, b, -p));
}

}  // namespace

namespace {

// C += X Yᵀ with random pairs: what an entry is off by, relative to |C| + Σ |x y|, and beside that
// to what a split one is relative to; the largest.
struct Closeness {
  double by_products = 0.0, by_largest = 0.0;
  bool normal = true;  // low parts are below half a unit of the high ones
};

template <class Update>
Closeness closeness(int rows, int depth, double spread, std::mt19937_64& random, Update update) {
  const int columns = rows - 1, step = rows + kWideSlack;
  const Pairs x(size_t(step) * depth, random, spread), y(size_t(step) * depth, random, spread),
      c(size_t(step) * rows, random, spread);
  Pairs found = c;
  update(columns, PairMatrix<const double>{x.high.data(), x.low.data(), step},
         PairMatrix<const double>{y.high.data(), y.low.data(), step},
         PairMatrix<double>{found.high.data(), found.low.data(), step});
  Closeness result;
  for (int j = 0; j < columns; ++j) {
    for (int i = j + 1; i < rows; ++i) {
      const size_t at = size_t(j) * step + i;
      std::vector<double> terms{-found.high[at], -found.low[at], c.high[at], c.low[at]};
      double size = std::fabs(c.high[at]), left = 0.0, right = 0.0, left_sum = 0.0, right_sum = 0.0;
      for (int t = 0; t < depth; ++t) {
        const size_t a = size_t(t) * step + i, b = size_t(t) * step + j;
        add_product(terms, x.high[a], y.high[b]);
        add_product(terms, x.high[a], y.low[b]);
        add_product(terms, x.low[a], y.high[b]);
        add_product(terms, x.low[a], y.low[b]);
        size += std::fabs(x.high[a] * y.high[b]);
        left = std::max(left, std::fabs(x.high[a]));
        right = std::max(right, std::fabs(y.high[b]));
        left_sum += std::fabs(x.high[a]);
        right_sum += std::fabs(y.high[b]);
      }
      const double error = std::fabs(exact_sum(terms));
      result.by_products = std::max(result.by_products, error / size);
      result.by_largest =
          std::max(result.by_largest, (error - wide_update_error(depth) * size) /
                                          (right * left_sum + 2 * left * right_sum));
      result.normal &= std::fabs(found.low[at]) <= 0x1p-53 * std::fabs(found.high[at]);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("sums of products of pairs are as close as claimed") {
  std::mt19937_64 random(1);
  WidePacking packing;
  for (int depth : {2, 16, 64}) {
    for (int rows : {3, 8, 21, 60}) {
      const Closeness found = closeness(
          rows, depth, depth == 16 ? 8.0 : 0.5, random, [&](int columns, auto x, auto y, auto c) {
            wide_rank_update_lower(rows, columns, depth, x, y, c, packing, nullptr);
          });
      CHECK(found.by_products <= wide_update_error(depth));
      CHECK(found.by_products > 0.0);
      CHECK(found.normal);
    }
  }
}

TEST_CASE("sums of products that are split are as close as claimed, and not much closer") {
  std::mt19937_64 random(3);
  WidePacking packing;
  double most = 0.0;
  for (int depth : {2, 20, 64}) {
    for (int rows : {3, 24, 61}) {
      for (double spread : {0.0, 0.5, 8.0}) {
        const Closeness found =
            closeness(rows, depth, spread, random, [&](int columns, auto x, auto y, auto c) {
              CHECK(split_rank_update_lower(
                  0, rows, columns, depth, x, y, {c.high, nullptr, c.step, 0, columns},
                  {c.low, nullptr, c.step, 0, columns}, packing, nullptr));
            });
        CHECK(found.by_largest <= kSplitError);
        CHECK(found.normal);
        most = std::max(most, found.by_largest);
      }
    }
  }
  CHECK(most > 0x1p-8 * kSplitError);
}

TEST_CASE("split updates of columns in two parts are those of columns in one") {
  constexpr int kRows = 61, kFirst = 5, kOwn = 30, kDepth = 20, kStep = kRows + kWideSlack;
  constexpr int kRest = kRows - kOwn, kRestStep = kRest + kWideSlack;
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  const auto numbers = [&](int count, double size) {
    std::vector<double> made(count);
    for (double& x : made) x = size * normal(random);
    return made;
  };
  const std::vector<double> x = numbers(kDepth * kStep, 1.0), y = numbers(kDepth * kStep, 1.0),
                            lows = numbers(kDepth * kStep, 0x1p-56);
  std::vector<double> high = numbers(kRows * kStep, 1.0), low = numbers(kRows * kStep, 0x1p-56);
  std::vector<double> rest(kRest * kRestStep), rest_low = rest, own = high, own_low = low;
  for (int j = kOwn; j < kRows; ++j) {
    for (int i = kOwn; i < kRows; ++i) {
      const int at = (j - kOwn) * kRestStep + i - kOwn;
      rest[at] = high[j * kStep + i];
      rest_low[at] = low[j * kStep + i];
    }
  }
  const PairMatrix<const double> of_x{x.data(), lows.data(), kStep},
      of_y{y.data(), lows.data(), kStep};
  const FrontColumns whole{high.data(), nullptr, kStep, 0, kRows},
      whole_low{low.data(), nullptr, kStep, 0, kRows},
      parts{own.data(), rest.data(), kStep, kRestStep, kOwn},
      parts_low{own_low.data(), rest_low.data(), kStep, kRestStep, kOwn};
  WidePacking packing;
  CHECK(split_rank_update_lower(kFirst, kRows, kRows, kDepth, of_x, of_y, whole, whole_low, packing,
                                nullptr));
  CHECK(split_rank_update_lower(kFirst, kRows, kRows, kDepth, of_x, of_y, parts, parts_low, packing,
                                nullptr));
  for (int j = kFirst; j < kRows; ++j) {
    for (int i = j + 1; i < kRows; ++i) {
      CHECK(whole.column(j)[i] == parts.column(j)[i]);
      CHECK(whole_low.column(j)[i] == parts_low.column(j)[i]);
    }
  }
}

TEST_CASE("what leaves the range is not split, and rows of zeros are") {
  WidePacking packing;
  constexpr int kRows = 4, kStep = kRows + kWideSlack;
  for (double entry : {0.0, 1.0, 0x1p-950, 0x1p950, std::nan("")}) {
    std::vector<double> x(2 * kStep, 1.0), low(4 * kStep, 0.0), high(4 * kStep, 1.0);
    x[2] = x[kStep + 2] = entry;
    const PairMatrix<const double> of_x{x.data(), low.data(), kStep};
    const bool split =
        split_rank_update_lower(0, kRows, 3, 2, of_x, of_x, {high.data(), nullptr, kStep, 0, 3},
                                {low.data(), nullptr, kStep, 0, 3}, packing, nullptr);
    CHECK(split == (entry == 0.0 || entry == 1.0));
    CHECK(high[2] == (split ? 1.0 + 2 * entry : 1.0));
  }
}

// Sixteen rows have large numbers in the first window of columns and small ones in the second,
// sixteen others the other way round: a bound without one of the windows fails, and one of largest
// numbers and sums over both is far wider.
TEST_CASE("a front that is split is off by what its windows claim, each by itself") {
  constexpr int kEliminated = 2 * WideFront::kWindow, kBlock = 16, kRows = kEliminated + 2 * kBlock;
  constexpr int kStep = kRows + kWideSlack, kRestStep = 2 * kBlock + kWideSlack;
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  std::vector<double> own(kStep * kEliminated, 0.0), own_low(own),
      rest(kRestStep * 2 * kBlock, 0.0), rest_low(rest);
  for (int k = 0; k < kEliminated; ++k) {
    if (k % 2 == 0) own[k * kStep + k + 1] = -1 - std::fabs(normal(random));
    for (int i = kEliminated; i < kRows; ++i) {
      const bool large = (k < WideFront::kWindow) == (i < kEliminated + kBlock);
      own[k * kStep + i] = normal(random) * (large ? 1 : 0x1p-20);
    }
  }
  const FrontColumns high{own.data(), rest.data(), kStep, kRestStep, kEliminated},
      low{own_low.data(), rest_low.data(), kStep, kRestStep, kEliminated};
  WideBuffers buffers;
  const ParallelFor alone;
  WideFront front(high, low, nullptr, kRows, 1.0, buffers, alone);
  front.allow_splitting(0.0);
  REQUIRE(front.run());
  const auto factor = [&](int i, int k) {
    return DoubleDouble(high.column(k)[i], low.column(k)[i]);
  };
  const double split = WideFront::split_error(kRows, kEliminated, 0.0);
  const double pairs = WideFront::updates_error(kEliminated) + 2 * WideFront::kQuotient;
  double most = 0.0;
  for (int j = kEliminated; j < kRows; ++j) {
    for (int i = j + 1; i < kRows; ++i) {
      DoubleDouble off = factor(i, j);  // nothing was there before
      double claimed = 0.0;
      for (int begin = 0; begin < kEliminated; begin += WideFront::kWindow) {
        double left = 0.0, right = 0.0, left_sum = 0.0, right_sum = 0.0;
        for (int k = begin; k < begin + WideFront::kWindow; k += 2) {
          const DoubleDouble d = factor(k + 1, k);
          off += d * (factor(i, k) * factor(j, k + 1) + -(factor(i, k + 1) * factor(j, k)));
          for (int m : {k, k + 1}) {
            const double x = std::fabs(high.column(m)[i]),
                         y = std::fabs(to_double(d) * high.column(m)[j]);
            left = std::max(left, x);
            right = std::max(right, y);
            left_sum += x;
            right_sum += y;
          }
        }
        claimed += split * (left_sum * right + 2 * left * right_sum) + pairs * left_sum * right;
      }
      const double error = std::fabs(to_double(off));
      CHECK(error <= claimed);
      most = std::max(most, error / claimed);
    }
  }
  CHECK(most > 0x1p-14);
}

TEST_CASE("no entry of a front is updated with a larger error than claimed") {
  for (int eliminated = 2; eliminated <= 300; eliminated += 2) {
    double left = 0.0;  // of an entry that is left, then of those of each pair of columns
    for (int k = 0; k < eliminated; k += 64)
      left += wide_update_error(std::min(64, eliminated - k));
    CHECK(left <= WideFront::updates_error(eliminated));
    for (int pair = 0; pair < eliminated; pair += 2) {
      double own = pair / 64 * wide_update_error(64);
      for (int k = pair / 64 * 64; k < pair; k += 16)
        own += wide_update_error(std::min(16, pair - k));
      CHECK(own <= WideFront::updates_error(eliminated));
    }
  }
}

TEST_CASE("inverses and factors are as close as claimed") {
  std::mt19937_64 random(2);
  for (int count : {1, 7, 8, 67}) {
    const Pairs u(count, random, 30.0), v(count, random, 30.0), d(1, random, 30.0);
    const TwoDoubles inverse = wide_inverse({d.high[0], d.low[0]});
    std::vector<double> one{-1.0};
    for (double s : {d.high[0], d.low[0]}) {
      for (double t : {inverse.high, inverse.low}) add_product(one, s, t);
    }
    CHECK(std::fabs(exact_sum(one)) <= 16 * 0x1p-106);
    std::vector<double> high = u.high, low = u.low;
    high.insert(high.end(), v.high.begin(), v.high.end());
    low.insert(low.end(), v.low.begin(), v.low.end());
    const std::vector<double> high_before = high, low_before = low;
    std::vector<double> kept(high.size()), kept_low(low.size());
    const int64_t step = u.high.size();
    wide_factors(count, inverse.high, inverse.low, {high.data(), low.data(), step},
                 {kept.data(), kept_low.data(), step});
    for (int k = 0; k < count; ++k) {
      for (const int64_t at : {int64_t(k), k + step}) {
        CHECK(kept[at] == high_before[at]);
        CHECK(kept_low[at] == low_before[at]);
      }
      std::vector<double> by_v{-high[k], -low[k]}, by_u{high[k + step], low[k + step]};
      for (double t : {inverse.high, inverse.low}) {
        for (double s : {v.high[k], v.low[k]}) add_product(by_v, s, t);
        for (double s : {u.high[k], u.low[k]}) add_product(by_u, s, t);
      }
      CHECK(std::fabs(exact_sum(by_v)) <= 8 * 0x1p-106 * std::fabs(v.high[k] * inverse.high));
      CHECK(std::fabs(exact_sum(by_u)) <= 8 * 0x1p-106 * std::fabs(u.high[k] * inverse.high));
    }
  }
}

TEST_CASE("radii of many entries are what they are of one") {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> positive;
  const HandedOn rule{1e-3, 1e-9};
  const RadiusPivot pivot{0.7, 0.01, 0.02, 1e-8};
  for (int count : {1, 7, 8, 67}) {
    const int step = count + 3;
    const Pairs u(count, random, 1.0), v(count, random, 1.0);
    std::vector<double> ru(count), rv(count), to(count), left(4 * step), right(4 * step);
    for (auto* radii : {&ru, &rv}) {
      for (double& r : *radii) r = positive(random);
    }
    radius_columns(count, pivot, rule, u.high.data(), v.high.data(), ru.data(), rv.data(),
                   left.data(), right.data(), step);
    hand_on_radii(count, rule, u.high.data(), ru.data(), to.data());
    for (int i = 0; i < count; ++i) {
      const double x = std::fabs(u.high[i]), y = std::fabs(v.high[i]);
      const double of_u = rule(u.high[i], ru[i]), of_v = rule(v.high[i], rv[i]);
      CHECK(to[i] == of_u);
      const double turned = (pivot.ratio + pivot.roundings) / 2, grown = 1 + pivot.ratio;
      const double e1 = grown * (y / pivot.size + of_v / (2 * pivot.size) + pivot.tiny),
                   z1 = of_u + turned * x;
      const double e2 = grown * (x / pivot.size + of_u / (2 * pivot.size) + pivot.tiny),
                   z2 = of_v + turned * y;
      const double expected[] = {e1, z1, e2, z2};
      for (int c = 0; c < 4; ++c) {
        CHECK(left[c * step + i] >= expected[c]);  // enlarged, by little
        CHECK(left[c * step + i] <= expected[c] * (1 + 0x1p-38));
        CHECK(right[(c ^ 1) * step + i] == left[c * step + i]);
      }
    }
  }
}

TEST_CASE("products of doubles are added below the diagonal, and nowhere else that counts") {
  std::mt19937_64 random(8);
  for (const auto [rows, columns, depth] :
       {std::array{5, 2, 2}, std::array{30, 7, 12}, std::array{41, 41, 5}}) {
    const int64_t step = rows, c_step = rows + kWideSlack;
    const Pairs x(step * depth + kWideSlack, random, 0.5),
        y(step * depth + kWideSlack, random, 0.5), before(c_step * rows, random, 0.5);
    std::vector<double> c = before.high;
    add_products_lower(rows, columns, depth, x.high.data(), y.high.data(), step, c.data(), c_step);
    for (int j = 0; j < rows; ++j) {
      for (int i = j + 1; i < rows; ++i) {
        double sum = before.high[j * c_step + i], size = std::fabs(sum);
        for (int t = 0; t < depth && j < columns; ++t) {
          const double product = x.high[t * step + i] * y.high[t * step + j];
          sum += product;
          size += std::fabs(product);
        }
        CHECK(std::fabs(c[j * c_step + i] - sum) <= 40 * 0x1p-53 * size);
      }
    }
  }
}

TEST_CASE("small products are added where they count") {
  std::mt19937_64 random(9);
  for (const bool lower : {false, true}) {
    for (const auto [rows, columns, depth] :
         {std::array{1, 1, 2}, std::array{5, 3, 2}, std::array{9, 9, 4}, std::array{16, 6, 1},
          std::array{29, 13, 7}}) {
      const int64_t step = rows + 2;
      std::vector<double> x(step * depth + kSmallSlack), y(x.size()), before(step * columns);
      std::uniform_real_distribution<double> uniform(-1.0, 1.0);
      for (auto* numbers : {&x, &y, &before}) {
        for (double& number : *numbers) number = uniform(random);
      }
      std::vector<double> c = before;
      const double* from_y = lower ? x.data() : y.data();
      add_small_product(rows, columns, depth, lower, x.data(), step, from_y, step, c.data(), step);
      for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < step; ++i) {
          double sum = before[j * step + i];
          for (int t = 0; t < depth && i < rows; ++t) sum += x[t * step + i] * from_y[t * step + j];
          if (!lower || i > j) CHECK(std::fabs(c[j * step + i] - sum) <= 1e-14);
        }
      }
    }
  }
}

namespace {

// Eliminates the first two of four rows, d between them, u below the first and v below the second,
// with u₃ = v₂ = 0: the radius of what is left, and its distance from v₃ u₂ / d. Times 2^200.
struct Left {
  double radius, distance;
};

template <class Eliminate>
Left underflown(double d, double u2, double v3, const Eliminate& eliminate) {
  std::vector<double> a(16, 0.0), r(16, 0.0);
  a[1] = -d;  // column 0: the pivot, as it stands below the diagonal
  a[2] = u2;
  a[4 + 3] = v3;
  const double radius = eliminate(a, r);
  const double exact = (v3 * 0x1p100) / d * (u2 * 0x1p100);
  return {radius * 0x1p200, std::fabs(a[2 * 4 + 3] * 0x1p200 - exact)};
}

double by_doubles(std::vector<double>& a, std::vector<double>& r, double underflow) {
  RadiusBuffers buffers;
  const ParallelFor none;
  RadiusFront front(a.data(), r.data(), 4, 1.0, buffers, none, underflow);
  REQUIRE(front.run(2));
  return front.handed_on()(a[11], r[11]);
}

double by_pairs(std::vector<double>& a, std::vector<double>& r, double underflow) {
  WideBuffers buffers;
  const ParallelFor none;
  constexpr int kStep = 4 + kWideSlack;
  std::vector<double> high(4 * kStep, 0.0), low(4 * kStep, 0.0), radii(4 * kStep, 0.0);
  const auto columns = [](std::vector<double>& of) {
    return FrontColumns{of.data(), of.data() + 2 * kStep, kStep, kStep, 2};
  };
  for (int j = 0; j < 2; ++j) std::copy_n(a.begin() + 4 * j, 4, columns(high).column(j));
  WideFront front(columns(high), columns(low), radii.data(), 4, 1.0, buffers, none, underflow);
  REQUIRE(front.run());
  a[11] = columns(high).column(2)[3];
  r[11] = radii[2 * kStep + 3];
  return front.handed_on()(a[11], r[11]);
}

}  // namespace

TEST_CASE("radii cover what underflows, in a factor and in a product") {
  for (const auto run : {by_doubles, by_pairs}) {
    for (double underflow : {1.0, 0.0}) {
      const auto eliminate = [&](auto& a, auto& r) { return run(a, r, underflow); };
      // v / d vanishes, but not its product with u.
      const Left factor = underflown(0x1p100, 0x1p700, 0x1p-1000, eliminate);
      CHECK(factor.distance > 0.0);
      CHECK((factor.distance <= factor.radius) == (underflow == 1.0));
      // The product of two such numbers vanishes.
      const Left product = underflown(1.0, 0x1p-540, 0x1p-540, eliminate);
      CHECK(product.distance > 0.0);
      CHECK((product.distance <= product.radius) == (underflow == 1.0));
    }
  }
}
