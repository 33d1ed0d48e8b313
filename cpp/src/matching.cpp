#include "planaris/matching.hpp"

#include <stdexcept>

#include "tjoin_solve.hpp"

namespace planaris {

TJoinSolution minimum_tjoin(const TJoinProblem& problem, const TJoinState* start,
                            Control& control) {
  if (problem.edges.size() != 2 * problem.weights->mantissas.size()) {
    throw std::invalid_argument("weights and edges differ in length");
  }
  const int bits = tjoin::bits_needed(problem);
  TJoinSolution solution;
  if (start != nullptr && start->resolve(problem, control, solution)) return solution;
  tjoin::Layout layout = tjoin::lay_out(problem);
  if (layout.infeasible >= 0) {
    solution.infeasible = layout.infeasible;
    return solution;
  }
  using namespace tjoin;
  if (bits <= 64) return solve_with<int64_t>(problem, std::move(layout), control);
  if (bits <= 128) return solve_with<Int128>(problem, std::move(layout), control);
  if (bits <= 256) return solve_with<Wide<4>>(problem, std::move(layout), control);
  return solve_with<Wide<35>>(problem, std::move(layout), control);
}

}  // namespace planaris
