// Doubles with an exponent of their own: products of any number of weights neither overflow nor
// vanish, and a sum keeps full relative accuracy, where logarithms of size 1e5 would have
// lost five digits. The exponent is a whole double: exact below 2^53, and past that no worse
// than the logarithms it came from.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace planaris {

// 2^k for -1022 <= k <= 1023, without a call.
inline double power_of_two(int64_t k) {
  return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

// x - k ln 2, right to the last place for |k| <= 2^53: states of large weights differ by what is
// left here, so a rounding of the size of x's last place would be an error of their ratio.
inline double minus_multiple_of_ln2(double x, double k) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
  return std::fma(-k, kLn2, x) - k * kLn2Rest;
}

// value = m * 2^e; zero is m == 0.
struct Scaled {
  double m = 0.0;
  double e = 0.0;

  static Scaled from_log(double log_value) {
    if (log_value == -std::numeric_limits<double>::infinity()) return {};
    const double k = std::nearbyint(log_value * 1.4426950408889634);
    if (std::abs(k) > 0x1p53) return {1.0, k};  // callers widen their error by |log| eps
    Scaled x{std::exp(minus_multiple_of_ln2(log_value, k)), k};
    x.normalize();
    return x;
  }

  double log() const {
    if (m == 0.0) return -std::numeric_limits<double>::infinity();
    return std::log(m) + e * 0.6931471805599453;
  }

  // Brings m into [1, 2).
  void normalize() {
    if (m == 0.0) {
      e = 0;
      return;
    }
    const auto bits = std::bit_cast<uint64_t>(m);
    const auto exponent = static_cast<int64_t>((bits >> 52) & 0x7ff);
    if (exponent == 0) {  // subnormal
      m *= 0x1p64;
      e -= 64;
      normalize();
      return;
    }
    m = std::bit_cast<double>((bits & 0x800fffffffffffffULL) | 0x3ff0000000000000ULL);
    e += static_cast<double>(exponent - 1023);
  }

  Scaled& operator*=(const Scaled& other) {
    m *= other.m;
    e += other.e;
    return *this;
  }
};

// m * 2^(e - reference), zero when below 2^-1000; for e <= reference and m < 2^900.
inline double relative_to(const Scaled& x, double reference) {
  const double shift = x.e - reference;
  return shift < -1000 ? 0.0 : x.m * power_of_two(static_cast<int64_t>(shift));
}

}  // namespace planaris
