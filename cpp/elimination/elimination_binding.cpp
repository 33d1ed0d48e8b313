#include <stdexcept>

#include "base/arrays.hpp"
#include "elimination/elimination.hpp"

namespace planaris::bindings {

namespace {

FactorGraphView view_of(const In1<int32_t>& cardinalities, const In1<int32_t>& scopes,
                        const In1<int64_t>& scope_offsets, const In1<double>& log_values,
                        const In1<int64_t>& table_offsets) {
  return {flat(cardinalities), flat(scopes), flat(scope_offsets), flat(log_values),
          flat(table_offsets)};
}

std::tuple<Out1<int32_t>, double, double> order_of(In1<int32_t> cardinalities, In1<int32_t> scopes,
                                                   In1<int64_t> scope_offsets, bool min_fill,
                                                   uint64_t seed, double max_bits,
                                                   Progress progress, double seconds) {
  const FactorGraphView graph{flat(cardinalities), flat(scopes), flat(scope_offsets), {}, {}};
  Control control = make_control(progress, seconds);
  EliminationOrder result;
  {
    nb::gil_scoped_release release;
    result = greedy_order(graph, factor_adjacency(graph, control),
                          min_fill ? OrderRule::kMinFill : OrderRule::kMinDegree, seed, max_bits,
                          control);
  }
  return {to_numpy(std::move(result.order)), result.log2_largest, result.entries};
}

EliminationTree tree_of(In1<int32_t> cardinalities, In1<int32_t> scopes, In1<int64_t> scope_offsets,
                        In1<int32_t> order, double max_bits, Progress progress, double seconds) {
  const FactorGraphView graph{flat(cardinalities), flat(scopes), flat(scope_offsets), {}, {}};
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return elimination_tree(graph, factor_adjacency(graph, control), flat(order), max_bits, control);
}

SumResult sum_of(In1<int32_t> cardinalities, In1<int32_t> scopes, In1<int64_t> scope_offsets,
                 In1<double> log_values, In1<int64_t> table_offsets, In1<int32_t> order,
                 bool marginals, Progress progress, double seconds) {
  const auto graph = view_of(cardinalities, scopes, scope_offsets, log_values, table_offsets);
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  const auto tree =
      elimination_tree(graph, factor_adjacency(graph, control), flat(order), 62.0, control);
  return eliminate_sum(graph, tree, marginals, control);
}

std::tuple<Out1<int32_t>, double, double, double> max_of(
    In1<int32_t> cardinalities, In1<int32_t> scopes, In1<int64_t> scope_offsets,
    In1<double> log_values, In1<int64_t> table_offsets, In1<int32_t> order, bool wide,
    Progress progress, double seconds) {
  const auto graph = view_of(cardinalities, scopes, scope_offsets, log_values, table_offsets);
  Control control = make_control(progress, seconds);
  MaxResult result;
  {
    nb::gil_scoped_release release;
    const auto tree =
        elimination_tree(graph, factor_adjacency(graph, control), flat(order), 62.0, control);
    result = eliminate_max(graph, tree, wide, control);
  }
  return {to_numpy(std::move(result.assignment)), result.value, result.rest, result.error};
}

Out1<int32_t> sample_of(In1<int32_t> cardinalities, In1<int32_t> scopes, In1<int64_t> scope_offsets,
                        In1<double> log_values, In1<int64_t> table_offsets, In1<int32_t> order,
                        int64_t num_samples, uint64_t seed, Progress progress, double seconds) {
  const auto graph = view_of(cardinalities, scopes, scope_offsets, log_values, table_offsets);
  Control control = make_control(progress, seconds);
  std::vector<int32_t> states;
  {
    nb::gil_scoped_release release;
    const auto tree =
        elimination_tree(graph, factor_adjacency(graph, control), flat(order), 62.0, control);
    states = eliminate_sample(graph, tree, num_samples, seed, control);
  }
  return to_numpy(std::move(states));
}

}  // namespace

void bind_elimination(nb::module_& m) {
  nb::class_<EliminationTree>(m, "EliminationTree")
      .def_prop_ro("order", array_of(&EliminationTree::order))
      .def_ro("width", &EliminationTree::width)
      .def_ro("largest_table", &EliminationTree::largest_table)
      .def_ro("message_entries", &EliminationTree::message_entries)
      .def_ro("stack_entries", &EliminationTree::stack_entries)
      .def_ro("total_entries", &EliminationTree::total_entries);
  nb::class_<SumResult>(m, "EliminationSum")
      .def_ro("log_partition", &SumResult::log_partition)
      .def_ro("rest", &SumResult::rest)
      .def_ro("error", &SumResult::error)
      .def_prop_ro("nodes", array_of(&SumResult::nodes))
      .def_prop_ro("factors", array_of(&SumResult::factors));
  m.def("elimination_order", &order_of, nb::arg("cardinalities").noconvert(),
        nb::arg("scopes").noconvert(), nb::arg("scope_offsets").noconvert(), nb::arg("min_fill"),
        nb::arg("seed"), nb::arg("max_bits"), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("elimination_tree", &tree_of, nb::arg("cardinalities").noconvert(),
        nb::arg("scopes").noconvert(), nb::arg("scope_offsets").noconvert(),
        nb::arg("order").noconvert(), nb::arg("max_bits"), nb::arg("progress").none(),
        nb::arg("seconds"));
  m.def("eliminate_sum", &sum_of, nb::arg("cardinalities").noconvert(),
        nb::arg("scopes").noconvert(), nb::arg("scope_offsets").noconvert(),
        nb::arg("log_values").noconvert(), nb::arg("table_offsets").noconvert(),
        nb::arg("order").noconvert(), nb::arg("marginals"), nb::arg("progress").none(),
        nb::arg("seconds"));
  m.def("eliminate_max", &max_of, nb::arg("cardinalities").noconvert(),
        nb::arg("scopes").noconvert(), nb::arg("scope_offsets").noconvert(),
        nb::arg("log_values").noconvert(), nb::arg("table_offsets").noconvert(),
        nb::arg("order").noconvert(), nb::arg("wide"), nb::arg("progress").none(),
        nb::arg("seconds"));
  m.def("eliminate_sample", &sample_of, nb::arg("cardinalities").noconvert(),
        nb::arg("scopes").noconvert(), nb::arg("scope_offsets").noconvert(),
        nb::arg("log_values").noconvert(), nb::arg("table_offsets").noconvert(),
        nb::arg("order").noconvert(), nb::arg("num_samples"), nb::arg("seed"),
        nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
