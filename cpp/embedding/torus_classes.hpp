// Which way around a torus the edges of a graph run, found from its short cycles.
//
// Every edge gets a vector of two integers, antisymmetric in its direction, that sums to zero
// around every short cycle. Where the short cycles of a graph on a torus generate all that bound,
// sums around the others are their homology classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct TorusClasses {
  int32_t length = 0;             // cycles of up to so many edges count as short; 0: none found
  std::vector<int32_t> classes;   // two integers per edge, from its first end to its second
  std::vector<int32_t> left_out;  // edges in no short cycle
};

// A connected graph without loops and parallel edges. Lengths from `least_length` on are tried.
TorusClasses find_torus_classes(int32_t num_vertices, std::span<const int32_t> edges,
                                int32_t max_left_out, int32_t least_length, Control& control);

}  // namespace planaris
