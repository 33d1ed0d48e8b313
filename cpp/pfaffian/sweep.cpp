#include "pfaffian/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <type_traits>

#include "base/double_double.hpp"
#include "base/team.hpp"
#include "fronts/rank_update.hpp"
#include "fronts/tree_tasks.hpp"
#include "moats/clustered_sweep.hpp"

namespace planaris {

namespace {

// The inverse on the rows that a front leaves to its parent, as far as they are still there:
// `alive` lists them in the order in which the front left them.
template <class T>
struct Left {
  std::vector<int32_t> alive;
  std::vector<T> inverse;  // full, column-major
};

template <class T>
class Sweep {
 public:
  Sweep(const FrontTree& tree, const KasteleynEntries& entries, const Factors<T>& factors,
        int threads, Control& control)
      : tree_(tree), entries_(entries), factors_(factors), team_(threads, control) {
    flush_ = std::is_same_v<T, double> && entries.flush();
    parallel_ = [this](int count, const std::function<void(int)>& body) {
      if (!flush_) return team_.parallel_for(count, body);
      team_.parallel_for(count, [&body](int k) {
        [[maybe_unused]] const FlushToZero flushed;  // whatever thread helps
        body(k);
      });
    };
  }

  UncutProbabilities probabilities() {
    probability_.assign(entries_.sign.size(), 1.0);
    run();
    UncutProbabilities result;
    for (const Worker& w : workers_) result.residual = std::max(result.residual, w.excess);
    result.uncut = std::move(probability_);
    return result;
  }

 private:
  struct Worker {
    std::vector<Left<T>> stack;
    std::vector<T> lower, inverse, small;
    std::vector<int32_t> index, order, sorted, row_at;
    int32_t size = 0;
    Packing packing;
    std::vector<LegPlace> places;  // of rows on their way to a child
    ClusteredSweep::Buffers clustered;
    double excess = 0.0, done = 0.0;
  };

  void run() {
    const TreeTasks cut = cut_tasks(tree_, team_.threads());
    workers_.resize(team_.threads());
    handed_.assign(cut.tasks.size(), {});
    team_.work(cut.successors(tree_, false), cut.waits(tree_, false),
               [&](int worker, int task) { run_task(cut, worker, task); });
  }

  void run_task(const TreeTasks& cut, int worker, int task) {
    std::optional<FlushToZero> flushed;
    if (flush_) flushed.emplace();
    run_nodes(cut, worker, task);
  }

  PLANARIS_NOINLINE void run_nodes(const TreeTasks& cut, int worker, int task) {
    Worker& w = workers_[worker];
    const auto [first, last] = cut.tasks[task];
    w.stack.clear();
    w.stack.push_back(std::move(handed_[task]));
    for (int32_t node = last; node >= first; --node) {
      w.done += tree_.own_work(node);
      team_.check(worker, w.done * team_.threads() / tree_.work.back());
      const Left<T> left = std::move(w.stack.back());
      w.stack.pop_back();
      visit(w, node, left);
      if (tree_.is_leaf(node)) continue;
      const int32_t children[2] = {tree_.left[node], tree_.right[node]};
      for (int side = 0; side < 2; ++side) {
        Left<T> down = restrict_to_child(w, node, children[side], side);
        const int32_t below = cut.task_of_root[children[side]];
        if (first == last && below >= 0) {
          handed_[below] = std::move(down);
        } else {
          w.stack.push_back(std::move(down));  // the right child comes first
        }
      }
    }
  }

  // Leaves the inverse in w.inverse (size × size) and in w.index, for every row of the
  // front as assembled, its row there or -1.
  void visit(Worker& w, int32_t node, const Left<T>& left) {
    const FrontFactor<T>& f = factors_[node];
    const int32_t e = f.eliminated, kept = static_cast<int32_t>(left.alive.size());
    const int32_t n = e + kept;
    sort_left(w, f, left);
    w.order.resize(n);  // place in the front of every row that is still there
    for (int32_t k = 0; k < e; ++k) w.order[k] = k;
    for (int32_t k = 0; k < kept; ++k) w.order[e + k] = e + left.alive[w.sorted[k]];
    w.lower.resize(size_t(n) * e);
    for (int32_t j = 0; j < e; ++j) {
      const T* from = f.lower.data() + size_t(j) * f.rows;
      T* to = w.lower.data() + size_t(j) * n;
      for (int32_t i = j; i < n; ++i) to[i] = from[w.order[i]];
    }
    w.inverse.assign(size_t(n) * n, T(0.0));
    for (int32_t j = 0; j < kept; ++j) {
      const T* from = left.inverse.data() + size_t(w.sorted[j]) * kept;
      T* to = w.inverse.data() + size_t(e + j) * n + e;
      for (int32_t i = 0; i < kept; ++i) to[i] = from[w.sorted[i]];
    }
    extend(w, f, n, e);
    // From places in the front to rows as assembled.
    std::vector<int32_t>& at = w.index;
    at.assign(f.rows, -1);
    for (int32_t k = 0; k < n; ++k) at[w.order[k]] = k;
    std::vector<int32_t>& assembled = w.order;
    assembled.resize(f.rows);
    for (int32_t row = 0; row < f.rows; ++row) assembled[row] = at[f.place[row]];
    std::swap(w.index, w.order);
    w.size = n;
    note_probabilities(w, node, n);
    check_faces(w, node, n);
  }

  // Writes row_at: by place in a front, its row as assembled.
  static void find_rows(Worker& w, const FrontFactor<T>& f) {
    w.row_at.resize(f.rows);
    for (int32_t row = 0; row < f.rows; ++row) w.row_at[f.place[row]] = row;
  }

  // Writes an order of the rows that are left: clusters side by side.
  static void sort_left(Worker& w, const FrontFactor<T>& f, const Left<T>& left) {
    w.sorted.resize(left.alive.size());
    std::iota(w.sorted.begin(), w.sorted.end(), 0);
    if (f.panels.empty()) return;
    find_rows(w, f);
    const auto cluster = [&](int32_t k) {
      return f.places[w.row_at[f.eliminated + left.alive[k]]].cluster;
    };
    std::stable_sort(w.sorted.begin(), w.sorted.end(),
                     [&](int32_t a, int32_t b) { return cluster(a) < cluster(b); });
  }

  static int32_t panel_width(int32_t n) { return n < 128 ? 16 : 48; }

  // Fills the inverse from its lower right block, panel by panel from the right.
  void extend(Worker& w, const FrontFactor<T>& f, int32_t n, int32_t e) {
    if (!f.panels.empty()) return extend_clusters(w, f, n, e);
    for (int32_t k1 = e; k1 > 0;) {
      const int32_t k0 = std::max(0, k1 - panel_width(n)), p = k1 - k0, t = n - k1;
      T* corner = w.inverse.data() + size_t(k0) * n + k0;
      multiply_add<T>(t, p, t, T(-1.0), corner + size_t(p) * n + p, 1, n,
                      w.lower.data() + size_t(k0) * n + k1, 1, n, corner + p, n, w.packing,
                      parallel_);
      extend_panel(w, n, k0, p, t);
      k1 = k0;
    }
  }

  // The panels of the elimination; once the first pair of one is done, its rows are again where
  // they were before they climbed.
  void extend_clusters(Worker& w, const FrontFactor<T>& f, int32_t n, int32_t e) {
    if constexpr (std::is_same_v<T, double>) {
      std::vector<LegPlace>& places = w.clustered.places;
      places.assign(f.climbed.begin(), f.climbed.end());
      for (int32_t k = e; k < n; ++k) places.push_back(f.places[w.row_at[w.order[k]]]);
      w.clustered.runs.clear();
      for (const LegPlace& place : places) w.clustered.runs.add(place.cluster);
      for (int32_t k = 0; k < e; ++k) w.clustered.runs.add(f.places[w.row_at[k]].cluster);
      w.clustered.runs.measure(*entries_.clusters);
      ClusteredSweep sweep(*entries_.clusters, n, w.lower.data(), w.inverse.data(), w.clustered,
                           w.packing, parallel_);
      for (size_t panel = f.panels.size(); panel-- > 0;) {
        const int32_t k0 = panel == 0 ? 0 : f.panels[panel - 1];
        for (int32_t end = f.panels[panel]; end > k0;) {
          const int32_t begin = std::max(k0, end - panel_width(n));
          sweep.add_below(begin, end);
          extend_panel(w, n, begin, end - begin, n - end);
          end = begin;
        }
        for (const int32_t k : {k0 + 1, k0}) sweep.move(k, k0, f.places[w.row_at[k]]);
      }
    }
  }

  // By substitution, pair by pair from the right: K⁻¹_Tq = -K⁻¹_TT' L_T'q with T' all rows after
  // q. (The inverse of a block of L would do the same in fewer calls, but at low temperature its
  // entries are huge and cancel.) The sum over the rows below the panel is there already.
  void extend_panel(Worker& w, int32_t n, int32_t k0, int32_t p, int32_t t) {
    const T* lower = w.lower.data() + size_t(k0) * n + k0;  // (p + t) × p, leading dimension n
    T* corner = w.inverse.data() + size_t(k0) * n + k0;
    T* below = corner + p;
    for (int32_t q = p - 2; q >= 0; q -= 2) {
      for (int32_t c = q; c < q + 2; ++c) {
        T* to = below + size_t(c) * n;
        for (int32_t r = q + 2; r < p; ++r) {
          const T factor = -lower[size_t(c) * n + r];
          const T* from = below + size_t(r) * n;
          for (int32_t i = 0; i < t; ++i) to[i] += from[i] * factor;
        }
      }
    }
    // product[a, c] = Σ over T of K⁻¹_Ta L_Tc
    w.small.assign(size_t(p) * p, T(0.0));
    T* product = w.small.data();
    multiply_add<T>(p, p, t, T(1.0), below, n, 1, lower + p, 1, n, product, p, w.packing, nullptr);
    for (int32_t q = p - 2; q >= 0; q -= 2) {
      for (int32_t c = q; c < q + 2; ++c) {
        T* to = corner + size_t(c) * n;
        for (int32_t i = q + 2; i < p; ++i) {
          T sum = product[size_t(c) * p + i];
          for (int32_t r = q + 2; r < p; ++r) {
            sum += -(corner[size_t(r) * n + i] * lower[size_t(c) * n + r]);
          }
          to[i] = sum;
        }
        for (int32_t i = q + 2; i < p; ++i) corner[size_t(i) * n + c] = -to[i];
      }
      T sum = T(1.0) / lower[size_t(q) * n + q + 1] - product[size_t(q + 1) * p + q];
      for (int32_t i = q + 2; i < p; ++i) {
        sum += -(lower[size_t(q + 1) * n + i] * corner[size_t(q) * n + i]);
      }
      corner[size_t(q) * n + q + 1] = sum;
      corner[size_t(q + 1) * n + q] = -sum;
    }
    for (int32_t j = 0; j < p; ++j) {
      corner[size_t(j) * n + j] = T(0.0);
      for (int32_t i = p; i < p + t; ++i) corner[size_t(i) * n + j] = -corner[size_t(j) * n + i];
    }
  }

  // The exponential of a logarithm, as an entry of two rows of the front of a node.
  T entry(double logarithm, int32_t node, int32_t row, int32_t other) const {
    if (entries_.clusters) {
      const std::vector<LegPlace>& places = factors_[node].places;
      logarithm += entries_.clusters->exponent(places[row], places[other]) * std::numbers::ln2;
    }
    return exponential<T>(logarithm);
  }

  void note_probabilities(Worker& w, int32_t node, int32_t n) {
    for (int32_t k = 0; k < tree_.own_rows(node) / 2; ++k) {
      const int32_t edge = tree_.edge_order[tree_.own[node] + k];
      const int32_t i = w.index[2 * k], j = w.index[2 * k + 1];
      const T join =
          entry(entries_.join[2 * edge] + entries_.join[2 * edge + 1], node, 2 * k, 2 * k + 1);
      const double uncut = to_double(join * w.inverse[size_t(i) * n + j]);
      probability_[edge] = entries_.sign[edge] > 0 ? uncut : -uncut;
    }
  }

  // Row i of K times column i of K⁻¹ is 1. The legs of a face lie in the front of one leaf, the
  // join of a leg was met on the way down: the sum tests what was found all along that way.
  void check_faces(Worker& w, int32_t node, int32_t n) {
    for (int32_t f = tree_.leaf_faces[node]; f < tree_.leaf_faces[node + 1]; ++f) {
      for (int64_t i = tree_.face_begin[f]; i < tree_.face_begin[f + 1]; ++i) {
        const int32_t leg = tree_.face_legs[i], row = w.index[tree_.face_rows[i]];
        double sum = probability_[leg >> 1] - 1.0;
        for (int64_t j = tree_.face_begin[f]; j < tree_.face_begin[f + 1]; ++j) {
          if (j == i) continue;
          const T value = entry(entries_.face[leg] + entries_.face[tree_.face_legs[j]], node,
                                tree_.face_rows[i], tree_.face_rows[j]) *
                          w.inverse[size_t(row) * n + w.index[tree_.face_rows[j]]];
          sum += i < j ? to_double(value) : -to_double(value);
        }
        w.excess = std::max(w.excess, std::isfinite(sum) ? std::fabs(sum)
                                                         : std::numeric_limits<double>::infinity());
      }
    }
  }

  Left<T> restrict_to_child(Worker& w, int32_t node, int32_t child, int side) {
    const FrontFactor<T>&parent = factors_[node], &f = factors_[child];
    const int32_t left = f.rows - f.eliminated, boundary = tree_.boundary_rows(child);
    const int32_t refused = left - boundary;
    const int32_t own = tree_.own_rows(node), delayed = parent.delayed_left + parent.delayed_right;
    const int32_t before = side == 0 ? 0 : parent.delayed_left;
    const int32_t* place = tree_.place.data() + tree_.boundary[child];
    Left<T> down;
    std::vector<int32_t>& at = w.order;
    at.clear();
    std::vector<T> factor;
    if (entries_.clusters) find_rows(w, f);
    w.places.clear();
    w.clustered.places.clear();
    for (int32_t k = 0; k < left; ++k) {
      const int32_t p = k < refused ? 0 : place[k - refused];
      const int32_t row = k < refused ? own + before + k : (p < own ? p : p + delayed);
      if (w.index[row] < 0) continue;
      down.alive.push_back(k);
      at.push_back(w.index[row]);
      if (k < refused) factor.push_back(power_of_two<T>(parent.exponents[before + k]));
      if (!entries_.clusters) continue;
      w.clustered.places.push_back(parent.places[row]);
      w.places.push_back(f.places[w.row_at[f.eliminated + k]]);
    }
    const int32_t n = w.size, kept = static_cast<int32_t>(at.size());
    down.inverse.resize(size_t(kept) * kept);
    for (int32_t j = 0; j < kept; ++j) {
      const T* from = w.inverse.data() + size_t(at[j]) * n;
      T* to = down.inverse.data() + size_t(j) * kept;
      for (int32_t i = 0; i < kept; ++i) to[i] = from[at[i]];
    }
    for (size_t k = 0; k < factor.size(); ++k) {  // undo the scaling of refused rows
      for (int32_t i = 0; i < kept; ++i) {
        T &a = down.inverse[k * kept + i], &b = down.inverse[size_t(i) * kept + k];
        a = a * factor[k];
        b = b * factor[k];
      }
    }
    if constexpr (std::is_same_v<T, double>) {
      if (!entries_.clusters) return down;
      ClusteredSweep moved(*entries_.clusters, kept, nullptr, down.inverse.data(), w.clustered,
                           w.packing, parallel_);
      for (int32_t k = 0; k < kept; ++k) moved.move(k, 0, w.places[k]);
    }
    return down;
  }

  const FrontTree& tree_;
  KasteleynEntries entries_;
  const Factors<T>& factors_;
  Team team_;
  bool flush_;
  ParallelFor parallel_;
  std::vector<Worker> workers_;
  std::vector<Left<T>> handed_;
  std::vector<double> probability_;
};

}  // namespace

template <class T>
UncutProbabilities uncut_probabilities(const FrontTree& tree, const KasteleynEntries& entries,
                                       const Factors<T>& factors, int threads, Control& control) {
  return Sweep<T>(tree, entries, factors, threads, control).probabilities();
}

template UncutProbabilities uncut_probabilities<double>(const FrontTree&, const KasteleynEntries&,
                                                        const Factors<double>&, int, Control&);
template UncutProbabilities uncut_probabilities<DoubleDouble>(const FrontTree&,
                                                              const KasteleynEntries&,
                                                              const Factors<DoubleDouble>&, int,
                                                              Control&);

}  // namespace planaris
