// Exact samples. The fronts of one elimination, as assembled and before their own edges were
// joined, give the weights of all patterns on a separator given the separators above it: legs of
// edges that are not cut are struck out, those of cut edges stay. Nothing is inverted; every
// probability is a ratio of two Pfaffians of one sign, so low temperatures do no harm.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/team.hpp"
#include "fronts/front_elimination.hpp"
#include "fronts/tree_tasks.hpp"
#include "pfaffian/sweep.hpp"

namespace planaris {

namespace {

// A skew-symmetric matrix, lower triangle, column-major: first rows to get rid of, then the two
// legs of every edge that is to be drawn (without their joins).
template <class T>
struct Block {
  std::vector<T> entries;
  int32_t rows = 0, others = 0;

  T* column(int32_t j) { return entries.data() + size_t(j) * rows; }
  const T* column(int32_t j) const { return entries.data() + size_t(j) * rows; }
  T entry(int32_t i, int32_t j) const {
    return i > j ? entries[size_t(j) * rows + i] : -entries[size_t(i) * rows + j];
  }
};

template <class T>
class Sampler {
 public:
  Sampler(const FrontTree& tree, const KasteleynEntries& entries, const Fronts<T>& fronts)
      : tree_(tree), entries_(entries), fronts_(fronts) {
    for (size_t e = 0; e < entries_.sign.size(); ++e) {
      const T value = exponential<T>(entries_.join[2 * e] + entries_.join[2 * e + 1]);
      joins_.push_back(entries_.sign[e] > 0 ? value : -value);
    }
  }

  // One sample by all threads of a team.
  void together(std::span<const double> uniform, Team& team, CutRow& row) {
    const TreeTasks tasks = cut_tasks(tree_, team.threads());
    std::vector<Worker> workers(team.threads());
    for (Worker& w : workers) w.begin(uniform, row);
    std::vector<double> logs(tree_.num_nodes());  // by node, so that nobody's share counts
    team.work(tasks.successors(tree_, false), tasks.waits(tree_, false),
              [&](int worker, int task) {
                const auto [first, last] = tasks.tasks[task];
                for (int32_t node = last; node >= first; --node) {
                  team.check(worker);
                  logs[node] = visit(workers[worker], node);
                }
              });
    for (const Worker& w : workers) row.undecided += w.undecided;
    for (const double log : logs) row.log_probability += log;
  }

  // Samples of many rows, each by one thread.
  void apart(std::span<const double> uniform, Team& team, std::vector<CutRow>& rows) {
    const size_t edges = joins_.size();
    std::vector<Worker> workers(team.threads());
    team.work(rows.size(), [&](int worker, int r) {
      Worker& w = workers[worker];
      w.begin(uniform.subspan(r * edges, edges), rows[r]);
      w.logs.resize(tree_.num_nodes());
      for (int32_t node = tree_.num_nodes() - 1; node >= 0; --node) {
        team.check(worker);
        w.logs[node] = visit(w, node);
      }
      rows[r].undecided = w.undecided;
      for (const double log : w.logs) rows[r].log_probability += log;
    });
  }

 private:
  struct Worker {
    Packing packing;
    std::vector<T> pivot_rows;
    std::vector<int32_t> perm;
    std::vector<double> logs;
    std::span<const double> uniform;
    std::span<uint8_t> cut;
    int64_t undecided = 0;
    double log_probability = 0.0;  // of the decisions at one node

    void begin(std::span<const double> numbers, CutRow& row) {
      uniform = numbers;
      cut = row.cut;
      undecided = 0;
    }
  };

  // Decides the edges of a node; returns the logarithm of the probability.
  double visit(Worker& w, int32_t node) {
    w.log_probability = 0.0;
    decide_edges(w, node);
    return w.log_probability;
  }

  void decide_edges(Worker& w, int32_t node) {
    const int32_t own = tree_.own_rows(node);
    if (own == 0) return;
    const FrontMatrix<T>& front = fronts_[node];
    const int32_t boundary = tree_.boundary_rows(node);
    std::vector<int32_t> rows;
    for (int32_t k = own; k < front.rows - boundary; ++k) rows.push_back(k);  // refused below
    const int32_t* legs = tree_.boundary_legs.data() + tree_.boundary[node];
    for (int32_t k = 0; k < boundary; ++k) {
      if (w.cut[legs[k] >> 1]) rows.push_back(front.rows - boundary + k);
    }
    const auto others = static_cast<int32_t>(rows.size());
    for (int32_t k = 0; k < own; ++k) rows.push_back(k);
    Block<T> block;
    block.rows = static_cast<int32_t>(rows.size());
    block.others = others;
    block.entries.resize(size_t(block.rows) * block.rows);
    for (int32_t j = 0; j < block.rows; ++j) {
      for (int32_t i = j + 1; i < block.rows; ++i) {
        block.column(j)[i] = front.entry(rows[i], rows[j]);
      }
    }
    block = reduce(w, std::move(block), others);
    draw(w, block, {tree_.edge_order.data() + tree_.own[node], size_t(own / 2)});
  }

  // Eliminates as many of the first `candidates` rows as have pivots.
  Block<T> reduce(Worker& w, Block<T>&& block, int32_t candidates) {
    if (candidates == 0) return std::move(block);
    w.perm.resize(block.rows);
    for (int32_t k = 0; k < block.rows; ++k) w.perm[k] = k;
    FrontElimination<T> front(block.entries.data(), block.rows, candidates, w.perm.data(),
                              w.packing, w.pivot_rows, alone_);
    const int32_t done = front.run(0.1, false);
    Block<T> rest;
    rest.rows = block.rows - done;
    rest.others = candidates - done;
    rest.entries.resize(size_t(rest.rows) * rest.rows);
    for (int32_t j = 0; j < rest.rows; ++j) {
      const T* from = block.column(done + j) + done;
      std::copy(from + j + 1, from + rest.rows, rest.column(j) + j + 1);
    }
    for (int32_t r = 0; r < rest.others; ++r) rescale(rest, r);
    return rest;
  }

  // Small rows are made large: only ratios of Pfaffians are of interest.
  void rescale(Block<T>& block, int32_t r) {
    T largest = T(0.0);
    for (int32_t i = 0; i < block.rows; ++i) {
      if (i != r) largest = std::max(largest, magnitude(block.entry(i, r)));
    }
    if (is_zero(largest)) return;
    const T factor = power_of_two<T>(std::clamp<int64_t>(-binary_exponent(largest), -1000, 1000));
    for (int32_t j = 0; j < r; ++j) block.column(j)[r] = block.column(j)[r] * factor;
    for (int32_t i = r + 1; i < block.rows; ++i) block.column(r)[i] = block.column(r)[i] * factor;
  }

  Block<T> select(const Block<T>& block, const std::vector<int32_t>& rows, int32_t others) {
    Block<T> chosen;
    chosen.rows = static_cast<int32_t>(rows.size());
    chosen.others = others;
    chosen.entries.resize(rows.size() * rows.size());
    for (int32_t j = 0; j < chosen.rows; ++j) {
      for (int32_t i = j + 1; i < chosen.rows; ++i) {
        chosen.column(j)[i] = block.entry(rows[i], rows[j]);
      }
    }
    return chosen;
  }

  // The first half of the edges with the second summed over, then the second given the first.
  void draw(Worker& w, const Block<T>& block, std::span<const int32_t> edges) {
    if (edges.size() == 1) return decide(w, block, edges[0]);
    const auto half = static_cast<int32_t>(edges.size() / 2), others = block.others;
    const int32_t middle = others + 2 * half;
    std::vector<int32_t> rows;
    for (int32_t k = 0; k < others; ++k) rows.push_back(k);
    for (int32_t k = middle; k < block.rows; ++k) rows.push_back(k);
    const auto candidates = static_cast<int32_t>(rows.size());
    for (int32_t k = others; k < middle; ++k) rows.push_back(k);
    Block<T> first = select(block, rows, others);
    for (size_t k = half; k < edges.size(); ++k) {
      const auto at = static_cast<int32_t>(others + 2 * (k - half));
      first.column(at)[at + 1] += -joins_[edges[k]];
    }
    draw(w, reduce(w, std::move(first), candidates), edges.first(half));
    rows.resize(others);
    for (int32_t k = 0; k < half; ++k) {
      if (!w.cut[edges[k]]) continue;
      rows.push_back(others + 2 * k);
      rows.push_back(others + 2 * k + 1);
    }
    const auto known = static_cast<int32_t>(rows.size());
    for (int32_t k = middle; k < block.rows; ++k) rows.push_back(k);
    draw(w, reduce(w, select(block, rows, known), known), edges.subspan(half));
  }

  // Logarithm of the Pfaffian of the first rows; -inf if it vanishes.
  double log_pfaffian(Worker& w, const Block<T>& block, int32_t rows) {
    if (rows % 2 == 1) return -INFINITY;
    std::vector<T> a(size_t(rows) * rows);
    for (int32_t j = 0; j < rows; ++j) {
      std::copy(block.column(j) + j, block.column(j) + rows, a.data() + size_t(j) * rows + j);
    }
    w.perm.resize(rows);
    FrontElimination<T> front(a.data(), rows, rows, w.perm.data(), w.packing, w.pivot_rows, alone_);
    if (front.run(0.1, true) < rows) return -INFINITY;
    double sum = 0.0;
    for (int32_t k = 0; k < rows; k += 2) sum += log_magnitude(a[size_t(k) * rows + k + 1]);
    return sum;
  }

  void decide(Worker& w, const Block<T>& block, int32_t edge) {
    const double stay = entries_.join[2 * edge] + entries_.join[2 * edge + 1] +
                        log_pfaffian(w, block, block.others);
    const double part = log_pfaffian(w, block, block.rows);
    if (!(stay > -INFINITY) && !(part > -INFINITY)) ++w.undecided;
    w.cut[edge] = !(w.uniform[edge] * (1.0 + std::exp(std::min(part - stay, 700.0))) < 1.0);
    if (!(stay > -INFINITY)) {
      w.cut[edge] = 1;
    } else if (part > -INFINITY) {
      const double against = w.cut[edge] ? stay - part : part - stay;
      w.log_probability -= against > 0 ? against + std::log1p(std::exp(-against))
                                       : std::log1p(std::exp(against));
    }
  }

  const FrontTree& tree_;
  KasteleynEntries entries_;
  const Fronts<T>& fronts_;
  std::vector<T> joins_;  // by edge, signed
  ParallelFor alone_;
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

template void sample_cuts<double>(const FrontTree&, const KasteleynEntries&,
                                  const Fronts<double>&, std::span<const double>, int, Control&,
                                  std::vector<CutRow>&);
template void sample_cuts<DoubleDouble>(const FrontTree&, const KasteleynEntries&,
                                        const Fronts<DoubleDouble>&, std::span<const double>, int,
                                        Control&, std::vector<CutRow>&);

}  // namespace planaris
