// The search engine of the minimum T-join kernel: regions grow from odd vertices, one
// alternating tree at a time. docs/theory/matching.md states the invariants it keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "planaris/control.hpp"
#include "tjoin_wide.hpp"

namespace planaris::tjoin {

// Vertices are 0..n-1 in sweep order; vertex n is the boundary, which absorbs any parity.
template <typename Int>
struct Arc {
  Int weight;
  int32_t to;
  int32_t edge;
};

template <typename Int>
struct Graph {
  int32_t n = 0;
  std::vector<int32_t> offsets;  // n + 2
  std::vector<Arc<Int>> arcs;    // weights doubled, so that every dual is an integer
};

template <typename Int>
struct Vertex {
  Int height = 0;      // sum of the duals of the sets around it, the outermost region's left out
  int32_t top = -1;    // outermost region that holds it (as of the last flattening), or -1
  int32_t next = -1;   // next vertex of the same region's list
  int32_t source = -1; // the odd vertex whose ball reached it
};

// A region is an odd set that may be wrapped in larger ones: a ball around one odd vertex, or
// a blossom, an odd cycle of regions, grown into a ball in its turn.
template <typename Int>
struct Region {
  Int y = 0;                    // dual = y + sign * now
  Int shift = 0;                // when merged in this search: added to heights on the way up
  int32_t merged;               // itself, or the region it was merged into in this search
  int32_t first, last, core;    // vertex list; `core` is the first one that is not ball
  int32_t mate_from = -1, mate_to = -1;  // odd vertices of the matched pair across the border
  int32_t tree_from = -1, tree_to = -1;  // inner regions: the pair that leads to the parent
  int32_t cycle = -1;           // next child of the same blossom, reached by ...
  int32_t cycle_from = -1, cycle_to = -1;  // ... this pair
  int32_t child = -1;           // blossoms: one child
  int8_t sign = 0;              // +1 outer, -1 inner, 0 not in the tree
  bool inside = false;          // child of a blossom
  bool spare = false;           // number not in use
  uint32_t mark = 0;
};

struct Counters {
  int64_t searches = 0, scans = 0, pushes = 0, pops = 0, blossoms = 0, expansions = 0, absorbed = 0,
          released = 0, largest = 0;
};

template <typename Int>
class Engine {
 public:
  explicit Engine(const Graph<Int>& graph, const std::vector<uint8_t>& odd);
  void attach(const Graph<Int>& graph) { graph_ = &graph; }

  // Grows a tree from the free region at `root` until it can be matched; false when it was
  // given up after `budget` scans. The duals are feasible either way.
  bool search(int32_t root, int64_t budget, Control& control, double fraction);
  bool is_free(int32_t v) const { return region_[v_[v].top].mate_to < 0; }

  // For warm starts. Takes v out of every region; what it was matched to gets free.
  void dissolve(int32_t v);
  void make_odd(int32_t v);   // v must lie in no region
  void make_even(int32_t v);  // v must have been dissolved
  void scale(int32_t bits);   // multiplies all duals by 2^bits
  bool alive(int32_t r) const { return !region_[r].spare; }
  int32_t boundary() const { return boundary_; }
  // The ball around one odd vertex; blossoms never take its number.
  int32_t base_region(int32_t v) const { return base_[v]; }

  const std::vector<Vertex<Int>>& vertices() const { return v_; }
  const std::vector<Region<Int>>& regions() const { return region_; }

  Counters count;

 private:
  // kind >= 0: `from` would touch region `kind`, which is outside the tree, at vertex `to`.
  static constexpr int32_t kReach = -1, kMeet = -2, kShrink = -3;
  struct Event {
    Int key;
    int32_t from, to;  // vertices; kShrink: region, -1
    int32_t kind;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.key > b.key; }
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

  void push(Int key, int32_t from, int32_t to, int32_t kind);
  void enter(int32_t r, int8_t sign);
  bool scan_outer(int32_t v, int32_t own, Int dual_v);
  bool scan_region(int32_t r);
  void scan_for_outer(int32_t v, Int dual_v, int32_t kind);
  bool handle(const Event& event);
  bool reach(int32_t from, int32_t to);
  bool touch(int32_t r, int32_t from, int32_t to);
  bool blossom(int32_t a, int32_t b, int32_t from, int32_t to);
  void schedule_shrink(int32_t r);
  bool shrink(int32_t r);
  bool expand(int32_t r);
  void free_child(int32_t c);
  void augment(int32_t r, int32_t from, int32_t to);
  int32_t meeting_point(int32_t a, int32_t b);
  int32_t new_region();
  int32_t new_ball(int32_t v);
  void finish();

  const Graph<Int>* graph_;
  std::vector<Vertex<Int>> v_;
  std::vector<Region<Int>> region_;
  std::vector<int32_t> spare_, base_;
  int32_t boundary_ = -1;
  Int now_ = 0, bound_ = 0;
  bool has_bound_ = false;
  uint32_t mark_ = 0;
  std::vector<Event> heap_, soon_;
  size_t soon_head_ = 0;
  std::vector<int32_t> labelled_, formed_, stack_, cycle_nodes_;
};

}  // namespace planaris::tjoin

#include "tjoin_engine_impl.hpp"
