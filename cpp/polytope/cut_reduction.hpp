// Shrinks a zero-field Ising model without changing its minimum energy, and lifts what is
// found on the small model back. Two rules, until neither fits:
//   contraction  |J_uv| >= sum of the other |J_uw|: some ground state has s_u = sign(J_uv) s_v
//                (leaves and spins of degree two always qualify);
//   star-triangle  a spin of degree three is minimised out; -|J_a s_a + J_b s_b + J_c s_c| is
//                an even function of three spins, that is a constant plus three couplings.
// Both keep the optimum over the cycle relaxation too (clique sums of K4, whose cut polytope
// is given by its cycle inequalities), except contractions at degree >= 4, which tighten it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// One step of a reduction; edges are numbered as in the input, new ones after them.
struct ReductionStep {
  int32_t spin;          // the spin that went
  int32_t towards[3];    // contraction: v, -1, -1; star-triangle: a, b, c
  double coupling[3];    // couplings to them
  int32_t edge[3];       // the edges to them
  int32_t side[3];       // star-triangle: edges ab, ac, bc that took over
  int32_t merges_begin;  // contraction: range of `merges`
  int32_t merges_end;
};

// Edge `from` was laid upon edge `onto` (or is `onto`, re-hung) with its sign turned if `flip`.
struct EdgeMerge {
  int32_t from, onto;
  bool flip;
};

struct CutReduction {
  int32_t num_spins = 0;          // of the small model, which has no isolated spins
  std::vector<int32_t> spin_of;   // small spin -> original spin
  std::vector<int32_t> edges;     // 2m' small spins
  std::vector<double> couplings;  // m'
  std::vector<int32_t> edge_id;   // m': number of the edge in the reduction
  double constant = 0;            // energy = constant + constant_rest + that of the small model
  double constant_rest = 0;
  double error = 0;  // bound on the rounding of constant and couplings together
  int32_t num_edge_ids = 0;
  std::vector<ReductionStep> steps;
  std::vector<EdgeMerge> merges;
};

// keep_zero_edges: keep edges whose couplings cancel, so that their values can be lifted.
CutReduction reduce_cut(int32_t num_spins, std::span<const int32_t> edges,
                        std::span<const double> couplings, bool keep_zero_edges, Control& control);

// Spins of the original model from those of the small one.
std::vector<int8_t> lift_spins(const CutReduction& reduction, int32_t num_spins,
                               std::span<const int8_t> small);

// P(s_u != s_v) of the original edges from those of the small ones.
std::vector<double> lift_disagreements(const CutReduction& reduction, int32_t num_edges,
                                       std::span<const double> small);

}  // namespace planaris
