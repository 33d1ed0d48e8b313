#include "embedding/torus_classes.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <unordered_set>
#include <utility>

#include "embedding/series_parallel.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// A square lattice with periodic boundaries and shuffled numbers; mirrored, it is a Klein bottle.
std::vector<int32_t> shuffled_lattice(int32_t rows, int32_t columns, bool mirrored) {
  std::vector<int32_t> number(rows * columns), edges;
  std::iota(number.begin(), number.end(), 0);
  std::mt19937 rng(static_cast<uint32_t>(rows * columns));
  std::shuffle(number.begin(), number.end(), rng);
  const auto site = [&](int32_t r, int32_t c) {
    if (r == rows) r = 0, c = mirrored ? columns - c : c;
    return number[r * columns + c % columns];
  };
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; ++c) {
      for (const auto& [down, right] : {std::pair(0, 1), std::pair(1, 0)}) {
        edges.push_back(site(r, c));
        edges.push_back(site(r + down, c + right));
      }
    }
  }
  return edges;
}

}  // namespace

TEST_CASE("faces of a torus sum to zero, straight lines around it to a basis") {
  Control control;
  const int32_t rows = 6, columns = 9;
  const auto edges = shuffled_lattice(rows, columns, false);
  const auto found = find_torus_classes(rows * columns, edges, 0, 3, control);
  REQUIRE(found.length == 4);
  CHECK(found.left_out.empty());
  // Edges come as (right, down) of each site in turn.
  const auto right = [&](int32_t r, int32_t c, int32_t k) {
    return found.classes[2 * (2 * ((r % rows) * columns + c % columns)) + k];
  };
  const auto down = [&](int32_t r, int32_t c, int32_t k) {
    return found.classes[2 * (2 * ((r % rows) * columns + c % columns) + 1) + k];
  };
  int32_t row[2] = {0, 0}, column[2] = {0, 0};
  for (int32_t k = 0; k < 2; ++k) {
    for (int32_t r = 0; r < rows; ++r) {
      for (int32_t c = 0; c < columns; ++c) {
        CHECK(right(r, c, k) + down(r, c + 1, k) == down(r, c, k) + right(r + 1, c, k));
      }
    }
    for (int32_t c = 0; c < columns; ++c) row[k] += right(0, c, k);
    for (int32_t r = 0; r < rows; ++r) column[k] += down(r, 0, k);
  }
  CHECK(std::abs(row[0] * column[1] - row[1] * column[0]) == 1);
}

TEST_CASE("an edge across a torus is left out") {
  Control control;
  auto edges = shuffled_lattice(8, 8, false);
  const int32_t from = edges[0], far = edges[2 * 2 * (4 * 8 + 4)];  // four rows and columns away
  edges.insert(edges.end(), {from, far});
  CHECK(find_torus_classes(64, edges, 0, 3, control).length == 0);
  const auto found = find_torus_classes(64, edges, 1, 3, control);
  CHECK(found.length == 4);
  CHECK(found.left_out == std::vector<int32_t>{128});
}

TEST_CASE("other surfaces have other classes") {
  Control control;
  CHECK(find_torus_classes(56, shuffled_lattice(8, 7, true), 0, 3, control).length == 0);
  CHECK(find_torus_classes(0, {}, 0, 3, control).length == 0);
  const std::vector<int32_t> apart{0, 1, 2, 3};
  CHECK(find_torus_classes(4, apart, 0, 3, control).length == 0);
}

TEST_CASE("series and parallel edges become one") {
  // K4, one of its edges subdivided and doubled, and a tail.
  const std::vector<int32_t> edges{0, 4, 4, 1, 0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3, 3, 5, 5, 6};
  Control control;
  const auto core = reduce_series_parallel(7, edges, control);
  CHECK(core.edges.size() == 12);
  CHECK(core.group_of[0] == core.group_of[1]);
  CHECK(core.group_of[0] == core.group_of[2]);
  CHECK(core.group_of[8] == -1);
  CHECK(core.group_of[9] == -1);
  CHECK(std::unordered_set<int32_t>(core.group_of.begin(), core.group_of.end()).size() == 7);
  const std::vector<int32_t> ring{0, 1, 1, 2, 2, 3, 3, 0};
  CHECK(reduce_series_parallel(4, ring, control).edges.empty());
}
