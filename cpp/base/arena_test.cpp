#include "base/arena.hpp"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("objects of an arena keep what was written to them, when it is moved too") {
  std::mt19937_64 rng(5);
  std::vector<std::pair<uint64_t*, size_t>> objects;
  Arena first;
  for (uint64_t k = 0; k < 3000; ++k) {
    const size_t count = rng() % 100 == 0 ? rng() % 600'000 : rng() % 300;
    auto* numbers = first.take<uint64_t>(count);
    CHECK(reinterpret_cast<uintptr_t>(numbers) % 16 == 0);
    for (size_t i = 0; i < count; ++i) numbers[i] = k;
    objects.emplace_back(numbers, count);
  }
  Arena other = std::move(first);
  CHECK(other.take<char>(1) != nullptr);
  first = Arena();
  bool whole = true;
  for (uint64_t k = 0; k < objects.size(); ++k) {
    for (size_t i = 0; i < objects[k].second; ++i) whole &= objects[k].first[i] == k;
  }
  CHECK(whole);
}
