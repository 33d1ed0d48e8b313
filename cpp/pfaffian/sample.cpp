// Exact samples. The fronts of one elimination, as assembled and before their own edges were
// joined, give the weights of all patterns on a separator given the separators above it: legs of
// edges that are not cut are struck out, those of cut edges stay. Nothing is inverted; every
// probability is a ratio of two Pfaffians of one sign, so low temperatures do no harm.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/team.hpp"
#include "fronts/tree_tasks.hpp"
#include "pfaffian/edge_drawer.hpp"
#include "pfaffian/sweep.hpp"

namespace planaris {

namespace {

// Of logarithms of weights in a front: from here on its edges are drawn again in double-double.
constexpr double kMismatch = 1e-9;

template <class T>
class Sampler {
 public:
  Sampler(const FrontTree& tree, const KasteleynEntries& entries, const Fronts<T>& fronts)
      : tree_(tree), entries_(entries), fronts_(fronts) {}

  // One sample by all threads of a team.
  void together(std::span<const double> uniform, Team& team, CutRow& row) {
    const TreeTasks tasks = cut_tasks(tree_, team.threads());
    std::vector<Worker> workers(team.threads());
    for (Worker& w : workers) w.begin(uniform, row);
    std::vector<double> logs(tree_.num_nodes());  // by node, so that nobody's share counts
    team.work(tasks.successors(tree_, false), tasks.waits(tree_, false), [&](int worker, int task) {
      const auto [first, last] = tasks.tasks[task];
      for (int32_t node = last; node >= first; --node) {
        team.check(worker);
        logs[node] = decide_edges(workers[worker], node);
      }
    });
    for (const Worker& w : workers) row.undecided += w.undecided;
    for (const double log : logs) row.log_probability += log;
  }

  // Samples of many rows, each by one thread.
  void apart(std::span<const double> uniform, Team& team, std::vector<CutRow>& rows) {
    const size_t edges = entries_.sign.size();
    std::vector<Worker> workers(team.threads());
    team.work(rows.size(), [&](int worker, int r) {
      Worker& w = workers[worker];
      w.begin(uniform.subspan(r * edges, edges), rows[r]);
      w.logs.resize(tree_.num_nodes());
      for (int32_t node = tree_.num_nodes() - 1; node >= 0; --node) {
        team.check(worker);
        w.logs[node] = decide_edges(w, node);
      }
      rows[r].undecided = w.undecided;
      for (const double log : w.logs) rows[r].log_probability += log;
    });
  }

 private:
  static constexpr bool kIsNarrow = std::is_same_v<T, double>;
  using Wide = DoubleDouble;

  struct Worker {
    EdgeDrawer<T> drawer;
    EdgeDrawer<Wide> wide_drawer;
    std::vector<typename EdgeDrawer<T>::Edge> edges;
    std::vector<EdgeDrawer<Wide>::Edge> wide_edges;
    std::vector<int32_t> rows;
    std::vector<double> logs;
    std::span<const double> uniform;
    std::span<uint8_t> cut;
    int64_t undecided = 0;

    void begin(std::span<const double> numbers, CutRow& row) {
      uniform = numbers;
      cut = row.cut;
      undecided = 0;
    }
  };

  // Decides the edges of a node; returns the logarithm of the probability.
  double decide_edges(Worker& w, int32_t node) {
    if (tree_.own_rows(node) == 0) return 0.0;
    list_rows(w, node);
    if constexpr (kIsNarrow) {
      list_edges(w.edges, node);
      const auto found = w.drawer.run(block<double>(w, node), w.edges, w.uniform, w.cut);
      if (found.undecided > 0 || !(found.mismatch <= kMismatch)) return decide_wide(w, node);
      return found.log_probability;
    } else {
      return decide_wide(w, node);
    }
  }

  double decide_wide(Worker& w, int32_t node) {
    list_edges(w.wide_edges, node);
    const auto found = w.wide_drawer.run(block<Wide>(w, node), w.wide_edges, w.uniform, w.cut);
    w.undecided += found.undecided;
    return found.log_probability;
  }

  // The rows of a front that count: those that were refused below, of cut edges, and its own.
  void list_rows(Worker& w, int32_t node) const {
    const FrontMatrix<T>& front = fronts_[node];
    const int32_t own = tree_.own_rows(node), boundary = tree_.boundary_rows(node);
    w.rows.clear();
    for (int32_t k = own; k < front.rows - boundary; ++k) w.rows.push_back(k);
    const int32_t* legs = tree_.boundary_legs.data() + tree_.boundary[node];
    for (int32_t k = 0; k < boundary; ++k) {
      if (w.cut[legs[k] >> 1]) w.rows.push_back(front.rows - boundary + k);
    }
    for (int32_t k = 0; k < own; ++k) w.rows.push_back(k);
  }

  template <class Edge>
  void list_edges(std::vector<Edge>& edges, int32_t node) const {
    edges.clear();
    for (int32_t k = 0; k < tree_.own_rows(node) / 2; ++k) {
      const int32_t e = tree_.edge_order[tree_.own[node] + k];
      edges.push_back({e, entries_.join[2 * e] + entries_.join[2 * e + 1], entries_.sign[e] <= 0});
    }
  }

  // Of the rows listed.
  template <class U>
  DrawnBlock<U> block(const Worker& w, int32_t node) const {
    const FrontMatrix<T>& front = fronts_[node];
    const auto rows = static_cast<int32_t>(w.rows.size());
    DrawnBlock<U> found(rows, rows - tree_.own_rows(node), 0.0);
    for (int32_t j = 0; j < rows; ++j) {
      for (int32_t i = j + 1; i < rows; ++i) {
        found.column(j)[i] = U(front.entry(w.rows[i], w.rows[j]));
      }
    }
    return found;
  }

  const FrontTree& tree_;
  KasteleynEntries entries_;
  const Fronts<T>& fronts_;
};

}  // namespace

template <class T>
void sample_cuts(const FrontTree& tree, const KasteleynEntries& entries, const Fronts<T>& fronts,
                 std::span<const double> uniform, int threads, Control& control,
                 std::vector<CutRow>& rows) {
  Sampler<T> sampler(tree, entries, fronts);
  Team team(threads, control);
  if (std::ssize(rows) >= team.threads()) return sampler.apart(uniform, team, rows);
  const size_t edges = entries.sign.size();
  for (size_t r = 0; r < rows.size(); ++r) {
    sampler.together(uniform.subspan(r * edges, edges), team, rows[r]);
  }
}

template void sample_cuts<double>(const FrontTree&, const KasteleynEntries&, const Fronts<double>&,
                                  std::span<const double>, int, Control&, std::vector<CutRow>&);
template void sample_cuts<DoubleDouble>(const FrontTree&, const KasteleynEntries&,
                                        const Fronts<DoubleDouble>&, std::span<const double>, int,
                                        Control&, std::vector<CutRow>&);

}  // namespace planaris
