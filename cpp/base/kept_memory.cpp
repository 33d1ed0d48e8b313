#include "base/kept_memory.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "base/large_memory.hpp"

namespace planaris {

namespace {

constexpr size_t kMostKept = size_t{1} << 29;  // bytes, of all blocks
constexpr size_t kMostBlocks = 256;

struct KeptBlocks {
  KeptBlocks() { blocks.reserve(kMostBlocks); }  // to keep one then never fails

  std::mutex mutex;
  std::vector<LargeBlock> blocks;
  size_t bytes = 0;
};

// Outlives everything. Its lock is only tried: a child process may have been forked while it was held.
KeptBlocks& kept_blocks() {
  static KeptBlocks* const kept = new KeptBlocks;
  return *kept;
}

void free_kept_blocks() {
  KeptBlocks& kept = kept_blocks();
  const std::unique_lock lock(kept.mutex, std::try_to_lock);
  if (!lock) return;
  for (const LargeBlock& block : kept.blocks) free_large(block.bytes);
  kept.blocks.clear();
  kept.bytes = 0;
}

}  // namespace

LargeBlock take_block(size_t bytes) {
  KeptBlocks& kept = kept_blocks();
  if (const std::unique_lock lock(kept.mutex, std::try_to_lock); lock) {
    for (LargeBlock& block : kept.blocks) {
      if (block.size < bytes || block.size / 2 > bytes) continue;
      const LargeBlock found = block;
      block = kept.blocks.back();
      kept.blocks.pop_back();
      kept.bytes -= found.size;
      return found;
    }
  }
  try {
    return {static_cast<std::byte*>(allocate_large(bytes)), bytes};
  } catch (const std::bad_alloc&) {
    free_kept_blocks();
    return {static_cast<std::byte*>(allocate_large(bytes)), bytes};
  }
}

void return_block(LargeBlock block) {
  if (block.bytes == nullptr) return;
  KeptBlocks& kept = kept_blocks();
  if (const std::unique_lock lock(kept.mutex, std::try_to_lock);
      lock && kept.blocks.size() < kMostBlocks && kept.bytes + block.size <= kMostKept) {
    kept.blocks.push_back(block);
    kept.bytes += block.size;
    return;
  }
  free_large(block.bytes);
}

}  // namespace planaris
