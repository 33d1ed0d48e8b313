#include "embedding/predicates.hpp"

#include <cmath>
#include <cstdint>

#include "base/scaled.hpp"
#include "base/wide_integer.hpp"

namespace planaris {

namespace {

// A fixed-point number wide enough for any sum of a few products of two doubles: the smallest
// product has exponent 2 * -1074, the largest stays below 2^2048 (Kulisch's accumulator).
using Sum = WideInteger<71>;
constexpr int kLowest = 2 * 1073 + 106 + 53;  // bits behind the point

void add_product(Sum& sum, double a, double b, bool negative) {
  if (a == 0.0 || b == 0.0) return;
  int exponent_a = 0, exponent_b = 0;
  // frexp normalises subnormals, so neither part of the product is rounded.
  const double x = std::frexp(negative ? -a : a, &exponent_a), y = std::frexp(b, &exponent_b);
  const TwoDoubles product = TwoDoubles::product(x, y);
  for (const double part : {product.high, product.low}) {
    if (part == 0.0) continue;
    int exponent = 0;
    const auto whole = static_cast<int64_t>(std::ldexp(std::frexp(part, &exponent), 53));
    sum += shifted(Sum(whole), exponent - 53 + exponent_a + exponent_b + kLowest);
  }
}

}  // namespace

int exact_orientation(const Point& a, const Point& b, const Point& c) {
  // The products c.x c.y of the expanded determinant cancel.
  Sum sum;
  add_product(sum, a.x, b.y, false);
  add_product(sum, a.x, c.y, true);
  add_product(sum, c.x, b.y, true);
  add_product(sum, a.y, b.x, true);
  add_product(sum, a.y, c.x, false);
  add_product(sum, c.y, b.x, false);
  return sum == Sum() ? 0 : sum.negative() ? -1 : 1;
}

}  // namespace planaris
