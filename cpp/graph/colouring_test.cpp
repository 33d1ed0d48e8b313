#include "graph/colouring.hpp"

#include <algorithm>

#include "base/splitmix64.hpp"
#include "third_party/doctest/doctest.h"

namespace planaris {

namespace {

std::vector<int32_t> colour_of(const Colouring& found) {
  std::vector<int32_t> colour(found.order.size(), -1);
  for (size_t c = 0; c + 1 < found.offsets.size(); ++c) {
    for (int32_t k = found.offsets[c]; k < found.offsets[c + 1]; ++k) {
      colour[found.order[k]] = static_cast<int32_t>(c);
    }
  }
  return colour;
}

}  // namespace

TEST_CASE("no edge joins two vertices of one colour, and every colour is needed by its vertices") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto n = static_cast<int32_t>(seed % 12);
    std::vector<int32_t> edges;
    for (int32_t v = 0; v < n; ++v) {
      for (int32_t u = 0; u < v; ++u) {
        if (splitmix64(seed * 1000 + 50 * v + u) % 4 < seed % 5) edges.insert(edges.end(), {u, v});
      }
    }
    const Colouring found = colour_breadth_first(n, edges);
    const std::vector<int32_t> colour = colour_of(found);
    CHECK(std::ranges::none_of(colour, [](int32_t c) { return c < 0; }));
    std::vector<std::vector<bool>> sees(n, std::vector<bool>(n, false));
    for (size_t e = 0; e < edges.size(); e += 2) {
      const int32_t u = edges[e], v = edges[e + 1];
      CHECK(colour[u] != colour[v]);
      sees[u][colour[v]] = sees[v][colour[u]] = true;
    }
    for (int32_t v = 0; v < n; ++v) {
      for (int32_t c = 0; c < colour[v]; ++c) CHECK(sees[v][c]);
    }
  }
}

TEST_CASE("two colours where two are enough, in any numbering") {
  // A crown: every vertex is joined with all of the other side but one. Coloured in the
  // order of its vertices it takes ten colours.
  std::vector<int32_t> edges;
  for (int32_t i = 0; i < 10; ++i) {
    for (int32_t j = 0; j < 10; ++j) {
      if (i != j) edges.insert(edges.end(), {2 * i, 2 * j + 1});
    }
  }
  CHECK(colour_breadth_first(20, edges).offsets == std::vector<int32_t>{0, 10, 20});
  CHECK(colour_breadth_first(0, {}).offsets == std::vector<int32_t>{0});
  CHECK(colour_breadth_first(3, {}).offsets == std::vector<int32_t>{0, 3});
}

}  // namespace planaris
