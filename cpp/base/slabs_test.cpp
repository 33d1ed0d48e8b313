#include "base/slabs.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("objects of slabs keep what was written to them") {
  struct Object {
    unsigned char* bytes;
    size_t size;
    unsigned char value;
  };
  Slabs slabs;
  std::mt19937_64 random(3);
  std::vector<Object> objects;
  const auto is_whole = [](const Object& x) {
    for (size_t k = 0; k < x.size; ++k) {
      if (x.bytes[k] != x.value) return false;
    }
    return true;
  };
  for (int step = 0; step < 6000; ++step) {
    if (objects.empty() || random() % 5 < (step < 3000 ? 3 : 2)) {
      const size_t size = size_t{1} << (random() % 12);
      const size_t bytes = random() % 400 == 0 ? 3000 * size : size + random() % size;
      auto* taken = static_cast<unsigned char*>(slabs.take(bytes));
      CHECK(reinterpret_cast<uintptr_t>(taken) % Slabs::kAlignment == 0);
      objects.push_back({taken, bytes, static_cast<unsigned char>(random())});
      std::memset(taken, objects.back().value, bytes);
    } else {
      std::swap(objects[random() % objects.size()], objects.back());
      REQUIRE(is_whole(objects.back()));
      slabs.give_back(objects.back().bytes);
      objects.pop_back();
    }
    REQUIRE(slabs.objects() == objects.size());
  }
  for (const Object& object : objects) CHECK(is_whole(object));
}  // what was not given back is freed: the address sanitizer would say so

TEST_CASE("slabs without objects are freed, whatever sizes come after") {
  Slabs slabs;
  size_t most = 0;
  for (size_t size = 1000; size < 20000; size += 1000) {
    std::vector<void*> objects;
    for (size_t k = 0; k < (20 << 20) / size; ++k) objects.push_back(slabs.take(size));
    CHECK(slabs.bytes() >= 20 << 20);
    most = std::max(most, slabs.bytes());
    for (void* object : objects) slabs.give_back(object);
  }
  CHECK(slabs.objects() == 0);
  CHECK(most < size_t{100} << 20);  // 380 MiB, if each size kept its own
}
