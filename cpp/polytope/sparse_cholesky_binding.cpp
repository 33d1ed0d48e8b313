#include "base/arrays.hpp"
#include "polytope/sparse_cholesky.hpp"

namespace planaris::bindings {

namespace {

Out1<double> solution_of(In1<int64_t> offsets, In1<int32_t> rows, In1<double> values,
                         In1<double> side, int64_t max_entries, Progress progress,
                         double seconds) {
  Control control = make_control(progress, seconds);
  std::vector<double> x;
  {
    nb::gil_scoped_release release;
    x = solve_symmetric(flat(offsets), flat(rows), flat(values), flat(side), max_entries, control);
  }
  return to_numpy(std::move(x));
}

}  // namespace

void bind_sparse_cholesky(nb::module_& m) {
  m.def("solve_symmetric", &solution_of, nb::arg("offsets").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("values").noconvert(), nb::arg("side").noconvert(),
        nb::arg("max_entries"), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
