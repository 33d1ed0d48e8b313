// The kernel that sums of products of doubles are made of.
#pragma once

#include <cstdint>

namespace planaris {

constexpr int kTileColumns = 4, kMostTileRows = 24;

constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

// add(depth, x, y, alpha, c, step): c[i + step j] += alpha Σ_t x[rows t + i] y[kTileColumns t + j]
// for `rows` rows and kTileColumns columns, every sum in the order of t. sum(depth, at_once, x, y,
// out): out[rows j + i] = Σ_t x[rows t + i] y[kTileColumns t + j], `at_once` terms summed up on
// their own. split(depth, at_once, x, y, high, low, step): adds both sums of a split update, as
// add_sums of fronts/split_update.cpp does.
struct ProductTile {
  void (*add)(int depth, const double* x, const double* y, double alpha, double* c, int64_t step);
  void (*sum)(int depth, int at_once, const double* x, const double* y, double* out);
  void (*split)(int depth, int at_once, const double* x, const double* y, double* high, double* low,
                int64_t step);
  int rows;
};

// That of this processor.
const ProductTile& chosen_tile();

}  // namespace planaris
