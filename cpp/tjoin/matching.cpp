#include "tjoin/matching.hpp"

#include <stdexcept>

#include "tjoin/solve.hpp"
#include "tjoin/solver.hpp"

namespace planaris {

namespace {

void check_lengths(const TJoinProblem& problem) {
  if (problem.edges.size() != 2 * problem.weights->mantissas.size()) {
    throw std::invalid_argument("weights and edges differ in length");
  }
}

}  // namespace

std::unique_ptr<TJoinSolver> prepare_tjoins(const TJoinProblem& given) {
  check_lengths(given);
  TJoinProblem problem = given;
  problem.odd = {};
  const int bits = tjoin::bits_needed(problem);
  tjoin::Layout layout = tjoin::lay_out(problem);
  using namespace tjoin;
  if (bits <= 64) return std::make_unique<TypedSolver<int64_t>>(problem, std::move(layout));
  if (bits <= 128) return std::make_unique<TypedSolver<Int128>>(problem, std::move(layout));
  if (bits <= 256) return std::make_unique<TypedSolver<WideInteger<4>>>(problem, std::move(layout));
  return std::make_unique<TypedSolver<WideInteger<35>>>(problem, std::move(layout));
}

TJoinSolution minimum_tjoin(const TJoinProblem& problem, const TJoinState* start,
                            Control& control) {
  check_lengths(problem);
  const int bits = tjoin::bits_needed(problem);
  TJoinSolution solution;
  if (start == nullptr || !start->resolve(problem, control, solution)) {
    tjoin::Layout layout = tjoin::lay_out(problem);
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
  }
  // An interval helps nobody who needs every vertex matched once.
  if (problem.perfect && !solution.exact) throw DeadlinePassed();
  return solution;
}

}  // namespace planaris
