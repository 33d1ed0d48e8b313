#include "base/arrays.hpp"
#include "messages/tree_reweighted.hpp"

namespace planaris::bindings {

namespace {

using Swept = std::tuple<Out1<double>, int32_t, double>;

std::vector<double> copy(In1<double> values) {
  return {values.data(), values.data() + values.size()};
}

LabelTables tables(const In1<int64_t>& node_offsets, const In1<double>& node_logs,
                   const In1<int64_t>& edge_offsets, const In1<double>& edge_logs) {
  return {flat(node_offsets), flat(node_logs), flat(edge_offsets), flat(edge_logs)};
}

Swept reweighted_spins(int32_t num_vertices, In2<int32_t> edges, In1<double> couplings,
                       In1<double> rho, In1<double> fields, In1<double> messages,
                       int32_t max_sweeps, double tolerance, double damping, Progress progress,
                       double seconds) {
  std::vector<double> out = copy(messages);
  Control control = make_control(progress, seconds);
  SweepReport report;
  {
    nb::gil_scoped_release release;
    report = reweighted_sweeps(num_vertices, flat(edges), flat(couplings), flat(rho), flat(fields),
                               out, max_sweeps, tolerance, damping, control);
  }
  return {to_numpy(std::move(out)), report.sweeps, report.change};
}

Swept reweighted_labels(In2<int32_t> edges, In1<int64_t> node_offsets, In1<double> node_logs,
                        In1<int64_t> edge_offsets, In1<double> edge_logs, In1<double> rho,
                        In1<double> messages, int32_t max_sweeps, double tolerance, double damping,
                        Progress progress, double seconds) {
  std::vector<double> out = copy(messages);
  Control control = make_control(progress, seconds);
  SweepReport report;
  {
    nb::gil_scoped_release release;
    report =
        reweighted_sweeps(flat(edges), tables(node_offsets, node_logs, edge_offsets, edge_logs),
                          flat(rho), out, max_sweeps, tolerance, damping, control);
  }
  return {to_numpy(std::move(out)), report.sweeps, report.change};
}

double forest_labels(In2<int32_t> edges, In1<int64_t> node_offsets, In1<double> node_logs,
                     In1<int64_t> edge_offsets, In1<double> edge_logs) {
  nb::gil_scoped_release release;
  return forest_log_partition(flat(edges),
                              tables(node_offsets, node_logs, edge_offsets, edge_logs));
}

}  // namespace

void bind_tree_reweighted(nb::module_& m) {
  m.def("reweighted_spins", &reweighted_spins, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("couplings").noconvert(), nb::arg("rho").noconvert(),
        nb::arg("fields").noconvert(), nb::arg("messages").noconvert(), nb::arg("max_sweeps"),
        nb::arg("tolerance"), nb::arg("damping"), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("reweighted_labels", &reweighted_labels, nb::arg("edges").noconvert(),
        nb::arg("node_offsets").noconvert(), nb::arg("node_logs").noconvert(),
        nb::arg("edge_offsets").noconvert(), nb::arg("edge_logs").noconvert(),
        nb::arg("rho").noconvert(), nb::arg("messages").noconvert(), nb::arg("max_sweeps"),
        nb::arg("tolerance"), nb::arg("damping"), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("forest_labels", &forest_labels, nb::arg("edges").noconvert(),
        nb::arg("node_offsets").noconvert(), nb::arg("node_logs").noconvert(),
        nb::arg("edge_offsets").noconvert(), nb::arg("edge_logs").noconvert());
}

}  // namespace planaris::bindings
