// H = (L |D| Lᵀ)⁻¹ and G = (L D Lᵀ)⁻¹ on the rows of one front, from those of the rows that it
// leaves to its parent, panel by panel from the right (docs/theory/rigour.md).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fronts/rank_update.hpp"
#include "fronts/weighted_sums.hpp"
#include "lanes/lane_kernels.hpp"
#include "rigour/proof_elimination.hpp"

namespace planaris {

// Bounds outside of this range are given up: no product of two of them over- or underflows.
constexpr double kLargestBound = 0x1p300, kLeastBound = 0x1p-300;

// Buffers that one thread reuses from front to front.
struct SweepBuffers {
  std::vector<double> minus_n, transposed, scaled, transfer, corner, rest;
  std::vector<double> weighted, size, column;  // by row of the front
  std::vector<double> kappa, inverse_pivot, weight, square;
  Packing packing;
};

// Over pivots d, with ω_k = Σ_i sqrt(H_ii) |L_ik|.
struct PanelSums {
  double products = 0.0;           // Σ |d| ω_k ω_{k+1}
  double left = 0.0, right = 0.0;  // Σ (ω_k + ω_{k+1}), Σ |d| (ω_k + ω_{k+1})

  // With H multiplied by a factor, at least one.
  void add(const PanelSums& more, double factor) {
    products += more.products * factor;
    left += more.left * factor;
    right += more.right * factor;
  }
};

// A symmetric matrix, column-major, with room for kProductSlack numbers after every column.
struct SquareColumns {
  const double* entries = nullptr;
  size_t step = 0;
};

class SweptFront {
 public:
  // Room that H, or G, of so many rows takes; column-major.
  static size_t room(const FactorColumns& f) { return size_t(f.step()) * f.rows; }

  // `bound` and `inverse` hold H and G on the rows from f.eliminated on, `root` the square roots of
  // the diagonal of H, and kWeightSlack zeros after them; `inverse` may be null. `wide`: the
  // factors are high parts of pairs.
  SweptFront(const FactorColumns& f, double* bound, double* inverse, double* root, bool wide,
             SweepBuffers& buffers, const ParallelFor& parallel)
      : f_(f), n_(f.rows), step_(f.step()), bound_(bound), inverse_(inverse), root_(root),
        wide_(wide), buffers_(buffers), parallel_(parallel) {}

  // Extends both from rows T = [end, n) to rows [begin, n). With N = L_pp⁻¹ and W = L_Tp N:
  // H_Tp = -H_TT W, H_pp = Nᵀ |D_p|⁻¹ N + Wᵀ H_TT W, and the same of G with D for |D|. Returns a
  // bound on what rounding did to either, in the 2-norm, rows i scaled by 1 / sqrt(H_ii).
  double extend(int32_t begin, int32_t end);

  // Extends square roots of the diagonal of H alone, from those of T: sqrt(H_jj) is at most
  // sqrt((Nᵀ |D_p|⁻¹ N)_jj + (Σ_i sqrt(H_ii) |W_ij|)²). Returns a bound on what rounding did to
  // one, relative. `bound` is not touched, and may be null. N and W are found a block of columns
  // after the other, so that panels may be as wide as the front. Where H is known on T, `above`, it
  // is sqrt((Nᵀ |D_p|⁻¹ N)_jj + (Wᵀ H_TT W)_jj).
  double extend_sizes(int32_t begin, int32_t end, const SquareColumns& above = {});

  // Multiplies square roots of the last panel; returns false if one leaves the range.
  bool enlarge_sizes(double factor);

  // Of columns of the last panel, H before it is enlarged.
  PanelSums sums(int32_t begin, int32_t end) const;

  // Whether pivots and factors of all panels so far are so large, or small, that nothing
  // underflows.
  bool in_range() const { return in_range_; }

  // Multiplies the diagonal of H from a row on; returns false if it leaves the range.
  bool enlarge(int32_t begin, double factor);

  // Makes errors of a size: diagonals shrink, and entries of G between two rows that are eliminated
  // together grow.
  void inject(int32_t begin, int32_t end, double size);

  double bound(int32_t i, int32_t j) const { return bound_[j * step_ + i]; }
  double inverse(int32_t i, int32_t j) const { return inverse_[j * step_ + i]; }
  const double* bound_column(int32_t j) const { return bound_ + j * step_; }
  const double* inverse_column(int32_t j) const { return inverse_ + j * step_; }

 private:
  struct Panel {
    int32_t begin = 0, end = 0, p = 0, t = 0;
    const double* lower = nullptr;  // L_pp, and below it L_Tp
    size_t room = 0;                // from column to column of p numbers
  };

  // |D| of the pivot that a row of the panel belongs to.
  double pivot(const Panel& s, int32_t row) const {
    return std::fabs(s.lower[(row & ~1) * step_ + (row | 1)]);
  }
  Panel start(int32_t begin, int32_t end);
  void invert(const Panel& s);
  void transfer(const Panel& s);
  void fill(const Panel& s, double* x, bool of_bound);
  void sum_below(const Panel& s);
  void sum_inside(const Panel& s, int32_t first, int32_t last);
  void solve(const Panel& s, int32_t first, int32_t last);
  void find_sizes(const Panel& s, int32_t first, int32_t last, const SquareColumns& above);
  void add_squares(const Panel& s, int32_t columns, const double* w, size_t step,
                   const SquareColumns& above);
  double rounded(const Panel& s) const;
  double rounded_sizes(const Panel& s, int32_t first, int32_t last);
  void multiply(int32_t rows, int32_t columns, int32_t depth, const double* x, size_t x_step,
                const double* y, size_t y_step, double* c, size_t c_step);

  FactorColumns f_;
  int32_t n_;
  size_t step_;  // from column to column of L, H and G
  double *bound_, *inverse_, *root_;
  bool wide_;
  SweepBuffers& buffers_;
  const ParallelFor& parallel_;
  Panel panel_;
  bool in_range_ = true;
};

}  // namespace planaris
