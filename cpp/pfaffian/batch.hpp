// Many small matrices on one tree of fronts: one thread per matrix instead of several for one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "pfaffian/pfaffian.hpp"

namespace planaris {

struct PfaffianBatch {
  std::vector<LogPfaffian> log_pfaffian;  // by matrix
  // Only when asked for: probabilities that edges are not cut, and how far rounding took them.
  std::vector<double> uncut, residual;
};

// Row k of `face` holds the logarithms of matrix k (one per leg); join and sign are shared.
PfaffianBatch eliminate_batch(const FrontTree& tree, std::span<const double> face,
                              const KasteleynEntries& shared, const EliminationOptions& options,
                              bool marginals, Control& control);

}  // namespace planaris
