#include "pfaffian/pfaffian.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <optional>
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
// strict lower triangle, column after column, of each matrix.
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
  void push(int32_t rows, int32_t refused, int matrices) {
    const size_t size = size_t(rows) * (rows > 0 ? rows - 1 : 0) / 2 * matrices;
    items_.push_back({used_, legs_.size(), refused});
    used_ += size;
    if (entries_.size() < used_) entries_.resize(std::max(used_, 2 * entries_.size()));
    legs_.resize(legs_.size() + refused);
  }
  T* entries() { return entries_.data() + items_.back().entries; }
  int32_t* legs() { return legs_.data() + items_.back().legs; }
  Contribution<T> from_top(size_t depth) const {
    const Item& item = items_[items_.size() - 1 - depth];
    return {entries_.data() + item.entries, legs_.data() + item.legs, item.refused};
  }
  void pop() {
    used_ = items_.back().entries;
    legs_.resize(items_.back().legs);
    items_.pop_back();
  }
  bool empty() const { return items_.empty(); }

 private:
  struct Item {
    size_t entries, legs;
    int32_t refused;
  };
  std::vector<T> entries_;  // more than are used: none is cleared twice
  size_t used_ = 0;
  std::vector<int32_t> legs_;
  std::vector<Item> items_;
};

template <class T>
class Elimination {
 public:
  // `share` is that of this elimination in all that the team does. `other`: with the same order and
  // clusters; in doubles, without a search for pivots, and nothing is kept.
  Elimination(const FrontTree& tree, const KasteleynEntries& entries,
              const EliminationOptions& options, Team& team, Factors<T>* keep, Fronts<T>* fronts,
              double share = 1.0, const KasteleynEntries* other = nullptr)
      : tree_(tree), entries_(entries), other_(other), matrices_(other ? 2 : 1), options_(options),
        team_(team), share_(share), keep_(keep), fronts_(fronts),
        cut_(cut_tasks(tree, team.threads())),
        flush_(!kIsDoubleDouble && !entries.earliest.empty() && entries.flush()),
        parallel_([this](int count, const std::function<void(int)>& body) {
          if (!flush_) return team_.parallel_for(count, body);
          team_.parallel_for(count, [&body](int k) {
            [[maybe_unused]] const FlushToZero flushed;  // whatever thread helps
            body(k);
          });
        }) {
    if (keep_) keep_->assign(tree_.num_nodes(), {});
    if (fronts_) fronts_->assign(tree_.num_nodes(), {});
    workers_.resize(team_.threads());
    for (int k = 0; k < matrices_; ++k) log_sums_[k].assign(tree_.num_nodes(), 0.0);
    if constexpr (kIsDoubleDouble) {
      products_.assign(tree_.num_nodes(), T(1.0));
      for (const double x : entries_.face) face_factors_.push_back(T::exp(x));
      for (const double x : entries_.join) join_factors_.push_back(T::exp(x));
    }
    handed_.resize(cut_.tasks.size());
  }

  const TreeTasks& tasks() const { return cut_; }

  void run_task(int worker, int task) {
    std::optional<FlushToZero> flushed;
    if (flush_) flushed.emplace();
    run_nodes(worker, task);
  }

  PLANARIS_NOINLINE void run_nodes(int worker, int task) {
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

  // After all tasks. Of two matrices, both have the sum of what the elimination met.
  LogPfaffian result(int matrix = 0) const {
    LogPfaffian result;
    int swaps = 0;
    for (const Worker& worker : workers_) {
      swaps += worker.swaps[matrix];
      result.stats.add(worker.stats);
    }
    result.stats.multiplications /= 6;  // whole numbers until here: their order does not matter
    // Node by node, so that the sum does not depend on who did what.
    TwoDoubles sum;
    for (const double part : log_sums_[matrix]) sum += {part, 0.0};
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

  const KasteleynEntries& numbers(int matrix) const { return matrix == 0 ? entries_ : *other_; }

  // The entry between two legs of a face, and of an edge, times two to a power.
  T face_entry(int matrix, int32_t i, int32_t j, int32_t exponent) const {
    if constexpr (kIsDoubleDouble) {
      return face_factors_[i] * face_factors_[j];
    } else {
      const std::span<const double> face = numbers(matrix).face;
      return std::exp(face[i] + face[j] + exponent * std::numbers::ln2);
    }
  }
  T join_entry(int matrix, int32_t edge, int32_t exponent) const {
    if constexpr (kIsDoubleDouble) {
      return join_factors_[2 * edge] * join_factors_[2 * edge + 1];
    } else {
      const std::span<const double> join = numbers(matrix).join;
      return std::exp(join[2 * edge] + join[2 * edge + 1] + exponent * std::numbers::ln2);
    }
  }

  struct RankedPair {
    int32_t rank;
    RowPair pair;
  };

  struct Worker {
    std::vector<T> matrix, pivot_rows;  // the matrices one after the other
    std::vector<int32_t> perm, refused, exponents;
    std::vector<int32_t> at;         // by row as listed, its row and column in the matrix
    std::vector<int32_t> rows, map;  // of a child: as listed, and in the matrix
    Packing packing;
    ContributionStack<T> stack;
    EliminationStats stats;
    double log_sum[2] = {};  // of the front under way
    int swaps[2] = {};       // and negative pivots: parity of the sign
    double done = 0.0;
    std::vector<RowPair> pairs;
    std::vector<RankedPair> ranked;
    // With clusters: by row, the leg and its place; by pivot, the exponent.
    std::vector<int32_t> legs;
    std::vector<LegPlace> places, moved;
    std::vector<ClusteredPair> clustered;
    std::vector<int32_t>
        order;  // rows as they stand in the matrix: of those that are left, clusters side by side
    ClusteredBuffers buffers;
    PairedFront paired;  // wide numbers only
  };

  struct Shape {
    int32_t own, delayed, delayed_left, rows;
  };

  void eliminate_front(Worker& w, int32_t node, Contribution<T> left, Contribution<T> right,
                       int pops) {
    const bool last = node + 1 == tree_.num_nodes(), in_order = !entries_.earliest.empty();
    w.log_sum[0] = w.log_sum[1] = 0.0;
    Shape s;
    s.own = tree_.own_rows(node);
    s.delayed_left = left.refused;
    s.delayed = left.refused + right.refused;
    s.rows = s.own + s.delayed + tree_.boundary_rows(node);
    w.refused.assign(left.legs, left.legs + left.refused);
    w.refused.insert(w.refused.end(), right.legs, right.legs + right.refused);
    if (entries_.clusters) find_places(w, node, s);
    const bool clustered = !kIsDoubleDouble && entries_.clusters && in_several_clusters(w);
    const int listed = in_order ? list_pairs(w, node, s) : 0;
    const int swaps = arrange(w, node, s, listed, clustered);
    clear_matrix(w, s);
    if (tree_.is_leaf(node)) {
      add_faces(w, node, s);
    } else {
      add_child(w, tree_.left[node], left, s, 0);
      add_child(w, tree_.right[node], right, s, left.refused);
    }
    w.exponents.assign(s.delayed, 0);
    if (!in_order) rescale_refused(w, node, s);
    if (fronts_) store_front((*fronts_)[node], w, s);
    add_joins(w, node, s);
    for (; pops > 0; --pops) w.stack.pop();
    if constexpr (!kIsDoubleDouble) {
      if (clustered) return eliminate_clusters(w, node, s, listed, swaps, last);
    }
    eliminate_rows(w, node, s, listed, swaps, last);
  }

  // Eliminates as doubles or wide numbers are without clusters, or where all rows lie in one.
  void eliminate_rows(Worker& w, int32_t node, const Shape& s, int listed, int swaps, bool last) {
    const bool in_order = !entries_.earliest.empty();
    int eliminated = 0;
    for (int k = 0; k < matrices_; ++k) {
      FrontElimination<T> front(matrix(w, s, k), s.rows, s.own + s.delayed, w.perm.data(),
                                w.packing, w.pivot_rows, parallel_);
      eliminated =
          in_order ? run_in_order(front, w, s, listed) : front.run(options_.threshold, last);
      w.stats.left_over += front.failed();
      if (!in_order) w.stats.worst_ratio = std::min(w.stats.worst_ratio, front.worst_ratio());
      if (k == 0) swaps += front.swaps();
    }
    if (in_order) {
      if (entries_.clusters) note_exponents(w, eliminated);
      sum_ratios(w, node, s, eliminated);
    } else {
      sum_pivots(w, node, s, eliminated);
    }
    note(w, node, s, eliminated, swaps, last);
    if (fronts_) note_pivots((*fronts_)[node], w, s, eliminated, swaps);
    if (keep_) store((*keep_)[node], w, s, eliminated);
    if (keep_ && entries_.clusters) (*keep_)[node].places = w.places;
    hand_on(w, node, s, eliminated);
  }

  T* matrix(Worker& w, const Shape& s, int k) {
    return w.matrix.data() + size_t(k) * s.rows * s.rows;
  }

  // Whether rows are assembled in the order in which they are eliminated. Fronts are kept as
  // listed.
  bool is_arranged() const { return !entries_.earliest.empty() && !fronts_; }

  // Finds where rows are assembled: writes perm, at and, with clusters, order. Returns the number
  // of swaps.
  int arrange(Worker& w, int32_t node, const Shape& s, int listed, bool clustered) {
    w.perm.resize(s.rows);
    w.at.resize(s.rows);
    for (int32_t k = 0; k < s.rows; ++k) w.perm[k] = w.at[k] = k;
    if (!is_arranged()) return 0;
    if (clustered) sort_clusters(w, node, s, listed);
    int32_t place = 0;
    bool moved = false;
    for (const RowPair& pair : w.pairs) {
      moved |= pair.first != place;
      w.perm[place++] = pair.first;
      w.perm[place++] = pair.second;
    }
    if (moved) {
      for (int32_t k = 0; k < s.rows; ++k) w.at[w.perm[k]] = k;
    }
    const int swaps = moved ? parity(w.at, w.map) : 0;
    if (clustered) {
      w.order = w.perm;
      std::stable_sort(w.order.begin() + 2 * listed, w.order.end(), [&](int32_t a, int32_t b) {
        return w.places[a].cluster < w.places[b].cluster;
      });
      for (int32_t k = 0; k < s.rows; ++k) w.at[w.order[k]] = k;
    }
    return swaps;
  }

  static int parity(const std::vector<int32_t>& at, std::vector<int32_t>& rest) {
    rest = at;
    int swaps = 0;
    for (size_t k = 0; k < rest.size(); ++k) {
      while (size_t(rest[k]) != k) {
        std::swap(rest[k], rest[rest[k]]);
        ++swaps;
      }
    }
    return swaps & 1;
  }

  // Brings the pairs that may be eliminated in the order of their clusters.
  void sort_clusters(Worker& w, int32_t node, const Shape& s, int listed) {
    w.clustered.clear();
    for (int k = 0; k < listed; ++k) {
      const int32_t rank = entries_.rank[leg_of_row(w, node, s, w.pairs[k].first) >> 1];
      w.clustered.push_back({w.pairs[k], rank});
    }
    sort_pairs(w.clustered, w.places, *entries_.clusters);
    for (int k = 0; k < listed; ++k) w.pairs[k] = w.clustered[k].rows;
  }

  // Only lower triangles count.
  void clear_matrix(Worker& w, const Shape& s) {
    grow(w.matrix, size_t(s.rows) * s.rows * matrices_ + kSmallSlack);
    for (int k = 0; k < matrices_; ++k) {
      T* column = matrix(w, s, k);
      for (int32_t j = 0; j < s.rows; ++j, column += s.rows)
        std::fill(column + j + 1, column + s.rows, T(0.0));
    }
  }

  int run_in_order(FrontElimination<T>& front, Worker& w, const Shape& s, int listed) {
    if (!is_arranged()) front.arrange(w.pairs);
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
        const int32_t row_i = tree_.face_rows[i], to_i = w.at[row_i];
        for (int64_t j = i + 1; j < tree_.face_begin[f + 1]; ++j) {
          const int32_t row_j = tree_.face_rows[j], to_j = w.at[row_j];
          const int32_t power = exponent(w, row_i, row_j);
          for (int k = 0; k < matrices_; ++k) {
            const T value = face_entry(k, tree_.face_legs[i], tree_.face_legs[j], power);
            T* to = matrix(w, s, k);
            if (to_i > to_j) {
              to[size_t(to_j) * s.rows + to_i] += value;
            } else {
              to[size_t(to_i) * s.rows + to_j] += -value;
            }
          }
        }
      }
    }
  }

  void add_joins(Worker& w, int32_t node, const Shape& s) {
    for (int32_t p = 0; p < s.own / 2; ++p) {
      const int32_t e = tree_.edge_order[tree_.own[node] + p];
      const int32_t power = exponent(w, 2 * p, 2 * p + 1), first = w.at[2 * p],
                    second = w.at[2 * p + 1];
      const bool lower = (entries_.sign[e] > 0) == (first < second);
      for (int k = 0; k < matrices_; ++k) {
        const T value = join_entry(k, e, power);
        T& entry =
            matrix(w, s, k)[size_t(std::min(first, second)) * s.rows + std::max(first, second)];
        entry += lower ? -value : value;
      }
    }
  }

  void add_child(Worker& w, int32_t child, const Contribution<T>& c, const Shape& s,
                 int32_t delayed_before) {
    const int32_t rows = c.refused + tree_.boundary_rows(child);
    w.rows.resize(rows);
    w.map.resize(rows);
    for (int32_t k = 0; k < c.refused; ++k) w.rows[k] = s.own + delayed_before + k;
    const int32_t* place = tree_.place.data() + tree_.boundary[child];
    for (int32_t k = c.refused; k < rows; ++k) {
      const int32_t p = place[k - c.refused];
      w.rows[k] = p < s.own ? p : p + s.delayed;
    }
    for (int32_t k = 0; k < rows; ++k) w.map[k] = w.at[w.rows[k]];
    const T* from = c.entries;
    for (int k = 0; k < matrices_; ++k) from = add_entries(from, w.map, matrix(w, s, k), s.rows);
    if (entries_.clusters) move_rows(w, child, s);
  }

  static const T* add_entries(const T* from, const std::vector<int32_t>& map, T* matrix,
                              int32_t step) {
    const auto rows = static_cast<int32_t>(map.size());
    int32_t rising = std::max(rows - 1, 0);  // from here on, rows keep their order
    while (rising > 0 && map[rising - 1] < map[rising]) --rising;
    int32_t after = rising;  // from here on, they come after all those before
    const int32_t last = rising == 0 ? -1 : *std::max_element(map.begin(), map.begin() + rising);
    while (after < rows && map[after] < last) ++after;
    for (int32_t j = 0; j < rows; ++j) {
      const int32_t to_j = map[j];
      T* column = matrix + size_t(to_j) * step;
      int32_t i = j + 1;
      for (; j < rising && i < after; ++i, ++from) {
        const int32_t to_i = map[i];
        const bool below = to_i > to_j;
        (below ? column + to_i : matrix + size_t(to_i) * step + to_j)[0] = below ? *from : -*from;
      }
      for (; i < rows; ++i) column[map[i]] = *from++;
    }
    return from;
  }

  void find_places(Worker& w, int32_t node, const Shape& s) const {
    w.legs.clear();
    for (int32_t row = 0; row < s.own + s.delayed; ++row)
      w.legs.push_back(leg_of_row(w, node, s, row));
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

  // Gives the entries of a child, just added, the exponents that they have here: legs may have
  // climbed.
  void move_rows(Worker& w, int32_t child, const Shape& s) {
    if constexpr (!kIsDoubleDouble) {
      const MoatClusters& clusters = *entries_.clusters;
      const auto rows = static_cast<int32_t>(w.rows.size());
      bool any = false;
      w.moved.resize(rows);
      for (int32_t k = 0; k < rows; ++k) {
        const int32_t leg = w.legs[w.rows[k]], set = clusters.set_of(leg, child);
        const LegPlace& here = w.places[w.rows[k]];
        w.moved[k] = set == here.set ? here : clusters.in_set(leg, set);
        any |= set != here.set;
      }
      if (!any) return;
      for (int32_t k = 0; k < rows; ++k) {
        const LegPlace place = w.places[w.rows[k]];
        if (place.set == w.moved[k].set) continue;
        RowMove move(clusters, w.moved[k], place);
        for (int m = 0; m < matrices_; ++m) {
          T* to = matrix(w, s, m);
          for (int32_t i = 0; i < rows; ++i) {
            if (i == k) continue;
            const auto [low, high] = std::minmax(w.map[i], w.map[k]);
            T& x = to[size_t(low) * s.rows + high];
            x = move(x, w.moved[i]);
          }
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

  void eliminate_clusters(Worker& w, int32_t node, const Shape& s, int listed, int swaps,
                          bool last) {
    if (keep_) (*keep_)[node].places = w.places;
    ClusteredFront front({matrix(w, s, 0), matrices_ > 1 ? matrix(w, s, 1) : nullptr}, s.rows,
                         w.order, w.legs, w.places, *entries_.clusters, w.buffers, w.packing,
                         parallel_);
    front.run(w.clustered);
    w.stats.left_over += front.failed();
    sum_ratios(w, node, s, 2 * listed);
    note(w, node, s, 2 * listed, swaps, last);
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
      w.log_sum[0] -= static_cast<double>(exponent) * 0.6931471805599453;
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
    w.log_sum[0] += sum;
  }

  // Pivots relative to the joins of their edges: none is below 1, so no digit of a small sum is
  // lost.
  void sum_ratios(Worker& w, int32_t node, const Shape& s, int eliminated) {
    double worst = w.stats.worst_ratio;
    for (int m = 0; m < matrices_; ++m) {
      const T* pivots = matrix(w, s, m);
      for (int k = 0; k < eliminated; k += 2) {
        const int32_t leg = leg_of_row(w, node, s, w.perm[k]), e = leg >> 1;
        const T join = join_entry(m, e, entries_.clusters ? w.buffers.exponents[k / 2] : 0);
        const T ratio = pivots[size_t(k) * s.rows + k + 1] / join;
        w.log_sum[m] += log_magnitude(ratio);
        const double size = to_double((entries_.sign[e] < 0) == ((leg & 1) != 0) ? ratio : -ratio);
        worst = std::min(worst, std::isnan(size) ? -1.0 : size);
      }
    }
    w.stats.worst_ratio = worst;
  }

  void note(Worker& w, int32_t node, const Shape& s, int eliminated, int swaps, bool last) {
    for (int m = 0; m < matrices_; ++m) {
      log_sums_[m][node] = w.log_sum[m];
      const T* pivots = matrix(w, s, m);
      for (int k = 0; k < eliminated; k += 2) {
        w.swaps[m] ^= is_negative(pivots[size_t(k) * s.rows + k + 1]);
      }
      w.swaps[m] ^= swaps & 1;
    }
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
    for (int32_t j = 0; j < eliminated; ++j) {
      const T* from = w.matrix.data() + size_t(j) * s.rows;
      T* to = factor.lower.data() + size_t(j) * s.rows;
      for (int32_t i = eliminated; i < s.rows; ++i) to[factor.place[w.order[i]]] = from[i];
    }
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
    w.stack.push(s.rows - eliminated, refused, matrices_);
    w.map.clear();
    bool rising = true;
    for (int32_t k = eliminated; k < s.rows; ++k) {
      w.map.push_back(is_arranged() ? w.at[w.perm[k]] : k);
      rising &= w.map.back() == k;
    }
    T* to = w.stack.entries();
    for (int m = 0; m < matrices_; ++m) {
      const T* from = matrix(w, s, m);
      to = rising ? copy_rest(from, s.rows, eliminated, to) : gather_rest(from, s.rows, w.map, to);
    }
    int32_t* legs = w.stack.legs();
    for (int32_t k = 0; k < refused; ++k) {
      legs[k] = leg_of_row(w, node, s, w.perm[eliminated + k]);
    }
  }

  static T* copy_rest(const T* matrix, int32_t rows, int32_t eliminated, T* to) {
    for (int32_t j = eliminated; j < rows; ++j) {
      const T* column = matrix + size_t(j) * rows;
      to = std::copy(column + j + 1, column + rows, to);
    }
    return to;
  }

  static T* gather_rest(const T* matrix, int32_t rows, const std::vector<int32_t>& at, T* to) {
    for (size_t j = 0; j < at.size(); ++j) {
      const int32_t from_j = at[j];
      const T* column = matrix + size_t(from_j) * rows;
      for (size_t i = j + 1; i < at.size(); ++i) {
        const int32_t from_i = at[i];
        *to++ = from_i > from_j ? column[from_i] : -matrix[size_t(from_i) * rows + from_j];
      }
    }
    return to;
  }

  const FrontTree& tree_;
  KasteleynEntries entries_;
  const KasteleynEntries* other_;
  int matrices_;
  EliminationOptions options_;
  Team& team_;
  double share_;
  Factors<T>* keep_;
  Fronts<T>* fronts_;
  TreeTasks cut_;
  bool flush_;
  ParallelFor parallel_;
  std::vector<Worker> workers_;
  std::vector<ContributionStack<T>> handed_;    // by task
  std::vector<double> log_sums_[2];             // by node
  std::vector<T> products_;                     // by node: of pivots; wide numbers only
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

std::pair<LogPfaffian, LogPfaffian> eliminate_at_once(const FrontTree& tree,
                                                      const KasteleynEntries& first,
                                                      const KasteleynEntries& second,
                                                      Control& control) {
  if (tree.num_nodes() == 0) return {};
  Team team(1, control);
  Elimination<double> both(tree, first, {}, team, nullptr, nullptr, 1.0, &second);
  const TreeTasks& tasks = both.tasks();
  team.work(tasks.successors(tree, true), tasks.waits(tree, true),
            [&](int worker, int task) { both.run_task(worker, task); });
  return {both.result(0), both.result(1)};
}

std::pair<LogPfaffian, LogPfaffian> eliminate_both(
    const FrontTree& tree, const KasteleynEntries& first, const EliminationOptions& first_options,
    const KasteleynEntries& second, const EliminationOptions& second_options, Control& control) {
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
