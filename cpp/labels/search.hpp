// Branch and bound over labels: best bound first, with dives.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/control.hpp"
#include "labels/local_search.hpp"
#include "labels/problem.hpp"

namespace planaris::labels {

struct SearchOptions {
  double gap = 0;                        // stop once the interval is no wider
  bool prove = false;                    // keep the steps of every node
  int64_t max_bytes = int64_t{1} << 30;  // of open nodes
  double tolerance = 0;                  // an interval no wider than this is closed
  double constant = 0;                   // energies that the factors leave out
  int64_t max_nodes = std::numeric_limits<int64_t>::max();
  bool by_parts = true;  // look for states by searches of parts, too
};

// Both ends of the interval after one of them moved.
struct TracePoint {
  double seconds, lower, upper;
};

enum class Status { kFinished, kGap, kTime, kMemory, kNodes };

class Search {
 public:
  // The arrays of the factors must outlive the search.
  Search(const Factors& factors, const SearchOptions& options, Control& control);

  // Goes on until the tree is empty, the gap is reached, or the time or the memory is used up.
  Status run(Control& control);

  // Takes labels of the input as a state to beat.
  void offer(std::span<const int32_t> state, double energy);

  // All energies are at least this.
  double lower() const;
  // The least energy found, +infinity if no state was, and its labels.
  double upper() const { return upper_; }
  const std::vector<int32_t>& state() const { return state_; }

  // Writes down messages of what is still open, once the search is over, and lowers lower() to
  // what the records prove.
  const std::vector<Record>& finish_records();

  int64_t nodes() const { return nodes_; }
  int64_t sweeps() const { return sweeps_; }
  int64_t open() const { return static_cast<int64_t>(open_.size()) + (hand_ ? 1 : 0); }
  int32_t reduced_variables() const { return reduced_variables_; }
  int32_t reduced_edges() const { return reduced_edges_; }
  const std::vector<TracePoint>& trace() const { return trace_; }

 private:
  struct Node {
    Problem problem;
    double bound;
    int32_t record = -1;  // place among the records
    int depth = 0;
    int stalled = 0;  // rounds in a row that gained little
  };
  // A node that waits, without one label of a variable: the other branch has that.
  struct OpenNode {
    PackedProblem problem;
    int32_t without_variable, without_label;
    double bound;
    int32_t record;
    int depth;

    Node unpacked() const;
  };
  using Key = std::pair<double, int64_t>;

  int32_t new_record();
  Record* record_of(const Node& node) { return node.record < 0 ? nullptr : &records_[node.record]; }
  void note();
  double closing() const;
  bool closed(double bound) const;
  void offer_of(const Problem& problem, std::vector<int32_t> state, bool root, Control& control);
  void improve_by_parts(const Problem& problem, Control& control);
  bool improve_part(int32_t centre, size_t count, Control& control);
  bool bound(Node& node, Control& control);
  bool improve_bound(Node& node, int64_t& dropped, double& gain, Control& control);
  void close_hand();
  void branch();
  void push(OpenNode node);
  Node pop();

  SearchOptions options_;
  Sizes sizes_;
  FactorGraph graph_;
  uint64_t draws_ = 0;
  size_t part_size_ = 50, part_failures_ = 0;
  int64_t work_ = 0;                 // of sweeps, and of those of parts
  double credit_ = 0, share_ = 0.5;  // work that parts may take, and its share of the whole
  std::optional<Node> hand_;         // the part at hand
  std::map<Key, OpenNode> open_;
  int64_t order_ = 0, bytes_ = 0, nodes_ = 0, sweeps_ = 0;
  double finished_ = std::numeric_limits<double>::infinity();  // lowest of what is done with
  double upper_ = std::numeric_limits<double>::infinity();
  std::vector<int32_t> state_;
  int32_t reduced_variables_ = 0, reduced_edges_ = 0;
  std::vector<TracePoint> trace_;
  std::vector<Record> records_;
  Control::Clock::time_point started_ = Control::Clock::now();
};

}  // namespace planaris::labels
