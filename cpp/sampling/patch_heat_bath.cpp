#include "sampling/patch_heat_bath.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/simd.hpp"
#include "base/splitmix64.hpp"
#include "frontier/frontier.hpp"
#include "graph/colouring.hpp"

namespace planaris {

uint64_t random_bits(uint64_t key, int32_t spin) {
  return splitmix64(key + kGoldenGamma * static_cast<uint64_t>(spin));
}

double as_number(uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

namespace {

constexpr int64_t kFewSpins = 24;  // of a mean patch: single spins are updated instead
constexpr int32_t kAspect = 2;     // length of a patch over its width
constexpr double kSmall = 0x1p-300, kRaise = 0x1p300;  // tables with smaller entries are raised

// Lane l of the result is lane l ^ kBit of x.
template <int W, int kBit, int... kLanes>
PLANARIS_INLINE typename Pack<W>::Type partners(typename Pack<W>::Type x,
                                                std::integer_sequence<int, kLanes...>) {
#ifdef __clang__
  return __builtin_shufflevector(x, x, (kLanes ^ kBit)...);
#else
  return __builtin_shuffle(x, typename Pack<W>::Bits{(kLanes ^ kBit)...});
#endif
}

// to[i] = w (from[i] + across from[i ^ bit]), w by the bits of slot and control in i, for tables of
// eight entries or more. `weights` holds eight entries for each value of these bits, those below
// the third bit already applied. Returns the largest. All widths of a register give the same
// digits.
struct ReplaceAll {
  template <int W, int kSlot>
  static PLANARIS_INLINE double rows(const double* __restrict from, double* __restrict to,
                                     int64_t size, int slot, int control, double across,
                                     const double* weights) {
    typename Pack<W>::Type top = {};
    const int64_t bit = int64_t{1} << slot;
    for (int64_t i = 0; i < size; i += W) {
      const auto x = Pack<W>::get(from + i);
      typename Pack<W>::Type y;
      if constexpr ((1 << kSlot) < W) {
        y = partners<W, 1 << kSlot>(x, std::make_integer_sequence<int, W>());
      } else {
        y = Pack<W>::get(from + (i ^ bit));
      }
      const int64_t k =
          (kSlot < 3 ? 0 : i >> slot & 1) | (control < 3 ? 0 : (i >> control & 1) << 1);
      const auto z = Pack<W>::get(weights + 8 * k + (i & 7)) * (x + across * y);
      Pack<W>::set(to + i, z);
      top = z > top ? z : top;
    }
    double most = 0;
    for (int l = 0; l < W; ++l) most = std::max(most, static_cast<double>(top[l]));
    return most;
  }

  template <int W>
  static PLANARIS_INLINE double run(const double* from, double* to, int64_t size, int slot,
                                    int control, double across, const double* weights) {
    switch (slot) {
      case 0: return rows<W, 0>(from, to, size, slot, control, across, weights);
      case 1: return rows<W, 1>(from, to, size, slot, control, across, weights);
      case 2: return rows<W, 2>(from, to, size, slot, control, across, weights);
      default: return rows<W, 3>(from, to, size, slot, control, across, weights);
    }
  }
};

// The same entry by entry, for tables of fewer than eight.
double replace_few(const double* from, double* to, int64_t size, int slot, int control,
                   double across, const double (&w)[4]) {
  double top = 0;
  for (int64_t i = 0; i < size; ++i) {
    const int k = static_cast<int>(i >> slot & 1) |
                  (control < 0 ? 0 : static_cast<int>(i >> control & 1) << 1);
    to[i] = w[k] * (from[i] + across * from[i ^ (int64_t{1} << slot)]);
    top = std::max(top, to[i]);
  }
  return top;
}

// Distances from a spin at an end of each component, and from one at the middle of its rim.
struct Levels {
  std::vector<int32_t> first, second;

  explicit Levels(const AttractiveGraph& graph)
      : first(graph.num_spins(), -1), second(graph.num_spins(), -1) {
    const int32_t n = graph.num_spins();
    std::vector<int32_t> rough(n, -1);
    for (int32_t v = 0; v < n; ++v) {
      if (rough[v] >= 0) continue;
      const int32_t end = search(graph, v, rough).back();
      const auto whole = search(graph, end, first);
      const auto size = static_cast<int32_t>(whole.size());
      const auto breadth = static_cast<int32_t>(std::sqrt(static_cast<double>(size))) + 1;
      const auto degree = [&](int32_t u) { return graph.offsets[u + 1] - graph.offsets[u]; };
      int32_t root = whole[size / 2];
      for (int32_t k = std::max(0, size / 2 - breadth); k < std::min(size, size / 2 + breadth);
           ++k) {
        if (degree(whole[k]) < degree(root)) root = whole[k];
      }
      search(graph, root, second);
    }
  }

 private:
  static std::vector<int32_t> search(const AttractiveGraph& graph, int32_t root,
                                     std::vector<int32_t>& level) {
    std::vector<int32_t> queue{root};
    level[root] = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
      for (int64_t k = graph.offsets[queue[i]]; k < graph.offsets[queue[i] + 1]; ++k) {
        const int32_t u = graph.neighbours[k];
        if (level[u] >= 0) continue;
        level[u] = level[queue[i]] + 1;
        queue.push_back(u);
      }
    }
    return queue;
  }
};

}  // namespace

Patches::Patches(const AttractiveGraph& graph, int32_t bits, Control& control) : graph_(graph) {
  const int32_t n = graph.num_spins();
  const Levels levels(graph);
  const int32_t width = std::max(2, 2 * (bits - 1)), length = kAspect * width;
  std::vector<int32_t> order(n), local(n, -1);
  for (int t = 0; t < kTilings; ++t) {
    const auto cell = [&](int32_t v) {
      return std::pair((levels.first[v] + t * width / 2) / width,
                       (levels.second[v] + t * length / 2) / length);
    };
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int32_t v) {
      return std::tuple(cell(v), levels.second[v], levels.first[v], v);
    });
    for (int32_t begin = 0, end; begin < n; begin = end) {
      control.poll();
      for (end = begin + 1; end < n && cell(order[end]) == cell(order[begin]);) ++end;
      // Cut until the table is small enough.
      for (int32_t at = begin, count = end - begin; at < end;) {
        count = std::min(count, end - at);
        Patch patch = make_patch(std::span(order).subspan(at, count), bits, local);
        if (patch.ops.empty()) {
          count = (count + 1) / 2;
          continue;
        }
        patches_[t].push_back(std::move(patch));
        at += count;
      }
    }
    colour(t);
  }
}

int32_t Patches::spins(int tiling, int32_t patch) const {
  return static_cast<int32_t>(patches_[tiling][patch].spins.size());
}

bool Patches::worthwhile() const {
  for (int32_t v = 0; v < graph_.num_spins(); ++v) {
    double total = 0;
    for (int64_t k = graph_.offsets[v]; k < graph_.offsets[v + 1]; ++k)
      total += graph_.couplings[k];
    if (!(total <= kStrongest)) return false;
  }
  return graph_.num_spins() >= kFewSpins * std::ssize(patches_[0]);
}

// Without operations where the table would be too large.
Patches::Patch Patches::make_patch(std::span<const int32_t> spins, int32_t bits,
                                   std::vector<int32_t>& local) const {
  Patch patch;
  patch.spins.assign(spins.begin(), spins.end());
  const auto n = static_cast<int32_t>(spins.size());
  for (int32_t i = 0; i < n; ++i) local[spins[i]] = i;
  std::vector<int32_t> edges;
  std::vector<double> couplings;
  patch.outside_offsets.push_back(0);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t v = spins[i];
    const size_t own = edges.size();
    for (int64_t k = graph_.offsets[v]; k < graph_.offsets[v + 1]; ++k) {
      const int32_t u = graph_.neighbours[k], other = local[u];
      if (other < 0) {
        patch.outside.push_back(u);
        patch.outside_couplings.push_back(graph_.couplings[k]);
      } else if (other > i) {
        size_t e = own;  // parallel edges are one
        while (e < edges.size() && edges[e + 1] != other) e += 2;
        if (e == edges.size()) {
          edges.insert(edges.end(), {i, other});
          couplings.push_back(0);
        }
        couplings[e / 2] += graph_.couplings[k];
      }
    }
    patch.outside_offsets.push_back(static_cast<int32_t>(patch.outside.size()));
  }
  for (const int32_t v : spins) local[v] = -1;
  const std::vector<double> pairs(4 * couplings.size(), 0.0), singles(2 * spins.size(), 0.0);
  const PairwiseView view{edges, pairs, singles};
  std::vector<int32_t> layout(n);
  std::iota(layout.begin(), layout.end(), 0);
  if (frontier_width(view, layout, bits) > bits) return patch;
  const FrontierProgram program = frontier_program(view, layout, bits);
  const auto weight = [&](int32_t e) { return e < 0 ? 1.0 : std::exp(-2 * couplings[e]); };
  for (const FrontierStep& step : program.steps) {
    for (int32_t k = step.first_op; k < step.last_op; ++k) {
      const FrontierOp& op = program.ops[k];
      const Kind kind = step.kind == FrontierStep::kPush  ? kPush
                        : step.kind == FrontierStep::kPop ? kPop
                        : op.old_spin >= 0                ? kReplace
                                                          : kPair;
      patch.ops.push_back({kind, static_cast<int8_t>(op.slot), static_cast<int8_t>(op.control),
                           static_cast<int8_t>(step.bits_before), op.old_spin, op.new_spin,
                           kind == kReplace ? weight(op.edge) : 1.0,
                           weight(kind == kPair ? op.edge : op.control_edge)});
      if (kind != kPair) patch.entries += int64_t{1} << std::max(step.bits_before, 3);
    }
  }
  patch.entries += 8;
  return patch;
}

void Patches::colour(int tiling) {
  std::vector<Patch>& patches = patches_[tiling];
  std::vector<int32_t> home(graph_.num_spins()), beside;
  for (int32_t p = 0; p < std::ssize(patches); ++p) {
    for (const int32_t v : patches[p].spins) home[v] = p;
  }
  std::vector<int64_t> offsets{0};
  for (const Patch& patch : patches) {
    for (const int32_t u : patch.outside) beside.push_back(home[u]);
    offsets.push_back(std::ssize(beside));
  }
  Colouring found = colour_greedily(offsets, beside);
  std::vector<Patch> sorted;
  sorted.reserve(patches.size());
  for (const int32_t p : found.order) sorted.push_back(std::move(patches[p]));
  patches = std::move(sorted);
  colours_[tiling] = std::move(found.offsets);
}

Patches::Scratch Patches::make_scratch() const {
  Scratch scratch;
  size_t spins = 0;
  int64_t entries = 0;
  for (const auto& tiling : patches_) {
    for (const Patch& patch : tiling) {
      spins = std::max(spins, patch.spins.size());
      entries = std::max(entries, patch.entries);
    }
  }
  scratch.tables.resize(entries);
  for (auto& drawn : scratch.drawn) drawn.reserve(spins);
  return scratch;
}

void Patches::draw(const Patch& patch, const std::vector<uint8_t>& state, int chain, uint64_t key,
                   Scratch& scratch) const {
  std::vector<uint8_t>& drawn = scratch.drawn[chain];
  drawn.assign(patch.spins.size(), 0);
  // The weights of a spin that is down and up, in the field of its neighbours around the patch.
  const auto weigh = [&](int32_t i, double (&w)[2]) {
    double field = graph_.fields[patch.spins[i]];
    for (int32_t k = patch.outside_offsets[i]; k < patch.outside_offsets[i + 1]; ++k) {
      const double j = patch.outside_couplings[k];
      field += state[patch.outside[k]] >> chain & 1 ? j : -j;
    }
    const double less = std::exp(-2 * std::abs(field));
    w[0] = field > 0 ? less : 1.0;
    w[1] = field > 0 ? 1.0 : less;
  };
  double* table = scratch.tables.data();
  table[0] = 1;
  double top = 1;
  const auto kept = [](const Op& op) { return int64_t{1} << std::max<int>(op.bits_before, 3); };
  for (const Op& op : patch.ops) {
    const int64_t size = int64_t{1} << op.bits_before;
    double* next = table + kept(op);
    const double factor = top < kSmall ? kRaise : 1.0;
    if (op.kind == kReplace) {
      double own[2];
      weigh(op.new_spin, own);
      double w[4];  // [control][new]
      w[0] = own[0] * factor;
      w[1] = own[1] * factor * (op.control < 0 ? 1.0 : op.beside);
      w[2] = own[0] * factor * (op.control < 0 ? 1.0 : op.beside);
      w[3] = own[1] * factor;
      if (op.bits_before < 3) {
        top = replace_few(table, next, size, op.slot, op.control, op.across, w);
      } else {
        double rows[32];
        for (int k = 0; k < 4; ++k) {
          for (int l = 0; l < 8; ++l) {
            const int b = op.slot < 3 ? l >> op.slot & 1 : k & 1;
            const int c = op.control < 0 ? 0 : op.control < 3 ? l >> op.control & 1 : k >> 1;
            rows[8 * k + l] = w[2 * c + b];
          }
        }
        const int slot = op.slot, control = std::max<int>(op.control, 0);
        const double across = op.across, *from = table, *weights = rows;
        top = run_widest<ReplaceAll>(from, next, size, slot, control, across, weights);
      }
      table = next;
    } else if (op.kind == kPair) {
      for (int64_t i = 0; i < size; ++i) {
        if ((i >> op.slot ^ i >> op.control) & 1) table[i] *= op.beside;
      }
    } else if (op.kind == kPush) {
      double own[2];
      weigh(op.new_spin, own);
      for (int64_t i = 0; i < size; ++i) {
        next[i] = table[i] * own[0] * factor;
        next[i + size] = table[i] * own[1] * factor;
      }
      top *= factor;
      table = next;
    } else {
      const int64_t half = size / 2, bit = int64_t{1} << op.slot;
      top = 0;
      for (int64_t i = 0; i < half; ++i) {  // the last slot's spin moves to the one that is free
        const int64_t rest = (i & ~bit) | ((i & bit) && bit != half ? half : 0);
        next[i] = (table[rest] + table[rest | bit]) * factor;
        top = std::max(top, next[i]);
      }
      table = next;
    }
  }
  // Back again: what a spin was when it left, given those that came after it.
  uint64_t index = 0;
  for (auto op = patch.ops.rbegin(); op != patch.ops.rend(); ++op) {
    if (op->kind == kPair) continue;
    table -= kept(*op);
    const uint64_t bit = uint64_t{1} << op->slot;
    double down = 0, up = 0;
    if (op->kind == kPush) {
      drawn[op->new_spin] = (index & bit) != 0;
      index &= ~bit;
      continue;
    }
    if (op->kind == kPop) {
      const uint64_t last = uint64_t{1} << (op->bits_before - 1);
      if (bit != last) index = (index & ~bit) | (index & bit ? last : 0);
      down = table[index];
      up = table[index | bit];
    } else {
      const bool label = index & bit;
      drawn[op->new_spin] = label;
      index &= ~bit;
      down = table[index] * (label ? op->across : 1.0);
      up = table[index | bit] * (label ? 1.0 : op->across);
    }
    const double u = as_number(random_bits(key, patch.spins[op->old_spin]));
    if (u * (down + up) < up) index |= bit;
  }
}

bool Patches::update(int tiling, int32_t number, std::vector<uint8_t>& state, uint64_t key,
                     Scratch& scratch) const {
  const Patch& patch = patches_[tiling][number];
  // Chains that agree around the patch agree in it.
  bool highest = false, between = false, apart = false;
  for (const int32_t u : patch.outside) {
    const uint8_t s = state[u];
    highest |= (s ^ s >> 1) & 1;
    between |= (s ^ s >> 2) & 1;
    apart |= (s >> 1 ^ s >> 2) & 1;
  }
  draw(patch, state, 0, key, scratch);
  if (highest) draw(patch, state, 1, key, scratch);
  if (between && apart) draw(patch, state, 2, key, scratch);
  const auto& low = scratch.drawn[0];
  const auto& high = highest ? scratch.drawn[1] : low;
  const auto& middle = !between ? low : !apart ? high : scratch.drawn[2];
  bool differ = false;
  for (size_t i = 0; i < patch.spins.size(); ++i) {
    // Rounding may not undo the order.
    const uint8_t bottom = low[i], top = high[i] | bottom, follower = (middle[i] | bottom) & top;
    state[patch.spins[i]] = static_cast<uint8_t>(bottom | top << 1 | follower << 2);
    differ |= bottom != top || bottom != follower;
  }
  return differ;
}

}  // namespace planaris
