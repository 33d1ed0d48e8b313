#include "base/arrays.hpp"
#include "messages/forest.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<double>, Out1<double>, Out1<double>> evaluate(const Forest& forest,
                                                              In1<double> couplings,
                                                              In1<double> fields, Progress progress,
                                                              double seconds) {
  Control control = make_control(progress, seconds);
  ForestMoments result;
  {
    nb::gil_scoped_release release;
    result = forest.evaluate(flat(couplings), flat(fields), control);
  }
  return {to_numpy(std::move(result.logs)), to_numpy(std::move(result.spins)),
          to_numpy(std::move(result.pairs))};
}

Out1<double> forest_log_values(const Forest& forest, In1<double> couplings, In1<double> fields) {
  Control control = make_control({});
  std::vector<double> logs;
  {
    nb::gil_scoped_release release;
    logs = forest.log_values(flat(couplings), flat(fields), control);
  }
  return to_numpy(std::move(logs));
}

}  // namespace

void bind_forest(nb::module_& m) {
  nb::class_<Forest>(m, "Forest")
      .def(
          "__init__",
          [](Forest* self, int32_t num_vertices, In2<int32_t> edges, Progress progress,
             double seconds) {
            Control control = make_control(progress, seconds);
            nb::gil_scoped_release release;
            new (self) Forest(num_vertices, flat(edges), control);
          },
          nb::arg("num_vertices"), nb::arg("edges").noconvert(), nb::arg("progress").none(),
          nb::arg("seconds"))
      .def("evaluate", &evaluate, nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def("log_values", &forest_log_values, nb::arg("couplings").noconvert(),
           nb::arg("fields").noconvert());
}

}  // namespace planaris::bindings
