#include "decoding/coset_update.hpp"

#include <cmath>
#include <random>

#include "decoding/lane_cosets.hpp"
#include "decoding/shot_decoder.hpp"
#include "decoding/wide_inverse.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// A wheel: hub 0 and a rim of n vertices, edges 0 … n - 1 spokes, n … 2n - 1 along the rim.
struct Wheel {
  int32_t n;
  std::vector<int32_t> edges, rotation, offsets;

  explicit Wheel(int32_t n) : n(n) {
    for (int32_t k = 0; k < n; ++k) edges.insert(edges.end(), {0, 1 + k});
    for (int32_t k = 0; k < n; ++k) edges.insert(edges.end(), {1 + k, 1 + (k + 1) % n});
    offsets.push_back(0);
    for (int32_t k = 0; k < n; ++k) rotation.push_back(2 * k);
    offsets.push_back(n);
    for (int32_t k = 0; k < n; ++k) {  // inwards, then clockwise neighbour, counter-clockwise one
      rotation.push_back(2 * k + 1);
      rotation.push_back(2 * (n + (k + n - 1) % n) + 1);
      rotation.push_back(2 * (n + k));
      offsets.push_back(int32_t(rotation.size()));
    }
  }
  RotationView view() const { return {edges, rotation, offsets}; }

  // Σ over cuts that hold `inside` or not (-1: all): the product of the odds, inverse on `flipped`.
  double sum(const std::vector<double>& odds, const std::vector<int32_t>& flipped, int32_t edge,
             int inside) const {
    double total = 0.0;
    for (uint32_t side = 0; side < (1u << n); ++side) {  // the hub is on side 0
      const auto on = [&](int32_t v) { return v == 0 ? 0u : (side >> (v - 1)) & 1u; };
      double weight = 1.0;
      bool holds = false;
      for (size_t e = 0; e < odds.size(); ++e) {
        bool cut = on(edges[2 * e]) != on(edges[2 * e + 1]);
        if (int32_t(e) == edge) holds = cut;
        for (const int32_t f : flipped) cut ^= int32_t(e) == f;
        if (cut) weight *= odds[e];
      }
      if (inside < 0 || holds == (inside == 1)) total += weight;
    }
    return total;
  }
};

std::vector<double> draw_odds(size_t count, double least, double most, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(std::log(least), std::log(most));
  std::vector<double> odds(count);
  for (double& x : odds) x = std::exp(uniform(random));
  return odds;
}

}  // namespace

TEST_CASE("weights of changed joins are ratios of sums over cuts") {
  std::mt19937 random(7);
  for (const int32_t n : {3, 5, 8}) {
    for (const double least : {0.5, 0.05, 1e-3, 1e-5}) {
      const Wheel wheel(n);
      std::vector<double> odds = draw_odds(size_t(2 * n), least, std::min(1.0, 10 * least), random);
      const int32_t logical = 2 * n - 1;
      odds[logical] = 1.0;
      std::vector<double> logs;
      for (const double x : odds) logs.push_back(std::log(x));
      Control control;
      const EdgeInverse inverse = edge_inverse(wheel.view(), logs, 1, control);
      const WideInverse wide = wide_inverse(wheel.view(), logs, 2, control);
      const double whole = wheel.sum(odds, {}, -1, -1);
      CHECK(inverse.log_pfaffian == doctest::Approx(std::log(whole)).epsilon(1e-13));
      for (int32_t e = 0; e < 2 * n; ++e) {
        const double share = wheel.sum(odds, {}, e, 1) / whole;
        CHECK(inverse.diagonal[e] == doctest::Approx(share).epsilon(1e-12));
        CHECK(to_double(wide.diagonal[e]) == doctest::Approx(share).epsilon(1e-13));
      }
      for (const auto& flipped : {std::vector<int32_t>{}, {0}, {1, n}, {0, 1, 2, n + 1}}) {
        std::vector<JoinChange> changes;
        double factor = 0.0;
        for (const int32_t e : flipped) {
          const double t = odds[e] * odds[e];
          changes.push_back({e, t / (1.0 - t)});
          factor += std::log1p(-t) - logs[e];
        }
        const double all = wheel.sum(odds, flipped, -1, -1);
        const double other = wheel.sum(odds, flipped, logical, 1) / all;
        CosetUpdate update(inverse);
        for (const bool careful : {false, true}) {
          if (!careful && least < 0.05) continue;  // pivots alone do not show what cancels there
          const CosetWeight found = update.weigh(changes, logical, careful);
          const double slack = 1e-13 * (10.0 + found.doubt + found.other_error / other);
          const double log_weight = factor + found.log_pivots - std::log(all / whole);
          CHECK(std::fabs(log_weight) < slack);
          CHECK(std::fabs(found.other - other) < slack * other);
        }
        const WideWeight found = weigh_wide(wide, changes, logical);
        CHECK(std::fabs(factor + found.log_pivots - std::log(all / whole)) < 1e-12);
        CHECK(std::fabs(found.log_other - std::log(other)) < 1e-12);
      }
    }
  }
}

TEST_CASE("lanes weigh flipped and erased edges as sums over cuts do") {
  std::mt19937 random(11);
  for (const int32_t n : {3, 5, 8}) {
    for (const double least : {0.9, 0.05, 1e-3}) {
      const Wheel wheel(n);
      std::vector<double> odds = draw_odds(size_t(2 * n), least, std::min(1.0, 10 * least), random);
      const int32_t logical = 2 * n - 1;
      odds[logical] = 1.0;
      std::vector<double> logs;
      for (const double x : odds) logs.push_back(std::log(x));
      Control control;
      const LaneCosets lanes(wheel.view(), logs, logical, control);
      for (const size_t count : {size_t(1), size_t(lanes.most())}) {
        std::vector<std::vector<LaneChange>> changes(count);
        std::vector<double> log_sum(count), other(count);
        for (size_t k = 0; k < count; ++k) {
          const auto e = int32_t(k % size_t(n)), erased = n + int32_t(k % 2);
          changes[k] = {lanes.flipped(e), lanes.erased(erased)};
          std::vector<double> changed = odds;
          changed[erased] = 1.0;
          const double all = wheel.sum(changed, {e}, -1, -1);
          other[k] = wheel.sum(changed, {e}, logical, 1) / all;
          log_sum[k] = std::log(all / odds[e]);  // relative to the empty set, which lacks e
        }
        std::vector<LaneCosets::Weight> found(count);
        LaneMemory memory;
        lanes.weigh(changes, found, memory, [] {});
        for (size_t k = 0; k < count; ++k) {
          CHECK(found[k].trusted);
          CHECK(std::fabs(found[k].log_sum - log_sum[k]) < 1e-12);
          CHECK(std::fabs(found[k].other - other[k]) < 1e-13);
        }
      }
    }
  }
}

TEST_CASE("inverses of changed joins are inverses") {
  std::mt19937 random(3);
  const Wheel wheel(6);
  std::vector<double> logs;
  for (const double x : draw_odds(12, 0.1, 0.9, random)) logs.push_back(std::log(x));
  Control control;
  const EdgeInverse inverse = edge_inverse(wheel.view(), logs, 1, control);
  const std::vector<JoinChange> changes = {{0, 0.3}, {4, 0.2}, {7, 1.5}, {10, 0.05}};
  CosetUpdate update(inverse);
  std::vector<double> found;
  REQUIRE(update.invert(changes, found));
  const size_t n = 2 * changes.size();
  std::vector<double> matrix(n * n, 0.0);
  for (size_t i = 0; i < changes.size(); ++i) {
    matrix[2 * i * n + 2 * i + 1] = changes[i].ratio + inverse.diagonal[changes[i].edge];
    for (size_t j = i + 1; j < changes.size(); ++j) {
      const double* block = inverse.block(changes[i].edge, changes[j].edge);
      for (size_t a = 0; a < 2; ++a) {
        for (size_t b = 0; b < 2; ++b) matrix[(2 * i + a) * n + 2 * j + b] = block[2 * a + b];
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) matrix[i * n + j] = -matrix[j * n + i];
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (size_t k = 0; k < n; ++k) sum += matrix[i * n + k] * found[k * n + j];
      CHECK(sum == doctest::Approx(i == j ? 1.0 : 0.0).epsilon(1e-12));
    }
  }
}

TEST_CASE("shots that no error explains are told by number and vertex") {
  DecodingEdges edges;
  edges.num_detectors = 3;
  edges.num_vertices = 4;
  edges.ends = {0, 3, 1, 2};
  edges.boundary = {3};
  edges.weight = {1.0, 2.0};
  edges.mask = {1, 0};
  ShotMatcher matcher(edges);
  std::vector<uint8_t> bits(200, 0b111);
  Control control;
  for (const int threads : {1, 3}) {
    const Matches found = matcher.match({bits.data(), 200, 1, {}, {}}, -1, true, threads, control);
    CHECK(found.impossible.shot == -1);
    CHECK(found.weight[199] == 3.0);
    CHECK(found.flips[7] == 1);
    CHECK(found.edges.size() == 400);
  }
  bits[150] = 0b010;
  bits[180] = 0b100;
  const Matches found = matcher.match({bits.data(), 200, 1, {}, {}}, -1, false, 2, control);
  CHECK(found.impossible.shot == 150);
  CHECK(found.impossible.vertex == 1);
  const std::vector<int64_t> offsets = {0, 1};
  const std::vector<int32_t> erased = {1};
  CHECK(matcher.match({bits.data(), 1, 1, offsets, erased}, -1, false, 1, control).weight[0] ==
        1.0);
}
