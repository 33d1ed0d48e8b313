// Arrays whose new elements are as the memory is, so that the threads that will use them write them
// first.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace planaris {

template <class T>
struct Unwritten {
  static_assert(std::is_trivially_copyable_v<T>);
  using value_type = T;
  Unwritten() = default;
  template <class Other>
  Unwritten(const Unwritten<Other>&) {}  // NOLINT: as allocators do
  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* found, size_t count) { std::allocator<T>().deallocate(found, count); }
  void construct(T*) {}
  template <class... From>
  void construct(T* place, From&&... from) {
    ::new (static_cast<void*>(place)) T(std::forward<From>(from)...);
  }
  bool operator==(const Unwritten&) const { return true; }
};

template <class T>
using UnwrittenVector = std::vector<T, Unwritten<T>>;

}  // namespace planaris
