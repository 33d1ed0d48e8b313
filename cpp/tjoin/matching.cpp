#include "tjoin/matching.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/wide_integer.hpp"
#include "tjoin/state.hpp"

namespace planaris {

namespace {

constexpr int32_t kWorthThreads = 1 << 14;  // vertices

void check_lengths(const TJoinProblem& problem) {
  if (problem.edges.size() != 2 * problem.weights->mantissas.size()) {
    throw std::invalid_argument("weights and edges differ in length");
  }
}

// Whatever the deadline, unless the caller does without an answer.
tjoin::Layout lay_out(const TJoinProblem& problem, Control& control) {
  Team team(problem.threads, control);
  control.set_finishing(!problem.give_up);
  tjoin::Layout layout = tjoin::lay_out(problem, team);
  control.set_finishing(false);
  return layout;
}

}  // namespace

std::unique_ptr<TJoinSolver> prepare_tjoins(const TJoinProblem& given) {
  check_lengths(given);
  TJoinProblem problem = given;
  problem.odd = {};
  const int bits = tjoin::bits_needed(problem);
  Control control;
  Team team(1, control);
  tjoin::Layout layout = tjoin::lay_out(problem, team);
  layout.bits = bits;
  using namespace tjoin;
  if (bits <= 64) return make_solver<int64_t>(problem, std::move(layout), team);
  if (bits <= 128) return make_solver<Int128>(problem, std::move(layout), team);
  if (bits <= 256) return make_solver<WideInteger<4>>(problem, std::move(layout), team);
  return make_solver<WideInteger<35>>(problem, std::move(layout), team);
}

TJoinSolution minimum_tjoin(const TJoinProblem& given, const TJoinState* start, Control& control) {
  check_lengths(given);
  TJoinProblem problem = given;
  if (problem.num_vertices < std::min(kWorthThreads, problem.range)) problem.threads = 1;
  const int bits = tjoin::bits_needed(problem);
  TJoinSolution solution;
  if (start == nullptr || !start->resolve(problem, control, solution)) {
    Laps lap;
    tjoin::Layout layout = lay_out(problem, control);
    layout.bits = bits;
    const double laid_out = lap();
    if (layout.infeasible >= 0) {
      solution.infeasible = layout.infeasible;
      return solution;
    }
    using namespace tjoin;
    if (bits <= 64) {
      solution = solve_with<int64_t>(problem, std::move(layout), control);
    } else if (bits <= 128) {
      solution = solve_with<Int128>(problem, std::move(layout), control);
    } else if (bits <= 256) {
      solution = solve_with<WideInteger<4>>(problem, std::move(layout), control);
    } else {
      solution = solve_with<WideInteger<35>>(problem, std::move(layout), control);
    }
    solution.seconds[0] = laid_out;
  }
  // An interval helps nobody who needs every vertex matched once.
  if (problem.perfect && !solution.exact) throw DeadlinePassed();
  return solution;
}

}  // namespace planaris
