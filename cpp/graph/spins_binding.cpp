#include "base/arrays.hpp"
#include "graph/spins.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<int8_t>, int32_t> spins_of(int32_t num_vertices, In2<int32_t> edges,
                                           In1<uint8_t> differ) {
  SpinAssignment result;
  {
    nb::gil_scoped_release release;
    result = spins_from_disagreements(num_vertices, flat(edges), flat(differ));
  }
  return {to_numpy(std::move(result.spins)), result.conflicting_edge};
}

}  // namespace

void bind_spins(nb::module_& m) {
  m.def("spins_from_disagreements", &spins_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("differ").noconvert());
}

}  // namespace planaris::bindings
