#include "embedding/predicates.hpp"

#include <array>
#include <cstdint>

namespace planaris {

namespace {

// A fixed-point number wide enough for any sum of a few products of two doubles: the smallest
// product has exponent 2 * -1074, the largest stays below 2^2048 (Kulisch's accumulator).
class Accumulator {
 public:
  void add_product(double a, double b, bool negative) {
    if (a == 0.0 || b == 0.0) return;
    int exponent_a = 0, exponent_b = 0;
    const auto mantissa_a = static_cast<int64_t>(std::ldexp(std::frexp(a, &exponent_a), 53));
    const auto mantissa_b = static_cast<int64_t>(std::ldexp(std::frexp(b, &exponent_b), 53));
    if ((mantissa_a < 0) != (mantissa_b < 0)) negative = !negative;
    const Uint128 product = static_cast<Uint128>(mantissa_a < 0 ? -mantissa_a : mantissa_a) *
                         static_cast<Uint128>(mantissa_b < 0 ? -mantissa_b : mantissa_b);
    // frexp normalises subnormals, so exponents reach down to -1073 - 52.
    const int shift = exponent_a + exponent_b - 106 + kLowest;
    const Uint128 low = product << (shift % 64);
    const uint64_t top = shift % 64 == 0 ? 0 : static_cast<uint64_t>(product >> (128 - shift % 64));
    const std::array<uint64_t, 3> part{static_cast<uint64_t>(low),
                                       static_cast<uint64_t>(low >> 64), top};
    negative ? subtract(part, shift / 64) : add(part, shift / 64);
  }

  int sign() const {
    if (limbs_.back() >> 63) return -1;
    for (const uint64_t limb : limbs_) {
      if (limb != 0) return 1;
    }
    return 0;
  }

 private:
  __extension__ typedef unsigned __int128 Uint128;
  static constexpr int kLowest = 2 * (1073 + 53);
  static constexpr size_t kLimbs = (kLowest + 2048) / 64 + 2;

  void add(const std::array<uint64_t, 3>& part, size_t at) {
    Uint128 carry = 0;
    for (size_t k = at; k < kLimbs && (k < at + 3 || carry != 0); ++k) {
      carry += static_cast<Uint128>(limbs_[k]) + (k < at + 3 ? part[k - at] : 0);
      limbs_[k] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }

  void subtract(const std::array<uint64_t, 3>& part, size_t at) {
    uint64_t borrow = 0;
    for (size_t k = at; k < kLimbs && (k < at + 3 || borrow != 0); ++k) {
      const Uint128 take = static_cast<Uint128>(k < at + 3 ? part[k - at] : 0) + borrow;
      borrow = static_cast<Uint128>(limbs_[k]) < take;
      limbs_[k] -= static_cast<uint64_t>(take);
    }
  }

  std::array<uint64_t, kLimbs> limbs_{};
};

}  // namespace

int exact_orientation(const Point& a, const Point& b, const Point& c) {
  // The products c.x c.y of the expanded determinant cancel.
  Accumulator sum;
  sum.add_product(a.x, b.y, false);
  sum.add_product(a.x, c.y, true);
  sum.add_product(c.x, b.y, true);
  sum.add_product(a.y, b.x, true);
  sum.add_product(a.y, c.x, false);
  sum.add_product(c.y, b.x, false);
  return sum.sign();
}

}  // namespace planaris
