#include "base/arrays.hpp"
#include "polytope/clique_separation.hpp"
#include "polytope/cut_reduction.hpp"
#include "polytope/cut_search.hpp"
#include "polytope/cycle_separation.hpp"
#include "polytope/wheel_separation.hpp"

namespace planaris::bindings {

namespace {

CycleCuts separate_cycles_of(int32_t num_spins, In2<int32_t> edges, In1<double> x,
                             double min_violation, int32_t max_cuts, int32_t max_per_edge,
                             int32_t max_settled, int32_t exact_below, int32_t threads,
                             Progress progress, double seconds) {
  CycleCuts cuts;
  Control control = make_control(progress, seconds);
  try {
    nb::gil_scoped_release release;
    cuts = separate_cycles(
        num_spins, flat(edges), flat(x),
        {min_violation, max_cuts, max_per_edge, max_settled, exact_below, threads}, control);
  } catch (const DeadlinePassed&) {
    cuts.offsets.assign(1, 0);
  }
  return cuts;
}

WheelCuts separate_wheels_of(int32_t num_spins, In2<int32_t> edges, In1<double> x,
                             double min_violation, int32_t max_cuts, Progress progress,
                             double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return separate_wheels(num_spins, flat(edges), flat(x), min_violation, max_cuts, control);
}

CliqueCuts separate_triangles_of(In2<double> x, double min_violation, int32_t max_cuts,
                                 Progress progress, double seconds) {
  if (x.shape(1) != x.shape(0)) throw std::invalid_argument("a square matrix");
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  const auto n = static_cast<int32_t>(x.shape(0));
  return separate_triangles(n, flat(x), min_violation, max_cuts, control);
}

CliqueCuts extend_cliques_of(In2<double> x, In2<int32_t> spins, In2<int8_t> signs,
                             double min_violation, int32_t max_cuts, Progress progress,
                             double seconds) {
  const auto n = static_cast<int32_t>(x.shape(0));
  const auto size = static_cast<int32_t>(spins.shape(1));
  if (x.shape(1) != x.shape(0) || spins.size() != signs.size() || size < 1) {
    throw std::invalid_argument("a square matrix, and one sign per spin");
  }
  for (const int32_t spin : flat(spins)) {
    if (spin < 0 || spin >= n) throw std::invalid_argument("spins of the matrix");
  }
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return extend_cliques(n, flat(x), size, flat(spins), flat(signs), min_violation, max_cuts,
                        control);
}

template <class Value>
auto clique_rows(std::vector<Value> CliqueCuts::* member) {
  return [member](nb::handle_t<CliqueCuts> self) {
    auto& cuts = nb::cast<CliqueCuts&>(self);
    auto& values = cuts.*member;
    const auto size = static_cast<size_t>(cuts.size);
    return Out2<Value>(values.data(), {values.size() / size, size}, self);
  };
}

class Reduction {
 public:
  Reduction(int32_t num_spins, In2<int32_t> edges, In1<double> couplings, bool keep_zero_edges,
            Progress progress, double seconds)
      : num_spins_(num_spins), num_edges_(static_cast<int32_t>(couplings.size())) {
    Control control = make_control(progress, seconds);
    nb::gil_scoped_release release;
    reduction_ = reduce_cut(num_spins, flat(edges), flat(couplings), keep_zero_edges, control);
  }
  int32_t num_spins() const { return reduction_.num_spins; }
  double constant() const { return reduction_.constant; }
  double constant_rest() const { return reduction_.constant_rest; }
  double error() const { return reduction_.error; }
  std::tuple<Out2<int32_t>, Out1<double>> small_model() const {
    auto edges = reduction_.edges;
    auto couplings = reduction_.couplings;
    const size_t rows = couplings.size();
    return {to_numpy(std::move(edges), rows, 2), to_numpy(std::move(couplings))};
  }
  Out1<int32_t> kept() const {
    auto spins = reduction_.spin_of;
    return to_numpy(std::move(spins));
  }
  Out1<int8_t> lift_spins_of(In1<int8_t> small) const {
    if (small.size() != static_cast<size_t>(reduction_.num_spins)) {
      throw std::invalid_argument("one spin per spin of the small model");
    }
    return to_numpy(lift_spins(reduction_, num_spins_, flat(small)));
  }
  Out1<double> lift_disagreements_of(In1<double> small) const {
    if (small.size() != reduction_.couplings.size()) {
      throw std::invalid_argument("one value per edge of the small model");
    }
    return to_numpy(lift_disagreements(reduction_, num_edges_, flat(small)));
  }

 private:
  int32_t num_spins_, num_edges_;
  CutReduction reduction_;
};

Out1<int8_t> round_disagreements_of(int32_t num_spins, In2<int32_t> edges, In1<double> x) {
  return to_numpy(round_disagreements(num_spins, flat(edges), flat(x)));
}

Out1<int8_t> improve_spins_of(int32_t num_spins, In2<int32_t> edges, In1<double> couplings,
                              In1<int8_t> spins, int64_t tabu_steps, uint64_t seed,
                              Progress progress, double seconds) {
  std::vector<int8_t> state(spins.data(), spins.data() + spins.size());
  Control control = make_control(progress, seconds);
  {
    nb::gil_scoped_release release;
    improve_spins(num_spins, flat(edges), flat(couplings), state, tabu_steps, seed, control);
  }
  return to_numpy(std::move(state));
}

}  // namespace

void bind_cuts(nb::module_& m) {
  nb::class_<CycleCuts>(m, "CycleCuts")
      .def_prop_ro("offsets", array_of(&CycleCuts::offsets))
      .def_prop_ro("edges", array_of(&CycleCuts::edges))
      .def_prop_ro("odd", array_of(&CycleCuts::odd))
      .def_prop_ro("violation", array_of(&CycleCuts::violation))
      .def_ro("num_found", &CycleCuts::num_found);
  nb::class_<WheelCuts>(m, "WheelCuts")
      .def_prop_ro("offsets", array_of(&WheelCuts::offsets))
      .def_prop_ro("edges", array_of(&WheelCuts::edges))
      .def_prop_ro("flipped", array_of(&WheelCuts::flipped))
      .def_prop_ro("rim", array_of(&WheelCuts::rim))
      .def_prop_ro("violation", array_of(&WheelCuts::violation));
  nb::class_<CliqueCuts>(m, "CliqueCuts")
      .def_prop_ro("spins", clique_rows(&CliqueCuts::spins))
      .def_prop_ro("signs", clique_rows(&CliqueCuts::signs))
      .def_prop_ro("violation", array_of(&CliqueCuts::violation));
  m.def("separate_triangles", &separate_triangles_of, nb::arg("x").noconvert(),
        nb::arg("min_violation"), nb::arg("max_cuts"), nb::arg("progress").none(),
        nb::arg("seconds"));
  m.def("extend_cliques", &extend_cliques_of, nb::arg("x").noconvert(),
        nb::arg("spins").noconvert(), nb::arg("signs").noconvert(), nb::arg("min_violation"),
        nb::arg("max_cuts"), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("separate_cycles", &separate_cycles_of, nb::arg("num_spins"), nb::arg("edges").noconvert(),
        nb::arg("x").noconvert(), nb::arg("min_violation"), nb::arg("max_cuts"),
        nb::arg("max_per_edge"), nb::arg("max_settled"), nb::arg("exact_below"), nb::arg("threads"),
        nb::arg("progress").none(), nb::arg("seconds"));
  m.def("separate_wheels", &separate_wheels_of, nb::arg("num_spins"), nb::arg("edges").noconvert(),
        nb::arg("x").noconvert(), nb::arg("min_violation"), nb::arg("max_cuts"),
        nb::arg("progress").none(), nb::arg("seconds"));
  nb::class_<Reduction>(m, "CutReduction")
      .def(nb::init<int32_t, In2<int32_t>, In1<double>, bool, Progress, double>(),
           nb::arg("num_spins"), nb::arg("edges").noconvert(), nb::arg("couplings").noconvert(),
           nb::arg("keep_zero_edges"), nb::arg("progress").none(), nb::arg("seconds"))
      .def_prop_ro("num_spins", &Reduction::num_spins)
      .def_prop_ro("constant", &Reduction::constant)
      .def_prop_ro("constant_rest", &Reduction::constant_rest)
      .def_prop_ro("error", &Reduction::error)
      .def("small_model", &Reduction::small_model)
      .def("kept", &Reduction::kept)
      .def("lift_spins", &Reduction::lift_spins_of, nb::arg("small").noconvert())
      .def("lift_disagreements", &Reduction::lift_disagreements_of, nb::arg("small").noconvert());
  m.def("round_disagreements", &round_disagreements_of, nb::arg("num_spins"),
        nb::arg("edges").noconvert(), nb::arg("x").noconvert());
  m.def("improve_spins", &improve_spins_of, nb::arg("num_spins"), nb::arg("edges").noconvert(),
        nb::arg("couplings").noconvert(), nb::arg("spins").noconvert(), nb::arg("tabu_steps"),
        nb::arg("seed"), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
