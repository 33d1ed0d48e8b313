#include "batches/sample_batch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/team.hpp"
#include "graph/spins.hpp"
#include "pfaffian/pfaffian.hpp"
#include "pfaffian/sweep.hpp"

namespace planaris {

namespace {

constexpr int64_t kLeastExponent = -900;
constexpr size_t kBlock = 16;  // samples between looks at the clock

// One model: eliminated once, then sampled.
class SampledModel {
 public:
  SampledModel(const PlaneGraph& plane, std::span<const double> couplings,
               const SampleOptions& options, Control& control)
      : plane_(plane), doubt_(options.doubt), gauge_(plane.num_vertices(), 1),
        gauged_(plane.signs.size(), 0.0), join_(2 * gauged_.size(), 0.0) {
    double largest = 0.0;
    for (const double x : couplings) largest = std::max(largest, std::fabs(x));
    if (!(largest <= options.moderate)) return;
    if (largest > options.weak) gauge_ = ground_state_batch(plane, couplings, 1, control).spins;
    for (size_t e = 0; e < couplings.size(); ++e) {
      const bool agree = gauge_[plane.graph.edges[2 * e]] == gauge_[plane.graph.edges[2 * e + 1]];
      gauged_[e] = agree ? couplings[e] : -couplings[e];
    }
    for (size_t leg = 0; leg < join_.size(); ++leg) face_.push_back(-gauged_[leg / 2]);
    const LogPfaffian found = eliminate<double>(plane.tree, entries(), {0.1, options.threads},
                                                control, nullptr, &fronts_);
    total_ = found.log_magnitude;
    sound_ = found.stats.left_over == 0 && found.stats.smallest_exponent > kLeastExponent &&
             std::isfinite(total_);
  }

  // Draws samples into rows of spins; says which are in doubt.
  void draw(std::span<const double> uniform, int threads, Control& control, int8_t* spins,
            std::span<uint8_t> doubtful) const {
    std::fill(doubtful.begin(), doubtful.end(), 1);
    if (!sound_) return;
    const size_t edges = gauged_.size();
    std::vector<uint8_t> cuts(doubtful.size() * edges, 0);
    std::vector<CutRow> rows;
    for (size_t k = 0; k < doubtful.size(); ++k) {
      rows.push_back({std::span(cuts).subspan(k * edges, edges)});
    }
    sample_cuts(plane_.tree, entries(), fronts_, uniform, threads, control, rows);
    for (size_t k = 0; k < rows.size(); ++k) {
      doubtful[k] = !accept(rows[k], spins + k * gauge_.size());
    }
  }

 private:
  KasteleynEntries entries() const { return {face_, join_, plane_.signs}; }

  // Edges around a face are cut an even number of times, and the decisions multiply to the weight
  // of the cut over the sum of all weights, unless rounding has decided.
  bool accept(const CutRow& row, int8_t* spins) const {
    double weight = 0.0;
    for (size_t e = 0; e < gauged_.size(); ++e) weight -= row.cut[e] ? 2.0 * gauged_[e] : 0.0;
    const SpinAssignment turned =
        spins_from_disagreements(plane_.num_vertices(), plane_.graph.edges, row.cut);
    for (size_t v = 0; v < gauge_.size(); ++v) {
      spins[v] = static_cast<int8_t>(turned.spins[v] * gauge_[v]);
    }
    return row.undecided == 0 && turned.conflicting_edge < 0 &&
           std::fabs(row.log_probability - (weight - total_)) <= doubt_;
  }

  const PlaneGraph& plane_;
  double doubt_;
  std::vector<int8_t> gauge_;
  std::vector<double> gauged_, join_, face_;
  Fronts<double> fronts_;
  double total_ = 0.0;
  bool sound_ = false;
};

}  // namespace

SampleBatch sample_batch(const PlaneGraph& plane, std::span<const double> couplings, size_t size,
                         std::span<const double> uniform, const SampleOptions& options,
                         Control& control) {
  const auto m = static_cast<size_t>(plane.num_couplings()), edges = plane.signs.size();
  const auto n = static_cast<size_t>(plane.num_vertices());
  if (m == 0 || couplings.size() % m != 0 ||
      uniform.size() != couplings.size() / m * size * edges) {
    throw std::invalid_argument("couplings and uniform must hold one number per edge and row");
  }
  const size_t models = couplings.size() / m;
  SampleBatch result;
  result.spins.resize(models * size * n);
  result.doubtful.resize(models * size);
  // `look` comes before every few samples.
  const auto run = [&](size_t k, int sharing, Control& inner, const auto& look) {
    SampleOptions shared = options;
    shared.threads = sharing;
    const SampledModel model(plane, couplings.subspan(k * m, m), shared, inner);
    const size_t block = kBlock * static_cast<size_t>(sharing);
    for (size_t first = k * size; first < (k + 1) * size; first += block) {
      const size_t count = std::min(block, (k + 1) * size - first);
      look(k);
      model.draw(uniform.subspan(first * edges, count * edges), sharing, inner,
                 result.spins.data() + first * n, std::span(result.doubtful).subspan(first, count));
    }
  };
  const int threads = std::max(options.threads, 1);
  if (models < static_cast<size_t>(threads)) {
    for (size_t k = 0; k < models; ++k) {
      run(k, threads, control, [&](size_t) { control.poll(); });
    }
    return result;
  }
  Team team(threads, control);
  team.work(models, [&](int worker, int task) {
    Control quiet;
    run(static_cast<size_t>(task), 1, quiet,
        [&](size_t k) { team.check(worker, double(k) / double(models)); });
  });
  return result;
}

}  // namespace planaris
