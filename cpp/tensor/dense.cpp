#include "tensor/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/lanes.hpp"

namespace planaris::tensor {

namespace {

// A tile of c of so many rows and vectors, its sums held in registers; the last vector of a row has
// `width` entries.
template <int W, int kRows, int kVectors>
PLANARIS_INLINE void tile(const double* a, int a_row, int a_step, const double* b, int b_step,
                          double* c, int depth, int columns, int width) {
  using P = Lanes<W>;
  typename P::Type sum[kRows][kVectors] = {};
  const auto step = [&](int k, int entries) {
    const double* row = b + static_cast<size_t>(k) * b_step;
    typename P::Type y[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      y[j] = P::get(row + j * W, j + 1 == kVectors ? entries : W);
    }
    for (int i = 0; i < kRows; ++i) {
      const double x = a[static_cast<size_t>(i) * a_row + static_cast<size_t>(k) * a_step];
      for (int j = 0; j < kVectors; ++j) sum[i][j] += x * y[j];
    }
  };
  // But for the last rows of b, a whole vector may be read: what is behind the row is not used.
  const int beyond = (W - width + b_step - 1) / b_step;
  int k = 0;
  for (; k < depth - beyond; ++k) step(k, W);
  for (; k < depth; ++k) step(k, width);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      const int entries = j + 1 == kVectors ? width : W;
      std::memcpy(c + static_cast<size_t>(i) * columns + j * W, &sum[i][j],
                  static_cast<size_t>(entries) * sizeof(double));
    }
  }
}

template <int W, int kVectors>
PLANARIS_INLINE void strip(const double* a, int a_row, int a_step, const double* b, int b_step,
                           double* c, int rows, int depth, int columns, int width) {
  int i = 0;
  for (; i + 4 <= rows; i += 4) {
    tile<W, 4, kVectors>(a + static_cast<size_t>(i) * a_row, a_row, a_step, b, b_step,
                         c + static_cast<size_t>(i) * columns, depth, columns, width);
  }
  for (; i < rows; ++i) {
    tile<W, 1, kVectors>(a + static_cast<size_t>(i) * a_row, a_row, a_step, b, b_step,
                         c + static_cast<size_t>(i) * columns, depth, columns, width);
  }
}

template <int W>
PLANARIS_INLINE void product(const double* a, int a_row, int a_step, const double* b, int b_step,
                             double* c, int rows, int depth, int columns) {
  int j = 0;
  for (; j + 2 * W <= columns; j += 2 * W) {
    strip<W, 2>(a, a_row, a_step, b + j, b_step, c + j, rows, depth, columns, W);
  }
  for (; j + W <= columns; j += W) {
    strip<W, 1>(a, a_row, a_step, b + j, b_step, c + j, rows, depth, columns, W);
  }
  if (j < columns) {
    strip<W, 1>(a, a_row, a_step, b + j, b_step, c + j, rows, depth, columns, columns - j);
  }
}

struct Product {
  template <int W>
  static PLANARIS_INLINE void run(const double* a, int a_row, int a_step, const double* b,
                                  int b_step, double* c, int rows, int depth, int columns) {
    product<W>(a, a_row, a_step, b, b_step, c, rows, depth, columns);
  }
};

// The same for pairs and quads: classical, row by row.
template <class T>
inline __attribute__((always_inline)) void product(const T* a, int a_row, int a_step, const T* b,
                                                   int b_step, T* c, int rows, int depth,
                                                   int columns) {
  std::fill(c, c + static_cast<size_t>(rows) * columns, T());
  for (int i = 0; i < rows; ++i) {
    T* out = c + static_cast<size_t>(i) * columns;
    for (int k = 0; k < depth; ++k) {
      const T x = a[static_cast<size_t>(i) * a_row + static_cast<size_t>(k) * a_step];
      if (nearest(x) == 0) continue;
      const T* row = b + static_cast<size_t>(k) * b_step;
      for (int j = 0; j < columns; ++j) out[j] += x * row[j];
    }
  }
}

// Rows of L (unit lower trapezoidal) times the inverse of its leading square.
template <class T>
inline __attribute__((always_inline)) void left_factor_any(const T* e, int m, int stride, int rank,
                                                           const int32_t* row_of, T* out) {
  for (int i = 0; i < m; ++i) {
    T* x = out + static_cast<size_t>(row_of[i]) * rank;
    std::fill(x, x + rank, T(0.0));
    if (i < rank) {
      x[i] = T(1.0);
      continue;
    }
    std::copy(e + static_cast<size_t>(i) * stride, e + static_cast<size_t>(i) * stride + rank, x);
    for (int l = rank - 1; l > 0; --l) {
      const T* row = e + static_cast<size_t>(l) * stride;
      const T f = x[l];
      for (int k = 0; k < l; ++k) x[k] -= f * row[k];
    }
  }
}

// Inverse of the leading square of U times U.
template <class T>
inline __attribute__((always_inline)) void right_factor_any(const T* e, int stride, int n, int rank,
                                                            const int32_t* column_of, T* out,
                                                            T* row) {
  const int others = n - rank;
  for (int k = rank - 1; k >= 0; --k) {
    const T* u = e + static_cast<size_t>(k) * stride;
    std::copy(u + rank, u + n, row);
    for (int l = k + 1; l < rank; ++l) {
      const T f = u[l];
      const T* known = out + static_cast<size_t>(l) * n;  // still in pivot order
      for (int j = 0; j < others; ++j) row[j] -= f * known[rank + j];
    }
    T* x = out + static_cast<size_t>(k) * n;
    std::fill(x, x + rank, T(0.0));
    x[k] = T(1.0);
    for (int j = 0; j < others; ++j) x[rank + j] = row[j] / u[k];
  }
  for (int k = 0; k < rank; ++k) {
    T* x = out + static_cast<size_t>(k) * n;
    std::copy(x, x + n, row);
    for (int j = 0; j < n; ++j) x[column_of[j]] = row[j];
  }
}

PLANARIS_TENSOR_CLONES
void left_factor(const double* e, int m, int stride, int rank, const int32_t* row_of, double* out) {
  left_factor_any(e, m, stride, rank, row_of, out);
}

PLANARIS_TENSOR_CLONES
void right_factor(const double* e, int stride, int n, int rank, const int32_t* column_of,
                  double* out, double* row) {
  right_factor_any(e, stride, n, rank, column_of, out, row);
}

PLANARIS_TENSOR_CLONES
void left_factor(const Pair* e, int m, int stride, int rank, const int32_t* row_of, Pair* out) {
  left_factor_any(e, m, stride, rank, row_of, out);
}

PLANARIS_TENSOR_CLONES
void left_factor(const Quad* e, int m, int stride, int rank, const int32_t* row_of, Quad* out) {
  left_factor_any(e, m, stride, rank, row_of, out);
}

PLANARIS_TENSOR_CLONES
void right_factor(const Pair* e, int stride, int n, int rank, const int32_t* column_of, Pair* out,
                  Pair* row) {
  right_factor_any(e, stride, n, rank, column_of, out, row);
}

PLANARIS_TENSOR_CLONES
void right_factor(const Quad* e, int stride, int n, int rank, const int32_t* column_of, Quad* out,
                  Quad* row) {
  right_factor_any(e, stride, n, rank, column_of, out, row);
}

// The largest ratio of an entry that is left after `rank` pivots to the one it was. Zeros
// (forbidden configurations) do not count.
template <class T>
PLANARIS_INLINE double component_error_any(const T* m, const T* e, int rows, int columns,
                                           int stride, const int32_t* row_of,
                                           const int32_t* column_of, int rank) {
  double most = 0;
  for (int i = rank; i < rows; ++i) {
    const T* was = m + static_cast<size_t>(row_of[i]) * columns;
    const T* is = e + static_cast<size_t>(i) * stride;
    for (int j = rank; j < columns; ++j) {
      const double left = size_of(is[j]), whole = size_of(was[column_of[j]]);
      if (left > most * whole && whole > 0) most = left / whole;
    }
  }
  return most;
}

template <class T>
void skeleton_any(const T* m, int num_rows, int num_columns, const Cut& cut, Side side,
                  SkeletonOf<T>& out, std::vector<T>& work) {
  const int stride = stride_of(m, num_columns);
  const size_t size = static_cast<size_t>(num_rows) * stride;
  work.resize(size + num_columns);
  std::vector<double> tops(num_rows);
  T* e = work.data();
  T* spare = e + size;
  for (int i = 0; i < num_rows; ++i) {
    const T* row = m + static_cast<size_t>(i) * num_columns;
    T* to = e + static_cast<size_t>(i) * stride;
    std::fill(std::copy(row, row + num_columns, to), to + stride, T(0.0));
  }
  out.rows.resize(num_rows);
  out.columns.resize(num_columns);
  out.rank = eliminate(e, num_rows, num_columns, cut, out.rows.data(), out.columns.data(),
                       tops.data(), &out.residual);
  out.component_error = component_error_any(m, e, num_rows, num_columns, stride, out.rows.data(),
                                            out.columns.data(), out.rank);
  if (side == Side::kLeft) {
    out.left.resize(static_cast<size_t>(num_rows) * out.rank);
    left_factor(e, num_rows, stride, out.rank, out.rows.data(), out.left.data());
  } else {
    out.right.resize(static_cast<size_t>(out.rank) * num_columns);
    right_factor(e, stride, num_columns, out.rank, out.columns.data(), out.right.data(), spare);
  }
  out.rows.resize(out.rank);
  out.columns.resize(out.rank);
}

}  // namespace

void multiply_parts(const double* a, int a_row, int a_step, const double* b, int b_step, double* c,
                    int rows, int depth, int columns) {
  run_widest<Product>(a, a_row, a_step, b, b_step, c, rows, depth, columns);
}

PLANARIS_TENSOR_CLONES
void multiply_parts(const Pair* a, int a_row, int a_step, const Pair* b, int b_step, Pair* c,
                    int rows, int depth, int columns) {
  product(a, a_row, a_step, b, b_step, c, rows, depth, columns);
}

PLANARIS_TENSOR_CLONES
void multiply_parts(const Quad* a, int a_row, int a_step, const Quad* b, int b_step, Quad* c,
                    int rows, int depth, int columns) {
  product(a, a_row, a_step, b, b_step, c, rows, depth, columns);
}

void skeleton(const double* m, int num_rows, int num_columns, const Cut& cut, Side side,
              Skeleton& out, std::vector<double>& work) {
  skeleton_any(m, num_rows, num_columns, cut, side, out, work);
}

void skeleton(const Pair* m, int num_rows, int num_columns, const Cut& cut, Side side,
              SkeletonOf<Pair>& out, std::vector<Pair>& work) {
  skeleton_any(m, num_rows, num_columns, cut, side, out, work);
}

void skeleton(const Quad* m, int num_rows, int num_columns, const Cut& cut, Side side,
              SkeletonOf<Quad>& out, std::vector<Quad>& work) {
  skeleton_any(m, num_rows, num_columns, cut, side, out, work);
}

}  // namespace planaris::tensor
