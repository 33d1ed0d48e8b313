#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/arrays.hpp"
#include "base/kept_memory.hpp"
#include "pfaffian/batch_limits.hpp"
#include "pfaffian/coupling_rows.hpp"
#include "pfaffian/flipped_state.hpp"
#include "pfaffian/model_batch.hpp"
#include "pfaffian/pfaffian_plan.hpp"
#include "pfaffian/proof_batch.hpp"
#include "pfaffian/sample_batch.hpp"

namespace planaris::bindings {

namespace {

// Many models of one plane graph. Threads may share it.
class PlaneModels {
 public:
  PlaneModels(std::shared_ptr<const PfaffianPlan> plan, int32_t num_faces, In2<int32_t> dual_edges,
              In1<int32_t> absorbing, In1<int32_t> face_of_piece)
      : plan_(std::move(plan)), num_faces_(num_faces), dual_edges_(copied(flat(dual_edges))),
        absorbing_(copied(flat(absorbing))), face_of_piece_(copied(flat(face_of_piece))) {
    const auto in_range = [&](const std::vector<int32_t>& faces) {
      for (const int32_t f : faces) {
        if (f < 0 || f >= num_faces_) return false;
      }
      return true;
    };
    if (dual_edges_.size() > plan_->edges.size() ||
        face_of_piece_.size() + 1 != plan_->faces.offsets.size() || !in_range(dual_edges_) ||
        !in_range(absorbing_) || !in_range(face_of_piece_)) {
      throw std::invalid_argument("the faces do not fit the plan");
    }
  }

  ModelBatch evaluate(In2<double> couplings, bool marginals, int threads,
                      const Progress& progress) const {
    check(couplings);
    Control control = make_control(progress);
    nb::gil_scoped_release release;
    std::call_once(program_made_, [this] { program_ = std::make_unique<LaneProgram>(plan_->tree); });
    PlaneGraph graph = plane();
    graph.program = program_.get();
    return evaluate_batch(graph, flat(couplings), {marginals, threads}, control);
  }

  ProofBatch prove(In2<double> couplings, int32_t components, double narrow, int threads,
                   bool share_rows, const Progress& progress) const {
    check(couplings);
    Control control = make_control(progress);
    nb::gil_scoped_release release;
    return prove_batch(plane(), flat(couplings), {components, narrow, threads, share_rows}, control);
  }

  GroundStateBatch ground_states(In2<double> couplings, int threads,
                                 const Progress& progress) const {
    check(couplings);
    Control control = make_control(progress);
    nb::gil_scoped_release release;
    return ground_state_batch(plane(), flat(couplings), threads, control);
  }

  // Spins of every sample, and whether it is in doubt.
  std::tuple<Out2<int8_t>, Out1<uint8_t>> samples(In2<double> couplings, size_t size,
                                                  In2<double> uniform, double weak,
                                                  double moderate, double doubt, int threads,
                                                  const Progress& progress) const {
    check(couplings);
    if (uniform.shape(0) != couplings.shape(0) * size || uniform.shape(1) != plan_->signs.size()) {
      throw std::invalid_argument("uniform must hold one number per sample and edge of the plan");
    }
    Control control = make_control(progress);
    SampleBatch found;
    {
      nb::gil_scoped_release release;
      found = sample_batch(plane(), flat(couplings), size, flat(uniform),
                           {weak, moderate, doubt, threads}, control);
    }
    const size_t n = plan_->offsets.size() - 1, rows = found.doubtful.size();
    return {to_numpy(std::move(found.spins), rows, n), to_numpy(std::move(found.doubtful))};
  }

  Out1<int8_t> flipped(In1<double> couplings, int threads, const Progress& progress) const {
    if (couplings.size() != dual_edges_.size() / 2) {
      throw std::invalid_argument("couplings must hold one number per edge");
    }
    Control control = make_control(progress);
    std::vector<int8_t> spins;
    {
      nb::gil_scoped_release release;
      spins = flipped_state(plan_->graph(), flat(couplings), threads, control);
    }
    return to_numpy(std::move(spins));
  }

  size_t bytes(bool marginals) const { return batch_bytes(plane(), marginals); }
  int64_t largest_front() const { return lane_sizes(plan_->tree).rows; }
  double multiplications() const {
    double sum = 0.0;
    for (int32_t node = 0; node < plan_->tree.num_nodes(); ++node) {
      const double n = plan_->tree.rows(node), b = plan_->tree.boundary_rows(node);
      sum += n * n * n - b * b * b;
    }
    return sum / 6;
  }
  double work() const { return plan_->tree.num_nodes() == 0 ? 0.0 : plan_->tree.work.back(); }

 private:
  static std::vector<int32_t> copied(std::span<const int32_t> numbers) {
    return {numbers.begin(), numbers.end()};
  }
  void check(const In2<double>& couplings) const {
    if (couplings.shape(1) != dual_edges_.size() / 2) {
      throw std::invalid_argument("couplings must hold one number per edge");
    }
  }
  PlaneGraph plane() const {
    return {plan_->tree,  plan_->faces, plan_->graph(), plan_->signs,
            num_faces_,   dual_edges_,  absorbing_,     face_of_piece_};
  }

  std::shared_ptr<const PfaffianPlan> plan_;
  int32_t num_faces_;
  std::vector<int32_t> dual_edges_, absorbing_, face_of_piece_;
  mutable std::once_flag program_made_;
  mutable std::unique_ptr<const LaneProgram> program_;
};

// A member with one row of numbers per model.
template <class Struct, typename T>
auto rows_of(std::vector<T> Struct::*member, std::vector<double> Struct::*one_each) {
  return [member, one_each](nb::handle_t<Struct> self) {
    auto& found = nb::cast<Struct&>(self);
    auto& values = found.*member;
    const size_t rows = (found.*one_each).size();
    return Out2<T>(values.data(), {rows, rows == 0 ? 0 : values.size() / rows}, self);
  };
}

using Copy2 = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Out1<double> totals_of(In2<double> couplings, std::optional<Copy2> copy, int threads,
                       const Progress& progress) {
  std::span<double> to;
  if (copy) to = {copy->data(), copy->size()};
  Control control = make_control(progress);
  std::vector<double> totals;
  {
    nb::gil_scoped_release release;
    totals = row_totals(flat(couplings), couplings.shape(0), to, threads, control);
  }
  return to_numpy(std::move(totals));
}

// An array in memory that is kept between calls; what is in it is unknown.
Out2<double> kept_rows(size_t rows, size_t columns) {
  auto owned = std::make_unique<LargeBlock>(take_block(std::max<size_t>(1, rows * columns * sizeof(double))));
  auto* const numbers = reinterpret_cast<double*>(owned->bytes);
  nb::capsule owner(owned.get(), [](void* p) noexcept {
    const std::unique_ptr<LargeBlock> block(static_cast<LargeBlock*>(p));
    return_block(*block);
  });
  (void)owned.release();
  return Out2<double>(numbers, {rows, columns}, owner);
}

Out1<uint8_t> tied_rows(In2<double> couplings) {
  std::vector<uint8_t> tied;
  const size_t edges = couplings.shape(1);
  for (size_t k = 0; k < couplings.shape(0); ++k) {
    tied.push_back(RowSize(flat(couplings).subspan(k * edges, edges)).is_tied());
  }
  return to_numpy(std::move(tied));
}

}  // namespace

void bind_model_batch(nb::module_& m) {
  nb::class_<BatchLimits>(m, "BatchLimits")
      .def(nb::init<>())
      .def_ro("first_draws", &BatchLimits::first_draws)
      .def_ro("draws", &BatchLimits::draws)
      .def_ro("weak", &BatchLimits::weak)
      .def_ro("strong", &BatchLimits::strong)
      .def_ro("marginal_growth", &BatchLimits::marginal_growth)
      .def_ro("change_safety", &BatchLimits::change_safety)
      .def_ro("near", &BatchLimits::near)
      .def_ro("most_flipped", &BatchLimits::most_flipped)
      .def_ro("most_in_lanes", &BatchLimits::most_in_lanes)
      .def_ro("most_unsatisfied", &BatchLimits::most_unsatisfied)
      .def_ro("marginal_error", &BatchLimits::marginal_error)
      .def_ro("lost_pivot", &BatchLimits::lost_pivot)
      .def_ro("lost_probability", &BatchLimits::lost_probability);
  m.def("tied_rows", &tied_rows, nb::arg("couplings").noconvert());
  m.def("kept_rows", &kept_rows, nb::arg("rows"), nb::arg("columns"));
  m.def("row_totals", &totals_of, nb::arg("couplings").noconvert(),
        nb::arg("copy").noconvert().none(), nb::arg("threads"), nb::arg("progress") = nb::none());
  nb::class_<ModelBatch>(m, "ModelBatch")
      .def_ro("complete", &ModelBatch::complete)
      .def_prop_ro("route", array_of(&ModelBatch::route))
      .def_prop_ro("log_sum", array_of(&ModelBatch::log_sum))
      .def_prop_ro("constant", array_of(&ModelBatch::constant))
      .def_prop_ro("size", array_of(&ModelBatch::size))
      .def_prop_ro("error", array_of(&ModelBatch::error))
      .def_prop_ro("equal_error", array_of(&ModelBatch::equal_error))
      .def_prop_ro("equal", rows_of(&ModelBatch::equal, &ModelBatch::log_sum));
  nb::class_<GroundStateBatch>(m, "GroundStateBatch")
      .def_prop_ro("energy", array_of(&GroundStateBatch::energy))
      .def_prop_ro("spins", rows_of(&GroundStateBatch::spins, &GroundStateBatch::energy));
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
  nb::class_<PlaneModels>(m, "PlaneModels")
      .def(nb::init<std::shared_ptr<const PfaffianPlan>, int32_t, In2<int32_t>, In1<int32_t>,
                    In1<int32_t>>(),
           nb::arg("plan"), nb::arg("num_faces"), nb::arg("dual_edges").noconvert(),
           nb::arg("absorbing").noconvert(), nb::arg("face_of_piece").noconvert())
      .def("evaluate", &PlaneModels::evaluate, nb::arg("couplings").noconvert(),
           nb::arg("marginals"), nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("prove", &PlaneModels::prove, nb::arg("couplings").noconvert(), nb::arg("components"),
           nb::arg("narrow"), nb::arg("threads"), nb::arg("share_rows"), nb::arg("progress") = nb::none())
      .def("ground_states", &PlaneModels::ground_states, nb::arg("couplings").noconvert(),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("samples", &PlaneModels::samples, nb::arg("couplings").noconvert(), nb::arg("size"),
           nb::arg("uniform").noconvert(), nb::arg("weak"), nb::arg("moderate"), nb::arg("doubt"),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("flipped_state", &PlaneModels::flipped, nb::arg("couplings").noconvert(),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("bytes", &PlaneModels::bytes, nb::arg("marginals"))
      .def_prop_ro("largest_front", &PlaneModels::largest_front)
      .def_prop_ro("multiplications", &PlaneModels::multiplications)
      .def_prop_ro("work", &PlaneModels::work);
}

}  // namespace planaris::bindings
