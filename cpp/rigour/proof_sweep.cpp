#include "rigour/proof_sweep.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "base/constants.hpp"
#include "base/simd.hpp"
#include "base/team.hpp"
#include "fronts/rank_update.hpp"
#include "fronts/tree_tasks.hpp"
#include "fronts/wide_front.hpp"
#include "rigour/swept_front.hpp"

namespace planaris {

namespace {

constexpr double kRoom = 1 + 0x1p-30;  // for the roundings of sums of nonnegative numbers

// Room for H and G of a front, of which the rows that it leaves to its parent are filled, or for
// these rows of H alone; or square roots of the diagonal of H on them.
struct Below {
  std::unique_ptr<double[]> bound, inverse;
  std::vector<double> sizes;
  double inflation = 0.0;
};

// Raises `left` to |x| and `right` to d |x|.
PLANARIS_CLONES void raise(int32_t count, const double* x, double d, double* left, double* right) {
  for (int32_t i = 0; i < count; ++i) {
    const double size = std::fabs(x[i]), product = d * size;
    left[i] = left[i] < size ? size : left[i];
    right[i] = right[i] < product ? product : right[i];
  }
}

class ProofSweep {
 public:
  ProofSweep(const FrontTree& tree, const std::vector<ProofFactor>& factors, bool wide,
             int32_t coarse_rows, const ProofWeights& weights, double share, int threads,
             Control& control)
      : tree_(tree), factors_(factors), wide_(wide), coarse_rows_(coarse_rows), weights_(weights),
        share_(share), team_(threads, control) {
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
    left_errors_.assign(nodes, 0.0);
    for (int32_t node = 0; node < nodes; ++node) {
      const int32_t parent = tree_.parent[node];
      if (parent < 0) continue;
      double& most = left_errors_[parent];
      most = std::max(most, (left_errors_[node] + factors_[node].entry) * (1 + 4 * kUnit));
    }
    coarse_.assign(nodes, 1);
    last_.reserve(nodes);
    for (int32_t node = 0; node < nodes; ++node) {
      const int32_t parent = tree_.parent[node];
      coarse_[node] &= uint8_t(factors_[node].rows <= coarse_rows_);
      if (parent >= 0) coarse_[parent] &= coarse_[node];
      last_.push_back(wide_ && !coarse_[node] && !tree_.is_leaf(node) &&
                      coarse_[tree_.left[node]] && coarse_[tree_.right[node]]);
    }
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
        if (node > cut.tasks[task].first) fetch(factors_[node - 1]);
        if (sound_.load(std::memory_order_relaxed)) visit(w, node);
      }
    });
    for (int32_t node = 0; node < nodes; ++node) {
      result_.eta += etas_[node];
      if (coarse_[node]) result_.coarse += etas_[node];
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
  static constexpr int kWindow = WideFront::kWindow;
  static constexpr double kNarrower = 0x1p-10;     // panels that enlarge H by more are halved
  static constexpr double kMostEnlarged = 0x1p-3;  // the same of a pair of rows: nothing is claimed
  static constexpr double kWorthEntries =
      1e-13;  // bounds of fronts above it are found entry by entry, of pairs
  static constexpr int32_t kPairRows = 24;  // up to here sizes are swept pair by pair

  struct Worker {
    std::vector<double> root, sizes;  // square roots of H_ii, |L||D||L|ᵀ
    std::vector<double> left, right, factor;
    std::vector<PanelSums> windows;  // of columns that were eliminated together
    std::vector<int32_t> at;
    SweepBuffers buffers;
    Packing packing;
    double inflation = 0.0, done = 0.0;
  };

  Below room(int32_t node) const {
    if (coarse_[node]) return {};
    const ProofFactor& f = factors_[node];
    const size_t left = f.rows - f.eliminated;
    const size_t count =
        last_[node] ? left * (left + kProductSlack) : SweptFront::room({f.rows, f.eliminated});
    return {std::make_unique_for_overwrite<double[]>(count),
            wide_ ? nullptr : std::make_unique_for_overwrite<double[]>(count),
            {}};
  }

  // Small factors, of which there are many: they were written long ago.
  static void fetch(const ProofFactor& f) {
    constexpr int32_t kLine = 8, kSmall = 24;
    if (f.rows > kSmall) return;
    const int32_t count = f.eliminated * (2 * f.rows - f.eliminated - 1) / 2;
    for (int32_t k = 0; k < count; k += kLine) __builtin_prefetch(f.lower + k);
    __builtin_prefetch(f.place);
  }

  void visit(Worker& w, int32_t node) {
    const ProofFactor& f = factors_[node];
    const int32_t n = f.rows, e = f.eliminated;
    const FactorColumns columns = f.unpack(w.factor);
    const bool coarse = coarse_[node] != 0, last = last_[node] != 0;
    const Below here = tree_.parent[node] < 0 ? room(node) : std::move(handed_[node]);
    w.root.resize(n + kWeightSlack);
    std::fill_n(w.root.begin() + n, kWeightSlack, 0.0);
    SweptFront front(columns, last ? nullptr : here.bound.get(), here.inverse.get(), w.root.data(),
                     wide_, w.buffers, parallel_);
    const SquareColumns above{last ? here.bound.get() : nullptr, size_t(n - e) + kProductSlack};
    if (coarse) {
      std::copy(here.sizes.begin(), here.sizes.end(), w.root.begin() + e);
    } else {
      for (int32_t i = e; i < n; ++i) {
        w.root[i] = std::sqrt(last ? above.entries[(i - e) * (above.step + 1)] : front.bound(i, i));
      }
    }
    double inflation = here.inflation;
    w.windows.assign((e + kWindow - 1) / kWindow, {});
    if (coarse || last) {
      sweep_sizes(w, front, node, above);
    } else {
      sweep_panels(w, front, f, inflation);
    }
    if (!sound_.load(std::memory_order_relaxed)) return;
    w.inflation = std::max(w.inflation, inflation);
    if (wide_) {
      if (!front.in_range()) sound_ = false;
      const double error = f.update + left_errors_[node];
      double products = 0.0;
      for (const PanelSums& window : w.windows) products += window.products;
      etas_[node] = error * products;
      if (!coarse && !last && etas_[node] > kWorthEntries) {
        etas_[node] = std::min(etas_[node], error * products_by_entries(w, columns, front));
      }
      if (f.split > 0.0) etas_[node] += f.split * split_products(w, columns);
    } else {
      add_errors(w, node, columns, front);
      note_edges(w, node, front);
    }
    if (tree_.is_leaf(node)) return;
    hand_down(w, front, node, tree_.left[node], 0, inflation);
    hand_down(w, front, node, tree_.right[node], f.refused_left, inflation);
  }

  // H, and G, of all rows of a front.
  void sweep_panels(Worker& w, SweptFront& front, const ProofFactor& f, double& inflation) {
    const int32_t width = f.rows < 64 ? 16 : f.rows < 192 ? 32 : 64;
    for (int32_t end = f.eliminated; end > 0;) {
      int32_t begin = (end - 1) / width * width;
      double rounded = front.extend(begin, end);
      while (!(rounded * outweighing() < kNarrower) && end - begin > 2) {
        begin = end - (end - begin) / 4 * 2;  // N of a single pair is the identity
        rounded = front.extend(begin, end);
      }
      const double injected = std::min(weights_.inject_sweep * rounded, 0.4);
      if (injected > 0.0) front.inject(begin, end, injected);
      const double more = rounded * outweighing(), enlarged = 1 + weights_.inflation * more;
      if (!front.enlarge(begin, enlarged)) sound_ = false;
      if (wide_) add_sums(w, front, begin, end, (1 - injected) * enlarged);
      inflation += more;
      if (!(more < kMostEnlarged)) sound_ = false;
      end = begin;
    }
  }

  // Square roots of the diagonal of H; of larger fronts all at once, as every panel gives away
  // some. With H of the rows above, if it is given, or else from its diagonal alone.
  void sweep_sizes(Worker& w, SweptFront& front, int32_t node, const SquareColumns& above) {
    const ProofFactor& f = factors_[node];
    for (int32_t end = f.eliminated; end > 0;) {
      int32_t begin = above.entries == nullptr && f.rows <= kPairRows ? end - 2 : 0;
      double rounded = front.extend_sizes(begin, end, coarse_[node] ? SquareColumns{} : above);
      while (!(rounded < kNarrower)) {
        coarse_[node] = 1;
        begin = end - (end - begin) / 4 * 2;
        rounded = front.extend_sizes(begin, end);
      }
      const double injected = std::min(weights_.inject_sweep * rounded, 0.4);
      const double factor = (1 - injected) * (1 + weights_.inflation * outweighing() * rounded);
      if (!front.enlarge_sizes(factor)) sound_ = false;
      add_sums(w, front, begin, end, factor * factor * kRoom);
      end = begin;
    }
  }

  // Those of a panel, to those of the windows that its columns were eliminated in.
  static void add_sums(Worker& w, const SweptFront& front, int32_t begin, int32_t end,
                       double factor) {
    for (int32_t k = begin; k < end;) {
      const int32_t stop = std::min((k / kWindow + 1) * kWindow, end);
      w.windows[k / kWindow].add(front.sums(k, stop), factor);
      k = stop;
    }
  }

  // Times the error of H: how much its diagonals are enlarged, for it and for that of G.
  double outweighing() const { return wide_ ? 2 : 1 + (1 + share_) / share_; }

  static double size_of(const FactorColumns& f, int32_t i, int32_t j) {
    return std::fabs(f.column(j)[i]);
  }

  // Of two rows with the inner product h, given the product of their sizes; at least that.
  static double area(double sizes, double h) {
    const double square = sizes * sizes, left = square - h * h;
    return std::sqrt((left < 0.0 ? 0.0 : left) + 16 * kUnit * square);  // NaN stays NaN
  }

  // Adds up what the backward errors of a front may do, entry by entry.
  void add_errors(Worker& w, int32_t node, const FactorColumns& columns, const SweptFront& front) {
    const ProofFactor& f = factors_[node];
    const int32_t n = f.rows, e = f.eliminated;
    multiply_sizes(w, columns);
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
      add_column(count, errors, w.root.data() + j + 1, w.root[j], front.bound_column(j) + j + 1,
                 front.inverse_column(j) + j + 1, eta, first);
    }
    etas_[node] = eta;
    firsts_[node] = first;
  }

  // Σ_ij (|L||D||L|ᵀ)_ij a_ij: far less than the sum of products where rows of H are all but
  // parallel.
  double products_by_entries(Worker& w, const FactorColumns& columns, const SweptFront& front) {
    multiply_sizes(w, columns);
    const int32_t n = columns.rows;
    double sum = 0.0;
    for (int32_t j = 0; j + 1 < n; ++j) {
      const double *sizes = w.sizes.data() + size_t(j) * n, *h = front.bound_column(j);
      double column = 0.0;
      for (int32_t i = j + 1; i < n; ++i) column += sizes[i] * area(w.root[i] * w.root[j], h[i]);
      sum += column;
    }
    return sum;
  }

  // Σ_ij sqrt(H_ii H_jj) (max_k |L_jk D_k| Σ_k |L_ik| + 2 max_k |L_ik| Σ_k |L_jk D_k|) of every
  // window, at most.
  static double split_products(Worker& w, const FactorColumns& f) {
    double sum = 0.0;
    for (size_t window = 0; window < w.windows.size(); ++window) {
      const auto begin = static_cast<int32_t>(window) * kWindow;
      const int32_t end = std::min(begin + kWindow, f.eliminated), rows = f.rows - begin;
      for (auto* sizes : {&w.left, &w.right}) sizes->assign(rows + kWeightSlack, 0.0);
      for (int32_t k = begin; k < end; ++k) {
        const int32_t first = (k | 1) + 1;
        raise(f.rows - first, f.column(k) + first, size_of(f, k | 1, k & ~1),
              w.left.data() + (first - begin), w.right.data() + (first - begin));
      }
      double of_left = 0.0, of_right = 0.0;
      weighted_sums(rows, 1, w.root.data() + begin, w.left.data(), 0, &of_left);
      weighted_sums(rows, 1, w.root.data() + begin, w.right.data(), 0, &of_right);
      sum += of_right * w.windows[window].left + 2 * of_left * w.windows[window].right;
    }
    return sum;
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
  void multiply_sizes(Worker& w, const FactorColumns& f) {
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
          const double l1 = inside ? size_of(f, i, k) : i == k,
                       l2 = inside ? size_of(f, i, k + 1) : i == k + 1;
          left[i - begin] = l1 * d;
          left[rows + i - begin] = l2 * d;
          right[i - begin] = l2;
          right[rows + i - begin] = l1;
          most = std::max(most, std::max(l1, l2) * (1 + d));
        }
        if (!(d > kLeastBound)) most = kInfinity;
      }
      rank_update_lower(rows, rows, end - begin, w.left.data(), rows, w.right.data(), rows,
                        w.sizes.data() + size_t(begin) * n + begin, n, w.packing, parallel_);
    }
    if (!(most < kLargestBound)) sound_ = false;
  }

  void note_edges(Worker& w, int32_t node, const SweptFront& front) {
    const ProofFactor& f = factors_[node];
    for (int32_t k = 0; k < tree_.own_rows(node) / 2; ++k) {
      const int32_t edge = tree_.edge_order[tree_.own[node] + k];
      const int32_t i = f.place[2 * k], j = f.place[2 * k + 1];
      result_.inverse[edge] = front.inverse(j, i);
      result_.area[edge] = area(w.root[i] * w.root[j], front.bound(j, i)) * (1 + 4 * kUnit);
    }
  }

  void hand_down(Worker& w, const SweptFront& front, int32_t node, int32_t child, int32_t before,
                 double inflation) {
    const ProofFactor &f = factors_[node], &g = factors_[child];
    const int32_t rows = g.rows - g.eliminated, waiting = rows - tree_.boundary_rows(child);
    const int32_t own = tree_.own_rows(node), shift = f.refused_left + f.refused_right;
    const int32_t* place = tree_.place.data() + tree_.boundary[child];
    std::vector<int32_t>& at = w.at;
    at.resize(rows);
    for (int32_t k = 0; k < rows; ++k) {
      const int32_t p = k < waiting ? 0 : place[k - waiting];
      at[k] = f.place[k < waiting ? own + before + k : (p < own ? p : p + shift)];
    }
    Below& down = handed_[child];
    down = room(child);
    down.inflation = inflation;
    if (coarse_[child]) {
      down.sizes.resize(rows);
      for (int32_t k = 0; k < rows; ++k) down.sizes[k] = w.root[at[k]];
      return;
    }
    const bool last = last_[child] != 0;
    const size_t step = last ? rows + size_t(kProductSlack) : FactorColumns{g.rows}.step();
    const size_t corner = last ? 0 : g.eliminated * (step + 1);
    for (int32_t j = 0; j < rows; ++j) {
      const size_t to = corner + j * step;
      const double* from = front.bound_column(at[j]);
      for (int32_t i = 0; i < rows; ++i) down.bound[to + i] = from[at[i]];
      if (wide_) continue;
      from = front.inverse_column(at[j]);
      for (int32_t i = 0; i < rows; ++i) down.inverse[to + i] = from[at[i]];
    }
  }

  const FrontTree& tree_;
  const std::vector<ProofFactor>& factors_;
  bool wide_;
  int32_t coarse_rows_;
  ProofWeights weights_;
  double share_;
  Team team_;
  ParallelFor parallel_;
  std::vector<Worker> workers_;
  std::vector<Below> handed_;
  std::vector<double> etas_, firsts_;
  // Of pairs. What a front leaves is what its parent has before elimination: no more than the
  // products there and what that leaves. So the products of a front count once more for every front
  // on the way up to it, times its rounding of entries: these sums, the largest by node.
  std::vector<double> left_errors_;
  std::vector<uint8_t> coarse_;  // whether the diagonal of H is all that is bounded
  std::vector<uint8_t>
      last_;  // whether H of the rows above is, and the diagonal is all that is handed down
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
                           bool wide, int32_t coarse_rows, const ProofWeights& weights,
                           double share, int threads, Control& control) {
  if (tree.num_nodes() == 0) return {};
  return ProofSweep(tree, factors, wide, coarse_rows, weights, share, threads, control).run();
}

}  // namespace planaris
