#include "tensor/proved_marginals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

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
      for (int a = 0; a < core.left; ++a) m.insert(m.end(), core.at(a, s), core.at(a, s) + core.right);
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
          ConeFactors::ones(n)};
}

// Weights of a column given the one before, (s, t, s', t'), and of the first column.
struct Weights {
  std::vector<std::array<double, 16>> table;
  std::array<double, 4> first;
  double error = 0;  // of the logarithm of a product of all
};

__attribute__((noinline)) Weights weights_of(const GridView& grid, int r, const Layer& above,
                                             const Layer& below) {
  constexpr double kUnit = 0x1p-53;
  Weights out;
  const int n = grid.columns;
  out.table.resize(n);
  for (int i = 0; i < n; ++i) {
    const double up = grid.field(r, i) + above.flat[i], low = grid.field(r + 1, i) + below.flat[i];
    const double along = grid.along(r, i);
    const double a = i > 0 ? grid.across(r, i - 1) : 0, b = i > 0 ? grid.across(r + 1, i - 1) : 0;
    if (!(std::abs(up) + std::abs(low) + std::abs(along) + std::abs(a) + std::abs(b) < kMostWeight)) {
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

int top_exponent(const Four& v) {
  double top = 0;
  for (const Vector& x : v) {
    for (const double z : x) top = std::max(top, std::abs(z));
  }
  if (!(top > 0) || !std::isfinite(top)) throw Lost();
  return std::ilogb(top) + 1;
}

void rescale(Four& v) {
  const double factor = std::ldexp(1.0, -top_exponent(v));
  for (Vector& x : v) {
    for (double& z : x) z *= factor;
  }
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

// Sums over two rows in floating point, rounding to nearest. Joint[0] has four entries only.
__attribute__((noinline)) Joint add_up(const Layer& above, const Layer& below, const Weights& weights) {
  const int n = static_cast<int>(weights.table.size());
  std::vector<Four> right(n);
  Four mixed;
  for (int i = n - 1; i >= 0; --i) {
    const int da = above.dims[i], ea = above.dims[i + 1], db = below.dims[i], eb = below.dims[i + 1];
    if (i + 1 < n) {
      mix(right[i + 1], weights.table[i + 1].data(), false, mixed);
    } else {
      mixed = {Vector{1.0}, Vector{1.0}, Vector{1.0}, Vector{1.0}};
    }
    Vector half(static_cast<size_t>(da) * eb);
    for (int k = 0; k < 4; ++k) {
      right[i][k].resize(static_cast<size_t>(da) * db);
      multiply(above.m[k >> 1][i].data(), mixed[k].data(), half.data(), da, ea, eb);
      multiply(half.data(), below.turned[k & 1][i].data(), right[i][k].data(), da, eb, db);
    }
    rescale(right[i]);
  }
  Joint out(n);
  Four left;
  for (int i = 0; i < n; ++i) {
    const int da = above.dims[i], ea = above.dims[i + 1], db = below.dims[i], eb = below.dims[i + 1];
    if (i == 0) {
      for (int k = 0; k < 4; ++k) {
        out[0][k] = weights.first[k] * right[0][k][0];
        mixed[k] = Vector{weights.first[k]};
      }
    } else {
      for (int k = 0; k < 16; ++k) {
        out[i][k] = weights.table[i][k] * inner(left[k >> 2].data(), right[i][k & 3].data(), left[0].size());
      }
      mix(left, weights.table[i].data(), true, mixed);
    }
    Vector half(static_cast<size_t>(ea) * db);
    for (int k = 0; k < 4; ++k) {
      left[k].resize(static_cast<size_t>(ea) * eb);
      multiply(above.turned[k >> 1][i].data(), mixed[k].data(), half.data(), ea, da, db);
      multiply(half.data(), below.m[k & 1][i].data(), left[k].data(), ea, db, eb);
    }
    if (i + 1 < n) rescale(left);
  }
  return out;
}

// Per column: bound of |log(sum that was added up / exact sum)|, weights taken as they are.
__attribute__((noinline)) Vector rounding_of(const Layer& above, const Layer& below) {
  const RoundUp up;
  const int n = static_cast<int>(above.flat.size());
  const ConeFactors &a = *above.cones, &b = *below.cones;
  Vector right(n + 1, 0.0), out(n);
  const auto step = [&](double unit, double size, double moved) {
    const double delta = unit * size;
    if (!(delta < 0.5) || !(unit * moved < 1)) throw Lost();
    return delta / -(delta - 1);
  };
  for (int i = n - 1; i >= 0; --i) {
    const double unit = (above.dims[i + 1] + below.dims[i + 1] + 16) * kUlp;
    right[i] = right[i + 1] + step(unit, a.right[i] * b.right[i], a.right_moved[i] * b.right_moved[i]);
  }
  double left = 0;
  for (int i = 0; i < n; ++i) {
    const double dot = (static_cast<double>(above.dims[i]) * below.dims[i] + 16) * kUlp;
    out[i] = left + right[i] + step(dot, a.overlap[i] * b.overlap[i], 0);
    const double unit = (above.dims[i] + below.dims[i] + 16) * kUlp;
    left += step(unit, a.left[i] * b.left[i], a.left_moved[i] * b.left_moved[i]);
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
      Vector widths = rounding_of(a, b);
      rounding[r] = add_widths(widths, weights.error, to_above[r], to_below[std::max(under + 1, 0)]);
      enclose_rows(grid, r, add_up(a, b, weights), widths, out);
    } catch (const Lost&) {
      lost = true;
    }
  });
  out.lost = lost;
  out.rounding = *std::max_element(rounding.begin(), rounding.end());
  return out;
}

}  // namespace planaris::tensor
