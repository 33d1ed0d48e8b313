#include "tensor/row_state.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

constexpr double kSpin[2] = {1.0, -1.0};
constexpr double kStale = 1e-8;  // squares of norms that fell by this factor are computed anew

int exponent_of(const std::vector<double>& values) {
  double top = 0;
  for (const double x : values) top = std::max(top, std::abs(x));
  return top > 0 && std::isfinite(top) ? std::ilogb(top) + 1 : 0;
}

void scale(std::vector<double>& values, int exponent) {
  if (std::abs(exponent) > 1000) {
    for (double& x : values) x = std::ldexp(x, -exponent);
    return;
  }
  const double factor = std::ldexp(1.0, -exponent);
  for (double& x : values) x *= factor;
}

struct Reflections {
  std::vector<double> r;               // in: matrix (rows × columns); out: upper trapezoidal
  std::vector<std::vector<double>> v;  // unit vectors, of rows k … rows - 1
};

// Householder QR; with `pivot`, columns after the first are chosen by their norms.
PLANARIS_TENSOR_CLONES
void reflect(Reflections& f, int rows, int columns, int steps, bool pivot) {
  std::vector<double> w(columns), norms(columns), known(columns);
  double* a = f.r.data();
  for (int k = 0; k < steps; ++k) {
    if (pivot &&
        k > 0) {  // norms go down by what is in the rows above, and are computed anew later
      const double* above = a + static_cast<size_t>(k - 1) * columns;
      bool stale = k == 1;
      for (int j = k; j < columns; ++j) {
        norms[j] -= above[j] * above[j];
        stale |= norms[j] < kStale * known[j];
      }
      if (stale) {
        std::fill(norms.begin(), norms.end(), 0.0);
        for (int i = k; i < rows; ++i) {
          const double* row = a + static_cast<size_t>(i) * columns;
          for (int j = k; j < columns; ++j) norms[j] += row[j] * row[j];
        }
        known = norms;
      }
      const int best =
          static_cast<int>(std::max_element(norms.begin() + k, norms.end()) - norms.begin());
      if (best != k) {
        std::swap(norms[k], norms[best]);
        std::swap(known[k], known[best]);
        for (int i = 0; i < rows; ++i) {
          std::swap(a[static_cast<size_t>(i) * columns + k],
                    a[static_cast<size_t>(i) * columns + best]);
        }
      }
    }
    std::vector<double> v(rows - k);
    double norm = 0;
    for (int i = k; i < rows; ++i) {
      v[i - k] = a[static_cast<size_t>(i) * columns + k];
      norm += v[i - k] * v[i - k];
    }
    norm = std::sqrt(norm);
    const double sign = v[0] < 0 ? -1.0 : 1.0;
    v[0] += sign * norm;
    double size = 0;
    for (const double x : v) size += x * x;
    if (size > 0) {
      const double inverse = 1 / std::sqrt(size);
      for (double& x : v) x *= inverse;
      std::fill(w.begin(), w.end(), 0.0);
      for (int i = k; i < rows; ++i) {
        const double x = v[i - k];
        const double* row = a + static_cast<size_t>(i) * columns;
        for (int j = k; j < columns; ++j) w[j] += x * row[j];
      }
      for (int i = k; i < rows; ++i) {
        const double x = 2 * v[i - k];
        double* row = a + static_cast<size_t>(i) * columns;
        for (int j = k; j < columns; ++j) row[j] -= x * w[j];
      }
    }
    f.v.push_back(std::move(v));
  }
}

// The first `columns` columns of the product of the reflections (rows × columns).
PLANARIS_TENSOR_CLONES
void orthogonal(const Reflections& f, int rows, int columns, std::vector<double>& q) {
  q.assign(static_cast<size_t>(rows) * columns, 0.0);
  for (int i = 0; i < columns; ++i) q[static_cast<size_t>(i) * columns + i] = 1;
  std::vector<double> w(columns);
  for (int k = static_cast<int>(f.v.size()) - 1; k >= 0; --k) {
    const auto& v = f.v[k];
    std::fill(w.begin(), w.end(), 0.0);  // columns before k are still those of the identity
    for (int i = k; i < rows; ++i) {
      const double* row = q.data() + static_cast<size_t>(i) * columns;
      for (int j = k; j < columns; ++j) w[j] += v[i - k] * row[j];
    }
    for (int i = k; i < rows; ++i) {
      double* row = q.data() + static_cast<size_t>(i) * columns;
      for (int j = k; j < columns; ++j) row[j] -= 2 * v[i - k] * w[j];
    }
  }
}

// Σ_s core(a, s, b) y(b), scaled to size one.
std::vector<double> mean_of(const Core& core, const std::vector<double>& y) {
  std::vector<double> out(core.left, 0.0);
  double top = 0;
  for (int a = 0; a < core.left; ++a) {
    for (int s = 0; s < 2; ++s) {
      for (int b = 0; b < core.right; ++b) out[a] += core.at(a, s)[b] * y[b];
    }
    top = std::max(top, std::abs(out[a]));
  }
  if (top > 0) {
    for (double& x : out) x /= top;
  }
  return out;
}

}  // namespace

RowState apply_row(const GridView& grid, int r, const std::vector<Core>& before,
                   const std::vector<double>& flat_before) {
  RowState row;
  const int n = grid.columns;
  const bool last = r + 1 == grid.rows;
  row.applied.resize(n);
  row.flat.assign(n, 0.0);
  double largest = 0;
  for (int i = 0; i < n; ++i) {
    static const Core kOne{1, 1, {1.0, 1.0}};
    const Core& c = before.empty() ? kOne : before[i];
    const double h = grid.field(r, i) + (before.empty() ? 0.0 : flat_before[i]);
    const double up = last ? 0.0 : grid.along(r, i), side = i > 0 ? grid.across(r, i - 1) : 0.0;
    largest = std::max(largest, std::abs(h));
    const double w[2] = {bounded_exp(h), bounded_exp(-h)};
    const double v[2] = {bounded_exp(up), bounded_exp(-up)};
    const double e[2] = {bounded_exp(side), bounded_exp(-side)};
    Core& out = row.applied[i];
    const int carried = i > 0 ? 2 : 1;
    out.left = c.left * carried;
    out.right = c.right * 2;
    out.values.resize(static_cast<size_t>(out.left) * 2 * out.right);
    for (int a = 0; a < c.left; ++a) {
      for (int t = 0; t < carried; ++t) {
        for (int next = 0; next < 2; ++next) {
          double* to = out.at(a * carried + t, next);
          for (int s = 0; s < 2; ++s) {
            const double x = e[s == t ? 0 : 1] * w[s] * v[s == next ? 0 : 1];
            for (int b = 0; b < c.right; ++b)
              to[2 * b + s] = c.at(a, s)[b] * (i > 0 ? x : w[s] * v[s == next ? 0 : 1]);
          }
        }
      }
    }
  }
  // Three exponentials and the sum in h, products; flatten() adds its own.
  row.tau = (3 * 8 + 4 + 1.01 * largest) * 0x1p-53;
  return row;
}

void flatten(RowState& row) {
  const int n = static_cast<int>(row.applied.size());
  std::vector<double>& g = row.flat;
  auto weight = [&](int i, int s) { return std::exp(-g[i] * kSpin[s]); };
  for (int round = 0; round < 2; ++round) {
    std::vector<std::vector<double>> y(n + 1);
    y[n].assign(row.applied[n - 1].right, 1.0);
    for (int i = n - 1; i >= 0; --i) {
      const Core& c = row.applied[i];
      y[i].assign(c.left, 0.0);
      double top = 0;
      for (int a = 0; a < c.left; ++a) {
        for (int s = 0; s < 2; ++s) {
          double sum = 0;
          for (int b = 0; b < c.right; ++b) sum += c.at(a, s)[b] * y[i + 1][b];
          y[i][a] += weight(i, s) * sum;
        }
        top = std::max(top, std::abs(y[i][a]));
      }
      for (double& x : y[i]) x /= top;
    }
    std::vector<double> x{1.0};
    for (int i = 0; i < n; ++i) {
      const Core& c = row.applied[i];
      std::vector<double> both(static_cast<size_t>(2) * c.right, 0.0);
      for (int a = 0; a < c.left; ++a) {
        for (int k = 0; k < 2 * c.right; ++k) both[k] += x[a] * c.at(a, 0)[k];
      }
      double m[2] = {0, 0};
      for (int s = 0; s < 2; ++s) {
        for (int b = 0; b < c.right; ++b) m[s] += both[s * c.right + b] * y[i + 1][b];
      }
      const double ratio = m[0] / m[1];
      g[i] = ratio > 0 && std::isfinite(ratio) ? 0.5 * std::log(ratio) : 0.0;
      x.assign(c.right, 0.0);
      double top = 0;
      for (int b = 0; b < c.right; ++b) {
        for (int s = 0; s < 2; ++s) x[b] += weight(i, s) * both[s * c.right + b];
        top = std::max(top, std::abs(x[b]));
      }
      for (double& z : x) z /= top;
    }
  }
  for (int i = 0; i < n; ++i) {
    Core& c = row.applied[i];
    const double w[2] = {bounded_exp(-g[i]), bounded_exp(g[i])};
    for (int a = 0; a < c.left; ++a) {
      for (int s = 0; s < 2; ++s) {
        for (int b = 0; b < c.right; ++b) c.at(a, s)[b] *= w[s];
      }
    }
  }
  row.tau += (8 + 2) * 0x1p-53;
  Core& c = row.applied[n - 1];  // the last site: both spins summed, its bond closed
  Core sum{c.left, 1, std::vector<double>(static_cast<size_t>(c.left) * 2)};
  row.last_terms.resize(sum.values.size());
  for (size_t k = 0; k < sum.values.size(); ++k) {
    double total = 0, size = 0;
    for (int b = 0; b < c.right; ++b) {
      total += c.values[k * c.right + b];
      size += std::abs(c.values[k * c.right + b]);
    }
    sum.values[k] = total;
    row.last_terms[k] = size * (1 + 4 * kUlp);
  }
  row.tau += 2 * kUlp;
  c = std::move(sum);
}

void compress(RowState& row, int max_bond, double tolerance) {
  const int n = static_cast<int>(row.applied.size());
  auto& b = row.applied;
  row.turned.resize(n);
  row.gauge.assign(n + 1, {1.0});
  row.dims.assign(n + 1, 1);
  row.kept.assign(n + 1, 1);
  std::vector<std::vector<double>> means(n + 1);
  means[n] = {1.0};
  for (int i = n - 1; i >= 0; --i) means[i] = mean_of(b[i], means[i + 1]);
  for (int i = 0; i < n; ++i) {  // left-orthonormal
    const int left = row.dims[i], raw = b[i].right;
    Core& t = row.turned[i];
    t.left = left;
    t.right = raw;
    t.values.resize(static_cast<size_t>(left) * 2 * raw);
    multiply(row.gauge[i].data(), b[i].values.data(), t.values.data(), left, b[i].left, 2 * raw);
    int exponent;
    if (i + 1 < n) {
      const int rows = 2 * left, rank = std::min(rows, raw);
      Reflections f{t.values, {}};
      reflect(f, rows, raw, rank, false);
      orthogonal(f, rows, rank, t.values);
      t.right = rank;
      f.r.resize(static_cast<size_t>(rank) * raw);
      for (int k = 1; k < rank; ++k)
        std::fill_n(f.r.begin() + static_cast<size_t>(k) * raw, k, 0.0);
      exponent = exponent_of(f.r);
      scale(f.r, exponent);
      row.gauge[i + 1] = std::move(f.r);
      row.dims[i + 1] = rank;
    } else {
      exponent = exponent_of(t.values);
      scale(t.values, exponent);
      scale(row.last_terms, exponent);
    }
    scale(b[i].values, exponent);
    row.exponent += exponent;
  }
  // From the right: bases of what is seen there, the mean first, then by their sizes.
  std::vector<double> weights{1.0};  // (dims[i + 1] × columns)
  int columns = 1;
  std::vector<std::vector<double>> basis(n + 1, std::vector<double>{1.0});
  for (int i = n - 1; i > 0; --i) {
    const Core& t = row.turned[i];
    const int d = t.left, seen = 2 * columns;
    std::vector<double> a(static_cast<size_t>(d) * seen), mean(d);
    multiply(t.values.data(), weights.data(), a.data(), 2 * d, t.right, columns);
    multiply(row.gauge[i].data(), means[i].data(), mean.data(), d,
             static_cast<int>(means[i].size()), 1);
    double largest = 0, size = 0;
    for (const double x : a) largest += x * x;
    for (const double x : mean) size += x * x;
    const double factor = std::sqrt(largest / size);
    Reflections f{std::vector<double>(static_cast<size_t>(d) * (seen + 1)), {}};
    for (int k = 0; k < d; ++k) {
      f.r[static_cast<size_t>(k) * (seen + 1)] = -mean[k] * factor;
      std::copy_n(a.data() + static_cast<size_t>(k) * seen, seen,
                  f.r.data() + static_cast<size_t>(k) * (seen + 1) + 1);
    }
    const int steps = std::min(d, seen + 1);
    reflect(f, d, seen + 1, steps, true);
    int kept = 1;
    const double first = std::abs(f.r[0]);
    while (kept < std::min(steps, max_bond) &&
           std::abs(f.r[static_cast<size_t>(kept) * (seen + 1) + kept]) > tolerance * first) {
      ++kept;
    }
    row.kept[i] = kept;
    orthogonal(f, d, d, basis[i]);
    if (basis[i].size() > 0) {  // orient the first vector along the mean
      double along = 0;
      for (int k = 0; k < d; ++k) along += basis[i][static_cast<size_t>(k) * d] * mean[k];
      if (along < 0) {
        for (int k = 0; k < d; ++k) basis[i][static_cast<size_t>(k) * d] *= -1;
        for (int j = 0; j <= seen; ++j) f.r[j] *= -1;
      }
    }
    // Weights of the kept vectors: R = L Z, L (kept × kept).
    Reflections g{std::vector<double>(static_cast<size_t>(seen) * kept), {}};
    for (int k = 0; k < kept; ++k) {
      for (int j = 1; j <= seen; ++j) {
        g.r[static_cast<size_t>(j - 1) * kept + k] =
            j >= k ? f.r[static_cast<size_t>(k) * (seen + 1) + j] : 0.0;
      }
    }
    const int inner = std::min(seen, kept);
    reflect(g, seen, kept, inner, false);
    std::vector<double> low(static_cast<size_t>(kept) * inner);
    for (int k = 0; k < kept; ++k) {
      for (int j = 0; j < inner; ++j) {
        low[static_cast<size_t>(k) * inner + j] =
            j <= k ? g.r[static_cast<size_t>(j) * kept + k] : 0;
      }
    }
    std::vector<double> first_vectors(static_cast<size_t>(d) * kept);
    for (int k = 0; k < d; ++k) {
      std::copy_n(basis[i].data() + static_cast<size_t>(k) * d, kept,
                  first_vectors.data() + static_cast<size_t>(k) * kept);
    }
    weights.resize(static_cast<size_t>(d) * inner);
    multiply(first_vectors.data(), low.data(), weights.data(), d, kept, inner);
    scale(weights, exponent_of(weights));
    columns = inner;
  }
  row.cores.resize(n);
  for (int i = 0; i < n; ++i) {  // T ← Vᵀ T V, W ← Vᵀ F
    Core& t = row.turned[i];
    std::vector<double> half(t.values.size());
    const int next = row.dims[i + 1];
    multiply(t.values.data(), basis[i + 1].data(), half.data(), 2 * t.left, next, next);
    multiply_transposed(basis[i].data(), half.data(), t.values.data(), t.left, t.left, 2 * next);
    std::vector<double> w(row.gauge[i].size());
    const int raw = static_cast<int>(row.gauge[i].size()) / t.left;
    multiply_transposed(basis[i].data(), row.gauge[i].data(), w.data(), t.left, t.left, raw);
    row.gauge[i] = std::move(w);
    Core& c = row.cores[i];
    c.left = row.kept[i];
    c.right = row.kept[i + 1];
    c.values.resize(static_cast<size_t>(c.left) * 2 * c.right);
    for (int a = 0; a < c.left; ++a) {
      for (int s = 0; s < 2; ++s) std::copy_n(t.at(a, s), c.right, c.at(a, s));
    }
  }
}

}  // namespace planaris::tensor
