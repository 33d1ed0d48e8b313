// Heat-bath updates of patches: all spins of a patch are drawn at once, given those around it.
//
// A patch is summed over by one table over its frontier, and its spins are drawn one by one on the
// way back, each with a random number of its own: up where the number is less than the probability
// given the spins around the patch and those drawn before. Couplings are not negative, so by the
// inequality of Fortuin, Kasteleyn and Ginibre that probability grows with all of these. Updates
// of chains by the same numbers keep the order of states, as updates of single spins do, and
// chains meet sooner the wider the patches are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Adjacency lists of a graph with couplings that are not negative, and fields.
struct AttractiveGraph {
  std::span<const double> fields;
  std::span<const int64_t> offsets;
  std::span<const int32_t> neighbours;
  std::span<const double> couplings;

  int32_t num_spins() const { return static_cast<int32_t>(fields.size()); }
};

// Two tilings of the spins by patches, the second one shifted by half a patch.
class Patches {
 public:
  static constexpr int kTilings = 2;
  // Couplings of a spin together, at most: tables keep their weights in the range of doubles.
  static constexpr double kStrongest = 20.0;

  // Tables hold at most 2^bits entries.
  Patches(const AttractiveGraph& graph, int32_t bits, Control& control);

  // Whether patches hold enough spins for the work that they take.
  bool worthwhile() const;

  // Patches of one colour do not interact; offsets into the patches of a tiling.
  const std::vector<int32_t>& colours(int tiling) const { return colours_[tiling]; }
  int32_t spins(int tiling, int32_t patch) const;

  // Memory that updates work in, one at a time.
  struct Scratch {
    std::vector<double> tables;
    std::vector<uint8_t> drawn[3];
  };
  Scratch make_scratch() const;

  // Draws the spins of a patch in the chains of `state`: bits for the lowest, the highest, and one
  // between them. Random numbers depend on the key and the spin. Returns whether the chains differ
  // in the patch. It does not throw.
  bool update(int tiling, int32_t patch, std::vector<uint8_t>& state, uint64_t key,
              Scratch& scratch) const;

 private:
  enum Kind : int8_t { kReplace, kPair, kPush, kPop };
  struct Op {
    Kind kind;
    int8_t slot, control;  // bits of the table's index; control: -1 for none
    int8_t bits_before;
    int32_t old_spin, new_spin;  // numbers in the patch
    double across, beside;       // e^-2J of the edges old-new and control-new
  };
  struct Patch {
    std::vector<int32_t> spins;
    std::vector<Op> ops;
    std::vector<int32_t> outside_offsets, outside;  // by spin of the patch
    std::vector<double> outside_couplings;
    int64_t entries = 0;  // of all tables that are kept
  };

  Patch make_patch(std::span<const int32_t> spins, int32_t bits, std::vector<int32_t>& local) const;
  void colour(int tiling);
  void draw(const Patch& patch, const std::vector<uint8_t>& state, int chain, uint64_t key,
            Scratch& scratch) const;

  AttractiveGraph graph_;
  std::vector<Patch> patches_[kTilings];
  std::vector<int32_t> colours_[kTilings];
};

uint64_t random_bits(uint64_t key, int32_t spin);  // depend on both
double as_number(uint64_t bits);                   // in (0, 1)

}  // namespace planaris
