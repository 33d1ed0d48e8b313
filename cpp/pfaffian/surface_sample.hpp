// Exact samples on surfaces: edge by edge, separators first, each with its probability given all
// edges before. Weights are signed sums over all sign structures, each as on the sphere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pfaffian/sweep.hpp"

namespace planaris {

// One sign structure: the signs of the joins and the fronts eliminated with them.
template <class T>
struct SignStructure {
  std::span<const int8_t> sign;
  const Fronts<T>* fronts;
};

// `join` as in KasteleynEntries; `uniform` and `rows` as for sample_cuts.
template <class T>
void sample_surface_cuts(const FrontTree& tree, std::span<const double> join,
                         const std::vector<SignStructure<T>>& structures,
                         std::span<const double> uniform, Control& control,
                         std::vector<CutRow>& rows);

}  // namespace planaris
