#include "base/polled_sort.hpp"

#include <limits>
#include <random>
#include <utility>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("a polled sort is a stable sort, and looks at the clock in proportion to its work") {
  std::mt19937_64 random(0);
  for (const size_t size : {0, 1, 2, 8191, 8192, 8193, 16384, 20000, 24577, 100000}) {
    std::vector<std::pair<int, size_t>> values(size);
    for (size_t k = 0; k < size; ++k) values[k] = {static_cast<int>(random() % 50), k};
    auto expected = values;
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(expected.begin(), expected.end(), less);
    size_t looks = 0;
    Control control([&](double) { return ++looks > 0; }, std::numeric_limits<double>::infinity(),
                    {1, 0.0});
    polled_sort(values, less, control);
    CHECK(values == expected);
    CHECK(looks >= size / 8192);
    if (size == 100000) CHECK(looks >= 4 * (size / 8192));  // runs are merged in steps, too
  }
}
