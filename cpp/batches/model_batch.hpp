// log Z, marginals and ground states of many models on one plane graph, in one call.
//
// Rows are tried along a ladder, from the fastest elimination to the safest:
//   flips    gauge state by single spin flips, in lanes (LaneKernels);
//   ground   gauge state by a minimum T-join of the dual, in lanes;
//   moats    in the order that the packing of T-cuts tells (MoatOrder), one row at a time.
// What a row is tried with depends on its couplings alone, and so do all digits of its result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"
#include "fronts/front_tree.hpp"
#include "lanes/lane_kernels.hpp"

namespace planaris {

struct PlaneGraph {
  const FrontTree& tree;          // of the graph with chords
  const Faces& faces;             // with chords
  RotationView graph;             // with chords
  std::span<const int8_t> signs;  // with chords
  // Without chords: the faces beside every edge, the faces that absorb parity, one per component,
  // and the face that each face with chords is a piece of.
  int32_t num_faces;
  std::span<const int32_t> dual_edges, absorbing, face_of_piece;
  // Of lanes, made when they are needed if there are none: the program of the tree, and vertices
  // by their distance from the first of their component.
  const LaneProgram* program = nullptr;
  std::span<const int32_t> vertices = {};

  int32_t num_vertices() const { return graph.num_vertices(); }
  int32_t num_couplings() const { return static_cast<int32_t>(dual_edges.size() / 2); }
  std::vector<int32_t> vertices_by_distance() const;  // without chords
};

enum class Route : int8_t { none = 0, flips = 1, ground = 2, moats = 3 };

// One entry per row. Where the route is `none` the others mean nothing.
struct ModelBatch {
  std::vector<int8_t> route;
  std::vector<double> log_sum;      // log of the sum over cuts relative to the gauge state
  std::vector<double> constant;     // log weight of the gauge state
  std::vector<double> size;         // of the numbers that were exponentiated: their sum
  std::vector<double> error;        // of log_sum, estimated
  std::vector<double> equal_error;  // marginals: their largest error, estimated
  std::vector<double> equal;        // marginals: P(s_u = s_v), a row each
  bool complete = true;             // false: the deadline passed before all rows were tried
};

struct BatchOptions {
  bool marginals = false;
  int threads = 1;
};

// `couplings` holds rows of num_couplings() finite numbers.
ModelBatch evaluate_batch(const PlaneGraph& plane, std::span<const double> couplings,
                          const BatchOptions& options, Control& control);

// Bytes that every thread takes for its own.
size_t batch_bytes(const PlaneGraph& plane, bool marginals);

struct GroundStateBatch {
  std::vector<int8_t> spins;   // a row each
  std::vector<double> energy;  // -Σ J s s, correctly rounded but for the last digit
};

GroundStateBatch ground_state_batch(const PlaneGraph& plane, std::span<const double> couplings,
                                    int threads, Control& control);

}  // namespace planaris
