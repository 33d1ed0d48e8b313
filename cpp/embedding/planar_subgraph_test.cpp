#include "embedding/planar_subgraph.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "embedding/planarity.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

constexpr int64_t kMany = std::numeric_limits<int64_t>::max();

std::vector<int32_t> random_graph(int32_t n, int32_t m, std::mt19937& random) {
  std::vector<int32_t> edges;
  for (int32_t u = 0; u < n; ++u) {
    for (int32_t v = 0; v < u; ++v) edges.insert(edges.end(), {u, v});
  }
  for (size_t e = edges.size() / 2; e > 1; --e) {
    const size_t other = random() % e;
    std::swap(edges[2 * e - 2], edges[2 * other]);
    std::swap(edges[2 * e - 1], edges[2 * other + 1]);
  }
  edges.resize(2 * std::min<size_t>(m, edges.size() / 2));
  return edges;
}

std::vector<int64_t> random_order(size_t m, std::mt19937& random) {
  std::vector<int64_t> order(m);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

bool is_planar(int32_t n, const std::vector<int32_t>& edges, const std::vector<uint8_t>& chosen) {
  std::vector<int32_t> kept;
  for (size_t e = 0; e < chosen.size(); ++e) {
    if (chosen[e]) kept.insert(kept.end(), {edges[2 * e], edges[2 * e + 1]});
  }
  Control control;
  return LeftRight(n, kept, control).test();
}

}  // namespace

TEST_CASE("edges are taken one by one, as a plain loop would") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const int32_t n = 5 + static_cast<int32_t>(random() % 20);
    const std::vector<int32_t> edges = random_graph(n, 4 * n, random);
    const std::vector<int64_t> order = random_order(edges.size() / 2, random);
    Control control;
    const std::vector<uint8_t> found = maximal_planar(n, edges, order, kMany, control);
    std::vector<uint8_t> plain(edges.size() / 2, 0);
    for (const int64_t e : order) {
      plain[e] = 1;
      if (!is_planar(n, edges, plain)) plain[e] = 0;
    }
    CHECK(found == plain);
  }
}

TEST_CASE("few tests, no tests and no edges") {
  std::mt19937 random(2);
  const std::vector<int32_t> edges = random_graph(30, 200, random);
  const std::vector<int64_t> order = random_order(edges.size() / 2, random);
  Control control;
  for (const int64_t tests : {0, 1, 2, 7, 50}) {
    const std::vector<uint8_t> found = maximal_planar(30, edges, order, tests, control);
    CHECK(is_planar(30, edges, found));
    CHECK(std::count(found.begin(), found.end(), 1) >= 8);
  }
  CHECK(maximal_planar(0, {}, {}, kMany, control).empty());
  CHECK(maximal_planar(2, std::vector<int32_t>{0, 1}, {}, kMany, control) ==
        std::vector<uint8_t>{0});
}

TEST_CASE("a deadline leaves a planar graph") {
  std::mt19937 random(3);
  const std::vector<int32_t> edges = random_graph(60, 900, random);
  const std::vector<int64_t> order = random_order(edges.size() / 2, random);
  for (const int stop : {0, 1, 5, 100, 4000}) {
    int calls = 0;
    Control control(
        [&](double) -> bool {
          if (calls++ >= stop) throw DeadlinePassed();
          return true;
        },
        std::numeric_limits<double>::infinity(), {.stride = 1, .interval = 0.0});
    CHECK(is_planar(60, edges, maximal_planar(60, edges, order, kMany, control)));
  }
}
