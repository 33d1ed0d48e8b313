// Tree-reweighted message passing (Wainwright, Jaakkola, Willsky 2005), sequential.
//
// Wherever it stops, the messages split the model over any trees whose edges appear as often as
// `rho` says; only how tight the bound of that split is depends on convergence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct SweepReport {
  int32_t sweeps = 0;
  double change = 0.0;  // largest change of a message in the last sweep; infinite: none was ended
};

// Ising models: one number per half-edge. The message along half-edge h into vertex w is the
// field u in exp(u s_w). `couplings` are already divided by `rho`. A sweep goes forwards and
// backwards over the vertices. `messages` is read and written.
SweepReport reweighted_sweeps(int32_t num_vertices, std::span<const int32_t> edges,
                              std::span<const double> couplings, std::span<const double> rho,
                              std::span<const double> fields, std::span<double> messages,
                              int32_t max_sweeps, double tolerance, double damping,
                              Control& control);

// Models with many labels: `node_logs` and `edge_logs` (divided by `rho`) are flat tables, the
// first end of an edge being the slow axis. The message along half-edge h begins at
// message_offsets[h] and has one entry per label of the vertex it goes to.
struct LabelTables {
  std::span<const int64_t> node_offsets;
  std::span<const double> node_logs;
  std::span<const int64_t> edge_offsets;
  std::span<const double> edge_logs;
};

std::vector<int64_t> message_offsets(std::span<const int32_t> edges,
                                     std::span<const int64_t> node_offsets);

SweepReport reweighted_sweeps(std::span<const int32_t> edges, const LabelTables& tables,
                              std::span<const double> rho, std::span<double> messages,
                              int32_t max_sweeps, double tolerance, double damping,
                              Control& control);

// log Z of a forest with these tables. Throws std::invalid_argument on a cycle.
double forest_log_partition(std::span<const int32_t> edges, const LabelTables& tables);

}  // namespace planaris
