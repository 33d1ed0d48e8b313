#include "base/arrays.hpp"
#include "graph/max_flow.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<uint8_t>, Out1<double>, double, int> cut_of(In2<int32_t> edges,
                                                            In1<double> capacities,
                                                            In1<double> terminals,
                                                            Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  CutResult result;
  {
    nb::gil_scoped_release release;
    result = minimum_cut(flat(edges), flat(capacities), flat(terminals), control);
  }
  return {to_numpy(std::move(result.source_side)), to_numpy(std::move(result.flow)),
          result.rounding, result.bits};
}

std::tuple<Out1<int8_t>, Out1<int32_t>> balance_of(int32_t num_vertices, In2<int32_t> edges,
                                                   In1<double> couplings) {
  SignedForest result;
  {
    nb::gil_scoped_release release;
    result = balance_signs(num_vertices, flat(edges), flat(couplings));
  }
  return {to_numpy(std::move(result.gauge)), to_numpy(std::move(result.frustrated))};
}

Out1<int8_t> descend_of(In2<int32_t> edges, In1<double> couplings, In1<double> fields,
                        In1<uint8_t> fixed, In1<int8_t> start, int sweeps, Progress progress,
                        double seconds) {
  Control control = make_control(progress, seconds);
  std::vector<int8_t> spins(start.data(), start.data() + start.size());
  {
    nb::gil_scoped_release release;
    descend_energy(flat(edges), flat(couplings), flat(fields), flat(fixed), spins, sweeps, control);
  }
  return to_numpy(std::move(spins));
}

}  // namespace

void bind_max_flow(nb::module_& m) {
  m.def("minimum_cut", &cut_of, nb::arg("edges").noconvert(), nb::arg("capacities").noconvert(),
        nb::arg("terminals").noconvert(), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("balance_signs", &balance_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert());
  m.def("descend_energy", &descend_of, nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
        nb::arg("fixed").noconvert(), nb::arg("start").noconvert(), nb::arg("sweeps"),
        nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
