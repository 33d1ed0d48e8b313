// A pairwise energy min_x base + sum_i f_i(x_i) + sum_ij f_ij(x_i, x_j) over labels that are left,
// with messages that bound it. Energies may be +infinity (hard constraints).
//
// A node of the search owns one: labels that go, go from every table, so children are smaller
// than their parents. Messages move energy from edges to variables and are kept apart from the
// energies: bounds are computed from what was given, whatever was passed around before. Where
// reductions add energies up, the sums are rounded down, so bounds hold for what was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "labels/record.hpp"

namespace planaris::labels {

// A Markov random field as flat arrays of logarithms, the last variable of a scope the fastest.
struct Factors {
  std::span<const int32_t> cardinalities, scopes;
  std::span<const int64_t> scope_offsets;
  std::span<const double> log_values;
  std::span<const int64_t> table_offsets;
};

// A variable that was eliminated: its best label given those of up to two others. The last one
// that went comes first, as states are lifted.
struct Eliminated {
  int32_t variable = -1, others[2] = {-1, -1};
  std::vector<int32_t> labels[2];  // of the others, as their numbers in the input
  std::vector<int32_t> best;       // the first of the others is the slow axis
  std::shared_ptr<Eliminated> before;

  Eliminated() = default;
  Eliminated(const Eliminated&) = delete;
  Eliminated& operator=(const Eliminated&) = delete;
  // One step after the other: long tapes do not nest.
  ~Eliminated() {
    while (before && before.use_count() == 1) {
      auto next = std::move(before->before);
      before = std::move(next);
    }
  }
};

struct Edge {
  int32_t ends[2];
  std::vector<double> table, turned;  // ends[0] slow, ends[1] slow
  std::vector<double> message[2];     // to either end
  double error = 0;                   // most by which sums in the table were rounded down
};

// How large the energies of a model are: the sum of the least of each factor, and the largest
// size of one.
struct Sizes {
  double least = 0, largest = 0;
};
Sizes sizes_of(const Factors& factors);

// What the messages say: a bound below all energies, rounding charged, and for every label how
// much more its use would cost.
struct Evaluation {
  double bound = 0;
  std::vector<double> slack;  // by label, as Problem::first counts them
};

// A problem that was reduced, in two arrays: its many small ones take long to copy and to free.
struct PackedProblem {
  std::vector<int32_t> integers;
  std::vector<double> reals;
  int64_t work = 0;
  std::shared_ptr<Eliminated> tape;

  int64_t bytes() const;
};

class Problem {
 public:
  explicit Problem(const PackedProblem& packed);
  PackedProblem pack() const;

  // Factors of three variables and more become variables over their joint states of positive
  // weight, numbered after the others.
  explicit Problem(const Factors& factors, Control& control);

  int32_t size() const { return static_cast<int32_t>(variable.size()); }
  int32_t labels_of(int32_t i) const { return static_cast<int32_t>(label[i].size()); }
  int64_t bytes() const;

  // -- reductions; each keeps the least energy. False: no state is left. -----------------------

  // Drops impossible and dominated labels, eliminates variables of degree two and less, until
  // nothing changes; removes what went from the arrays.
  bool reduce(int max_degree, Record* record, Control& control);
  // Drops labels whose use would cost `room` or more. Returns how many; `least` is lowered to the
  // least slack among them.
  int64_t drop_beyond(const Evaluation& found, double room, double& least, Record* record);
  // Keeps one label of a variable, or all others.
  void restrict_to(int32_t i, int32_t a, bool equal);

  // -- messages -------------------------------------------------------------------------------

  // Forward-and-backward sweeps, as TRW-S does them. False: no state is left.
  bool sweep(int rounds, Control& control);
  Evaluation evaluate() const;
  // Variables in order, each at its best given those before and the messages.
  std::vector<int32_t> decode() const;
  // Sets single variables to their best label until none gains.
  void descend(std::vector<int32_t>& state, Control& control) const;
  double energy_of(std::span<const int32_t> state) const;
  // Labels of the input.
  std::vector<int32_t> lift(std::span<const int32_t> state) const;
  // For every variable, what of the gap between a state and the bound lies at it.
  std::vector<double> contest(std::span<const int32_t> state) const;
  // Messages in the order of a proof: edges by the numbers of their variables.
  void write_messages(Record& record) const;

  std::vector<int32_t> variable;            // number in the input
  std::vector<std::vector<int32_t>> label;  // labels that are left, by their numbers in the input
  std::vector<std::vector<double>> energy;  // f_i
  std::vector<double> error;                // most by which its sums were rounded down
  std::vector<Edge> edges;
  std::vector<std::vector<int32_t>> incident;  // edges of a variable
  double base = 0, base_low = 0;               // the constant, and what it was rounded by
  double charge = 0;                           // most that bounds may lose to drop a label
  int64_t work = 0;                            // entries that sweeps have looked at
  int32_t num_inputs = 0;                      // variables of the input, those of clusters included
  std::shared_ptr<Eliminated> tape;

 private:
  int32_t other_end(const Edge& edge, int32_t i) const {
    return edge.ends[0] == i ? edge.ends[1] : edge.ends[0];
  }
  double entry(const Edge& edge, int32_t i, int32_t a, int32_t c) const {
    const int64_t columns = labels_of(edge.ends[1]);
    return edge.ends[0] == i ? edge.table[a * columns + c] : edge.table[c * columns + a];
  }
  // The table with the labels of i as columns, so that they are contiguous.
  const double* columns_of(const Edge& edge, int32_t i) const {
    return edge.ends[1] == i ? edge.table.data() : edge.turned.data();
  }
  int32_t find_edge(int32_t u, int32_t v) const;
  int32_t add_edge(int32_t u, int32_t v, std::vector<double> table);
  void remove_edge(int32_t e);
  void keep_labels(int32_t i, const std::vector<uint8_t>& keep);
  void turn(Edge& edge) const;
  bool drop_impossible(int32_t i, bool& changed, Record* record);
  bool drop_dominated(int32_t i, Record* record, Control& control);
  bool reduce_all(int max_degree, Record* record, Control& control);
  // By how much label b may cost more than label a at most, whatever the neighbours do.
  double deficit(int32_t i, int32_t b, int32_t a) const;
  void find_favourite(int32_t i);
  bool eliminate(int32_t i, int max_degree, std::vector<int32_t>& touched, Record* record,
                 Control& control);
  void eliminate_between(int32_t i, int32_t first, int32_t second);
  void eliminate_leaf(int32_t i, int32_t e);
  void put_on_tape(int32_t i, std::initializer_list<int32_t> others, std::vector<int32_t> best);
  void compact();
  void add_cluster(std::span<const int32_t> scope, std::span<const double> logs);
  void add_base(double value);
  std::vector<double> belief(int32_t i) const;
  bool pull(int32_t i, bool ahead);
  void push(int32_t i, bool ahead);

  std::vector<uint8_t> gone_;  // variables and edges that wait for compact()
  std::vector<uint8_t> edge_gone_;
  std::vector<int32_t> favourite_;  // of every variable the label of least belief
  std::vector<std::vector<double>> belief_;
  std::vector<double> scratch_;
};

}  // namespace planaris::labels
