// Ground states of many models on one plane graph: minimum T-joins of the dual.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "batches/model_batch.hpp"
#include "tjoin/matching.hpp"

namespace planaris {

struct GaugeState {
  TJoinSolution tjoin;  // the edges that are not satisfied, and the packing of cuts that proves it
  std::vector<int8_t> spins;
};

// Keeps what does not depend on the couplings. What is found does not depend on earlier calls;
// threads need one each.
class GroundStateFinder {
 public:
  explicit GroundStateFinder(const PlaneGraph& plane);
  ~GroundStateFinder();
  GroundStateFinder(GroundStateFinder&&) noexcept;

  // A state of least energy, without its proof.
  void find_exactly(std::span<const double> couplings, GaugeState& found);
  // The same with its proof; throws DeadlinePassed where that takes too long.
  void find_proved(std::span<const double> couplings, GaugeState& found, int threads,
                   Control& control);
  // A state whose energy is the least but for rounding, some 1e-13 of the largest coupling per
  // edge, with a packing as good as that: enough for a gauge, and faster.
  void find_gauge(std::span<const double> couplings, GaugeState& found);

 private:
  void list_odd(std::span<const double> couplings);
  void find(const TJoinWeights& weights, bool prove, GaugeState& found);
  void set_spins(int32_t infeasible, GaugeState& found);
  TJoinSolver& solver_for(const TJoinWeights& weights);

  struct Link {
    int32_t vertex, parent, edge;
  };
  const PlaneGraph& plane_;
  std::vector<Link> forest_;  // parents first; the first vertex of each component has none
  std::vector<std::unique_ptr<TJoinSolver>> solvers_;  // by the width of their numbers
  std::vector<double> sizes_;
  TJoinWeights rounded_;
  std::vector<uint8_t> differ_, parity_;
  std::vector<int32_t> odd_;
  std::vector<int64_t> objective_;
};

}  // namespace planaris
