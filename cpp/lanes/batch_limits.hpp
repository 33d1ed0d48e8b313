// What decides how rows of a batch are eliminated, and how often in single precision: for the core
// and, through its binding, for devices. docs/theory/pfaffian.md says why.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace planaris {

constexpr double kSingleToDouble = 0x1p-29;  // of the rounding of single and double precision

struct BatchLimits {
  // Eliminations in single precision: at first, and of models in which rounding is felt. One may be
  // right by luck, about one in a hundred of those that should not be.
  int first_draws = 2, draws = 4;
  // Log Z of weaker couplings loses too little for a second draw to matter: a few percent of the
  // error that is stated.
  double weak = 1.5;
  // Marginals lose more digits than log Z: with couplings up to `strong` the most that was seen,
  // exp(3 c) roundings, is stated; with larger ones, and with larger ones than `calm` of nearly one
  // size, all draws are made. Of weaker ones the residual tells all.
  double calm = 0.75, strong = 4.0, marginal_growth = 3.5;
  double change_safety = 4.0;    // errors of marginals are stated four times as large once more
  double near = 1e-4;            // relative: sizes of couplings that count as one, see RowSize
  double most_flipped = 8.0;     // larger couplings need a ground state for a gauge
  double most_in_lanes = 300.0;  // exponentials of larger couplings leave the range
  // Weights of couplings that a state leaves so unsatisfied may raise what single precision has
  // lost.
  double most_unsatisfied = 16.0;
  // The same where draws are made in double precision, whose exponents have eight times the range.
  double most_unsatisfied_in_doubles = 64.0;
  double marginal_error = 1e-9;
  double lost_pivot = 0.05,
         lost_probability = 1e-3;  // changes in single precision that tell nothing any more
};
constexpr BatchLimits kLimits;

// Of the couplings of a row.
struct RowSize {
  double largest = 0.0, mean = 0.0;
  int64_t ties = 0, edges = 0;  // ties: neighbours in the row of nearly one size

  RowSize() = default;
  explicit RowSize(std::span<const double> couplings)
      : edges(static_cast<int64_t>(couplings.size())) {
    double before = -1.0;
    for (const double x : couplings) {
      const double now = std::fabs(x);
      largest = largest < now ? now : largest;
      mean += now;
      ties += std::fabs(now - before) <= kLimits.near * now;
      before = now;
    }
    mean /= static_cast<double>(edges);
  }

  // Whether many couplings are nearly of one size, and large. What cancels then, in few operations,
  // often does so in single precision as well, whatever the scales. The order of the packing loses
  // nothing.
  bool is_tied() const { return largest > kLimits.strong && has_ties(); }
  bool has_ties() const { return 16 * ties > edges; }
};

}  // namespace planaris
