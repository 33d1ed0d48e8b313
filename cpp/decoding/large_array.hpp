// Numbers that are read here and there: no group of eight crosses a cache line, and pages are
// large where the system has such, so that few addresses are looked up.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace planaris {

template <class T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <class Other>
  LargeAllocator(const LargeAllocator<Other>&) {}  // NOLINT: as allocators do

  T* allocate(size_t count) {
    constexpr size_t kLine = 64, kPage = size_t(1) << 21;
    const size_t bytes = count * sizeof(T), align = bytes < kPage ? kLine : kPage;
    void* found = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (found == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (align == kPage) madvise(found, bytes, MADV_HUGEPAGE);  // advice: it may be ignored
#endif
    return static_cast<T*>(found);
  }
  void deallocate(T* what, size_t) { std::free(what); }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
};

using LargeArray = std::vector<double, LargeAllocator<double>>;

}  // namespace planaris
