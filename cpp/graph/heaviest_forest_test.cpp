#include "graph/heaviest_forest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("heavy edges that close no cycle are taken, the first of equal ones") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 0, 3, 4, 1, 0};
  const double none = std::numeric_limits<double>::quiet_NaN();
  Control control;
  const std::vector<double> weights{1, 1, 2, none, 1}, equal(5, 0.5);
  CHECK(heaviest_forest(6, edges, weights, control) == (std::vector<int32_t>{0, 2, 3}));
  CHECK(heaviest_forest(6, edges, equal, control) == (std::vector<int32_t>{0, 1, 3}));
  CHECK(heaviest_forest(0, {}, {}, control).empty());
}

TEST_CASE("forests of what is not there are refused") {
  const std::vector<int32_t> edges{0, 1}, far{0, 7};
  const std::vector<double> one{1}, two{1, 2};
  Control control;
  CHECK_THROWS_AS(heaviest_forest(2, edges, two, control), std::invalid_argument);
  CHECK_THROWS_AS(heaviest_forest(2, far, one, control), std::invalid_argument);
}

TEST_CASE("long runs are merged as one sort would order them") {
  // All edges join the same two vertices: the heaviest is taken, the first of equal ones.
  const size_t count = 50000;
  std::vector<int32_t> edges;
  std::vector<double> weights(count);
  for (size_t k = 0; k < count; ++k) {
    edges.insert(edges.end(), {0, 1});
    weights[k] = static_cast<double>((7919 * k) % 4096);
  }
  Control control;
  const auto best = std::max_element(weights.begin(), weights.end()) - weights.begin();
  CHECK(heaviest_forest(2, edges, weights, control) ==
        std::vector<int32_t>{static_cast<int32_t>(best)});
}

TEST_CASE("a forest of a cycle leaves out its lightest edge") {
  const int32_t n = 100000;
  std::vector<int32_t> edges;
  std::vector<double> weights;
  for (int32_t v = 0; v < n; ++v) {
    edges.insert(edges.end(), {v, (v + 1) % n});
    weights.push_back((v * 31337LL) % n);  // a permutation: one weight is zero
  }
  Control control;
  std::vector<int32_t> all(n);
  std::iota(all.begin(), all.end(), 0);
  all.erase(all.begin());
  CHECK(heaviest_forest(n, edges, weights, control) == all);
}
