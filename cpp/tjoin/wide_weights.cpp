// T-joins with numbers of more than 128 bits.
#include "tjoin/solve.hpp"
#include "tjoin/solver.hpp"

namespace planaris::tjoin {

template TJoinSolution solve_with<WideInteger<4>>(const TJoinProblem&, Layout&&, Control&);
template std::unique_ptr<TJoinSolver> make_solver<WideInteger<4>>(const TJoinProblem&, Layout&&,
                                                                  Team&);
template TJoinSolution solve_with<WideInteger<35>>(const TJoinProblem&, Layout&&, Control&);
template std::unique_ptr<TJoinSolver> make_solver<WideInteger<35>>(const TJoinProblem&, Layout&&,
                                                                   Team&);

}  // namespace planaris::tjoin
