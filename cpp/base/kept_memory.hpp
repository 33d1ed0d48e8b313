// Large blocks of memory that are kept between calls. Pages that the system has to clear again cost
// more than small batches do, above all where several threads ask for large pages at once.
#pragma once

#include <cstddef>

namespace planaris {

struct LargeBlock {
  std::byte* bytes = nullptr;
  size_t size = 0;
};

// A block of at least so many bytes, aligned as allocate_large aligns it: a kept one of up to twice
// the size, or a new one. What is in it is unknown.
LargeBlock take_block(size_t bytes);

// Keeps a block for the next call; those that were kept longest are freed where that is too much.
void return_block(LargeBlock block);

}  // namespace planaris
