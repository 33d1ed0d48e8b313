#include <algorithm>

#include "base/arrays.hpp"
#include "graph/log_weight.hpp"
#include "graph/spins.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<int8_t>, int32_t> spins_of(int32_t num_vertices, In2<int32_t> edges,
                                           In1<uint8_t> differ, int32_t threads) {
  SpinAssignment result;
  {
    nb::gil_scoped_release release;
    Control quiet;
    Team team(threads, quiet);
    result = spins_from_disagreements(num_vertices, flat(edges), flat(differ), team);
  }
  return {to_numpy(std::move(result.spins)), result.conflicting_edge};
}

// One row of `differ` per cut.
std::tuple<Out2<int8_t>, Out1<int32_t>> spins_of_cuts(int32_t num_vertices, In2<int32_t> edges,
                                                      In2<uint8_t> differ) {
  const size_t rows = differ.shape(0), columns = differ.shape(1);
  std::vector<int8_t> spins(rows * size_t(num_vertices));
  std::vector<int32_t> conflicts(rows);
  {
    nb::gil_scoped_release release;
    for (size_t r = 0; r < rows; ++r) {
      const SpinAssignment found = spins_from_disagreements(
          num_vertices, flat(edges), flat(differ).subspan(r * columns, columns));
      std::copy(found.spins.begin(), found.spins.end(), spins.begin() + r * num_vertices);
      conflicts[r] = found.conflicting_edge;
    }
  }
  return {to_numpy(std::move(spins), rows, num_vertices), to_numpy(std::move(conflicts))};
}

// The digits of an exact sum, base 2^32, lowest first; the lowest counts 2^-1074.
Out1<int64_t> log_weight_of(In2<int32_t> edges, In1<double> couplings, In1<double> fields,
                            In1<int8_t> spins, int32_t threads) {
  std::vector<int64_t> digits;
  {
    nb::gil_scoped_release release;
    Control quiet;
    Team team(threads, quiet);
    const ExactSum sum = log_weight(flat(edges), flat(couplings), flat(fields), flat(spins), team);
    digits.assign(sum.digits().begin(), sum.digits().end());
  }
  return to_numpy(std::move(digits));
}

}  // namespace

void bind_spins(nb::module_& m) {
  m.def("spins_from_disagreements", &spins_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("differ").noconvert(), nb::arg("threads"));
  m.def("spins_of_cuts", &spins_of_cuts, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("differ").noconvert());
  m.def("log_weight", &log_weight_of, nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
        nb::arg("spins").noconvert(), nb::arg("threads"));
}

}  // namespace planaris::bindings
