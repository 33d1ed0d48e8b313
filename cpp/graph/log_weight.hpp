// The log weight of a state as an exact sum of doubles.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/team.hpp"

namespace planaris {

// A sum of finite doubles, exact: digit k counts multiples of 2^(32 k - 1074). Room for 2^31 terms.
class ExactSum {
 public:
  static constexpr int kDigits = 66;

  void add(double term) {
    const auto bits = std::bit_cast<uint64_t>(term);
    const auto exponent = static_cast<uint32_t>(bits >> 52) & 0x7ff;
    // Subnormal numbers have no leading one and the exponent of the smallest normal ones.
    const uint64_t size = (bits & kFraction) | (exponent == 0 ? 0 : kFraction + 1);
    const uint32_t place = exponent == 0 ? 0 : exponent - 1, shift = place % 32;
    const uint64_t low = size << shift, high = shift == 0 ? 0 : size >> (64 - shift);
    const auto sign = static_cast<int64_t>(bits) >> 63;  // 0 or -1: (x ^ sign) - sign is x or -x
    int64_t* digit = &digits_[place / 32];
    digit[0] += (int64_t(low & kLow) ^ sign) - sign;
    digit[1] += (int64_t(low >> 32) ^ sign) - sign;
    digit[2] += (int64_t(high) ^ sign) - sign;
  }
  void add(const ExactSum& other) {
    for (int k = 0; k < kDigits; ++k) digits_[k] += other.digits_[k];
  }
  const std::array<int64_t, kDigits>& digits() const { return digits_; }

 private:
  static constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1, kLow = 0xffffffff;

  std::array<int64_t, kDigits> digits_{};
};

// The sum of couplings times the spins at both ends and of fields times spins. Spins are -1 or +1,
// numbers finite; there are as many fields as spins, or none.
ExactSum log_weight(std::span<const int32_t> edges, std::span<const double> couplings,
                    std::span<const double> fields, std::span<const int8_t> spins, Team& team);

}  // namespace planaris
