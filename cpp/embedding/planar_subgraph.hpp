// Planar subgraphs that no further edge fits into, by planarity tests of growing edge sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Takes edges in the given order while the graph stays planar; groups that fail are halved.
// Marks the chosen edges. Ends early, with a planar graph that may not be maximal, when the
// deadline passes or after `max_tests` tests; the first eight edges of the order always fit.
std::vector<uint8_t> maximal_planar(int32_t num_vertices, std::span<const int32_t> edges,
                                    std::span<const int64_t> order, int64_t max_tests,
                                    Control& control);

}  // namespace planaris
