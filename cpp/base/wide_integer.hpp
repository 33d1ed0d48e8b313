// Signed fixed-width integers for weights whose exponents lie far apart, and what T-joins and
// minimum cuts need of any integer type.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <vector>

namespace planaris {

// Two's complement, lowest limb first. Overflow is excluded by the caller's bound.
template <int N>
struct WideInteger {
  std::array<uint64_t, N> limb;

  WideInteger() : limb{} {}
  WideInteger(int64_t value) {
    limb.fill(value < 0 ? ~uint64_t{0} : 0);
    limb[0] = uint64_t(value);
  }
  bool negative() const { return int64_t(limb[N - 1]) < 0; }

  WideInteger& operator+=(const WideInteger& other) {
    uint64_t carry = 0;
    for (int i = 0; i < N; ++i) {
      const uint64_t sum = limb[i] + other.limb[i], all = sum + carry;
      carry = uint64_t(sum < limb[i]) | uint64_t(all < sum);
      limb[i] = all;
    }
    return *this;
  }
  WideInteger operator-() const {
    WideInteger result;
    for (int i = 0; i < N; ++i) result.limb[i] = ~limb[i];
    return result += WideInteger(1);
  }
  WideInteger& operator-=(const WideInteger& other) { return *this += -other; }
  friend WideInteger operator+(WideInteger a, const WideInteger& b) { return a += b; }
  friend WideInteger operator-(WideInteger a, const WideInteger& b) { return a -= b; }
  friend bool operator==(const WideInteger&, const WideInteger&) = default;
  friend std::strong_ordering operator<=>(const WideInteger& a, const WideInteger& b) {
    if (a.negative() != b.negative()) return b.negative() <=> a.negative();
    for (int i = N - 1; i >= 0; --i) {
      if (a.limb[i] != b.limb[i]) return a.limb[i] <=> b.limb[i];
    }
    return std::strong_ordering::equal;
  }
};

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 Int128;
#else
using Int128 = WideInteger<2>;
#endif

template <typename Int>
constexpr int kBits = int(sizeof(Int) * 8);

template <typename Int>
Int halved(const Int& value) {
  return value / 2;
}
template <int N>
WideInteger<N> halved(const WideInteger<N>& value) {
  WideInteger<N> result;
  for (int i = 0; i < N; ++i) {
    const uint64_t above = i + 1 < N ? value.limb[i + 1] : (value.negative() ? 1 : 0);
    result.limb[i] = value.limb[i] >> 1 | above << 63;
  }
  return result;
}

template <typename Int>
Int shifted(const Int& value, int32_t bits) {
  return value * (Int(1) << bits);
}
template <int N>
WideInteger<N> shifted(const WideInteger<N>& value, int32_t bits) {
  WideInteger<N> result;
  const int whole = bits / 64, part = bits % 64;
  for (int i = N - 1; i >= whole; --i) {
    result.limb[i] = value.limb[i - whole] << part;
    if (part != 0 && i > whole) result.limb[i] |= value.limb[i - whole - 1] >> (64 - part);
  }
  return result;
}

// Base 2^32 digits, lowest first; the last one keeps the sign.
template <typename Int, class Digits>
void append_digits(Int value, int32_t count, Digits& out) {
  for (int32_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    out.push_back(last ? int64_t(int32_t(uint32_t(value))) : int64_t(uint32_t(value)));
    value >>= 32;
  }
}
template <int N, class Digits>
void append_digits(const WideInteger<N>& value, int32_t count, Digits& out) {
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t digit = uint32_t(value.limb[i / 2] >> (i % 2 * 32));
    out.push_back(i + 1 == count ? int64_t(int32_t(digit)) : int64_t(digit));
  }
}

// The nearest double.
template <typename Int>
double as_double(const Int& value) {
  return static_cast<double>(value);
}
template <int N>
double as_double(const WideInteger<N>& value) {
  if (value.negative()) return -as_double(-value);
  int top = N - 1;
  while (top > 0 && value.limb[top] == 0) --top;
  if (top == 0) return static_cast<double>(value.limb[0]);
  // The 64 bits from the highest on; a last bit stands for all below, so that ties are seen.
  const int spare = std::countl_zero(value.limb[top]);
  uint64_t head = value.limb[top] << spare;
  uint64_t rest = value.limb[top - 1];
  if (spare > 0) {
    head |= rest >> (64 - spare);
    rest <<= spare;
  }
  for (int i = 0; i + 1 < top; ++i) rest |= value.limb[i];
  return std::ldexp(static_cast<double>(head | uint64_t(rest != 0)), 64 * top - spare);
}

}  // namespace planaris
