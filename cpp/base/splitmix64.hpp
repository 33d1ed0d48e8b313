// SplitMix64 (Steele, Lea & Flood, 2014): bits that depend on a number alone.
#pragma once

#include <cstdint>

namespace planaris {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;  // 2^64 divided by the golden ratio

// The finaliser.
inline uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline uint64_t splitmix64(uint64_t x) { return mix64(x + kGoldenGamma); }

}  // namespace planaris
