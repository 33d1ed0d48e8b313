// log Z and moments of Ising models with fields on forests, by two sweeps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct ForestMoments {
  std::vector<double> logs;   // per vertex; they add up to log Z, tree by tree
  std::vector<double> spins;  // E s_v
  std::vector<double> pairs;  // E s_u s_v of every edge
};

// A forest in breadth-first order: built once, evaluated for many couplings and fields.
class Forest {
 public:
  // Throws std::invalid_argument unless the edges form a forest on the vertices.
  Forest(int32_t num_vertices, std::span<const int32_t> edges, Control& control);

  int32_t num_vertices() const { return static_cast<int32_t>(order_.size()); }
  int32_t num_edges() const { return num_edges_; }

  ForestMoments evaluate(std::span<const double> couplings, std::span<const double> fields,
                         Control& control) const;
  // The first of them alone, in a third of the time.
  std::vector<double> log_values(std::span<const double> couplings, std::span<const double> fields,
                                 Control& control) const;

 private:
  // By vertex: logs as above, fields with the messages of children, messages to the parent.
  struct Upwards {
    std::vector<double> logs, field, message;
  };
  Upwards sum_upwards(std::span<const double> couplings, std::span<const double> fields,
                      Control& control) const;

  int32_t num_edges_;
  std::vector<int32_t> order_;        // parents before children
  std::vector<int32_t> parent_;       // by vertex; -1 for roots
  std::vector<int32_t> parent_edge_;  // by vertex
};

}  // namespace planaris
