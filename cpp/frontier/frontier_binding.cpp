#include "base/arrays.hpp"
#include "frontier/frontier.hpp"

namespace planaris::bindings {

namespace {

PairwiseView view_of(const In2<int32_t>& edges, const In1<double>& pairs,
                     const In1<double>& singles) {
  return {flat(edges), flat(pairs), flat(singles)};
}

Out1<int32_t> layout_of(In2<int32_t> edges, int32_t num_spins, Progress progress, double seconds) {
  const std::vector<double> singles(2 * static_cast<size_t>(num_spins), 0.0);
  const PairwiseView model{flat(edges), {}, singles};
  Control control = make_control(progress, seconds);
  std::vector<int32_t> layout;
  {
    nb::gil_scoped_release release;
    layout = greedy_layout(model, control);
  }
  return to_numpy(std::move(layout));
}

int32_t width_of(In2<int32_t> edges, In1<int32_t> layout, int32_t limit) {
  const std::vector<double> singles(2 * layout.size(), 0.0);
  const PairwiseView model{flat(edges), {}, singles};
  nb::gil_scoped_release release;
  return frontier_width(model, flat(layout), limit);
}

std::tuple<int32_t, double, int32_t> cost_of(In2<int32_t> edges, In1<int32_t> layout,
                                             int32_t max_bits) {
  const std::vector<double> singles(2 * layout.size(), 0.0), pairs(2 * edges.size(), 0.0);
  const PairwiseView model{flat(edges), pairs, singles};
  nb::gil_scoped_release release;
  const auto program = frontier_program(model, flat(layout), max_bits);
  return {program.max_bits, program.entries, frontier_spare_tables(program)};
}

// The updates of a program one by one, for tables that are kept elsewhere.
struct FrontierOps {
  // A row each: kind (0 replace, 1 pair, 2 push, 3 pop), slot, control, old spin, new spin, spin,
  // edge, control edge.
  std::vector<int32_t> places;
  std::vector<double> logs;  // eight each, as FrontierOp has them
  double log_constant = 0, constant_error = 0;
  int32_t max_bits = 0;
  bool feasible = true;
};

FrontierOps ops_of(In2<int32_t> edges, In1<double> pairs, In1<double> singles, In1<int32_t> layout,
                   int32_t max_bits) {
  const PairwiseView model = view_of(edges, pairs, singles);
  nb::gil_scoped_release release;
  const auto program = frontier_program(model, flat(layout), max_bits);
  FrontierOps found;
  found.log_constant = program.log_constant;
  found.constant_error = program.constant_error;
  found.max_bits = program.max_bits;
  found.feasible = program.feasible;
  for (const FrontierStep& step : program.steps) {
    for (int32_t i = step.first_op; i < step.last_op; ++i) {
      const FrontierOp& op = program.ops[i];
      const int32_t kind = step.kind == FrontierStep::kPush  ? 2
                           : step.kind == FrontierStep::kPop ? 3
                           : op.old_spin >= 0                ? 0
                                                             : 1;
      found.places.insert(found.places.end(), {kind, op.slot, op.control, op.old_spin, op.new_spin,
                                               op.spin, op.edge, op.control_edge});
      found.logs.insert(found.logs.end(), op.logs, op.logs + 8);
    }
  }
  return found;
}

FrontierSum frontier_sum_of(In2<int32_t> edges, In1<double> pairs, In1<double> singles,
                            In1<int32_t> layout, bool marginals, bool wide, bool widen,
                            int32_t spare, int threads, Progress progress, double seconds) {
  const PairwiseView model = view_of(edges, pairs, singles);
  Control control = make_control(progress, seconds, threads);
  nb::gil_scoped_release release;
  const auto program = frontier_program(model, flat(layout), 40);
  const Exponents exponents = wide ? Exponents::kOwn : widen ? Exponents::kAny : Exponents::kShared;
  return frontier_sum(model, program, marginals, exponents, spare, control);
}

std::tuple<Out1<int8_t>, double, double> frontier_max_of(In2<int32_t> edges, In1<double> pairs,
                                                         In1<double> singles, In1<int32_t> layout,
                                                         int32_t spare, int threads,
                                                         Progress progress, double seconds) {
  const PairwiseView model = view_of(edges, pairs, singles);
  Control control = make_control(progress, seconds, threads);
  FrontierMax result;
  {
    nb::gil_scoped_release release;
    const auto program = frontier_program(model, flat(layout), 40);
    result = frontier_max(model, program, spare, control);
  }
  return {to_numpy(std::move(result.labels)), result.value, result.error};
}

Out1<int8_t> frontier_sample_of(In2<int32_t> edges, In1<double> pairs, In1<double> singles,
                                In1<int32_t> layout, int64_t num_samples, uint64_t seed, bool wide,
                                int32_t spare, int threads, Progress progress, double seconds) {
  const PairwiseView model = view_of(edges, pairs, singles);
  Control control = make_control(progress, seconds, threads);
  std::vector<int8_t> labels;
  {
    nb::gil_scoped_release release;
    const auto program = frontier_program(model, flat(layout), 40);
    labels = frontier_sample(model, program, num_samples, seed, wide, spare, control);
  }
  return to_numpy(std::move(labels));
}

}  // namespace

void bind_frontier(nb::module_& m) {
  nb::class_<FrontierSum>(m, "FrontierSum")
      .def_ro("log_partition", &FrontierSum::log_partition)
      .def_ro("error", &FrontierSum::error)
      .def_prop_ro("singles", array_of(&FrontierSum::singles))
      .def_prop_ro("pairs", array_of(&FrontierSum::pairs))
      .def_ro("wide_exponents", &FrontierSum::wide_exponents)
      .def_ro("underflowed", &FrontierSum::underflowed);
  nb::class_<FrontierOps>(m, "FrontierOps")
      .def_ro("log_constant", &FrontierOps::log_constant)
      .def_ro("constant_error", &FrontierOps::constant_error)
      .def_ro("max_bits", &FrontierOps::max_bits)
      .def_ro("feasible", &FrontierOps::feasible)
      .def_prop_ro("places", array_of(&FrontierOps::places))
      .def_prop_ro("logs", array_of(&FrontierOps::logs));
  m.def("frontier_ops", &ops_of, nb::arg("edges").noconvert(), nb::arg("pairs").noconvert(),
        nb::arg("singles").noconvert(), nb::arg("layout").noconvert(), nb::arg("max_bits"));
  m.def("frontier_layout", &layout_of, nb::arg("edges").noconvert(), nb::arg("num_spins"),
        nb::arg("progress").none(), nb::arg("seconds"));
  m.def("frontier_width", &width_of, nb::arg("edges").noconvert(), nb::arg("layout").noconvert(),
        nb::arg("limit"));
  m.def("frontier_cost", &cost_of, nb::arg("edges").noconvert(), nb::arg("layout").noconvert(),
        nb::arg("max_bits"));
  m.def("frontier_sum", &frontier_sum_of, nb::arg("edges").noconvert(),
        nb::arg("pairs").noconvert(), nb::arg("singles").noconvert(), nb::arg("layout").noconvert(),
        nb::arg("marginals"), nb::arg("wide"), nb::arg("widen"), nb::arg("spare"),
        nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("frontier_max", &frontier_max_of, nb::arg("edges").noconvert(),
        nb::arg("pairs").noconvert(), nb::arg("singles").noconvert(), nb::arg("layout").noconvert(),
        nb::arg("spare"), nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("frontier_sample", &frontier_sample_of, nb::arg("edges").noconvert(),
        nb::arg("pairs").noconvert(), nb::arg("singles").noconvert(), nb::arg("layout").noconvert(),
        nb::arg("num_samples"), nb::arg("seed"), nb::arg("wide"), nb::arg("spare"),
        nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
