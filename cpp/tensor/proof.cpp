#include "tensor/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

using Vector = std::vector<double>;

struct Lost : std::runtime_error {
  Lost() : std::runtime_error("a denominator is not positive") {}
};

// Enclosures of vectors with first component one: |x - centre| <= radius for one of the boxes. The
// letter next to the bond is index % 2, where there is one.
struct Boxes {
  int count = 1, dim = 1;
  Vector centre{1.0}, radius{0.0};
};

// A matrix per letter, (from × to) each.
struct Letters {
  int from = 1, to = 1;
  Vector m[2];
};

Vector absolute(const Vector& v) {
  Vector out(v.size());
  for (size_t k = 0; k < v.size(); ++k) out[k] = std::abs(v[k]);
  return out;
}

Vector negative(const Vector& v) {
  Vector out(v.size());
  for (size_t k = 0; k < v.size(); ++k) out[k] = -v[k];
  return out;
}

Vector product(const Vector& a, const Vector& b, int rows, int depth, int columns) {
  Vector c(static_cast<size_t>(rows) * columns, 0.0);
  if (depth > 0 && columns > 0) multiply(a.data(), b.data(), c.data(), rows, depth, columns);
  return c;
}

Vector turned(const Vector& a, int rows, int columns) {
  Vector out(a.size());
  transpose(a.data(), out.data(), rows, columns);
  return out;
}

// Columns begin … end - 1 of the rows begin_row … end_row - 1 of a core at a letter.
Vector block(const Core& t, int s, int row, int end_row, int column, int end_column) {
  Vector out;
  out.reserve(static_cast<size_t>(end_row - row) * (end_column - column));
  for (int a = row; a < end_row; ++a) {
    out.insert(out.end(), t.at(a, s) + column, t.at(a, s) + end_column);
  }
  return out;
}

double ratio(double numerator, double denominator) {
  if (!(denominator > 0)) throw Lost();
  return numerator / denominator;
}

// Everything below rounds up: a plain sum or product is an upper bound of itself.

// Image of boxes under all words of letters, path[0] first; `errors`: bound, per letter, of what is
// added to the image of a vector with first component one (empty: nothing).
class Words {
 public:
  Words(const std::vector<const Letters*>& path, const std::vector<const Vector*>& errors,
        const Terms& terms)
      : path_(path), errors_(errors), terms_(terms) {
    from_ = path[0]->from;
    to_ = path.back()->to;
    Vector words = path[0]->m[0];
    words.insert(words.end(), path[0]->m[1].begin(), path[0]->m[1].end());
    size_t count = 2;
    for (size_t k = 1; k < path.size(); ++k) {
      const Letters& t = *path[k];
      const size_t before = static_cast<size_t>(from_) * t.from, after = static_cast<size_t>(from_) * t.to;
      Vector longer(2 * count * after);
      for (size_t w = 0; w < count; ++w) {
        for (size_t s = 0; s < 2; ++s) {
          multiply(words.data() + w * before, t.m[s].data(), longer.data() + (2 * w + s) * after,
                   from_, t.from, t.to);
        }
      }
      if (terms.coarse > 0) {
        for (size_t i = 0; i < longer.size(); ++i) {
          if (i % t.to != 0) longer[i] *= 1 - terms.coarse;  // towards boxes that are too small
        }
      }
      words.swap(longer);
      count *= 2;
    }
    words_ = std::move(words);
    count_ = static_cast<int>(count);
  }

  Boxes image(const Boxes& boxes) const {
    Boxes out;
    out.count = boxes.count * count_;
    out.dim = to_;
    out.centre.resize(static_cast<size_t>(out.count) * to_);
    out.radius.resize(out.centre.size());
    const Vector errors = total_errors(boxes);
    Vector c(from_), minus(from_), r(from_), high(to_), low(to_), spread(to_);
    for (int v = 0; v < boxes.count; ++v) {
      for (int a = 0; a < from_; ++a) {
        c[a] = boxes.centre[static_cast<size_t>(v) * from_ + a];
        minus[a] = -c[a];
        r[a] = boxes.radius[static_cast<size_t>(v) * from_ + a];
      }
      for (int w = 0; w < count_; ++w) {
        const size_t at = static_cast<size_t>(v) * count_ + w;
        one(words_.data() + static_cast<size_t>(w) * from_ * to_, c, minus, r,
            errors.data() + at * to_, high, low, spread, out.centre.data() + at * to_,
            out.radius.data() + at * to_);
      }
    }
    return out;
  }

 private:
  // Bounds, per box and word, of the rounding of the word and of all that is added on the way:
  // z >= |vector|, p >= |error|.
  Vector total_errors(const Boxes& boxes) const {
    Vector z(boxes.centre.size()), p(boxes.centre.size(), 0.0);
    for (size_t k = 0; k < z.size(); ++k) z[k] = std::abs(boxes.centre[k]) + boxes.radius[k];
    size_t count = boxes.count;
    for (size_t k = 0; k < path_.size(); ++k) {
      const Letters& t = *path_[k];
      const double rounding = terms_.word * ((t.from + 3) * kUlp + 1.01 * terms_.coarse);
      Vector longer_z(2 * count * t.to), longer_p(longer_z.size());
      for (size_t s = 0; s < 2; ++s) {
        const Vector size = absolute(t.m[s]);
        const Vector zt = product(z, size, static_cast<int>(count), t.from, t.to);
        const Vector pt = product(p, size, static_cast<int>(count), t.from, t.to);
        for (size_t v = 0; v < count; ++v) {
          for (int b = 0; b < t.to; ++b) {
            double q = pt[v * t.to + b] + rounding * zt[v * t.to + b];
            if (!errors_.empty()) q += z[v * t.from] * (*errors_[k])[s * t.to + b];
            longer_p[(2 * v + s) * t.to + b] = q;
            longer_z[(2 * v + s) * t.to + b] = zt[v * t.to + b] + q;
          }
        }
      }
      z.swap(longer_z);
      p.swap(longer_p);
      count *= 2;
    }
    return p;
  }

  // x -> (xA + e) / (xA + e)_0: for any λ, |x'_k - λ| <= sup |x (A_k - λ A_0) + e_k - λ e_0| / inf.
  void one(const double* a, const Vector& c, const Vector& minus, const Vector& r,
           const double* error, Vector& high, Vector& low, Vector& spread, double* centre,
           double* radius) const {
    multiply(c.data(), a, high.data(), 1, from_, to_);
    multiply(minus.data(), a, low.data(), 1, from_, to_);  // minus the lower bounds
    double loss = low[0] + error[0];
    for (int k = 0; k < from_; ++k) loss += r[k] * std::abs(a[static_cast<size_t>(k) * to_]);
    const double least = -loss;
    if (!(least > 0)) throw Lost();
    Vector lambda(to_);
    for (int k = 0; k < to_; ++k) lambda[k] = high[k] / high[0];
    std::fill(spread.begin(), spread.end(), 0.0);
    for (int i = 0; i < from_; ++i) {
      const double* row = a + static_cast<size_t>(i) * to_;
      const double first = row[0], size = r[i];
      if (size == 0) continue;
      for (int k = 0; k < to_; ++k) {
        const double up = row[k] - lambda[k] * first;   // rounded up, of a product rounded up
        const double down = lambda[k] * first - row[k];
        const double width = std::max(std::abs(up), std::abs(down)) +
                             kUlp * (std::abs(row[k]) + std::abs(lambda[k] * first));
        spread[k] += size * width;
      }
    }
    centre[0] = 1;
    radius[0] = 0;
    for (int k = 1; k < to_; ++k) {
      const double l = lambda[k];
      const double top = l >= 0 ? l * high[0] : (-l) * low[0];     // >= λ (cA)_0
      const double bottom = l >= 0 ? l * low[0] : (-l) * high[0];  // >= -λ (cA)_0
      const double middle = std::max({high[k] + bottom, low[k] + top, 0.0});
      const double off =
          middle + terms_.radius * spread[k] + error[k] + std::abs(l) * error[0];
      centre[k] = l;
      radius[k] = off / least;
      if (!std::isfinite(radius[k])) throw Lost();
    }
  }

  const std::vector<const Letters*>& path_;
  const std::vector<const Vector*>& errors_;
  const Terms& terms_;
  int from_ = 1, to_ = 1, count_ = 1;
  Vector words_;
};

// Hulls of the boxes with the same index modulo `most`: the same letters next to the bond.
Boxes reduced(const Boxes& boxes, int most) {
  if (boxes.count <= most) return boxes;
  Boxes out;
  out.count = most;
  out.dim = boxes.dim;
  Vector high(static_cast<size_t>(most) * boxes.dim, -std::numeric_limits<double>::infinity());
  Vector minus_low(high);
  for (int v = 0; v < boxes.count; ++v) {
    for (int k = 0; k < boxes.dim; ++k) {
      const size_t from = static_cast<size_t>(v) * boxes.dim + k;
      const size_t to = static_cast<size_t>(v % most) * boxes.dim + k;
      high[to] = std::max(high[to], boxes.centre[from] + boxes.radius[from]);
      minus_low[to] = std::max(minus_low[to], boxes.radius[from] - boxes.centre[from]);
    }
  }
  out.centre.resize(high.size());
  out.radius.resize(high.size());
  for (size_t k = 0; k < high.size(); ++k) {
    out.centre[k] = 0.5 * (high[k] - minus_low[k]);
    out.radius[k] = std::max(high[k] - out.centre[k], minus_low[k] + out.centre[k]);
  }
  return out;
}

// |yraw| <= ybar (w · yraw), for yraw in the cone of e^{J t s} ⊗ y, y in a box with letter s.
Vector raw_bound(const Vector& w, const Boxes& boxes, double coupling, const Terms& terms) {
  const int bond = boxes.dim;
  const double same = bounded_exp_nearest(coupling), other = bounded_exp_nearest(-coupling);
  Vector out(static_cast<size_t>(bond) * 2, 0.0);
  for (int v = 0; v < boxes.count; ++v) {
    const double* c = boxes.centre.data() + static_cast<size_t>(v) * bond;
    const double* r = boxes.radius.data() + static_cast<size_t>(v) * bond;
    const double e[2] = {v % 2 == 0 ? same : other, v % 2 == 0 ? other : same};
    double loss = 0;  // minus a lower bound of w · yraw
    for (int b = 0; b < bond; ++b) {
      const double x = w[2 * b] * e[0] + w[2 * b + 1] * e[1];
      const double size = std::abs(w[2 * b]) * e[0] + std::abs(w[2 * b + 1]) * e[1];
      const double off = 32 * kUlp * size;  // of the exponentials, products and this sum
      loss += (-c[b]) * x + r[b] * (std::abs(x) + off) + std::abs(c[b]) * off;
    }
    const double least = -loss;
    if (!(least > 0)) throw Lost();
    for (int b = 0; b < bond; ++b) {
      for (int t = 0; t < 2; ++t) {
        out[2 * b + t] =
            std::max(out[2 * b + t], (std::abs(c[b]) + r[b]) * e[t] / least * terms.raw);
      }
    }
  }
  return out;
}

struct RowBound {
  double width = 0, cut = 0;
  std::vector<Boxes> seen;  // from every bond to the right, for the next row
};

class RowProof {
 public:
  RowProof(const RowState& row, const GridView& grid, int r, const std::vector<Boxes>& before,
           const Terms& terms)
      : row_(row), terms_(terms), n_(static_cast<int>(row.applied.size())) {
    errors_.resize(n_);
    for (int i = 0; i < n_; ++i) {
      Vector ybar{1.0};
      if (i + 1 < n_) {
        const Vector w(row.gauge[i + 1].begin(),
                       row.gauge[i + 1].begin() + row.applied[i].right);
        ybar = raw_bound(w, before[i + 1], grid.across(r, i), terms);
      }
      errors_[i] = residual(i, ybar);
    }
  }

  RowBound bound(int boxes, int letters) {
    std::vector<Letters> ahead(n_), back(n_);
    for (int i = 0; i < n_; ++i) {
      const Core& c = row_.cores[i];
      ahead[i].from = back[i].to = c.left;
      ahead[i].to = back[i].from = c.right;
      for (int s = 0; s < 2; ++s) {
        ahead[i].m[s] = block(row_.turned[i], s, 0, c.left, 0, c.right);
        back[i].m[s] = turned(ahead[i].m[s], c.left, c.right);
      }
    }
    RowBound out;
    out.seen.resize(n_ + 1);
    std::vector<Boxes> near(n_ + 1), hulls(n_ + 1);
    tails_.assign(n_ + 1, {});
    std::vector<Vector> added(n_);
    for (int i = n_ - 1; i >= 0; --i) {
      added[i] = added_at(i);
      std::vector<const Letters*> path;
      std::vector<const Vector*> errors;
      const int length = std::min(letters, n_ - i);
      for (int j = i + length - 1; j >= i; --j) {
        path.push_back(&back[j]);
        errors.push_back(&added[j]);
      }
      out.seen[i] = Words(path, errors, terms_).image(hulls[i + length]);
      if (i > 0) tails_[i] = tail(i, out.seen[i + 1]);
      hulls[i] = reduced(out.seen[i], boxes);
    }
    static const std::vector<const Vector*> kNothing;
    for (int i = 0; i < n_; ++i) {
      if (i > 0) {
        std::vector<const Letters*> path;
        const int length = std::min(letters, i);
        for (int j = i - length; j < i; ++j) path.push_back(&ahead[j]);
        near[i] = Words(path, kNothing, terms_).image(hulls_left(i - length));
        left_hulls_.push_back(reduced(near[i], boxes));
      } else {
        left_hulls_.assign(1, Boxes{});
      }
      double cut = 0;
      const double delta = site(i, near[i], i + 2 <= n_ ? out.seen[i + 2 <= n_ ? i + 2 : n_] : Boxes{}, &cut);
      if (!(delta < 0.5)) throw Lost();
      out.width += delta / -(delta - 1);
      out.cut += cut;
    }
    return out;
  }

 private:
  const Boxes& hulls_left(int bond) const { return left_hulls_[bond]; }

  // Σ_b |W B - T W| ybar at site i: (2 × dims[i]), the letter slow.
  Vector residual(int i, const Vector& ybar) const {
    const Core &b = row_.applied[i], &t = row_.turned[i];
    const Vector &w = row_.gauge[i], &next = row_.gauge[i + 1];
    const int d = t.left, raw = b.right;
    const Vector up = product(w, b.values, d, b.left, 2 * raw);
    const Vector down = product(negative(w), b.values, d, b.left, 2 * raw);
    const Vector other_up = product(t.values, next, 2 * d, t.right, raw);
    const Vector other_down = product(negative(t.values), next, 2 * d, t.right, raw);
    Vector size = i + 1 < n_ ? absolute(b.values) : row_.last_terms;
    for (double& x : size) x += 0x1p-1000;  // underflow of products and scalings
    const Vector rounding = product(absolute(w), size, d, b.left, 2 * raw);
    const double tau = terms_.tau * row_.tau;
    Vector out(static_cast<size_t>(2) * d, 0.0);
    for (int a = 0; a < d; ++a) {
      for (int s = 0; s < 2; ++s) {
        double sum = 0;
        for (int k = 0; k < raw; ++k) {
          const size_t at = (static_cast<size_t>(a) * 2 + s) * raw + k;
          const double gap = std::max(up[at] + other_down[at], other_up[at] + down[at]);
          sum += (terms_.residual * std::max(gap, 0.0) + tau * rounding[at]) * ybar[k];
        }
        out[static_cast<size_t>(s) * d + a] = sum;
      }
    }
    return out;
  }

  // What is added to the kept part of y_i, for y_{i+1}[0] = 1: its discarded part, and rounding.
  Vector added_at(int i) const {
    const Core& t = row_.turned[i];
    const int kept = row_.kept[i], next = row_.kept[i + 1], rest = t.right - next;
    Vector out(static_cast<size_t>(2) * kept);
    for (int s = 0; s < 2; ++s) {
      const Vector m = absolute(block(t, s, 0, kept, next, t.right));
      const Vector add = product(m, tails_[i + 1], kept, rest, 1);
      for (int a = 0; a < kept; ++a) {
        out[static_cast<size_t>(s) * kept + a] =
            terms_.tail * add[a] + errors_[i][static_cast<size_t>(s) * t.left + a];
      }
    }
    return out;
  }

  // y_i before it is scaled: centres and radii (count × dims[i]) for letter s at site i.
  void step(int i, int s, const Boxes& boxes, Vector& centre, Vector& radius) const {
    const Core& t = row_.turned[i];
    const int next = row_.kept[i + 1], d = t.left, rest = t.right - next;
    const Vector m = turned(block(t, s, 0, d, 0, next), d, next);
    const Vector size = absolute(m);
    centre = product(boxes.centre, m, boxes.count, next, d);
    radius = product(boxes.radius, size, boxes.count, next, d);
    const Vector magnitude = product(absolute(boxes.centre), size, boxes.count, next, d);
    const Vector tail =
        product(absolute(block(t, s, 0, d, next, t.right)), tails_[i + 1], d, rest, 1);
    for (int v = 0; v < boxes.count; ++v) {
      for (int a = 0; a < d; ++a) {
        const size_t at = static_cast<size_t>(v) * d + a;
        radius[at] = terms_.radius * radius[at] + (next + 2) * kUlp * magnitude[at] +
                     terms_.tail * tail[a] + errors_[i][static_cast<size_t>(s) * d + a];
      }
    }
  }

  // |y_i[k:]| <= tail y_i[0], for all configurations.
  Vector tail(int i, const Boxes& boxes) const {
    const int d = row_.dims[i], kept = row_.kept[i];
    Vector out(d - kept, 0.0), centre, radius;
    for (int s = 0; s < 2; ++s) {
      step(i, s, boxes, centre, radius);
      for (int v = 0; v < boxes.count; ++v) {
        const double* c = centre.data() + static_cast<size_t>(v) * d;
        const double* r = radius.data() + static_cast<size_t>(v) * d;
        const double least = -(r[0] - c[0]);
        for (int a = kept; a < d; ++a) {
          out[a - kept] = std::max(out[a - kept], ratio(std::abs(c[a]) + r[a], least));
        }
      }
    }
    return out;
  }

  // sup |h_{i-1} - h_i| / h_i at site i (x before it, y two bonds on).
  double site(int i, const Boxes& x, const Boxes& y, double* cut) const {
    const Core& t = row_.turned[i];
    const int kept = row_.kept[i], next = row_.kept[i + 1], d = t.right;
    double worst = 0;
    const bool last = i + 1 == n_;
    const Vector ax = magnitude_of(x);
    for (int s = 0; s < 2; ++s) {
      const Vector c = block(t, s, 0, kept, 0, next), e = block(t, s, 0, kept, next, d);
      const Vector rounding(errors_[i].begin() + static_cast<size_t>(s) * t.left,
                            errors_[i].begin() + static_cast<size_t>(s) * t.left + kept);
      const Vector floor = product(ax, rounding, x.count, kept, 1);
      for (int u = 0; u < (last ? 1 : 2); ++u) {
        Vector centre{1.0}, radius{0.0};
        int count = 1;
        if (!last) {
          step(i + 1, u, y, centre, radius);
          count = y.count;
        }
        const Vector yc = columns(centre, count, d, 0, next), yr = columns(radius, count, d, 0, next);
        const Vector zc = columns(centre, count, d, next, d), zr = columns(radius, count, d, next, d);
        Vector den, den_off, num, num_off;
        evaluate(x, ax, c, kept, next, yc, yr, count, den, den_off);
        evaluate(x, ax, e, kept, d - next, zc, zr, count, num, num_off);
        for (int a = 0; a < x.count; ++a) {
          for (int b = 0; b < count; ++b) {
            const size_t at = static_cast<size_t>(a) * count + b;
            const double least = -(den_off[at] - den[at]);
            const double truncated = terms_.cut * (std::abs(num[at]) + num_off[at]);
            const double first = centre[static_cast<size_t>(b) * d] + radius[static_cast<size_t>(b) * d];
            const double here = ratio(truncated + floor[a] * first, least);
            if (!(here < 0.5)) throw Lost();
            worst = std::max(worst, here);
            *cut = std::max(*cut, truncated / least);
          }
        }
      }
    }
    return worst;
  }

  static Vector magnitude_of(const Boxes& boxes) {
    Vector out(boxes.centre.size());
    for (size_t k = 0; k < out.size(); ++k) out[k] = std::abs(boxes.centre[k]) + boxes.radius[k];
    return out;
  }

  static Vector columns(const Vector& m, int rows, int width, int begin, int end) {
    Vector out;
    out.reserve(static_cast<size_t>(rows) * (end - begin));
    for (int a = 0; a < rows; ++a) {
      const auto row = m.begin() + static_cast<size_t>(a) * width;
      out.insert(out.end(), row + begin, row + end);
    }
    return out;
  }

  // x M y for all boxes of x and y: values and how far they may be off.
  void evaluate(const Boxes& x, const Vector& ax, const Vector& m, int rows, int width,
                const Vector& yc, const Vector& yr, int count, Vector& value, Vector& off) const {
    const Vector xm = product(x.centre, m, x.count, rows, width);
    const Vector size = absolute(m);
    const Vector yc_t = turned(yc, count, width), yr_t = turned(yr, count, width);
    Vector ay_t(yc_t.size());
    for (size_t k = 0; k < ay_t.size(); ++k) ay_t[k] = std::abs(yc_t[k]) + yr_t[k];
    value = product(xm, yc_t, x.count, width, count);
    const Vector my = product(m, yc_t, rows, width, count);
    const Vector mr = product(size, yr_t, rows, width, count);
    Vector beside(my.size());
    for (size_t k = 0; k < beside.size(); ++k) beside[k] = std::abs(my[k]) + mr[k];
    off = product(x.radius, beside, x.count, rows, count);
    const Vector along = product(absolute(xm), yr_t, x.count, width, count);
    const Vector all = product(ax, product(size, ay_t, rows, width, count), x.count, rows, count);
    const double rounding = (rows + width + 6) * kUlp;
    for (size_t k = 0; k < off.size(); ++k) {
      off[k] = terms_.radius * (off[k] + along[k]) + rounding * all[k];
    }
  }

  const RowState& row_;
  const Terms& terms_;
  int n_;
  std::vector<Vector> errors_;  // (2 × dims[i])
  std::vector<Vector> tails_;
  std::vector<Boxes> left_hulls_;
};

// Not inlined: nothing of it may be moved out of the scope of its rounding.
__attribute__((noinline)) double bound_row(const RowState& row, const GridView& grid, int r,
                                           const ProofOptions& options,
                                           std::vector<Boxes>& seen, double* cut) {
  const RoundUp up;
  RowProof proof(row, grid, r, seen, options.terms);
  RowBound best;
  best.width = std::numeric_limits<double>::infinity();
  for (const auto& [boxes, letters] : options.effort) {
    try {
      RowBound found = proof.bound(boxes, letters);
      if (found.width < best.width) best = std::move(found);
    } catch (const Lost&) {
      continue;
    }
    if (best.width <= options.target) break;
  }
  if (!std::isfinite(best.width)) throw Lost();
  seen = std::move(best.seen);
  *cut += best.cut;
  return best.width;
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
                                            const GridView& grid, const std::vector<Boxes>& seen,
                                            const Terms& terms) {
  const RoundUp up;
  const int n = static_cast<int>(row.applied.size());
  double width = 0;
  for (int i = 0; i < n; ++i) {
    const Vector &x = last.x[i], &b = last.b[i], &next = last.scaled[i];
    const int left = static_cast<int>(x.size()), right = static_cast<int>(next.size());
    const Vector high = product(x, b, 1, left, right), low = product(negative(x), b, 1, left, right);
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

ProvedGrid prove_grid(const GridView& grid, const ProofOptions& options, Control& control) {
  ProvedGrid out;
  const int n = grid.columns;
  std::vector<Core> cores;
  std::vector<double> flat;
  Boxes both;  // of the state before the first row: one, for either letter
  both.count = 2;
  both.centre = {1.0, 1.0};
  both.radius = {0.0, 0.0};
  std::vector<Boxes> seen(n + 1, both);
  int64_t exponent = 0;
  bool lost = !keeps_subnormals();
  auto lose = [&](int r) {
    if (!lost) out.lost_row = r;
    lost = true;
  };
  for (int r = 0; r + 1 < grid.rows; ++r) {
    control.poll_now(static_cast<double>(r) / grid.rows);
    if (!in_range(grid, r, flat, {})) throw std::overflow_error("weights out of the range of doubles");
    RowState row = apply_row(grid, r, cores, flat);
    inject(row, options.terms, r);
    flatten(row);
    if (!in_range(grid, r, flat, row.flat)) lose(r);
    compress(row, options.max_bond, options.tolerance);
    turn(row, options.terms);
    exponent += row.exponent;
    if (!lost) {
      try {
        const double width = bound_row(row, grid, r, options, seen, &out.cut);
        out.rows.push_back(width);
      } catch (const Lost&) {
        lose(r);
      }
    }
    cores = std::move(row.cores);
    flat = std::move(row.flat);
  }
  if (!in_range(grid, grid.rows - 1, flat, {})) throw std::overflow_error("weights out of the range of doubles");
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
