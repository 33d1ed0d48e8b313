// The finaliser of SplitMix64 (Steele, Lea & Flood, 2014): bits that depend on a number alone.
#pragma once

#include <cstdint>

namespace planaris {

inline uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace planaris
