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
constexpr int kLeftBits = 23, kRightBits = 24;

// So large that adding it and taking it off again rounds a number to a multiple of 2^(E-bits), 2^E being
// the least power of two above `largest`: 1.5 · 2^52 times that. Zero for zero.
PLANARIS_INLINE double splitter(double largest, int bits) {
  if (largest == 0.0) return 0.0;
  const auto exponent = static_cast<int64_t>(std::bit_cast<uint64_t>(largest) >> 52) - 1023;
  return 1.5 * power_of_two(exponent + 1 - bits + 52);
}

// For every row; false if one is out of range.
PLANARIS_CLONES bool find_splitters(int rows, int depth, const double* x, int64_t step, int bits,
                                    double* out) {
  for (int i = 0; i < rows; ++i) out[i] = 0.0;
  bool finite = true;
  for (int t = 0; t < depth; ++t) {
    const double* column = x + t * step;
    bool all = true;
    for (int i = 0; i < rows; ++i) {
      const double size = std::fabs(column[i]);
      all &= size < 0x1p900;
      out[i] = out[i] < size ? size : out[i];
    }
    finite &= all;
  }
  for (int i = 0; i < rows; ++i) {
    if (out[i] != 0.0 && out[i] < 0x1p-900) return false;
    out[i] = splitter(out[i], bits);
  }
  return finite;
}

// What a sliver of `height` rows becomes, each `depth` times `height` numbers: leading parts, the rest,
// and numbers rounded to doubles. Rows past the last are zero.
struct SplitSliver {
  double *lead, *rest, *whole;
};

PLANARIS_CLONES void split_sliver(int live, int height, int depth, const double* high,
                                  const double* low, int64_t step, const double* splitters,
                                  SplitSliver out) {
  for (int t = 0; t < depth; ++t, high += step, low += step) {
    for (int i = 0; i < live; ++i) {
      const double lead = (high[i] + splitters[i]) - splitters[i];
      out.lead[t * height + i] = lead;
      out.rest[t * height + i] = (high[i] - lead) + low[i];
      if (out.whole != nullptr) out.whole[t * height + i] = high[i];
    }
    for (int i = live; i < height; ++i) {
      out.lead[t * height + i] = out.rest[t * height + i] = 0.0;
      if (out.whole != nullptr) out.whole[t * height + i] = 0.0;
    }
  }
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
  packing.splitters.resize(rows);
  packing.rows.resize(2 * left_size * left_slivers);
  packing.columns.resize(3 * right_size * right_slivers);
  double* const splitters = packing.splitters.data();
  if (!find_splitters(columns, depth, y.high, y.step, kRightBits, splitters)) return false;
  for (int k = 0; k < right_slivers; ++k) {
    double* to = packing.columns.data() + 3 * right_size * k;
    const auto from = y.from(k * kTileColumns, 0);
    split_sliver(std::min(kTileColumns, columns - k * kTileColumns), kTileColumns, depth, from.high,
                 from.low, from.step, splitters + k * kTileColumns,
                 {to, to + right_size, to + 2 * right_size});
  }
  if (!find_splitters(rows, depth, x.high, x.step, kLeftBits, splitters)) return false;
  for (int k = 0; k < left_slivers; ++k) {
    double* to = packing.rows.data() + 2 * left_size * k;
    const auto from = x.from(k * tile.rows, 0);
    split_sliver(std::min(tile.rows, rows - k * tile.rows), tile.rows, depth, from.high, from.low,
                 from.step, splitters + k * tile.rows, {to, to + left_size, nullptr});
  }
  const auto strip = [&](int begin, int end) {
    for (int k = begin; k < end; ++k) {
      const int j = k * kTileColumns, width = std::min(kTileColumns, columns - j);
      const double* right = packing.columns.data() + 3 * right_size * k;
      for (int i = j / tile.rows * tile.rows; i < rows; i += tile.rows) {
        const double* left = packing.rows.data() + 2 * left_size * (i / tile.rows);
        const int column = first + j, own = high.eliminated;
        // Columns that are left have no rows that are eliminated.
        const bool one_part = column + kTileColumns <= own || (column >= own && first + i >= own);
        if (one_part && width == kTileColumns && i + tile.rows <= rows) {
          const int64_t step = column < own ? high.own_step : high.rest_step;
          tile.split(depth, kAtOnce, left, right, high.column(column) + first + i, low.column(column) + first + i,
                     step);
          continue;
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
      }
    }
  };
  if (!parallel || int64_t(rows) * columns * depth < 4 * kWorthSplitting) {
    strip(0, right_slivers);
    return true;
  }
  constexpr int kWidth = 8;
  parallel((right_slivers + kWidth - 1) / kWidth,
           [&](int k) { strip(k * kWidth, std::min(right_slivers, (k + 1) * kWidth)); });
  return true;
}

}  // namespace planaris
