#include "decoding/lane_cosets.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/scaled.hpp"

namespace planaris {

namespace {

constexpr int32_t kLaneLeafFaces = 2;
constexpr double kSingleToDouble = 0x1p-29;  // of the rounding of single and double precision
// Multiplications of a small Pfaffian that take as long as one of sparse elimination.
constexpr double kSmallPerSparse = 0.8;

}  // namespace

LaneCosets::LaneCosets(const RotationView& rotation, std::span<const double> log_odds,
                       int32_t logical, Control& control)
    : edges_(rotation.edges.begin(), rotation.edges.end()),
      rotation_(rotation.rotation.begin(), rotation.rotation.end()),
      offsets_(rotation.offsets.begin(), rotation.offsets.end()),
      num_edges_(static_cast<int32_t>(log_odds.size())) {
  const int32_t pieces = rotation.num_half_edges() / 2;
  if (num_edges_ > pieces)
    throw std::invalid_argument("log_odds must hold at most one number per edge");
  if (logical < 0 || logical >= num_edges_) throw std::invalid_argument("no such logical edge");
  const Faces faces = trace_faces(rotation);
  tree_ = dissect_faces(faces, {}, kLaneLeafFaces, control, logical);
  signs_ = kasteleyn_signs(rotation, faces);
  program_ = std::make_unique<const LaneProgram>(tree_);
  weight_.assign(pieces, 1.0);
  for (int32_t e = 0; e < num_edges_; ++e) {
    if (!(log_odds[e] <= 0.0)) throw std::invalid_argument("log_odds must not be positive");
    weight_[e] = std::exp(log_odds[e] / 2);
  }
  for (int32_t node = 0; node < tree_.num_nodes(); ++node) {
    const double n = tree_.rows(node), b = tree_.boundary_rows(node);
    work_ += (n * n * n - b * b * b) / 6;
  }
}

int32_t LaneCosets::worth_from() const {
  return static_cast<int32_t>(std::cbrt(6.0 * kSmallPerSparse * work_) / 2);
}

LaneMemory LaneCosets::take_memory() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {};
  LaneMemory memory = std::move(idle_.back());
  idle_.pop_back();
  return memory;
}

void LaneCosets::give_memory(LaneMemory memory) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(memory));
}

void LaneCosets::weigh(std::span<const std::vector<LaneChange>> changes, std::span<Weight> found,
                       LaneMemory& memory, const std::function<void()>& look) const {
  const LaneProblem problem{tree_, {edges_, rotation_, offsets_}, signs_, *program_, num_edges_};
  std::vector<ShotOutcome> outcomes(changes.size());
  const auto count = static_cast<int>(changes.size());
  lane_kernels_for(count).run_shots(
      problem, {count, weight_.data(), changes.data(), outcomes.data(), &look}, memory);
  const double most = 1e-13 * static_cast<double>(weight_.size()) + 1e-12;
  for (size_t k = 0; k < changes.size(); ++k) {
    const ShotOutcome& o = outcomes[k];
    const Scaled product{o.mantissa, static_cast<int64_t>(o.exponent)};
    found[k] = {product.log() + std::log(o.last), 1.0 - 1.0 / o.last,
                o.sound && kSingleToDouble * o.deviation <= most};
  }
}

}  // namespace planaris
