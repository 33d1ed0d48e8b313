// Odd closed walks in doubled graphs, and their way back to simple chordless cycles.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

namespace planaris::odd {

// An arc of a graph that is doubled only in thought: the copy is kept at cost `length[0]`
// (through edge[0]) or changed at cost `length[1]` (through edge[1]).
struct Arc {
  int32_t to;
  int32_t edge[2];
  double length[2];
};

struct Graph {
  std::vector<int32_t> offsets;
  std::vector<Arc> arcs;
  int32_t num_vertices() const { return static_cast<int32_t>(offsets.size()) - 1; }
  int32_t degree(int32_t v) const { return offsets[v + 1] - offsets[v]; }
};

struct Step {
  int32_t edge;
  int8_t odd;
};
using Walk = std::vector<Step>;

struct Cycle {
  Walk steps;  // in order around the cycle
  double length;
};

// The input graph with its values.
struct Instance {
  Instance(int32_t num_spins, std::span<const int32_t> edges, std::span<const double> x);
  double length(Step s) const { return s.odd ? 1 - x[s.edge] : x[s.edge]; }
  int32_t other_end(int32_t e, int32_t v) const { return ends[2 * e] ^ ends[2 * e + 1] ^ v; }

  std::span<const int32_t> ends;
  std::vector<double> x;
  Graph graph;
};

// Dijkstra from one vertex up to half the threshold: by symmetry of the two copies the
// shortest way from v to its copy closes where two short ends meet.
class Search {
 public:
  explicit Search(const Graph& graph);
  // Calls visit(walk) for the best closed odd walk per first edge, if shorter than `limit`.
  // Settles at most `budget` vertices. Dead vertices are not entered.
  void run(int32_t source, double limit, int64_t budget, const std::vector<int8_t>& dead,
           std::vector<Walk>& out);

 private:
  struct Closing {
    double length;
    int32_t from, arc, to;  // doubled vertices; arc index * 2 + odd
  };
  void settle(int32_t node, const std::vector<int8_t>& dead, double limit);
  void offer(int32_t root, const Closing& closing);
  Walk assemble(const Closing& closing) const;
  void reset();

  const Graph& graph_;
  std::vector<double> distance_;
  std::vector<int32_t> via_, parent_, root_;
  std::vector<int8_t> settled_;
  std::vector<int32_t> touched_;
  std::vector<int32_t> roots_;
  std::vector<Closing> best_;  // per arc of the source
  std::priority_queue<std::pair<double, int32_t>, std::vector<std::pair<double, int32_t>>,
                      std::greater<>>
      heap_;
  int32_t source_ = 0;
};

// Turns closed odd walks of the instance into simple chordless odd cycles.
class Simplifier {
 public:
  explicit Simplifier(const Instance& instance);
  // Empty when the walk holds no cycle of three edges or more.
  Cycle simplify(const Walk& walk, int32_t start);

 private:
  Walk first_odd_loop(const Walk& walk, int32_t start, int32_t& loop_start);
  bool cut_chord(Walk& cycle, int32_t& start);

  const Instance& instance_;
  std::vector<int32_t> place_;  // position on the walk, or -1
};

}  // namespace planaris::odd
