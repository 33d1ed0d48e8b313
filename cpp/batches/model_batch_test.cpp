#include "batches/model_batch.hpp"

#include <cmath>
#include <random>
#include <utility>

#include "base/scaled.hpp"
#include "batches/flipped_state.hpp"
#include "batches/ground_states.hpp"
#include "batches/sample_batch.hpp"
#include "lanes/lane_kernels.hpp"
#include "moats/moat_order.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// A graph drawn in the plane, edges around a vertex sorted by angle; no chords.
struct Drawn {
  std::vector<int32_t> edges, rotation, offsets{0}, dual, absorbing, piece;
  std::vector<int8_t> signs;
  Faces faces;
  FrontTree tree;
  int32_t num_faces = 0;

  Drawn(const std::vector<std::pair<double, double>>& spots,
        const std::vector<std::pair<int, int>>& pairs, int leaf) {
    for (const auto& [u, v] : pairs) edges.insert(edges.end(), {u, v});
    for (int v = 0; v < static_cast<int>(spots.size()); ++v) {
      std::vector<std::pair<double, int32_t>> around;
      for (int32_t h = 0; h < static_cast<int32_t>(edges.size()); ++h) {
        if (edges[h] != v) continue;
        const auto& [x, y] = spots[edges[h ^ 1]];
        // Parallel edges lie beside each other, in opposite orders at the two ends.
        const double aside = 1e-6 * (h / 2) * (v < edges[h ^ 1] ? 1 : -1);
        around.emplace_back(std::atan2(y - spots[v].second, x - spots[v].first) + aside, h);
      }
      std::sort(around.begin(), around.end());
      for (const auto& at : around) rotation.push_back(at.second);
      offsets.push_back(static_cast<int32_t>(rotation.size()));
    }
    const RotationView view{edges, rotation, offsets};
    faces = trace_faces(view);
    num_faces = static_cast<int32_t>(faces.offsets.size()) - 1;
    Control control;
    tree = dissect_faces(faces, {}, leaf, control);
    signs = kasteleyn_signs(view, faces);
    dual.assign(faces.face_of.begin(), faces.face_of.end());
    // Any face of a component may absorb.
    std::vector<int32_t> component =
        connected_components(static_cast<int32_t>(spots.size()), edges);
    std::vector<char> seen(spots.size(), 0);
    for (int32_t f = 0; f < num_faces; ++f) {
      const int32_t c = component[edges[faces.walk[faces.offsets[f]]]];
      if (!seen[c]) absorbing.push_back(f);
      seen[c] = 1;
      piece.push_back(f);
    }
  }

  PlaneGraph plane() const {
    return {tree, faces, {edges, rotation, offsets}, signs, num_faces, dual, absorbing, piece};
  }
};

struct Summed {
  double log_z = 0.0, lowest = 0.0;
  std::vector<double> equal;
};

Summed enumerate(const Drawn& g, const double* couplings) {
  const auto n = static_cast<int>(g.offsets.size()) - 1, m = static_cast<int>(g.edges.size() / 2);
  std::vector<double> energy(size_t(1) << n);
  double lowest = 1e300;
  for (size_t state = 0; state < energy.size(); ++state) {
    for (int e = 0; e < m; ++e) {
      const bool agree = ((state >> g.edges[2 * e]) & 1) == ((state >> g.edges[2 * e + 1]) & 1);
      energy[state] += agree ? -couplings[e] : couplings[e];
    }
    lowest = std::min(lowest, energy[state]);
  }
  TwoDoubles sum;
  std::vector<TwoDoubles> equal(m);
  for (size_t state = 0; state < energy.size(); ++state) {
    const TwoDoubles weight{std::exp(lowest - energy[state]), 0.0};
    sum += weight;
    for (int e = 0; e < m; ++e) {
      if (((state >> g.edges[2 * e]) & 1) == ((state >> g.edges[2 * e + 1]) & 1))
        equal[e] += weight;
    }
  }
  Summed found{std::log(sum.high) - lowest, lowest, {}};
  for (const TwoDoubles& share : equal) found.equal.push_back(share.high / sum.high);
  return found;
}

Drawn grid(int rows, int columns, int leaf, bool diagonals) {
  std::vector<std::pair<double, double>> spots;
  std::vector<std::pair<int, int>> pairs;
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      const int v = y * columns + x;
      spots.emplace_back(x, y);
      if (x + 1 < columns) pairs.emplace_back(v, v + 1);
      if (y + 1 < rows) pairs.emplace_back(v, v + columns);
      if (diagonals && x + 1 < columns && y + 1 < rows) pairs.emplace_back(v, v + columns + 1);
    }
  }
  return {spots, pairs, leaf};
}

std::vector<Drawn> graphs() {
  std::vector<Drawn> all;
  all.push_back(grid(3, 4, 1, false));
  all.push_back(grid(3, 3, 4, true));
  all.push_back(grid(1, 6, 2, false));  // a path: bridges only, one face
  // A square with a tail and a double edge, apart from a triangle.
  all.push_back({{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {-1, -1}, {5, 0}, {6, 0}, {5, 1}},
                 {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {1, 2}, {5, 6}, {6, 7}, {7, 5}},
                 1});
  return all;
}

std::vector<double> random_rows(const Drawn& g, int rows, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> couplings(size_t(rows) * g.edges.size() / 2);
  const double betas[] = {0.0, 0.3, 1.0, 3.0, 10.0, 30.0};
  for (size_t k = 0; k < couplings.size(); ++k) {
    const size_t row = k / (g.edges.size() / 2);
    const double beta = betas[row % 6];
    // Every other row of few values: ties, and ground states that are not unique.
    couplings[k] = row % 4 < 2 ? beta * normal(random) : beta * (random() % 2 ? 1.0 : -1.0);
  }
  return couplings;
}

// What lanes need of a graph.
struct Lanes {
  LaneProgram program;
  std::vector<int32_t> vertices;
  LaneProblem problem;

  explicit Lanes(const Drawn& g)
      : program(g.tree), vertices(g.plane().vertices_by_distance()),
        problem{g.tree, g.plane().graph, g.signs, program, g.plane().num_couplings(), vertices} {}
};

}  // namespace

TEST_CASE("rows of a batch equal sums over all states") {
  std::mt19937 random(3);
  for (const Drawn& g : graphs()) {
    const size_t m = g.edges.size() / 2;
    const int rows = 36;
    const std::vector<double> couplings = random_rows(g, rows, random);
    Control control;
    const ModelBatch sums = evaluate_batch(g.plane(), couplings, {false, 1}, control);
    const ModelBatch marginals = evaluate_batch(g.plane(), couplings, {true, 1}, control);
    const GroundStateBatch lowest = ground_state_batch(g.plane(), couplings, 1, control);
    double components = 0.0;
    for (size_t k = 0; k < g.absorbing.size(); ++k) components += std::log(2.0);
    for (int k = 0; k < rows; ++k) {
      const Summed expected = enumerate(g, couplings.data() + k * m);
      const double size = 1.0 + std::fabs(expected.log_z);
      REQUIRE(sums.route[k] != 0);
      REQUIRE(marginals.route[k] != 0);
      CHECK(std::fabs(sums.log_sum[k] + sums.constant[k] + components - expected.log_z) <
            1e-12 * size + 16 * sums.error[k]);
      CHECK(std::fabs(lowest.energy[k] - expected.lowest) < 1e-12 * size);
      for (size_t e = 0; e < m; ++e) {
        CHECK(std::fabs(marginals.equal[k * m + e] - expected.equal[e]) < 1e-9);
      }
    }
  }
}

TEST_CASE("results do not depend on the batch, its threads or lanes") {
  std::mt19937 random(5);
  const Drawn g = grid(7, 6, 2, true);
  const size_t m = g.edges.size() / 2;
  const int rows = 41;
  const std::vector<double> couplings = random_rows(g, rows, random);
  for (const bool marginals : {false, true}) {
    Control control;
    const ModelBatch whole = evaluate_batch(g.plane(), couplings, {marginals, 1}, control);
    const ModelBatch shared = evaluate_batch(g.plane(), couplings, {marginals, 3}, control);
    CHECK(whole.route == shared.route);
    CHECK(whole.log_sum == shared.log_sum);
    CHECK(whole.error == shared.error);
    CHECK(whole.equal == shared.equal);
    for (const int width : {1, 2, 5}) {
      for (int first = 0; first + width <= rows; first += width) {
        const std::span<const double> part{couplings.data() + first * m, width * m};
        const ModelBatch few = evaluate_batch(g.plane(), part, {marginals, 1}, control);
        for (int k = 0; k < width; ++k) {
          CHECK(few.route[k] == whole.route[first + k]);
          CHECK(few.log_sum[k] == whole.log_sum[first + k]);
          CHECK(few.constant[k] == whole.constant[first + k]);
          CHECK(few.error[k] == whole.error[first + k]);
          for (size_t e = 0; marginals && e < m; ++e) {
            CHECK(few.equal[k * m + e] == whole.equal[(first + k) * m + e]);
          }
        }
      }
    }
  }
}

TEST_CASE("kernels of all instruction sets agree") {
  std::mt19937 random(7);
  const Drawn g = grid(9, 9, 4, false);
  const size_t m = g.edges.size() / 2;
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> rows(19, std::vector<double>(m));
  std::vector<const double*> couplings;
  std::vector<std::vector<double>> equal(19, std::vector<double>(m));
  std::vector<double*> where;
  for (size_t k = 0; k < rows.size(); ++k) {
    for (double& x : rows[k]) x = normal(random);
    couplings.push_back(rows[k].data());
    where.push_back(equal[k].data());
  }
  const Lanes lanes(g);
  std::vector<double> expected;
  for (const LaneKernels& kernels : all_lane_kernels()) {
    LaneMemory memory;
    for (int first = 0; first < 19; first += kernels.most) {
      const int count = std::min(kernels.most, 19 - first);
      std::vector<LaneOutcome> found(count);
      kernels.run(lanes.problem, {count, couplings.data() + first, nullptr, found.data(), nullptr},
                  memory);
      for (int k = 0; k < count; ++k) {
        CHECK(found[k].sound);
        CHECK(found[k].deviation < 1e-2);
        const double value =
            found[k].exponent * std::log(2.0) + std::log(found[k].mantissa) + found[k].total;
        if (expected.size() < 19) {
          expected.push_back(value);
        } else {
          CHECK(std::fabs(value - expected[first + k]) < 1e-11);
        }
      }
      kernels.run(lanes.problem,
                  {count, couplings.data() + first, nullptr, found.data(), where.data() + first},
                  memory);
      for (int k = 0; k < count; ++k) CHECK(found[k].residual < 1e-11);
      // In parts, the last one first, each in memory of its own.
      const std::function<void(int, const LanePart&)> share = [](int parts, const LanePart& run) {
        for (int part = parts; part-- > 0;) {
          LaneMemory other;
          run(part, other);
        }
      };
      for (double* const* to : {static_cast<double**>(nullptr), where.data() + first}) {
        std::vector<LaneOutcome> whole(count), shared(count);
        LaneRows group{count, couplings.data() + first, nullptr, whole.data(), to, {0, 3}};
        kernels.run(lanes.problem, group, memory);
        const std::vector<std::vector<double>> before = equal;
        group.found = shared.data();
        group.share = &share;
        kernels.run(lanes.problem, group, memory);
        CHECK(equal == before);
        for (int k = 0; k < count; ++k) {
          CHECK(shared[k].mantissa == whole[k].mantissa);
          CHECK(shared[k].deviation == whole[k].deviation);
          CHECK(shared[k].deviation > 0.0);
          CHECK(shared[k].change == whole[k].change);
        }
      }
    }
  }
}

TEST_CASE("rows without frustration are relative to a ground state") {
  std::mt19937 random(9);
  const Drawn g = grid(5, 40, 4, false);
  const size_t m = g.edges.size() / 2;
  std::uniform_int_distribution<int> coin(0, 1);
  std::vector<std::vector<double>> rows(19, std::vector<double>(m));
  std::vector<const double*> couplings;
  for (auto& row : rows) {
    std::vector<double> spins(g.plane().num_vertices());
    for (double& s : spins) s = 2 * coin(random) - 1;
    for (size_t e = 0; e < m; ++e) row[e] = spins[g.edges[2 * e]] * spins[g.edges[2 * e + 1]];
    couplings.push_back(row.data());
  }
  const Lanes lanes(g);
  for (const LaneKernels& kernels : all_lane_kernels()) {
    LaneMemory memory;
    for (int first = 0; first < 19; first += kernels.most) {
      std::vector<LaneOutcome> found(std::min(kernels.most, 19 - first));
      const int count = static_cast<int>(found.size());
      kernels.run(lanes.problem, {count, couplings.data() + first, nullptr, found.data(), nullptr},
                  memory);
      for (const LaneOutcome& one : found) CHECK(one.total == static_cast<double>(m));
    }
  }
}

TEST_CASE(
    "draws in doubles: the same bits alone and in groups, and as far apart as in single "
    "precision") {
  std::mt19937 random(8);
  const Drawn g = grid(9, 9, 4, false);
  const size_t m = g.edges.size() / 2;
  const int rows = 19;
  std::normal_distribution<double> normal;
  std::vector<double> couplings(rows * m);
  for (double& x : couplings) x = 2.0 * normal(random);  // flips leave something that cancels
  std::vector<const double*> begins;
  for (int k = 0; k < rows; ++k) begins.push_back(couplings.data() + k * m);
  const Lanes lanes(g);
  for (const LaneKernels& kernels : all_lane_kernels()) {
    LaneMemory memory;
    const auto run = [&](int size, LaneDraws draws) {
      std::vector<LaneOutcome> found(rows);
      for (int first = 0; first < rows; first += size) {
        kernels.run(lanes.problem,
                    {std::min(size, rows - first), begins.data() + first, nullptr,
                     found.data() + first, nullptr, draws},
                    memory);
      }
      return found;
    };
    const std::vector<LaneOutcome> alone = run(1, {0, 2, true}), single = run(1, {0, 2});
    for (const int size : {2, 3, kernels.most}) {
      const std::vector<LaneOutcome> found = run(size, {0, 2, true});
      for (int k = 0; k < rows; ++k) {
        CHECK(found[k].mantissa == alone[k].mantissa);
        CHECK(found[k].mantissa == single[k].mantissa);
        CHECK(found[k].deviation == alone[k].deviation);
      }
    }
    // Rounding is 2^29 times as coarse in single precision: what both say of a model is alike.
    double wide = 0.0, narrow = 0.0;
    for (int k = 0; k < rows; ++k) {
      CHECK(alone[k].sound);
      CHECK(alone[k].deviation > 0.0);
      if (std::isinf(single[k].deviation)) continue;
      CHECK(alone[k].deviation < 100 * single[k].deviation);
      CHECK(alone[k].deviation > 0.01 * single[k].deviation);
      wide += std::log(alone[k].deviation);
      narrow += std::log(single[k].deviation);
    }
    CHECK(std::fabs(wide - narrow) < rows * std::log(3.0));
  }
}

TEST_CASE("models in orders of their own: right, and the same bits in every group") {
  std::mt19937 random(17);
  for (const Drawn& g : graphs()) {
    const size_t m = g.edges.size() / 2;
    const int rows = 16;
    std::vector<double> couplings = random_rows(g, rows, random);
    for (double& x : couplings) x *= 0.4;  // up to 12: single precision has the range
    const PlaneGraph plane = g.plane();
    GroundStateFinder finder(plane);
    const MoatPlaces places(g.tree, g.faces);
    std::vector<GaugeState> gauges(rows);
    std::vector<MoatOrder> orders;
    std::vector<RowOrder> views;
    std::vector<const double*> begins;
    std::vector<const int8_t*> spins;
    size_t held = 0;
    for (int k = 0; k < rows; ++k) {
      const std::span<const double> row{couplings.data() + k * m, m};
      GaugeState& gauge = gauges[k];
      finder.find_gauge(row, gauge);
      std::vector<double> gauged, values;
      for (size_t e = 0; e < m; ++e) {
        gauged.push_back(row[e] * gauge.spins[g.edges[2 * e]] * gauge.spins[g.edges[2 * e + 1]]);
      }
      for (const int64_t value : gauge.tjoin.values) {
        values.push_back(std::ldexp(double(value), gauge.tjoin.exponent - 1));
      }
      const TJoinSolution& t = gauge.tjoin;
      orders.push_back(
          moat_order(places, {t.order, t.start, t.stop, t.parent, values}, gauged, t.join, 0.0));
      begins.push_back(row.data());
      spins.push_back(gauge.spins.data());
    }
    for (const MoatOrder& order : orders) views.push_back({order.earliest, order.rank});
    const LaneProgram program(g.tree);
    const LaneProblem problem{g.tree, plane.graph, g.signs, program, static_cast<int32_t>(m)};
    double components = 0.0;
    for (size_t k = 0; k < g.absorbing.size(); ++k) components += std::log(2.0);
    for (const LaneKernels& kernels : all_lane_kernels()) {
      LaneMemory memory;
      std::vector<LaneOutcome> alone(rows), found(rows);
      const auto run = [&](int first, int count, std::vector<LaneOutcome>& to) {
        const LaneOrder order(g.tree, std::span(views).subspan(first, count));
        held += count > 1 && order.pivots > static_cast<int64_t>(m);
        kernels.run_ordered(
            problem,
            {count, begins.data() + first, spins.data() + first, to.data() + first, nullptr}, order,
            memory);
      };
      for (int k = 0; k < rows; ++k) run(k, 1, alone);
      for (const int size : {2, 3, kernels.most}) {
        for (int first = 0; first < rows; first += size) {
          run(first, std::min(size, rows - first), found);
        }
        for (int k = 0; k < rows; ++k) {
          CHECK(found[k].sound);
          CHECK(found[k].mantissa == alone[k].mantissa);
          CHECK(found[k].exponent == alone[k].exponent);
          CHECK(found[k].deviation == alone[k].deviation);
        }
      }
      for (int k = 0; k < rows; ++k) {
        const double value = found[k].exponent * std::log(2.0) + std::log(found[k].mantissa) +
                             found[k].total + components;
        const Summed expected = enumerate(g, couplings.data() + k * m);
        CHECK(std::fabs(value - expected.log_z) < 1e-13 * (8 + std::fabs(expected.log_z)));
        CHECK(found[k].deviation < 1e-4);
      }
    }
    if (m > 12) CHECK(held > 0);  // an edge was handed on
  }
}

TEST_CASE("flips lower the energy, and no flip of a spin would lower it further") {
  std::mt19937 random(9);
  for (const Drawn& g : graphs()) {
    const size_t m = g.edges.size() / 2;
    const std::vector<double> couplings = random_rows(g, 8, random);
    for (int k = 0; k < 8; ++k) {
      Control control;
      const std::span<const double> row{couplings.data() + k * m, m};
      const std::vector<int8_t> spins = flipped_state(g.plane().graph, row, 1, control);
      double up = 0.0, found = 0.0;
      std::vector<double> held(spins.size(), 0.0);
      for (size_t e = 0; e < m; ++e) {
        const double term = row[e] * spins[g.edges[2 * e]] * spins[g.edges[2 * e + 1]];
        up += row[e];
        found += term;
        held[g.edges[2 * e]] += term;
        held[g.edges[2 * e + 1]] += term;
      }
      CHECK(found >= up - 1e-9);
      for (const double h : held) CHECK(h >= -1e-9);
      // In parts: the same from any number of threads, and no flip of a spin helps either.
      const std::vector<int8_t> shared = flipped_state(g.plane().graph, row, 1, control, 3);
      CHECK(flipped_state(g.plane().graph, row, 4, control, 3) == shared);
      std::fill(held.begin(), held.end(), 0.0);
      for (size_t e = 0; e < m; ++e) {
        const int32_t u = g.edges[2 * e], v = g.edges[2 * e + 1];
        held[u] += row[e] * shared[u] * shared[v];
        held[v] += row[e] * shared[u] * shared[v];
      }
      for (const double h : held) CHECK(h >= -1e-9);
    }
  }
}

TEST_CASE("samples of a batch have the probabilities of their states") {
  std::mt19937 random(13);
  const Drawn g = grid(2, 3, 1, false);
  const size_t m = g.edges.size() / 2, rows = 3, size = 4000;
  std::vector<double> couplings(rows * m);
  for (size_t k = 0; k < couplings.size();
       ++k) {  // the second row needs a gauge, the third is cold
    couplings[k] = std::normal_distribution<double>()(random) * (k < m       ? 0.7
                                                                 : k < 2 * m ? 2.0
                                                                             : 9.0);
  }
  couplings[m] = 4.0;
  couplings[2 * m] = 20.0;
  std::vector<double> uniform(rows * size * m);
  for (double& x : uniform) x = std::uniform_real_distribution<double>()(random);
  Control control;
  const SampleBatch found =
      sample_batch(g.plane(), couplings, size, uniform, {3.0, 8.0, 1e-6, 1}, control);
  for (size_t row = 0; row < rows; ++row) {
    const Summed expected = enumerate(g, couplings.data() + row * m);
    std::vector<double> equal(m, 0.0);
    for (size_t k = row * size; k < (row + 1) * size; ++k) {
      REQUIRE(found.doubtful[k] == (row == 2));
      for (size_t e = 0; e < m; ++e) {
        equal[e] += found.spins[6 * k + g.edges[2 * e]] == found.spins[6 * k + g.edges[2 * e + 1]];
      }
    }
    for (size_t e = 0; row < 2 && e < m; ++e) {
      CHECK(std::fabs(equal[e] / size - expected.equal[e]) < 5 * 0.5 / std::sqrt(double(size)));
    }
  }
  for (const int threads : {2, 5}) {  // models shared, and all threads on each
    const SampleBatch shared =
        sample_batch(g.plane(), couplings, size, uniform, {3.0, 8.0, 1e-6, threads}, control);
    CHECK(shared.spins == found.spins);
    CHECK(shared.doubtful == found.doubtful);
  }
  // No probability is right to less than no digit: decisions are compared to weights.
  const SampleBatch refused =
      sample_batch(g.plane(), couplings, size, uniform, {3.0, 8.0, -1.0, 1}, control);
  CHECK(std::count(refused.doubtful.begin(), refused.doubtful.end(), 0) == 0);
}

TEST_CASE("rows are counted by the edges of the graph") {
  const Drawn g = grid(2, 2, 1, false);
  Control control;
  const std::vector<double> five(5, 1.0), none;
  CHECK_THROWS_AS(evaluate_batch(g.plane(), five, {}, control), std::invalid_argument);
  CHECK(evaluate_batch(g.plane(), none, {}, control).route.empty());
  CHECK(ground_state_batch(g.plane(), none, 2, control).energy.empty());
  CHECK(sample_batch(g.plane(), none, 3, none, {3.0, 8.0, 1e-6, 2}, control).spins.empty());
  CHECK_THROWS_AS(
      sample_batch(g.plane(), std::vector<double>(4, 1.0), 2, five, {3.0, 8.0, 1e-6}, control),
      std::invalid_argument);
}
