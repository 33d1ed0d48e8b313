#include "moats/moat_order.hpp"

#include <algorithm>
#include <stdexcept>

namespace planaris {

namespace {

struct Range {
  int32_t first = INT32_MAX, last = -1;
  void add(const Range& r) {
    first = std::min(first, r.first);
    last = std::max(last, r.last);
  }
};

void check(const Moats& moats, size_t num_faces) {
  const size_t sets = moats.start.size();
  bool fits =
      moats.stop.size() == sets && moats.parent.size() == sets && moats.value.size() == sets;
  for (const int32_t face : moats.order) fits = fits && face >= 0 && size_t(face) < num_faces;
  for (size_t k = 0; fits && k < sets; ++k) {
    fits = moats.start[k] >= 0 && moats.start[k] <= moats.stop[k] &&
           size_t(moats.stop[k]) <= moats.order.size() && moats.parent[k] < static_cast<int32_t>(k);
  }
  if (!fits) throw std::invalid_argument("the sets of faces do not fit the plan");
}

class Order {
 public:
  Order(const MoatPlaces& places, const Moats& moats)
      : places_(places), tree_(places.tree), faces_(places.faces), moats_(moats),
        leaf_(places.leaf), has_bridge_(places.has_bridge), position_(leaf_.size(), -1),
        innermost_(leaf_.size(), -1), range_(moats.start.size()) {
    // Parents come first, so the innermost set writes last.
    const auto sets = static_cast<int32_t>(moats.start.size());
    std::vector<int32_t> innermost(moats.order.size(), -1);  // by place
    for (int32_t k = 0; k < sets; ++k) {
      std::fill(innermost.begin() + moats.start[k], innermost.begin() + moats.stop[k], k);
    }
    for (size_t at = 0; at < innermost.size(); ++at) {
      const int32_t face = moats.order[at], set = innermost[at];
      position_[face] = static_cast<int32_t>(at);
      innermost_[face] = set;
      if (set >= 0) range_[set].add({leaf_[face], leaf_[face]});
    }
    for (int32_t k = sets; k-- > 0;) {
      if (moats.parent[k] >= 0) range_[moats.parent[k]].add(range_[k]);
    }
  }

  void find_waits(size_t edges, std::span<const int32_t> unsatisfied, double slack,
                  MoatWaits& result) const {
    result.earliest.assign(edges, 0);
    result.rank.assign(edges, 0);
    for (const int32_t e : unsatisfied) {
      Range range;
      for (const int32_t leg : {2 * e, 2 * e + 1}) {
        const int32_t set = outermost(face(leg), face(leg ^ 1), slack);
        if (set < 0) continue;
        range.add(range_[set]);
        result.rank[e] = std::max(result.rank[e], moats_.stop[set] - moats_.start[set]);
      }
      if (range.last < 0) continue;  // waits for nothing
      for (const int32_t leg : {2 * e, 2 * e + 1}) range.add({leaf_[face(leg)], leaf_[face(leg)]});
      int32_t node = leaf_[face(2 * e)];
      while (node < range.last || places_.first[node] > range.first) node = tree_.parent[node];
      result.earliest[e] = node;
    }
  }

  void add_scales(std::span<const double> gauged, std::span<const int32_t> unsatisfied,
                  MoatOrder& result) const {
    std::vector<double> around(moats_.start.size()), depth(leaf_.size(), 0.0);  // by set, by face
    for (size_t k = 0; k < around.size(); ++k) {
      around[k] = (moats_.parent[k] < 0 ? 0.0 : around[moats_.parent[k]]) + moats_.value[k];
    }
    for (size_t f = 0; f < depth.size(); ++f) {
      if (innermost_[f] >= 0) depth[f] = around[innermost_[f]];
      result.deepest = std::max(result.deepest, depth[f]);
    }
    const auto edges = static_cast<int32_t>(gauged.size());
    result.scale.resize(2 * edges);
    for (int32_t e = 0; e < edges; ++e) {
      result.scale[2 * e] = depth[face(2 * e + 1)];
      result.scale[2 * e + 1] = depth[face(2 * e)];
    }
    for (const int32_t e : unsatisfied) {
      result.scale[2 * e] = gauged[e] + depth[face(2 * e)];
      result.scale[2 * e + 1] = gauged[e] + depth[face(2 * e + 1)];
    }
  }

 private:
  int32_t face(int32_t leg) const { return faces_.face_of[leg]; }

  bool holds(int32_t set, int32_t face) const {
    const int32_t at = position_[face];
    return at >= moats_.start[set] && at < moats_.stop[set];
  }

  // The largest set around `here` but not `there`, less those that `slack` allows to ignore. A
  // set of one face has nothing inside to wait for, unless a bridge has that face on both sides.
  int32_t outermost(int32_t here, int32_t there, double slack) const {
    chain_.clear();
    for (int32_t k = innermost_[here]; k >= 0 && !holds(k, there); k = moats_.parent[k]) {
      chain_.push_back(k);
    }
    double ignored = 0.0;
    while (!chain_.empty()) {
      const int32_t k = chain_.back();
      ignored += 2 * moats_.value[k];
      if (ignored > slack) {
        return moats_.stop[k] - moats_.start[k] > 1 || has_bridge_[here] ? k : -1;
      }
      chain_.pop_back();
    }
    return -1;
  }

  const MoatPlaces& places_;
  const FrontTree& tree_;
  const Faces& faces_;
  const Moats& moats_;
  const std::vector<int32_t>& leaf_;
  const std::vector<uint8_t>& has_bridge_;
  std::vector<int32_t> position_, innermost_;  // by face
  std::vector<Range> range_;                   // by set
  mutable std::vector<int32_t> chain_;
};

}  // namespace

MoatPlaces::MoatPlaces(const FrontTree& tree, const Faces& faces)
    : tree(tree), faces(faces), leaf(faces.offsets.size() - 1, 0), has_bridge(leaf.size(), 0) {
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
      leaf[faces.face_of[tree.face_legs[tree.face_begin[f]]]] = node;
    }
  }
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    first.push_back(tree.is_leaf(node) ? node : first[tree.left[node]]);
  }
  for (size_t leg = 0; leg < faces.face_of.size(); leg += 2) {
    if (faces.face_of[leg] == faces.face_of[leg + 1]) has_bridge[faces.face_of[leg]] = 1;
  }
}

namespace {

void check(const MoatPlaces& places, const Moats& moats, size_t edges,
           std::span<const int32_t> unsatisfied) {
  check(moats, places.leaf.size());
  if (2 * edges != places.faces.walk.size()) {
    throw std::invalid_argument("gauged must hold one coupling per edge of the plan");
  }
  for (const int32_t e : unsatisfied) {
    if (e < 0 || size_t(e) >= edges) {
      throw std::invalid_argument("unsatisfied must hold edges of the plan");
    }
  }
}

}  // namespace

MoatOrder moat_order(const MoatPlaces& places, const Moats& moats, std::span<const double> gauged,
                     std::span<const int32_t> unsatisfied, double slack) {
  check(places, moats, gauged.size(), unsatisfied);
  const Order order(places, moats);
  MoatWaits waits;
  order.find_waits(gauged.size(), unsatisfied, slack, waits);
  MoatOrder result{{}, std::move(waits.earliest), std::move(waits.rank)};
  order.add_scales(gauged, unsatisfied, result);
  return result;
}

void moat_waits(const MoatPlaces& places, const Moats& moats, size_t edges,
                std::span<const int32_t> unsatisfied, double slack, MoatWaits& waits) {
  check(places, moats, edges, unsatisfied);
  Order(places, moats).find_waits(edges, unsatisfied, slack, waits);
}

}  // namespace planaris
