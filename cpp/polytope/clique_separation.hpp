// Separation of odd clique inequalities: p = 3, 5, 7 spins i with signs b_i satisfy, in every
// state, (Σ b_i s_i)² >= 1, so the moments x_ij = <s_i s_j> satisfy
//   Σ_{i<j} b_i b_j x_ij >= -(p - 1) / 2.
// For three spins these are the triangle inequalities. All triangles are looked at; larger
// cliques are found by adding the best pair of spins to given smaller ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct CliqueCuts {
  int32_t size = 3;               // spins per clique
  std::vector<int32_t> spins;     // ascending within each clique
  std::vector<int8_t> signs;      // the first of each clique is +1
  std::vector<double> violation;  // descending
};

// The max_cuts most violated triangles of a symmetric n x n matrix with unit diagonal.
CliqueCuts separate_triangles(int32_t n, std::span<const double> x, double min_violation,
                              int32_t max_cuts, Control& control);

// For every given clique of `size` spins the best clique with two more, then single spins are
// exchanged while that helps. Each clique is returned once.
CliqueCuts extend_cliques(int32_t n, std::span<const double> x, int32_t size,
                          std::span<const int32_t> spins, std::span<const int8_t> signs,
                          double min_violation, int32_t max_cuts, Control& control);

}  // namespace planaris
