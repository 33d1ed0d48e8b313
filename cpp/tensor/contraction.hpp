// Sums over all states of a pairwise model by boundary matrix product states (Verstraete, Murg &
// Cirac 2008): log Z, marginals and samples. All are estimates; a larger bond is more accurate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/control.hpp"
#include "base/team.hpp"
#include "tensor/program.hpp"

namespace planaris::tensor {

struct Settings {
  ChainOptions chain;
  int threads = 1;
  double history_bytes = 1e9;  // for what is kept to go back; more is computed twice
};

struct Contraction {
  double log_partition = 0;  // -inf: every state has weight zero; NaN: accuracy was lost
  int32_t largest_bond = 1;
  double largest_residual = 0;
  double component_error = 0;  // largest relative error of the weight of a configuration in a cut
};

struct NetworkMarginals {
  Contraction contraction;
  std::vector<double> nodes, edges;  // laid out as the tables of the network
};

struct NetworkSamples {
  std::vector<int32_t> states;            // num_samples × num_variables; empty: accuracy was lost
  std::vector<double> log_probabilities;  // with which each was drawn
  int64_t clipped = 0;                    // draws at which a weight came out negative
};

// Pivots below the first take pairs of doubles, which are slower, below the second quads.
constexpr double kSmallestPivot = 1e-17, kSmallestOfPairs = 1e-33;

// Two chains, one from either end of the program, meet in the middle.
Contraction contract(const NetworkView& network, const Program& program, const Settings& settings,
                     Control& control);

// Each chain goes on through the other's half, which is unwound beside it.
NetworkMarginals contract_marginals(const NetworkView& network, const Program& program,
                                    const Settings& settings, Control& control);

// One chain runs through the program; the variables are drawn on its way back, each given all
// that were passed after it.
NetworkSamples draw(const NetworkView& network, const Program& program, const Settings& settings,
                    int64_t num_samples, uint64_t seed, Control& control);

// A chain that has run through a part of the program and can go back, step by step.
//
// What undoes the steps is kept in segments, each behind a copy of the chain (a checkpoint; copies
// share their tensors). Where the bytes of all exceed `history_bytes`, the oldest segments
// are dropped, then every second checkpoint of those; dropped steps are made again, from the
// checkpoint before them, when the way back comes to them.
template <class T>
class TapeOf {
 public:
  using Chain = ChainOf<T>;

  TapeOf(const NetworkView& network, const Program& program, Direction direction,
         ChainOptions options, double history_bytes);

  // Forward: the steps before `time` are applied; backward: those from `time` on.
  int64_t time() const { return time_; }
  Chain& chain() { return chain_; }
  const Chain& chain() const { return chain_; }
  // A tape that goes on from here and cannot go back.
  TapeOf onward() const;
  void step(bool record);
  // `look` is called before every step that has to be made again.
  void step_back(const std::function<void()>& look = [] {});
  // Lets go of all tensors: see ChainOf::forget().
  void forget();
  // Most bytes that were kept at once for the way back.
  double most_bytes() const { return most_bytes_; }

 private:
  struct Segment {
    Chain chain;  // before its first step
    int64_t time;
    double checkpoint_bytes;
    HistoryOf<T> history;
    std::vector<size_t> marks;  // where the changes of each step begin
    double bytes = 0;           // of the history
    bool dropped = false;
  };
  int64_t next() const { return direction_ == Direction::kForward ? time_ : time_ - 1; }
  void begin_segment();
  void record_step();
  void make_room();
  bool drop_history();
  bool drop_checkpoints();
  void end_segment(const std::function<void()>& look);

  const NetworkView* network_;
  const Program* program_;
  Direction direction_;
  double history_bytes_;
  int64_t time_;
  Chain chain_;
  std::vector<Segment> segments_;  // dropped ones come first
  double bytes_ = 0, most_bytes_ = 0;
};
using Tape = TapeOf<double>;

// At the end, or where the work is stopped, a tape forgets its tensors: there may be a million.
template <class T>
struct ForgetAtEnd {
  TapeOf<T>& tape;
  ~ForgetAtEnd() { tape.forget(); }
};

}  // namespace planaris::tensor
