#include "base/arrays.hpp"
#include "polytope/sparse_cholesky.hpp"

namespace planaris::bindings {

namespace {

SparseFactor factor_of(In1<int64_t> offsets, In1<int32_t> rows, In1<double> values,
                       int64_t max_entries, Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return {flat(offsets), flat(rows), flat(values), max_entries, control};
}

Out1<double> solution_of(const SparseFactor& factor, In1<double> side, Progress progress,
                         double seconds) {
  Control control = make_control(progress, seconds);
  std::vector<double> x;
  {
    nb::gil_scoped_release release;
    x = factor.solve(flat(side), control);
  }
  return to_numpy(std::move(x));
}

}  // namespace

void bind_sparse_cholesky(nb::module_& m) {
  nb::class_<SparseFactor>(m, "SparseFactor")
      .def("solve", &solution_of, nb::arg("side").noconvert(), nb::arg("progress").none(),
           nb::arg("seconds"));
  m.def("factor_symmetric", &factor_of, nb::arg("offsets").noconvert(), nb::arg("rows").noconvert(),
        nb::arg("values").noconvert(), nb::arg("max_entries"), nb::arg("progress").none(),
        nb::arg("seconds"));
}

}  // namespace planaris::bindings
