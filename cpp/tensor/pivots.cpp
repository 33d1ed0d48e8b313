#include "tensor/pivots.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tensor/lanes.hpp"

namespace planaris::tensor {

namespace {

constexpr int kPanel = 16;      // most rows among which the pivots of a block are looked for
constexpr double kClose = 0.1;  // smallest pivot of a block, relative to its first
constexpr double kResolved =
    1e-14;  // smallest pivot that is told from rounding, relative to the first

// Where an elimination ends.
class End {
 public:
  End(const Cut& cut, int rows, int columns)
      : most_(std::min({cut.max_rank, rows, columns})), more_(cut.more), least_(cut.tolerance) {}

  // After k pivots, the largest entry that is left being `top` times the first pivot.
  bool reached(int k, double top) {
    if (k < most_ && !(top > least_) && more_ > 0 && top > kResolved) {
      most_ = std::min(most_, k + more_);
      least_ = kResolved;
      more_ = 0;
    }
    return k >= most_ || !(top > least_);
  }
  int most() const { return most_; }
  double least() const { return least_; }

 private:
  int most_, more_;
  double least_;
};

// The largest |entry| from column `begin` on.
template <int W>
PLANARIS_INLINE double row_top(const double* row, int begin, int columns) {
  using P = Lanes<W>;
  typename P::Type top{};
  for (int j = begin; j < columns; j += W) top = P::larger(top, P::get(row + j));
  return P::largest(top);
}

PLANARIS_INLINE int place_of_top(const double* row, int begin, int columns) {
  int at = begin;
  for (int j = begin + 1; j < columns; ++j) {
    if (std::fabs(row[j]) > std::fabs(row[at])) at = j;
  }
  return at;
}

// Subtracts multiples of the pivot rows from so many rows, from column `begin` on.
template <int W, int kRows>
PLANARIS_INLINE void subtract(double* e, int stride, const double (*factors)[kPanel],
                              const double* pivots, int count, int begin, int columns,
                              double* tops) {
  using P = Lanes<W>;
  typename P::Type top[kRows] = {};
  for (int j = begin; j < columns; j += W) {
    typename P::Type x[kRows];
    for (int r = 0; r < kRows; ++r) x[r] = P::get(e + static_cast<size_t>(r) * stride + j);
    for (int k = 0; k < count; ++k) {
      const typename P::Type y = P::get(pivots + static_cast<size_t>(k) * stride + j);
      for (int r = 0; r < kRows; ++r) x[r] -= factors[r][k] * y;
    }
    for (int r = 0; r < kRows; ++r) {
      P::set(e + static_cast<size_t>(r) * stride + j, x[r]);
      top[r] = P::larger(top[r], x[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) tops[r] = P::largest(top[r]);
}

struct Matrix {
  double* e;
  int rows, columns, stride;
  int32_t* row_of;
  int32_t* column_of;
  double* tops;

  double* row(int i) const { return e + static_cast<size_t>(i) * stride; }
};

PLANARIS_INLINE void swap_rows(const Matrix& m, int i, int j) {
  if (i == j) return;
  std::swap_ranges(m.row(i), m.row(i) + m.columns, m.row(j));
  std::swap(m.row_of[i], m.row_of[j]);
  std::swap(m.tops[i], m.tops[j]);
}

// Moves rows with entries of at least `least` to `first`: those with the largest, at most a sixth
// of what is left and kPanel. Returns their number.
PLANARIS_INLINE int gather(const Matrix& m, int first, double least) {
  const int most = std::clamp((m.rows - first) / 6, 4, kPanel);
  int32_t close[kPanel];
  int count = 0, smallest = 0;
  for (int i = first; i < m.rows; ++i) {
    if (!(m.tops[i] >= least)) continue;
    if (count < most) {
      close[count++] = i;
    } else if (m.tops[i] > m.tops[close[smallest]]) {
      close[smallest] = i;
    } else {
      continue;
    }
    if (count < most) continue;
    for (int k = 0; k < most; ++k) {
      if (m.tops[close[k]] < m.tops[close[smallest]]) smallest = k;
    }
  }
  std::sort(close, close + count);  // a row that makes room has not been moved yet
  for (int k = 0; k < count; ++k) swap_rows(m, close[k], first + k);
  return count;
}

// Finds at most `limit` pivots, none smaller than `least`, among the `count` rows from `first` on,
// and eliminates them from these rows. `swapped` gets the columns that changed places with theirs.
template <int W>
PLANARIS_INLINE int eliminate_panel(const Matrix& m, int first, int count, int limit, double least,
                                    int32_t* swapped) {
  const int end = first + count;
  int found = 0;
  for (; found < limit; ++found) {
    const int k = first + found;
    int at = k;
    for (int i = k + 1; i < end; ++i) at = m.tops[i] > m.tops[at] ? i : at;
    if (found > 0 && !(m.tops[at] >= least)) break;
    swap_rows(m, at, k);
    const double* pivot = m.row(k);
    const int column = place_of_top(pivot, k, m.columns);
    swapped[found] = column;
    for (int i = first; i < end; ++i) std::swap(m.row(i)[k], m.row(i)[column]);
    std::swap(m.column_of[k], m.column_of[column]);
    for (int i = k + 1; i < end; ++i) {
      double factor[1][kPanel];
      m.row(i)[k] /= pivot[k];
      factor[0][0] = m.row(i)[k];
      subtract<W, 1>(m.row(i), m.stride, factor, pivot, 1, k + 1, m.columns, m.tops + i);
    }
  }
  return found;
}

// Inverse of the upper triangle of a block, rows of kPanel entries.
PLANARIS_INLINE void invert(const Matrix& m, int first, int count, double (*inverse)[kPanel]) {
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i < kPanel; ++i) inverse[j][i] = 0;
  }
  for (int j = 0; j < count; ++j) {
    const double over = 1 / m.row(first + j)[first + j];
    inverse[j][j] = over;
    for (int i = j - 1; i >= 0; --i) {
      double sum = 0;
      for (int k = i; k < j; ++k) sum += inverse[i][k] * m.row(first + k)[first + j];
      inverse[i][j] = -sum * over;
    }
  }
}

PLANARIS_INLINE void swap_columns(double* row, int first, int count, const int32_t* swapped) {
  for (int k = 0; k < count; ++k) std::swap(row[first + k], row[swapped[k]]);
}

// Eliminates the pivots of a block from some rows.
template <int W, int kRows>
PLANARIS_INLINE void eliminate_rows(const Matrix& m, int at, int first, int count,
                                    const int32_t* swapped, const double (*inverse)[kPanel]) {
  using P = Lanes<W>;
  double factors[kRows][kPanel];
  for (int r = 0; r < kRows; ++r) {
    double* row = m.row(at + r);
    swap_columns(row, first, count, swapped);
    typename P::Type sums[kPanel / W] = {};
    for (int k = 0; k < count; ++k) {
      for (int j = 0; j < kPanel / W; ++j) sums[j] += row[first + k] * P::get(inverse[k] + j * W);
    }
    for (int j = 0; j < kPanel / W; ++j) P::set(factors[r] + j * W, sums[j]);
    for (int k = 0; k < count; ++k) row[first + k] = factors[r][k];
  }
  subtract<W, kRows>(m.row(at), m.stride, factors, m.row(first), count, first + count, m.columns,
                     m.tops + at);
}

struct Elimination {
  template <int W>
  static PLANARIS_INLINE int run(double* e, int rows, int columns, const Cut& cut, int32_t* row_of,
                                 int32_t* column_of, double* tops, double* residual) {
    const Matrix m{e, rows, columns, stride_of(e, columns), row_of, column_of, tops};
    std::iota(row_of, row_of + rows, 0);
    std::iota(column_of, column_of + columns, 0);
    for (int i = 0; i < rows; ++i) tops[i] = row_top<W>(m.row(i), 0, columns);
    End end(cut, rows, columns);
    double first = 0;
    for (int k = 0;;) {
      const double top = k < rows ? *std::max_element(tops + k, tops + rows) : 0.0;
      if (k == 0) first = top;
      *residual = first > 0 ? top / first : 0.0;
      if (end.reached(k, *residual)) return k;
      const double least = std::max(kClose * top, end.least() * first);
      const int near = gather(m, k, least);
      int32_t swapped[kPanel];
      const int found =
          eliminate_panel<W>(m, k, near, std::min(near, end.most() - k), least, swapped);
      for (int i = 0; i < k; ++i) swap_columns(m.row(i), k, found, swapped);
      double inverse[kPanel][kPanel];
      invert(m, k, found, inverse);
      int i = k + near;
      for (; i + 4 <= rows; i += 4) eliminate_rows<W, 4>(m, i, k, found, swapped, inverse);
      for (; i < rows; ++i) eliminate_rows<W, 1>(m, i, k, found, swapped, inverse);
      k += found;
    }
  }
};

}  // namespace

int eliminate(double* e, int rows, int columns, const Cut& cut, int32_t* row_of, int32_t* column_of,
              double* tops, double* residual) {
  return run_widest<Elimination>(e, rows, columns, cut, row_of, column_of, tops, residual);
}

namespace {

template <class T>
PLANARIS_INLINE int eliminate_any(T* e, int rows, int columns, const Cut& cut, int32_t* row_of,
                                  int32_t* column_of, double* tops, double* residual) {
  const auto row_at = [=](int i) { return e + static_cast<size_t>(i) * columns; };
  std::iota(row_of, row_of + rows, 0);
  std::iota(column_of, column_of + columns, 0);
  for (int i = 0; i < rows; ++i) {
    tops[i] = 0;
    for (int j = 0; j < columns; ++j) tops[i] = std::max(tops[i], size_of(row_at(i)[j]));
  }
  End end(cut, rows, columns);
  double first = 0;
  for (int k = 0;; ++k) {
    const double* largest = k < rows ? std::max_element(tops + k, tops + rows) : nullptr;
    const double top = largest == nullptr ? 0.0 : *largest;
    if (k == 0) first = top;
    *residual = first > 0 ? top / first : 0.0;
    if (end.reached(k, *residual)) return k;
    if (const int at = static_cast<int>(largest - tops); at != k) {
      std::swap_ranges(row_at(at), row_at(at + 1), row_at(k));
      std::swap(row_of[at], row_of[k]);
      tops[at] = tops[k];
    }
    T* pivot = row_at(k);
    int column = k;
    for (int j = k + 1; j < columns; ++j) {
      if (size_of(pivot[j]) > size_of(pivot[column])) column = j;
    }
    if (column != k) {
      for (int i = 0; i < rows; ++i) std::swap(row_at(i)[k], row_at(i)[column]);
      std::swap(column_of[k], column_of[column]);
    }
    for (int i = k + 1; i < rows; ++i) {
      T* row = row_at(i);
      row[k] /= pivot[k];
      tops[i] = 0;
      for (int j = k + 1; j < columns; ++j) {
        row[j] -= row[k] * pivot[j];
        tops[i] = std::max(tops[i], size_of(row[j]));
      }
    }
  }
}

}  // namespace

PLANARIS_CLONES
int eliminate(Pair* e, int rows, int columns, const Cut& cut, int32_t* row_of, int32_t* column_of,
              double* tops, double* residual) {
  return eliminate_any(e, rows, columns, cut, row_of, column_of, tops, residual);
}

PLANARIS_CLONES
int eliminate(Quad* e, int rows, int columns, const Cut& cut, int32_t* row_of, int32_t* column_of,
              double* tops, double* residual) {
  return eliminate_any(e, rows, columns, cut, row_of, column_of, tops, residual);
}

}  // namespace planaris::tensor
