// Minimum-weight T-joins in sparse graphs, exact, with a packing of T-cuts as proof.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/control.hpp"
#include "base/unwritten.hpp"

namespace planaris {

// The weight of edge e is mantissas[e] * 2^(exponent + shifts[e]); no shifts mean zeros.
struct TJoinWeights {
  UnwrittenVector<int64_t> mantissas;
  UnwrittenVector<int32_t> shifts;
  int32_t exponent = 0;
};

// Writes finite doubles, or their absolute values, as integers times one power of two, without
// loss.
TJoinWeights dyadic_weights(std::span<const double> weights, int threads = 1,
                            bool absolute = false);
// Weights >= 0 rounded to as many bits as 64-bit arithmetic of the matching leaves: 2^-40 of the
// largest weight or less, for graphs of up to a million edges.
TJoinWeights rounded_weights(std::span<const double> weights);
// The same, in memory that is there.
void round_weights(std::span<const double> weights, TJoinWeights& result);

// By vertex: 1 where an odd number of edges with negative values ends, else 0.
std::vector<uint8_t> negative_parity(int32_t num_vertices, std::span<const int32_t> edges,
                                     std::span<const double> values, int threads = 1);

struct TJoinProblem {
  int32_t num_vertices = 0;
  std::span<const int32_t> edges;  // pairs
  const TJoinWeights* weights = nullptr;
  std::span<const int32_t> odd;       // repeated vertices cancel
  std::span<const int32_t> boundary;  // vertices that absorb any parity
  // All vertices are odd, and `offset` is added to every weight, so large that the lightest
  // T-join is a perfect matching if there is one. Weights may be negative then.
  bool perfect = false;
  // Searches begin within ranges of about so many vertices, which threads share. How a problem is
  // split depends on nothing else, so that the answer is the same for any number of them.
  int threads = 1;
  int32_t range = 1 << 17;
  // Throws DeadlinePassed where the time left is too short for a layout, a search and an answer;
  // otherwise these are made whatever the time.
  bool give_up = false;
};

struct TJoinSolution;

// The seconds since it was made, or since the last call.
class Laps {
 public:
  double operator()() {
    const auto now = Control::Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  Control::Clock::time_point last_ = Control::Clock::now();
};

// What a later solve on the same graph can start from.
class TJoinState {
 public:
  virtual ~TJoinState() = default;
  // Solves the new problem from this state; false when it does not fit.
  virtual bool resolve(const TJoinProblem& problem, Control& control,
                       TJoinSolution& solution) const = 0;
};

struct TJoinSolution {
  std::vector<int32_t> join;
  int32_t infeasible = -1;  // a vertex of a component with an odd number of odd vertices
  bool exact = true;        // false when the deadline passed: a join, and a packing below it
  int32_t exponent = 0;     // integers below count units of 2^exponent; duals, halves of them

  // Set k holds the vertices order[start[k]], ..., order[stop[k] - 1]; sets are nested or
  // disjoint, and parent[k] < k is the smallest one around k, or -1.
  UnwrittenVector<int32_t> order, start, stop, parent;
  int32_t num_digits = 0;           // 0: plain int64; otherwise base 2^32, lowest first
  UnwrittenVector<int64_t> values;  // the dual of each set, in half units
  std::vector<int64_t> objective;   // digits, base 2^32
  std::vector<int64_t> lower;       // sum of all values; digits, base 2^32
  std::vector<int64_t> offset;      // digits, base 2^32; signed top digit
  std::vector<int64_t> counters;
  // Of wall time: the layout, the graph in its order, the search, and all that is read off
  // afterwards.
  std::vector<double> seconds = std::vector<double>(4, 0.0);
  std::shared_ptr<const TJoinState> state;
};

// Throws std::invalid_argument for broken arrays. `start` may be null; it is used when its
// graph and number type fit, and ignored otherwise.
TJoinSolution minimum_tjoin(const TJoinProblem& problem, const TJoinState* start, Control& control);

// Joins many sets of odd vertices on one graph. What is found does not depend on what was found
// before.
class TJoinSolver {
 public:
  virtual ~TJoinSolver() = default;
  // False when the numbers of this solver are too narrow for these weights, or wider than they need
  // be; nothing changes then.
  virtual bool set_weights(const TJoinWeights& weights) = 0;
  // Appends the edges of a lightest join, ascending, and num_digits digits, base 2^32, of its
  // weight. Returns -1, or a vertex of a component with an odd number of odd vertices.
  // `proof`, if not null, receives the packing of cuts.
  virtual int32_t solve(std::span<const int32_t> odd, Control& control, std::vector<int32_t>& join,
                        std::vector<int64_t>& objective, TJoinSolution* proof = nullptr) = 0;
  int32_t num_digits = 0, exponent = 0;  // weights count units of 2^exponent
};

// The odd vertices of the problem are not looked at.
std::unique_ptr<TJoinSolver> prepare_tjoins(const TJoinProblem& problem);

}  // namespace planaris
