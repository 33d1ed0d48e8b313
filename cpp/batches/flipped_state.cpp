#include "batches/flipped_state.hpp"

#include <algorithm>
#include <numeric>

#include "base/team.hpp"

namespace planaris {

namespace {

constexpr int kFlipSweeps = 8, kSingleFlipSweeps = 2;
constexpr uint8_t kAlone = 1, kPaired = 2;

class Flips {
 public:
  Flips(const RotationView& graph, std::span<const double> couplings, int threads, Control& control,
        int32_t part)
      : graph_(graph), couplings_(couplings), edges_(static_cast<int32_t>(couplings.size())),
        control_(control), team_(threads, control),
        parts_(std::max(1, graph.num_vertices() / part)), changed_(parts_),
        spins_(graph.num_vertices(), 1), field_(spins_.size()), inner_(spins_.size()),
        open_(spins_.size(), kAlone | kPaired) {
    share([this](int32_t begin, int32_t end, int) {
      for (int32_t v = begin; v < end; ++v) {
        bool inner = true;
        for (int32_t at = graph_.offsets[v]; at < graph_.offsets[v + 1]; ++at) {
          const int32_t h = graph_.rotation[at], w = graph_.head(h);
          inner &= w >= begin && w < end;
          if (h >> 1 < edges_) field_[v] += couplings_[h >> 1];
        }
        inner_[v] = inner;
      }
    });
    // Not by the threads: what they run must not throw.
    for (size_t v = 0; v < inner_.size(); ++v) {
      if (!inner_[v]) border_.push_back(static_cast<int32_t>(v));
    }
  }

  std::vector<int8_t> run() {
    for (int sweep = 0; sweep < kFlipSweeps; ++sweep) {
      bool any = flip_all([this](int32_t v, bool) { return flip_one(v); });
      if (any && sweep < kSingleFlipSweeps) continue;
      any |= flip_all([this](int32_t v, bool inner) { return flip_pairs(v, inner); });
      if (!any) break;
    }
    return std::move(spins_);
  }

 private:
  template <class Body>
  void share(Body&& body) {
    team_.split(static_cast<int64_t>(spins_.size()), parts_,
                [&](int64_t begin, int64_t end, int k) {
                  body(static_cast<int32_t>(begin), static_cast<int32_t>(end), k);
                });
  }

  // Spins inside of parts, then those between them; whether any was flipped.
  template <class Flip>
  bool flip_all(Flip&& flip) {
    share([&](int32_t begin, int32_t end, int k) {
      bool any = false;
      for (int32_t v = begin; v < end; ++v) {
        if (inner_[v]) any |= flip(v, true);
      }
      changed_[k] = any;
    });
    bool any = std::accumulate(changed_.begin(), changed_.end(), 0) > 0;
    for (const int32_t v : border_) {
      control_.poll();
      any |= flip(v, false);
    }
    return any;
  }

  bool flip_one(int32_t v) {
    if (!(open_[v] & kAlone)) return false;
    open_[v] &= static_cast<uint8_t>(~kAlone);
    if (!(field_[v] * spins_[v] < 0.0)) return false;
    flip(v);
    return true;
  }

  bool flip_pairs(int32_t u, bool inner) {
    if (!(open_[u] & kPaired)) return false;
    open_[u] &= static_cast<uint8_t>(~kPaired);
    bool any = false;
    for (int32_t at = graph_.offsets[u]; at < graph_.offsets[u + 1]; ++at) {
      const int32_t h = graph_.rotation[at], e = h >> 1, v = graph_.head(h);
      const bool later =
          v > u && (open_[v] & kPaired);  // this pair is looked at when it is v's turn
      if (e >= edges_ || u == v || later) continue;
      if (inner && !inner_[v]) {
        open_[v] |= kPaired;  // its turn comes after all inner ones
        continue;
      }
      const double joined = 2.0 * couplings_[e] * spins_[u] * spins_[v];
      if (!(field_[u] * spins_[u] + field_[v] * spins_[v] < joined)) continue;
      flip(u);
      flip(v);
      any = true;
    }
    return any;
  }

  void flip(int32_t v) {
    spins_[v] = static_cast<int8_t>(-spins_[v]);
    open_[v] = kAlone | kPaired;
    for (int32_t at = graph_.offsets[v]; at < graph_.offsets[v + 1]; ++at) {
      const int32_t h = graph_.rotation[at], w = graph_.head(h);
      if (w == v || h >> 1 >= edges_) continue;
      field_[w] += 2.0 * couplings_[h >> 1] * spins_[v];
      open_[w] = kAlone | kPaired;
    }
  }

  const RotationView& graph_;
  std::span<const double> couplings_;
  int32_t edges_;  // without chords
  Control& control_;
  Team team_;
  int parts_;
  std::vector<uint8_t> changed_;  // by part
  std::vector<int8_t> spins_;
  std::vector<double> field_;  // Σ J s of the neighbours
  std::vector<uint8_t> inner_;
  std::vector<uint8_t>
      open_;  // what has to be looked at (again): a spin alone, and with its neighbours
  std::vector<int32_t> border_;  // spins with neighbours in other parts
};

}  // namespace

std::vector<int8_t> flipped_state(const RotationView& graph, std::span<const double> couplings,
                                  int threads, Control& control, int32_t part) {
  return Flips(graph, couplings, threads, control, part).run();
}

}  // namespace planaris
