#include "embedding/predicates.hpp"

#include <limits>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("signs are those of the turn") {
  CHECK(orientation({0, 0}, {1, 0}, {0, 1}) == 1);
  CHECK(orientation({0, 0}, {1, 0}, {0, -1}) == -1);
  CHECK(orientation({0, 0}, {1, 1}, {2, 2}) == 0);
}

TEST_CASE("one ulp decides") {
  const double up = std::nextafter(0.5, 1.0), down = std::nextafter(0.5, 0.0);
  CHECK(orientation({12, 12}, {24, 24}, {0.5, 0.5}) == 0);
  CHECK(orientation({12, 12}, {24, 24}, {0.5, up}) == 1);
  CHECK(orientation({12, 12}, {24, 24}, {0.5, down}) == -1);
}

TEST_CASE("no overflow and no underflow") {
  const double big = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  CHECK(orientation({-big, -big}, {big, big}, {0, tiny}) == 1);
  CHECK(orientation({-big, -big}, {big, big}, {0, -tiny}) == -1);
  CHECK(orientation({-big, -big}, {big, big}, {tiny, tiny}) == 0);
  CHECK(orientation({0, 0}, {tiny, 0}, {0, tiny}) == 1);
  CHECK(orientation({0, 0}, {tiny, tiny}, {2 * tiny, 3 * tiny}) == 1);
  CHECK(orientation({0, 0}, {tiny, tiny}, {3 * tiny, 3 * tiny}) == 0);
  CHECK(exact_orientation({big, tiny}, {tiny, big}, {-big, -big}) == 1);
  CHECK(exact_orientation({tiny, big}, {big, tiny}, {-big, -big}) == -1);
}
