// Batches of syndromes on one decoding graph: lightest errors, and weights of logical classes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "decoding/coset_update.hpp"
#include "decoding/lane_cosets.hpp"
#include "decoding/wide_inverse.hpp"
#include "tjoin/matching.hpp"

namespace planaris {

// Syndromes as rows of bits, lowest bit first, and per row the edges that are erased, or nothing.
struct ShotRows {
  const uint8_t* bits = nullptr;
  int64_t count = 0, bytes = 0;  // rows, and bytes of a row
  std::span<const int64_t> erased_offsets;
  std::span<const int32_t> erased_edges;

  std::span<const int32_t> erased(int64_t shot) const {
    if (erased_offsets.empty()) return {};
    return erased_edges.subspan(erased_offsets[shot],
                                erased_offsets[shot + 1] - erased_offsets[shot]);
  }
};

struct DecodingEdges {
  int32_t num_detectors = 0, num_vertices = 0;
  std::vector<int32_t> ends;      // pairs; vertices from num_detectors on are boundaries
  std::vector<int32_t> boundary;  // of them, those that absorb any parity
  std::vector<double> weight;     // log of the odds against the edge, ≥ 0
  std::vector<uint8_t> mask;      // observables that an edge flips: mask_bytes per edge
  int32_t mask_bytes = 1;
  std::vector<uint8_t> potential;  // bits of detectors that flip observable 0, or nothing
  int32_t parity_vertex = -1;      // made odd or even such that observable 0 has a given value
};

// What an edge of weight w changes as part of a reference error: its join is multiplied by
// t = exp(-2 w), the weight of the syndrome by (1 - t) / sqrt(t).
struct FlippedEdge {
  double ratio, log_factor;  // t / (1 - t), and the logarithm of what the weight is multiplied by
};

struct Impossible {
  int64_t shot = -1;    // the first syndrome that no error has
  int32_t vertex = -1;  // of a component with an odd number of detection events
};

struct Matches {
  std::vector<uint8_t> flips;    // observables of the lightest errors: mask_bytes per shot
  std::vector<double> weight;    // of the lightest errors
  std::vector<int64_t> offsets;  // where the edges of a shot begin; only if asked for
  std::vector<int32_t> edges;
  Impossible impossible;
};

// Finds lightest errors; a worker of its own per thread, kept from call to call.
class ShotMatcher {
 public:
  explicit ShotMatcher(DecodingEdges edges);
  ~ShotMatcher();

  const DecodingEdges& edges() const { return edges_; }
  const FlippedEdge& flipped(int32_t edge) const { return flipped_[edge]; }
  // `observable`: 0 or 1 asks for the lightest error of that class, -1 for any.
  Matches match(const ShotRows& shots, int observable, bool keep_edges, int threads,
                Control& control);

  class Worker;
  std::unique_ptr<Worker> take();
  void give(std::unique_ptr<Worker> worker);

 private:
  DecodingEdges edges_;
  std::vector<FlippedEdge> flipped_;
  TJoinWeights weights_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

struct ClassWeights {
  std::vector<uint8_t> flips;       // observable of the lightest error
  std::vector<double> other;        // probability of the other class
  std::vector<double> log_weight;   // log P(syndrome) - Σ log(1 - p) - log Pf
  std::vector<double> doubt;        // see CosetWeight
  std::vector<double> other_error;  // of `other`, in units of the rounding of a double
  std::vector<double> log_ratio;    // wide numbers only: log P(class) - log P(other class)
  std::vector<int32_t> num_changes;
  Impossible impossible;
};

// How edges of the decoding graph change joins of the matrix.
struct CosetEdges {
  std::vector<int32_t> place;  // in the inverse, or -1 for bridges
  int32_t logical = -1;        // place of the logical edge, or -1 if there is none
  // More changes are left to others: doubt is NaN then.
  int32_t most_changes = 1 << 30;
  bool careful = false;  // see CosetUpdate::weigh
};

// What weighs classes. At least one is there; with both, lanes take shots of more than
// lanes->worth_from() changes. Doubt of what lanes cannot tell is NaN.
struct CosetKernels {
  const EdgeInverse* inverse = nullptr;
  const LaneCosets* lanes = nullptr;

  double log_pfaffian() const { return inverse == nullptr ? 0.0 : inverse->log_pfaffian; }
};

// Weights of both classes of every shot.
ClassWeights weigh_classes(ShotMatcher& matcher, const CosetKernels& kernels,
                           const CosetEdges& coset, const ShotRows& shots, int threads,
                           Control& control);

// The same in wide numbers; doubt is what was added up over what was left, at worst.
ClassWeights weigh_classes_wide(ShotMatcher& matcher, const WideInverse& inverse,
                                const CosetEdges& coset, const ShotRows& shots, int threads,
                                Control& control);

struct MechanismSums {
  std::vector<double> direct;   // by edge of the inverse: what `pairs` does not hold
  std::vector<double> pairs;    // Σ over shots of the inverses, (2m)², for docs/theory/decoding.md
  double log_weight = 0.0;      // Σ log_weight
  std::vector<double> bridges;  // by edge of the graph: how often a bridge was part of the error
  int64_t failed = 0;
};

// What the expected number of errors of every edge follows from, over all shots with `counts`.
MechanismSums sum_mechanisms(ShotMatcher& matcher, const EdgeInverse& inverse,
                             const CosetEdges& coset, const ShotRows& shots,
                             std::span<const double> counts, int threads, Control& control,
                             Impossible& impossible);

// P(edge of the inverse is part of the error | syndrome), a row per shot.
std::vector<double> mechanism_probabilities(ShotMatcher& matcher, const EdgeInverse& inverse,
                                            const CosetEdges& coset, const ShotRows& shots,
                                            int threads, Control& control, Impossible& impossible);

}  // namespace planaris
