// The semirings that elimination runs over: sums of products, and maxima of sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/constants.hpp"
#include "base/scaled.hpp"

namespace planaris {

inline constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();  // exponent of no weight

struct SumProduct {
  using Number = Scaled;
  static Number one() { return {1.0, 0}; }
  static void multiply(Number& x, const Number& y) { x *= y; }
  // A product of `count` normalised mantissas is below 2^count.
  static void tidy(Number& x) { x.normalize(); }

  static Number reduce(const Number* row, int32_t labels) {
    int64_t top = kNowhere;
    for (int32_t x = 0; x < labels; ++x) {
      top = std::max(top, row[x].m != 0.0 ? row[x].e : kNowhere);
    }
    if (top == kNowhere) return {};
    Number total{0.0, top};
    for (int32_t x = 0; x < labels; ++x) total.m += relative_to(row[x], top);
    total.normalize();
    return total;
  }
};

struct MaxPlus {
  using Number = double;
  static constexpr double kRounding = kEps;
  static Number one() { return 0.0; }
  static void multiply(Number& x, Number y) { x += y; }
  static void tidy(Number&) {}
  static Number reduce(const Number* row, int32_t labels) {
    return *std::max_element(row, row + labels);
  }
};

// The same with numbers of twice the length: small parts count beside large ones.
struct WideMaxPlus {
  using Number = TwoDoubles;
  static constexpr double kRounding = 0x1p-103;
  static Number one() { return {}; }
  static void multiply(Number& x, const Number& y) { x = x + y; }
  static void tidy(Number&) {}
  static Number reduce(const Number* row, int32_t labels) {
    return *std::max_element(row, row + labels);
  }
};

inline TwoDoubles wide(double x) { return {x, 0.0}; }
inline TwoDoubles wide(const TwoDoubles& x) { return x; }

// Sum of numbers of mixed size, and a bound on its error.
struct WideSum {
  TwoDoubles sum;
  double size = 0.0;
  void add(const TwoDoubles& x) {
    sum = sum + x;
    size += std::abs(x.high);
  }
  void add(double x) { add(wide(x)); }
  double error() const { return 0x1p-100 * size; }
};

}  // namespace planaris
