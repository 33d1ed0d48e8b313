#include "batches/moat_gauge.hpp"

#include <algorithm>
#include <cmath>

#include "base/scaled.hpp"

namespace planaris {

namespace {

std::vector<double> moat_values(const TJoinSolution& s) {
  std::vector<double> values(s.start.size(), 0.0);
  const double unit = std::ldexp(1.0, s.exponent - 1);
  if (s.num_digits == 0 && std::isnormal(unit)) {
    for (size_t k = 0; k < values.size(); ++k) values[k] = unit * static_cast<double>(s.values[k]);
    return values;
  }
  const int32_t digits = std::max(s.num_digits, 1);
  for (size_t k = 0; k < values.size(); ++k) {
    for (int32_t c = digits; c-- > 0;) {
      values[k] +=
          std::ldexp(static_cast<double>(s.values[k * digits + c]), s.exponent - 1 + 32 * c);
    }
  }
  return values;
}

// A packing of faces as one of their pieces.
struct PieceMoats {
  std::vector<int32_t> order, start, stop;

  PieceMoats(const FacePieces& of, const TJoinSolution& s) {
    std::vector<int32_t> place{0};
    place.reserve(s.order.size() + 1);
    order.reserve(of.items.size());
    for (const int32_t f : s.order) {
      for (int32_t k = of.offsets[f]; k < of.offsets[f + 1]; ++k) order.push_back(of.items[k]);
      place.push_back(static_cast<int32_t>(order.size()));
    }
    start.reserve(s.start.size());
    stop.reserve(s.stop.size());
    for (const int32_t at : s.start) start.push_back(place[at]);
    for (const int32_t at : s.stop) stop.push_back(place[at]);
  }
};

// What proves a gauge state, and the edges that are not satisfied, chords included.
struct GaugeProof {
  std::vector<double> values;
  std::vector<int32_t> unsatisfied;
  PieceMoats pieces;
  std::span<const int32_t> parent;

  GaugeProof(const PlaneGraph& plane, const FacePieces& of, const GaugeState& gauge)
      : values(moat_values(gauge.tjoin)), unsatisfied(gauge.tjoin.join), pieces(of, gauge.tjoin),
        parent(gauge.tjoin.parent) {
    // Chords are satisfied where their ends agree; no set of the packing parts a face.
    for (size_t e = plane.num_couplings(); e < plane.signs.size(); ++e) {
      if (!agree(plane, gauge, e)) unsatisfied.push_back(static_cast<int32_t>(e));
    }
  }

  static bool agree(const PlaneGraph& plane, const GaugeState& gauge, size_t e) {
    return gauge.spins[plane.graph.edges[2 * e]] == gauge.spins[plane.graph.edges[2 * e + 1]];
  }
  Moats moats() const { return {pieces.order, pieces.start, pieces.stop, parent, values}; }
};

// Couplings relative to a gauge state; zero for chords.
std::vector<double> gauged_couplings(const PlaneGraph& plane, const GaugeState& gauge,
                                     std::span<const double> couplings) {
  std::vector<double> gauged(plane.signs.size(), 0.0);
  for (size_t e = 0; e < couplings.size(); ++e) {
    gauged[e] = GaugeProof::agree(plane, gauge, e) ? couplings[e] : -couplings[e];
  }
  return gauged;
}

// Cuts values of sets and slacks off. What an edge loses for the sets that it leaves is summed up
// exactly, nearly: so no weight of a state that leaves each of them once changes, whatever the size
// of couplings and however the values were rounded.
class Capping {
 public:
  Capping(const MoatPlaces& places, const Moats& moats, std::vector<double>& values, double cap)
      : faces_(places.faces), parent_(moats.parent), cap_(cap), innermost_(places.leaf.size(), -1),
        value_(values), excess_(values.size()) {
    for (size_t k = 0; k < values.size(); ++k) {  // parents come first
      for (int32_t at = moats.start[k]; at < moats.stop[k]; ++at) {
        innermost_[moats.order[at]] = static_cast<int32_t>(k);
      }
      values[k] = std::min(values[k], cap);
      excess_[k] = value_[k] - values[k];
    }
  }

  struct Coupling {
    double capped;
    double slope;  // what it loses besides if values and slacks that were cut off are lower by one
                   // and two
  };

  Coupling apply(size_t edge, double gauged) const {
    int32_t a = innermost_[faces_.face_of[2 * edge]], b = innermost_[faces_.face_of[2 * edge + 1]];
    double across = 0.0, slope = 0.0;
    TwoDoubles left{gauged, 0.0};
    while (a != b) {
      int32_t& inner = a > b ? a : b;
      across += value_[inner];
      left += {gauged < 0 ? excess_[inner] : -excess_[inner], 0.0};
      if (excess_[inner] > 0.0) slope += gauged < 0 ? -1.0 : 1.0;
      inner = parent_[inner];
    }
    const double slack = gauged - across;
    if (!(slack > 2 * cap_)) return {left.high, slope};
    return {left.high - (slack - 2 * cap_), slope + 2.0};
  }

 private:
  const Faces& faces_;
  std::span<const int32_t> parent_;
  double cap_;
  std::vector<int32_t> innermost_;  // by face
  std::vector<double> value_, excess_;
};

// By how much caps may be lowered without another scaling, a power of two: of n capped sets around
// one another, entries grow by exp(8 n step) at most, and exponents leave them room for 2^350.
double cap_step(double deepest, double cap) {
  constexpr double kRoom = 190.0, kLargest = 2.0;
  return std::exp2(
      std::floor(std::log2(std::min(kRoom / 8 * cap / std::max(deepest, cap), kLargest))));
}

}  // namespace

double deepest_by_gauge(const GaugeState& gauge) {
  std::vector<double> around = moat_values(gauge.tjoin);
  double deepest = 0.0;
  for (size_t k = 0; k < around.size(); ++k) {  // parents come first
    if (const int32_t parent = gauge.tjoin.parent[k]; parent >= 0) around[k] += around[parent];
    deepest = std::max(deepest, around[k]);
  }
  return deepest;
}

GaugedOrder order_by_gauge(const PlaneGraph& plane, const FacePieces& pieces,
                           const MoatPlaces& places, const GaugeState& gauge,
                           std::span<const double> couplings, double slack) {
  const GaugeProof proof(plane, pieces, gauge);
  std::vector<double> gauged = gauged_couplings(plane, gauge, couplings);
  MoatOrder order = moat_order(places, proof.moats(), gauged, proof.unsatisfied, slack);
  return {std::move(gauged), std::move(order)};
}

void waits_by_gauge(const PlaneGraph& plane, const FacePieces& pieces, const MoatPlaces& places,
                    const GaugeState& gauge, double slack, MoatWaits& waits) {
  // Chords wait for nothing: no set of the packing parts a face.
  const TJoinSolution& s = gauge.tjoin;
  const std::vector<double> values = moat_values(s);
  const PieceMoats sets(pieces, s);
  moat_waits(places, {sets.order, sets.start, sets.stop, s.parent, values}, plane.signs.size(),
             s.join, slack, waits);
}

CappedOrder capped_order_by_gauge(const PlaneGraph& plane, const FacePieces& pieces,
                                  const MoatPlaces& places, const GaugeState& gauge,
                                  std::span<const double> couplings, double slack, double cap) {
  GaugeProof proof(plane, pieces, gauge);
  CappedOrder result;
  result.gauged = gauged_couplings(plane, gauge, couplings);
  Capping capping(places, proof.moats(), proof.values, cap);
  bool any = false;
  for (size_t e = 0; e < result.gauged.size(); ++e) {
    const auto [capped, slope] = capping.apply(e, result.gauged[e]);
    result.capped.push_back(capped);
    result.lowered.push_back(slope);
    any = any || slope != 0.0;
  }
  result.clustered =
      clustered_moat_order(places, proof.moats(), result.capped, proof.unsatisfied, slack);
  if (any) result.step = cap_step(result.clustered.order.deepest, cap);
  for (size_t e = 0; e < result.gauged.size(); ++e) {
    result.lowered[e] = result.capped[e] - result.step * result.lowered[e];
  }
  return result;
}

}  // namespace planaris
