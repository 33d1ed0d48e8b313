// Rows of an Ising grid applied to a matrix product state and compressed, in plain floating point.
// Nothing here has to be accurate for the proof: it bounds what was done, whatever that is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace planaris::tensor {

// (left × 2 × right), row-major; spin +1 is index 0, -1 is index 1.
struct Core {
  int left = 1, right = 1;
  std::vector<double> values;

  double* at(int a, int s) { return values.data() + (static_cast<size_t>(a) * 2 + s) * right; }
  const double* at(int a, int s) const {
    return values.data() + (static_cast<size_t>(a) * 2 + s) * right;
  }
};

// An Ising grid: down[r][c] joins (r, c) and (r + 1, c), right[r][c] joins (r, c) and (r, c + 1).
struct GridView {
  int rows = 0, columns = 0;
  std::span<const double> fields, right, down;

  double field(int r, int c) const { return fields[static_cast<size_t>(r) * columns + c]; }
  double across(int r, int c) const { return right[static_cast<size_t>(r) * (columns - 1) + c]; }
  double along(int r, int c) const { return down[static_cast<size_t>(r) * columns + c]; }
};

// One row, compressed. With W = gauge, T = turned and k = kept:
// W[i] B[i] ≈ T[i] W[i + 1], and T[i][:k[i], :, :k[i + 1]] are the cores of the new state.
struct RowState {
  std::vector<Core> applied;  // B: the row times the state before
  std::vector<Core> turned;
  std::vector<std::vector<double>> gauge;  // (dims[i] × raw bond)
  std::vector<int> dims, kept;
  std::vector<double> flat;  // g: the state is divided by exp(Σ g s)
  std::vector<Core> cores;
  int64_t exponent = 0;  // the state is to be multiplied by 2^exponent
  double tau = 0;        // relative error of every entry of `applied`, or of the sum of its terms
  std::vector<double> last_terms;  // of the last site: sums of |terms|, scaled as it is
};

// Row r applied to the state before it (none: no cores), with the vertical bond to the next row if
// there is one. `flat_before` is the g of that state. Bonds of the last site are summed.
RowState apply_row(const GridView& grid, int r, const std::vector<Core>& before,
                   const std::vector<double>& flat_before);
// Divides the new state by the product measure that makes its marginals even.
void flatten(RowState& row);
// Cuts the bonds to `max_bond`, or where a pivot is below `tolerance` times the first.
void compress(RowState& row, int max_bond, double tolerance);

}  // namespace planaris::tensor
