#include "tensor/cone.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

constexpr int kMostPairs = 4000;
constexpr double kNarrow = 0.5;     // relative width of x · y that is good enough
constexpr double kTiny = 0x1p-900;  // more than all underflows of a sum

Vector largest(const Enclosure& e) {
  Vector out(e.dim, 0.0);
  for (int node = 0; node < e.size(); ++node) {
    if (e.nodes[node].count > 0) continue;
    for (int k = 0; k < e.dim; ++k)
      out[k] = std::max(out[k], std::abs(e.c(node)[k]) + e.r(node)[k]);
  }
  return out;
}

// A lower bound of the first component of the image of a vector under a column.
double least_image(const Enclosure& e, const Vector& column) {
  double least = std::numeric_limits<double>::infinity();
  for (int node = 0; node < e.size(); ++node) {
    if (e.nodes[node].count > 0) continue;
    double loss = 0;
    for (int k = 0; k < e.dim; ++k) {
      loss += (-e.c(node)[k]) * column[k] + e.r(node)[k] * std::abs(column[k]);
    }
    least = std::min(least, -loss);
  }
  if (!(least > 0)) throw Lost();
  return least;
}

}  // namespace

BondSizes bond_sizes(const Enclosure& x, const Enclosure& y) {
  struct Pair {
    double width, least;
    int x, y;
    bool left_wider;
    bool operator<(const Pair& o) const { return width < o.width; }
  };
  const int dim = x.dim;
  const double rounding = (dim + 8) * kUlp;
  const auto evaluate = [&](int a, int b) {
    const double *cx = x.c(a), *rx = x.r(a), *cy = y.c(b), *ry = y.r(b);
    double value = 0, by_x = 0, by_y = 0, size = 0;
    for (int k = 0; k < dim; ++k) {
      value += cx[k] * cy[k];
      by_x += rx[k] * (std::abs(cy[k]) + ry[k]);
      by_y += std::abs(cx[k]) * ry[k];
      size += (std::abs(cx[k]) + rx[k]) * (std::abs(cy[k]) + ry[k]);
    }
    const double off = by_x + by_y + rounding * size;
    const double least = -(off - value);
    const double width = value > 0 ? off / value : std::numeric_limits<double>::infinity();
    if (std::isnan(least)) throw Lost();
    return Pair{width, least, a, b, by_x > by_y};
  };
  BondSizes out{largest(x), largest(y), Vector(dim, 0.0), Vector(dim, 0.0), {}, {}};
  const auto add = [&](const Pair& p) {
    for (int k = 0; k < dim; ++k) {
      out.over_x[k] = std::max(out.over_x[k], (std::abs(x.c(p.x)[k]) + x.r(p.x)[k]) / p.least);
      out.over_y[k] = std::max(out.over_y[k], (std::abs(y.c(p.y)[k]) + y.r(p.y)[k]) / p.least);
    }
  };
  std::priority_queue<Pair> queue;
  queue.push(evaluate(0, 0));
  for (int count = 0; !queue.empty(); ++count) {
    const Pair worst = queue.top();
    queue.pop();
    const Enclosure::Node &nx = x.nodes[worst.x], &ny = y.nodes[worst.y];
    if (worst.width <= kNarrow || (nx.count == 0 && ny.count == 0) || count > kMostPairs) {
      if (!(worst.least > 0)) {
        out.failed_x.assign(x.c(worst.x), x.c(worst.x) + dim);
        out.failed_y.assign(y.c(worst.y), y.c(worst.y) + dim);
        return out;
      }
      add(worst);
    } else if (ny.count == 0 || (nx.count > 0 && worst.left_wider)) {
      for (int k = 0; k < nx.count; ++k) queue.push(evaluate(nx.first + k, worst.y));
    } else {
      for (int k = 0; k < ny.count; ++k) queue.push(evaluate(worst.x, ny.first + k));
    }
  }
  return out;
}

Vector absolute_row(const Vector& weight, const Vector& m, int columns) {
  Vector out(columns, 0.0);
  for (size_t a = 0; a < weight.size(); ++a) {
    const double* row = m.data() + a * columns;
    for (int b = 0; b < columns; ++b) out[b] += weight[a] * (std::abs(row[b]) + kTiny);
  }
  return out;
}

Vector next_probe(const Core& core, const Vector& probe, const Vector& moved, bool forward) {
  Vector best, sizes;
  for (int s = 0; s < 2; ++s) {
    Vector next(moved.size(), 0.0), size(moved.size(), 0.0);
    for (int a = 0; a < core.left; ++a) {
      for (int b = 0; b < core.right; ++b) {
        const double x = core.at(a, s)[b] * probe[forward ? a : b];
        next[forward ? b : a] += x;
        size[forward ? b : a] += std::abs(x) + kTiny;
      }
    }
    if (best.empty() || next[0] > best[0]) {
      best = std::move(next);
      sizes = std::move(size);
    }
  }
  const double unit = (static_cast<double>(probe.size()) + 8) * kUlp;
  const double first = -(unit * sizes[0] - best[0]);
  for (size_t k = 0; k < moved.size(); ++k) {
    if (!(unit * sizes[k] < -(-moved[k] * first))) throw Lost();
  }
  const double factor = std::ldexp(1.0, -std::ilogb(best[0]));
  for (double& x : best) x *= factor;
  return best;
}

void cone_factors(const Core& core, const Enclosure& from_left, const Enclosure& from_right,
                  const BondSizes& left, const BondSizes& right, const Vector& to_y, int site,
                  const Terms& terms, ConeFactors& out) {
  const int rows = core.left, columns = core.right;
  const std::vector<double*> to{&out.right[site], &out.right_moved[site], &out.left[site],
                                &out.left_moved[site]};
  for (double* x : to) *x = 0;
  for (int s = 0; s < 2; ++s) {
    Vector m, turned(static_cast<size_t>(rows) * columns), column;
    for (int a = 0; a < rows; ++a) {
      m.insert(m.end(), core.at(a, s), core.at(a, s) + columns);
      column.push_back(core.at(a, s)[0]);
      for (int b = 0; b < columns; ++b)
        turned[static_cast<size_t>(b) * rows + a] = core.at(a, s)[b];
    }
    const Vector row(core.at(0, s), core.at(0, s) + columns);
    const double least_y = least_image(from_right, row), least_x = least_image(from_left, column);
    const auto form = [&](const Vector& weight, const Vector& matrix, const Vector& size) {
      const Vector sums = absolute_row(weight, matrix, static_cast<int>(size.size()));
      return terms.cone * dot(sums.data(), size.data(), static_cast<int>(size.size()));
    };
    const double found[] = {form(out.over_x[site], m, right.y) / least_y,
                            form(to_y, m, right.y) / least_y,
                            form(out.over_y[site + 1], turned, left.x) / least_x,
                            form(out.to_x[site + 1], turned, left.x) / least_x};
    for (int k = 0; k < 4; ++k) *to[k] = std::max(*to[k], found[k]);
  }
}

}  // namespace planaris::tensor
