#include "pfaffian/proof_elimination.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/constants.hpp"
#include "base/team.hpp"
#include "fronts/front_elimination.hpp"
#include "fronts/radius_front.hpp"
#include "fronts/tree_tasks.hpp"
#include "fronts/wide_front.hpp"

namespace planaris {

namespace {

// What a front leaves for its parent: first rows that have to wait, then its boundary; strict lower
// triangle, column after column.
struct Handed {
  std::vector<double> entries, low, radii;
  std::vector<int32_t> legs;  // of the rows that wait
};

// At least the size of an entry: rounding takes 2^-24 of a float, or 2^-150, at most.
float size_above(double entry) {
  return static_cast<float>(std::fabs(entry) * (1 + 0x1p-23) + 0x1p-149);
}

// -1 or 1: the sign of an entry for pattern 0, the other one for 1, else a function of all arguments.
double sign_of(uint64_t pattern, double entry, int32_t node, int32_t i, int32_t j) {
  if (pattern < 2) return (entry < 0.0) == (pattern == 0) ? -1.0 : 1.0;
  uint64_t x = pattern ^ (uint64_t(node) << 42) ^ (uint64_t(i) << 21) ^ uint64_t(j);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return (x ^ (x >> 31)) & 1 ? 1.0 : -1.0;
}

class Run {
 public:
  Run(const FrontTree& tree, const ProofEntries& entries, Bounding bounding,
      const ProofWeights& weights, int threads, Control& control)
      : tree_(tree), entries_(entries), with_radii_(bounding.radii),
        wide_(bounding.wide), weights_(weights), team_(threads, control) {
    parallel_ = [this](int count, const std::function<void(int)>& body) {
      team_.parallel_for(count, body);
    };
  }

  ProofElimination run() {
    const int32_t nodes = tree_.num_nodes();
    const TreeTasks cut = cut_tasks(tree_, team_.threads());
    workers_.resize(team_.threads());
    handed_.resize(nodes);
    pivots_.assign(nodes, {1.0, 0});
    negative_.assign(nodes, 0);
    log_errors_.assign(nodes, 0.0);
    if (!with_radii_) result_.factors.resize(nodes);
    team_.work(cut.successors(tree_, true), cut.waits(tree_, true), [&](int worker, int task) {
      Worker& w = workers_[worker];
      for (int32_t node = cut.tasks[task].first; node <= cut.tasks[task].last; ++node) {
        team_.check(worker, w.done * team_.threads() / tree_.work.back());
        w.done += tree_.own_work(node);
        if (sound_.load(std::memory_order_relaxed)) eliminate_front(w, node);
      }
    });
    // Node by node, so that nothing depends on who did what.
    result_.pivots = {1.0, 0};
    for (int32_t node = 0; node < nodes; ++node) {
      result_.pivots *= pivots_[node];
      result_.pivots.m *= 1 + weights_.inject_pivots * kUnit;
      result_.negative ^= negative_[node] != 0;
      result_.pivots.normalize();
      result_.log_error += log_errors_[node];
    }
    result_.multiplications = int64_t(entries_.sign.size()) + nodes;
    for (const Worker& w : workers_) {
      result_.largest_front = std::max(result_.largest_front, w.largest_front);
    }
    result_.sound = sound_ && std::isfinite(result_.log_error) && result_.pivots.m > 0.0;
    return std::move(result_);
  }

 private:
  struct RankedPair {
    int32_t rank, row;
  };

  struct Worker {
    std::vector<double> matrix, low, radii, pivot_rows;
    std::vector<int32_t> place, perm, legs, map;
    std::vector<RankedPair> ranked;
    RadiusBuffers buffers;
    WideBuffers wide_buffers;
    int32_t largest_front = 0;
    double done = 0.0;
  };

  struct Shape {
    int32_t own, left, right, rows, eliminated;
    int32_t candidates() const { return own + left + right; }
  };

  void eliminate_front(Worker& w, int32_t node) {
    Shape s = list_rows(w, node);
    w.largest_front = std::max(w.largest_front, s.rows);
    w.matrix.assign(size_t(s.rows) * s.rows, 0.0);
    if (with_radii_) w.radii.assign(size_t(s.rows) * s.rows, 0.0);
    if (wide_) w.low.assign(size_t(s.rows) * s.rows, 0.0);
    if (tree_.is_leaf(node)) {
      add_faces(w, node, s);
    } else {
      add_child(w, tree_.left[node], s, 0);
      add_child(w, tree_.right[node], s, s.left);
    }
    add_joins(w, node, s);
    if (!(with_radii_ ? eliminate_with_radii(w, node, s) : eliminate(w, node, s))) sound_ = false;
    Scaled product{1.0, 0};
    for (int32_t k = 0; k < s.eliminated; k += 2) {
      // The entry below the diagonal: the pivot with the other sign.
      const double below = w.matrix[size_t(k) * s.rows + k + 1], size = std::fabs(below);
      negative_[node] ^= uint8_t(below > 0.0);
      if (!(size > 0x1p-900 && size < 0x1p900)) {
        sound_ = false;
        return;
      }
      product.m *= size;  // neither factor is past 2^±901: nothing over- or underflows
      product.m *= 1 + weights_.inject_pivots * kUnit;
      product.normalize();
    }
    pivots_[node] = product;
  }

  // Decides where the rows of the front go: candidates in the order of elimination, those that
  // have to wait behind them, then the boundary. w.legs lists the legs of the candidates.
  Shape list_rows(Worker& w, int32_t node) {
    constexpr int32_t kLater = INT32_MAX;
    Shape s{tree_.own_rows(node), 0, 0, 0, 0};
    w.legs.clear();
    for (int32_t row = 0; row < s.own; ++row) {
      w.legs.push_back(2 * tree_.edge_order[tree_.own[node] + row / 2] + (row & 1));
    }
    if (!tree_.is_leaf(node)) {
      const auto &left = handed_[tree_.left[node]].legs, &right = handed_[tree_.right[node]].legs;
      s.left = static_cast<int32_t>(left.size());
      s.right = static_cast<int32_t>(right.size());
      w.legs.insert(w.legs.end(), left.begin(), left.end());
      w.legs.insert(w.legs.end(), right.begin(), right.end());
    }
    s.rows = s.candidates() + tree_.boundary_rows(node);
    w.ranked.clear();
    for (int32_t row = 0; row < s.candidates(); row += 2) {
      const int32_t e = w.legs[row] >> 1;
      w.ranked.push_back({entries_.earliest[e] > node ? kLater : entries_.rank[e], row});
    }
    std::stable_sort(w.ranked.begin(), w.ranked.end(),
                     [](const RankedPair& a, const RankedPair& b) { return a.rank < b.rank; });
    w.place.resize(s.rows);
    int32_t next = 0;
    for (const RankedPair& pair : w.ranked) {
      w.place[pair.row] = next++;
      w.place[pair.row + 1] = next++;
      if (pair.rank != kLater) s.eliminated = next;
    }
    for (int32_t row = s.candidates(); row < s.rows; ++row) w.place[row] = row;
    return s;
  }

  // Entries by rows as assembled. Each is set once, but for the join of a bridge.
  void add(Worker& w, const Shape& s, int32_t i, int32_t j, double value) {
    i = w.place[i];
    j = w.place[j];
    const size_t at = size_t(std::min(i, j)) * s.rows + std::max(i, j);
    const TwoDoubles sum = TwoDoubles::sum(w.matrix[at], i > j ? value : -value);
    w.matrix[at] = sum.high;
    if (wide_) w.low[at] += sum.low;  // exact: no more than two numbers are added
  }

  // Nothing waits from below a leaf: its rows are as in the tree.
  void add_faces(Worker& w, int32_t node, const Shape& s) {
    for (int32_t f = tree_.leaf_faces[node]; f < tree_.leaf_faces[node + 1]; ++f) {
      for (int64_t i = tree_.face_begin[f]; i < tree_.face_begin[f + 1]; ++i) {
        for (int64_t j = i + 1; j < tree_.face_begin[f + 1]; ++j) {
          // Pairs that cross no other enclose an even number of legs.
          const double moved = weights_.inject_products * ((j - i) % 2 ? kUnit : -kUnit);
          add(w, s, tree_.face_rows[i], tree_.face_rows[j],
              entries_.leg[tree_.face_legs[i]] * entries_.leg[tree_.face_legs[j]] * (1 + moved));
        }
      }
    }
  }

  void add_joins(Worker& w, int32_t node, const Shape& s) {
    for (int32_t k = 0; k < s.own / 2; ++k) {
      const int32_t e = tree_.edge_order[tree_.own[node] + k];
      // The entry of the even leg's row and the odd leg's column is sign · join.
      add(w, s, 2 * k, 2 * k + 1, entries_.sign[e] > 0 ? entries_.join[e] : -entries_.join[e]);
    }
  }

  void add_child(Worker& w, int32_t child, const Shape& s, int32_t before) {
    Handed& from = handed_[child];
    const auto waiting = static_cast<int32_t>(from.legs.size());
    const int32_t rows = waiting + tree_.boundary_rows(child), shift = s.left + s.right;
    w.map.resize(rows);
    for (int32_t k = 0; k < waiting; ++k) w.map[k] = w.place[s.own + before + k];
    const int32_t* place = tree_.place.data() + tree_.boundary[child];
    for (int32_t k = waiting; k < rows; ++k) {
      const int32_t p = place[k - waiting];
      w.map[k] = w.place[p < s.own ? p : p + shift];
    }
    const double *entry = from.entries.data(), *low = from.low.data(), *radius = from.radii.data();
    for (int32_t j = 0; j < rows; ++j) {
      for (int32_t i = j + 1; i < rows; ++i, ++entry) {
        const int32_t to_i = std::max(w.map[i], w.map[j]), to_j = std::min(w.map[i], w.map[j]);
        const size_t to = size_t(to_j) * s.rows + to_i;
        const double sign = w.map[i] > w.map[j] ? 1.0 : -1.0;
        w.matrix[to] = sign * *entry;
        if (wide_) w.low[to] = sign * *low++;
        if (with_radii_) w.radii[to] = *radius++;
      }
    }
    from = {};
  }

  bool eliminate(Worker& w, int32_t node, const Shape& s) {
    ProofFactor& f = result_.factors[node];
    f.rows = s.rows;
    f.eliminated = s.eliminated;
    f.refused_left = s.left;
    f.refused_right = s.right;
    f.place = w.place;
    const auto count = FrontElimination<double>::roundings_in_order(s.rows, s.eliminated);
    const double wide = WideFront::updates_error(s.eliminated);
    const double update = wide_ ? wide + WideFront::kQuotient * 1.25 : (count.term + 4) * kUnit;
    const double entry = wide_ ? wide * 1.001 : (count.entry + 1) * kUnit;
    f.update = weights_.update * update + weights_.entry * entry;
    f.entry = weights_.entry * entry;
    std::vector<double> assembled, low;
    if (weights_.inject > 0.0) assembled = w.matrix, low = w.low;
    bool sound = run_front(w, node, s);
    if (weights_.inject > 0.0) {
      inject(assembled, low, w, node, s, update + entry, entry);
      w.matrix = std::move(assembled);
      w.low = std::move(low);
      sound = run_front(w, node, s);
    }
    f.lower.assign(w.matrix.begin(), w.matrix.begin() + size_t(s.rows) * s.eliminated);
    hand_on(w, node, s);
    const std::vector<double>& left = handed_[node].entries;
    f.rest.resize(left.size());
    std::transform(left.begin(), left.end(), f.rest.begin(), size_above);
    return sound;
  }

  bool run_front(Worker& w, int32_t node, const Shape& s) {
    if (wide_) {
      WideFront front({w.matrix.data(), w.low.data(), s.rows}, nullptr, s.rows, 1.0, w.wide_buffers,
                      parallel_);
      const bool sound = front.run(s.eliminated);
      log_errors_[node] = front.log_error();
      return sound;
    }
    w.perm.resize(s.rows);
    for (int32_t k = 0; k < s.rows; ++k) w.perm[k] = k;
    std::vector<RowPair> pairs;
    for (int32_t k = 0; k < s.eliminated; k += 2) pairs.push_back({k, k + 1});
    FrontElimination<double> front(w.matrix.data(), s.rows, s.eliminated, w.perm.data(),
                                   w.buffers.packing, w.pivot_rows, parallel_);
    front.run_in_order(pairs, s.eliminated / 2);
    return !front.failed();
  }

  bool eliminate_with_radii(Worker& w, int32_t node, const Shape& s) {
    if (wide_) {
      WideFront front({w.matrix.data(), w.low.data(), s.rows}, w.radii.data(), s.rows,
                      weights_.update, w.wide_buffers, parallel_);
      return run_with_radii(w, node, s, front);
    }
    if (tree_.is_leaf(node)) {  // the sum of face and join, at a bridge
      for (int32_t k = 0; k < s.own; k += 2) {
        const size_t i = std::max(w.place[k], w.place[k + 1]);
        const size_t at = std::min(w.place[k], w.place[k + 1]) * size_t(s.rows) + i;
        w.radii[at] = kUnit * std::fabs(w.matrix[at]);
      }
    }
    RadiusFront front(w.matrix.data(), w.radii.data(), s.rows, weights_.update, w.buffers,
                      parallel_);
    return run_with_radii(w, node, s, front);
  }

  template <class Front>
  bool run_with_radii(Worker& w, int32_t node, const Shape& s, Front& front) {
    const bool sound = front.run(s.eliminated);
    log_errors_[node] = front.log_error();
    if (sound && weights_.inject > 0.0) shift_entries(w, node, s, front);
    hand_on(w, node, s);
    Handed& to = handed_[node];
    std::transform(to.entries.begin(), to.entries.end(), to.radii.begin(), to.radii.begin(),
                   [&](double entry, double radius) { return front.handed_on(entry, radius); });
    return sound;
  }

  // What is left in w, for the parent; radii as they are there.
  void hand_on(const Worker& w, int32_t node, const Shape& s) {
    Handed& to = handed_[node];
    pack_left(w.matrix, s, to.entries);
    if (with_radii_) pack_left(w.radii, s, to.radii);
    if (wide_) pack_left(w.low, s, to.low);
    to.legs.resize(s.candidates() - s.eliminated);
    for (int32_t row = 0; row < s.candidates(); ++row) {
      if (w.place[row] >= s.eliminated) to.legs[w.place[row] - s.eliminated] = w.legs[row];
    }
  }

  static void pack_left(const std::vector<double>& from, const Shape& s, std::vector<double>& to) {
    const int64_t rows = s.rows - s.eliminated;
    to.resize(rows * (rows - 1) / 2);
    auto next = to.begin();
    for (int32_t j = s.eliminated; j < s.rows; ++j) {
      const auto column = from.begin() + size_t(j) * s.rows;
      next = std::copy(column + j + 1, column + s.rows, next);
    }
  }

  // Adds errors as large as the backward error of an elimination, done in w, is claimed to be.
  void inject(std::vector<double>& assembled, std::vector<double>& low, const Worker& w,
              int32_t node, const Shape& s, double update, double entry) const {
    const auto lower = [&](int32_t i, int32_t k) {  // |L|, which has ones on its diagonal
      if (i <= (k | 1)) return i == k ? 1.0 : 0.0;
      return std::fabs(w.matrix[size_t(k) * s.rows + i]);
    };
    for (int32_t j = 0; j < s.rows; ++j) {
      for (int32_t i = j + 1; i < s.rows; ++i) {
        double size = 0.0;
        for (int32_t k = 0; k < s.eliminated; k += 2) {
          const double d = std::fabs(w.matrix[size_t(k) * s.rows + k + 1]);
          size += d * (lower(i, k) * lower(j, k + 1) + lower(i, k + 1) * lower(j, k));
        }
        const size_t at = size_t(j) * s.rows + i;
        const double rest = j < s.eliminated ? 0.0 : std::fabs(w.matrix[at]);
        const double shift = weights_.inject * sign_of(weights_.pattern, assembled[at], node, i, j);
        const auto sum = TwoDoubles::sum(assembled[at], shift * (update * size + entry * rest));
        assembled[at] = sum.high;
        if (wide_) low[at] += sum.low;
      }
    }
  }

  template <class Front>
  void shift_entries(Worker& w, int32_t node, const Shape& s, const Front& front) {
    for (int32_t j = s.eliminated; j < s.rows; ++j) {
      for (int32_t i = j + 1; i < s.rows; ++i) {
        const size_t at = size_t(j) * s.rows + i;
        const double radius = front.handed_on(w.matrix[at], w.radii[at]);
        const double shift = weights_.inject * sign_of(weights_.pattern, w.matrix[at], node, i, j);
        const TwoDoubles sum = TwoDoubles::sum(w.matrix[at], shift * radius);
        w.matrix[at] = sum.high;
        if (wide_) w.low[at] += sum.low;
      }
    }
  }

  const FrontTree& tree_;
  ProofEntries entries_;
  bool with_radii_, wide_;
  ProofWeights weights_;
  Team team_;
  ParallelFor parallel_;
  std::vector<Worker> workers_;
  std::vector<Handed> handed_;
  std::vector<Scaled> pivots_;
  std::vector<uint8_t> negative_;  // by node; bytes, as threads write side by side
  std::vector<double> log_errors_;
  std::atomic<bool> sound_{true};
  ProofElimination result_;
};

}  // namespace

ProofElimination eliminate_for_proof(const FrontTree& tree, const ProofEntries& entries,
                                     Bounding bounding, const ProofWeights& weights, int threads,
                                     Control& control) {
  if (tree.num_nodes() == 0) return {.pivots = {1.0, 0}};
  return Run(tree, entries, bounding, weights, threads, control).run();
}

}  // namespace planaris
