// Bounds on sums over spins by pieces of small width that share some of the spins.
//
// The weights of a model are split over pieces, and every piece eliminates its spins one after the
// other, in an order common to all. Spins of one piece are summed over. Of a shared spin each piece
// holds a copy with a weight w > 0, and the weights of all copies add up to one:
//   from above   Σ_s Π_r f_r(s) <= Π_r (Σ_s f_r(s)^(1/w_r))^w_r           (Hölder)
//   from below   shared spins have probabilities q of their own, given at most one other shared
//   spin
//                that comes later; log Σ_s f(s) becomes Σ_s q(s) (log f(s) - w log q(s)), w of the
//                entropy of q in each piece (Jensen).
// Either way the logarithms of the pieces add up to a bound on log Z.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// One piece; its spins are numbered in the order in which they are eliminated.
struct Piece {
  std::vector<int32_t> edges;    // two each, no parallel edges, no loops
  std::vector<uint8_t> shared;   // one per spin
  std::vector<int32_t> context;  // one per spin: a later shared spin on which q depends, or -1
};

// Numbers of one evaluation, those of all pieces one after the other.
struct PieceNumbers {
  std::span<const double> couplings;  // per edge
  std::span<const double> fields;     // per spin
  std::span<const double> weights;    // per spin; 1 for spins of one piece
};

struct PieceSums {
  std::vector<double> logs, errors;  // per piece
  // From above: derivatives of the logarithms with respect to fields and to couplings
  // of shared spins (zero for others), and with respect to weights.
  std::vector<double> by_field, by_coupling, by_weight;
  // From below, per spin and value of its context (two each): the probability of that value, and by
  // how much the mean logarithm is larger for s = +1 than for s = -1.
  std::vector<double> reached, gain;
};

class PieceSweep {
 public:
  // Throws TableTooLarge when a table would exceed 2^max_bits entries, std::invalid_argument
  // when a context does not come later or is not shared.
  PieceSweep(std::vector<Piece> pieces, int32_t max_bits);

  const std::vector<int32_t>& bits() const { return bits_; }  // of each piece's table
  double entries() const;     // updates of table entries in one evaluation
  double kept_bytes() const;  // of the tables that derivatives need, for the largest piece

  // Both throw std::range_error when the entries of a table differ by more than doubles can say.
  PieceSums above(const PieceNumbers& numbers, Control& control) const;
  // up: two per spin, q(s = +1) for either value of its context; ignored where it is not shared.
  PieceSums below(const PieceNumbers& numbers, std::span<const double> up, Control& control) const;

 private:
  struct Step {
    int32_t spin, slot;
    int32_t bits = 0;  // of the table: slots from there on are free
    bool shared;
    int32_t fresh = -1;  // the edge to the spin that takes over the slot, or -1
    bool fresh_is_context = false;
    int32_t context_slot = -1;          // where the context is, unless it takes over the slot
    std::vector<int32_t> slots, edges;  // of the other neighbours to come
  };
  struct Program {
    std::vector<Step> steps;
    int32_t bits = 0;  // of the largest table
    int64_t first_spin = 0, first_edge = 0;
  };
  class Run;
  PieceSums sweep(const PieceNumbers& numbers, std::span<const double> up, bool above,
                  Control& control) const;

  std::vector<Program> programs_;
  std::vector<int32_t> bits_;
  int64_t num_spins_ = 0, num_edges_ = 0;
};

}  // namespace planaris
