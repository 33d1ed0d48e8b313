// The events of a search that are still to come, by time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace planaris::tjoin {

// Most searches end after a few events, and of those that are queued most never happen. So the last
// few are kept as they come and looked through when one is due; older ones are in a heap.
template <typename Event>
class EventQueue {
 public:
  void push(const Event& event) {
    if (count_ == kFew) {
      for (const Event& old : few_) {
        heap_.push_back(old);
        std::push_heap(heap_.begin(), heap_.end(), Later{});
      }
      count_ = 0;
    }
    few_[count_++] = event;
  }

  // Takes out the earliest event; false if there is none, or none before `limit`, if that is given.
  template <typename Key>
  bool pop(const Key* limit, Event& event) {
    size_t best = 0;
    for (size_t k = 1; k < count_; ++k) best = few_[k].key < few_[best].key ? k : best;
    const bool few = count_ > 0 && (heap_.empty() || !(heap_.front().key < few_[best].key));
    if (!few && heap_.empty()) return false;
    if (limit != nullptr && (few ? few_[best] : heap_.front()).key >= *limit) return false;
    if (few) {
      event = few_[best];
      few_[best] = few_[--count_];
    } else {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      event = heap_.back();
      heap_.pop_back();
    }
    return true;
  }

  void clear() {
    count_ = 0;
    heap_.clear();
  }

 private:
  static constexpr size_t kFew = 16;
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.key > b.key; }
  };

  std::array<Event, kFew> few_;
  size_t count_ = 0;
  std::vector<Event> heap_;
};

}  // namespace planaris::tjoin
