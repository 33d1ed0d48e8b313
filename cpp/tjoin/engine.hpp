// The search engine of the minimum T-join kernel: regions grow from odd vertices, one
// alternating tree at a time. docs/theory/matching.md states the invariants it keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tjoin/event_queue.hpp"
#include "tjoin/store.hpp"

namespace planaris::tjoin {

enum class Outcome { kMatched, kGivenUp, kWalled };

// Searches the vertices [low, high) of a store and reads and writes nothing outside, so that
// engines of disjoint ranges can work at the same time. An edge that leaves the range is a wall:
// a region may use up half of its weight, so that both sides together keep to it.
template <typename Int>
class Engine {
 public:
  // `spare` holds region numbers for new blossoms; `mark` is past all marks in use. Only the engine
  // of the whole range may make more: it has the store for itself.
  Engine(Store<Int>& store, const Graph<Int>& graph, int32_t low, int32_t high,
         std::vector<int32_t>&& spare, uint32_t mark)
      : graph_(&graph), store_(&store), spare_(std::move(spare)), low_(low),
        span_(uint32_t(high - low)), mark_(mark) {}

  // Grows a tree from the free region at `root` until it can be matched, meets a wall, or is
  // given up after `budget` scans; `poll` may throw. The duals are feasible in any case.
  template <typename Poll>
  Outcome search(int32_t root, int64_t budget, const Poll& poll);

  // Before all searches, from a store whose regions are single odd vertices: grows the one around
  // `root` until it touches something, and matches the two if they can be.
  void grow_alone(int32_t root);

  // Hands back what the store keeps; the engine is not used any more.
  void retire() {
    store_->mark = std::max(store_->mark, mark_);
    store_->count += count;
    store_->spare.insert(store_->spare.end(), spare_.begin(), spare_.end());
    spare_.clear();
  }
  std::vector<int32_t> take_spare() { return std::exchange(spare_, {}); }
  uint32_t mark() const { return mark_; }

  Counters count;

 private:
  // kind >= 0: `from` would touch region `kind`, which is outside the tree, at vertex `to`.
  static constexpr int32_t kReach = -1, kMeet = -2, kShrink = -3, kWall = -4;
  struct Event {
    Int key;
    int32_t from, to;  // vertices; kShrink: region, -1
    int32_t edge;      // between them
    int32_t kind;
  };
  struct Place {
    int32_t region;
    Int dual;  // sum of the duals of all sets that hold the vertex
  };

  Int dual(const Region<Int>& r) const {
    return r.sign == 0 ? r.y : (r.sign > 0 ? r.y + now_ : r.y - now_);
  }
  int32_t resolve(int32_t r, Int& height) {
    // Path halving with sums: shift of a merged region covers all regions it skips.
    while (region_[r].merged != r) {
      Region<Int>& a = region_[r];
      Region<Int>& b = region_[a.merged];
      if (b.merged != a.merged) {
        a.shift += b.shift;
        a.merged = b.merged;
      }
      height += a.shift;
      r = a.merged;
    }
    return r;
  }
  int32_t top_of(int32_t v) {
    Int unused = 0;
    return resolve(v_[v].top, unused);
  }
  Place place(int32_t v) {
    Int height = v_[v].height;
    const int32_t r = resolve(v_[v].top, height);
    return {r, height + dual(region_[r])};
  }

  void push(Int key, int32_t from, int32_t to, int32_t edge, int32_t kind);
  void enter(int32_t r, int8_t sign);
  void end_by(const Int& key, int32_t from, int32_t to, int32_t edge, int32_t kind);
  bool scan_outer(int32_t v, int32_t own, Int dual_v);
  bool scan_region(int32_t r);
  void scan_for_outer(int32_t v, Int dual_v, int32_t kind);
  bool handle(const Event& event);
  bool reach(int32_t from, int32_t to, int32_t edge);
  bool touch(int32_t r, Contact contact);
  bool blossom(int32_t a, int32_t b, Contact contact);
  void schedule_shrink(int32_t r);
  bool shrink(int32_t r);
  bool expand(int32_t r);
  void augment(int32_t r, Contact contact);
  int32_t meeting_point(int32_t a, int32_t b);
  void finish();

  const Graph<Int>* graph_;
  Store<Int>* store_;
  Vertex<Int>* v_ = nullptr;  // of the store; regions move when new ones are made
  Region<Int>* region_ = nullptr;
  std::vector<int32_t> spare_;
  int32_t low_;
  uint32_t span_;
  Int now_ = 0;
  bool has_end_ = false, walled_ = false;
  Event end_;  // the earliest event that ends the search: nothing later happens, if it is there
  uint32_t mark_;
  const Region<Int> none_;  // of vertices that no region holds
  EventQueue<Event> later_;
  std::vector<Event> soon_;
  size_t soon_head_ = 0;
  std::vector<int32_t> labelled_, formed_, stack_, cycle_nodes_;
};

}  // namespace planaris::tjoin

#include "tjoin/engine_impl.hpp"
