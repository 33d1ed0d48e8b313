// Memory for many objects that die together, in blocks that are kept between calls: to ask the
// system for each of a million and to return it takes longer than to fill them. One thread at a
// time.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/kept_memory.hpp"

namespace planaris {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(large_, other.large_);
    std::swap(at_, other.at_);
    std::swap(left_, other.left_);
    return *this;
  }
  ~Arena() {
    for (const LargeBlock& block : blocks_) return_block(block);
  }

  // So many numbers, contents unknown.
  template <class Number>
  Number* take(size_t count) {
    static_assert(std::is_trivial_v<Number> && sizeof(Number) <= kStep);
    return reinterpret_cast<Number*>(
        take_bytes((count * sizeof(Number) + kStep - 1) / kStep * kStep));
  }

 private:
  static constexpr size_t kStep = 16, kBlock = size_t{1} << 21, kLarge = kBlock / 16;

  std::byte* take_bytes(size_t bytes) {
    if (bytes > left_) {
      if (bytes > kLarge) {  // what is left of the block may serve others
        large_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
        return large_.back().get();
      }
      blocks_.emplace_back();
      blocks_.back() = take_block(kBlock);
      at_ = blocks_.back().bytes;
      left_ = blocks_.back().size;
    }
    left_ -= bytes;
    return std::exchange(at_, at_ + bytes);
  }

  std::vector<LargeBlock> blocks_;
  std::vector<std::unique_ptr<std::byte[]>> large_;
  std::byte* at_ = nullptr;
  size_t left_ = 0;  // of the last block
};

}  // namespace planaris
