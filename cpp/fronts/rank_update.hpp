// The one operation where elimination spends its time: C += X Yᵀ on a lower triangle.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace planaris {

// Runs body(0) … body(count - 1), perhaps on several threads; returns when all are done.
using ParallelFor = std::function<void(int count, const std::function<void(int)>& body)>;

// Makes room for so many numbers in a buffer. Those that are there stay: none is cleared twice.
template <class T>
void grow(std::vector<T>& buffer, size_t count) {
  if (buffer.size() < count) buffer.resize(count);
}

// Buffers that one thread reuses from call to call.
struct Packing {
  std::vector<double> rows, columns;
};

// C[i, j] += Σ_t X[i, t] Y[j, t] for 0 ≤ j < columns, j < i < rows; all column-major.
// Entries on and above the diagonal may be overwritten with anything.
template <class T>
void rank_update_lower(int rows, int columns, int depth, const T* x, int64_t ldx, const T* y,
                       int64_t ldy, T* c, int64_t ldc, Packing& packing,
                       const ParallelFor& parallel);

// C[i, j] += Σ_t X[i, t] Y[j, t], every sum in the order of t, and then added; with `lower` as
// rank_update_lower. For few rows or columns: nothing is packed, but every column of X is read up
// to kSmallSlack numbers past its last row.
constexpr int kSmallSlack = 7;
void add_small_product(int rows, int columns, int depth, bool lower, const double* x, int64_t ldx,
                       const double* y, int64_t ldy, double* c, int64_t ldc);
// Whether that takes less time than products of packed tiles.
bool is_small_product(int rows, int columns, int depth);

// How often numbers are rounded: a product on its way into C, at most, and an entry of C, so that
// the error is at most γ_term Σ|x y| + γ_entry |C| with γ_k = k u / (1 - k u).
struct Roundings {
  int term = 0, entry = 0;
};

Roundings rank_update_roundings(int rows, int columns, int depth);

// The most that a product is rounded on its way into C in multiply_add, C being zero before.
int multiply_add_roundings(int rows, int columns, int depth);

// C[i, j] += alpha Σ_t A(i, t) B(t, j); A(i, t) = a[i * row_a + t * column_a], B likewise,
// C column-major.
template <class T>
void multiply_add(int rows, int columns, int depth, T alpha, const T* a, int64_t row_a,
                  int64_t column_a, const T* b, int64_t row_b, int64_t column_b, T* c, int64_t ldc,
                  Packing& packing, const ParallelFor& parallel);

}  // namespace planaris
