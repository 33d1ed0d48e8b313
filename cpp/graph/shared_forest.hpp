// Union-find with parity that several threads join at once.
#pragma once

#include <cstdint>
#include <utility>

#include "base/team.hpp"
#include "base/unwritten.hpp"

namespace planaris {

// A word holds the parent of a vertex and, in its last bit, the parity to it. Whatever order
// threads see words in, each of them is true, and parents only get smaller (Anderson and Woll
// 1991). Once all have joined, every root is the smallest vertex of its tree, so that nothing
// depends on who came first.
class SharedForest {
 public:
  SharedForest(int32_t size, Team& team) : word_(size) {
    team.split(size, Team::parts(double(size)), [&](int64_t low, int64_t high, int) {
      for (int64_t v = low; v < high; ++v) word_[v] = uint32_t(v) << 1;
    });
  }

  // The root of v, and the parity to it. Puts what it passes below the parent of its parent.
  int32_t find(int32_t v, uint32_t& parity) {
    parity = 0;
    for (;;) {
      uint32_t word = load(v);
      const auto up = int32_t(word >> 1);
      if (up == v) return v;
      parity ^= word & 1;
      const uint32_t above = load(up);
      if (int32_t(above >> 1) != up) exchange(v, word, above ^ (word & 1));
      v = up;
    }
  }
  int32_t find(int32_t v) {
    uint32_t unused;
    return find(v, unused);
  }

  // False if u and v are joined already, with another parity.
  bool join(int32_t u, int32_t v, uint32_t differ = 0) {
    for (;;) {
      uint32_t pu, pv;
      int32_t a = find(u, pu), b = find(v, pv);
      if (a == b) return (pu ^ pv) == differ;
      if (a < b) std::swap(a, b);
      uint32_t root = uint32_t(a) << 1;
      if (exchange(a, root, uint32_t(b) << 1 | (pu ^ pv ^ differ))) return true;
    }
  }

 private:
  uint32_t load(int32_t v) const { return __atomic_load_n(&word_[v], __ATOMIC_RELAXED); }
  bool exchange(int32_t v, uint32_t& expected, uint32_t wanted) {
    return __atomic_compare_exchange_n(&word_[v], &expected, wanted, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
  }

  UnwrittenVector<uint32_t> word_;
};

}  // namespace planaris
