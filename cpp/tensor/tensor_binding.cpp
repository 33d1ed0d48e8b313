#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/arrays.hpp"
#include "tensor/contraction.hpp"
#include "tensor/proof.hpp"
#include "tensor/proved_marginals.hpp"
#include "tensor/proved_samples.hpp"
#include "tensor/rounding.hpp"

namespace planaris::bindings {

namespace {

using namespace tensor;

using Logs = In1<double>;
using Ints = In1<int32_t>;
using Longs = In1<int64_t>;

NetworkView view_of(const Ints& cardinalities, const Logs& node_logs, const Longs& node_offsets,
                    const In2<int32_t>& edges, const Logs& edge_logs, const Longs& edge_offsets) {
  return {{cardinalities.data(), cardinalities.size()}, {node_logs.data(), node_logs.size()},
          {node_offsets.data(), node_offsets.size()},   {edges.data(), edges.size()},
          {edge_logs.data(), edge_logs.size()},         {edge_offsets.data(), edge_offsets.size()}};
}

Settings settings_of(int max_rank, double tolerance, double relative, int more, int threads,
                     double history_bytes) {
  if (max_rank < 1 || threads < 1) throw std::invalid_argument("max_rank and threads must be >= 1");
  return {{{max_rank, tolerance, more}, relative}, threads, history_bytes};
}

using Plane = In2<double>;

GridView grid_of(const Plane& fields, const Plane& right, const Plane& down) {
  const auto rows = static_cast<int>(fields.shape(0));
  const auto columns = static_cast<int>(fields.shape(1));
  if (rows < 1 || columns < 1 || right.size() != static_cast<size_t>(rows) * (columns - 1) ||
      down.size() != static_cast<size_t>(rows - 1) * columns) {
    throw std::invalid_argument("shapes of a grid do not fit each other");
  }
  return {rows,
          columns,
          {fields.data(), fields.size()},
          {right.data(), right.size()},
          {down.data(), down.size()}};
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<Program>(m, "SweepProgram")
      .def_ro("width", &Program::width)
      .def_prop_ro("num_pairs", [](const Program& p) {
        return std::count_if(p.steps.begin(), p.steps.end(),
                             [](const Step& s) { return s.kind == Step::Kind::kPair; });
      });
  nb::class_<Contraction>(m, "Contraction")
      .def_ro("log_partition", &Contraction::log_partition)
      .def_ro("largest_bond", &Contraction::largest_bond)
      .def_ro("largest_residual", &Contraction::largest_residual)
      .def_ro("component_error", &Contraction::component_error);

  m.def(
      "sweep_program",
      [](Ints cardinalities, In2<int32_t> edges, Ints order, In1<double> heights, Progress progress,
         double seconds) {
        const NetworkView network{{cardinalities.data(), cardinalities.size()},
                                  {},
                                  {},
                                  {edges.data(), edges.size()},
                                  {},
                                  {}};
        Control control = make_control(progress, seconds);
        nb::gil_scoped_release release;
        return compile(network, {order.data(), order.size()}, {heights.data(), heights.size()},
                       control);
      },
      nb::arg("cardinalities").noconvert(), nb::arg("edges").noconvert(),
      nb::arg("order").noconvert(), nb::arg("heights").noconvert(), nb::arg("progress").none(),
      nb::arg("seconds"));

  m.def(
      "contract_network",
      [](Ints cardinalities, Logs node_logs, Longs node_offsets, In2<int32_t> edges, Logs edge_logs,
         Longs edge_offsets, const Program& program, int max_rank, double tolerance,
         double relative, int more, int threads, Progress progress, double seconds) {
        const auto network =
            view_of(cardinalities, node_logs, node_offsets, edges, edge_logs, edge_offsets);
        Control control = make_control(progress, seconds);
        nb::gil_scoped_release release;
        return contract(network, program,
                        settings_of(max_rank, tolerance, relative, more, threads, 0), control);
      },
      nb::arg("cardinalities").noconvert(), nb::arg("node_logs").noconvert(),
      nb::arg("node_offsets").noconvert(), nb::arg("edges").noconvert(),
      nb::arg("edge_logs").noconvert(), nb::arg("edge_offsets").noconvert(), nb::arg("program"),
      nb::arg("max_rank"), nb::arg("tolerance"), nb::arg("relative"), nb::arg("more"),
      nb::arg("threads"), nb::arg("progress").none(), nb::arg("seconds"));

  m.def(
      "contract_network_marginals",
      [](Ints cardinalities, Logs node_logs, Longs node_offsets, In2<int32_t> edges, Logs edge_logs,
         Longs edge_offsets, const Program& program, int max_rank, double tolerance,
         double relative, int more, int threads, double history_bytes, Progress progress,
         double seconds) -> std::tuple<Contraction, Out1<double>, Out1<double>> {
        const auto network =
            view_of(cardinalities, node_logs, node_offsets, edges, edge_logs, edge_offsets);
        Control control = make_control(progress, seconds);
        NetworkMarginals found;
        {
          nb::gil_scoped_release release;
          found = contract_marginals(
              network, program,
              settings_of(max_rank, tolerance, relative, more, threads, history_bytes), control);
        }
        return {found.contraction, to_numpy(std::move(found.nodes)),
                to_numpy(std::move(found.edges))};
      },
      nb::arg("cardinalities").noconvert(), nb::arg("node_logs").noconvert(),
      nb::arg("node_offsets").noconvert(), nb::arg("edges").noconvert(),
      nb::arg("edge_logs").noconvert(), nb::arg("edge_offsets").noconvert(), nb::arg("program"),
      nb::arg("max_rank"), nb::arg("tolerance"), nb::arg("relative"), nb::arg("more"),
      nb::arg("threads"), nb::arg("history_bytes"), nb::arg("progress").none(), nb::arg("seconds"));

  m.def(
      "sample_network",
      [](Ints cardinalities, Logs node_logs, Longs node_offsets, In2<int32_t> edges, Logs edge_logs,
         Longs edge_offsets, const Program& program, int64_t num_samples, uint64_t seed,
         int max_rank, double tolerance, double relative, int more, int threads,
         double history_bytes, Progress progress,
         double seconds) -> std::tuple<Out2<int32_t>, Out1<double>, int64_t> {
        const auto network =
            view_of(cardinalities, node_logs, node_offsets, edges, edge_logs, edge_offsets);
        Control control = make_control(progress, seconds);
        NetworkSamples found;
        {
          nb::gil_scoped_release release;
          found = draw(network, program,
                       settings_of(max_rank, tolerance, relative, more, threads, history_bytes),
                       num_samples, seed, control);
        }
        const size_t rows = found.log_probabilities.size();
        return {to_numpy(std::move(found.states), rows, network.cardinalities.size()),
                to_numpy(std::move(found.log_probabilities)), found.clipped};
      },
      nb::arg("cardinalities").noconvert(), nb::arg("node_logs").noconvert(),
      nb::arg("node_offsets").noconvert(), nb::arg("edges").noconvert(),
      nb::arg("edge_logs").noconvert(), nb::arg("edge_offsets").noconvert(), nb::arg("program"),
      nb::arg("num_samples"), nb::arg("seed"), nb::arg("max_rank"), nb::arg("tolerance"),
      nb::arg("relative"), nb::arg("more"), nb::arg("threads"), nb::arg("history_bytes"),
      nb::arg("progress").none(), nb::arg("seconds"));

  nb::class_<Terms>(m, "ProofTerms")
      .def(nb::init<>())
      .def_rw("tau", &Terms::tau)
      .def_rw("residual", &Terms::residual)
      .def_rw("raw", &Terms::raw)
      .def_rw("radius", &Terms::radius)
      .def_rw("word", &Terms::word)
      .def_rw("cut", &Terms::cut)
      .def_rw("last", &Terms::last)
      .def_rw("added", &Terms::added)
      .def_rw("moved", &Terms::moved)
      .def_rw("cone", &Terms::cone)
      .def_rw("inject", &Terms::inject)
      .def_rw("turn", &Terms::turn)
      .def_rw("coarse", &Terms::coarse)
      .def_rw("image", &Terms::image)
      .def_rw("blur", &Terms::blur)
      .def_rw("pattern", &Terms::pattern);
  nb::class_<ProvedGrid>(m, "ProvedGrid")
      .def_ro("log_partition", &ProvedGrid::log_partition)
      .def_ro("half_width", &ProvedGrid::half_width)
      .def_ro("lost_row", &ProvedGrid::lost_row)
      .def_ro("cut", &ProvedGrid::cut)
      .def_ro("rounding", &ProvedGrid::rounding)
      .def_ro("rows", &ProvedGrid::rows)
      .def_prop_ro(
          "witness",
          [](const ProvedGrid& p) {
            const Witness& w = p.witness;
            const auto copy = [](auto v) { return to_numpy(std::move(v)); };
            return std::make_tuple(copy(w.bonds), copy(w.words), copy(w.word_offsets),
                                   copy(w.hulls), copy(w.hull_offsets), copy(w.refined),
                                   copy(w.refined_offsets));
          },
          nb::rv_policy::move)
      .def_prop_ro("cones", [](const ProvedGrid& p) {  // largest factors of rounding, see cone.hpp
        std::vector<double> most(5, 0.0);
        for (const ProvedState& state : p.states) {
          const ConeFactors& c = state.cones;
          int k = 0;
          for (const auto* part : {&c.right, &c.left, &c.right_moved, &c.left_moved, &c.overlap}) {
            for (const double x : *part) most[k] = std::max(most[k], x);
            ++k;
          }
        }
        return most;
      });
  m.def(
      "prove_grid",
      [](In2<double> fields, In2<double> right, In2<double> down, int max_bond, double tolerance,
         std::vector<std::tuple<int, int, double>> effort, double target, const Terms& terms,
         int threads, bool keep, bool witness, Progress progress, double seconds) {
        const GridView grid = grid_of(fields, right, down);
        if (max_bond < 1) throw std::invalid_argument("max_bond must be >= 1");
        std::vector<Effort> efforts;
        for (const auto& [boxes, words, enough] : effort) {
          if (boxes < 1 || words < 2)
            throw std::invalid_argument("an effort needs boxes and words");
          efforts.push_back({boxes, words, enough});
        }
        if (efforts.empty()) throw std::invalid_argument("no effort");
        Control control = make_control(progress, seconds);
        nb::gil_scoped_release release;
        return prove_grid(
            grid, {max_bond, tolerance, efforts, target, terms, threads, keep, witness}, control);
      },
      nb::arg("fields").noconvert(), nb::arg("right").noconvert(), nb::arg("down").noconvert(),
      nb::arg("max_bond"), nb::arg("tolerance"), nb::arg("effort"), nb::arg("target"),
      nb::arg("terms"), nb::arg("threads"), nb::arg("keep"), nb::arg("witness"),
      nb::arg("progress").none(), nb::arg("seconds"));
  using Ends = std::tuple<Out1<double>, Out1<double>, Out1<double>>;
  m.def(
      "proved_marginals",
      [](Plane fields, Plane right, Plane down, const ProvedGrid& above, const ProvedGrid& below,
         int threads, Progress progress,
         double seconds) -> std::tuple<bool, Ends, Ends, Ends, double> {
        const GridView grid = grid_of(fields, right, down);
        Control control = make_control(progress, seconds);
        ProvedMarginals found;
        {
          nb::gil_scoped_release release;
          found = proved_marginals(grid, above, below, threads, control);
        }
        const auto ends = [](ProvedProbabilities& p) -> Ends {
          return {to_numpy(std::move(p.value)), to_numpy(std::move(p.lower)),
                  to_numpy(std::move(p.upper))};
        };
        return {!found.lost, ends(found.nodes), ends(found.right), ends(found.down),
                found.rounding};
      },
      nb::arg("fields").noconvert(), nb::arg("right").noconvert(), nb::arg("down").noconvert(),
      nb::arg("above"), nb::arg("below"), nb::arg("threads"), nb::arg("progress").none(),
      nb::arg("seconds"));
  m.def(
      "proposal_excess",
      [](Plane fields, Plane right, Plane down, const ProvedGrid& proof) {
        return proposal_excess(grid_of(fields, right, down), proof);
      },
      nb::arg("fields").noconvert(), nb::arg("right").noconvert(), nb::arg("down").noconvert(),
      nb::arg("proof"));
  m.def(
      "propose_samples",
      [](Plane fields, Plane right, Plane down, const ProvedGrid& proof, int64_t count,
         uint64_t seed, int threads, Progress progress,
         double seconds) -> std::tuple<bool, Out2<int8_t>, Out2<double>> {
        const GridView grid = grid_of(fields, right, down);
        Control control = make_control(progress, seconds);
        Proposals found;
        {
          nb::gil_scoped_release release;
          found = propose(grid, proof, count, seed, threads, control);
        }
        const size_t spins = fields.size();
        return {!found.lost, to_numpy(std::move(found.spins), count, spins),
                to_numpy(std::move(found.choices), count, spins)};
      },
      nb::arg("fields").noconvert(), nb::arg("right").noconvert(), nb::arg("down").noconvert(),
      nb::arg("proof"), nb::arg("count"), nb::arg("seed"), nb::arg("threads"),
      nb::arg("progress").none(), nb::arg("seconds"));
  m.def("bounded_exp", &bounded_exp, nb::arg("x"));
}

}  // namespace planaris::bindings
