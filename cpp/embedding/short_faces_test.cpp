#include "embedding/short_faces.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// Square lattice of rows x columns with periodic boundaries; the last row is joined to the first
// one `twist` sites further right. Vertex numbers are shuffled.
std::vector<int32_t> shuffled_torus(int32_t rows, int32_t columns, int32_t twist, bool diagonals) {
  std::vector<int32_t> number(rows * columns), edges;
  std::iota(number.begin(), number.end(), 0);
  std::mt19937 rng(static_cast<uint32_t>(rows * columns + twist));
  std::shuffle(number.begin(), number.end(), rng);
  const auto site = [&](int32_t r, int32_t c) {
    if (r == rows) r = 0, c += twist;
    return number[r * columns + c % columns];
  };
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; ++c) {
      for (const auto& [down, right] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)}) {
        if (down + right == 2 && !diagonals) continue;
        edges.push_back(site(r, c));
        edges.push_back(site(r + down, c + right));
      }
    }
  }
  return edges;
}

}  // namespace

TEST_CASE("shuffled tori are put together from their faces") {
  Control control;
  for (const auto& [rows, columns, twist] :
       {std::tuple(5, 5, 0), std::tuple(6, 9, 2), std::tuple(4, 9, 0), std::tuple(3, 8, 0)}) {
    for (const bool diagonals : {false, true}) {
      if (diagonals && rows < 5) continue;
      const auto edges = shuffled_torus(rows, columns, twist, diagonals);
      const auto found = embed_by_short_faces(rows * columns, edges, control);
      CHECK(found.found);
      CHECK(found.left_out.empty());
      CHECK(found.rotation.size() == edges.size());
    }
  }
}

TEST_CASE("an edge across is left out") {
  Control control;
  auto edges = shuffled_torus(8, 8, 0, false);
  std::vector<int32_t> distance(64, 64);
  distance[0] = 0;
  for (int32_t round = 0; round < 8; ++round) {
    for (size_t h = 0; h < edges.size(); ++h) {
      distance[edges[h]] = std::min(distance[edges[h]], distance[edges[h ^ 1]] + 1);
    }
  }
  const auto far =
      static_cast<int32_t>(std::max_element(distance.begin(), distance.end()) - distance.begin());
  edges.push_back(0);
  edges.push_back(far);
  const auto found = embed_by_short_faces(64, edges, control);
  REQUIRE(found.found);
  CHECK(found.left_out == std::vector<int32_t>{128});
}

TEST_CASE("what is no surface is refused") {
  Control control;
  const std::vector<int32_t> loop{0, 0, 0, 1}, parallel{0, 1, 1, 0}, none{};
  CHECK(!embed_by_short_faces(2, loop, control).found);
  CHECK(!embed_by_short_faces(2, parallel, control).found);
  CHECK(!embed_by_short_faces(3, none, control).found);
  std::vector<int32_t> complete;
  for (int32_t u = 0; u < 9; ++u) {
    for (int32_t v = u + 1; v < 9; ++v) complete.insert(complete.end(), {u, v});
  }
  CHECK(!embed_by_short_faces(9, complete, control).found);
}
