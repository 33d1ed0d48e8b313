#include "tensor/proved_marginals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "base/constants.hpp"
#include "base/team.hpp"
#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

constexpr double kMostWeight = 600;  // of the logarithm of a product of weights

using Four = std::array<Vector, 4>;  // per spins (s, t) of the two rows

// A state as matrices per site and letter, and what is known of it.
struct Layer {
  std::vector<Vector> m[2], turned[2];
  std::vector<int> dims;
  std::vector<double> flat;
  const ConeFactors* cones;
};

Layer layer_of(const ProvedState& state) {
  Layer out;
  for (const Core& core : state.cores) {
    out.dims.push_back(core.left);
    for (int s = 0; s < 2; ++s) {
      Vector m, turned(static_cast<size_t>(core.left) * core.right);
      for (int a = 0; a < core.left; ++a)
        m.insert(m.end(), core.at(a, s), core.at(a, s) + core.right);
      transpose(m.data(), turned.data(), core.left, core.right);
      out.m[s].push_back(std::move(m));
      out.turned[s].push_back(std::move(turned));
    }
  }
  out.dims.push_back(1);
  out.flat = state.flat;
  out.cones = &state.cones;
  return out;
}

ProvedState ones(int n) {
  return {std::vector<Core>(n, Core{1, 1, {1.0, 1.0}}), std::vector<double>(n, 0.0),
          ConeFactors(n)};
}

// Weights of a column given the one before, (s, t, s', t'), and of the first column.
struct Weights {
  std::vector<std::array<double, 16>> table;
  std::array<double, 4> first;
  double error = 0;  // of the logarithm of a product of all
};

__attribute__((noinline)) Weights weights_of(const GridView& grid, int r, const Layer& above,
                                             const Layer& below) {
  Weights out;
  const int n = grid.columns;
  out.table.resize(n);
  for (int i = 0; i < n; ++i) {
    const double up = grid.field(r, i) + above.flat[i], low = grid.field(r + 1, i) + below.flat[i];
    const double along = grid.along(r, i);
    const double a = i > 0 ? grid.across(r, i - 1) : 0, b = i > 0 ? grid.across(r + 1, i - 1) : 0;
    if (!(std::abs(up) + std::abs(low) + std::abs(along) + std::abs(a) + std::abs(b) <
          kMostWeight)) {
      throw Lost();
    }
    const auto pair = [](double x) { return std::array{bounded_exp(x), bounded_exp(-x)}; };
    const auto eu = pair(up), el = pair(low), ev = pair(along), ea = pair(a), eb = pair(b);
    for (int k = 0; k < 16; ++k) {
      const int s = k >> 3, t = k >> 2 & 1, s2 = k >> 1 & 1, t2 = k & 1;
      const double here = eu[s2] * el[t2] * ev[s2 ^ t2];
      if (i == 0) out.first[k & 3] = here;
      out.table[i][k] = here * (ea[s ^ s2] * eb[t ^ t2]);
    }
    // Five exponentials, four products, one rounding in either field; second-order terms.
    out.error += 1.01 * kUnit * (5 * 8 + 4 + std::abs(up) + std::abs(low));
  }
  out.error *= 1.01;
  return out;
}

// Divides by a power of two, which is returned.
int rescale(Four& v) {
  double top = 0;
  for (const Vector& x : v) {
    for (const double z : x) top = std::max(top, std::abs(z));
  }
  if (!(top > 0) || !std::isfinite(top)) throw Lost();
  const int exponent = std::ilogb(top) + 1;
  const double factor = std::ldexp(1.0, -exponent);
  for (Vector& x : v) {
    for (double& z : x) z *= factor;
  }
  return exponent;
}

// out (s, t) = Σ weight (s, t, s', t') of (s', t'), or the other way round.
PLANARIS_TENSOR_CLONES
void mix(const Four& from, const double* weight, bool forward, Four& out) {
  const size_t size = from[0].size();
  for (int k = 0; k < 4; ++k) {
    double w[4];
    for (int l = 0; l < 4; ++l) w[l] = forward ? weight[4 * l + k] : weight[4 * k + l];
    out[k].resize(size);
    const double *a = from[0].data(), *b = from[1].data(), *c = from[2].data(), *d = from[3].data();
    double* to = out[k].data();
    for (size_t j = 0; j < size; ++j) to[j] = w[0] * a[j] + w[1] * b[j] + w[2] * c[j] + w[3] * d[j];
  }
}

PLANARIS_TENSOR_CLONES
double inner(const double* a, const double* b, size_t size) {
  double lanes[8] = {};
  size_t k = 0;
  for (; k + 8 <= size; k += 8) {
    for (int l = 0; l < 8; ++l) lanes[l] += a[k + l] * b[k + l];
  }
  double sum = 0;
  for (; k < size; ++k) sum += a[k] * b[k];
  for (const double x : lanes) sum += x;
  return sum;
}

// Joint weights of the spins of a column and of the one before it, by (s, t, s', t').
using Joint = std::vector<std::array<double, 16>>;

// Sums over the columns to the right of a bond and to the left of it, as floating point found them.
struct Sums {
  std::vector<Four> right, left;  // per bond
  std::vector<int> right_exponents, left_exponents;
  Joint joint;  // joint[0] has four entries only
};

// What the step over column i to the left begins with, and what the one to the right does.
void begin_right(const std::vector<Four>& right, const Weights& weights, int i, Four& mixed) {
  if (i + 1 < static_cast<int>(right.size())) {
    mix(right[i + 1], weights.table[i + 1].data(), false, mixed);
  } else {
    mixed = {Vector{1.0}, Vector{1.0}, Vector{1.0}, Vector{1.0}};
  }
}

void begin_left(const std::vector<Four>& left, const Weights& weights, int i, Four& mixed) {
  if (i > 0) {
    mix(left[i], weights.table[i].data(), true, mixed);
  } else {
    for (int k = 0; k < 4; ++k) mixed[k] = Vector{weights.first[k]};
  }
}

// Sums over two rows, rounding to nearest.
__attribute__((noinline)) Sums add_up(const Layer& above, const Layer& below,
                                      const Weights& weights) {
  const int n = static_cast<int>(weights.table.size());
  Sums out{std::vector<Four>(n), std::vector<Four>(n), std::vector<int>(n), std::vector<int>(n),
           Joint(n)};
  Four mixed;
  for (int i = n - 1; i >= 0; --i) {
    const int da = above.dims[i], ea = above.dims[i + 1], db = below.dims[i],
              eb = below.dims[i + 1];
    begin_right(out.right, weights, i, mixed);
    Vector half(static_cast<size_t>(da) * eb);
    for (int k = 0; k < 4; ++k) {
      out.right[i][k].resize(static_cast<size_t>(da) * db);
      multiply(above.m[k >> 1][i].data(), mixed[k].data(), half.data(), da, ea, eb);
      multiply(half.data(), below.turned[k & 1][i].data(), out.right[i][k].data(), da, eb, db);
    }
    out.right_exponents[i] = rescale(out.right[i]);
  }
  for (int k = 0; k < 4; ++k) out.joint[0][k] = weights.first[k] * out.right[0][k][0];
  for (int i = 0; i + 1 < n; ++i) {
    const int da = above.dims[i], ea = above.dims[i + 1], db = below.dims[i],
              eb = below.dims[i + 1];
    begin_left(out.left, weights, i, mixed);
    Vector half(static_cast<size_t>(ea) * db);
    Four& to = out.left[i + 1];
    for (int k = 0; k < 4; ++k) {
      to[k].resize(static_cast<size_t>(ea) * eb);
      multiply(above.turned[k >> 1][i].data(), mixed[k].data(), half.data(), ea, da, db);
      multiply(half.data(), below.m[k & 1][i].data(), to[k].data(), ea, db, eb);
    }
    out.left_exponents[i + 1] = rescale(to);
    for (int k = 0; k < 16; ++k) {
      out.joint[i + 1][k] = weights.table[i + 1][k] *
                            inner(to[k >> 2].data(), out.right[i + 1][k & 3].data(), to[0].size());
    }
  }
  return out;
}

Four sizes_of(const Four& v) {
  return {absolute(v[0]), absolute(v[1]), absolute(v[2]), absolute(v[3])};
}

// a · m b for rows a and b.
double form(const Vector& a, const Vector& m, const Vector& b) {
  const auto columns = static_cast<int>(b.size());
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    sum += a[k] * dot(m.data() + k * columns, b.data(), columns);
  return sum;
}

// What the rounding of one step is relative to sums over either cone, spins of the column by spins.
//
// The step has led from sums of the sizes `before` to `found`, times a power of two, with an error
// η, |η| <= unit |U| before |D|ᵀ. For x in the other cone, |x · η| <= Σ |η_ab| X_a X_b (x · G) /
// G_00 with G exact, and G_00 >= p · G / reach for the probe p, which is in that cone, too.
struct Step {
  const Four &before, &found;
  int exponent;
  double unit;
  const Vector &probe_a, &probe_b;
  double reach;  // of both probes

  // Relative to p · found: unit · reach · Σ_ab weights |U| before |D|ᵀ, the largest of four.
  double relative(const Vector& weights_a, const Vector& weights_b,
                  const std::vector<Vector> (&a)[2], const std::vector<Vector> (&b)[2],
                  int i) const {
    double worst = 0;
    for (int k = 0; k < 4; ++k) {
      const Vector &ma = a[k >> 1][i], &mb = b[k & 1][i];
      const Vector ra = absolute_row(weights_a, ma, static_cast<int>(ma.size() / weights_a.size()));
      const Vector rb = absolute_row(weights_b, mb, static_cast<int>(mb.size() / weights_b.size()));
      const double value = form(probe_a, found[k], probe_b);
      const double size = form(absolute(probe_a), absolute(found[k]), absolute(probe_b));
      const double rounding = (static_cast<double>(probe_a.size() + probe_b.size()) + 8) * kUlp;
      const double least = -(rounding * size - value);
      if (!(least > 0)) throw Lost();
      worst = std::max(worst, unit * reach * form(ra, before[k], rb) / std::ldexp(least, exponent));
    }
    return worst;
  }
};

// Per column: bound of |log(sum that was added up / exact sum)|, weights taken as they are.
//
// |x · (G' - G)| <= v x · G for x of the cone on the left, G' what was found: one step adds q (1 +
// v). The same from the left, w. Their product is off by w + v and by a term of second order: an
// error of the left sum is a combination of moved vectors of the cone with coefficients θ relative
// to it, each product with which is off by v; moved ones are at most twice the others, in either
// state.
__attribute__((noinline)) Vector rounding_of(const Layer& above, const Layer& below,
                                             const Weights& weights, const Sums& sums) {
  const RoundUp up;
  const int n = static_cast<int>(weights.table.size());
  const ConeFactors &a = *above.cones, &b = *below.cones;
  const auto longer = [](double sum, double q) {  // (sum + q) / (1 - q)
    if (!(q < 0.25)) throw Lost();
    return (sum + q) / -(q - 1);
  };
  Four mixed;
  Vector right(n + 1, 0.0), out(n);
  std::vector<Four> sizes(n), from(n);
  for (int i = 0; i < n; ++i) sizes[i] = sizes_of(sums.right[i]);
  for (int i = n - 1; i >= 0; --i) {
    begin_right(sizes, weights, i, mixed);
    const double unit = (above.dims[i + 1] + below.dims[i + 1] + 16) * kUlp;
    const Step step{mixed,        sums.right[i], sums.right_exponents[i],    unit,
                    a.probe_x[i], b.probe_x[i],  a.reach_x[i] * b.reach_x[i]};
    right[i] = longer(right[i + 1], step.relative(a.over_x[i], b.over_x[i], above.m, below.m, i));
  }
  double left = 0, moved = 0;
  for (int i = 0; i < n; ++i) {
    double worst = 4 * kUlp;
    if (i > 0) {
      from[i] = sizes_of(sums.left[i]);
      const auto count = static_cast<int>(from[i][0].size());
      for (int k = 0; k < 16; ++k) {
        const double size =
            weights.table[i][k] * dot(from[i][k >> 2].data(), sizes[i][k & 3].data(), count);
        const double off = (count + 16.0) * kUlp * size / sums.joint[i][k];
        if (!(sums.joint[i][k] > 0) || !(off < 0.5)) throw Lost();
        worst = std::max(worst, off / -(off - 1));
      }
    }
    const double off = left + right[i] + 4 * right[i] * moved;
    if (!(off < 0.5)) throw Lost();
    out[i] = off / -(off - 1) + worst;
    if (i + 1 == n) break;
    begin_left(from, weights, i, mixed);
    const int j = i + 1;
    const double unit = (above.dims[i] + below.dims[i] + 16) * kUlp;
    const Step step{mixed,        sums.left[j], sums.left_exponents[j],     unit,
                    a.probe_y[j], b.probe_y[j], a.reach_y[j] * b.reach_y[j]};
    left = longer(left, step.relative(a.over_y[j], b.over_y[j], above.turned, below.turned, i));
    moved += (1 + left) * step.relative(a.to_x[j], b.to_x[j], above.turned, below.turned, i);
  }
  return out;
}

// An event of weight `yes` against `no`, each off by a factor e^{±width}.
void keep(ProvedProbabilities& to, size_t at, double yes, double no, double width) {
  constexpr double kSlack = 16 * kUlp;
  if (!(yes > 0) || !(no > 0) || !(width < 100)) throw Lost();
  const double off = bounded_exp(2 * width) * (1 + kSlack);
  to.value[at] = yes / (yes + no);
  to.lower[at] = std::max(yes / (yes + no * off) * (1 - kSlack), 0.0);
  to.upper[at] = std::min(yes * off / (yes * off + no) * (1 + kSlack), 1.0);
}

// Rows r and r + 1; of the lower one spins and edges are kept if it is the last.
__attribute__((noinline)) void enclose_rows(const GridView& grid, int r, const Joint& joint,
                                            const Vector& widths, ProvedMarginals& out) {
  const int n = grid.columns;
  for (int i = 0; i < n; ++i) {
    const auto sum = [&](auto&& wanted) {
      double yes = 0, no = 0;
      for (int k = 0; k < (i == 0 ? 4 : 16); ++k) {
        if (!(joint[i][k] > 0)) throw Lost();
        (wanted(k >> 3, k >> 2 & 1, k >> 1 & 1, k & 1) ? yes : no) += joint[i][k];
      }
      return std::pair{yes, no};
    };
    const auto put = [&](ProvedProbabilities& to, int row, int columns, int c, auto&& wanted) {
      const auto [yes, no] = sum(wanted);
      keep(to, static_cast<size_t>(row) * columns + c, yes, no, widths[i]);
    };
    put(out.nodes, r, n, i, [](int, int, int s2, int) { return s2 == 0; });
    put(out.down, r, n, i, [](int, int, int s2, int t2) { return s2 == t2; });
    if (i > 0) put(out.right, r, n - 1, i - 1, [](int s, int, int s2, int) { return s == s2; });
    if (r + 2 < grid.rows) continue;
    put(out.nodes, r + 1, n, i, [](int, int, int, int t2) { return t2 == 0; });
    if (i > 0) put(out.right, r + 1, n - 1, i - 1, [](int, int t, int, int t2) { return t == t2; });
  }
}

__attribute__((noinline)) std::vector<double> sums_up(const std::vector<double>& rows) {
  const RoundUp up;
  std::vector<double> out{0.0};
  for (const double x : rows) out.push_back(out.back() + x);
  return out;
}

__attribute__((noinline)) double add_widths(Vector& rounding, double weights, double above,
                                            double below) {
  const RoundUp up;
  double most = 0;
  for (double& x : rounding) {
    x += weights + 32 * kUlp;
    most = std::max(most, x);
    x += above + below;
  }
  return most;
}

}  // namespace

ProvedMarginals proved_marginals(const GridView& grid, const ProvedGrid& above,
                                 const ProvedGrid& below, int threads, Control& control) {
  ProvedMarginals out;
  const int rows = grid.rows, n = grid.columns;
  const auto states = static_cast<size_t>(rows - 1);
  if (rows < 2 || above.states.size() != states || below.states.size() != states) {
    out.lost = true;
    return out;
  }
  const auto sized = [](size_t size) {
    const std::vector<double> none(size, 0.0);
    return ProvedProbabilities{none, none, none};
  };
  out.nodes = sized(static_cast<size_t>(rows) * n);
  out.right = sized(static_cast<size_t>(rows) * (n - 1));
  out.down = sized(states * n);
  const std::vector<double> to_above = sums_up(above.rows), to_below = sums_up(below.rows);
  std::vector<double> rounding(states, 0.0);
  std::atomic<bool> lost = false;
  const ProvedState nothing = ones(n);
  Team team(threads, control);
  team.work(states, [&](int worker, int r) {
    team.check(worker, static_cast<double>(r) / rows);
    if (lost) return;
    try {
      const int under = rows - 3 - r;  // row of `below` whose state is over row r + 1
      const Layer a = layer_of(r > 0 ? above.states[r - 1] : nothing);
      const Layer b = layer_of(under >= 0 ? below.states[under] : nothing);
      const Weights weights = weights_of(grid, r, a, b);
      const Sums sums = add_up(a, b, weights);
      Vector widths = rounding_of(a, b, weights, sums);
      rounding[r] =
          add_widths(widths, weights.error, to_above[r], to_below[std::max(under + 1, 0)]);
      enclose_rows(grid, r, sums.joint, widths, out);
    } catch (const Lost&) {
      lost = true;
    }
  });
  out.lost = lost;
  out.rounding = *std::max_element(rounding.begin(), rounding.end());
  return out;
}

}  // namespace planaris::tensor
