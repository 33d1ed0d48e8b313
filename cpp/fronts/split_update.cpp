#include "fronts/split_update.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/scaled.hpp"
#include "base/simd.hpp"
#include "fronts/product_tile.hpp"

namespace planaris {

namespace {

constexpr int kAtOnce = 32;  // products that are summed up on their own, of what is left
constexpr int kStrip = 8;    // slivers of columns that are one task
constexpr int kLeftBits = 23, kRightBits = 24;

// So large that adding it and taking it off again rounds a number to a multiple of 2^(E-bits), 2^E
// being the least power of two above `largest`: 1.5 · 2^52 times that. Zero for zero.
PLANARIS_INLINE double splitter(double largest, int bits) {
  if (largest == 0.0) return 0.0;
  const auto exponent = static_cast<int64_t>(std::bit_cast<uint64_t>(largest) >> 52) - 1023;
  return 1.5 * power_of_two(exponent + 1 - bits + 52);
}

// What a sliver of rows becomes, each `depth` times its height: leading parts, the rest, and
// numbers rounded to doubles.
struct SplitSliver {
  double *lead, *rest, *whole;
};

// Splits `live` rows of a sliver, the others are zero; false if one is out of range.
PLANARIS_INLINE bool split_rows(int live, int height, int depth, PairMatrix<const double> x,
                                int bits, SplitSliver out) {
  double most[kMostTileRows] = {}, nothing[kMostTileRows] = {};
  for (int t = 0; t < depth; ++t) {
    const double* column = x.high + t * x.step;
    for (int i = 0; i < live; ++i) {
      const double size = std::fabs(column[i]);
      nothing[i] += size - size;  // but of what is infinite, or no number
      most[i] = most[i] < size ? size : most[i];
    }
  }
  for (int i = 0; i < live; ++i) {
    if (nothing[i] != 0.0 || !(most[i] < 0x1p900) || (most[i] != 0.0 && most[i] < 0x1p-900))
      return false;
    most[i] = splitter(most[i], bits);
  }
  for (int t = 0; t < depth; ++t) {
    const double *high = x.high + t * x.step, *low = x.low + t * x.step;
    double *lead = out.lead + t * height, *rest = out.rest + t * height;
    for (int i = 0; i < live; ++i) {
      lead[i] = (high[i] + most[i]) - most[i];
      rest[i] = (high[i] - lead[i]) + low[i];
    }
    for (int i = live; i < height; ++i) lead[i] = rest[i] = 0.0;
    if (out.whole == nullptr) continue;
    for (int i = 0; i < height; ++i) out.whole[t * height + i] = i < live ? high[i] : 0.0;
  }
  return true;
}

PLANARIS_CLONES bool split_sliver(int live, int height, int depth, PairMatrix<const double> x,
                                  int bits, SplitSliver out) {
  // Heights that compilers know make the loops above a few registers.
  if (live == kMostTileRows) return split_rows(kMostTileRows, kMostTileRows, depth, x, bits, out);
  if (live == kTileColumns && height == kTileColumns) {
    return split_rows(kTileColumns, kTileColumns, depth, x, bits, out);
  }
  return split_rows(live, height, depth, x, bits, out);
}

// (high, low) += exact + rest
PLANARIS_CLONES void add_sums(int count, const double* exact, const double* rest, double* high,
                              double* low) {
  for (int i = 0; i < count; ++i) {
    const double sum = high[i] + exact[i], other = sum - high[i];
    const double lost = (high[i] - (sum - other)) + (exact[i] - other);
    const double small = (lost + low[i]) + rest[i];
    const double total = sum + small, added = total - sum;
    high[i] = total;
    low[i] = (sum - (total - added)) + (small - added);
  }
}

}  // namespace

bool split_rank_update_lower(int first, int all_rows, int last, int depth,
                             PairMatrix<const double> x, PairMatrix<const double> y,
                             const FrontColumns& high, const FrontColumns& low,
                             WidePacking& packing, const ParallelFor& parallel) {
  const int rows = all_rows - first, columns = last - first;
  x = x.from(first, 0);
  y = y.from(first, 0);
  const ProductTile tile = chosen_tile();
  const size_t left_size = size_t(tile.rows) * depth, right_size = size_t(kTileColumns) * depth;
  const int left_slivers = round_up(rows, tile.rows) / tile.rows,
            right_slivers = round_up(columns, kTileColumns) / kTileColumns;
  packing.rows.resize(2 * left_size * left_slivers);
  packing.columns.resize(3 * right_size * right_slivers);
  for (int k = 0; k < right_slivers; ++k) {
    double* to = packing.columns.data() + 3 * right_size * k;
    const int j = k * kTileColumns, live = std::min(kTileColumns, columns - j);
    const SplitSliver out{to, to + right_size, to + 2 * right_size};
    if (!split_sliver(live, kTileColumns, depth, y.from(j, 0), kRightBits, out)) return false;
  }
  for (int k = 0; k < left_slivers; ++k) {
    double* to = packing.rows.data() + 2 * left_size * k;
    const int i = k * tile.rows, live = std::min(tile.rows, rows - i);
    if (!split_sliver(live, tile.rows, depth, x.from(i, 0), kLeftBits,
                      {to, to + left_size, nullptr}))
      return false;
  }
  const auto add_tile = [&](int i, int k) {
    const int j = k * kTileColumns, width = std::min(kTileColumns, columns - j);
    const double* left = packing.rows.data() + 2 * left_size * (i / tile.rows);
    const double* right = packing.columns.data() + 3 * right_size * k;
    const int column = first + j, own = high.eliminated;
    // Columns that are left have no rows that are eliminated.
    const bool one_part = column + kTileColumns <= own || (column >= own && first + i >= own);
    if (one_part && width == kTileColumns && i + tile.rows <= rows) {
      const int64_t step = column < own ? high.own_step : high.rest_step;
      tile.split(depth, kAtOnce, left, right, high.column(column) + first + i,
                 low.column(column) + first + i, step);
      return;
    }
    double exact[kMostTileRows * kTileColumns], rest[kMostTileRows * kTileColumns];
    tile.sum(depth, depth, left, right, exact);
    tile.sum(2 * depth, kAtOnce, left, right + right_size, rest);
    for (int q = 0; q < width; ++q) {
      const int from = column + q < own ? i : std::max(i, own - first);
      const int at = q * tile.rows + from - i;
      add_sums(std::min(tile.rows, rows - i) - (from - i), exact + at, rest + at,
               high.column(column + q) + first + from, low.column(column + q) + first + from);
    }
  };
  // Rows stay in the nearest cache while they meet the columns of a strip.
  const auto strip = [&](int strip) {
    const int begin = strip * kStrip, end = std::min(begin + kStrip, right_slivers);
    for (int i = begin * kTileColumns / tile.rows * tile.rows; i < rows; i += tile.rows) {
      for (int k = begin; k < end && k * kTileColumns < i + tile.rows; ++k) add_tile(i, k);
    }
  };
  const int strips = (right_slivers + kStrip - 1) / kStrip;
  if (!parallel || int64_t(rows) * columns * depth < 4 * kWorthSplitting) {
    for (int k = 0; k < strips; ++k) strip(k);
  } else {
    parallel(strips, strip);
  }
  return true;
}

}  // namespace planaris
