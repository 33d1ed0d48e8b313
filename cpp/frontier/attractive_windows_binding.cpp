#include "base/arrays.hpp"
#include "frontier/attractive_windows.hpp"

namespace planaris::bindings {

namespace {

std::vector<double> copy_of(const In1<double>& values) {
  return {values.data(), values.data() + values.size()};
}

AttractiveEnds narrow(In2<int32_t> edges, In1<double> couplings, In1<double> fields,
                      In1<double> nodes_lower, In1<double> nodes_upper, In1<double> up_lower,
                      In1<double> up_upper, In1<double> down_lower, In1<double> down_upper,
                      In1<double> guess, int32_t core, int32_t across, int32_t spins,
                      int32_t max_bits, double goal, double wall, double held, bool trace,
                      int threads, Progress progress, double seconds) {
  const size_t n = fields.size(), m = couplings.size();
  if (edges.shape(0) != m || nodes_lower.size() != n || nodes_upper.size() != n ||
      up_lower.size() != m || up_upper.size() != m || down_lower.size() != m ||
      down_upper.size() != m || guess.size() != n) {
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
  if (core < 1 || across < 1 || max_bits < 1 || !(wall >= 0 && wall < 0.5) ||
      !(held >= 0 && held <= 0.5)) {
    throw std::invalid_argument("windows hold a spin, and held spins are more likely than not");
  }
  Control control = make_control(progress, seconds);
  AttractiveEnds ends{copy_of(nodes_lower), copy_of(nodes_upper), copy_of(up_lower),
                      copy_of(up_upper),    copy_of(down_lower),  copy_of(down_upper)};
  nb::gil_scoped_release release;
  return narrow_by_windows({flat(edges), flat(couplings), flat(fields)}, std::move(ends),
                           flat(guess), {core, across, spins, max_bits, goal, wall, held}, trace,
                           threads, control);
}

}  // namespace

void bind_attractive_windows(nb::module_& m) {
  nb::class_<WindowTrace>(m, "WindowTrace")
      .def_prop_ro("sides", array_of(&WindowTrace::sides))
      .def_prop_ro("spin_offsets", array_of(&WindowTrace::spin_offsets))
      .def_prop_ro("spins", array_of(&WindowTrace::spins))
      .def_prop_ro("wall_offsets", array_of(&WindowTrace::wall_offsets))
      .def_prop_ro("walls", array_of(&WindowTrace::walls))
      .def_prop_ro("nodes_lower", array_of(&WindowTrace::nodes_lower))
      .def_prop_ro("nodes_upper", array_of(&WindowTrace::nodes_upper))
      .def_prop_ro("up_lower", array_of(&WindowTrace::up_lower))
      .def_prop_ro("up_upper", array_of(&WindowTrace::up_upper))
      .def_prop_ro("down_lower", array_of(&WindowTrace::down_lower))
      .def_prop_ro("down_upper", array_of(&WindowTrace::down_upper));
  nb::class_<AttractiveEnds>(m, "AttractiveEnds")
      .def_prop_ro("nodes_lower", array_of(&AttractiveEnds::nodes_lower))
      .def_prop_ro("nodes_upper", array_of(&AttractiveEnds::nodes_upper))
      .def_prop_ro("up_lower", array_of(&AttractiveEnds::up_lower))
      .def_prop_ro("up_upper", array_of(&AttractiveEnds::up_upper))
      .def_prop_ro("down_lower", array_of(&AttractiveEnds::down_lower))
      .def_prop_ro("down_upper", array_of(&AttractiveEnds::down_upper))
      .def_ro("windows", &AttractiveEnds::windows)
      .def_ro("too_wide", &AttractiveEnds::too_wide)
      .def_ro("in_time", &AttractiveEnds::in_time)
      .def_ro("trace", &AttractiveEnds::trace);
  m.def("narrow_by_windows", &narrow, nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
        nb::arg("nodes_lower").noconvert(), nb::arg("nodes_upper").noconvert(),
        nb::arg("up_lower").noconvert(), nb::arg("up_upper").noconvert(),
        nb::arg("down_lower").noconvert(), nb::arg("down_upper").noconvert(),
        nb::arg("guess").noconvert(), nb::arg("core"), nb::arg("across"), nb::arg("spins"),
        nb::arg("max_bits"), nb::arg("goal"), nb::arg("wall"), nb::arg("held"), nb::arg("trace"),
        nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
