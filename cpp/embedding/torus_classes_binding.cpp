#include "base/arrays.hpp"
#include "embedding/series_parallel.hpp"
#include "embedding/torus_classes.hpp"

namespace planaris::bindings {

namespace {

SeriesParallelCore reduce_series_parallel_of(int32_t num_vertices, In2<int32_t> edges,
                                             Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return reduce_series_parallel(num_vertices, flat(edges), control);
}

TorusClasses find_torus_classes_of(int32_t num_vertices, In2<int32_t> edges, int32_t max_left_out,
                                   int32_t least_length, Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return find_torus_classes(num_vertices, flat(edges), max_left_out, least_length, control);
}

}  // namespace

void bind_torus_classes(nb::module_& m) {
  nb::class_<SeriesParallelCore>(m, "SeriesParallelCore")
      .def_prop_ro("edges", array_of(&SeriesParallelCore::edges))
      .def_prop_ro("group_of", array_of(&SeriesParallelCore::group_of));
  nb::class_<TorusClasses>(m, "TorusClasses")
      .def_ro("length", &TorusClasses::length)
      .def_prop_ro("classes", array_of(&TorusClasses::classes))
      .def_prop_ro("left_out", array_of(&TorusClasses::left_out));
  m.def("reduce_series_parallel", &reduce_series_parallel_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("find_torus_classes", &find_torus_classes_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("max_left_out"), nb::arg("least_length"),
        nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
