// Memory for many objects of a few sizes. It may be freed at once, without a look at the objects:
// to return a million of them one by one takes a tenth of a second.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>

#include "base/kept_memory.hpp"

namespace planaris {

// Objects of one size, up to an eighth, share slabs, each a quarter of those before it. Slabs
// without objects are freed, others when this dies, with what was not returned. Threads may share
// it.
class Slabs {
 public:
  static constexpr size_t kAlignment = 16;

  Slabs() = default;
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs();

  // Memory for an object: aligned, contents unknown.
  void* take(size_t bytes);
  void give_back(void* object);

  size_t objects() const { return objects_; }  // taken and not given back
  size_t bytes() const { return bytes_; }      // of all slabs

 private:
  struct Slab;
  using List = std::list<Slab>;
  struct Chunk {  // in front of an object
    Slab* slab;
    Chunk* next;  // of those that are free
  };
  struct Size {
    List with_room;
    size_t bytes = 0;  // of all its slabs
  };
  struct Slab {
    LargeBlock block;
    Size* size;
    size_t chunk_bytes, count, made = 0, used = 0;
    Chunk* free = nullptr;
    List::iterator self{};
  };

  Slab& slab_with_room(size_t chunk_bytes);
  void free_slab(List& list, Slab& slab);

  static constexpr size_t kLeastBytes = size_t{1} << 14, kMostBytes = size_t{1} << 22;
  std::mutex mutex_;
  std::map<size_t, Size> sizes_;
  List full_;
  size_t objects_ = 0, bytes_ = 0;
};

}  // namespace planaris
