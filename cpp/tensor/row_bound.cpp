#include "tensor/row_bound.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <queue>

#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

constexpr int kSamples = 16;              // vectors by which widths are judged
constexpr int kAttempts = 24;             // to enclose the neighbours of a site
constexpr double kSafe = 0.5;             // largest relative error of a site
constexpr int kMostPairs = 4000;          // of nodes that are split at a site
constexpr size_t kMostUnsafe = 1u << 20;  // pairs at a site, while some denominator is in danger
constexpr int kMostPatience = 8;          // times the words of a tree, where it is grown again

Vector turned(const Vector& a, int rows, int columns) {
  Vector out(a.size());
  transpose(a.data(), out.data(), rows, columns);
  return out;
}

// Rows begin_row … end_row - 1 and columns begin … end - 1 of a core at a letter.
Vector block(const Core& t, int s, int row, int end_row, int column, int end_column) {
  Vector out;
  out.reserve(static_cast<size_t>(end_row - row) * (end_column - column));
  for (int a = row; a < end_row; ++a) {
    out.insert(out.end(), t.at(a, s) + column, t.at(a, s) + end_column);
  }
  return out;
}

// Some vectors of a chain per position (count × dim), first component one. Nothing rests on them.
std::vector<Vector> cloud(const std::vector<Letters>& steps) {
  std::vector<Vector> out{Vector{1.0}};
  uint64_t state = 88172645463325252ull;
  for (const Letters& t : steps) {
    const int count = static_cast<int>(out.back().size()) / t.from;
    Vector both;
    for (int s = 0; s < 2; ++s) {
      const Vector next = product(out.back(), t.m[s], count, t.from, t.to);
      both.insert(both.end(), next.begin(), next.end());
    }
    Vector kept;
    int left = 2 * count, wanted = std::min(kSamples, left);
    for (int v = 0; v < 2 * count; ++v, --left) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      if (static_cast<int>((state >> 20) % left) >= wanted) continue;
      --wanted;
      const double* x = both.data() + static_cast<size_t>(v) * t.to;
      if (!(x[0] > 0)) continue;
      for (int k = 0; k < t.to; ++k) kept.push_back(x[k] / x[0]);
    }
    if (kept.empty()) throw Lost();
    out.push_back(std::move(kept));
  }
  return out;
}

Vector inverses(const Vector& v) {
  Vector out(v.size());
  for (size_t k = 0; k < v.size(); ++k) out[k] = 1 / v[k];
  return out;
}

// How far the vectors of a cloud (count × dim) are moved in every component.
Vector moves(const Vector& cloud, int dim) {
  Vector out(dim, 0.0);
  for (size_t k = 0; k < cloud.size(); ++k)
    out[k % dim] = std::max(out[k % dim], std::abs(cloud[k]));
  const double floor = 1e-15 * *std::max_element(out.begin(), out.end());
  for (double& x : out) x = kMoved * std::max(x, floor);
  return out;
}

// |x E y[k:] + rounding| / (x C y[:k]) at a site, for all letters and x and y in enclosures.
class SitePairs {
 public:
  // `floors` (per letter: rows): bounds of the rounding, times y[0].
  SitePairs(const Enclosure& x, const Enclosure& y, const Core& core, int rows, int kept,
            const Vector (&floors)[2], const Terms& terms)
      : x_(x), y_(y), rows_(rows), kept_(kept), all_(core.right), floors_(floors), terms_(terms) {
    for (int s = 0; s < 2; ++s) {
      both_[s] = block(core, s, 0, rows, 0, kept);
      rest_[s] = block(core, s, 0, rows, kept, all_);
      both_turned_[s] = turned(both_[s], rows, kept);
      rest_turned_[s] = turned(rest_[s], rows, all_ - kept);
      both_size_[s] = absolute(both_[s]);
      rest_size_[s] = absolute(rest_[s]);
      both_turned_size_[s] = absolute(both_turned_[s]);
      rest_turned_size_[s] = absolute(rest_turned_[s]);
      left_[s].resize(x.size());
      right_[s].resize(y.size());
    }
  }

  // Pairs of nodes are split, worst first, until the worst cannot be split or is good enough. All
  // whose denominators are in danger are split: a bound that is not safe is none.
  double worst(double target, double* cut) {
    std::priority_queue<Pair> queue;
    for (int s = 0; s < 2; ++s) queue.push(evaluate(0, 0, s));
    for (int safe = 0;;) {
      const Pair worst = queue.top();
      if (worst.value <= target) break;
      if (worst.value < kSafe ? ++safe > kMostPairs : queue.size() >= kMostUnsafe) break;
      const Enclosure::Node &nx = x_.nodes[worst.x], &ny = y_.nodes[worst.y];
      if (nx.count == 0 && ny.count == 0) break;
      queue.pop();
      if (ny.count == 0 || (nx.count > 0 && worst.left_wider)) {
        for (int k = 0; k < nx.count; ++k) queue.push(evaluate(nx.first + k, worst.y, worst.s));
      } else {
        for (int k = 0; k < ny.count; ++k) queue.push(evaluate(worst.x, ny.first + k, worst.s));
      }
    }
    const Pair worst = queue.top();
    *cut = worst.cut;
    const Vector c(x_.c(worst.x), x_.c(worst.x) + rows_), y(y_.c(worst.y), y_.c(worst.y) + kept_);
    seen_by_y_ = product(both_[worst.s], y, rows_, kept_, 1);
    seen_by_x_ = product(c, both_[worst.s], 1, rows_, kept_);
    const Vector rest = product(c, rest_[worst.s], 1, rows_, all_ - kept_);
    seen_by_x_.insert(seen_by_x_.end(), rest.begin(), rest.end());
    return worst.value;
  }

  // Of the worst pair: what y sees of x, and x of y.
  const Vector& seen_by_y() const { return seen_by_y_; }
  const Vector& seen_by_x() const { return seen_by_x_; }

 private:
  struct Left {  // x times the core
    Vector both, rest, both_size, rest_size;
    double floor = 0;
  };
  struct Right {  // |M y| + |M| r
    Vector both, rest;
  };
  struct Pair {
    double value, cut;
    int x, y, s;
    bool left_wider;
    bool operator<(const Pair& o) const { return value < o.value; }
  };

  const Left& left(int node, int s) {
    Left& p = left_[s][node];
    if (!p.both.empty()) return p;
    const Vector c(x_.c(node), x_.c(node) + rows_);
    Vector size(rows_);
    for (int k = 0; k < rows_; ++k) size[k] = std::abs(c[k]) + x_.r(node)[k];
    p.both = product(c, both_[s], 1, rows_, kept_);
    p.rest = product(c, rest_[s], 1, rows_, all_ - kept_);
    p.both_size = product(size, both_size_[s], 1, rows_, kept_);
    p.rest_size = product(size, rest_size_[s], 1, rows_, all_ - kept_);
    p.floor = dot(size.data(), floors_[s].data(), rows_);
    return p;
  }

  const Right& right(int node, int s) {
    Right& o = right_[s][node];
    if (!o.both.empty()) return o;
    const auto beside = [&](const Vector& m, const Vector& size, int begin, int end) {
      const Vector c(y_.c(node) + begin, y_.c(node) + end), r(y_.r(node) + begin, y_.r(node) + end);
      Vector value = product(c, m, 1, end - begin, rows_);
      const Vector more = product(r, size, 1, end - begin, rows_);
      for (int k = 0; k < rows_; ++k) value[k] = std::abs(value[k]) + more[k];
      return value;
    };
    o.both = beside(both_turned_[s], both_turned_size_[s], 0, kept_);
    o.rest = beside(rest_turned_[s], rest_turned_size_[s], kept_, all_);
    return o;
  }

  Pair evaluate(int a, int b, int s) {
    const Left& p = left(a, s);
    const Right& o = right(b, s);
    const double *rx = x_.r(a), *cy = y_.c(b), *ry = y_.r(b);
    const int tail = all_ - kept_;
    const double rounding = (rows_ + all_ + 12) * kUlp;
    double by_y = 0, size = 0, rest_y = 0, rest_size = 0;
    for (int k = 0; k < kept_; ++k) {
      by_y += std::abs(p.both[k]) * ry[k];
      size += p.both_size[k] * (std::abs(cy[k]) + ry[k]);
    }
    for (int k = 0; k < tail; ++k) {
      rest_y += std::abs(p.rest[k]) * ry[kept_ + k];
      rest_size += p.rest_size[k] * (std::abs(cy[kept_ + k]) + ry[kept_ + k]);
    }
    const double by_x = dot(rx, o.both.data(), rows_);
    const double off = terms_.radius * (by_x + by_y) + rounding * size;
    const double least = -(off - dot(p.both.data(), cy, kept_));
    Pair out{std::numeric_limits<double>::infinity(), 0, a, b, s, by_x > by_y};
    if (!(least > 0)) return out;
    const double rest_x = dot(rx, o.rest.data(), rows_);
    const double truncated =
        terms_.cut * (std::abs(dot(p.rest.data(), cy + kept_, tail)) +
                      terms_.radius * (rest_x + rest_y) + rounding * rest_size);
    out.value = (truncated + p.floor) / least;
    out.cut = truncated / least;
    // To split: the side that more of the widths of numerator and denominator are from.
    out.left_wider = rest_x + out.value * by_x > rest_y + out.value * by_y;
    if (std::isnan(out.value)) throw Lost();
    return out;
  }

  const Enclosure &x_, &y_;
  const int rows_, kept_, all_;
  const Vector (&floors_)[2];
  const Terms& terms_;
  Vector both_[2], rest_[2], both_turned_[2], rest_turned_[2];
  Vector both_size_[2], rest_size_[2], both_turned_size_[2], rest_turned_size_[2];  // |.|
  std::vector<Left> left_[2];
  std::vector<Right> right_[2];
  Vector seen_by_x_, seen_by_y_;
};

class RowProof {
 public:
  RowProof(const RowState& row, const GridView& grid, int r, const std::vector<Seen>& before,
           bool cones, const Terms& terms, Team& team)
      : row_(row), terms_(terms), cones_(cones), n_(static_cast<int>(row.applied.size())),
        errors_(n_), ahead_(n_), back_(n_), all_back_(n_) {
    all_of(team, n_, [&](int i, const auto& check) {
      Vector ybar{1.0};
      if (i + 1 < n_) {
        const Vector w(row.gauge[i + 1].begin(), row.gauge[i + 1].begin() + row.applied[i].right);
        ybar = raw_bound(w, before[i + 1], grid.across(r, i), terms);
      }
      errors_[i] = residual(i, ybar);
      check();
    });
    for (int i = 0; i < n_; ++i) {
      const Core &c = row_.cores[i], &t = row_.turned[i];
      Letters &to = ahead_[i], &from = back_[n_ - 1 - i], &all = all_back_[n_ - 1 - i];
      to.from = from.to = c.left;
      to.to = from.from = c.right;
      all.from = t.right;
      all.to = t.left;
      for (int s = 0; s < 2; ++s) {
        to.m[s] = block(t, s, 0, c.left, 0, c.right);
        from.m[s] = turned(to.m[s], c.left, c.right);
        all.m[s] = turned(block(t, s, 0, t.left, 0, t.right), t.left, t.right);
      }
    }
    left_cloud_ = cloud(ahead_);
    right_cloud_ = cloud(back_);
    moved_x_.resize(n_ + 1);
    moved_y_.resize(n_ + 1);
    for (int i = 0; cones && i <= n_; ++i) {
      moved_x_[i] = moves(left_cloud_[i], row_.kept[i]);
      moved_y_[i] = moves(right_cloud_[n_ - i], row_.kept[i]);
    }
    all_cloud_ = left_cloud_;  // seen from all of a bond: one letter more
    for (int i = 0; i < n_; ++i) {
      const Core& t = row_.turned[i];
      const int kept = row_.kept[i], count = static_cast<int>(left_cloud_[i].size()) / kept;
      all_cloud_[i + 1].clear();
      for (int s = 0; s < 2; ++s) {
        const Vector more =
            product(left_cloud_[i], block(t, s, 0, kept, 0, t.right), count, kept, t.right);
        all_cloud_[i + 1].insert(all_cloud_[i + 1].end(), more.begin(), more.end());
      }
    }
    for (auto* clouds : {&left_cloud_, &all_cloud_, &right_cloud_}) {
      for (int i = 0; i <= n_; ++i) {
        Vector& v = (*clouds)[i];
        const int dim = clouds == &right_cloud_ ? row_.kept[n_ - i]
                        : clouds == &all_cloud_ ? row_.dims[i]
                                                : row_.kept[i];
        v = turned(v, static_cast<int>(v.size()) / dim, dim);
      }
      std::reverse(clouds->begin(), clouds->end());
    }
  }

  RowBound bound(const Effort& effort, double target, const std::function<void()>* meanwhile,
                 Team& team) const {
    Encloser right(all_back_, all_cloud_, effort, terms_);  // position p is bond n - p
    Encloser left(ahead_, right_cloud_, effort, terms_);
    Encloser state(back_, left_cloud_, effort, terms_);
    all_of(team, meanwhile ? 4 : 3, [&](int task, const auto& check) {
      if (task == 3) {
        const RoundNearest nearest;
        (*meanwhile)();
        return;
      }
      for (int i = 0; i < n_; ++i, check()) {
        if (task == 0) right.advance(errors_[n_ - 1 - i]);
        if (task == 1) left.advance({}, moved_x_[i + 1]);
        if (task == 2) state.advance({}, moved_y_[n_ - 1 - i]);
      }
    });
    std::vector<double> deltas(n_), cuts(n_);
    all_of(team, n_, [&](int i, const auto& check) {
      deltas[i] = site(i, left, right, target / n_, &cuts[i]);
      check();
    });
    RowBound out;
    for (int i = 0; i < n_; ++i) {
      out.width += deltas[i] / -(deltas[i] - 1);
      out.cut += cuts[i];
    }
    for (int i = 0; i <= n_; ++i) out.seen.push_back(seen_from(state.at(n_ - i)));
    for (const Encloser* side : {&left, &right, &state}) {
      for (int p = 1; p <= n_; ++p) {
        out.shapes.push_back(side->shape(p));
        out.refined.push_back(side->refined(p));
      }
    }
    if (cones_) out.cones = cones(left, state, team);
    return out;
  }

 private:
  // Runs tasks on all threads, each rounding up; throws Lost when one has.
  template <class Run>
  static void all_of(Team& team, int count, const Run& run) {
    std::atomic<bool> lost = false;
    team.work(static_cast<size_t>(count), [&](int worker, int task) {
      const RoundUp up;
      if (lost) return;
      try {
        run(task, [&] { team.check(worker); });
      } catch (const Lost&) {
        lost = true;
      }
    });
    if (lost) throw Lost();
  }

  // Where a product x · y is not proved to be positive, both sides are enclosed again, each judged
  // by what failed on the other.
  ConeFactors cones(Encloser& left, Encloser& state, Team& team) const {
    ConeFactors out(n_);
    std::vector<BondSizes> sizes(n_ + 1);
    all_of(team, n_ + 1, [&](int i, const auto& check) {
      for (int attempt = 0;; ++attempt, check()) {
        sizes[i] = bond_sizes(left.at(i), state.at(n_ - i));
        if (sizes[i].failed_x.empty()) break;
        if (attempt == kAttempts) throw Lost();
        if (i > 0) left.refine(i, sizes[i].failed_y);
        if (i < n_) state.refine(n_ - i, sizes[i].failed_x);
      }
      out.over_x[i] = sizes[i].over_x;
      out.over_y[i] = sizes[i].over_y;
      out.to_x[i] = inverses(moved_x_[i]);
      out.overlap[i] = terms_.cone * dot(sizes[i].over_x.data(), sizes[i].y.data(), row_.kept[i]);
    });
    all_of(team, n_, [&](int i, const auto& check) {
      cone_factors(row_.cores[i], left.at(i), state.at(n_ - 1 - i), sizes[i], sizes[i + 1],
                   inverses(moved_y_[i]), i, terms_, out);
      check();
    });
    for (int i = 0; i < n_; ++i) {
      const int j = n_ - 1 - i;
      out.probe_x[i + 1] = next_probe(row_.cores[i], out.probe_x[i], moved_x_[i + 1], true);
      out.probe_y[j] = next_probe(row_.cores[j], out.probe_y[j + 1], moved_y_[j], false);
    }
    for (int i = 0; i <= n_; ++i) {
      out.reach_x[i] = dot(absolute(out.probe_x[i]).data(), sizes[i].y.data(), row_.kept[i]);
      out.reach_y[i] = dot(absolute(out.probe_y[i]).data(), sizes[i].x.data(), row_.kept[i]);
    }
    return out;
  }

  static Seen seen_from(const Enclosure& e) {
    Seen out;
    out.dim = e.dim;
    for (int node = 0; node < e.size(); ++node) {
      if (e.nodes[node].count > 0) continue;
      out.letters.push_back(e.nodes[node].letter);
      out.centre.insert(out.centre.end(), e.c(node), e.c(node) + e.dim);
      out.radius.insert(out.radius.end(), e.r(node), e.r(node) + e.dim);
    }
    return out;
  }

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
    const Vector seen = product(size, ybar, 2 * b.left, raw, 1);
    const Vector rounding = product(absolute(w), seen, d, b.left, 2);
    const double tau = terms_.tau * row_.tau;
    Vector out(static_cast<size_t>(2) * d, 0.0);
    for (int a = 0; a < d; ++a) {
      for (int s = 0; s < 2; ++s) {
        double sum = tau * rounding[static_cast<size_t>(a) * 2 + s];
        for (int k = 0; k < raw; ++k) {
          const size_t at = (static_cast<size_t>(a) * 2 + s) * raw + k;
          const double gap = std::max(up[at] + other_down[at], other_up[at] + down[at]);
          sum += terms_.residual * std::max(gap, 0.0) * ybar[k];
        }
        out[static_cast<size_t>(s) * d + a] = sum;
      }
    }
    return out;
  }

  // sup |h_{i-1} - h_i| / h_i at site i. Where a denominator is not positive, both sides are
  // enclosed again, each judged by what failed on the other.
  double site(int i, Encloser& left, Encloser& right, double target, double* cut) const {
    const int d = row_.dims[i], kept = row_.kept[i];
    const auto begin = errors_[i].begin();
    const Vector floors[2] = {Vector(begin, begin + kept), Vector(begin + d, begin + d + kept)};
    int patience = 1;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      SitePairs pairs(left.at(i), right.at(n_ - 1 - i), row_.turned[i], kept, row_.kept[i + 1],
                      floors, terms_);
      const double delta = pairs.worst(target, cut);
      if (delta < kSafe) return delta;
      const int before = left.at(i).size() + right.at(n_ - 1 - i).size();
      if (i > 0) left.refine(i, pairs.seen_by_y(), patience);
      if (i + 1 < n_) right.refine(n_ - 1 - i, pairs.seen_by_x(), patience);
      if (left.at(i).size() + right.at(n_ - 1 - i).size() > before) continue;
      if (patience == kMostPatience) break;
      patience *= 2;  // both trees are as large as they may be
    }
    throw Lost();
  }

  const RowState& row_;
  const Terms& terms_;
  const bool cones_;
  int n_;
  std::vector<Vector> errors_;             // (2 × dims[i])
  std::vector<Vector> moved_x_, moved_y_;  // per bond: how far vectors are moved for cones
  // The cores to the right and to the left, and all of T to the left.
  std::vector<Letters> ahead_, back_, all_back_;
  std::vector<Vector> left_cloud_, right_cloud_, all_cloud_;  // in the order of the other side
};

}  // namespace

Vector raw_bound(const Vector& w, const Seen& boxes, double coupling, const Terms& terms) {
  const int bond = boxes.dim;
  const double same = bounded_exp_nearest(coupling), other = bounded_exp_nearest(-coupling);
  Vector out(static_cast<size_t>(bond) * 2, 0.0);
  for (size_t v = 0; v < boxes.letters.size(); ++v) {
    const double* c = boxes.centre.data() + v * bond;
    const double* r = boxes.radius.data() + v * bond;
    const bool up = boxes.letters[v] == 0;
    const double e[2] = {up ? same : other, up ? other : same};
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

RowBound bound_row(const RowState& row, const GridView& grid, int r,
                   const std::vector<Seen>& before, const std::vector<Effort>& efforts,
                   size_t* start, double target, bool cones, const Terms& terms,
                   const std::function<void()>& meanwhile, Team& team) {
  RowProof proof(row, grid, r, before, cones, terms, team);
  bool called = !meanwhile;
  RowBound best;
  best.width = std::numeric_limits<double>::infinity();
  for (; *start < efforts.size(); ++*start) {
    try {
      RowBound found = proof.bound(efforts[*start], target, called ? nullptr : &meanwhile, team);
      if (found.width < best.width) best = std::move(found);
    } catch (const Lost&) {
      called = true;
      continue;
    }
    called = true;
    if (best.width <= efforts[*start].enough * target) break;
  }
  *start = std::min(*start, efforts.size() - 1);
  if (!std::isfinite(best.width)) throw Lost();
  return best;
}

}  // namespace planaris::tensor
