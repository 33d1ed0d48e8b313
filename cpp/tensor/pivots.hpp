// LU factors of a matrix with its largest entries as pivots.
#pragma once

#include <cstdint>

#include "tensor/pair.hpp"
#include "tensor/quad.hpp"

namespace planaris::tensor {

// Entries from one row of a matrix of `columns` columns to the next, so that `eliminate` may read
// and write whole vectors: what is behind a row must be zero.
inline int stride_of(const double*, int columns) { return (columns + 15) & ~7; }
inline int stride_of(const Pair*, int columns) { return columns; }
inline int stride_of(const Quad*, int columns) { return columns; }

// Which pivots are kept: those above `tolerance` times the first, `more` of the next that doubles
// resolve, and `max_rank` at most.
struct Cut {
  int max_rank = 16;
  double tolerance = 1e-14;
  int more = 0;
};

// LU in place of a matrix with stride_of(e, columns) entries per row; returns the rank. `row_of`
// and `column_of` get the order of rows and columns, `tops` is scratch (one per row), `residual`
// the largest entry that is left, relative to the first pivot.
//
// Pivots of doubles are found by blocks. The first of a block is the largest entry of all that is
// left, the others are the largest of the rows that had the largest entries then, as long as they
// are not much smaller. The other rows are brought up to date by one product per block.
int eliminate(double* e, int rows, int columns, const Cut& cut, int32_t* row_of, int32_t* column_of,
              double* tops, double* residual);
// Complete pivoting.
int eliminate(Pair* e, int rows, int columns, const Cut& cut, int32_t* row_of, int32_t* column_of,
              double* tops, double* residual);
int eliminate(Quad* e, int rows, int columns, const Cut& cut, int32_t* row_of, int32_t* column_of,
              double* tops, double* residual);

}  // namespace planaris::tensor
