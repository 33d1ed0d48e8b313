// Couplings relative to a ground state, and the order of elimination that its proof tells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pfaffian/ground_states.hpp"
#include "pfaffian/model_batch.hpp"
#include "pfaffian/moat_order.hpp"

namespace planaris {

// The pieces that chords split faces into, by face.
struct FacePieces {
  std::vector<int32_t> begin, pieces;

  explicit FacePieces(const PlaneGraph& plane);
};

struct GaugedOrder {
  std::vector<double> gauged;  // one per edge, chords included
  MoatOrder order;
};

GaugedOrder order_by_gauge(const PlaneGraph& plane, const FacePieces& pieces,
                           const MoatPlaces& places, const GaugeState& gauge,
                           std::span<const double> couplings, double slack);

}  // namespace planaris
