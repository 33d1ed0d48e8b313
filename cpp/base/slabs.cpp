#include "base/slabs.hpp"

#include <algorithm>
#include <bit>

#include "base/large_memory.hpp"

namespace planaris {

namespace {

constexpr size_t kKeptBytes = size_t{1}
                              << 21;  // slabs of a large page and more are kept between calls

LargeBlock take_slab(size_t bytes) {
  if (bytes >= kKeptBytes) return take_block(bytes);
  return {static_cast<std::byte*>(allocate_large(bytes)), bytes};
}

void return_slab(LargeBlock block) {
  if (block.size >= kKeptBytes) {
    return_block(block);
  } else {
    free_large(block.bytes);
  }
}

// Of an object and of what is in front of it, rounded up to one of eight sizes between powers of
// two.
size_t chunk_bytes_of(size_t bytes) {
  const size_t least = std::max(bytes, size_t{1}) + Slabs::kAlignment;
  const size_t step = std::max(std::bit_floor(least) / 8, Slabs::kAlignment);
  return (least + step - 1) / step * step;
}

}  // namespace

Slabs::~Slabs() {
  for (const Slab& slab : full_) return_slab(slab.block);
  for (auto& [bytes, size] : sizes_) {
    for (const Slab& slab : size.with_room) return_slab(slab.block);
  }
}

Slabs::Slab& Slabs::slab_with_room(size_t chunk_bytes) {
  Size& size = sizes_[chunk_bytes];
  if (!size.with_room.empty()) return size.with_room.front();
  const size_t count =
      std::max(std::clamp(size.bytes / 4, kLeastBytes, kMostBytes) / chunk_bytes, size_t{1});
  size.with_room.push_front({{}, &size, chunk_bytes, count});
  Slab& slab = size.with_room.front();
  slab.self = size.with_room.begin();
  try {
    slab.block = take_slab(count * chunk_bytes);
  } catch (...) {
    size.with_room.pop_front();
    throw;
  }
  size.bytes += slab.block.size;
  bytes_ += slab.block.size;
  return slab;
}

void* Slabs::take(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  Slab& slab = slab_with_room(chunk_bytes_of(bytes));
  std::byte* object = nullptr;
  if (slab.free != nullptr) {
    object = reinterpret_cast<std::byte*>(slab.free + 1);
    slab.free = slab.free->next;
  } else {
    object = slab.block.bytes + slab.made++ * slab.chunk_bytes + kAlignment;
    (reinterpret_cast<Chunk*>(object) - 1)->slab = &slab;
  }
  ++objects_;
  if (++slab.used == slab.count) full_.splice(full_.begin(), slab.size->with_room, slab.self);
  return object;
}

void Slabs::give_back(void* object) {
  const std::scoped_lock lock(mutex_);
  Chunk* chunk = static_cast<Chunk*>(object) - 1;
  Slab& slab = *chunk->slab;
  List& list = slab.size->with_room;
  chunk->next = slab.free;
  slab.free = chunk;
  --objects_;
  if (slab.used-- == slab.count) list.splice(list.begin(), full_, slab.self);
  if (slab.used == 0 && list.size() > 1) free_slab(list, slab);
}

void Slabs::free_slab(List& list, Slab& slab) {
  return_slab(slab.block);
  slab.size->bytes -= slab.block.size;
  bytes_ -= slab.block.size;
  list.erase(slab.self);
}

}  // namespace planaris
