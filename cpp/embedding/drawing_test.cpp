#include "embedding/drawing.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "embedding/embedding.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

static Drawing draw(int32_t n, const std::vector<int32_t>& edges, const std::vector<double>& at) {
  Control control;
  return embed_drawing(n, edges, at, control);
}

TEST_CASE("a square turns counter clockwise") {
  const Drawing d = draw(4, {0, 1, 1, 2, 2, 3, 3, 0}, {0, 0, 1, 0, 1, 1, 0, 1});
  CHECK(d.flaw == Flaw::none);
  CHECK(std::ranges::equal(d.rotation, std::vector<int32_t>{0, 7, 2, 1, 4, 3, 5, 6}));
  CHECK(d.outer.size() == 1);
  CHECK(d.outer[0] == 7);  // from (0, 0) up: the outside is on its left
}

TEST_CASE("flaws are named") {
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 2, 2, 0, 2, 2, 0}).flaw == Flaw::crossing);
  const Drawing overlap = draw(3, {0, 1, 0, 2}, {0, 0, 2, 2, 1, 1});
  CHECK(overlap.flaw == Flaw::overlap);
  CHECK(overlap.first == 0);
  CHECK(overlap.second == 1);
  const Drawing through = draw(4, {0, 1, 2, 3}, {0, 0, 2, 2, 1, 1, 2, 0});
  CHECK(through.flaw == Flaw::through_vertex);
  CHECK(through.first == 0);
  CHECK(through.second == 2);
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 1, 0, 5, 5, 1, 0}).flaw == Flaw::same_place);
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 3, 0, 1, 0, 5, 0}).flaw != Flaw::none);
}

TEST_CASE("an isolated vertex takes up no room") {
  CHECK(draw(3, {0, 1}, {0, 0, 2, 0, 1, 0}).flaw == Flaw::none);
}

TEST_CASE("parallel edges lie side by side") {
  const std::vector<int32_t> edges{0, 1, 1, 0, 0, 1};
  const Drawing d = draw(2, edges, {0, 0, 1, 0});
  CHECK(d.flaw == Flaw::none);
  CHECK(trace_faces({edges, d.rotation, d.offsets}).offsets.size() == 4);
}

static bool same(const Drawing& a, const Drawing& b) {
  const bool alike = a.flaw == b.flaw && a.first == b.first && a.second == b.second;
  return alike && (a.flaw != Flaw::none ||
                   (a.rotation == b.rotation && a.offsets == b.offsets && a.outer == b.outer));
}

TEST_CASE("strips that are swept at the same time find what one sweep finds") {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % uint32_t(n)); };
  int plane = 0, flawed[5] = {};
  for (int trial = 0; trial < 4000; ++trial) {
    // Points of a long and narrow grid, many of them in one place, on one line, or without edges.
    const int32_t n = 200 + below(200), width = 60 + below(200);
    std::vector<double> at;
    for (int32_t v = 0; v < n; ++v) {
      at.push_back(trial % 2 ? v * width / n : below(width));
      at.push_back(trial % 2 ? v % 4 + below(2) * 0.5 : below(5));
    }
    std::vector<int32_t> edges;
    const int count = below(trial % 3 ? 20 : 120);
    while (static_cast<int>(edges.size()) < 2 * count) {
      const int32_t u = below(n), v = trial % 2 ? std::min(n - 1, u + 1 + below(9)) : below(n);
      if (u == v || std::abs(at[2 * u] - at[2 * v]) > 9) continue;
      for (int copies = below(5) ? 1 : 2; copies > 0; --copies) edges.insert(edges.end(), {u, v});
    }
    Control one, three;
    three.set_threads(3);
    const Drawing swept = embed_drawing(n, edges, at, one);
    const Drawing in_strips = embed_drawing(n, edges, at, three, n / (2 + below(5)));
    CHECK(same(swept, in_strips));
    plane += swept.flaw == Flaw::none;
    ++flawed[static_cast<int>(swept.flaw)];
  }
  CHECK(plane > 400);
  for (const int seen : flawed) CHECK(seen > 20);
}

TEST_CASE("a large drawing is sorted and swept alike by any number of threads") {
  const int32_t rows = 260, columns = 300;
  std::vector<int32_t> place(rows * columns);
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), std::mt19937(3));
  std::vector<double> at(2 * place.size());
  std::vector<int32_t> edges;
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; ++c) {
      const int32_t v = place[r * columns + c];
      at[2 * v] = c, at[2 * v + 1] = r;
      if (c + 1 < columns) edges.insert(edges.end(), {v, place[r * columns + c + 1]});
      if (r + 1 < rows) edges.insert(edges.end(), {place[(r + 1) * columns + c], v});
    }
  }
  Control one;
  const Drawing swept = embed_drawing(rows * columns, edges, at, one);
  CHECK(swept.flaw == Flaw::none);
  CHECK(trace_faces({edges, swept.rotation, swept.offsets}).offsets.size() ==
        size_t((rows - 1) * (columns - 1) + 2));
  for (const int threads : {2, 5}) {
    Control several;
    several.set_threads(threads);
    CHECK(same(swept, embed_drawing(rows * columns, edges, at, several)));
  }
}
