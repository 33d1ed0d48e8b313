// Proposals for exact samples: rows are drawn from the last to the first, each given the one below
// it, from the states of a proof. The probability of a proposal is known exactly, and weight /
// probability is bounded over all configurations.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/proof.hpp"

namespace planaris::tensor {

// Bounds log(weight / probability of being proposed) from above, by log Z of the proof plus this;
// infinite when it is lost.
double proposal_excess(const GridView& grid, const ProvedGrid& proof);

struct Proposals {
  std::vector<int8_t> spins;  // (count × spins), in the order of the grid
  // Of every spin: p <= 1/2 if it was drawn with probability p, -p if with 1 - p.
  std::vector<double> choices;
  bool lost = false;
};

Proposals propose(const GridView& grid, const ProvedGrid& proof, int64_t count, uint64_t seed,
                  int threads, Control& control);

}  // namespace planaris::tensor
