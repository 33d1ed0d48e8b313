#include "batches/ground_states.hpp"

#include <cmath>
#include <stdexcept>

namespace planaris {

GroundStateFinder::GroundStateFinder(const PlaneGraph& plane) : plane_(plane) {
  const int32_t n = plane.num_vertices(), m = plane.num_couplings();
  std::vector<uint8_t> seen(n, 0);
  for (int32_t root = 0; root < n; ++root) {
    if (seen[root]) continue;
    seen[root] = 1;
    forest_.push_back({root, -1, -1});
    for (size_t k = forest_.size() - 1; k < forest_.size(); ++k) {
      const int32_t v = forest_[k].vertex;
      for (int32_t at = plane.graph.offsets[v]; at < plane.graph.offsets[v + 1]; ++at) {
        const int32_t h = plane.graph.rotation[at], w = plane.graph.head(h);
        if (h >> 1 >= m || seen[w]) continue;
        seen[w] = 1;
        forest_.push_back({w, v, h >> 1});
      }
    }
  }
}

GroundStateFinder::~GroundStateFinder() = default;
GroundStateFinder::GroundStateFinder(GroundStateFinder&&) noexcept = default;

TJoinSolver& GroundStateFinder::solver_for(const TJoinWeights& weights) {
  for (const auto& solver : solvers_) {
    if (solver->set_weights(weights)) return *solver;
  }
  solvers_.push_back(
      prepare_tjoins({plane_.num_faces, plane_.dual_edges, &weights, {}, plane_.absorbing}));
  return *solvers_.back();
}

void GroundStateFinder::list_odd(std::span<const double> couplings) {
  const int32_t m = plane_.num_couplings();
  sizes_.resize(m);
  differ_.resize(m);
  parity_.assign(plane_.num_faces, 0);
  for (int32_t e = 0; e < m; ++e) {
    sizes_[e] = std::fabs(couplings[e]);
    differ_[e] = couplings[e] < 0.0;
  }
  const int32_t* faces = plane_.dual_edges.data();
  const uint8_t* differ = differ_.data();
  uint8_t* parity = parity_.data();
  for (int32_t e = 0; e < m; ++e) {
    parity[faces[2 * e]] ^= differ[e];
    parity[faces[2 * e + 1]] ^= differ[e];
  }
  for (const int32_t face : plane_.absorbing) parity_[face] = 0;
  odd_.resize(plane_.num_faces);
  size_t count = 0;
  for (int32_t f = 0; f < plane_.num_faces; ++f) {
    odd_[count] = f;
    count += parity_[f];
  }
  odd_.resize(count);
}

void GroundStateFinder::find(const TJoinWeights& weights, bool prove, GaugeState& found) {
  found.tjoin.join.clear();
  objective_.clear();
  Control quiet;
  const int32_t infeasible = solver_for(weights).solve(odd_, quiet, found.tjoin.join, objective_,
                                                       prove ? &found.tjoin : nullptr);
  set_spins(infeasible, found);
}

void GroundStateFinder::set_spins(int32_t infeasible, GaugeState& found) {
  if (infeasible >= 0) throw std::logic_error("a component of the dual has odd parity");
  for (const int32_t e : found.tjoin.join) differ_[e] ^= 1;
  found.spins.resize(plane_.num_vertices());
  for (const auto& [vertex, parent, edge] : forest_) {
    // Whether an edge is satisfied cannot be foretold: no branch.
    found.spins[vertex] =
        parent < 0 ? int8_t{1} : static_cast<int8_t>(found.spins[parent] * (1 - 2 * differ_[edge]));
  }
}

void GroundStateFinder::find_exactly(std::span<const double> couplings, GaugeState& found) {
  list_odd(couplings);
  find(dyadic_weights(sizes_), false, found);
}

void GroundStateFinder::find_proved(std::span<const double> couplings, GaugeState& found,
                                    int threads, Control& control) {
  list_odd(couplings);
  const TJoinWeights weights = dyadic_weights(sizes_);
  TJoinProblem problem{plane_.num_faces, plane_.dual_edges, &weights, odd_, plane_.absorbing};
  problem.threads = threads;
  problem.give_up = true;
  found.tjoin = minimum_tjoin(problem, nullptr, control);
  if (!found.tjoin.exact) throw DeadlinePassed();
  set_spins(found.tjoin.infeasible, found);
}

void GroundStateFinder::find_gauge(std::span<const double> couplings, GaugeState& found) {
  list_odd(couplings);
  round_weights(sizes_, rounded_);
  find(rounded_, true, found);
}

}  // namespace planaris
