#include "pfaffian/moat_gauge.hpp"

#include <algorithm>
#include <cmath>

namespace planaris {

namespace {

std::vector<double> moat_values(const TJoinSolution& s) {
  std::vector<double> values(s.start.size(), 0.0);
  const int32_t digits = std::max(s.num_digits, 1);
  for (size_t k = 0; k < values.size(); ++k) {
    for (int32_t c = digits; c-- > 0;) {
      values[k] += std::ldexp(static_cast<double>(s.values[k * digits + c]),
                              s.exponent - 1 + 32 * c);
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
    order.reserve(of.pieces.size());
    for (const int32_t f : s.order) {
      order.insert(order.end(), of.pieces.begin() + of.begin[f], of.pieces.begin() + of.begin[f + 1]);
      place.push_back(static_cast<int32_t>(order.size()));
    }
    for (const int32_t at : s.start) start.push_back(place[at]);
    for (const int32_t at : s.stop) stop.push_back(place[at]);
  }
};

}  // namespace

FacePieces::FacePieces(const PlaneGraph& plane)
    : begin(plane.num_faces + 1, 0), pieces(plane.face_of_piece.size()) {
  for (const int32_t f : plane.face_of_piece) ++begin[f + 1];
  for (int32_t f = 0; f < plane.num_faces; ++f) begin[f + 1] += begin[f];
  std::vector<int32_t> next(begin.begin(), begin.end() - 1);
  for (size_t k = 0; k < pieces.size(); ++k) {
    pieces[next[plane.face_of_piece[k]]++] = static_cast<int32_t>(k);
  }
}

GaugedOrder order_by_gauge(const PlaneGraph& plane, const FacePieces& pieces,
                           const MoatPlaces& places, const GaugeState& gauge,
                           std::span<const double> couplings, double slack) {
  const size_t edges = plane.signs.size(), m = couplings.size();
  std::vector<double> gauged(edges, 0.0);
  std::vector<int32_t> unsatisfied = gauge.tjoin.join;
  const auto agree = [&](size_t e) {
    return gauge.spins[plane.graph.edges[2 * e]] == gauge.spins[plane.graph.edges[2 * e + 1]];
  };
  for (size_t e = 0; e < m; ++e) gauged[e] = agree(e) ? couplings[e] : -couplings[e];
  // Chords are satisfied where their ends agree; no set of the packing parts a face.
  for (size_t e = m; e < edges; ++e) {
    if (!agree(e)) unsatisfied.push_back(static_cast<int32_t>(e));
  }
  const PieceMoats moats(pieces, gauge.tjoin);
  const std::vector<double> values = moat_values(gauge.tjoin);
  MoatOrder order = moat_order(places,
                               {moats.order, moats.start, moats.stop, gauge.tjoin.parent, values},
                               gauged, unsatisfied, slack);
  return {std::move(gauged), std::move(order)};
}

}  // namespace planaris
