#include "base/arrays.hpp"
#include "messages/forest.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<double>, Out1<double>, Out1<double>> evaluate(const Forest& forest,
                                                              In1<double> couplings,
                                                              In1<double> fields) {
  ForestMoments result;
  {
    nb::gil_scoped_release release;
    result = forest.evaluate(flat(couplings), flat(fields));
  }
  return {to_numpy(std::move(result.logs)), to_numpy(std::move(result.spins)),
          to_numpy(std::move(result.pairs))};
}

}  // namespace

void bind_forest(nb::module_& m) {
  nb::class_<Forest>(m, "Forest")
      .def(
          "__init__",
          [](Forest* self, int32_t num_vertices, In2<int32_t> edges) {
            new (self) Forest(num_vertices, flat(edges));
          },
          nb::arg("num_vertices"), nb::arg("edges").noconvert())
      .def("evaluate", &evaluate, nb::arg("couplings").noconvert(),
           nb::arg("fields").noconvert());
}

}  // namespace planaris::bindings
