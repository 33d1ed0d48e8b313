#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/arrays.hpp"
#include "base/kept_memory.hpp"
#include "batches/coupling_rows.hpp"
#include "batches/flipped_state.hpp"
#include "batches/model_batch.hpp"
#include "batches/plane_models.hpp"
#include "batches/sample_batch.hpp"
#include "lanes/batch_limits.hpp"

namespace planaris::bindings {

namespace {

// A member with one row of numbers per model.
template <class Struct, typename T>
auto rows_of(std::vector<T> Struct::* member, std::vector<double> Struct::* one_each) {
  return [member, one_each](nb::handle_t<Struct> self) {
    auto& found = nb::cast<Struct&>(self);
    auto& values = found.*member;
    const size_t rows = (found.*one_each).size();
    return Out2<T>(values.data(), {rows, rows == 0 ? 0 : values.size() / rows}, self);
  };
}

ModelBatch evaluate(const PlaneModels& models, In2<double> couplings, bool marginals, int threads,
                    const Progress& progress) {
  models.check(couplings.shape(1));
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return evaluate_batch(models.plane_with_program(), flat(couplings), {marginals, threads},
                        control);
}

GroundStateBatch ground_states(const PlaneModels& models, In2<double> couplings, int threads,
                               const Progress& progress) {
  models.check(couplings.shape(1));
  Control control = make_control(progress);
  nb::gil_scoped_release release;
  return ground_state_batch(models.plane(), flat(couplings), threads, control);
}

// Spins of every sample, and whether it is in doubt.
std::tuple<Out2<int8_t>, Out1<uint8_t>> samples(const PlaneModels& models, In2<double> couplings,
                                                size_t size, In2<double> uniform, double weak,
                                                double moderate, double doubt, int threads,
                                                const Progress& progress) {
  models.check(couplings.shape(1));
  if (uniform.shape(0) != couplings.shape(0) * size ||
      uniform.shape(1) != models.plan().signs.size()) {
    throw std::invalid_argument("uniform must hold one number per sample and edge of the plan");
  }
  Control control = make_control(progress);
  SampleBatch found;
  {
    nb::gil_scoped_release release;
    found = sample_batch(models.plane(), flat(couplings), size, flat(uniform),
                         {weak, moderate, doubt, threads}, control);
  }
  const size_t n = models.plan().offsets.size() - 1, rows = found.doubtful.size();
  return {to_numpy(std::move(found.spins), rows, n), to_numpy(std::move(found.doubtful))};
}

Out1<int8_t> flipped(const PlaneModels& models, In1<double> couplings, int threads,
                     const Progress& progress) {
  models.check(couplings.size());
  Control control = make_control(progress);
  std::vector<int8_t> spins;
  {
    nb::gil_scoped_release release;
    spins = flipped_state(models.plan().graph(), flat(couplings), threads, control);
  }
  return to_numpy(std::move(spins));
}

double multiplications(const PlaneModels& models) {
  const FrontTree& tree = models.plan().tree;
  double sum = 0.0;
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    const double n = tree.rows(node), b = tree.boundary_rows(node);
    sum += n * n * n - b * b * b;
  }
  return sum / 6;
}

double work(const PlaneModels& models) {
  const FrontTree& tree = models.plan().tree;
  return tree.num_nodes() == 0 ? 0.0 : tree.work.back();
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
  auto owned = std::make_unique<LargeBlock>(
      take_block(std::max<size_t>(1, rows * columns * sizeof(double))));
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
      .def_ro("calm", &BatchLimits::calm)
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
  nb::class_<PlaneModels>(m, "PlaneModels")
      .def(
          nb::new_([](std::shared_ptr<const PfaffianPlan> plan, int32_t num_faces,
                      In2<int32_t> dual_edges, In1<int32_t> absorbing, In1<int32_t> face_of_piece) {
            return std::make_shared<PlaneModels>(std::move(plan), num_faces, flat(dual_edges),
                                                 flat(absorbing), flat(face_of_piece));
          }),
          nb::arg("plan"), nb::arg("num_faces"), nb::arg("dual_edges").noconvert(),
          nb::arg("absorbing").noconvert(), nb::arg("face_of_piece").noconvert())
      .def("evaluate", &evaluate, nb::arg("couplings").noconvert(), nb::arg("marginals"),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("ground_states", &ground_states, nb::arg("couplings").noconvert(), nb::arg("threads"),
           nb::arg("progress") = nb::none())
      .def("samples", &samples, nb::arg("couplings").noconvert(), nb::arg("size"),
           nb::arg("uniform").noconvert(), nb::arg("weak"), nb::arg("moderate"), nb::arg("doubt"),
           nb::arg("threads"), nb::arg("progress") = nb::none())
      .def("flipped_state", &flipped, nb::arg("couplings").noconvert(), nb::arg("threads"),
           nb::arg("progress") = nb::none())
      .def(
          "bytes",
          [](const PlaneModels& models, bool marginals) {
            return batch_bytes(models.plane(), marginals);
          },
          nb::arg("marginals"))
      .def_prop_ro("largest_front",
                   [](const PlaneModels& models) { return lane_sizes(models.plan().tree).rows; })
      .def_prop_ro("multiplications", &multiplications)
      .def_prop_ro("work", &work);
}

}  // namespace planaris::bindings
