#include "base/arrays.hpp"
#include "frontier/attractive_windows.hpp"

namespace planaris::bindings {

namespace {

std::vector<double> copy_of(const In1<double>& values) {
  return {values.data(), values.data() + values.size()};
}

AttractiveEnds narrow(In2<int32_t> edges, In1<double> couplings, In1<double> fields,
                      In1<double> nodes_lower, In1<double> nodes_upper, In1<double> edges_lower,
                      In1<double> edges_upper, int32_t core, int32_t across, int32_t spins,
                      int32_t max_bits, double goal, double wall, int threads, Progress progress, double seconds) {
  const size_t n = fields.size(), m = couplings.size();
  if (edges.shape(0) != m || nodes_lower.size() != n || nodes_upper.size() != n ||
      edges_lower.size() != m || edges_upper.size() != m) {
    throw std::invalid_argument("there must be ends for every spin and every edge");
  }
  for (const int32_t v : flat(edges)) {
    if (v < 0 || v >= static_cast<int32_t>(n)) {
      throw std::invalid_argument("edges must join spins of the model");
    }
  }
  for (const double c : flat(couplings)) {
    if (!(c >= 0)) throw std::invalid_argument("couplings must not be negative");
  }
  if (core < 1 || across < 1 || max_bits < 1 || !(wall >= 0 && wall < 0.5)) {
    throw std::invalid_argument("windows hold a spin, and walls are more likely than not");
  }
  Control control = make_control(progress, seconds);
  AttractiveEnds ends{copy_of(nodes_lower), copy_of(nodes_upper), copy_of(edges_lower),
                      copy_of(edges_upper)};
  nb::gil_scoped_release release;
  return narrow_by_windows({flat(edges), flat(couplings), flat(fields)}, std::move(ends),
                           {core, across, spins, max_bits, goal, wall}, threads, control);
}

}  // namespace

void bind_attractive_windows(nb::module_& m) {
  nb::class_<AttractiveEnds>(m, "AttractiveEnds")
      .def_prop_ro("nodes_lower", array_of(&AttractiveEnds::nodes_lower))
      .def_prop_ro("nodes_upper", array_of(&AttractiveEnds::nodes_upper))
      .def_prop_ro("edges_lower", array_of(&AttractiveEnds::edges_lower))
      .def_prop_ro("edges_upper", array_of(&AttractiveEnds::edges_upper))
      .def_ro("windows", &AttractiveEnds::windows)
      .def_ro("too_wide", &AttractiveEnds::too_wide)
      .def_ro("in_time", &AttractiveEnds::in_time);
  m.def("narrow_by_windows", &narrow, nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
        nb::arg("nodes_lower").noconvert(), nb::arg("nodes_upper").noconvert(),
        nb::arg("edges_lower").noconvert(), nb::arg("edges_upper").noconvert(), nb::arg("core"),
        nb::arg("across"), nb::arg("spins"), nb::arg("max_bits"), nb::arg("goal"), nb::arg("wall"),
        nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
