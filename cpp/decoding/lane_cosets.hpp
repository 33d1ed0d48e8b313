// Weights of the logical classes of several syndromes at once, by sparse elimination in lanes.
//
// The logical edge is joined last: relative to its join, its pivot is the sum over both classes
// divided by the sum over the class of the reference error. The work does not depend on how many
// edges the reference errors have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"
#include "fronts/front_tree.hpp"
#include "lanes/lane_kernels.hpp"

namespace planaris {

class LaneCosets {
 public:
  // `rotation` and `log_odds` as in edge_inverse; `logical` is an edge of odds one.
  LaneCosets(const RotationView& rotation, std::span<const double> log_odds, int32_t logical,
             Control& control);

  struct Weight {
    double log_sum;  // log of the sum over even sets, relative to the reference error
    double other;    // P(other class)
    bool trusted;    // by what rounding to single precision changed
  };

  int32_t num_edges() const { return num_edges_; }
  int most() const { return lane_kernels().most; }  // syndromes of a group
  double work() const { return work_; }             // multiplications of a syndrome, about
  // A small Pfaffian of more changes than these takes longer.
  int32_t worth_from() const;

  // What the elimination of another machine takes: fronts, signs, and weights without a syndrome.
  const FrontTree& tree() const { return tree_; }
  const std::vector<int8_t>& signs() const { return signs_; }
  const std::vector<double>& weight() const { return weight_; }

  // The factor exp(w / 2) of an edge's legs in a reference error, and 1 for an erased edge.
  LaneChange flipped(int32_t edge) const { return {edge, 1.0 / weight_[edge]}; }
  LaneChange erased(int32_t edge) const { return {edge, 1.0}; }

  // Memory of a worker, kept from call to call: pages that were written once are quick to write.
  LaneMemory take_memory() const;
  void give_memory(LaneMemory memory) const;

  // Groups of up to most() syndromes. `look` may throw.
  void weigh(std::span<const std::vector<LaneChange>> changes, std::span<Weight> found,
             LaneMemory& memory, const std::function<void()>& look) const;

 private:
  std::vector<int32_t> edges_, rotation_, offsets_;
  FrontTree tree_;
  std::vector<int8_t> signs_;
  std::vector<double> weight_;  // exp(-w / 2), chords included
  std::unique_ptr<const LaneProgram> program_;
  int32_t num_edges_ = 0;
  double work_ = 0.0;
  mutable std::mutex mutex_;
  mutable std::vector<LaneMemory> idle_;
};

}  // namespace planaris
