#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include "base/arrays.hpp"
#include "batches/plane_models.hpp"
#include "pfaffian/pfaffian_plan.hpp"
#include "rigour/enclosed_sum.hpp"
#include "rigour/enclosure.hpp"
#include "rigour/proof_batch.hpp"

namespace planaris::bindings {

namespace {

Enclosure enclose(const PfaffianPlan& plan, In1<double> gauged, In1<double> scale,
                  In1<int8_t> signs, In1<int32_t> earliest, In1<int32_t> rank, bool radii,
                  bool wide, bool split, int32_t coarse_rows, double share,
                  const ProofWeights& weights, int threads, const Progress& progress) {
  const size_t edges = plan.signs.size();
  if (gauged.size() != edges || scale.size() != 2 * edges || signs.size() != edges ||
      earliest.size() != edges || rank.size() != edges) {
    throw std::invalid_argument("gauged, scale, signs, earliest and rank must fit the plan");
  }
  const ExactEntries exact{flat(gauged), flat(scale), flat(signs), flat(earliest), flat(rank)};
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return enclose_log_pfaffian(plan.tree, exact, {radii, wide, split, split ? coarse_rows : 0},
                              share, weights, threads, control);
}

ProofBatch prove(const PlaneModels& models, In2<double> couplings, int32_t components,
                 double narrow, int threads, bool share_rows, const Progress& progress) {
  models.check(couplings.shape(1));
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return prove_batch(models.plane(), flat(couplings), {components, narrow, threads, share_rows},
                     control);
}

}  // namespace

void bind_enclosure(nb::module_& m) {
  nb::class_<ProofWeights>(m, "ProofWeights")
      .def(nb::init<>())
      .def_rw("update", &ProofWeights::update)
      .def_rw("entry", &ProofWeights::entry)
      .def_rw("split", &ProofWeights::split)
      .def_rw("inflation", &ProofWeights::inflation)
      .def_rw("coarse", &ProofWeights::coarse)
      .def_rw("worth_splitting", &ProofWeights::worth_splitting)
      .def_rw("second", &ProofWeights::second)
      .def_rw("entries", &ProofWeights::entries)
      .def_rw("products", &ProofWeights::products)
      .def_rw("product", &ProofWeights::product)
      .def_rw("high", &ProofWeights::high)
      .def_rw("inject", &ProofWeights::inject)
      .def_rw("inject_entries", &ProofWeights::inject_entries)
      .def_rw("inject_products", &ProofWeights::inject_products)
      .def_rw("inject_pivots", &ProofWeights::inject_pivots)
      .def_rw("inject_sweep", &ProofWeights::inject_sweep)
      .def_rw("pattern", &ProofWeights::pattern);
  nb::class_<Enclosure>(m, "Enclosure")
      .def_ro("sound", &Enclosure::sound)
      .def_ro("negative", &Enclosure::negative)
      .def_ro("mantissa", &Enclosure::mantissa)
      .def_ro("exponent", &Enclosure::exponent)
      .def_ro("entries", &Enclosure::entries)
      .def_ro("elimination", &Enclosure::elimination)
      .def_ro("product", &Enclosure::product)
      .def_prop_ro("error", &Enclosure::error)
      .def_prop_ro("own_error", &Enclosure::own_error)
      .def_ro("eta", &Enclosure::eta)
      .def_ro("first", &Enclosure::first)
      .def_ro("inflation", &Enclosure::inflation)
      .def_ro("largest_front", &Enclosure::largest_front)
      .def_prop_ro("uncut", array_of(&Enclosure::uncut))
      .def_prop_ro("uncut_error", array_of(&Enclosure::uncut_error));
  nb::class_<ProofBatch>(m, "ProofBatch")
      .def_prop_ro("way", array_of(&ProofBatch::way))
      .def_prop_ro("lower", array_of(&ProofBatch::lower))
      .def_prop_ro("upper", array_of(&ProofBatch::upper))
      .def_prop_ro("value", array_of(&ProofBatch::value))
      .def_prop_ro("excess", array_of(&ProofBatch::excess))
      .def_prop_ro("error", array_of(&ProofBatch::error))
      .def_prop_ro("entries", array_of(&ProofBatch::entries))
      .def_prop_ro("elimination", array_of(&ProofBatch::elimination))
      .def_prop_ro("largest_front", array_of(&ProofBatch::largest_front))
      .def_prop_ro("tried", array_of(&ProofBatch::tried));
  m.def(
      "enclose_sum",
      [](In1<double> terms, double mantissa, int64_t twos, double error) {
        PairSum sum;
        sum.add(flat(terms));
        sum.add_log(mantissa, twos);
        const EnclosedSum ends = sum.enclosed(error);
        return std::tuple(ends.lower, ends.upper, ends.middle);
      },
      nb::arg("terms").noconvert(), nb::arg("mantissa"), nb::arg("twos"), nb::arg("error"));
  m.def("enclose", &enclose, nb::arg("plan"), nb::arg("gauged").noconvert(),
        nb::arg("scale").noconvert(), nb::arg("signs").noconvert(), nb::arg("earliest").noconvert(),
        nb::arg("rank").noconvert(), nb::arg("radii"), nb::arg("wide"), nb::arg("split"),
        nb::arg("coarse_rows"), nb::arg("share"), nb::arg("weights"), nb::arg("threads"),
        nb::arg("progress") = nb::none());
  m.def("prove_rows", &prove, nb::arg("models"), nb::arg("couplings").noconvert(),
        nb::arg("components"), nb::arg("narrow"), nb::arg("threads"), nb::arg("share_rows"),
        nb::arg("progress") = nb::none());
}

}  // namespace planaris::bindings
