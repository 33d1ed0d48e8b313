#include "base/arrays.hpp"
#include "embedding/homology.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<int32_t>, Out1<int32_t>> homology_basis_of(In2<int32_t> edges,
                                                           In1<int32_t> rotation,
                                                           In1<int32_t> offsets,
                                                           In1<int32_t> face_of) {
  Cycles cycles;
  {
    nb::gil_scoped_release release;
    cycles = homology_basis({flat(edges), flat(rotation), flat(offsets)}, flat(face_of));
  }
  return {to_numpy(std::move(cycles.edges)), to_numpy(std::move(cycles.offsets))};
}

}  // namespace

void bind_homology(nb::module_& m) {
  m.def("homology_basis", &homology_basis_of, nb::arg("edges").noconvert(),
        nb::arg("rotation").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("face_of").noconvert());
}

}  // namespace planaris::bindings
