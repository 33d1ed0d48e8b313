// Dual block-coordinate ascent for pairwise energies, min_x sum_i f_i(x_i) + sum_ij f_ij(x_i, x_j),
// with triplets as tightening. Energies may be +infinity (hard constraints).
//
// Dual variables: messages m_e->i that move energy from an edge to its ends, and l_t->e that
// move energy from a triplet (which starts with none) to its edges. Any values give the bound
//   sum_i min b_i + sum_e min (f_e + sum_t l_t->e - m_e->u - m_e->v) + sum_t min (-sum_e l_t->e),
//   b_i = f_i + sum_e m_e->i.
// Nodes are swept in order as in TRW-S (Kolmogorov 2006, in the form of Kolmogorov 2015):
// energy is pulled from the edges behind and pushed into the edges ahead. Triplets take the
// MPLP block step (Sontag et al. 2008). Every step keeps or raises the bound.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

struct ScoredTriplet {
  double gain;
  std::array<int32_t, 3> variables;
};

// Vertices are partitions "one label of a variable against its others". An edge has a positive
// weight if its ends would rather differ: by so much dearer is the best that agrees.
struct Projection {
  std::vector<int32_t> owners;  // the variable of each vertex
  std::vector<int32_t> ends;    // two for each edge
  std::vector<double> weights;
};

class MessagePassing {
 public:
  // edges: pairs u < v, each once; tables: u the slow axis.
  MessagePassing(std::vector<int32_t> cardinalities, std::span<const double> node_energies,
                 std::span<const int32_t> edges, std::span<const double> edge_energies,
                 Control& control);
  MessagePassing(MessagePassing&&) = default;

  int32_t num_variables() const { return static_cast<int32_t>(cards_.size()); }
  int32_t num_edges() const { return static_cast<int32_t>(edges_.size()); }
  int32_t num_triplets() const { return static_cast<int32_t>(triplets_.size()); }
  int64_t num_labels() const { return offsets_.back(); }

  // At most `rounds` forward-and-backward sweeps; stops when one gains less than `tolerance`.
  // Returns the plain (not safe) value of the bound; +infinity if no state is left.
  double run(int32_t rounds, double tolerance, Control& control);

  // The bound with all rounding charged against it: certainly no more than the minimum.
  double safe_bound(Control& control) const;

  // A state: variables in order, each at its best given those before and the messages.
  std::vector<int32_t> decode(Control& control) const;

  // Sets single variables to their best label until none gains; energies as given.
  void improve(std::vector<int32_t>& state, Control& control) const;

  // Labels allowed now; shrinks by itself when a label has no partner left.
  const std::vector<uint8_t>& alive() const { return alive_; }
  void set_alive(std::span<const uint8_t> alive);
  // Forbids labels whose use would raise the bound by more than `room`. Returns how many.
  int64_t forbid_beyond(double room);

  // Triangles of the graph whose triplets are not there and would raise the bound by more than
  // `min_gain`: the `most` best ones, the best first.
  std::vector<ScoredTriplet> triangles(double min_gain, size_t most, Control& control) const;
  // The k-projection graph (Sontag, Choe, Li 2012) with preferences above `min_gain`, for the
  // `most` best labels of each variable.
  Projection projection(double min_gain, int32_t most, Control& control) const;

  // All dual variables: for each edge m_e->u and m_e->v, for each triplet l_t->e of its edges
  // 01, 02, 12. Labels that are forbidden have zeros. With them safe_bound() can be checked.
  std::vector<double> messages() const;

  // Makes the triplet's edges where needed. Returns false if it was there.
  bool add_triplet(int32_t a, int32_t b, int32_t c);
  std::span<const int32_t> edge_ends(int32_t edge) const { return edges_[edge].ends; }
  std::span<const int32_t> triplet(int32_t t) const { return triplets_[t].variable; }

 private:
  struct Edge {
    std::array<int32_t, 2> ends;      // u, v
    std::vector<double> own;          // memory of an edge that came later
    std::span<double> given;          // f_e, u slow; empty: zero
    std::span<double> table, turned;  // f_e + triplets, u slow and v slow
    std::span<double> message[2];     // to u, to v
    Edge() = default;
    Edge(Edge&&) = default;
    Edge& operator=(Edge&&) = default;
  };
  struct Triplet {
    int32_t variable[3], edge[3];  // edges 01, 02, 12
    std::vector<double> given[3];  // l_t->e, shaped like the edges
  };
  int32_t find_edge(int32_t u, int32_t v) const;
  // Numbers of an edge, the first of them those of its table as given.
  int64_t room_of(int32_t u, int32_t v) const;
  int32_t add_edge(int32_t u, int32_t v, std::span<const double> energies, std::span<double> room);
  bool pull(int32_t variable, const std::vector<int32_t>& edges);
  void push(int32_t variable, const std::vector<int32_t>& edges, double share);
  void spread(int32_t variable);
  bool sweep(int direction, bool spread_all, Control& control);
  void update_triplet(Triplet& triplet);
  double plain_bound(Control& control) const;
  int64_t steps(const Triplet& triplet) const;
  int64_t steps(int32_t variable) const;
  double edge_minimum(const Edge& edge) const;
  // Energy left in an edge once the variables' energy is shared out among their edges.
  std::vector<double> edge_slacks(const Edge& edge) const;
  void fill_residual(const Edge& edge, std::vector<double>& out) const;

  std::vector<int32_t> cards_;
  std::vector<int64_t> offsets_;
  std::vector<double> energy_, belief_;  // f_i and b_i
  std::vector<uint8_t> alive_;
  std::vector<double> numbers_;  // of all edges that there were from the beginning
  std::vector<Edge> edges_;
  std::vector<std::vector<int32_t>> incident_, behind_, ahead_;
  std::vector<Triplet> triplets_;
  std::set<std::array<int32_t, 3>> known_;  // variables of the triplets
  // What a step writes, kept for the next one.
  std::vector<double> fresh_, own_[3], turned_[3], through_;
  bool feasible_ = true;
};

}  // namespace planaris
