#include "pfaffian/pfaffian.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <type_traits>

#include "base/scaled.hpp"
#include "base/team.hpp"
#include "fronts/front_elimination.hpp"
#include "fronts/tree_tasks.hpp"
#include "moats/clustered_front.hpp"
#include "pfaffian/paired_front.hpp"

namespace planaris {

void EliminationStats::add(const EliminationStats& other) {
  pivots += other.pivots;
  delayed += other.delayed;
  left_over += other.left_over;
  largest_front = std::max(largest_front, other.largest_front);
  worst_ratio = std::min(worst_ratio, other.worst_ratio);
  smallest_exponent = std::min(smallest_exponent, other.smallest_exponent);
  multiplications += other.multiplications;
}

namespace {

// What a front leaves for its parent: first the rows that were refused, then its boundary; the
// strict lower triangle, column after column.
template <class T>
struct Contribution {
  const T* entries = nullptr;
  const int32_t* legs = nullptr;  // of the refused rows
  int32_t refused = 0;
};

// Contributions of a subtree, last in, first out.
template <class T>
class ContributionStack {
 public:
  void push(int32_t rows, int32_t refused) {
    const size_t size = size_t(rows) * (rows > 0 ? rows - 1 : 0) / 2;
    items_.push_back({entries_.size(), legs_.size(), refused});
    entries_.resize(entries_.size() + size);
    legs_.resize(legs_.size() + refused);
  }
  T* entries() { return entries_.data() + items_.back().entries; }
  int32_t* legs() { return legs_.data() + items_.back().legs; }
  Contribution<T> from_top(size_t depth) const {
    const Item& item = items_[items_.size() - 1 - depth];
    return {entries_.data() + item.entries, legs_.data() + item.legs, item.refused};
  }
  void pop() {
    entries_.resize(items_.back().entries);
    legs_.resize(items_.back().legs);
    items_.pop_back();
  }
  bool empty() const { return items_.empty(); }

 private:
  struct Item {
    size_t entries, legs;
    int32_t refused;
  };
  std::vector<T> entries_;
  std::vector<int32_t> legs_;
  std::vector<Item> items_;
};

template <class T>
class Elimination {
 public:
  // `share` is that of this elimination in all that the team does.
  Elimination(const FrontTree& tree, const KasteleynEntries& entries,
              const EliminationOptions& options, Team& team, Factors<T>* keep, Fronts<T>* fronts,
              double share = 1.0)
      : tree_(tree), entries_(entries), options_(options), team_(team), share_(share), keep_(keep),
        fronts_(fronts), cut_(cut_tasks(tree, team.threads())),
        parallel_([this](int count, const std::function<void(int)>& body) {
          team_.parallel_for(count, body);
        }) {
    if (keep_) keep_->assign(tree_.num_nodes(), {});
    if (fronts_) fronts_->assign(tree_.num_nodes(), {});
    workers_.resize(team_.threads());
    log_sums_.assign(tree_.num_nodes(), 0.0);
    if constexpr (kIsDoubleDouble) {
      products_.assign(tree_.num_nodes(), T(1.0));
      for (const double x : entries_.face) face_factors_.push_back(T::exp(x));
      for (const double x : entries_.join) join_factors_.push_back(T::exp(x));
    }
    handed_.resize(cut_.tasks.size());
  }

  const TreeTasks& tasks() const { return cut_; }

  void run_task(int worker, int task) {
    Worker& w = workers_[worker];
    const auto [first, last] = cut_.tasks[task];
    for (int32_t node = first; node <= last; ++node) {
      team_.check(worker, share_ * w.done * team_.threads() / tree_.work.back());
      w.done += tree_.own_work(node);
      if (first == last && !tree_.is_leaf(node)) {
        auto &left = handed_[cut_.task_of_root[tree_.left[node]]],
             &right = handed_[cut_.task_of_root[tree_.right[node]]];
        eliminate_front(w, node, left.from_top(0), right.from_top(0), 0);
        left = {};
        right = {};
      } else if (tree_.is_leaf(node)) {
        eliminate_front(w, node, {}, {}, 0);
      } else {
        eliminate_front(w, node, w.stack.from_top(1), w.stack.from_top(0), 2);
      }
    }
    std::swap(handed_[task], w.stack);
  }

  // After all tasks.
  LogPfaffian result() const {
    LogPfaffian result;
    int swaps = 0;
    for (const Worker& worker : workers_) {
      swaps += worker.swaps;
      result.stats.add(worker.stats);
    }
    result.stats.multiplications /= 6;  // whole numbers until here: their order does not matter
    // Node by node, so that the sum does not depend on who did what.
    TwoDoubles sum;
    for (const double part : log_sums_) sum += {part, 0.0};
    // The scaling cancels: every leg's factor was put in once. (In order, pivots are counted
    // relative to their joins.)
    if (entries_.earliest.empty()) {
      for (const double scale : entries_.join) sum -= {scale, 0.0};
    }
    result.log_magnitude = sum.high;
    if constexpr (kIsDoubleDouble) {
      if (entries_.earliest.empty()) result.magnitude = product();
    }
    result.sign = swaps % 2 == 0 ? 1 : -1;
    return result;
  }

 private:
  static constexpr bool kIsDoubleDouble = std::is_same_v<T, DoubleDouble>;

  T product() const {
    T found(1.0), scales(1.0);
    for (const T& part : products_) found = found * part;
    for (const T& factor : join_factors_) scales = scales * factor;
    return found / scales;
  }

  // The entry between two legs of a face, and of an edge, times two to a power.
  T face_entry(int32_t i, int32_t j, int32_t exponent) const {
    if constexpr (kIsDoubleDouble) {
      return face_factors_[i] * face_factors_[j];
    } else {
      return std::exp(entries_.face[i] + entries_.face[j] + exponent * std::numbers::ln2);
    }
  }
  T join_entry(int32_t edge, int32_t exponent) const {
    if constexpr (kIsDoubleDouble) {
      return join_factors_[2 * edge] * join_factors_[2 * edge + 1];
    } else {
      return std::exp(entries_.join[2 * edge] + entries_.join[2 * edge + 1] +
                      exponent * std::numbers::ln2);
    }
  }

  struct RankedPair {
    int32_t rank;
    RowPair pair;
  };

  struct Worker {
    std::vector<T> matrix, pivot_rows;
    std::vector<int32_t> perm, map, refused, exponents;
    Packing packing;
    ContributionStack<T> stack;
    EliminationStats stats;
    double log_sum = 0.0;  // of the front under way
    int swaps = 0;  // and negative pivots: parity of the sign
    double done = 0.0;
    std::vector<RowPair> pairs;
    std::vector<RankedPair> ranked;
    // With clusters: by row, the leg and its place; by pivot, the exponent.
    std::vector<int32_t> legs;
    std::vector<LegPlace> places, moved;
    std::vector<ClusteredPair> clustered;
    ClusteredBuffers buffers;
    PairedFront paired;  // wide numbers only
  };

  struct Shape {
    int32_t own, delayed, delayed_left, rows;
  };

  void eliminate_front(Worker& w, int32_t node, Contribution<T> left, Contribution<T> right,
                       int pops) {
    const bool last = node + 1 == tree_.num_nodes();
    w.log_sum = 0.0;
    Shape s;
    s.own = tree_.own_rows(node);
    s.delayed_left = left.refused;
    s.delayed = left.refused + right.refused;
    s.rows = s.own + s.delayed + tree_.boundary_rows(node);
    w.matrix.assign(size_t(s.rows) * s.rows, T(0.0));
    w.refused.assign(left.legs, left.legs + left.refused);
    w.refused.insert(w.refused.end(), right.legs, right.legs + right.refused);
    if (entries_.clusters) find_places(w, node, s);
    if (tree_.is_leaf(node)) {
      add_faces(w, node, s);
    } else {
      add_child(w, tree_.left[node], left, s, 0);
      if (entries_.clusters) move_rows(w, tree_.left[node], s);
      add_child(w, tree_.right[node], right, s, left.refused);
      if (entries_.clusters) move_rows(w, tree_.right[node], s);
    }
    const bool in_order = !entries_.earliest.empty();
    w.exponents.assign(s.delayed, 0);
    if (!in_order) rescale_refused(w, node, s);
    if (fronts_) store_front((*fronts_)[node], w, s);
    add_joins(w, node, s);
    for (; pops > 0; --pops) w.stack.pop();

    w.perm.resize(s.rows);
    for (int32_t k = 0; k < s.rows; ++k) w.perm[k] = k;
    if constexpr (!kIsDoubleDouble) {
      if (entries_.clusters && in_several_clusters(w)) return eliminate_clusters(w, node, s, last);
    }
    FrontElimination<T> front(w.matrix.data(), s.rows, s.own + s.delayed, w.perm.data(), w.packing,
                              w.pivot_rows, parallel_);
    const int eliminated =
        in_order ? run_in_order(front, w, node, s) : front.run(options_.threshold, last);
    if (in_order) {
      if (entries_.clusters) note_exponents(w, eliminated);
      sum_ratios(w, node, s, eliminated);
      w.stats.left_over += front.failed();
    } else {
      sum_pivots(w, node, s, eliminated);
      w.stats.worst_ratio = std::min(w.stats.worst_ratio, front.worst_ratio());
    }
    log_sums_[node] = w.log_sum;
    note(w, s, eliminated, front.swaps(), last);
    if (fronts_) note_pivots((*fronts_)[node], w, s, eliminated, front.swaps());
    if (keep_) store((*keep_)[node], w, s, eliminated);
    if (keep_ && entries_.clusters) (*keep_)[node].places = w.places;
    hand_on(w, node, s, eliminated);
  }

  int run_in_order(FrontElimination<T>& front, Worker& w, int32_t node, const Shape& s) {
    const int listed = list_pairs(w, node, s);
    front.arrange(w.pairs);
    if constexpr (kIsDoubleDouble) {
      const bool done =
          w.paired.run(w.matrix.data(), s.rows, 2 * listed, parallel_, entries_.underflow);
      if (done) return 2 * listed;
    }
    return front.run_arranged(listed);
  }

  void add_faces(Worker& w, int32_t node, const Shape& s) {
    for (int32_t f = tree_.leaf_faces[node]; f < tree_.leaf_faces[node + 1]; ++f) {
      for (int64_t i = tree_.face_begin[f]; i < tree_.face_begin[f + 1]; ++i) {
        const int32_t row_i = tree_.face_rows[i];
        for (int64_t j = i + 1; j < tree_.face_begin[f + 1]; ++j) {
          const int32_t row_j = tree_.face_rows[j];
          const T value =
              face_entry(tree_.face_legs[i], tree_.face_legs[j], exponent(w, row_i, row_j));
          if (row_i > row_j) {
            w.matrix[size_t(row_j) * s.rows + row_i] += value;
          } else {
            w.matrix[size_t(row_i) * s.rows + row_j] += -value;
          }
        }
      }
    }
  }

  void add_joins(Worker& w, int32_t node, const Shape& s) {
    for (int32_t k = 0; k < s.own / 2; ++k) {
      const int32_t e = tree_.edge_order[tree_.own[node] + k];
      const T value = join_entry(e, exponent(w, 2 * k, 2 * k + 1));
      w.matrix[size_t(2 * k) * s.rows + 2 * k + 1] += entries_.sign[e] > 0 ? -value : value;
    }
  }

  void add_child(Worker& w, int32_t child, const Contribution<T>& c, const Shape& s,
                 int32_t delayed_before) {
    const int32_t rows = c.refused + tree_.boundary_rows(child);
    w.map.resize(rows);
    for (int32_t k = 0; k < c.refused; ++k) w.map[k] = s.own + delayed_before + k;
    const int32_t* place = tree_.place.data() + tree_.boundary[child];
    for (int32_t k = c.refused; k < rows; ++k) {
      const int32_t p = place[k - c.refused];
      w.map[k] = p < s.own ? p : p + s.delayed;
    }
    const T* from = c.entries;
    for (int32_t j = 0; j < rows; ++j) {
      const int32_t to_j = w.map[j];
      T* column = w.matrix.data() + size_t(to_j) * s.rows;
      if (j >= c.refused) {  // boundary rows keep their order
        for (int32_t i = j + 1; i < rows; ++i) column[w.map[i]] = *from++;
        continue;
      }
      for (int32_t i = j + 1; i < rows; ++i, ++from) {
        const int32_t to_i = w.map[i];
        if (to_i > to_j) {
          column[to_i] = *from;
        } else {
          w.matrix[size_t(to_i) * s.rows + to_j] = -*from;
        }
      }
    }
  }

  void find_places(Worker& w, int32_t node, const Shape& s) const {
    w.legs.clear();
    for (int32_t row = 0; row < s.own + s.delayed; ++row) w.legs.push_back(leg_of_row(w, node, s, row));
    w.legs.insert(w.legs.end(), tree_.boundary_legs.begin() + tree_.boundary[node],
                  tree_.boundary_legs.begin() + tree_.boundary[node + 1]);
    w.places.clear();
    for (const int32_t leg : w.legs) w.places.push_back(entries_.clusters->place(leg, node));
  }

  int32_t exponent(const Worker& w, int32_t row, int32_t other) const {
    return entries_.clusters ? entries_.clusters->exponent(w.places[row], w.places[other]) : 0;
  }

  static bool in_several_clusters(const Worker& w) {
    return std::any_of(w.places.begin(), w.places.end(), [&](const LegPlace& place) {
      return place.cluster != w.places.front().cluster;
    });
  }

  // Gives the entries of a child, just added, the exponents that they have here: legs may have climbed.
  void move_rows(Worker& w, int32_t child, const Shape& s) const {
    if constexpr (!kIsDoubleDouble) {
      const MoatClusters& clusters = *entries_.clusters;
      w.moved.clear();
      for (const int32_t row : w.map) {
        const int32_t leg = w.legs[row];
        w.moved.push_back(clusters.climbs(leg) ? clusters.place(leg, child) : w.places[row]);
      }
      const auto rows = static_cast<int32_t>(w.map.size());
      for (int32_t k = 0; k < rows; ++k) {
        const LegPlace place = w.places[w.map[k]];
        if (place.set == w.moved[k].set) continue;
        RowMove move(clusters, w.moved[k], place);
        for (int32_t i = 0; i < rows; ++i) {
          if (i == k) continue;
          const auto [low, high] = std::minmax(w.map[i], w.map[k]);
          T& x = w.matrix[size_t(low) * s.rows + high];
          x = move(x, w.moved[i]);
        }
        w.moved[k] = place;
      }
    }
  }

  void note_exponents(Worker& w, int eliminated) const {
    w.buffers.exponents.clear();
    for (int k = 0; k < eliminated; k += 2) {
      w.buffers.exponents.push_back(exponent(w, w.perm[k], w.perm[k + 1]));
    }
  }

  void eliminate_clusters(Worker& w, int32_t node, const Shape& s, bool last) {
    const int listed = list_pairs(w, node, s);
    w.clustered.clear();
    for (int k = 0; k < listed; ++k) {
      const int32_t rank = entries_.rank[leg_of_row(w, node, s, w.pairs[k].first) >> 1];
      w.clustered.push_back({w.pairs[k], rank});
    }
    ClusteredFront front(w.matrix.data(), s.rows, w.legs, w.places, *entries_.clusters, w.buffers,
                         w.packing, parallel_);
    if (keep_) (*keep_)[node].places = w.places;
    front.run(w.clustered, w.perm.data(), keep_ != nullptr);
    sum_ratios(w, node, s, 2 * listed);
    w.stats.left_over += front.failed();
    log_sums_[node] = w.log_sum;
    note(w, s, 2 * listed, front.swaps(), last);
    if (keep_) store_clusters((*keep_)[node], w, s, 2 * listed);
    hand_on(w, node, s, 2 * listed);
  }

  // A row that an odd cycle of the assignment leaves over has uniformly small entries. Brought
  // back to largest entry 1 it finds a pivot here instead of climbing to the root. Its legs are
  // joined already, so the factor (a power of two: exact) concerns nothing that is yet to come.
  void rescale_refused(Worker& w, int32_t node, const Shape& s) {
    for (int32_t k = 0; k < s.delayed; ++k) {
      const int32_t r = s.own + k;
      T* column = w.matrix.data() + size_t(r) * s.rows;
      T largest = T(0.0);
      for (int32_t j = 0; j < r; ++j) {
        largest = std::max(largest, magnitude(w.matrix[size_t(j) * s.rows + r]));
      }
      for (int32_t i = r + 1; i < s.rows; ++i) largest = std::max(largest, magnitude(column[i]));
      if (is_zero(largest)) continue;
      const int64_t exponent = -binary_exponent(largest);
      w.stats.smallest_exponent = std::min(w.stats.smallest_exponent, -exponent);
      if (exponent < 4 || exponent > 1000) continue;
      const T factor = power_of_two<T>(exponent);
      for (int32_t j = 0; j < r; ++j) {
        T& entry = w.matrix[size_t(j) * s.rows + r];
        entry = entry * factor;
      }
      for (int32_t i = r + 1; i < s.rows; ++i) column[i] = column[i] * factor;
      w.exponents[k] = static_cast<int32_t>(exponent);
      w.log_sum -= static_cast<double>(exponent) * 0.6931471805599453;
      if constexpr (kIsDoubleDouble) products_[node] = products_[node] * power_of_two<T>(-exponent);
    }
  }

  int32_t leg_of_row(const Worker& w, int32_t node, const Shape& s, int32_t row) const {
    return row < s.own ? 2 * tree_.edge_order[tree_.own[node] + row / 2] + (row & 1)
                       : w.refused[row - s.own];
  }

  // Lists all candidates: first the edges that wait for nothing, then by rank the others that may
  // be eliminated here (returns how many may), then those that have to wait further. The two legs
  // of an edge are refused together, side by side.
  int list_pairs(Worker& w, int32_t node, const Shape& s) {
    constexpr int32_t kLater = INT32_MAX;
    w.pairs.clear();
    w.ranked.clear();
    for (int32_t row = 0; row < s.own; row += 2) {
      const int32_t e = tree_.edge_order[tree_.own[node] + row / 2];
      const int32_t rank = entries_.earliest[e] > node ? kLater : entries_.rank[e];
      if (rank == 0) {
        w.pairs.push_back({row, row + 1});
      } else {
        w.ranked.push_back({rank, {row, row + 1}});
      }
    }
    for (int32_t k = 0; k < s.delayed; k += 2) {
      const int32_t e = w.refused[k] >> 1;
      const int32_t rank = entries_.earliest[e] > node ? kLater : entries_.rank[e];
      w.ranked.push_back({rank, {s.own + k, s.own + k + 1}});
    }
    std::stable_sort(w.ranked.begin(), w.ranked.end(),
                     [](const RankedPair& a, const RankedPair& b) { return a.rank < b.rank; });
    auto count = static_cast<int>(w.pairs.size());
    for (const RankedPair& ranked : w.ranked) {
      w.pairs.push_back(ranked.pair);
      count += ranked.rank != kLater;
    }
    return count;
  }

  void sum_pivots(Worker& w, int32_t node, const Shape& s, int eliminated) {
    double sum = 0.0;
    for (int k = 0; k < eliminated; k += 2) {
      const T& pivot = w.matrix[size_t(k) * s.rows + k + 1];
      sum += log_magnitude(pivot);
      if constexpr (kIsDoubleDouble) products_[node] = products_[node] * magnitude(pivot);
    }
    w.log_sum += sum;
  }

  // Pivots relative to the joins of their edges: none is below 1, so no digit of a small sum is
  // lost.
  void sum_ratios(Worker& w, int32_t node, const Shape& s, int eliminated) {
    double sum = 0.0, worst = w.stats.worst_ratio;
    for (int k = 0; k < eliminated; k += 2) {
      const int32_t leg = leg_of_row(w, node, s, w.perm[k]), e = leg >> 1;
      const T join = join_entry(e, entries_.clusters ? w.buffers.exponents[k / 2] : 0);
      const T ratio = w.matrix[size_t(k) * s.rows + k + 1] / join;
      sum += log_magnitude(ratio);
      const double size = to_double((entries_.sign[e] < 0) == ((leg & 1) != 0) ? ratio : -ratio);
      worst = std::min(worst, std::isnan(size) ? -1.0 : size);
    }
    w.log_sum += sum;
    w.stats.worst_ratio = worst;
  }

  void note(Worker& w, const Shape& s, int eliminated, int swaps, bool last) {
    for (int k = 0; k < eliminated; k += 2) {
      w.swaps ^= is_negative(w.matrix[size_t(k) * s.rows + k + 1]);
    }
    w.swaps ^= swaps & 1;
    w.stats.pivots += eliminated / 2;
    const int32_t refused = s.own + s.delayed - eliminated;
    (last ? w.stats.left_over : w.stats.delayed) += refused;
    w.stats.largest_front = std::max(w.stats.largest_front, s.rows);
    const double n = s.rows, r = s.rows - eliminated;
    w.stats.multiplications += n * n * n - r * r * r;
  }

  void store(FrontFactor<T>& factor, const Worker& w, const Shape& s, int eliminated) {
    factor.rows = s.rows;
    factor.eliminated = eliminated;
    factor.delayed_left = s.delayed_left;
    factor.delayed_right = s.delayed - s.delayed_left;
    factor.lower.assign(w.matrix.begin(), w.matrix.begin() + size_t(s.rows) * eliminated);
    factor.place.resize(s.rows);
    for (int32_t k = 0; k < s.rows; ++k) factor.place[w.perm[k]] = k;
    factor.exponents = w.exponents;
  }

  void store_clusters(FrontFactor<T>& factor, const Worker& w, const Shape& s, int eliminated) {
    store(factor, w, s, eliminated);
    for (int k = 0; k < eliminated; ++k) factor.climbed.push_back(w.places[w.perm[k]]);
    factor.panels = w.buffers.panels;
  }

  void store_front(FrontMatrix<T>& front, const Worker& w, const Shape& s) {
    front.rows = s.rows;
    front.lower.reserve(size_t(s.rows) * s.rows / 2);
    for (int32_t j = 0; j < s.rows; ++j) {
      const T* column = w.matrix.data() + size_t(j) * s.rows;
      front.lower.insert(front.lower.end(), column + j + 1, column + s.rows);
    }
  }

  void note_pivots(FrontMatrix<T>& front, const Worker& w, const Shape& s, int eliminated,
                   int swaps) {
    for (int k = 0; k < eliminated; k += 2) {
      const T& d = w.matrix[size_t(k) * s.rows + k + 1];
      front.log_pivots += log_magnitude(d);
      swaps ^= is_negative(d);
    }
    front.sign = swaps & 1 ? -1 : 1;
    front.delayed_left = s.delayed_left;
    front.exponents = w.exponents;
  }

  void hand_on(Worker& w, int32_t node, const Shape& s, int eliminated) {
    const int32_t refused = s.own + s.delayed - eliminated;
    w.stack.push(s.rows - eliminated, refused);
    T* to = w.stack.entries();
    for (int32_t j = eliminated; j < s.rows; ++j) {
      const T* column = w.matrix.data() + size_t(j) * s.rows;
      to = std::copy(column + j + 1, column + s.rows, to);
    }
    int32_t* legs = w.stack.legs();
    for (int32_t k = 0; k < refused; ++k) {
      legs[k] = leg_of_row(w, node, s, w.perm[eliminated + k]);
    }
  }

  const FrontTree& tree_;
  KasteleynEntries entries_;
  EliminationOptions options_;
  Team& team_;
  double share_;
  Factors<T>* keep_;
  Fronts<T>* fronts_;
  TreeTasks cut_;
  ParallelFor parallel_;
  std::vector<Worker> workers_;
  std::vector<ContributionStack<T>> handed_;  // by task
  std::vector<double> log_sums_;              // by node
  std::vector<T> products_;                   // by node: of pivots; wide numbers only
  std::vector<T> face_factors_, join_factors_;  // exponentials; wide numbers only
};

}  // namespace

template <class T>
LogPfaffian eliminate(const FrontTree& tree, const KasteleynEntries& entries,
                      const EliminationOptions& options, Control& control, Factors<T>* keep,
                      Fronts<T>* fronts) {
  if (tree.num_nodes() == 0) return {};
  Team team(options.threads, control);
  Elimination<T> elimination(tree, entries, options, team, keep, fronts);
  const TreeTasks& tasks = elimination.tasks();
  team.work(tasks.successors(tree, true), tasks.waits(tree, true),
            [&](int worker, int task) { elimination.run_task(worker, task); });
  return elimination.result();
}

std::pair<LogPfaffian, LogPfaffian> eliminate_both(const FrontTree& tree,
                                                   const KasteleynEntries& first,
                                                   const EliminationOptions& first_options,
                                                   const KasteleynEntries& second,
                                                   const EliminationOptions& second_options,
                                                   Control& control) {
  if (tree.num_nodes() == 0) return {};
  Team team(worth_threads(tree) ? first_options.threads : 1, control);
  Elimination<double> a(tree, first, first_options, team, nullptr, nullptr, 0.5);
  Elimination<double> b(tree, second, second_options, team, nullptr, nullptr, 0.5);
  // Tasks of the second come after those of the first, and are taken up where these run out.
  const auto count = static_cast<int32_t>(a.tasks().tasks.size());
  std::vector<std::vector<int32_t>> successors = a.tasks().successors(tree, true);
  std::vector<int32_t> waits = a.tasks().waits(tree, true);
  for (int32_t t = 0; t < count; ++t) {
    waits.push_back(waits[t]);
    successors.push_back(successors[t]);
    for (int32_t& next : successors.back()) next += count;
  }
  team.work(std::move(successors), std::move(waits), [&](int worker, int task) {
    if (task < count) {
      a.run_task(worker, task);
    } else {
      b.run_task(worker, task - count);
    }
  });
  return {a.result(), b.result()};
}

template LogPfaffian eliminate<double>(const FrontTree&, const KasteleynEntries&,
                                       const EliminationOptions&, Control&, Factors<double>*,
                                       Fronts<double>*);
template LogPfaffian eliminate<DoubleDouble>(const FrontTree&, const KasteleynEntries&,
                                             const EliminationOptions&, Control&,
                                             Factors<DoubleDouble>*, Fronts<DoubleDouble>*);

}  // namespace planaris
