// A proved interval around log Z of an Ising grid: a theorem about the contraction that was done.
//
// Rows act on states by entrywise positive maps, so errors that are small relative to every
// component add up over rows and are never amplified. One row: B the exact row applied to the last
// cores, W any gauge, T any cores, C the kept block of T, R_i = W_{i-1} B_i - T_i W_i. With
// x_i = C_1(s_1) … C_i(s_i), y_i = W_i B_{i+1}(s_{i+1}) … B_n(s_n) and h_i = x_i · y_i[:k_i],
//   h_{i-1} - h_i = x_{i-1} (T_i[:k, s_i, k:] y_i[k:] + R_i[:k, s_i] yraw_i),
// so |log(new state / exact row)| <= Σ_i -log(1 - δ_i) if |h_{i-1} - h_i| <= δ_i h_i for every
// configuration. x and y are enclosed by boxes in the chart x[0] = 1, over all configurations at
// once: exact words of the spins next to the bond, hulls of everything farther away. See
// docs/theory/tensor-network.md for the proof; every quantity below is rounded towards safety.
#pragma once

#include <cstdint>
#include <vector>

#include "base/control.hpp"
#include "tensor/cone.hpp"
#include "tensor/enclosure.hpp"
#include "tensor/row_state.hpp"

namespace planaris::tensor {

struct ProofOptions {
  int max_bond = 48;
  double tolerance = 1e-16;
  // To try for a row, in turn, until its bound is below `target`, or not far above it. The widths
  // of all rows together may add up to `target` times their number.
  std::vector<Effort> efforts = {{4, 8}, {4, 14}, {8, 24}, {16, 48}};
  double target = 1e-11;
  Terms terms;
  int threads = 1;
  bool keep = false;     // the states, for marginals and samples
  bool witness = false;  // what a check by another program needs
};

// How the rows were enclosed, for a check by another program. Nothing in it has to be believed.
struct Witness {
  std::vector<int32_t> bonds;  // (rows - 1) × (columns + 1): dimensions that were kept
  // Trees per row, side (left vectors, right vectors, new state) and position 1 … columns, as runs:
  // lengths of words, leaves per hull, and words of trees that were grown again.
  std::vector<int32_t> words, hulls, refined;
  std::vector<int64_t> word_offsets{0}, hull_offsets{0}, refined_offsets{0};

  void add(const std::vector<Shape>& shapes, const std::vector<Shape>& again);
};

// The state after a row: exp(Σ flat s) times the product of its cores, times a power of two.
struct ProvedState {
  std::vector<Core> cores;
  std::vector<double> flat;
  ConeFactors cones;
};

struct ProvedGrid {
  double log_partition = 0;
  double half_width = 0;            // infinite: lost
  int32_t lost_row = -1;            // first row without a bound
  double cut = 0, rounding = 0;     // shares of the half-width
  std::vector<double> rows;         // bound of every row
  std::vector<ProvedState> states;  // after every row but the last, if kept
  Witness witness;                  // if asked for
};

ProvedGrid prove_grid(const GridView& grid, const ProofOptions& options, Control& control);

}  // namespace planaris::tensor
