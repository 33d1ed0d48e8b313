// The symbolic part of batches of models on one plane graph, as bindings hand it from call to call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "batches/model_batch.hpp"
#include "lanes/lane_program.hpp"
#include "pfaffian/pfaffian_plan.hpp"

namespace planaris {

// Many models of one plane graph. Threads may share it.
class PlaneModels {
 public:
  PlaneModels(std::shared_ptr<const PfaffianPlan> plan, int32_t num_faces,
              std::span<const int32_t> dual_edges, std::span<const int32_t> absorbing,
              std::span<const int32_t> face_of_piece)
      : plan_(std::move(plan)), num_faces_(num_faces),
        dual_edges_(dual_edges.begin(), dual_edges.end()),
        absorbing_(absorbing.begin(), absorbing.end()),
        face_of_piece_(face_of_piece.begin(), face_of_piece.end()) {
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

  const PfaffianPlan& plan() const { return *plan_; }
  size_t num_couplings() const { return dual_edges_.size() / 2; }

  PlaneGraph plane() const {
    return {plan_->tree, plan_->faces, plan_->graph(), plan_->signs,
            num_faces_,  dual_edges_,  absorbing_,     face_of_piece_};
  }

  // The same with what lanes need, which is made once.
  PlaneGraph plane_with_program() const {
    PlaneGraph graph = plane();
    std::call_once(program_made_, [&] {
      program_ = std::make_unique<LaneProgram>(plan_->tree);
      vertices_ = graph.vertices_by_distance();
    });
    graph.program = program_.get();
    graph.vertices = vertices_;
    return graph;
  }

  // Throw unless rows hold `columns` couplings.
  void check(size_t columns) const {
    if (columns != num_couplings()) {
      throw std::invalid_argument("couplings must hold one number per edge");
    }
  }

 private:
  std::shared_ptr<const PfaffianPlan> plan_;
  int32_t num_faces_;
  std::vector<int32_t> dual_edges_, absorbing_, face_of_piece_;
  mutable std::once_flag program_made_;
  mutable std::unique_ptr<const LaneProgram> program_;
  mutable std::vector<int32_t> vertices_;
};

}  // namespace planaris
