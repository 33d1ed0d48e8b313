// Exact samples of many models on one plane graph, in one call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "batches/model_batch.hpp"

namespace planaris {

struct SampleBatch {
  std::vector<int8_t> spins;      // a row for each sample, those of a model one after the other
  std::vector<uint8_t> doubtful;  // per sample: rounding may have decided, the spins mean nothing
};

struct SampleOptions {
  double weak;      // up to couplings of this size all spins up are the gauge state,
  double moderate;  // up to this one a ground state is; samples of larger ones are all doubtful
  double doubt;     // error of the logarithm of a probability that is let pass
  int threads = 1;
};

// `size` samples of every row of couplings. `uniform` holds, for every sample, one number in [0, 1)
// per edge and chord. Rows of the matrix are not scaled and pivots are searched for.
//
// Models are shared among the threads where there are enough of them, else each is done by all. A
// sample depends on its couplings and numbers alone.
SampleBatch sample_batch(const PlaneGraph& plane, std::span<const double> couplings, size_t size,
                         std::span<const double> uniform, const SampleOptions& options,
                         Control& control);

}  // namespace planaris
