// Memory that begins on a cache line, or on a large page where it fills one.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

namespace planaris {

inline void* allocate_large(size_t bytes) {
  constexpr size_t kLine = 64, kPage = size_t{1} << 21;
  const size_t align = bytes < kPage ? kLine : kPage;
  const size_t whole = (bytes + align - 1) / align * align;
#if defined(_WIN32)
  void* found = _aligned_malloc(whole, align);
#else
  void* found = std::aligned_alloc(align, whole);
#endif
  if (found == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (align == kPage) madvise(found, whole, MADV_HUGEPAGE);  // advice: it may be ignored
#endif
  return found;
}

inline void free_large(void* found) {
#if defined(_WIN32)
  _aligned_free(found);
#else
  std::free(found);
#endif
}

}  // namespace planaris
