#include "pfaffian/proof_sweep.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/constants.hpp"
#include "base/team.hpp"
#include "fronts/rank_update.hpp"
#include "fronts/tree_tasks.hpp"

namespace planaris {

namespace {

constexpr double kRoom = 1 + 0x1p-30;  // for the roundings of sums of nonnegative numbers
constexpr double kLargest = 0x1p300, kLeast = 0x1p-300;

// H and G on the rows that a front leaves to its parent, full, column-major.
struct Below {
  int32_t rows = 0;
  std::vector<double> bound, inverse;
  double inflation = 0.0;
};

class ProofSweep {
 public:
  ProofSweep(const FrontTree& tree, const std::vector<ProofFactor>& factors, bool wide,
        const ProofWeights& weights, double share, int threads, Control& control)
      : tree_(tree), factors_(factors), wide_(wide), weights_(weights), share_(share),
        team_(threads, control) {
    parallel_ = [this](int count, const std::function<void(int)>& body) {
      team_.parallel_for(count, body);
    };
  }

  SweepBound run() {
    const int32_t nodes = tree_.num_nodes();
    const TreeTasks cut = cut_tasks(tree_, team_.threads());
    workers_.resize(team_.threads());
    handed_.resize(nodes);
    etas_.assign(nodes, 0.0);
    firsts_.assign(nodes, 0.0);
    if (!wide_) {
      result_.inverse.assign(tree_.edge_order.size(), 0.0);
      result_.area.assign(tree_.edge_order.size(), 0.0);
    }
    team_.work(cut.successors(tree_, false), cut.waits(tree_, false), [&](int worker, int task) {
      Worker& w = workers_[worker];
      for (int32_t node = cut.tasks[task].last; node >= cut.tasks[task].first; --node) {
        team_.check(worker, w.done * team_.threads() / tree_.work.back());
        w.done += tree_.own_work(node);
        if (sound_.load(std::memory_order_relaxed)) visit(w, node);
      }
    });
    for (int32_t node = 0; node < nodes; ++node) {
      result_.eta += etas_[node];
      result_.first += firsts_[node];
    }
    for (const Worker& w : workers_) {
      result_.inflation = std::max(result_.inflation, w.inflation);
    }
    result_.eta = (result_.eta + 0x1p-150) * kRoom;  // and more than all that has underflowed
    result_.first = wide_ ? kInfinity : (result_.first + share_ * result_.eta) * kRoom;
    result_.sound = sound_ && std::isfinite(result_.eta) && (wide_ || std::isfinite(result_.first));
    return std::move(result_);
  }

 private:
  static constexpr int kWidth = 32, kWindow = 64;
  static constexpr double kNarrower = 0x1p-10;  // panels that enlarge H by more are halved

  struct Worker {
    std::vector<double> bound, inverse, root, sizes;  // H, G, square roots of H_ii, |L||D||L|ᵀ
    std::vector<double> small, transfer, left, right, product;
    std::vector<double> weighted, kappa;
    Packing packing;
    double inflation = 0.0, done = 0.0;
  };

  void visit(Worker& w, int32_t node) {
    const ProofFactor& f = factors_[node];
    const int32_t n = f.rows, e = f.eliminated, kept = n - e;
    Below above = std::move(handed_[node]);
    w.bound.resize(size_t(n) * n);
    if (!wide_) w.inverse.resize(size_t(n) * n);
    w.root.resize(n);
    for (int32_t j = 0; j < kept; ++j) {
      const size_t from = size_t(j) * kept, to = size_t(e + j) * n + e;
      std::copy_n(above.bound.begin() + from, kept, w.bound.begin() + to);
      if (!wide_) std::copy_n(above.inverse.begin() + from, kept, w.inverse.begin() + to);
      w.root[e + j] = std::sqrt(above.bound[from + j]);
    }
    double inflation = above.inflation;
    for (int32_t end = e; end > 0;) {
      int32_t begin = std::max(0, (end - 1) / kWidth * kWidth);
      double more = extend(w, f, begin, end);
      while (!(more < kNarrower) && end - begin > 2) {  // N of a single pair is the identity
        begin = end - (end - begin) / 4 * 2;
        more = extend(w, f, begin, end);
      }
      if (weights_.inject_sweep > 0.0) inject(w, n, begin, end, more / outweighing());
      enlarge(w, n, begin, weights_.inflation * more);
      inflation += more;
      if (!(more < 0.01)) sound_ = false;
      end = begin;
    }
    if (!sound_.load(std::memory_order_relaxed)) return;
    w.inflation = std::max(w.inflation, inflation);
    if (wide_) {
      add_wide_errors(w, node);
    } else {
      add_errors(w, node);
      note_edges(w, node);
    }
    if (tree_.is_leaf(node)) return;
    hand_down(w, node, tree_.left[node], 0, inflation);
    hand_down(w, node, tree_.right[node], f.refused_left, inflation);
  }

  static double size_of(const ProofFactor& f, int32_t i, int32_t j) {
    return std::fabs(f.lower[size_t(j) * f.rows + i]);
  }

  // From rows T = [end, n) to rows [begin, n). With N = L_pp⁻¹ and W = L_Tp N:
  // H_Tp = -H_TT W, H_pp = Nᵀ |D_p|⁻¹ N + Wᵀ H_TT W, and the same of G with D for |D|. Returns
  // the share by which all diagonals of H have to be enlarged.
  double extend(Worker& w, const ProofFactor& f, int32_t begin, int32_t end) {
    const int32_t n = f.rows, p = end - begin, t = n - end;
    const double* lower = f.lower.data() + size_t(begin) * n + begin;
    invert(w, lower, n, p);
    // W, and its errors by columns, relative to the sizes of rows.
    w.transfer.assign(size_t(t) * p, 0.0);
    multiply_add<double>(t, p, p, 1.0, lower + p, 1, n, w.small.data(), 1, p, w.transfer.data(), t,
                         w.packing, parallel_);
    const size_t corner = size_t(begin) * n + begin, below = corner + p,
                 rest = size_t(end) * n + end;
    for (std::vector<double>* x : {&w.bound, &w.inverse}) {
      if (wide_ && x == &w.inverse) continue;
      for (int32_t j = 0; j < p; ++j) std::fill_n(x->begin() + below + size_t(j) * n, t, 0.0);
      multiply_add<double>(t, p, t, -1.0, x->data() + rest, 1, n, w.transfer.data(), 1, t,
                           x->data() + below, n, w.packing, parallel_);
    }
    fill_corner(w, lower, n, p, t, corner, true);
    if (!wide_) fill_corner(w, lower, n, p, t, corner, false);
    return enlargement(w, lower, n, p, t, corner);
  }

  // Times the error of H: how much its diagonals are enlarged, for it and for that of G.
  double outweighing() const { return wide_ ? 2 : 1 + (1 + share_) / share_; }

  // Makes errors as large as they are bounded by, in the norm of H: diagonals shrink, and entries of
  // G between two rows that are eliminated together grow.
  void inject(Worker& w, int32_t n, int32_t begin, int32_t end, double rounded) const {
    const double size = std::min(weights_.inject_sweep * rounded, 0.4);
    for (int32_t i = begin; i < n; ++i) w.bound[size_t(i) * (n + 1)] *= 1 - size;
    for (int32_t i = begin; !wide_ && i < end; i += 2) {
      const size_t at = size_t(i) * n + i + 1, mirrored = size_t(i + 1) * n + i;
      const double h = std::sqrt(w.bound[at - 1] * w.bound[mirrored + 1]);
      w.inverse[at] += std::copysign(size * h, w.inverse[at]);
      w.inverse[mirrored] = -w.inverse[at];
    }
  }

  void enlarge(Worker& w, int32_t n, int32_t begin, double share) {
    const double factor = (1 + share) * (1 + 4 * kUnit);
    for (int32_t i = begin; i < n; ++i) {
      double& diagonal = w.bound[size_t(i) * n + i];
      diagonal *= factor;
      w.root[i] = std::sqrt(diagonal);
      if (!(diagonal > kLeast && diagonal < kLargest)) sound_ = false;
    }
  }

  // N, column by column; the pivots stand where L has zeros.
  static void invert(Worker& w, const double* lower, int32_t n, int32_t p) {
    w.small.assign(size_t(p) * p, 0.0);
    for (int32_t c = 0; c < p; ++c) {
      double* column = w.small.data() + size_t(c) * p;
      column[c] = 1.0;
      for (int32_t k = c; k < p; ++k) {
        const double factor = column[k];
        if (factor == 0.0) continue;
        for (int32_t i = (k | 1) + 1; i < p; ++i) column[i] -= lower[size_t(k) * n + i] * factor;
      }
    }
  }

  // H_pp or G_pp, and the blocks above the diagonal.
  void fill_corner(Worker& w, const double* lower, int32_t n, int32_t p, int32_t t, size_t corner,
                   bool of_bound) {
    std::vector<double>& x = of_bound ? w.bound : w.inverse;
    const double* below = x.data() + corner + p;
    w.product.assign(size_t(p) * p, 0.0);
    multiply_add<double>(p, p, t, -1.0, w.transfer.data(), t, 1, below, 1, n, w.product.data(), p,
                         w.packing, nullptr);
    const double mirrored = of_bound ? 1.0 : -1.0;
    // Columns of |D|⁻¹N or D⁻¹N.
    w.right.resize(size_t(p) * p);
    for (int32_t k = 0; k < p; k += 2) {
      const double d = lower[size_t(k) * n + k + 1];
      for (int32_t j = 0; j < p; ++j) {
        const double *from = w.small.data() + size_t(j) * p + k;
        double* to = w.right.data() + size_t(j) * p + k;
        to[0] = of_bound ? from[0] / std::fabs(d) : -from[1] / d;
        to[1] = of_bound ? from[1] / std::fabs(d) : from[0] / d;
      }
    }
    for (int32_t j = 0; j < p; ++j) {
      const double* scaled = w.right.data() + size_t(j) * p;
      for (int32_t i = of_bound ? j : j + 1; i < p; ++i) {
        const double* column = w.small.data() + size_t(i) * p;
        double sum = 0.0;
        for (int32_t k = i; k < p; ++k) sum += column[k] * scaled[k];
        const double value = sum + w.product[size_t(j) * p + i];
        x[corner + size_t(j) * n + i] = value;
        x[corner + size_t(i) * n + j] = mirrored * value;
      }
      if (!of_bound) x[corner + size_t(j) * (n + 1)] = 0.0;
      for (int32_t i = 0; i < t; ++i) {
        x[corner + size_t(p + i) * n + j] = mirrored * below[size_t(j) * n + i];
      }
    }
  }

  // Rounding of H and of G, entry by entry at most sqrt(H_ii) ε_j for i in T and j in p, and what
  // follows for p × p: enlarging all diagonals by `share` outweighs it in the Loewner order.
  double enlargement(Worker& w, const double* lower, int32_t n, int32_t p, int32_t t,
                     size_t corner) {
    const int32_t end = n - t;
    const double *root = w.root.data() + end, *small = w.small.data();
    // s_r = Σ_T sqrt(H_kk) |L_kr| and ω_j = Σ_T sqrt(H_kk) |W_kj|
    w.weighted.assign(p, 0.0);
    w.kappa.assign(p, 0.0);
    for (int32_t j = 0; j < p; ++j) {
      const double *l = lower + size_t(j) * n + p, *x = w.transfer.data() + size_t(j) * t;
      double s = 0.0, omega = 0.0;
      for (int32_t k = 0; k < t; ++k) {
        s += root[k] * std::fabs(l[k]);
        omega += root[k] * std::fabs(x[k]);
      }
      w.weighted[j] = s;
      w.kappa[j] = omega;
    }
    const double unit_t = (std::max(multiply_add_roundings(t, p, t),
                                    multiply_add_roundings(p, p, t)) + 4) * kUnit;
    // Of pairs the factors are high parts, off by one rounding: so are L_Tp, L_pp and D here.
    const double unit_p =
        (std::max(multiply_add_roundings(t, p, p), p) + (wide_ ? 12 : 8)) * kUnit;
    double squares = 0.0, kappas = 0.0, turn = 0.0;
    std::vector<double>& size = w.left;  // sqrt(H_jj) of the new rows
    size.resize(p);
    for (int32_t j = 0; j < p; ++j) {
      const double h = w.bound[corner + size_t(j) * n + j];
      if (!(h > kLeast && h < kLargest)) return kInfinity;
      size[j] = std::sqrt(h);
    }
    w.product.resize(p);
    for (int32_t r = 0; r < p; ++r) {
      double column = size[r];
      for (int32_t i = (r | 1) + 1; i < p; ++i) {
        column += size[i] * std::fabs(lower[size_t(r) * n + i]);
      }
      w.product[r] = column;
    }
    for (int32_t j = 0; j < p; ++j) {
      // The residual of N, L N - I, is at most unit_p |L||N|.
      double transferred = 0.0, residual = 0.0;
      for (int32_t r = j; r < p; ++r) {
        const double entry = std::fabs(small[size_t(j) * p + r]);
        transferred += w.weighted[r] * entry;
        residual += w.product[r] * entry;
      }
      turn = std::max(turn, unit_p * residual / size[j]);
      const double error = (unit_t * w.kappa[j] + unit_p * transferred) / size[j] + unit_p;
      squares += error * error;
      const double kappa = w.kappa[j] / size[j];
      kappas += kappa * kappa;
    }
    if (!(turn < 0.001)) return kInfinity;
    const double errors = std::sqrt(squares) + 2 * turn * std::sqrt(double(p));
    const double rounded =
        2 * errors * (std::sqrt(double(t)) + 2 * std::sqrt(double(p)) + 2 * std::sqrt(kappas));
    return rounded * outweighing();
  }

  // Of two rows with the inner product h, given the product of their sizes; at least that.
  static double area(double sizes, double h) {
    const double square = sizes * sizes, left = square - h * h;
    return std::sqrt((left < 0.0 ? 0.0 : left) + 16 * kUnit * square);  // NaN stays NaN
  }

  // Adds up what the backward errors of a front may do, entry by entry.
  void add_errors(Worker& w, int32_t node) {
    const ProofFactor& f = factors_[node];
    const int32_t n = f.rows, e = f.eliminated;
    multiply_sizes(w, f);
    double eta = 0.0, first = 0.0;
    const float* rest = f.rest.data();
    for (int32_t j = 0; j + 1 < n; ++j) {
      const size_t from = size_t(j) * (n + 1) + 1;
      double* errors = w.sizes.data() + from;
      const int32_t count = n - 1 - j;
      for (int32_t i = 0; i < count; ++i) errors[i] *= f.update;
      if (j >= e) {
        for (int32_t i = 0; i < count; ++i) errors[i] += f.entry * rest[i];
        rest += count;
      }
      add_column(count, errors, w.root.data() + j + 1, w.root[j], w.bound.data() + from,
                 w.inverse.data() + from, eta, first);
    }
    etas_[node] = eta;
    firsts_[node] = first;
  }

  // The same, with sqrt(H_ii H_jj) for areas: sums over the rows of a column are enough then.
  void add_wide_errors(Worker& w, int32_t node) {
    const ProofFactor& f = factors_[node];
    const int32_t n = f.rows, e = f.eliminated;
    const double* root = w.root.data();
    double products = 0.0, most = 0.0;
    for (int32_t k = 0; k < e; k += 2) {
      const double d = size_of(f, k + 1, k);
      double first = 0.0, second = 0.0;
      for (int32_t i = k + 2; i < n; ++i) {
        const double l1 = size_of(f, i, k), l2 = size_of(f, i, k + 1);
        first += root[i] * l1;
        second += root[i] * l2;
        most = std::max(most, std::max(l1, l2) * (1 + d));
      }
      first += root[k];
      second += root[k + 1];
      products += d * first * second;
      if (!(d > kLeast)) most = kInfinity;
    }
    if (!(most < kLargest)) sound_ = false;
    double left = 0.0;
    const float* rest = f.rest.data();
    for (int32_t j = e; j < n; ++j) {
      double column = 0.0;
      for (int32_t i = j + 1; i < n; ++i) column += *rest++ * root[i];
      left += column * root[j];
    }
    etas_[node] = f.update * products + f.entry * left;
  }

  // In lanes, so that compilers may use vectors.
  static void add_column(int32_t count, const double* errors, const double* root, double own,
                         const double* h, const double* g, double& eta, double& first) {
    constexpr int kLanes = 4;
    double areas[kLanes] = {}, entries[kLanes] = {};
    int32_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) {
        areas[k] += errors[i + k] * area(root[i + k] * own, h[i + k]);
        entries[k] += errors[i + k] * std::fabs(g[i + k]);
      }
    }
    for (; i < count; ++i) {
      areas[0] += errors[i] * area(root[i] * own, h[i]);
      entries[0] += errors[i] * std::fabs(g[i]);
    }
    eta += (areas[0] + areas[1]) + (areas[2] + areas[3]);
    first += (entries[0] + entries[1]) + (entries[2] + entries[3]);
  }

  // |L||D||L|ᵀ, strict lower triangle.
  void multiply_sizes(Worker& w, const ProofFactor& f) {
    const int32_t n = f.rows, e = f.eliminated;
    w.sizes.assign(size_t(n) * n, 0.0);
    w.left.resize(size_t(n) * kWindow);
    w.right.resize(size_t(n) * kWindow);
    double most = 0.0;
    for (int32_t begin = 0; begin < e; begin += kWindow) {
      const int32_t end = std::min(begin + kWindow, e), rows = n - begin;
      for (int32_t k = begin; k < end; k += 2) {
        const double d = size_of(f, k + 1, k);
        double *left = w.left.data() + size_t(k - begin) * rows,
               *right = w.right.data() + size_t(k - begin) * rows;
        for (int32_t i = begin; i < n; ++i) {
          const bool inside = i > k + 1;
          const double l1 = inside ? size_of(f, i, k) : i == k, l2 = inside ? size_of(f, i, k + 1) : i == k + 1;
          left[i - begin] = l1 * d;
          left[rows + i - begin] = l2 * d;
          right[i - begin] = l2;
          right[rows + i - begin] = l1;
          most = std::max(most, std::max(l1, l2) * (1 + d));
        }
        if (!(d > kLeast)) most = kInfinity;
      }
      rank_update_lower(rows, rows, end - begin, w.left.data(), rows, w.right.data(), rows,
                        w.sizes.data() + size_t(begin) * n + begin, n, w.packing, parallel_);
    }
    if (!(most < kLargest)) sound_ = false;
  }

  void note_edges(Worker& w, int32_t node) {
    const ProofFactor& f = factors_[node];
    for (int32_t k = 0; k < tree_.own_rows(node) / 2; ++k) {
      const int32_t edge = tree_.edge_order[tree_.own[node] + k];
      const int32_t i = f.place[2 * k], j = f.place[2 * k + 1];
      result_.inverse[edge] = w.inverse[size_t(i) * f.rows + j];
      const double h = w.bound[size_t(i) * f.rows + j];
      result_.area[edge] = area(w.root[i] * w.root[j], h) * (1 + 4 * kUnit);
    }
  }

  void hand_down(Worker& w, int32_t node, int32_t child, int32_t before, double inflation) {
    const ProofFactor &f = factors_[node], &g = factors_[child];
    const int32_t rows = g.rows - g.eliminated, waiting = rows - tree_.boundary_rows(child);
    const int32_t own = tree_.own_rows(node), shift = f.refused_left + f.refused_right, n = f.rows;
    const int32_t* place = tree_.place.data() + tree_.boundary[child];
    std::vector<int32_t> at(rows);
    for (int32_t k = 0; k < rows; ++k) {
      const int32_t p = k < waiting ? 0 : place[k - waiting];
      at[k] = f.place[k < waiting ? own + before + k : (p < own ? p : p + shift)];
    }
    Below& down = handed_[child];
    down.rows = rows;
    down.inflation = inflation;
    down.bound.resize(size_t(rows) * rows);
    if (!wide_) down.inverse.resize(size_t(rows) * rows);
    for (int32_t j = 0; j < rows; ++j) {
      const size_t from = size_t(at[j]) * n, to = size_t(j) * rows;
      for (int32_t i = 0; i < rows; ++i) {
        down.bound[to + i] = w.bound[from + at[i]];
        if (!wide_) down.inverse[to + i] = w.inverse[from + at[i]];
      }
    }
  }

  const FrontTree& tree_;
  const std::vector<ProofFactor>& factors_;
  bool wide_;
  ProofWeights weights_;
  double share_;
  Team team_;
  ParallelFor parallel_;
  std::vector<Worker> workers_;
  std::vector<Below> handed_;
  std::vector<double> etas_, firsts_;
  std::atomic<bool> sound_{true};
  SweepBound result_;
};

}  // namespace

double SweepBound::log_error(double weight) const {
  if (!sound || !(eta < 0.25)) return kInfinity;
  const double second = weight * eta * eta / (1 - 2 * eta);
  return std::min(eta / (1 - 2 * eta), first + second) * kRoom;
}

SweepBound sweep_for_proof(const FrontTree& tree, const std::vector<ProofFactor>& factors,
                           bool wide, const ProofWeights& weights, double share, int threads,
                           Control& control) {
  if (tree.num_nodes() == 0) return {};
  return ProofSweep(tree, factors, wide, weights, share, threads, control).run();
}

}  // namespace planaris
