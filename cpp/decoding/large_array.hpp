// Numbers that are read here and there: no group of eight crosses a cache line, and pages are
// large where the system has such, so that few addresses are looked up.
#pragma once

#include <cstddef>
#include <vector>

#include "base/large_memory.hpp"

namespace planaris {

template <class T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <class Other>
  LargeAllocator(const LargeAllocator<Other>&) {}  // NOLINT: as allocators do

  T* allocate(size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* what, size_t) { free_large(what); }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
};

using LargeArray = std::vector<double, LargeAllocator<double>>;

}  // namespace planaris
