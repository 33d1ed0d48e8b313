// Elimination of a front of double-double numbers in a given order, by the kernels for pairs of
// doubles (fronts/wide_front.hpp). These have the range of doubles, and take a tenth of the time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/double_double.hpp"
#include "fronts/wide_front.hpp"

namespace planaris {

class PairedFront {
 public:
  // Eliminates the first `eliminated` of `rows` rows, pair by pair, and leaves factors and pivots
  // as FrontElimination does. Returns false, and `a` as it was, where doubles lack the range. With
  // `underflow` numbers that are too small for doubles count as zero.
  bool run(DoubleDouble* a, int rows, int eliminated, const ParallelFor& parallel,
           bool underflow = false) {
    if (!split(a, rows, underflow)) return false;
    const int64_t step = rows + kWideSlack;
    const auto columns = [&](std::vector<double>& of) {
      double* rest = of.data() + eliminated * step + eliminated;
      return FrontColumns{of.data(), rest, step, step, eliminated};
    };
    WideFront front(columns(high_), columns(low_), nullptr, rows, 1.0, buffers_, parallel);
    if (!front.run() || !in_range(rows, eliminated, underflow)) return false;
    join(a, rows);
    return true;
  }

 private:
  static constexpr double kLeast = 0x1p-900, kMost = 0x1p900;

  // Sizes of numbers that are not zero.
  struct Sizes {
    double least = 1.0, most = 1.0;
    void add(double x) {
      const double size = std::fabs(x);
      if (size == 0.0) return;
      least = std::min(least, size);
      most = std::max(most, size);
      finite = finite && std::isfinite(size);
    }
    bool finite = true;
  };

  bool split(const DoubleDouble* a, int rows, bool underflow) {
    const size_t step = rows + kWideSlack;
    const int64_t most = underflow ? 3 : 1;
    for (auto* part : {&high_, &low_}) part->assign(step * rows, 0.0);
    for (int j = 0; j < rows; ++j) {
      for (int i = j + 1; i < rows; ++i) {
        const DoubleDouble& x = a[size_t(j) * rows + i];
        if (underflow && x.exponent < -most) continue;
        if (x.exponent < -most || x.exponent > most) return false;
        const double unit = power_of_two(256 * x.exponent);
        high_[j * step + i] = x.high * unit;
        low_[j * step + i] = x.low * unit;
      }
    }
    return true;
  }

  // Updates are products of two factors and a pivot. Where none of these is beyond 2^±900, nor an
  // entry that is left, nothing has over- or underflowed, and all bits of pairs were in range.
  bool in_range(int rows, int eliminated, bool underflow) const {
    const size_t step = rows + kWideSlack;
    Sizes factors, pivots, rest;
    for (int j = 0; j < rows; ++j) {
      const double* column = high_.data() + j * step;
      if (j < eliminated && j % 2 == 0) pivots.add(column[j + 1]);
      Sizes& below = j < eliminated ? factors : rest;
      for (int i = (j < eliminated ? j | 1 : j) + 1; i < rows; ++i) below.add(column[i]);
    }
    // What overflows ends as an infinity or no number.
    if (!(factors.finite && pivots.finite && rest.finite && rest.most < kMost)) return false;
    return underflow ||
           (rest.least > kLeast && factors.least * factors.least * pivots.least > kLeast &&
            factors.most * factors.most * pivots.most < kMost);
  }

  void join(DoubleDouble* a, int rows) const {
    const size_t step = rows + kWideSlack;
    for (int j = 0; j < rows; ++j) {
      for (int i = j + 1; i < rows; ++i) {
        a[size_t(j) * rows + i] = DoubleDouble(high_[j * step + i], low_[j * step + i]);
      }
    }
  }

  std::vector<double> high_, low_;
  WideBuffers buffers_;
};

}  // namespace planaris
