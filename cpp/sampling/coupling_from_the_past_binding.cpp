#include "base/arrays.hpp"
#include "sampling/coupling_from_the_past.hpp"
#include "sampling/heat_bath_means.hpp"

namespace planaris::bindings {

namespace {

AttractiveModel make_model(const In2<int32_t>& edges, const In1<double>& couplings,
                           const In1<double>& fields) {
  const auto n = static_cast<int32_t>(fields.size());
  for (const double c : flat(couplings)) {
    if (!(c >= 0)) throw std::invalid_argument("couplings must not be negative");
  }
  for (const int32_t v : flat(edges)) {
    if (v < 0 || v >= n) throw std::invalid_argument("edges must join spins of the model");
  }
  if (edges.shape(0) != couplings.size()) {
    throw std::invalid_argument("there must be one coupling per edge");
  }
  return {n, flat(edges), flat(couplings), flat(fields)};
}

// Spins, sweeps per block, blocks.
std::tuple<Out2<int8_t>, int64_t, int64_t> read_once(In2<int32_t> edges, In1<double> couplings,
                                                     In1<double> fields, int64_t count,
                                                     uint64_t seed, int threads, Progress progress,
                                                     double seconds) {
  Control control = make_control(progress, seconds);
  CoupledSamples found;
  {
    nb::gil_scoped_release release;
    found = sample_read_once(make_model(edges, couplings, fields), count, seed, threads, control);
  }
  return {to_numpy(std::move(found.spins), count, fields.size()), found.block, found.blocks};
}

std::tuple<Out1<int32_t>, Out1<int32_t>> bounds(In2<int32_t> edges, In1<double> couplings,
                                                In1<double> fields, int32_t count,
                                                int64_t max_sweeps, uint64_t seed, int threads,
                                                Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  PastBounds found;
  {
    nb::gil_scoped_release release;
    found = bound_from_the_past(make_model(edges, couplings, fields), count, max_sweeps, seed,
                                threads, control);
  }
  return {to_numpy(std::move(found.lower)), to_numpy(std::move(found.upper))};
}

Out1<double> means(In2<int32_t> edges, In1<double> couplings, In1<double> fields, In1<int8_t> start,
                   int chains, int64_t sweeps, uint64_t seed, int threads, Progress progress,
                   double seconds) {
  if (start.size() != fields.size()) throw std::invalid_argument("every spin must start somewhere");
  Control control = make_control(progress, seconds);
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = heat_bath_means(make_model(edges, couplings, fields), flat(start), chains, sweeps, seed,
                            threads, control);
  }
  return to_numpy(std::move(found));
}

}  // namespace

void bind_coupling_from_the_past(nb::module_& m) {
  m.def("sample_read_once", &read_once, nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(), nb::arg("count"),
        nb::arg("seed"), nb::arg("threads"), nb::arg("progress") = nb::none(),
        nb::arg("seconds") = std::numeric_limits<double>::infinity());
  m.def("bound_from_the_past", &bounds, nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(), nb::arg("count"),
        nb::arg("max_sweeps"), nb::arg("seed"), nb::arg("threads"),
        nb::arg("progress") = nb::none(),
        nb::arg("seconds") = std::numeric_limits<double>::infinity());
  m.def("heat_bath_means", &means, nb::arg("edges").noconvert(), nb::arg("couplings").noconvert(),
        nb::arg("fields").noconvert(), nb::arg("start").noconvert(), nb::arg("chains"),
        nb::arg("sweeps"), nb::arg("seed"), nb::arg("threads"), nb::arg("progress") = nb::none(),
        nb::arg("seconds") = std::numeric_limits<double>::infinity());
}

}  // namespace planaris::bindings
