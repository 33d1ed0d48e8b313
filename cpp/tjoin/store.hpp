// What outlives a search of the T-join kernel: the graph, who lies in which region, the duals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/unwritten.hpp"
#include "base/wide_integer.hpp"
#include "tjoin/tiles.hpp"

namespace planaris::tjoin {

// The sum of numbers that do not round, of(i) for i in [0, count).
template <typename Int, class Of>
Int sum_in_parts(Team& team, size_t count, Of&& of) {
  std::vector<Int> sums(num_parts(count), Int(0));
  in_parts(team, count, [&](size_t part, size_t low, size_t high) {
    Int sum = 0;
    for (size_t i = low; i < high; ++i) sum += of(i);
    sums[part] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), Int(0));
}

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
  UnwrittenVector<int32_t> offsets;  // n + 2
  UnwrittenVector<Arc<Int>> arcs;    // weights doubled, so that every dual is an integer
};

template <typename Int>
struct Vertex {
  Int height = 0;       // sum of the duals of the sets around it, the outermost region's left out
  int32_t top = -1;     // outermost region that holds it (as of the last flattening), or -1
  int32_t next = -1;    // next vertex of the same region's list
  int32_t source = -1;  // the odd vertex whose ball reached it
  int32_t via = -1;     // along this edge, the last one of a shortest path from the source
};

// Two odd vertices, and the edge where shortest paths from both met; -1: they met elsewhere.
struct Contact {
  int32_t from = -1, to = -1, edge = -1;

  Contact turned() const { return {to, from, edge}; }
};

// A region is an odd set that may be wrapped in larger ones: a ball around one odd vertex, or
// a blossom, an odd cycle of regions, grown into a ball in its turn.
template <typename Int>
struct Region {
  Int y = 0;            // dual = y + sign * now
  Int shift = 0;        // when merged in this search: added to heights on the way up
  int32_t merged = -1;  // itself, or the region it was merged into in this search
  int32_t first = -1, last = -1, core = -1;  // vertex list; `core` is the first that is not ball
  Contact mate;                              // the matched pair across the border
  Contact tree;                              // inner regions: the pair that leads to the parent
  int32_t cycle = -1;                        // next child of the same blossom, reached by ...
  Contact link;                              // ... this pair
  int32_t child = -1;                        // blossoms: one child
  int8_t sign = 0;                           // +1 outer, -1 inner, 0 not in the tree
  bool inside = false;                       // child of a blossom
  bool spare = false;                        // number not in use
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
  UnwrittenVector<Vertex<Int>> v;  // n + 1
  UnwrittenVector<Region<Int>> region;
  UnwrittenVector<int32_t> base;  // the ball around each odd vertex; blossoms take no such number
  std::vector<int32_t> spare;
  int32_t n = 0, boundary = -1;
  uint32_t mark = 0;
  Counters count;

  Store(int32_t n, const UnwrittenVector<uint8_t>& odd, Team& team) : n(n) {
    v.resize(size_t(n) + 1);
    base.resize(size_t(n) + 1);
    std::vector<int32_t> first(num_parts(size_t(n)) + 1, 0);  // region of each part
    in_parts(team, size_t(n), [&](size_t part, size_t low, size_t high) {
      first[part + 1] = int32_t(std::count(odd.begin() + low, odd.begin() + high, 1));
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    region.reserve(size_t(first.back()) * 3 / 2 + 64);  // and blossoms
    region.resize(first.back());
    in_parts(team, size_t(n), [&](size_t part, size_t low, size_t high) {
      int32_t r = first[part];
      for (size_t x = low; x < high; ++x) {
        v[x] = {};
        base[x] = -1;
        if (odd[x]) hold(int32_t(x), r++);
      }
    });
    v[n] = {};
    boundary = make_odd(n);
  }

  bool is_free(int32_t x) const { return region[v[x].top].mate.to < 0; }
  bool is_outermost(size_t r) const {
    return !region[r].spare && !region[r].inside && int32_t(r) != boundary;
  }

  int32_t new_region(std::vector<int32_t>& numbers) {
    int32_t r;
    if (numbers.empty()) {
      r = int32_t(region.size());
      region.push_back({});
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
    hold(x, r);
    return r;
  }
  // Makes r the ball around x.
  void hold(int32_t x, int32_t r) {
    region[r] = {};
    region[r].merged = r;
    region[r].first = region[r].last = region[r].core = x;
    v[x].top = base[x] = r;
    v[x].source = x;
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
  Int dual(size_t r) const { return region[r].spare ? Int(0) : region[r].y; }
};

// Takes x out of every region; what it was matched to gets free. Opens blossoms down to x;
// children that do not hold x stay matched in pairs.
template <typename Int>
void Store<Int>::dissolve(int32_t x) {
  if (x == n || v[x].top < 0) return;
  const int32_t mate = region[v[x].top].mate.to;
  if (mate >= 0 && mate != n) region[v[mate].top].mate = {};
  for (;;) {
    const int32_t r = v[x].top;
    Region<Int>& whole = region[r];
    whole.mate = {};
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
      p.mate = p.link;
      q.mate = p.link.turned();
    }
  }
}

}  // namespace planaris::tjoin
