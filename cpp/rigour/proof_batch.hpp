// Proved intervals of log Z of many models on one plane graph, in one call (docs/theory/rigour.md).
//
// Which bounds a row is tried with, and all digits of its result, depend on its couplings alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "batches/model_batch.hpp"

namespace planaris {

enum class ProofWay : int8_t { none = 0, sweep_pairs = 1, radii = 2, radii_pairs = 3 };

// One entry per row, that of the narrowest interval found. Where the way is `none` the others mean
// nothing.
struct ProofBatch {
  std::vector<int8_t> way;
  std::vector<double> lower, upper, value;
  // log Z less the log weight of a ground state, of small models but for rounding; NaN if none was
  // needed
  std::vector<double> excess;
  std::vector<double> error, entries,
      elimination;  // bounds: of all, of entries, of the elimination
  std::vector<int32_t> largest_front;
  std::vector<uint8_t> tried;  // 0: the deadline passed before the row was done
};

struct ProofOptions {
  int32_t components = 1;  // of the graph
  double narrow =
      0.0;  // other bounds are tried where an interval is wider, by more than a few last places
  int threads = 1;
  bool share_rows = true;  // threads take a row each; else they share one row after the other
};

// `couplings` holds rows of num_couplings() finite numbers, at most 345 in size; larger ones are
// not proved.
ProofBatch prove_batch(const PlaneGraph& plane, std::span<const double> couplings,
                       const ProofOptions& options, Control& control);

}  // namespace planaris
