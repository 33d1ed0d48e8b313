#include "rigour/proof_elimination.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/constants.hpp"
#include "base/splitmix64.hpp"
#include "base/team.hpp"
#include "fronts/front_elimination.hpp"
#include "fronts/radius_front.hpp"
#include "fronts/tree_tasks.hpp"
#include "fronts/wide_front.hpp"

namespace planaris {

namespace {

// What a front leaves for its parent, rows that have to wait first, then its boundary: lower
// triangles, column after column.
struct Handed {
  std::unique_ptr<double[]> numbers;
  double *high = nullptr, *low = nullptr, *radii = nullptr;
  int32_t rows = 0;
  std::vector<int32_t> legs;  // of the rows that wait

  int32_t step() const { return rows + kWideSlack; }
  size_t room() const { return size_t(rows) * step(); }
  void make_room(bool wide, bool with_radii) {
    numbers = std::make_unique_for_overwrite<double[]>((1 + wide + with_radii) * room());
    high = numbers.get();
    if (wide) low = high + room();
    if (with_radii) radii = high + (1 + wide) * room();
  }
};

// Numbers side by side, and up to kWideSlack more.
void copy_eights(int32_t count, const double* from, double* to) {
  for (int32_t i = 0; i < count; i += kWideSlack + 1)
    std::memcpy(to + i, from + i, (kWideSlack + 1) * sizeof(double));
}

// At least the size of an entry: rounding takes 2^-24 of a float, or 2^-150, at most.
float size_above(double entry) {
  return static_cast<float>(std::fabs(entry) * (1 + 0x1p-23) + 0x1p-149);
}

// -1 or 1: the sign of an entry for pattern 0, the other one for 1, else a function of all
// arguments.
double sign_of(uint64_t pattern, double entry, int32_t node, int32_t i, int32_t j) {
  if (pattern < 2) return (entry < 0.0) == (pattern == 0) ? -1.0 : 1.0;
  const uint64_t bits = pattern ^ (uint64_t(node) << 42) ^ (uint64_t(i) << 21) ^ uint64_t(j);
  return splitmix64(bits) & 1 ? 1.0 : -1.0;
}

class Run {
 public:
  Run(const FrontTree& tree, const ProofEntries& entries, Bounding bounding,
      const ProofWeights& weights, int threads, Control& control)
      : tree_(tree), entries_(entries), with_radii_(bounding.radii), wide_(bounding.wide),
        split_(bounding.split), split_rows_(bounding.split_rows), weights_(weights),
        team_(threads, control) {
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
    if (!with_radii_) {
      result_.factors.resize(nodes);
      result_.memory.resize(team_.threads());
    }
    team_.work(cut.successors(tree_, true), cut.waits(tree_, true), [&](int worker, int task) {
      Worker& w = workers_[worker];
      w.memory = with_radii_ ? nullptr : &result_.memory[worker];
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
  static constexpr int32_t kManyRows = 64;

  struct RankedPair {
    int32_t rank, row;
  };

  struct Worker {
    FrontColumns high, low;  // of the front
    std::vector<double> matrix, own_low, radii, pivot_rows;
    std::vector<int32_t> place, perm, legs, map;
    std::vector<RankedPair> ranked;
    RadiusBuffers buffers;
    WideBuffers wide_buffers;
    Arena* memory = nullptr;  // for factors
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
    make_room(w, node, s);
    if (tree_.is_leaf(node)) {
      if (s.rows >= kManyRows) {
        for (int32_t j = 0; j < s.rows; ++j) clear_column(w, s, j);
      }
      add_faces(w, node);
    } else {  // every row is one that a child has left
      add_child(w, tree_.left[node], s, 0);
      add_child(w, tree_.right[node], s, s.left);
    }
    add_joins(w, node, s);
    if (!(with_radii_ ? eliminate_with_radii(w, node, s) : eliminate(w, node, s))) sound_ = false;
    Scaled product{1.0, 0};
    for (int32_t k = 0; k < s.eliminated; k += 2) {
      // The entry below the diagonal: the pivot with the other sign.
      const double below = w.high.column(k)[k + 1], size = std::fabs(below);
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

  // Zeros, of few rows; columns of many are cleared when they are filled. Of pairs, the columns
  // that are not eliminated lie where the parent wants them.
  void make_room(Worker& w, int32_t node, const Shape& s) {
    Handed& to = handed_[node];
    to.rows = s.rows - s.eliminated;
    to.make_room(wide_, with_radii_);
    if (with_radii_) {
      w.radii.resize(s.rows * radii_step(s));
      if (s.rows < kManyRows) std::fill(w.radii.begin(), w.radii.end(), 0.0);
    }
    if (!wide_) {
      w.matrix.resize(size_t(s.rows) * s.rows);
      if (s.rows < kManyRows) std::fill(w.matrix.begin(), w.matrix.end(), 0.0);
      w.high = {w.matrix.data(), nullptr, s.rows, 0, s.rows};
      return;
    }
    const int64_t step = s.rows + kWideSlack;
    for (auto* own : {&w.matrix, &w.own_low}) own->resize(step * s.eliminated);
    w.high = {w.matrix.data(), to.high, step, to.step(), s.eliminated};
    w.low = {w.own_low.data(), to.low, step, to.step(), s.eliminated};
    if (s.rows >= kManyRows) return;
    for (auto* own : {&w.matrix, &w.own_low}) std::fill(own->begin(), own->end(), 0.0);
    std::fill_n(to.high, 2 * to.room(), 0.0);
  }

  // From column to column of w.radii.
  int64_t radii_step(const Shape& s) const { return s.rows + (wide_ ? kWideSlack : 0); }

  // Zeros from the diagonal on; what is above it counts for nothing.
  void clear_column(Worker& w, const Shape& s, int32_t j) const {
    const int32_t end = s.rows + (wide_ ? kWideSlack : 0);
    std::fill(w.high.column(j) + j, w.high.column(j) + end, 0.0);
    if (wide_) std::fill(w.low.column(j) + j, w.low.column(j) + end, 0.0);
    if (with_radii_) std::fill_n(w.radii.begin() + j * (radii_step(s) + 1), end - j, 0.0);
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
    const auto earlier = [](const RankedPair& a, const RankedPair& b) { return a.rank < b.rank; };
    if (!std::is_sorted(w.ranked.begin(), w.ranked.end(), earlier)) {
      std::stable_sort(w.ranked.begin(), w.ranked.end(), earlier);
    }
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
  void add(Worker& w, int32_t i, int32_t j, double value) {
    i = w.place[i];
    j = w.place[j];
    const int32_t below = std::max(i, j), column = std::min(i, j);
    const TwoDoubles sum = TwoDoubles::sum(w.high.column(column)[below], i > j ? value : -value);
    w.high.column(column)[below] = sum.high;
    // Exact: no more than two numbers are added.
    if (wide_) w.low.column(column)[below] += sum.low;
  }

  // Nothing waits from below a leaf: its rows are as in the tree.
  void add_faces(Worker& w, int32_t node) {
    for (int32_t f = tree_.leaf_faces[node]; f < tree_.leaf_faces[node + 1]; ++f) {
      for (int64_t i = tree_.face_begin[f]; i < tree_.face_begin[f + 1]; ++i) {
        for (int64_t j = i + 1; j < tree_.face_begin[f + 1]; ++j) {
          // Pairs that cross no other enclose an even number of legs.
          const double moved = weights_.inject_products * ((j - i) % 2 ? kUnit : -kUnit);
          add(w, tree_.face_rows[i], tree_.face_rows[j],
              entries_.leg[tree_.face_legs[i]] * entries_.leg[tree_.face_legs[j]] * (1 + moved));
        }
      }
    }
  }

  void add_joins(Worker& w, int32_t node, const Shape& s) {
    for (int32_t k = 0; k < s.own / 2; ++k) {
      const int32_t e = tree_.edge_order[tree_.own[node] + k];
      // The entry of the even leg's row and the odd leg's column is sign · join.
      add(w, 2 * k, 2 * k + 1, entries_.sign[e] > 0 ? entries_.join[e] : -entries_.join[e]);
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
    if (s.rows >= kManyRows) {
      for (const int32_t j : w.map) clear_column(w, s, j);
    }
    place_entries(from.high, from.step(), w.map, true, w.high);
    if (wide_) place_entries(from.low, from.step(), w.map, true, w.low);
    if (with_radii_) {
      place_entries(from.radii, from.step(), w.map, false,
                    {w.radii.data(), nullptr, radii_step(s), 0, s.rows});
    }
    from = {};
  }

  // A triangle whose rows go to the places that `map` says; `skew`: entries change their signs
  // where two rows change their order.
  static void place_entries(const double* from, int32_t step, std::span<const int32_t> map,
                            bool skew, const FrontColumns& to) {
    const auto rows = static_cast<int32_t>(map.size());
    int32_t ordered = 0;  // rows from here on go behind all before them
    for (int32_t i = 0, most = -1; i < rows; ++i) {
      if (map[i] < most) ordered = i + 1;
      most = std::max(most, map[i]);
    }
    for (int32_t j = 0; j < rows; ++j, from += step) {
      int32_t i = j + 1;
      for (; i < ordered; ++i) {
        const int32_t below = std::max(map[i], map[j]), column = std::min(map[i], map[j]);
        to.column(column)[below] = skew && map[i] < map[j] ? -from[i] : from[i];
      }
      double* column = to.column(map[j]);
      constexpr int32_t kRun = 8;  // rows that often stay side by side
      for (; i + kRun <= rows; i += kRun) {
        if (map[i + kRun - 1] - map[i] == kRun - 1) {
          std::memcpy(column + map[i], from + i,
                      kRun * sizeof(double));  // inlined, as it has a fixed size
        } else {
          for (int32_t k = i; k < i + kRun; ++k) column[map[k]] = from[k];
        }
      }
      for (; i < rows; ++i) column[map[i]] = from[i];
    }
  }

  bool eliminate(Worker& w, int32_t node, const Shape& s) {
    ProofFactor& f = result_.factors[node];
    f.rows = s.rows;
    f.eliminated = s.eliminated;
    f.refused_left = s.left;
    f.refused_right = s.right;
    auto* const place = w.memory->take<int32_t>(s.rows);
    std::copy_n(w.place.data(), s.rows, place);
    f.place = place;
    const auto count = FrontElimination<double>::roundings_in_order(s.rows, s.eliminated);
    const double wide = WideFront::updates_error(s.eliminated);
    const double update = wide_ ? wide + WideFront::kQuotient * 1.25 : (count.term + 4) * kUnit;
    const double entry = wide_ ? wide * 1.001 : (count.entry + 1) * kUnit;
    f.update = weights_.update * update + weights_.entry * entry;
    f.entry = weights_.entry * entry;
    f.split = weights_.split * split_error(s);
    const Dense assembled = weights_.inject > 0.0 ? dense(w, s) : Dense{};
    bool sound = run_front(w, node, s);
    if (weights_.inject > 0.0) {
      inject(assembled, w, node, s, update + entry, entry);
      sound = run_front(w, node, s);
    }
    hand_on(w, node, s);
    f.lower = packed(w, s);
    if (wide_) return sound;
    const Handed& left = handed_[node];
    for (int32_t j = 0; j < left.rows; ++j) {
      const double* column = left.high + size_t(j) * left.step();
      for (int32_t i = j + 1; i < left.rows; ++i) f.rest.push_back(size_above(column[i]));
    }
    return sound;
  }

  // The columns of the factor, for its `lower`.
  const double* packed(Worker& w, const Shape& s) const {
    const size_t count = size_t(s.eliminated) * (2 * s.rows - s.eliminated - 1) / 2;
    double* const lower = w.memory->take<double>(count + kWideSlack);
    double* to = lower;
    for (int32_t j = 0; j < s.eliminated; ++j) {
      const int32_t rows = s.rows - j - 1;
      const double* from = w.high.column(j) + j + 1;
      if (wide_) {
        copy_eights(rows, from, to);  // there is as much room after each column
      } else {
        std::copy_n(from, rows, to);
      }
      to += rows;
    }
    return lower;
  }

  bool splits(const Shape& s) const { return split_ && s.rows >= split_rows_; }

  double split_error(const Shape& s) const {
    return splits(s) ? WideFront::split_error(s.rows, s.eliminated, weights_.worth_splitting) : 0.0;
  }

  bool run_front(Worker& w, int32_t node, const Shape& s) {
    if (wide_) {
      WideFront front(w.high, w.low, nullptr, s.rows, 1.0, w.wide_buffers, parallel_);
      if (splits(s)) front.allow_splitting(weights_.worth_splitting);
      const bool sound = front.run();
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
      WideFront front(w.high, w.low, w.radii.data(), s.rows, weights_.update, w.wide_buffers,
                      parallel_);
      return run_with_radii(w, node, s, front, [&] { return front.run(); });
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
    return run_with_radii(w, node, s, front, [&] { return front.run(s.eliminated); });
  }

  template <class Front, class Eliminate>
  bool run_with_radii(Worker& w, int32_t node, const Shape& s, const Front& front,
                      Eliminate eliminate) {
    const bool sound = eliminate();
    log_errors_[node] = front.log_error();
    if (sound && weights_.inject > 0.0) shift_entries(w, node, s, front);
    hand_on(w, node, s);
    Handed& to = handed_[node];
    for (int32_t j = 0; j + 1 < to.rows; ++j) {
      const size_t at = size_t(j) * to.step() + j + 1;
      hand_on_radii(to.rows - j - 1, front.handed_on(), to.high + at,
                    w.radii.data() + (s.eliminated + j) * (radii_step(s) + 1) + 1, to.radii + at);
    }
    return sound;
  }

  // What is left in w, for the parent, but for radii.
  void hand_on(const Worker& w, int32_t node, const Shape& s) {
    Handed& to = handed_[node];
    if (!wide_) copy_left(w.matrix, s, to);
    to.legs.resize(s.candidates() - s.eliminated);
    for (int32_t row = 0; row < s.candidates(); ++row) {
      if (w.place[row] >= s.eliminated) to.legs[w.place[row] - s.eliminated] = w.legs[row];
    }
  }

  static void copy_left(const std::vector<double>& from, const Shape& s, const Handed& to) {
    for (int32_t j = 0; j < to.rows; ++j) {
      const double* column = from.data() + size_t(s.eliminated + j) * s.rows + s.eliminated;
      std::copy(column, column + to.rows, to.high + size_t(j) * to.step());
    }
  }

  // A front as assembled, all of its columns: for tests.
  struct Dense {
    std::vector<double> high, low;
  };

  Dense dense(const Worker& w, const Shape& s) const {
    Dense all;
    for (int32_t j = 0; j < s.rows; ++j) {
      for (int32_t i = 0; i < s.rows; ++i) {
        all.high.push_back(i > j ? w.high.column(j)[i] : 0.0);
        all.low.push_back(wide_ && i > j ? w.low.column(j)[i] : 0.0);
      }
    }
    return all;
  }

  // The front as it was before its elimination, done in w, plus errors as large as the backward
  // error of that is claimed to be.
  void inject(const Dense& assembled, Worker& w, int32_t node, const Shape& s, double update,
              double entry) const {
    const auto lower = [&](int32_t i, int32_t k) {  // |L|, which has ones on its diagonal
      if (i <= (k | 1)) return i == k ? 1.0 : 0.0;
      return std::fabs(w.high.column(k)[i]);
    };
    std::vector<TwoDoubles> moved(size_t(s.rows) * s.rows);
    struct Sizes {
      double most = 0.0, sum = 0.0;
      void add(double x) {
        most = std::max(most, x);
        sum += x;
      }
    };
    constexpr int kWindow = WideFront::kWindow;
    const int32_t windows = (s.eliminated + kWindow - 1) / kWindow;
    std::vector<Sizes> left(s.rows * windows),
        right(left);  // of |L_ik| and of |L_ik D_k|, by window
    const double split = split_error(s);
    for (int32_t i = 0; i < s.rows; ++i) {
      for (int32_t k = 0; k < s.eliminated; ++k) {
        if (i <= (k | 1)) continue;
        const size_t at = i * windows + k / kWindow;
        left[at].add(lower(i, k));
        right[at].add(lower(i, k) * std::fabs(w.high.column(k & ~1)[k | 1]));
      }
    }
    for (int32_t j = 0; j < s.rows; ++j) {
      for (int32_t i = j + 1; i < s.rows; ++i) {
        double size = 0.0;
        for (int32_t k = 0; k < s.eliminated; k += 2) {
          const double d = std::fabs(w.high.column(k)[k + 1]);
          size += d * (lower(i, k) * lower(j, k + 1) + lower(i, k + 1) * lower(j, k));
        }
        const size_t at = size_t(j) * s.rows + i;
        const double before = assembled.high[at];
        const double rest = j < s.eliminated ? 0.0 : std::fabs(w.high.column(j)[i]);
        const double shift = weights_.inject * sign_of(weights_.pattern, before, node, i, j);
        double more = 0.0;
        for (int32_t k = 0; k < windows; ++k) {
          const Sizes &x = left[i * windows + k], &y = right[j * windows + k];
          more += split * (x.sum * y.most + 2 * x.most * y.sum);
        }
        moved[at] = TwoDoubles::sum(before, shift * (update * size + entry * rest + more));
        moved[at].low += assembled.low[at];
      }
    }
    for (int32_t j = 0; j < s.rows; ++j) {
      for (int32_t i = j + 1; i < s.rows; ++i) {
        const TwoDoubles& value = moved[size_t(j) * s.rows + i];
        w.high.column(j)[i] = value.high;
        if (wide_) w.low.column(j)[i] = value.low;
      }
    }
  }

  template <class Front>
  void shift_entries(Worker& w, int32_t node, const Shape& s, const Front& front) {
    for (int32_t j = s.eliminated; j < s.rows; ++j) {
      for (int32_t i = j + 1; i < s.rows; ++i) {
        double& entry = w.high.column(j)[i];
        const double radius = front.handed_on()(entry, w.radii[j * radii_step(s) + i]);
        const double shift = weights_.inject * sign_of(weights_.pattern, entry, node, i, j);
        const TwoDoubles sum = TwoDoubles::sum(entry, shift * radius);
        entry = sum.high;
        if (wide_) w.low.column(j)[i] += sum.low;
      }
    }
  }

  const FrontTree& tree_;
  ProofEntries entries_;
  bool with_radii_, wide_, split_;
  int32_t split_rows_;
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

FactorColumns ProofFactor::unpack(std::vector<double>& room) const {
  const size_t step = rows + size_t(kWideSlack);
  room.resize(step * eliminated);
  const double* from = lower;
  for (int32_t j = 0; j < eliminated; ++j) {
    double* to = room.data() + j * step;
    copy_eights(rows - j - 1, from, to + j + 1);
    from += rows - j - 1;
    std::fill_n(to + rows, kWideSlack, 0.0);
  }
  return {rows, eliminated, room.data()};
}

ProofElimination eliminate_for_proof(const FrontTree& tree, const ProofEntries& entries,
                                     Bounding bounding, const ProofWeights& weights, int threads,
                                     Control& control) {
  if (tree.num_nodes() == 0) return {.pivots = {1.0, 0}};
  return Run(tree, entries, bounding, weights, threads, control).run();
}

}  // namespace planaris
