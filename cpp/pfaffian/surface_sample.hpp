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

// `face` and `join` as in KasteleynEntries; `uniform` holds one number in [0, 1) per edge.
template <class T>
SampledCut sample_surface_cut(const FrontTree& tree, std::span<const double> join,
                              const std::vector<SignStructure<T>>& structures,
                              std::span<const double> uniform, Control& control);

}  // namespace planaris
