// Sparse symmetric systems without pivoting.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// A = L D L', row by row (Davis 2005, algorithm 849). A is given by the columns of its upper
// triangle, diagonal included, in the order of elimination: column k has the rows
// rows[offsets[k]], ..., rows[offsets[k + 1] - 1], none of them after k. Throws
// std::invalid_argument for other patterns, TableTooLarge if L has more than max_entries entries
// and std::range_error where a pivot is zero or not finite.
class SparseFactor {
 public:
  SparseFactor(std::span<const int64_t> offsets, std::span<const int32_t> rows,
               std::span<const double> values, int64_t max_entries, Control& control);
  // Returns x with A x = side.
  std::vector<double> solve(std::span<const double> side, Control& control) const;

 private:
  std::vector<int64_t> first_;  // entries of L by column, below its diagonal of ones
  std::vector<int32_t> row_of_;
  std::vector<double> entry_, pivot_;
};

}  // namespace planaris
