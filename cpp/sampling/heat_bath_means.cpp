#include "sampling/heat_bath_means.hpp"

#include <mutex>

#include "base/splitmix64.hpp"
#include "base/team.hpp"
#include "sampling/patch_heat_bath.hpp"

namespace planaris {

namespace {

constexpr int64_t kDrawsPerLook = 1 << 20;  // at the clock

// Whether a spin is drawn up, given those around it: 1 for up.
uint8_t draw_spin(const AttractiveModel& model, const std::vector<uint8_t>& up, int32_t v,
                  uint64_t bits) {
  const int64_t first = model.offsets[v], last = model.offsets[v + 1];
  if (model.tables[v] >= 0) {
    uint32_t pattern = 0;
    for (int64_t k = first; k < last; ++k) {
      pattern |= uint32_t{up[model.neighbours[k]]} << (k - first);
    }
    return (bits >> 32) < model.thresholds[model.tables[v] + pattern];
  }
  double field = model.fields[v];
  for (int64_t k = first; k < last; ++k) {
    field += up[model.neighbours[k]] ? model.couplings[k] : -model.couplings[k];
  }
  return model.heat_bath.up(as_number(bits), field);
}

}  // namespace

std::vector<double> heat_bath_means(const AttractiveModel& model, std::span<const int8_t> start,
                                    int chains, int64_t sweeps, uint64_t seed, int threads,
                                    Control& control) {
  const int32_t n = model.num_spins();
  const int64_t first = sweeps / 10;
  std::vector<int64_t> counts(n, 0);
  std::mutex mutex;
  Team team(threads, control);
  team.work(chains, [&](int worker, int chain) {
    const uint64_t stream = splitmix64(seed ^ splitmix64(static_cast<uint64_t>(chain) + 1));
    std::vector<uint8_t> up(n);
    std::vector<int64_t> own(n, 0);
    for (int32_t v = 0; v < n; ++v) up[v] = start[v] > 0;
    int64_t drawn = kDrawsPerLook;
    for (int64_t t = 0; t < sweeps; ++t) {
      if ((drawn += n) >= kDrawsPerLook) {
        team.check(worker);
        drawn = 0;
      }
      const uint64_t key = splitmix64(stream + static_cast<uint64_t>(t));
      for (int32_t v = 0; v < n; ++v) {
        up[v] = draw_spin(model, up, v, random_bits(key, v));
        own[v] += t >= first ? up[v] : 0;
      }
    }
    const std::lock_guard lock(mutex);
    for (int32_t v = 0; v < n; ++v) counts[v] += own[v];
  });
  std::vector<double> means(n);
  const auto seen = static_cast<double>(chains * (sweeps - first));
  for (int32_t v = 0; v < n; ++v) means[v] = static_cast<double>(counts[v]) / seen;
  return means;
}

}  // namespace planaris
