// T-joins with numbers of one or two machine words.
#include "tjoin/solve.hpp"
#include "tjoin/solver.hpp"

namespace planaris::tjoin {

template TJoinSolution solve_with<int64_t>(const TJoinProblem&, Layout&&, Control&);
template std::unique_ptr<TJoinSolver> make_solver<int64_t>(const TJoinProblem&, Layout&&, Team&);
template TJoinSolution solve_with<Int128>(const TJoinProblem&, Layout&&, Control&);
template std::unique_ptr<TJoinSolver> make_solver<Int128>(const TJoinProblem&, Layout&&, Team&);

}  // namespace planaris::tjoin
