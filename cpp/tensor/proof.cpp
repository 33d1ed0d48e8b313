#include "tensor/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"
#include "tensor/row_bound.hpp"

namespace planaris::tensor {

namespace {

constexpr double kEasy = 0.25;  // rows with less than this part of the target are tried with less

struct NextRow {
  RowState row;
  bool made = false, usable = true, in_range = true;
};

// Not inlined: nothing of it may be moved out of the scope of its rounding.
__attribute__((noinline)) double bound_next(const RowState& row, const GridView& grid, int r,
                                            const ProofOptions& options, double target,
                                            std::vector<Seen>& seen, size_t* start, double* cut,
                                            ConeFactors* cones, Witness& witness,
                                            const std::function<void()>& meanwhile, Team& team) {
  const RoundUp up;
  RowBound found = bound_row(row, grid, r, seen, options.efforts, start, target, options.keep,
                             options.terms, meanwhile, team);
  seen = std::move(found.seen);
  *cones = std::move(found.cones);
  if (options.witness) {
    witness.bonds.insert(witness.bonds.end(), row.kept.begin(), row.kept.end());
    witness.add(found.shapes, found.refined);
  }
  *cut += found.cut;
  return found.width;
}

// The last row, summed: x_{i+1} ≈ x_i b_i, the same telescoping with x_{i+1} as the gauge.
struct LastRow {
  std::vector<Vector> x, scaled;  // x_i as it was used, and x_{i+1} before its power of two
  std::vector<Vector> b, terms;
  int64_t exponent = 0;
};

LastRow sum_row(const RowState& row) {
  LastRow out;
  const int n = static_cast<int>(row.applied.size());
  Vector x{1.0};
  for (int i = 0; i < n; ++i) {
    const Core& c = row.applied[i];
    const bool last = i + 1 == n;
    const int right = last ? 1 : c.right;
    Vector b(static_cast<size_t>(c.left) * right, 0.0), size(b.size(), 0.0);
    for (int a = 0; a < c.left; ++a) {
      for (int k = 0; k < c.right; ++k) {
        const size_t at = static_cast<size_t>(a) * right + (last ? 0 : k);
        b[at] += c.at(a, 0)[k];
        size[at] += std::abs(c.at(a, 0)[k]);
      }
    }
    out.x.push_back(x);
    const Vector next = product(x, b, 1, c.left, right);
    out.b.push_back(std::move(b));
    out.terms.push_back(std::move(size));
    out.scaled.push_back(next);
    double top = 0;
    for (const double z : next) top = std::max(top, std::abs(z));
    const int exponent = top > 0 && std::isfinite(top) ? std::ilogb(top) : 0;
    out.exponent += exponent;
    x = next;
    for (double& z : x) z = std::ldexp(z, -exponent);
  }
  out.x.push_back(x);
  return out;
}

__attribute__((noinline)) double bound_last(const LastRow& last, const RowState& row,
                                            const GridView& grid, const std::vector<Seen>& seen,
                                            const Terms& terms) {
  const RoundUp up;
  const int n = static_cast<int>(row.applied.size());
  double width = 0;
  for (int i = 0; i < n; ++i) {
    const Vector &x = last.x[i], &b = last.b[i], &next = last.scaled[i];
    const int left = static_cast<int>(x.size()), right = static_cast<int>(next.size());
    const Vector high = product(x, b, 1, left, right),
                 low = product(negative(x), b, 1, left, right);
    Vector size = last.terms[i];
    for (double& z : size) z += 0x1p-1000;
    const Vector rounding = product(absolute(x), size, 1, left, right);
    Vector ybar{1.0 / -(-next[0] * (1 - 4 * kUlp))};
    if (i + 1 < n) ybar = raw_bound(next, seen[i + 1], grid.across(grid.rows - 1, i), terms);
    double delta = 0;
    for (int k = 0; k < right; ++k) {
      const double gap = std::max({high[k] - next[k], low[k] + next[k], 0.0});
      delta += (gap + (terms.tau * row.tau + 4 * kUlp) * rounding[k]) * ybar[k] * terms.last;
    }
    if (!(delta < 0.5)) throw Lost();
    width += delta / -(delta - 1);
  }
  return width;
}

bool in_range(const GridView& grid, int r, const std::vector<double>& before,
              const std::vector<double>& after) {
  constexpr double kMost = 300;
  for (int c = 0; c < grid.columns; ++c) {
    double sum = std::abs(grid.field(r, c) + (before.empty() ? 0.0 : before[c]));
    if (r + 1 < grid.rows) sum += std::abs(grid.along(r, c));
    if (c > 0) sum += std::abs(grid.across(r, c - 1));
    if (!after.empty()) sum += std::abs(after[c]);
    if (!(sum < kMost)) return false;
  }
  return true;
}

// Other cores than compress() has found.
void turn(RowState& row, const Terms& terms) {
  if (terms.turn == 0) return;
  for (size_t i = 0; i < row.turned.size(); ++i) {
    Core &t = row.turned[i], &c = row.cores[i];
    for (size_t k = 0; k < t.values.size(); ++k) {
      t.values[k] *= 1 + (((k + i) * 2654435761u) >> 9) % 2 * terms.turn;
    }
    for (int a = 0; a < c.left; ++a) {
      for (int s = 0; s < 2; ++s) std::copy_n(t.at(a, s), c.right, c.at(a, s));
    }
  }
}

// Errors of known relative size in what the proof calls B, for tests of the bound.
void inject(RowState& row, const Terms& terms, uint64_t salt) {
  if (terms.inject == 0) return;
  uint64_t state = salt * 0x9e3779b97f4a7c15ull + 1;
  for (Core& core : row.applied) {
    for (size_t k = 0; k < core.values.size(); ++k) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      double sign = (state >> 40) % 2 == 0 ? 1 : -1;
      if (terms.pattern == 1) sign = (k / core.right) % 2 == 0 ? 1 : -1;
      if (terms.pattern == 2) sign = 1;
      if (terms.pattern == 3) sign = core.values[k] < 0 ? -1 : 1;
      if (terms.pattern == 4) sign = core.values[k] < 0 ? 1 : -1;
      core.values[k] /= 1 + sign * terms.inject;
    }
  }
  row.tau += terms.inject;
}

}  // namespace

void Witness::add(const std::vector<Shape>& shapes, const std::vector<Shape>& again) {
  const auto append = [](const std::vector<int32_t>& from, std::vector<int32_t>& to,
                         std::vector<int64_t>& offsets) {
    to.insert(to.end(), from.begin(), from.end());
    offsets.push_back(static_cast<int64_t>(to.size()));
  };
  for (const Shape& shape : shapes) {
    append(shape.words, words, word_offsets);
    append(shape.hulls, hulls, hull_offsets);
  }
  for (const Shape& shape : again) append(shape.words, refined, refined_offsets);
}

ProvedGrid prove_grid(const GridView& grid, const ProofOptions& options, Control& control) {
  ProvedGrid out;
  const int n = grid.columns;
  std::vector<Core> cores;
  std::vector<double> flat;
  // Of the state before the first row: one, for either letter.
  std::vector<Seen> seen(n + 1, Seen{1, {0, 1}, {1.0, 1.0}, {0.0, 0.0}});
  int64_t exponent = 0;
  size_t start = 0;
  Team team(options.threads, control);
  bool lost = !keeps_subnormals();
  auto lose = [&](int r) {
    if (!lost) out.lost_row = r;
    lost = true;
  };
  double left = options.target * grid.rows;  // what the rows to come may add up to
  NextRow next;
  const auto make = [&](int r, const std::vector<Core>& before,
                        const std::vector<double>& flat_before) {
    next = NextRow{};
    next.made = true;
    next.usable = in_range(grid, r, flat_before, {});
    if (!next.usable) return;
    next.row = apply_row(grid, r, before, flat_before);
    inject(next.row, options.terms, r);
    flatten(next.row);
    next.in_range = in_range(grid, r, flat_before, next.row.flat);
    compress(next.row, options.max_bond, options.tolerance);
    turn(next.row, options.terms);
  };
  for (int r = 0; r + 1 < grid.rows; ++r) {
    control.poll_now(static_cast<double>(r) / grid.rows);
    if (!next.made) make(r, cores, flat);
    if (!next.usable) throw std::overflow_error("weights out of the range of doubles");
    RowState row = std::move(next.row);
    next.made = false;
    if (!next.in_range) lose(r);
    exponent += row.exponent;
    // The row after this one, by a thread that has nothing else to do.
    std::function<void()> meanwhile;
    if (r + 2 < grid.rows) meanwhile = [&] { make(r + 1, row.cores, row.flat); };
    ConeFactors cones;
    if (!lost) {
      try {
        const double target = std::max(left / (grid.rows - r), options.target);
        const double width = bound_next(row, grid, r, options, target, seen, &start, &out.cut,
                                        &cones, out.witness, meanwhile, team);
        left = std::max(left - width, 0.0);
        if (start > 0 && width < kEasy * options.efforts[start - 1].enough * target) --start;
        out.rows.push_back(width);
      } catch (const Lost&) {
        lose(r);
      }
    }
    cores = std::move(row.cores);
    flat = std::move(row.flat);
    if (options.keep && lost) {  // the states are of no use
      out.log_partition = std::numeric_limits<double>::quiet_NaN();
      out.half_width = std::numeric_limits<double>::infinity();
      return out;
    }
    if (options.keep) out.states.push_back({cores, flat, std::move(cones)});
  }
  if (!in_range(grid, grid.rows - 1, flat, {}))
    throw std::overflow_error("weights out of the range of doubles");
  RowState row = apply_row(grid, grid.rows - 1, cores, flat);
  inject(row, options.terms, grid.rows);
  const LastRow last = sum_row(row);
  if (!lost) {
    try {
      out.rows.push_back(bound_last(last, row, grid, seen, options.terms));
    } catch (const Lost&) {
      lose(grid.rows - 1);
    }
  }
  exponent += last.exponent;
  constexpr double kLn2 = 0.6931471805599453;
  const double power = static_cast<double>(exponent) * kLn2;
  out.log_partition = power + std::log(last.x.back()[0]);
  if (lost || !std::isfinite(out.log_partition)) {
    out.half_width = std::numeric_limits<double>::infinity();
    return out;
  }
  // log within 2 ulp of a number in [1, 2); ln 2, its product and the sum, one rounding each.
  double width = 8 * kUlp + 4 * kUlp * std::abs(power);
  for (const double x : out.rows) width += x;
  width *= 1 + (static_cast<double>(grid.rows) + 8) * kUlp;
  out.half_width = width;
  out.rounding = std::max(width - out.cut, 0.0);
  return out;
}

}  // namespace planaris::tensor
