#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "base/arrays.hpp"
#include "decoding/shot_decoder.hpp"

namespace planaris::bindings {

namespace {

EdgeInverse make_inverse(In2<int32_t> edges, In1<int32_t> rotation, In1<int32_t> offsets,
                         In1<double> log_odds, int threads, const Progress& progress) {
  const RotationView view{flat(edges), flat(rotation), flat(offsets)};
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return edge_inverse(view, flat(log_odds), threads, control);
}

// Both triangles, of all legs.
Out2<double> dense(const EdgeInverse& inverse) {
  const size_t m = size_t(inverse.num_edges), n = 2 * m;
  std::vector<double> all(n * n, 0.0);
  {
    nb::gil_scoped_release release;
    const auto put = [&](size_t i, size_t j, double value) {
      all[i * n + j] = value;
      all[j * n + i] = -value;
    };
    for (size_t e = 0; e < m; ++e) {
      put(2 * e, 2 * e + 1, inverse.diagonal[e] - 1.0);
      for (size_t f = e + 1; f < m; ++f) {
        const double* block = inverse.block(int32_t(e), int32_t(f));
        put(2 * e, 2 * f, block[0]);
        put(2 * e, 2 * f + 1, block[1]);
        put(2 * e + 1, 2 * f, block[2]);
        put(2 * e + 1, 2 * f + 1, block[3]);
      }
    }
  }
  return to_numpy(std::move(all), n, n);
}

template <typename T>
std::vector<T> copied(const In1<T>& array) {
  return {array.data(), array.data() + array.size()};
}

void make_matcher(ShotMatcher* self, int32_t num_detectors, int32_t num_vertices,
                  In2<int32_t> edges, In1<int32_t> boundary, In1<double> weights, In2<uint8_t> mask,
                  In1<uint8_t> potential, int32_t parity_vertex) {
  const size_t bytes = (size_t(num_detectors) + 7) / 8;
  if (weights.size() != edges.shape(0) || mask.shape(0) != edges.shape(0) ||
      (potential.size() != 0 && potential.size() != bytes)) {
    throw std::invalid_argument("edges, weights, mask and potential must fit each other");
  }
  DecodingEdges graph;
  graph.num_detectors = num_detectors;
  graph.num_vertices = num_vertices;
  graph.ends.assign(edges.data(), edges.data() + edges.size());
  graph.boundary = copied(boundary);
  graph.weight = copied(weights);
  graph.mask.assign(mask.data(), mask.data() + mask.size());
  graph.mask_bytes = int32_t(mask.shape(1));
  graph.potential = copied(potential);
  graph.parity_vertex = parity_vertex;
  new (self) ShotMatcher(std::move(graph));
}

// Rows fit the graph, spare bits are zero, erased edges ascend.
ShotRows checked_rows(const ShotMatcher& matcher, const In2<uint8_t>& shots,
                      const In1<int64_t>& erased_offsets, const In1<int32_t>& erased_edges) {
  const DecodingEdges& edges = matcher.edges();
  const size_t bytes = (size_t(edges.num_detectors) + 7) / 8;
  if (shots.shape(1) != bytes) throw std::invalid_argument("shots must have a bit per detector");
  if (edges.num_detectors % 8 != 0) {
    const auto spare = uint8_t(0xff << (edges.num_detectors % 8));
    for (size_t k = 0; k < shots.shape(0); ++k) {
      if (shots.data()[(k + 1) * bytes - 1] & spare) {
        throw std::invalid_argument("shots must have a bit per detector, and no other bit set");
      }
    }
  }
  const auto offsets = flat(erased_offsets);
  const auto list = flat(erased_edges);
  if (!offsets.empty()) {
    bool fits = offsets.size() == shots.shape(0) + 1 && offsets[0] == 0 &&
                offsets.back() == int64_t(list.size());
    for (size_t k = 0; fits && k + 1 < offsets.size(); ++k) fits = offsets[k] <= offsets[k + 1];
    for (size_t k = 0; fits && k + 1 < offsets.size(); ++k) {
      for (int64_t i = offsets[k]; fits && i < offsets[k + 1]; ++i) {
        fits = list[i] >= 0 && size_t(list[i]) < edges.weight.size() &&
               (i == offsets[k] || list[i - 1] < list[i]);
      }
    }
    if (!fits) throw std::invalid_argument("erased edges must ascend and fit the graph");
  }
  return {shots.data(), int64_t(shots.shape(0)), int64_t(shots.shape(1)), offsets, list};
}

Matches match(ShotMatcher& matcher, In2<uint8_t> shots, In1<int64_t> erased_offsets,
              In1<int32_t> erased_edges, int observable, bool keep_edges, int threads,
              const Progress& progress, double seconds) {
  const ShotRows rows = checked_rows(matcher, shots, erased_offsets, erased_edges);
  if (observable >= 0 && matcher.edges().parity_vertex < 0) {
    throw std::invalid_argument("the graph has no vertex that decides the observable");
  }
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return matcher.match(rows, observable, keep_edges, threads, control);
}

WideInverse make_wide(In2<int32_t> edges, In1<int32_t> rotation, In1<int32_t> offsets,
                      In1<double> log_odds, int threads, const Progress& progress) {
  const RotationView view{flat(edges), flat(rotation), flat(offsets)};
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return wide_inverse(view, flat(log_odds), threads, control);
}

CosetEdges coset_edges(const ShotMatcher& matcher, int32_t num_edges, const In1<int32_t>& place,
                       int32_t logical, int32_t most_changes, bool careful = false) {
  bool fits = place.size() == matcher.edges().weight.size() && logical < num_edges;
  const int32_t last = logical < 0 ? num_edges : logical;
  for (size_t e = 0; fits && e < place.size(); ++e) fits = place.data()[e] < last;
  if (!fits || (logical >= 0 && logical + 1 != num_edges)) {
    throw std::invalid_argument("place and logical must fit the graph and the inverse");
  }
  return {copied(place), logical, most_changes, careful};
}

std::unique_ptr<LaneCosets> make_lanes(In2<int32_t> edges, In1<int32_t> rotation,
                                       In1<int32_t> offsets, In1<double> log_odds, int32_t logical,
                                       const Progress& progress) {
  const RotationView view{flat(edges), flat(rotation), flat(offsets)};
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return std::make_unique<LaneCosets>(view, flat(log_odds), logical, control);
}

ClassWeights weigh(ShotMatcher& matcher, const EdgeInverse* inverse, const LaneCosets* lanes,
                   In1<int32_t> place, int32_t logical, int32_t most_changes, bool careful,
                   In2<uint8_t> shots, In1<int64_t> erased_offsets, In1<int32_t> erased_edges,
                   int threads, const Progress& progress, double seconds) {
  const ShotRows rows = checked_rows(matcher, shots, erased_offsets, erased_edges);
  if (inverse == nullptr && lanes == nullptr) throw std::invalid_argument("nothing to weigh with");
  const auto fitted = [&](int32_t num_edges) {
    return coset_edges(matcher, num_edges, place, logical, most_changes, careful);
  };
  if (inverse != nullptr && lanes != nullptr && inverse->num_edges != lanes->num_edges()) {
    throw std::invalid_argument("inverse and lanes must belong to one graph");
  }
  const CosetEdges coset = fitted(inverse != nullptr ? inverse->num_edges : lanes->num_edges());
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return weigh_classes(matcher, {inverse, lanes}, coset, rows, threads, control);
}

ClassWeights weigh_in_wide(ShotMatcher& matcher, const WideInverse& inverse, In1<int32_t> place,
                           int32_t logical, In2<uint8_t> shots, In1<int64_t> erased_offsets,
                           In1<int32_t> erased_edges, int threads, const Progress& progress,
                           double seconds) {
  const ShotRows rows = checked_rows(matcher, shots, erased_offsets, erased_edges);
  const CosetEdges coset = coset_edges(matcher, inverse.num_edges, place, logical, 1 << 30);
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return weigh_classes_wide(matcher, inverse, coset, rows, threads, control);
}

struct Sums {
  MechanismSums sums;
  Impossible impossible;
};

Sums sum(ShotMatcher& matcher, const EdgeInverse& inverse, In1<int32_t> place, In2<uint8_t> shots,
         In1<double> counts, int threads, const Progress& progress, double seconds) {
  const ShotRows rows = checked_rows(matcher, shots, {}, {});
  if (counts.size() != shots.shape(0)) throw std::invalid_argument("one count per shot");
  const CosetEdges coset = coset_edges(matcher, inverse.num_edges, place, -1, 1 << 30);
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  Sums result;
  result.sums = sum_mechanisms(matcher, inverse, coset, rows, flat(counts), threads, control,
                               result.impossible);
  return result;
}

std::tuple<Out2<double>, int64_t, int32_t> probabilities(ShotMatcher& matcher,
                                                         const EdgeInverse& inverse,
                                                         In1<int32_t> place, In2<uint8_t> shots,
                                                         int threads, const Progress& progress,
                                                         double seconds) {
  const ShotRows rows = checked_rows(matcher, shots, {}, {});
  const CosetEdges coset = coset_edges(matcher, inverse.num_edges, place, -1, 1 << 30);
  Control control = make_control(progress, seconds);
  Impossible impossible;
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = mechanism_probabilities(matcher, inverse, coset, rows, threads, control, impossible);
  }
  return {to_numpy(std::move(found), size_t(rows.count), size_t(inverse.num_edges)),
          impossible.shot, impossible.vertex};
}

}  // namespace

void bind_decoding(nb::module_& m) {
  nb::class_<EdgeInverse>(m, "EdgeInverse")
      .def(nb::new_(&make_inverse), nb::arg("edges").noconvert(), nb::arg("rotation").noconvert(),
           nb::arg("offsets").noconvert(), nb::arg("log_odds").noconvert(), nb::arg("threads"),
           nb::arg("progress") = nb::none())
      .def_ro("num_edges", &EdgeInverse::num_edges)
      .def_ro("log_pfaffian", &EdgeInverse::log_pfaffian)
      .def_prop_ro("diagonal", array_of(&EdgeInverse::diagonal))
      .def("dense", &dense);
  nb::class_<WideInverse>(m, "WideInverse")
      .def(nb::new_(&make_wide), nb::arg("edges").noconvert(), nb::arg("rotation").noconvert(),
           nb::arg("offsets").noconvert(), nb::arg("log_odds").noconvert(), nb::arg("threads"),
           nb::arg("progress") = nb::none())
      .def("rounded", &rounded, nb::call_guard<nb::gil_scoped_release>())
      .def_ro("log_pfaffian", &WideInverse::log_pfaffian);
  nb::class_<LaneCosets>(m, "LaneCosets", "Sparse elimination of several syndromes at once.")
      .def(nb::new_(&make_lanes), nb::arg("edges").noconvert(), nb::arg("rotation").noconvert(),
           nb::arg("offsets").noconvert(), nb::arg("log_odds").noconvert(), nb::arg("logical"),
           nb::arg("progress") = nb::none())
      .def_prop_ro("tree", &LaneCosets::tree, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "signs", [](const LaneCosets& l) { return to_numpy(std::vector<int8_t>(l.signs())); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "weight", [](const LaneCosets& l) { return to_numpy(std::vector<double>(l.weight())); },
          nb::rv_policy::automatic)
      .def_prop_ro("work", &LaneCosets::work)
      .def_prop_ro("worth_from", &LaneCosets::worth_from);
  const auto of = [](auto member) {
    return [member](const auto& r) { return r.impossible.*member; };
  };
  nb::class_<Matches>(m, "Matches")
      .def_prop_ro("flips", array_of(&Matches::flips))
      .def_prop_ro("weight", array_of(&Matches::weight))
      .def_prop_ro("offsets", array_of(&Matches::offsets))
      .def_prop_ro("edges", array_of(&Matches::edges))
      .def_prop_ro("impossible_shot", [of](const Matches& r) { return of(&Impossible::shot)(r); })
      .def_prop_ro("impossible_vertex",
                   [of](const Matches& r) { return of(&Impossible::vertex)(r); });
  nb::class_<ClassWeights>(m, "ClassWeights")
      .def_prop_ro("flips", array_of(&ClassWeights::flips))
      .def_prop_ro("other", array_of(&ClassWeights::other))
      .def_prop_ro("log_weight", array_of(&ClassWeights::log_weight))
      .def_prop_ro("doubt", array_of(&ClassWeights::doubt))
      .def_prop_ro("other_error", array_of(&ClassWeights::other_error))
      .def_prop_ro("log_ratio", array_of(&ClassWeights::log_ratio))
      .def_prop_ro("num_changes", array_of(&ClassWeights::num_changes))
      .def_prop_ro("impossible_shot",
                   [of](const ClassWeights& r) { return of(&Impossible::shot)(r); })
      .def_prop_ro("impossible_vertex",
                   [of](const ClassWeights& r) { return of(&Impossible::vertex)(r); });
  nb::class_<Sums>(m, "MechanismSums")
      .def_prop_ro("direct",
                   [](nb::handle_t<Sums> self) {
                     auto& v = nb::cast<Sums&>(self).sums.direct;
                     return Out1<double>(v.data(), {v.size()}, self);
                   })
      .def_prop_ro("pairs",
                   [](nb::handle_t<Sums> self) {
                     auto& s = nb::cast<Sums&>(self).sums;
                     const size_t n = 2 * s.direct.size();
                     return Out2<double>(s.pairs.data(), {n, n}, self);
                   })
      .def_prop_ro("bridges",
                   [](nb::handle_t<Sums> self) {
                     auto& v = nb::cast<Sums&>(self).sums.bridges;
                     return Out1<double>(v.data(), {v.size()}, self);
                   })
      .def_prop_ro("log_weight", [](const Sums& s) { return s.sums.log_weight; })
      .def_prop_ro("failed", [](const Sums& s) { return s.sums.failed; })
      .def_prop_ro("impossible_shot", [](const Sums& s) { return s.impossible.shot; })
      .def_prop_ro("impossible_vertex", [](const Sums& s) { return s.impossible.vertex; });
  nb::class_<ShotMatcher>(m, "ShotMatcher", "Lightest errors of many syndromes on one graph.")
      .def("__init__", &make_matcher, nb::arg("num_detectors"), nb::arg("num_vertices"),
           nb::arg("edges").noconvert(), nb::arg("boundary").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("mask").noconvert(),
           nb::arg("potential").noconvert(), nb::arg("parity_vertex"))
      .def("match", &match, nb::arg("shots").noconvert(), nb::arg("erased_offsets").noconvert(),
           nb::arg("erased_edges").noconvert(), nb::arg("observable"), nb::arg("keep_edges"),
           nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"))
      .def("weigh", &weigh, nb::arg("inverse").none(), nb::arg("lanes").none(),
           nb::arg("place").noconvert(), nb::arg("logical"), nb::arg("most_changes"),
           nb::arg("careful"), nb::arg("shots").noconvert(), nb::arg("erased_offsets").noconvert(),
           nb::arg("erased_edges").noconvert(), nb::arg("threads"), nb::arg("progress").none(),
           nb::arg("seconds"))
      .def("weigh_wide", &weigh_in_wide, nb::arg("inverse"), nb::arg("place").noconvert(),
           nb::arg("logical"), nb::arg("shots").noconvert(), nb::arg("erased_offsets").noconvert(),
           nb::arg("erased_edges").noconvert(), nb::arg("threads"), nb::arg("progress").none(),
           nb::arg("seconds"))
      .def("sum_mechanisms", &sum, nb::arg("inverse"), nb::arg("place").noconvert(),
           nb::arg("shots").noconvert(), nb::arg("counts").noconvert(), nb::arg("threads"),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def("probabilities", &probabilities, nb::arg("inverse"), nb::arg("place").noconvert(),
           nb::arg("shots").noconvert(), nb::arg("threads"), nb::arg("progress").none(),
           nb::arg("seconds"));
}

}  // namespace planaris::bindings
