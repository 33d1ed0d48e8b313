#include "sampling/coupling_from_the_past.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

#include "base/grouping.hpp"
#include "base/splitmix64.hpp"
#include "base/team.hpp"
#include "graph/colouring.hpp"
#include "sampling/patch_heat_bath.hpp"

namespace planaris {

namespace {

// One byte per spin, one bit per chain: bottom, top, and one that follows between them.
constexpr uint8_t kDown = 0, kUp = 7, kTop = 2, kFollower = 4;

using State = std::vector<uint8_t>;

// By the bits of a spin: its value in each chain, and whether the chains differ. No branches: these
// are random bits.
constexpr double kBottomValue[8] = {-1, 1, -1, 1, -1, 1, -1, 1};
constexpr double kTopValue[8] = {-1, -1, 1, 1, -1, -1, 1, 1};
constexpr double kFollowerValue[8] = {-1, -1, -1, -1, 1, 1, 1, 1};
constexpr uint8_t kSplit[8] = {0, 1, 1, 1, 1, 1, 1, 0};

double local_field(const AttractiveModel& model, const State& state, int32_t v,
                   const double (&value)[8]) {
  double total = model.fields[v];
  for (int64_t k = model.offsets[v]; k < model.offsets[v + 1]; ++k) {
    total += model.couplings[k] * value[state[model.neighbours[k]]];
  }
  return total;
}

// Whether a spin is drawn up. A threshold is off by less than one, so that the first bits of the
// random number settle all but three in 2^32 cases.
uint8_t drawn_up(const AttractiveModel& model, const State& state, int32_t v, uint64_t bits,
                 uint32_t threshold, const double (&value)[8]) {
  const auto first = static_cast<uint32_t>(bits >> 32);
  if (first - threshold + 1 <= 2) [[unlikely]] {
    return HeatBath::decide(as_number(bits), local_field(model, state, v, value));
  }
  return first < threshold;
}

// Where the arrays of a model and a state lie: bytes that are written could be any of these, so
// that the compiler would look them up again for every spin.
struct Arrays {
  const int32_t* neighbours;
  const int64_t *offsets, *tables;
  const uint32_t* thresholds;
  uint8_t* state;
};

uint32_t pattern_of(uint32_t x) {  // bits 0, 3, 6, 9, 12 as bits 0 to 4
  x = (x | x >> 2) & 030303;
  return ((x | x >> 4) & 017) | (x >> 8 & 020);
}

// As update, from the table of a spin with few neighbours.
inline uint8_t update_by_table(const AttractiveModel& model, State& state, const Arrays& at,
                               int32_t v, uint64_t bits) {
  const uint32_t* thresholds = at.thresholds + at.tables[v];
  const int64_t first = at.offsets[v], degree = at.offsets[v + 1] - first;
  const int32_t* near = at.neighbours + first;
  uint32_t all = 0;  // three bits each
  if (degree == 4) [[likely]] {
    all = at.state[near[0]] | at.state[near[1]] << 3 | at.state[near[2]] << 6 |
          at.state[near[3]] << 9;
  } else {
    for (int64_t k = 0; k < degree; ++k) all |= uint32_t{at.state[near[k]]} << (3 * k);
  }
  constexpr uint32_t kFirst = 011111;
  const uint32_t bottom = all & kFirst, top = all >> 1 & kFirst, follower = all >> 2 & kFirst;
  const uint8_t up = drawn_up(model, state, v, bits, thresholds[pattern_of(bottom)], kBottomValue);
  uint8_t spin = up * kUp;  // up in the lowest chain: up in all
  if ((bottom ^ top) | (bottom ^ follower)) {
    spin |= drawn_up(model, state, v, bits, thresholds[pattern_of(top)], kTopValue) * kTop;
    spin |= drawn_up(model, state, v, bits, thresholds[pattern_of(follower)], kFollowerValue) *
            kFollower;
  }
  at.state[v] = spin;
  return kSplit[spin];
}

// Draws one spin in all chains given its neighbours; returns whether the chains differ there.
uint8_t update(const AttractiveModel& model, State& state, int32_t v, uint64_t bits) {
  const double u = as_number(bits);
  double bottom = model.fields[v];
  uint8_t open = 0;
  for (int64_t k = model.offsets[v]; k < model.offsets[v + 1]; ++k) {
    const uint8_t s = state[model.neighbours[k]];
    bottom += model.couplings[k] * kBottomValue[s];
    open |= kSplit[s];
  }
  uint8_t spin = model.heat_bath.up(u, bottom) * kUp;  // up in the lowest chain: up in all
  if (open) {
    spin |= model.heat_bath.up(u, local_field(model, state, v, kTopValue)) * kTop;
    spin |= model.heat_bath.up(u, local_field(model, state, v, kFollowerValue)) * kFollower;
  }
  state[v] = spin;
  return kSplit[spin];
}

void set_extremes(State& state) {  // the follower stays where it is
  for (uint8_t& s : state) s = (s & kFollower) | kTop;
}

// Sweeps of all chains by the threads of a team, or by one worker of it: spin by spin, or patch by
// patch where patches are given.
class Sweeper {
 public:
  Sweeper(const AttractiveModel& model, const Patches* patches, Team& team, int worker = -1)
      : model_(model), patches_(patches), team_(team), worker_(worker) {
    if (!patches) return;
    const int count = worker < 0 ? team.threads() : 1;
    for (int k = 0; k < count; ++k) idle_.push_back(patches->make_scratch());
  }

  // Returns whether the chains differ anywhere.
  bool sweep(State& state, uint64_t key) {
    if (worker_ < 0) team_.check(0);
    if (patches_) return sweep_patches(state, key);
    bool differ = false;
    for (size_t c = 0; c + 1 < model_.colours.size(); ++c) {
      const int64_t first = model_.colours[c], count = model_.colours[c + 1] - first;
      differ |= worker_ < 0 ? split(state, key, first, count) : alone(state, key, first, count);
    }
    return differ;
  }

 private:
  static constexpr int64_t kLook = 1 << 14;

  bool alone(State& state, uint64_t key, int64_t first, int64_t count) {
    bool differ = false;
    for (int64_t begin = 0; begin < count; begin += kLook) {
      team_.check(worker_);
      differ |= range(state, key, first + begin, first + std::min(count, begin + kLook));
    }
    return differ;
  }

  bool split(State& state, uint64_t key, int64_t first, int64_t count) {
    const int parts = Team::parts(20.0 * static_cast<double>(count));
    differs_.assign(parts, 0);
    team_.split(count, parts, [&](int64_t begin, int64_t end, int part) {
      differs_[part] = range(state, key, first + begin, first + end);
    });
    return std::ranges::any_of(differs_, [](uint8_t d) { return d != 0; });
  }

  bool sweep_patches(State& state, uint64_t key) {
    bool differ = false;
    for (int t = 0; t < Patches::kTilings; ++t) {
      const uint64_t own = splitmix64(key + static_cast<uint64_t>(t));
      const std::vector<int32_t>& colours = patches_->colours(t);
      differ = false;  // every spin is drawn anew
      for (size_t c = 0; c + 1 < colours.size(); ++c) {
        const int32_t first = colours[c], count = colours[c + 1] - first;
        if (worker_ >= 0) {
          for (int32_t p = first; p < first + count; ++p) {
            team_.check(worker_);
            differ |= patches_->update(t, p, state, own, idle_.front());
          }
          continue;
        }
        differs_.assign(count, 0);
        team_.split(count, count, [&](int64_t begin, int64_t end, int) {
          Patches::Scratch scratch = take();
          for (int64_t k = begin; k < end; ++k) {
            const auto patch = first + static_cast<int32_t>(k);
            differs_[k] = patches_->update(t, patch, state, own, scratch);
          }
          give(std::move(scratch));
        });
        differ |= std::ranges::any_of(differs_, [](uint8_t d) { return d != 0; });
      }
    }
    return differ;
  }

  Patches::Scratch take() {
    const std::lock_guard lock(mutex_);
    Patches::Scratch scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give(Patches::Scratch scratch) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

  bool range(State& state, uint64_t key, int64_t begin, int64_t end) {
    const Arrays at{model_.neighbours.data(), model_.offsets.data(), model_.tables.data(),
                    model_.thresholds.data(), state.data()};
    const int32_t* order = model_.order.data();
    uint8_t differ = 0;
    for (int64_t k = begin; k < end; ++k) {
      const int32_t v = order[k];
      const uint64_t bits = random_bits(key, v);
      differ |= at.tables[v] >= 0 ? update_by_table(model_, state, at, v, bits)
                                  : update(model_, state, v, bits);
    }
    return differ != 0;
  }

  const AttractiveModel& model_;
  const Patches* patches_;
  Team& team_;
  int worker_;
  std::vector<uint8_t> differs_;
  std::mutex mutex_;
  std::vector<Patches::Scratch> idle_;
};

// Sweeps until the extremes have met; more than `most` where they take longer.
int64_t coalescence_time(Sweeper& sweeper, int32_t num_spins, uint64_t seed, int64_t most) {
  State state(num_spins, kDown);
  set_extremes(state);
  int64_t sweeps = 1;
  while (sweeper.sweep(state, splitmix64(seed + static_cast<uint64_t>(sweeps)))) {
    if (++sweeps > most) break;
  }
  return sweeps;
}

// How chains are updated, and how many sweeps they took to meet.
struct Updates {
  std::unique_ptr<const Patches> patches;  // null: spin by spin
  int64_t sweeps = 0;
};

// Spin by spin where chains meet soon, then by patches with larger and larger tables.
Updates choose_updates(const AttractiveModel& model, uint64_t seed, Team& team, Control& control) {
  constexpr int64_t kAlways = std::numeric_limits<int64_t>::max() - 1;
  constexpr int64_t kSoon = 128, kFewSweeps = 48;
  constexpr int32_t kFirstBits = 8, kMoreBits = 2, kMostBits = 14;
  const AttractiveGraph graph{model.fields, model.offsets, model.neighbours, model.couplings};
  const auto time = [&](const Patches* patches, int64_t most) {
    Sweeper sweeper(model, patches, team);
    return coalescence_time(sweeper, model.num_spins(), seed, most);
  };
  Updates found;
  found.sweeps = time(nullptr, kSoon);
  if (found.sweeps <= kSoon) return found;
  for (int32_t bits = kFirstBits; bits <= kMostBits; bits += kMoreBits) {
    auto patches = std::make_unique<const Patches>(graph, bits, control);
    if (!patches->worthwhile()) continue;
    found.sweeps = time(patches.get(), bits == kMostBits ? kAlways : kFewSweeps);
    found.patches = std::move(patches);
    if (bits == kMostBits || found.sweeps <= kFewSweeps) return found;
  }
  found.patches.reset();
  found.sweeps = time(nullptr, kAlways);
  return found;
}

// Samples of one stream of random numbers, each the state before a block that merges all states.
class ReadOnceStream {
 public:
  ReadOnceStream(const AttractiveModel& model, int64_t block, uint64_t seed)
      : state_(model.num_spins(), kDown), block_(block), seed_(seed) {}

  // Makes the first block that merges.
  void begin(Sweeper& sweeper) {
    while (!run_block(sweeper)) {
    }
  }

  void draw(Sweeper& sweeper, std::span<int8_t> spins) {
    State before;
    do {
      before = state_;
    } while (!run_block(sweeper));
    for (size_t v = 0; v < spins.size(); ++v) spins[v] = before[v] & kFollower ? 1 : -1;
  }

  int64_t blocks() const { return blocks_; }

 private:
  bool run_block(Sweeper& sweeper) {
    ++blocks_;
    set_extremes(state_);
    bool differ = true;
    for (int64_t k = 0; k < block_; ++k)
      differ = sweeper.sweep(state_, splitmix64(seed_ + ++time_));
    return !differ;
  }

  State state_;
  int64_t block_, blocks_ = 0;
  uint64_t seed_, time_ = 0;
};

constexpr int64_t kStreams = 16;

}  // namespace

HeatBath::HeatBath() {
  for (int k = 0; k < kEntries; ++k) {
    probability_[k] = 1.0 / (1.0 + std::exp(kWidest - k / kPerUnit));
  }
}

bool HeatBath::decide(double u, double field) { return std::log(u / (1.0 - u)) < 2 * field; }

AttractiveModel::AttractiveModel(int32_t num_spins, std::span<const int32_t> edges,
                                 std::span<const double> weights, std::span<const double> h)
    : fields(h.begin(), h.end()) {
  auto [begins, leaving] = group_by_key<int64_t>(num_spins, edges);
  offsets = std::move(begins);
  for (const int32_t half : leaving) {
    neighbours.push_back(edges[half ^ 1]);
    couplings.push_back(weights[half / 2]);
  }
  Colouring found = colour_greedily(offsets, neighbours);
  order = std::move(found.order);
  colours = std::move(found.offsets);
  fill_tables();
}

void AttractiveModel::fill_tables() {
  tables.assign(num_spins(), -1);
  for (int32_t v = 0; v < num_spins(); ++v) {
    const int64_t degree = offsets[v + 1] - offsets[v];
    if (degree > kFewNeighbours) continue;
    tables[v] = std::ssize(thresholds);
    for (int64_t pattern = 0; pattern < (int64_t{1} << degree); ++pattern) {
      double total = fields[v];  // in the order of local_field
      for (int64_t k = 0; k < degree; ++k) {
        total += couplings[offsets[v] + k] * (pattern >> k & 1 ? 1.0 : -1.0);
      }
      const double p = 1.0 / (1.0 + std::exp(-2 * total));
      thresholds.push_back(static_cast<uint32_t>(std::min(p * 0x1p32, 0x1p32 - 1)));
    }
  }
}

CoupledSamples sample_read_once(const AttractiveModel& model, int64_t count, uint64_t seed,
                                int threads, Control& control) {
  CoupledSamples out;
  const int64_t n = model.num_spins();
  out.spins.resize(count * n);
  if (count == 0 || n == 0) return out;
  Team team(threads, control);
  const Updates updates = choose_updates(model, splitmix64(seed), team, control);
  out.block = 1 + updates.sweeps * 3 / 2;
  const int64_t streams = std::min(count, kStreams);
  std::vector<int64_t> blocks(streams);
  const auto run = [&](Sweeper& sweeper, int64_t s) {
    ReadOnceStream stream(model, out.block,
                          splitmix64(seed ^ splitmix64(static_cast<uint64_t>(s) + 1)));
    stream.begin(sweeper);
    for (int64_t r = s; r < count; r += streams) {
      stream.draw(sweeper, std::span(out.spins).subspan(r * n, n));
    }
    blocks[s] = stream.blocks();
  };
  if (streams >= team.threads()) {
    team.work(streams, [&](int worker, int s) {
      Sweeper sweeper(model, updates.patches.get(), team, worker);
      run(sweeper, s);
    });
  } else {
    Sweeper sweeper(model, updates.patches.get(), team);
    for (int64_t s = 0; s < streams; ++s) run(sweeper, s);
  }
  out.blocks = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
  return out;
}

PastBounds bound_from_the_past(const AttractiveModel& model, int32_t count, int64_t max_sweeps,
                               uint64_t seed, int threads, Control& control) {
  const int32_t n = model.num_spins();
  PastBounds out;
  out.lower.assign(n, 0);
  out.upper.assign(n, 0);
  Team team(threads, control);
  Sweeper sweeper(model, nullptr, team);
  for (int32_t sample = 0; sample < count; ++sample) {
    const uint64_t stream = splitmix64(seed ^ splitmix64(static_cast<uint64_t>(sample) + 1));
    State state(n, kDown);
    for (int64_t sweeps = std::min<int64_t>(4, max_sweeps);;
         sweeps = std::min(2 * sweeps, max_sweeps)) {
      set_extremes(state);
      bool differ = true;
      for (int64_t ago = sweeps; ago > 0; --ago) {
        differ = sweeper.sweep(state, splitmix64(stream + static_cast<uint64_t>(ago)));
      }
      if (!differ || sweeps >= max_sweeps) break;
    }
    for (int32_t v = 0; v < n; ++v) {
      out.lower[v] += state[v] & 1;
      out.upper[v] += (state[v] & kTop) != 0;
    }
    control.poll_now(double(sample + 1) / double(count));
  }
  return out;
}

}  // namespace planaris
