#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "base/arrays.hpp"
#include "base/double_double.hpp"
#include "moats/moat_clusters.hpp"
#include "moats/moat_order.hpp"
#include "pfaffian/leg_logarithms.hpp"
#include "pfaffian/leg_scaling.hpp"
#include "pfaffian/pfaffian.hpp"
#include "pfaffian/pfaffian_plan.hpp"
#include "pfaffian/spin_correlations.hpp"
#include "pfaffian/surface_sample.hpp"
#include "pfaffian/sweep.hpp"

namespace planaris::bindings {

namespace {

using Filled1 = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<PfaffianPlan> make_plan(In2<int32_t> edges, In1<int32_t> rotation,
                                        In1<int32_t> offsets, In2<double> centres,
                                        int32_t leaf_size, int threads, const Progress& progress) {
  const auto copied = [](std::span<const int32_t> numbers) {
    return std::vector<int32_t>(numbers.begin(), numbers.end());
  };
  auto plan = std::make_shared<PfaffianPlan>();
  plan->edges = copied(flat(edges));
  plan->rotation = copied(flat(rotation));
  plan->offsets = copied(flat(offsets));
  const std::span<const double> spots = flat(centres);
  Control control = make_control(progress, std::numeric_limits<double>::infinity(), threads);
  nb::gil_scoped_release release;
  plan->faces = trace_faces(plan->graph());
  if (!spots.empty() && spots.size() != 2 * (plan->faces.offsets.size() - 1)) {
    throw std::invalid_argument("centres must hold two coordinates per face, or nothing");
  }
  plan->tree = dissect_faces(plan->faces, spots, leaf_size, control);
  plan->signs = kasteleyn_signs(plan->graph(), plan->faces);
  return plan;
}

Out1<double> scaling(const PfaffianPlan& plan, In1<double> gauged, const Progress& progress) {
  if (gauged.size() != plan.signs.size()) {
    throw std::invalid_argument("gauged must hold one coupling per edge of the plan");
  }
  Control control = make_control(progress);
  std::vector<double> y;
  {
    nb::gil_scoped_release release;
    y = leg_scaling(plan.faces, flat(gauged), control);
  }
  return to_numpy(std::move(y));
}

MoatOrder order_by_moats(const PfaffianPlan& plan, In1<int32_t> order, In1<int32_t> start,
                         In1<int32_t> stop, In1<int32_t> parent, In1<double> value,
                         In1<double> gauged, In1<int32_t> unsatisfied, double slack) {
  const Moats moats{flat(order), flat(start), flat(stop), flat(parent), flat(value)};
  nb::gil_scoped_release release;
  return moat_order({plan.tree, plan.faces}, moats, flat(gauged), flat(unsatisfied), slack);
}

ClusteredOrder clustered_order_by_moats(const PfaffianPlan& plan, In1<int32_t> order,
                                        In1<int32_t> start, In1<int32_t> stop, In1<int32_t> parent,
                                        In1<double> value, In1<double> gauged,
                                        In1<int32_t> unsatisfied, double slack) {
  const Moats moats{flat(order), flat(start), flat(stop), flat(parent), flat(value)};
  nb::gil_scoped_release release;
  return clustered_moat_order({plan.tree, plan.faces}, moats, flat(gauged), flat(unsatisfied),
                              slack);
}

// `earliest` and `rank` are both empty or of one entry per edge.
KasteleynEntries checked_entries(const PfaffianPlan& plan, const In1<double>& face,
                                 const In1<double>& join, const In1<int8_t>& signs,
                                 const In1<int32_t>& earliest, const In1<int32_t>& rank,
                                 const MoatClusters* clusters = nullptr) {
  const size_t edges = plan.signs.size(), legs = 2 * edges;
  if (face.size() != legs || join.size() != legs || signs.size() != edges ||
      earliest.size() != rank.size() || (rank.size() != 0 && rank.size() != edges)) {
    throw std::invalid_argument("face, join, signs, earliest and rank must fit the plan");
  }
  if (clusters && (rank.size() == 0 || !clusters->fit(plan.tree, legs))) {
    throw std::invalid_argument("clusters must come with an order and fit the plan");
  }
  return {flat(face), flat(join), flat(signs), flat(earliest), flat(rank), clusters};
}

LogPfaffian log_pfaffian(const PfaffianPlan& plan, In1<double> face, In1<double> join,
                         In1<int8_t> signs, In1<int32_t> earliest, In1<int32_t> rank,
                         const MoatClusters* clusters, bool underflow, double threshold,
                         int threads, bool wide, const Progress& progress) {
  KasteleynEntries entries =
      checked_entries(plan, face, join, signs, earliest, rank, wide ? nullptr : clusters);
  entries.underflow = underflow;
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  const EliminationOptions options{threshold, threads};
  return wide ? eliminate<DoubleDouble>(plan.tree, entries, options, control)
              : eliminate<double>(plan.tree, entries, options, control);
}

// The same Pfaffian from two sets of entries and thresholds.
std::pair<LogPfaffian, LogPfaffian> two_log_pfaffians(const PfaffianPlan& plan, In1<double> face,
                                                      In1<double> join, In1<double> other_face,
                                                      In1<double> other_join, In1<int8_t> signs,
                                                      In1<int32_t> earliest, In1<int32_t> rank,
                                                      const MoatClusters* clusters, bool underflow,
                                                      double threshold, double other_threshold,
                                                      int threads, const Progress& progress) {
  KasteleynEntries first = checked_entries(plan, face, join, signs, earliest, rank, clusters);
  KasteleynEntries second =
      checked_entries(plan, other_face, other_join, signs, earliest, rank, clusters);
  first.underflow = second.underflow = underflow;
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return eliminate_both(plan.tree, first, {threshold, threads}, second, {other_threshold, threads},
                        control);
}

// A factorised matrix. Immutable, so threads may share it.
struct PfaffianFactors {
  std::shared_ptr<const PfaffianPlan> plan;
  std::vector<double> face, join;
  std::vector<int8_t> signs;
  std::shared_ptr<const MoatClusters> clusters;
  LogPfaffian log_pfaffian;
  Factors<double> narrow;
  Factors<DoubleDouble> wide;
  Fronts<double> narrow_fronts;
  Fronts<DoubleDouble> wide_fronts;
  bool is_wide = false, underflow = false;

  KasteleynEntries entries() const {
    return {face, join, signs, {}, {}, clusters.get(), underflow};
  }
};

PfaffianFactors factorize(std::shared_ptr<const PfaffianPlan> plan, In1<double> face,
                          In1<double> join, In1<int8_t> signs, In1<int32_t> earliest,
                          In1<int32_t> rank, std::shared_ptr<MoatClusters> clusters, bool underflow,
                          double threshold, int threads, bool wide, bool for_samples,
                          const Progress& progress) {
  if (wide || for_samples) {  // these have exponents of their own, or keep fronts
    clusters = nullptr;
    underflow = false;
  }
  KasteleynEntries entries =
      checked_entries(*plan, face, join, signs, earliest, rank, clusters.get());
  entries.underflow = underflow;
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  const EliminationOptions options{threshold, threads};
  PfaffianFactors f;
  f.plan = plan;
  f.face.assign(entries.face.begin(), entries.face.end());
  f.join.assign(entries.join.begin(), entries.join.end());
  f.signs.assign(entries.sign.begin(), entries.sign.end());
  f.clusters = std::move(clusters);
  f.is_wide = wide;
  f.underflow = underflow;
  const bool sample = for_samples;
  f.log_pfaffian =
      wide ? eliminate<DoubleDouble>(plan->tree, entries, options, control,
                                     sample ? nullptr : &f.wide, sample ? &f.wide_fronts : nullptr)
           : eliminate<double>(plan->tree, entries, options, control, sample ? nullptr : &f.narrow,
                               sample ? &f.narrow_fronts : nullptr);
  return f;
}

std::tuple<Out1<double>, double> uncut(const PfaffianFactors& f, int threads,
                                       const Progress& progress) {
  Control control = make_control(progress);
  UncutProbabilities p;
  {
    nb::gil_scoped_release release;
    p = f.is_wide ? uncut_probabilities(f.plan->tree, f.entries(), f.wide, threads, control)
                  : uncut_probabilities(f.plan->tree, f.entries(), f.narrow, threads, control);
  }
  return {to_numpy(std::move(p.uncut)), p.residual};
}

// Samples to be drawn, one row per sample, and the arrays they make.
struct CutTable {
  CutTable(size_t count, size_t edges) : cuts(count * edges), num_edges(edges) {
    for (size_t r = 0; r < count; ++r) {
      rows.push_back({std::span(cuts).subspan(r * edges, edges)});
    }
  }

  // Cuts, edges that no weight decided, logarithms of the probabilities of the decisions.
  std::tuple<Out2<uint8_t>, Out1<int64_t>, Out1<double>> arrays() && {
    std::vector<int64_t> undecided;
    std::vector<double> logs;
    for (const CutRow& row : rows) {
      undecided.push_back(row.undecided);
      logs.push_back(row.log_probability);
    }
    return {to_numpy(std::move(cuts), rows.size(), num_edges), to_numpy(std::move(undecided)),
            to_numpy(std::move(logs))};
  }

  std::vector<uint8_t> cuts;
  size_t num_edges;
  std::vector<CutRow> rows;
};

std::tuple<Out2<uint8_t>, Out1<int64_t>, Out1<double>> sample(const PfaffianFactors& f,
                                                              In2<double> uniform, int threads,
                                                              const Progress& progress) {
  if (uniform.shape(1) != f.signs.size()) {
    throw std::invalid_argument("uniform must hold one number per edge of the plan");
  }
  if (f.narrow_fronts.empty() && f.wide_fronts.empty()) {
    throw std::invalid_argument("factorize with for_samples to draw samples");
  }
  const std::span<const double> numbers = flat(uniform);
  Control control = make_control(progress);
  CutTable table(uniform.shape(0), uniform.shape(1));
  {
    nb::gil_scoped_release release;
    const FrontTree& tree = f.plan->tree;
    if (f.is_wide) {
      sample_cuts(tree, f.entries(), f.wide_fronts, numbers, threads, control, table.rows);
    } else {
      sample_cuts(tree, f.entries(), f.narrow_fronts, numbers, threads, control, table.rows);
    }
  }
  return std::move(table).arrays();
}

template <class T>
void sample_structures(const std::vector<const PfaffianFactors*>& factors,
                       Fronts<T> PfaffianFactors::* fronts, std::span<const double> uniform,
                       Control& control, std::vector<CutRow>& rows) {
  std::vector<SignStructure<T>> structures;
  for (const PfaffianFactors* f : factors) structures.push_back({f->signs, &(f->*fronts)});
  sample_surface_cuts(factors[0]->plan->tree, factors[0]->join, structures, uniform, control, rows);
}

// The factors are of one plan and differ in their signs only.
std::tuple<Out2<uint8_t>, Out1<int64_t>, Out1<double>> sample_surface(
    const std::vector<const PfaffianFactors*>& factors, In2<double> uniform,
    const Progress& progress) {
  if (factors.empty()) throw std::invalid_argument("factors must not be empty");
  for (const PfaffianFactors* f : factors) {
    if (f->plan != factors[0]->plan || f->is_wide != factors[0]->is_wide ||
        (f->narrow_fronts.empty() && f->wide_fronts.empty())) {
      throw std::invalid_argument("factors must be of one plan and kept for samples");
    }
  }
  if (uniform.shape(1) != factors[0]->signs.size()) {
    throw std::invalid_argument("uniform must hold one number per edge of the plan");
  }
  const std::span<const double> numbers = flat(uniform);
  Control control = make_control(progress);
  CutTable table(uniform.shape(0), uniform.shape(1));
  {
    nb::gil_scoped_release release;
    if (factors[0]->is_wide) {
      sample_structures(factors, &PfaffianFactors::wide_fronts, numbers, control, table.rows);
    } else {
      sample_structures(factors, &PfaffianFactors::narrow_fronts, numbers, control, table.rows);
    }
  }
  return std::move(table).arrays();
}

Out1<double> spins(const PfaffianFactors& f, In2<int32_t> edges, int32_t num_vertices,
                   int32_t source, double reference, int threads, const Progress& progress) {
  if (edges.size() != 2 * f.signs.size() || source < 0 || source >= num_vertices) {
    throw std::invalid_argument("edges and source must fit the plan");
  }
  if (f.narrow_fronts.empty() && f.wide_fronts.empty() && edges.size() > 0) {
    throw std::invalid_argument("factorize with for_samples to correlate spins");
  }
  const std::span<const int32_t> ends = flat(edges);
  Control control = make_control(progress);
  SpinCorrelations found;
  {
    nb::gil_scoped_release release;
    const FrontTree& tree = f.plan->tree;
    found = f.is_wide ? spin_correlations(tree, f.entries(), f.wide_fronts, ends, num_vertices,
                                          source, reference, threads, control)
                      : spin_correlations(tree, f.entries(), f.narrow_fronts, ends, num_vertices,
                                          source, reference, threads, control);
  }
  if (!found.complete) throw std::logic_error("a node of the dissection is not connected");
  return to_numpy(std::move(found.value));
}

}  // namespace

void bind_pfaffian(nb::module_& m) {
  const auto stat = [](auto member) {
    return [member](const LogPfaffian& r) { return r.stats.*member; };
  };
  const auto part = [](auto member) {
    return [member](const LogPfaffian& r) { return r.magnitude.*member; };
  };
  nb::class_<LogPfaffian>(m, "LogPfaffian")
      .def_ro("log_magnitude", &LogPfaffian::log_magnitude)
      .def_ro("sign", &LogPfaffian::sign)
      .def_prop_ro("pivots", stat(&EliminationStats::pivots))
      .def_prop_ro("delayed", stat(&EliminationStats::delayed))
      .def_prop_ro("left_over", stat(&EliminationStats::left_over))
      .def_prop_ro("largest_front", stat(&EliminationStats::largest_front))
      .def_prop_ro("worst_ratio", stat(&EliminationStats::worst_ratio))
      .def_prop_ro("smallest_exponent", stat(&EliminationStats::smallest_exponent))
      .def_prop_ro("multiplications", stat(&EliminationStats::multiplications))
      .def_prop_ro("high", part(&DoubleDouble::high))
      .def_prop_ro("low", part(&DoubleDouble::low))
      .def_prop_ro("exponent", part(&DoubleDouble::exponent));
  m.def(
      "leg_logarithms",
      [](In1<double> scale, In1<double> gauged, Filled1 face, std::optional<Filled1> shifted,
         int threads) {
        Control control = make_control({});
        nb::gil_scoped_release release;
        const std::span<double> both =
            shifted ? std::span(shifted->data(), shifted->size()) : std::span<double>();
        return leg_logarithms(flat(scale), flat(gauged), {face.data(), face.size()}, both, threads,
                              control);
      },
      nb::arg("scale").noconvert(), nb::arg("gauged").noconvert(), nb::arg("face").noconvert(),
      nb::arg("shifted").noconvert().none(), nb::arg("threads"));
  nb::class_<MoatOrder>(m, "MoatOrder")
      .def_prop_ro("scale", array_of(&MoatOrder::scale))
      .def_prop_ro("earliest", array_of(&MoatOrder::earliest))
      .def_prop_ro("rank", array_of(&MoatOrder::rank))
      .def_ro("deepest", &MoatOrder::deepest);
  nb::class_<MoatClusters>(m, "MoatClusters");
  nb::class_<ClusteredOrder>(m, "ClusteredOrder")
      .def_ro("order", &ClusteredOrder::order)
      .def_ro("clusters", &ClusteredOrder::clusters);
  nb::class_<PfaffianFactors>(m, "PfaffianFactors")
      .def_ro("log_pfaffian", &PfaffianFactors::log_pfaffian)
      .def("uncut", &uncut, nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("spins", &spins, nb::arg("edges").noconvert(), nb::arg("num_vertices"),
           nb::arg("source"), nb::arg("reference"), nb::arg("threads"),
           nb::arg("progress") = nb::none())
      .def("sample", &sample, nb::arg("uniform").noconvert(), nb::arg("threads"),
           nb::arg("progress") = nb::none());
  m.def("sample_surface", &sample_surface, nb::arg("factors"), nb::arg("uniform").noconvert(),
        nb::arg("progress") = nb::none());
  nb::class_<FrontTree>(m, "FrontTree")
      .def_prop_ro("left", array_of(&FrontTree::left))
      .def_prop_ro("right", array_of(&FrontTree::right))
      .def_prop_ro("edge_order", array_of(&FrontTree::edge_order))
      .def_prop_ro("own", array_of(&FrontTree::own))
      .def_prop_ro("boundary", array_of(&FrontTree::boundary))
      .def_prop_ro("place", array_of(&FrontTree::place))
      .def_prop_ro("leaf_faces", array_of(&FrontTree::leaf_faces))
      .def_prop_ro("face_begin", array_of(&FrontTree::face_begin))
      .def_prop_ro("face_legs", array_of(&FrontTree::face_legs))
      .def_prop_ro("face_rows", array_of(&FrontTree::face_rows));
  nb::class_<PfaffianPlan>(m, "PfaffianPlan")
      .def_ro("tree", &PfaffianPlan::tree)
      .def(nb::new_(&make_plan), nb::arg("edges").noconvert(), nb::arg("rotation").noconvert(),
           nb::arg("offsets").noconvert(), nb::arg("centres").noconvert(), nb::arg("leaf_size"),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("signs",
           [](const PfaffianPlan& plan) { return to_numpy(std::vector<int8_t>(plan.signs)); })
      .def("scaling", &scaling, nb::arg("gauged").noconvert(), nb::arg("progress") = nb::none())
      .def("order_by_moats", &order_by_moats, nb::arg("order").noconvert(),
           nb::arg("start").noconvert(), nb::arg("stop").noconvert(), nb::arg("parent").noconvert(),
           nb::arg("value").noconvert(), nb::arg("gauged").noconvert(),
           nb::arg("unsatisfied").noconvert(), nb::arg("slack"))
      .def("clustered_order_by_moats", &clustered_order_by_moats, nb::arg("order").noconvert(),
           nb::arg("start").noconvert(), nb::arg("stop").noconvert(), nb::arg("parent").noconvert(),
           nb::arg("value").noconvert(), nb::arg("gauged").noconvert(),
           nb::arg("unsatisfied").noconvert(), nb::arg("slack"))
      .def("log_pfaffian", &log_pfaffian, nb::arg("face").noconvert(), nb::arg("join").noconvert(),
           nb::arg("signs").noconvert(), nb::arg("earliest").noconvert(),
           nb::arg("rank").noconvert(), nb::arg("clusters").none(), nb::arg("underflow"),
           nb::arg("threshold"), nb::arg("threads"), nb::arg("wide"),
           nb::arg("progress") = nb::none())
      .def("two_log_pfaffians", &two_log_pfaffians, nb::arg("face").noconvert(),
           nb::arg("join").noconvert(), nb::arg("other_face").noconvert(),
           nb::arg("other_join").noconvert(), nb::arg("signs").noconvert(),
           nb::arg("earliest").noconvert(), nb::arg("rank").noconvert(), nb::arg("clusters").none(),
           nb::arg("underflow"), nb::arg("threshold"), nb::arg("other_threshold"),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("factorize", &factorize, nb::arg("face").noconvert(), nb::arg("join").noconvert(),
           nb::arg("signs").noconvert(), nb::arg("earliest").noconvert(),
           nb::arg("rank").noconvert(), nb::arg("clusters").none(), nb::arg("underflow"),
           nb::arg("threshold"), nb::arg("threads"), nb::arg("wide"), nb::arg("for_samples"),
           nb::arg("progress") = nb::none());
}

}  // namespace planaris::bindings
