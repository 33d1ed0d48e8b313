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

  LargeBlock remove(size_t k) {
    const LargeBlock found = blocks[k];
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(k));
    bytes -= found.size;
    return found;
  }

  std::mutex mutex;
  std::vector<LargeBlock> blocks;  // those that were returned last come last
  size_t bytes = 0;
};

// Outlives everything. Its lock is only tried: a child process may have been forked while it was
// held.
KeptBlocks& kept_blocks() {
  static KeptBlocks* const kept = new KeptBlocks;
  return *kept;
}

void free_kept_blocks() {
  KeptBlocks& kept = kept_blocks();
  const std::unique_lock lock(kept.mutex, std::try_to_lock);
  if (!lock) return;
  while (!kept.blocks.empty()) free_large(kept.remove(kept.blocks.size() - 1).bytes);
}

}  // namespace

LargeBlock take_block(size_t bytes) {
  KeptBlocks& kept = kept_blocks();
  if (const std::unique_lock lock(kept.mutex, std::try_to_lock); lock) {
    for (size_t k = kept.blocks.size(); k-- > 0;) {
      const size_t size = kept.blocks[k].size;
      if (size >= bytes && size / 2 <= bytes) return kept.remove(k);
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
  if (const std::unique_lock lock(kept.mutex, std::try_to_lock); lock && block.size <= kMostKept) {
    while (kept.blocks.size() == kMostBlocks || kept.bytes + block.size > kMostKept) {
      free_large(kept.remove(0).bytes);
    }
    kept.blocks.push_back(block);
    kept.bytes += block.size;
    return;
  }
  free_large(block.bytes);
}

}  // namespace planaris
