// Marginals with proved ends: a state from above and one from below, two rows between them.
//
// The product of both states and of the weights of the rows between them is, configuration by
// configuration, within a factor e^{±w} of the weight that the model sums to, w the widths of both
// states. So the odds of every event of the two rows are within e^{±2w} of those that are added up
// here, column by column; what rounding adds to w is bounded by the cones of both states
// (cone.hpp).
#pragma once

#include <vector>

#include "tensor/proof.hpp"

namespace planaris::tensor {

// Probabilities of one kind of event.
struct ProvedProbabilities {
  std::vector<double> value, lower, upper;
};

struct ProvedMarginals {
  ProvedProbabilities nodes;        // s = +1, (rows × columns)
  ProvedProbabilities right, down;  // equal spins of neighbours
  double rounding = 0;              // most that rounding has added to a width
  bool lost = false;
};

// `above` is the proof of the grid with its states, `below` that of the grid upside down. At least
// two rows.
ProvedMarginals proved_marginals(const GridView& grid, const ProvedGrid& above,
                                 const ProvedGrid& below, int threads, Control& control);

}  // namespace planaris::tensor
