#include "base/kept_memory.hpp"

#include <cstdint>
#include <vector>

#include "third_party/doctest/doctest.h"

using namespace planaris;

TEST_CASE("blocks are kept for requests of about their size") {
  const LargeBlock first = take_block(3 << 20);
  CHECK(first.size >= 3 << 20);
  CHECK(reinterpret_cast<uintptr_t>(first.bytes) % (1 << 21) == 0);
  first.bytes[first.size - 1] = std::byte{1};
  return_block(first);
  const LargeBlock small = take_block(1 << 20), other = take_block(4 << 20);
  CHECK(small.bytes != first.bytes);
  CHECK(other.bytes != first.bytes);
  const LargeBlock again = take_block(2 << 20);
  CHECK(again.bytes == first.bytes);
  CHECK(again.size == first.size);
  for (const LargeBlock& block : {small, other, again}) return_block(block);
}

TEST_CASE("no more is kept than a bound") {
  std::vector<LargeBlock> blocks;
  for (int k = 0; k < 40; ++k) blocks.push_back(take_block(16 << 20));
  for (const LargeBlock& block : blocks) return_block(block);  // the first ones are freed
  return_block({});
  const LargeBlock large = take_block(100 << 20);
  return_block(large);
  const LargeBlock again = take_block(100 << 20);
  CHECK(again.bytes == large.bytes);  // the blocks before it made room
  return_block(again);
  const LargeBlock found = take_block(16 << 20);
  found.bytes[0] = std::byte{1};
  return_block(found);
}
