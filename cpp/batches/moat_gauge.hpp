// Couplings relative to a ground state, and the order of elimination that its proof tells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/grouping.hpp"
#include "batches/ground_states.hpp"
#include "batches/model_batch.hpp"
#include "moats/moat_clusters.hpp"
#include "moats/moat_order.hpp"

namespace planaris {

// The pieces that chords split faces into, by face.
struct FacePieces : Groups<int32_t> {
  explicit FacePieces(const PlaneGraph& plane)
      : Groups(group_by_key(plane.num_faces, plane.face_of_piece)) {}
};

struct GaugedOrder {
  std::vector<double> gauged;  // one per edge, chords included
  MoatOrder order;
};

// The largest sum of the values of sets around a face.
double deepest_by_gauge(const GaugeState& gauge);
GaugedOrder order_by_gauge(const PlaneGraph& plane, const FacePieces& pieces,
                           const MoatPlaces& places, const GaugeState& gauge,
                           std::span<const double> couplings, double slack);

// When edges may be eliminated, alone.
void waits_by_gauge(const PlaneGraph& plane, const FacePieces& pieces, const MoatPlaces& places,
                    const GaugeState& gauge, double slack, MoatWaits& waits);

// The same for the model with values up to `cap` and slacks up to twice that: no state loses weight
// relative to the ground state, and only those that weigh exp(-4 cap) of it or less gain. These
// gain exp(4 step) more, at least, in the model whose capped values are lower by `step`, and capped
// slacks by twice that: so Z of that model bounds what caps add.
struct CappedOrder {
  std::vector<double> gauged, capped,
      lowered;  // of the model itself, of the capped one, and of the one with lower caps
  ClusteredOrder clustered;
  double step = 0.0;  // 0: nothing is capped
};

CappedOrder capped_order_by_gauge(const PlaneGraph& plane, const FacePieces& pieces,
                                  const MoatPlaces& places, const GaugeState& gauge,
                                  std::span<const double> couplings, double slack, double cap);

}  // namespace planaris
