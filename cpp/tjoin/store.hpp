// What outlives a search of the T-join kernel: the graph, who lies in which region, the duals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/wide_integer.hpp"

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
  int32_t merged = -1;          // itself, or the region it was merged into in this search
  int32_t first = -1, last = -1, core = -1;  // vertex list; `core` is the first that is not ball
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

  Counters& operator+=(const Counters& other) {
    searches += other.searches, scans += other.scans, pushes += other.pushes, pops += other.pops;
    blossoms += other.blossoms, expansions += other.expansions;
    absorbed += other.absorbed, released += other.released;
    largest = std::max(largest, other.largest);
    return *this;
  }
};

template <typename Int>
struct Store {
  std::vector<Vertex<Int>> v;        // n + 1
  std::vector<Region<Int>> region;
  std::vector<int32_t> base;         // the ball around each odd vertex; blossoms take no such number
  std::vector<int32_t> spare;
  int32_t n = 0, boundary = -1;
  uint32_t mark = 0;
  Counters count;

  Store(int32_t n, const std::vector<uint8_t>& odd)
      : v(size_t(n) + 1), base(size_t(n) + 1, -1), n(n) {
    for (int32_t x = 0; x < n; ++x) {
      if (odd[x]) make_odd(x);
    }
    boundary = make_odd(n);
  }

  bool is_free(int32_t x) const { return region[v[x].top].mate_to < 0; }
  bool is_outermost(size_t r) const {
    return !region[r].spare && !region[r].inside && int32_t(r) != boundary;
  }

  int32_t new_region(std::vector<int32_t>& numbers) {
    int32_t r;
    if (numbers.empty()) {
      r = int32_t(region.size());
      region.emplace_back();
    } else {
      r = numbers.back();
      numbers.pop_back();
      region[r] = Region<Int>{};
    }
    region[r].merged = r;
    return r;
  }

  // x must lie in no region.
  int32_t make_odd(int32_t x) {
    const int32_t r = new_region(spare);
    region[r].first = region[r].last = region[r].core = x;
    v[x].top = base[x] = r;
    v[x].source = x;
    return r;
  }
  // x must have been dissolved.
  void make_even(int32_t x) {
    region[base[x]].spare = true;
    spare.push_back(base[x]);
    base[x] = v[x].top = v[x].source = -1;
  }
  // Multiplies all duals by 2^bits.
  void scale(int32_t bits) {
    for (Region<Int>& r : region) r.y = shifted(r.y, bits);
    for (Vertex<Int>& x : v) x.height = shifted(x.height, bits);
  }

  // Makes the child of a blossom an outermost region again.
  void free_child(int32_t c) {
    Region<Int>& child = region[c];
    child.inside = false;
    child.merged = c;
    for (int32_t x = child.first;; x = v[x].next) {
      v[x].top = c;
      v[x].height -= child.y;
      if (x == child.last) break;
    }
  }
  void dissolve(int32_t x);
  Int dual_sum() const {
    Int sum = 0;
    for (const Region<Int>& r : region) {
      if (!r.spare) sum += r.y;
    }
    return sum;
  }
};

// Takes x out of every region; what it was matched to gets free. Opens blossoms down to x;
// children that do not hold x stay matched in pairs.
template <typename Int>
void Store<Int>::dissolve(int32_t x) {
  if (x == n || v[x].top < 0) return;
  const int32_t mate = region[v[x].top].mate_to;
  if (mate >= 0 && mate != n) {
    Region<Int>& other = region[v[mate].top];
    other.mate_from = other.mate_to = -1;
  }
  for (;;) {
    const int32_t r = v[x].top;
    Region<Int>& whole = region[r];
    whole.mate_from = whole.mate_to = -1;
    while (whole.first != whole.core) {  // the ball is taken in until x is out
      const int32_t u = whole.first;
      whole.first = v[u].next;
      whole.y = -v[u].height;
      v[u].top = -1;
      v[u].height = 0;
      if (u == x) return;
    }
    whole.y = 0;
    if (whole.child < 0) return;
    const int32_t child = whole.child;
    whole.spare = true;
    spare.push_back(r);
    int32_t c = child;
    do {
      free_child(c);
      c = region[c].cycle;
    } while (c != child);
    const int32_t held = v[x].top;
    for (c = region[held].cycle; c != held; c = region[region[c].cycle].cycle) {
      Region<Int>&p = region[c], &q = region[p.cycle];
      p.mate_from = q.mate_to = p.cycle_from;
      p.mate_to = q.mate_from = p.cycle_to;
    }
  }
}

}  // namespace planaris::tjoin
