// Elimination of several models of one graph at once, one per lane of a vector register.
//
// Relative to any state the Pfaffian of a plane graph is a sum of positive terms, and so is that
// of the joined legs of any set of edges. Eliminated edge by edge, whatever the order, no pivot
// is therefore smaller than its join: the order of the dissection will do, no pivot is searched
// for and models of one graph go through the same operations. What rounding does to a model is seen
// by eliminating once more in single precision: its pivots move 2^29 times as far.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/kept_memory.hpp"
#include "embedding/embedding.hpp"
#include "fronts/front_tree.hpp"
#include "lanes/lane_order.hpp"
#include "lanes/lane_program.hpp"

namespace planaris {

struct LaneProblem {
  const FrontTree& tree;
  RotationView graph;  // edges and chords
  std::span<const int8_t> signs;
  const LaneProgram& program;
  int32_t num_couplings;  // chords come after the edges; their couplings are zero
  // All vertices, those of a component after a neighbour but for the first; rows without gauge
  // states need it.
  std::span<const int32_t> vertices = {};
};

struct LaneOutcome {
  double mantissa, exponent;  // of the product of all pivots, mantissa * 2^exponent
  double total, size;         // Σ g and Σ |g|, g the couplings relative to the gauge state
  double residual;            // marginals: largest |(K K⁻¹)_ii - 1|
  double deviation;  // Σ |pivot in single precision / pivot - 1|, or as much in doubles times 2^29
  double change;     // marginals: largest |that in single precision - that in double|
  bool sound;        // no pivot fell below its join
};

class LaneMemory;

// What a group of rows does in parts, with memory of its own for each that runs beside others.
using LanePart = std::function<void(int part, LaneMemory& memory)>;

// A few models. `spins` are gauge states, or null: every spin is then set to what its neighbours
// before it want, or all to +1, and spins are flipped while that lowers the energy. `equal`, if not
// null, receives the probabilities that spins of edges agree. The same is done in single precision,
// once for each draw, with legs scaled by numbers that differ from draw to draw. The largest
// deviation counts. In doubles it is done at the same precision: that takes longer, but has the
// range for weights that single precision has not. For log Z, two draws at a time.
constexpr int kMostDraws = 4;
struct LaneDraws {
  int first = 0, end = 1;
  bool in_doubles = false;

  bool operator==(const LaneDraws&) const = default;
};
struct LaneRows {
  int count;
  const double* const* couplings;
  const int8_t* const* spins;
  LaneOutcome* found;
  double* const* equal;
  LaneDraws draws = {};
  // Called every few milliseconds, by any thread that does a part; it may throw.
  const std::function<void()>* look = nullptr;
  // log Z in the order of the tree: receive the pivots of every row, one per edge and chord, if not
  // null. Where the first draw is not 0 they are read instead, and nothing is eliminated in doubles
  // again.
  double* const* pivots = nullptr;
  // Runs a number of parts, some of them by other threads; null: one after the other.
  const std::function<void(int count, const LanePart& run)>* share = nullptr;
};

// A weight that differs from that of the other rows.
struct LaneChange {
  int32_t edge;
  double weight;
};

struct ShotOutcome {
  double mantissa, exponent;  // of the product of all pivots but the last, mantissa * 2^exponent
  double last;                // pivot of the edge that is joined last, relative to its join
  double deviation;           // Σ |pivot in single precision / pivot - 1|
  bool sound;                 // no pivot fell below its join
};

// Models whose weights exp(-g) differ in a few edges only; gauge states are all +1.
struct LaneShots {
  int count;
  const double* weight;  // by edge, chords included
  const std::vector<LaneChange>* changes;
  ShotOutcome* found;
  const std::function<void()>* look = nullptr;
};

// Counts what was done since the last look.
class LaneClock {
 public:
  explicit LaneClock(const std::function<void()>* look) : look_(look) {}
  void spend(int64_t multiplications) {
    done_ += multiplications;
    if (done_ < kPatience || look_ == nullptr) return;
    done_ = 0;
    (*look_)();
  }

 private:
  static constexpr int64_t kPatience =
      1'000'000;  // a millisecond or two; three times that in memory not yet touched
  const std::function<void()>* look_;
  int64_t done_ = 0;
};

// Aligned memory that grows, kept from group to group, and from call to call.
class LaneMemory {
 public:
  LaneMemory() = default;
  LaneMemory(LaneMemory&& other) noexcept : block_(std::exchange(other.block_, {})) {}
  LaneMemory& operator=(LaneMemory&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~LaneMemory() { return_block(block_); }

  void reserve(size_t bytes) {
    if (bytes <= block_.size) return;
    return_block(std::exchange(block_, {}));
    block_ = take_block(bytes + bytes / 4);  // groups with orders of their own differ a little
  }
  std::byte* begin() { return block_.bytes; }

 private:
  LargeBlock block_;
};

struct LaneKernels {
  const char* name;
  int most;  // rows of a group
  void (*run)(const LaneProblem& problem, const LaneRows& rows, LaneMemory& memory);
  void (*run_shots)(const LaneProblem& problem, const LaneShots& shots, LaneMemory& memory);
  // log Z of rows with gauge states, each in its own order.
  void (*run_ordered)(const LaneProblem& problem, const LaneRows& rows, const LaneOrder& order,
                      LaneMemory& memory);
  // C(i, j) += Σ_t x[i + t xt] y[t yt + j yj] of one model, sums in the order of t. Columns of C
  // and of x are read, and those of C written, up to kProductSlack numbers past their last.
  void (*product)(int64_t rows, int columns, int64_t depth, const double* x, int64_t xt,
                  const double* y, int64_t yt, int64_t yj, double* c, int64_t cj);
};
constexpr int kProductSlack = 7;
// Those of this processor, and all that it can run, plain ones first.
const LaneKernels& lane_kernels();
// For a group of so few rows that they fill narrower registers, those with narrower ones. Results
// are the same bits: products are fused in both, and no operation mixes lanes.
const LaneKernels& lane_kernels_for(int rows);
std::vector<LaneKernels> all_lane_kernels();

}  // namespace planaris
