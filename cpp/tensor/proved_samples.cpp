#include "tensor/proved_samples.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "base/constants.hpp"
#include "base/team.hpp"
#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

// Weights of a row that do not depend on the one below it.
struct RowWeights {
  std::vector<std::array<double, 2>> field, across, along;  // by spin; by equal or not
  double error = 0;                                         // of the logarithm of a product of all
};

__attribute__((noinline)) RowWeights weights_of(const GridView& grid, int r,
                                                const std::vector<double>& flat) {
  RowWeights out;
  const auto pair = [](double x) { return std::array{bounded_exp(x), bounded_exp(-x)}; };
  for (int i = 0; i < grid.columns; ++i) {
    const double h = grid.field(r, i) + flat[i];
    const double side = i > 0 ? grid.across(r, i - 1) : 0,
                 down = r + 1 < grid.rows ? grid.along(r, i) : 0;
    if (!(std::abs(h) + std::abs(side) + std::abs(down) < 300)) throw Lost();
    out.field.push_back(pair(h));
    out.across.push_back(pair(side));
    out.along.push_back(pair(down));
    out.error += 1.01 * kUnit * (3 * 8 + std::abs(h));
  }
  out.error *= 1.01;
  return out;
}

// Bound of |log(probability of a row as drawn / as meant)|, given the row below it.
__attribute__((noinline)) double rounding_of(const ProvedState& state, const RowWeights& weights) {
  const RoundUp up;
  const ConeFactors& c = state.cones;
  double sum = weights.error;
  const auto step = [&](double unit, double size, double moved) {
    const double delta = unit * size;
    if (!(delta < 0.25) || !(unit * moved < 1)) throw Lost();
    return delta / -(delta - 1);
  };
  for (size_t i = 0; i < state.cores.size(); ++i) {
    const double right = (state.cores[i].right + 16) * kUlp,
                 left = (state.cores[i].left + 16) * kUlp;
    sum += 2 * step(right, c.right[i], c.right_moved[i]) +
           2 * step(left, c.left[i], c.left_moved[i]) + 2 * step(left, c.overlap[i], 0) + 8 * kUlp;
  }
  return sum;
}

ProvedState ones(int n) {
  return {std::vector<Core>(n, Core{1, 1, {1.0, 1.0}}), std::vector<double>(n, 0.0),
          ConeFactors(n)};
}

// Whether a uniform real number is below p, exactly: digits are compared until they differ.
bool below(double p, std::mt19937_64& random) {
  while (true) {
    const double scaled = std::ldexp(p, 64), whole = std::floor(scaled);
    if (!(whole < 0x1p64)) return true;
    const auto digits = static_cast<uint64_t>(whole), drawn = random();
    if (drawn != digits) return drawn < digits;
    p = scaled - whole;
    if (p == 0) return false;
  }
}

// Rows of several samples, drawn together.
class Batch {
 public:
  Batch(const GridView& grid, int64_t count, uint64_t seed, uint64_t stream, int8_t* spins,
        double* choices)
      : grid_(grid), count_(static_cast<int>(count)), spins_(spins), choices_(choices) {
    std::seed_seq sequence{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                           static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
    random_.seed(sequence);
  }

  void draw(int r, const ProvedState& state, const RowWeights& weights) {
    const int n = grid_.columns;
    right_.resize(n);
    for (int i = n - 1; i >= 0; --i) {
      const Core& core = state.cores[i];
      for (int s = 0; s < 2; ++s) {
        mixed_.assign(static_cast<size_t>(count_) * core.right, 1.0);
        if (i + 1 < n) mix(r, i, s, core.right, weights);
        turn(core, s);
        right_[i][s].resize(static_cast<size_t>(count_) * core.left);
        multiply(mixed_.data(), turned_.data(), right_[i][s].data(), count_, core.right, core.left);
      }
      rescale(right_[i][0], &right_[i][1], core.left);
    }
    left_.assign(count_, 1.0);
    for (int i = 0; i < n; ++i) {
      const Core& core = state.cores[i];
      for (int v = 0; v < count_; ++v) choose(r, i, v, core.left, weights);
      advance(r, i, core);
    }
  }

 private:
  int8_t spin(int v, int r, int i) const { return spins_[place(v, r, i)]; }
  size_t place(int v, int r, int i) const {
    return (static_cast<size_t>(v) * grid_.rows + r) * grid_.columns + i;
  }
  // Weight of spin s (0: +1) in column i of row r of sample v, without the bond to its left.
  double weight(int v, int r, int i, int s, const RowWeights& w) const {
    if (r + 1 == grid_.rows) return w.field[i][s];
    return w.field[i][s] * w.along[i][(spin(v, r + 1, i) > 0) == (s == 0) ? 0 : 1];
  }

  // mixed = Σ_s' across(s, s') weight(s') right(s'), of the column after i.
  void mix(int r, int i, int s, int dim, const RowWeights& w) {
    const Vector &up = right_[i + 1][0], &down = right_[i + 1][1];
    for (int v = 0; v < count_; ++v) {
      const double a = w.across[i + 1][s] * weight(v, r, i + 1, 0, w);
      const double b = w.across[i + 1][1 - s] * weight(v, r, i + 1, 1, w);
      const size_t at = static_cast<size_t>(v) * dim;
      for (int k = 0; k < dim; ++k) mixed_[at + k] = a * up[at + k] + b * down[at + k];
    }
  }

  void turn(const Core& core, int s) {
    turned_.resize(static_cast<size_t>(core.left) * core.right);
    for (int a = 0; a < core.left; ++a) {
      for (int b = 0; b < core.right; ++b)
        turned_[static_cast<size_t>(b) * core.left + a] = core.at(a, s)[b];
    }
  }

  // Per sample, by a power of two.
  void rescale(Vector& a, Vector* b, int dim) const {
    for (int v = 0; v < count_; ++v) {
      const size_t at = static_cast<size_t>(v) * dim;
      double top = 0;
      for (int k = 0; k < dim; ++k) {
        top = std::max(top, std::abs(a[at + k]));
        if (b) top = std::max(top, std::abs((*b)[at + k]));
      }
      if (!(top > 0) || !std::isfinite(top)) throw Lost();
      const double factor = std::ldexp(1.0, -std::ilogb(top));
      for (int k = 0; k < dim; ++k) {
        a[at + k] *= factor;
        if (b) (*b)[at + k] *= factor;
      }
    }
  }

  void choose(int r, int i, int v, int dim, const RowWeights& w) {
    double value[2];
    for (int s = 0; s < 2; ++s) {
      const double* x = left_.data() + static_cast<size_t>(v) * dim;
      const double* y = right_[i][s].data() + static_cast<size_t>(v) * dim;
      double sum = 0;
      for (int k = 0; k < dim; ++k) sum += x[k] * y[k];
      value[s] = sum * weight(v, r, i, s, w);
      if (i > 0) value[s] *= w.across[i][(spin(v, r, i - 1) > 0) == (s == 0) ? 0 : 1];
      if (!(value[s] > 0) || !std::isfinite(value[s])) throw Lost();
    }
    const int rare = value[0] < value[1] ? 0 : 1;
    const double p = value[rare] / (value[0] + value[1]);
    if (!(p > 0x1p-1000)) throw Lost();
    const bool drawn = below(p, random_);
    spins_[place(v, r, i)] = (drawn ? rare : 1 - rare) == 0 ? 1 : -1;
    choices_[place(v, r, i)] = drawn ? p : -p;
  }

  void advance(int r, int i, const Core& core) {
    next_.assign(static_cast<size_t>(count_) * core.right, 0.0);
    for (int v = 0; v < count_; ++v) {
      const int s = spin(v, r, i) > 0 ? 0 : 1;
      const double* x = left_.data() + static_cast<size_t>(v) * core.left;
      double* to = next_.data() + static_cast<size_t>(v) * core.right;
      for (int a = 0; a < core.left; ++a) {
        const double* row = core.at(a, s);
        for (int b = 0; b < core.right; ++b) to[b] += x[a] * row[b];
      }
    }
    rescale(next_, nullptr, core.right);
    left_.swap(next_);
  }

  const GridView& grid_;
  const int count_;
  int8_t* spins_;
  double* choices_;
  std::mt19937_64 random_;
  std::vector<std::array<Vector, 2>> right_;
  Vector left_, next_, mixed_, turned_;
};

}  // namespace

double proposal_excess(const GridView& grid, const ProvedGrid& proof) {
  constexpr double kLost = std::numeric_limits<double>::infinity();
  if (proof.states.size() + 1 != static_cast<size_t>(grid.rows)) return kLost;
  const ProvedState nothing = ones(grid.columns);
  double sum = proof.half_width;
  try {
    for (int r = 0; r < grid.rows; ++r) {
      const ProvedState& state = r > 0 ? proof.states[r - 1] : nothing;
      sum += rounding_of(state, weights_of(grid, r, state.flat));
    }
  } catch (const Lost&) {
    return kLost;
  }
  return sum * (1 + (grid.rows + 4) * kUlp);
}

Proposals propose(const GridView& grid, const ProvedGrid& proof, int64_t count, uint64_t seed,
                  int threads, Control& control) {
  constexpr int64_t kBatch = 16;  // independent of the number of threads, as the samples are
  Proposals out;
  const size_t spins = static_cast<size_t>(grid.rows) * grid.columns;
  out.spins.resize(spins * count);
  out.choices.resize(spins * count);
  const ProvedState nothing = ones(grid.columns);
  const auto state = [&](int r) -> const ProvedState& {
    return r > 0 ? proof.states[r - 1] : nothing;
  };
  std::atomic<bool> lost = proof.states.size() + 1 != static_cast<size_t>(grid.rows);
  try {
    std::vector<RowWeights> weights;
    for (int r = 0; !lost && r < grid.rows; ++r)
      weights.push_back(weights_of(grid, r, state(r).flat));
    Team team(threads, control);
    team.work(static_cast<size_t>((count + kBatch - 1) / kBatch), [&](int worker, int task) {
      if (lost) return;
      const int64_t begin = task * kBatch, end = std::min(begin + kBatch, count);
      Batch batch(grid, end - begin, seed, task, out.spins.data() + begin * spins,
                  out.choices.data() + begin * spins);
      try {
        for (int r = grid.rows - 1; r >= 0; --r) {
          batch.draw(r, state(r), weights[r]);
          team.check(worker, static_cast<double>(task * kBatch) / static_cast<double>(count));
        }
      } catch (const Lost&) {
        lost = true;
      }
    });
  } catch (const Lost&) {
    lost = true;
  }
  out.lost = lost;
  return out;
}

}  // namespace planaris::tensor
