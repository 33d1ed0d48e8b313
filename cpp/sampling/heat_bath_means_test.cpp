#include "sampling/heat_bath_means.hpp"

#include <cmath>

#include "sampling/all_states.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// A spin with six neighbours, too many for a table, two of which are joined.
const std::vector<int32_t> kStar{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1, 2};
const std::vector<double> kStarCouplings{0.4, 0.3, 0.6, 0.5, 0.1, 0.2, 0.3};
const std::vector<double> kStarFields{0.3, -0.5, 0.1, 0.2, -0.9, 0.4, 0.0};

std::vector<double> exact_means() {
  const std::vector<double> p = state_probabilities(kStar, kStarCouplings, kStarFields);
  std::vector<double> up(7);
  for (int code = 0; code < 128; ++code) {
    for (int v = 0; v < 7; ++v) up[v] += (code >> v & 1) * p[code];
  }
  return up;
}

}  // namespace

TEST_CASE("means of heat-bath chains are probabilities, whichever threads run them") {
  Control control;
  const AttractiveModel model(7, kStar, kStarCouplings, kStarFields);
  const std::vector<int8_t> start(7, 1);
  const auto means = heat_bath_means(model, start, 4, 20000, 3, 1, control);
  const auto exact = exact_means();
  // Standard deviations of 72,000 draws are at most .0019, and twice that where they depend.
  for (int v = 0; v < 7; ++v) CHECK(std::abs(means[v] - exact[v]) < 0.015);
  CHECK(heat_bath_means(model, start, 4, 20000, 3, 3, control) == means);
}

TEST_CASE("chains of cold models stay in their domain") {
  Control control;
  const std::vector<int32_t> edges{0, 1};
  const std::vector<double> couplings{20.0}, fields{0.0, 0.0};
  const AttractiveModel model(2, edges, couplings, fields);
  const std::vector<int8_t> start{-1, -1};
  CHECK(heat_bath_means(model, start, 2, 100, 1, 1, control) == std::vector<double>{0.0, 0.0});
  CHECK(heat_bath_means(AttractiveModel(0, {}, {}, {}), {}, 2, 100, 1, 1, control).empty());
}
