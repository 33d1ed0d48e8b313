// Small dense matrices: products, and the skeleton of a matrix (a few of its rows and columns).
#pragma once

#include <cstdint>
#include <vector>

#include "base/simd.hpp"
#include "tensor/pair.hpp"
#include "tensor/pivots.hpp"
#include "tensor/quad.hpp"

#define PLANARIS_TENSOR_CLONES PLANARIS_CLONES

namespace planaris::tensor {

// c (rows × columns, contiguous) = a b for parts of larger matrices: a(i, k) = a[i · a_row + k ·
// a_step] and b(k, j) = b[k · b_step + j]. Every entry is summed in the order of `depth`, each
// product rounded: the same on every machine, and the error bound of classical products holds.
void multiply_parts(const double* a, int a_row, int a_step, const double* b, int b_step, double* c,
                    int rows, int depth, int columns);
void multiply_parts(const Pair* a, int a_row, int a_step, const Pair* b, int b_step, Pair* c,
                    int rows, int depth, int columns);
void multiply_parts(const Quad* a, int a_row, int a_step, const Quad* b, int b_step, Quad* c,
                    int rows, int depth, int columns);

// The same for matrices that are contiguous: c (rows × columns) = a (rows × depth) b (depth ×
// columns).
template <class T>
void multiply(const T* a, const T* b, T* c, int rows, int depth, int columns) {
  multiply_parts(a, depth, 1, b, columns, c, rows, depth, columns);
}

// c (columns_a × columns_b) = aᵀ b, for a (depth × columns_a) and b (depth × columns_b).
template <class T>
void multiply_transposed(const T* a, const T* b, T* c, int depth, int columns_a, int columns_b) {
  multiply_parts(a, 1, columns_a, b, columns_b, c, columns_a, depth, columns_b);
}

// to (columns × rows) = fromᵀ.
template <class T>
void transpose(const T* from, T* to, int rows, int columns) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      to[static_cast<size_t>(j) * rows + i] = from[static_cast<size_t>(i) * columns + j];
    }
  }
}

// M ≈ M[:, columns] · M[rows, columns]⁻¹ · M[rows, :], by LU with complete pivoting.
template <class T>
struct SkeletonOf {
  int rank = 0;
  double residual = 0;         // largest entry of what is left, relative to the largest of M
  double component_error = 0;  // largest entry of what is left, relative to that entry of M
  std::vector<int32_t> rows, columns;
  std::vector<T> left;   // M[:, columns] · M[rows, columns]⁻¹  (num_rows × rank)
  std::vector<T> right;  // M[rows, columns]⁻¹ · M[rows, :]     (rank × num_columns)
};
using Skeleton = SkeletonOf<double>;

enum class Side : uint8_t { kLeft, kRight };

// Fills `left` or `right`, as asked. `work` is a buffer that is kept between calls.
void skeleton(const double* m, int num_rows, int num_columns, const Cut& cut, Side side,
              Skeleton& out, std::vector<double>& work);
void skeleton(const Pair* m, int num_rows, int num_columns, const Cut& cut, Side side,
              SkeletonOf<Pair>& out, std::vector<Pair>& work);
void skeleton(const Quad* m, int num_rows, int num_columns, const Cut& cut, Side side,
              SkeletonOf<Quad>& out, std::vector<Quad>& work);

}  // namespace planaris::tensor
