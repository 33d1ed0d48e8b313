#include "rigour/swept_front.hpp"

#include <algorithm>
#include <cmath>

#include "base/constants.hpp"
#include "base/simd.hpp"

namespace planaris {

namespace {

constexpr int64_t kWorthPacking = 100'000;  // multiplications
constexpr double kLargestRoot = 0x1p150;    // of kLargestBound, one over that of kLeastBound
constexpr double kSizeError =
    0x1p-39;  // roundings of sums of sizes, 4000 terms at most, and of roots
constexpr int32_t kColumnBlock = 64;  // columns of N that are found together
constexpr int32_t kTogether = 4;      // of them, and substituted together
constexpr int32_t kSquareRows = 96;   // rows of H that are multiplied at once for a square

// The most that a product is rounded on its way into a sum that starts at zero.
int roundings(int32_t rows, int32_t columns, int32_t depth) {
  return std::max(depth + 1, multiply_add_roundings(rows, columns, depth));
}

// Solves L x = column from row c on; the pivots stand where L has zeros.
PLANARIS_CLONES void substitute(int32_t p, int32_t c, const double* lower, size_t step,
                                double* column) {
  for (int32_t k = c; k < p; ++k) {
    const double factor = column[k];
    const double* l = lower + k * step;
    for (int32_t i = (k | 1) + 1; i < p; ++i) column[i] -= l[i] * factor;
  }
}

// The same of kTogether columns, all from row c on, by the same operations.
PLANARIS_CLONES void substitute_together(int32_t p, int32_t c, const double* lower, size_t step,
                                         double* columns, size_t columns_step) {
  double* __restrict x = columns, * __restrict y = x + columns_step, * __restrict z = y + columns_step, * __restrict w = z + columns_step;
  for (int32_t k = c; k < p; ++k) {
    const double of_x = x[k], of_y = y[k], of_z = z[k], of_w = w[k];
    const double* __restrict l = lower + k * step;
    for (int32_t i = (k | 1) + 1; i < p; ++i) {
      x[i] -= l[i] * of_x;
      y[i] -= l[i] * of_y;
      z[i] -= l[i] * of_z;
      w[i] -= l[i] * of_w;
    }
  }
}

// Σ_i weights[i] x[i]², in lanes.
PLANARIS_CLONES double weighted_squares(int32_t count, const double* weights, const double* x) {
  constexpr int kLanes = 8;
  double s[kLanes] = {};
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) s[k] += weights[i + k] * (x[i + k] * x[i + k]);
  }
  for (; i < count; ++i) s[0] += weights[i] * (x[i] * x[i]);
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

// Σ_i x[i] y[i], in lanes.
PLANARIS_CLONES double inner_product(int32_t count, const double* x, const double* y) {
  constexpr int kLanes = 8;
  double s[kLanes] = {};
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) s[k] += x[i + k] * y[i + k];
  }
  for (; i < count; ++i) s[0] += x[i] * y[i];
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

}  // namespace

// C += X Y; C has room for kProductSlack numbers after every column.
void SweptFront::multiply(int32_t rows, int32_t columns, int32_t depth, const double* x,
                          size_t x_step, const double* y, size_t y_step, double* c, size_t c_step) {
  if (int64_t(rows) * columns * depth < kWorthPacking) {
    lane_kernels().product(rows, columns, depth, x, x_step, y, 1, y_step, c, c_step);
  } else {
    multiply_add<double>(rows, columns, depth, 1.0, x, 1, x_step, y, 1, y_step, c, c_step,
                         buffers_.packing, parallel_);
  }
}

SweptFront::Panel SweptFront::start(int32_t begin, int32_t end) {
  panel_ = {begin,
            end,
            end - begin,
            n_ - end,
            f_.column(begin) + begin,
            size_t(end - begin) + kProductSlack};
  return panel_;
}

double SweptFront::extend(int32_t begin, int32_t end) {
  const Panel s = start(begin, end);
  sum_below(s);
  invert(s);
  transfer(s);
  fill(s, bound_, true);
  if (inverse_ != nullptr) fill(s, inverse_, false);
  for (int32_t j = 0; j < s.p; ++j) {
    const double h = bound(s.begin + j, s.begin + j);
    if (!(h > kLeastBound && h < kLargestBound)) return kInfinity;
    buffers_.size[s.begin + j] = std::sqrt(h);
  }
  sum_inside(s, 0, s.p);
  return rounded(s);
}

double SweptFront::extend_sizes(int32_t begin, int32_t end, const SquareColumns& above) {
  const Panel s = start(begin, end);
  sum_below(s);
  if (s.p == 2 && above.entries == nullptr) {  // N is the identity, and W is L_Tp
    for (int32_t j = 0; j < 2; ++j) {
      const double below = buffers_.weighted[begin + j];
      buffers_.size[begin + j] = root_[begin + j] = std::sqrt(1 / pivot(s, j) + below * below);
    }
    sum_inside(s, 0, 2);
    return kSizeError;
  }
  buffers_.inverse_pivot.resize(s.p);
  for (int32_t k = 0; k < s.p; ++k) buffers_.inverse_pivot[k] = 1 / pivot(s, k);
  double most = 0.0;
  for (int32_t last = s.p; last > 0;) {
    const int32_t first = (last - 1) / kColumnBlock * kColumnBlock;
    solve(s, first, last);
    find_sizes(s, first, last, above);
    sum_inside(s, first, last);
    most = std::max(most, rounded_sizes(s, first, last));
    last = first;
  }
  return most + kSizeError;
}

// Columns [first, last) of N from row `first` on, and below them those of -W = -L_Tp N: forward
// substitution by blocks of rows.
void SweptFront::solve(const Panel& s, int32_t first, int32_t last) {
  const int32_t columns = last - first;
  const size_t step = s.p - first + s.t + size_t(kProductSlack),
               room = kColumnBlock + kProductSlack;
  buffers_.transfer.assign(step * columns, 0.0);
  buffers_.minus_n.resize(room * kColumnBlock);
  for (int32_t c = 0; c < columns; ++c) buffers_.transfer[c * step + c] = 1.0;
  for (int32_t row = first; row < s.p; row += kColumnBlock) {
    const int32_t deep = std::min(kColumnBlock, s.p - row);
    const double* lower = s.lower + row * step_ + row;
    double* x = buffers_.transfer.data() + (row - first);
    for (int32_t c = 0; c < columns;) {
      const int32_t from = row > first ? 0 : c;  // columns after c are zero down to their own rows
      if (columns - c >= kTogether) {
        substitute_together(deep, from, lower, step_, x + c * step, step);
        c += kTogether;
      } else {
        substitute(deep, from, lower, step_, x + c * step);
        ++c;
      }
    }
    for (int32_t c = 0; c < columns; ++c) {
      for (int32_t k = 0; k < deep; ++k) buffers_.minus_n[c * room + k] = -x[c * step + k];
    }
    multiply(s.p - row - deep + s.t, columns, deep, lower + deep, step_, buffers_.minus_n.data(),
             room, x + deep, step);
  }
}

void SweptFront::find_sizes(const Panel& s, int32_t first, int32_t last,
                            const SquareColumns& above) {
  const int32_t columns = last - first, rows = s.p - first;
  const size_t step = rows + s.t + size_t(kProductSlack);
  const double* x = buffers_.transfer.data();
  buffers_.kappa.resize(columns);
  weighted_sums(s.t, columns, root_ + s.end, x + rows, step, buffers_.kappa.data());
  buffers_.square.assign(columns, 0.0);
  if (above.entries != nullptr) add_squares(s, columns, x + rows, step, above);
  for (int32_t j = 0; j < columns; ++j) {
    const double own =  // (Nᵀ |D_p|⁻¹ N)_jj
        weighted_squares(rows, buffers_.inverse_pivot.data() + first, x + j * step);
    const double kappa = buffers_.kappa[j], square = buffers_.square[j];
    const double below = above.entries == nullptr ? kappa * kappa : square;
    const int32_t row = s.begin + first + j;
    buffers_.size[row] = root_[row] = std::sqrt(own + below);
  }
}

// (Wᵀ H_TT W)_jj, from the lower triangle of H by blocks, and more than rounding takes of it: as
// |H_ij| is at most sqrt(H_ii H_jj), that is a share of κ_j², and products are rounded as often as
// in H_TT W, those of W with it once per row of a block and once per block.
void SweptFront::add_squares(const Panel& s, int32_t columns, const double* w, size_t step,
                             const SquareColumns& above) {
  const size_t room = kSquareRows + kProductSlack;
  for (int32_t row = 0; row < s.t; row += kSquareRows) {
    const int32_t high = std::min(kSquareRows, s.t - row);
    for (const bool diagonal : {false, true}) {
      const int32_t from = diagonal ? row : 0, depth = diagonal ? high : row;
      if (depth == 0) continue;
      buffers_.rest.assign(room * columns, 0.0);
      multiply(high, columns, depth, above.entries + from * above.step + row, above.step, w + from,
               step, buffers_.rest.data(), room);
      for (int32_t j = 0; j < columns; ++j) {
        const double sum = inner_product(high, w + j * step + row, buffers_.rest.data() + j * room);
        buffers_.square[j] += diagonal ? sum : 2 * sum;
      }
    }
  }
  const int most = roundings(kSquareRows, columns, s.t) + kSquareRows + 2 * s.t / kSquareRows + 8;
  for (int32_t j = 0; j < columns; ++j) {
    const double kappa = buffers_.kappa[j];
    buffers_.square[j] = std::max(buffers_.square[j], 0.0) + 2 * most * kUnit * kappa * kappa;
  }
}

// -W = -L_Tp N, and Σ_i sqrt(H_ii) |W_ij|.
void SweptFront::transfer(const Panel& s) {
  std::vector<double>& minus_w = buffers_.transfer;
  const size_t step = s.t + size_t(kProductSlack);
  minus_w.assign(step * s.p, 0.0);
  multiply(s.t, s.p, s.p, s.lower + s.p, step_, buffers_.minus_n.data(), s.room, minus_w.data(),
           step);
  buffers_.kappa.resize(s.p);
  weighted_sums(s.t, s.p, root_ + s.end, minus_w.data(), step, buffers_.kappa.data());
}

// -N, column by column, and its transpose.
void SweptFront::invert(const Panel& s) {
  buffers_.minus_n.assign(s.room * s.p, 0.0);
  buffers_.transposed.resize(s.room * s.p);
  for (int32_t c = 0; c < s.p; ++c) {
    double* column = buffers_.minus_n.data() + c * s.room;
    column[c] = -1.0;
    substitute(s.p, c, s.lower, step_, column);
    for (int32_t k = 0; k < s.p; ++k) buffers_.transposed[k * s.room + c] = column[k];
  }
}

// H_Tp and H_pp, or those of G, and the blocks above the diagonal.
void SweptFront::fill(const Panel& s, double* x, bool of_bound) {
  const size_t below = s.begin * step_ + s.end, t_step = s.t + size_t(kProductSlack);
  const double mirrored = of_bound ? 1.0 : -1.0;
  for (int32_t j = 0; j < s.p; ++j) std::fill_n(x + below + j * step_, s.t, 0.0);
  multiply(s.t, s.p, s.t, x + s.end * step_ + s.end, step_, buffers_.transfer.data(), t_step,
           x + below, step_);
  for (int32_t j = 0; j < s.p; ++j) {
    const double* column = x + below + j * step_;
    double* row = x + s.end * step_ + s.begin + j;
    for (int32_t i = 0; i < s.t; ++i) row[i * step_] = mirrored * column[i];
  }
  // Columns of |D|⁻¹N or D⁻¹N, but for their sign.
  buffers_.scaled.resize(s.room * s.p);
  for (int32_t k = 0; k < s.p; k += 2) {
    const double d = s.lower[k * step_ + k + 1];
    for (int32_t j = 0; j < s.p; ++j) {
      const double* from = buffers_.minus_n.data() + j * s.room + k;
      double* to = buffers_.scaled.data() + j * s.room + k;
      to[0] = of_bound ? from[0] / std::fabs(d) : -from[1] / d;
      to[1] = of_bound ? from[1] / std::fabs(d) : from[0] / d;
    }
  }
  std::vector<double>&corner = buffers_.corner, &rest = buffers_.rest;
  corner.assign(s.room * s.p, 0.0);
  rest.assign(s.room * s.p, 0.0);
  multiply(s.p, s.p, s.p, buffers_.transposed.data(), s.room, buffers_.scaled.data(), s.room,
           corner.data(), s.room);
  multiply(s.p, s.p, s.t, x + s.end * step_ + s.begin, step_, buffers_.transfer.data(), t_step,
           rest.data(), s.room);
  for (int32_t j = 0; j < s.p; ++j) {
    double* column = x + (s.begin + j) * step_ + s.begin;
    double* row = x + s.begin * step_ + s.begin + j;
    column[j] = of_bound ? corner[j * s.room + j] + rest[j * s.room + j] : 0.0;
    for (int32_t i = j + 1; i < s.p; ++i) {
      column[i] = corner[j * s.room + i] + rest[j * s.room + i];
      row[i * step_] = mirrored * column[i];
    }
  }
}

// Σ_i sqrt(H_ii) |L_ij| over T.
void SweptFront::sum_below(const Panel& s) {
  for (auto* numbers : {&buffers_.weighted, &buffers_.size, &buffers_.column}) {
    if (numbers->size() < size_t(s.end)) numbers->resize(s.end);
  }
  weighted_sums(s.t, s.p, root_ + s.end, s.lower + s.p, step_, buffers_.weighted.data() + s.begin);
}

// The same over the panel, of columns [first, last) of it; together they tell whether everything is
// in range, as no sqrt(H_ii) is below that of the least bound.
void SweptFront::sum_inside(const Panel& s, int32_t first, int32_t last) {
  const double* size = buffers_.size.data() + s.begin;
  for (int32_t r = first; r < last; ++r) {
    const double* l = s.lower + r * step_;
    double sum = size[r];
    for (int32_t i = (r | 1) + 1; i < s.p; ++i) sum += size[i] * std::fabs(l[i]);
    buffers_.column[s.begin + r] = sum;
    const double d = pivot(s, r);
    if (!(d > kLeastBound && (buffers_.weighted[s.begin + r] + sum) * (1 + d) < kLargestRoot)) {
      in_range_ = false;
    }
  }
}

PanelSums SweptFront::sums(int32_t begin, int32_t end) const {
  PanelSums total;
  const auto omega = [this](int32_t k) { return buffers_.weighted[k] + buffers_.column[k]; };
  for (int32_t k = begin; k < end; k += 2) {
    const double d = std::fabs(f_.column(k)[k + 1]);
    const double first = omega(k), second = omega(k + 1);
    total.products += d * first * second;
    total.left += first + second;
    total.right += d * (first + second);
  }
  return total;
}

// Rounding of H and of G, entry by entry at most sqrt(H_ii) ε_j for i in T and j in p, and what
// follows for p × p.
double SweptFront::rounded(const Panel& s) const {
  const int32_t p = s.p, t = s.t;
  const double unit_t = (std::max(roundings(t, p, t), roundings(p, p, t)) + 4) * kUnit;
  // Of pairs the factors are high parts, off by one rounding: so are L_Tp, L_pp and D here.
  const double unit_p =
      (std::max(roundings(t, p, p), roundings(p, p, p)) + (wide_ ? 12 : 8)) * kUnit;
  double squares = 0.0, kappas = 0.0, turn = 0.0;
  for (int32_t j = 0; j < p; ++j) {
    // The residual of N, L N - I, is at most unit_p |L||N|.
    double transferred = 0.0, residual = 0.0;
    for (int32_t r = j; r < p; ++r) {
      const double entry = std::fabs(buffers_.minus_n[j * s.room + r]);
      transferred += buffers_.weighted[s.begin + r] * entry;
      residual += buffers_.column[s.begin + r] * entry;
    }
    const double size = buffers_.size[s.begin + j], kappa = buffers_.kappa[j] / size;
    turn = std::max(turn, unit_p * residual / size);
    const double error = unit_t * kappa + unit_p * transferred / size + unit_p;
    squares += error * error;
    kappas += kappa * kappa;
  }
  if (!(turn < 0.001)) return kInfinity;
  const double errors = std::sqrt(squares) + 2 * turn * std::sqrt(double(p));
  return 2 * errors * (std::sqrt(double(t)) + 2 * std::sqrt(double(p)) + 2 * std::sqrt(kappas));
}

// With V L = |D|^-1/2 and L_pp N = I + R the columns of V are V_p = |D_p|^-1/2 N - V_T W - V_p R. W
// is off by no more than unit_p |L_Tp||N|, R is at most unit_p |L_pp||N|: a product is rounded
// kColumnBlock + 3 times in its block, then once per block, at most kColumnBlock times in one that
// is not packed, as so few rows follow it, and less than kColumnBlock times by that which these
// rows are substituted, or multiplied, by.
double SweptFront::rounded_sizes(const Panel& s, int32_t first, int32_t last) {
  const int32_t columns = last - first, rows = s.p - first;
  const double unit_p = (3 * kColumnBlock + 4 + s.p / kColumnBlock + (wide_ ? 12 : 8)) * kUnit;
  std::vector<double>&weight = buffers_.weight, &sums = buffers_.kappa;
  weight.assign(rows + kWeightSlack, 0.0);
  for (int32_t r = 0; r < rows; ++r) {
    const int32_t row = s.begin + first + r;
    weight[r] = buffers_.weighted[row] + 2 * buffers_.column[row];
  }
  weighted_sums(rows, columns, weight.data(), buffers_.transfer.data(),
                rows + s.t + size_t(kProductSlack), sums.data());
  double most = 0.0;
  for (int32_t j = 0; j < columns; ++j) {
    const double share = unit_p * sums[j] / buffers_.size[s.begin + first + j];
    if (!(share < 0.001)) return kInfinity;
    most = std::max(most, share);
  }
  return most;
}

bool SweptFront::enlarge_sizes(double factor) {
  bool inside = true;
  for (int32_t i = panel_.begin; i < panel_.end; ++i) {
    root_[i] *= factor;
    const double bound = root_[i] * root_[i];
    inside &= bound > kLeastBound && bound < kLargestBound;
  }
  return inside;
}

bool SweptFront::enlarge(int32_t begin, double factor) {
  factor *= 1 + 4 * kUnit;
  bool inside = true;
  for (int32_t i = begin; i < n_; ++i) {
    double& diagonal = bound_[i * step_ + i];
    diagonal *= factor;
    root_[i] = std::sqrt(diagonal);
    inside &= diagonal > kLeastBound && diagonal < kLargestBound;
  }
  return inside;
}

void SweptFront::inject(int32_t begin, int32_t end, double size) {
  for (int32_t i = begin; i < n_; ++i) bound_[i * step_ + i] *= 1 - size;
  for (int32_t i = begin; inverse_ != nullptr && i < end; i += 2) {
    double& below = inverse_[i * step_ + i + 1];
    below += std::copysign(size * std::sqrt(bound(i, i) * bound(i + 1, i + 1)), below);
    inverse_[(i + 1) * step_ + i] = -below;
  }
}

}  // namespace planaris
