#include "sampling/patch_heat_bath.hpp"

#include <cmath>
#include <map>
#include <random>

#include "base/splitmix64.hpp"
#include "sampling/coupling_from_the_past.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

AttractiveModel grid(int32_t rows, int32_t columns, double coupling, double spread) {
  const int32_t n = rows * columns;
  std::vector<int32_t> edges;
  std::vector<double> fields;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0.0, spread);
  for (int32_t v = 0; v < n; ++v) {
    fields.push_back(normal(random));
    if ((v + 1) % columns) edges.insert(edges.end(), {v, v + 1});
    if (v + columns < n) edges.insert(edges.end(), {v, v + columns});
  }
  return {n, edges, std::vector<double>(edges.size() / 2, coupling), fields};
}

AttractiveGraph graph_of(const AttractiveModel& model) {
  return {model.fields, model.offsets, model.neighbours, model.couplings};
}

double log_weight(const AttractiveModel& model, uint64_t state) {
  const auto spin = [&](int32_t v) { return state >> v & 1 ? 1.0 : -1.0; };
  double log = 0;
  for (int32_t v = 0; v < model.num_spins(); ++v) {
    log += model.fields[v] * spin(v);
    for (int64_t k = model.offsets[v]; k < model.offsets[v + 1]; ++k) {
      log += 0.5 * model.couplings[k] * spin(v) * spin(model.neighbours[k]);
    }
  }
  return log;
}

// Chi-square of `draws` updates of all patches of a tiling, each from a state that the updates
// before it have left; few of the states share a bin.
double chi_square(const AttractiveModel& model, int32_t bits, int draws, int& freedom) {
  Control control;
  const Patches patches(graph_of(model), bits, control);
  auto scratch = patches.make_scratch();
  std::vector<uint8_t> state(model.num_spins(), 0);
  std::map<uint64_t, double> seen;
  for (int k = 0; k < draws; ++k) {
    for (int t = 0; t < Patches::kTilings; ++t) {
      for (int32_t p = 0; p < patches.colours(t).back(); ++p) {
        patches.update(t, p, state, splitmix64(static_cast<uint64_t>(2 * k + t)), scratch);
      }
    }
    uint64_t code = 0;
    for (int32_t v = 0; v < model.num_spins(); ++v) code |= uint64_t(state[v] & 1) << v;
    ++seen[code];
  }
  double total = 0;
  const uint64_t states = uint64_t{1} << model.num_spins();
  for (uint64_t s = 0; s < states; ++s) total += std::exp(log_weight(model, s));
  double chi = 0, rest = draws, rest_seen = draws;
  freedom = 0;
  for (uint64_t s = 0; s < states; ++s) {
    const double expected = draws * std::exp(log_weight(model, s)) / total;
    if (expected < 10) continue;
    const double count = seen.contains(s) ? seen[s] : 0.0;
    chi += (count - expected) * (count - expected) / expected;
    rest -= expected;
    rest_seen -= count;
    ++freedom;
  }
  return rest > 10 ? chi + (rest_seen - rest) * (rest_seen - rest) / rest : chi;
}

}  // namespace

TEST_CASE("a patch that holds all spins draws independent samples") {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {2, 2}, {3, 3}, {2, 5}, {1, 7}}) {
    const AttractiveModel model = grid(rows, columns, 0.4, 0.5);
    int freedom = 0;
    const double chi = chi_square(model, 9, 20000, freedom);
    CHECK(chi < freedom + 4 * std::sqrt(2.0 * freedom) + 12);
  }
}

TEST_CASE("patches of any size leave the distribution as it is") {
  for (const int32_t bits : {1, 2, 3, 4, 5}) {
    const AttractiveModel model = grid(3, 4, 0.3, 0.4);
    int freedom = 0;
    // Successive states are correlated: small tables mix slowly, so the bound is loose for them.
    const double chi = chi_square(model, bits, 60000, freedom);
    CHECK(chi < 2.0 * freedom);
  }
}

TEST_CASE("updates keep the order of chains, and chains that agree stay together") {
  const AttractiveModel model = grid(20, 23, 0.6, 1.0);
  Control control;
  for (const int32_t bits : {3, 5, 8}) {
    const Patches patches(graph_of(model), bits, control);
    auto scratch = patches.make_scratch();
    std::vector<uint8_t> state(model.num_spins());
    for (size_t v = 0; v < state.size(); ++v) state[v] = v % 3 ? 2 : 6;
    size_t open = state.size();
    for (uint64_t k = 0; k < 300 && open; ++k) {
      for (int t = 0; t < Patches::kTilings; ++t) {
        bool differ = false;
        for (int32_t p = 0; p < patches.colours(t).back(); ++p) {
          differ |=
              patches.update(t, p, state, splitmix64(2 * k + static_cast<uint64_t>(t)), scratch);
        }
        open = 0;
        for (const uint8_t s : state) {
          CHECK((s == 0 || s == 2 || s == 6 || s == 7));  // bottom <= follower <= top
          open += s != 0 && s != 7;
        }
        CHECK(differ == (open > 0));
      }
    }
    CHECK(open == 0);
  }
}

TEST_CASE("patches of a tiling hold every spin once, and those of a colour do not touch") {
  for (const int32_t columns : {1, 6, 40}) {
    const AttractiveModel model = grid(31, columns, 0.5, 1.0);
    Control control;
    const Patches patches(graph_of(model), 4, control);
    for (int t = 0; t < Patches::kTilings; ++t) {
      const auto& colours = patches.colours(t);
      int32_t total = 0;
      for (int32_t p = 0; p < colours.back(); ++p) total += patches.spins(t, p);
      CHECK(total == model.num_spins());
      CHECK(colours.size() > 1);
    }
  }
}

TEST_CASE("strong couplings and single spins are left to updates of single spins") {
  Control control;
  CHECK(!Patches(graph_of(grid(20, 20, 6.0, 0.0)), 6, control).worthwhile());
  CHECK(Patches(graph_of(grid(20, 20, 4.9, 900.0)), 6, control).worthwhile());
  std::vector<int32_t> edges;  // every spin joined with every other: no patch has two spins
  for (int32_t v = 0; v < 40; ++v) {
    for (int32_t u = 0; u < v; ++u) edges.insert(edges.end(), {u, v});
  }
  const AttractiveModel dense(40, edges, std::vector<double>(edges.size() / 2, 0.1),
                              std::vector<double>(40, 0.0));
  CHECK(!Patches(graph_of(dense), 4, control).worthwhile());
}

TEST_CASE("cold grids in random fields are sampled by patches, with any threads") {
  const AttractiveModel model = grid(40, 40, 0.7, 1.0);
  Control control;
  const CoupledSamples once = sample_read_once(model, 1, 9, 1, control);
  CHECK(once.block <= 73);  // spin by spin it takes 128 sweeps at least
  for (const int threads : {2, 5}) {
    CHECK(sample_read_once(model, 1, 9, threads, control).spins == once.spins);
  }
}
