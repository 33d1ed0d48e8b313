#include "rigour/enclosed_sum.hpp"

#include <array>
#include <cmath>

#include "base/constants.hpp"

namespace planaris {

namespace {

constexpr double kAddition = 0x1p-103;  // relative errors of a sum, and of a logarithm
constexpr double kLogError = 0x1p-88;
constexpr double kSumRoom = 1 + 0x1p-20;  // for the roundings of error bounds

// Within 2^-102 of its size: the product of both low parts, 2^-106, is left out, and the others, at
// most 3 u of it, are rounded three times.
TwoDoubles pair_product(const TwoDoubles& a, const TwoDoubles& b) {
  const TwoDoubles p = TwoDoubles::product(a.high, b.high);
  return TwoDoubles::sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// Within 2^-101 of its size. With q = a / b_high, rounded, a - q b is at most 3.1 u |a| and known
// but for three roundings; dividing it by b_high rounds once more and takes u of it.
TwoDoubles pair_quotient(double a, const TwoDoubles& b) {
  const double q = a / b.high;
  const double left = std::fma(-q, b.high, a) - q * b.low;
  return TwoDoubles::sum(q, left / b.high);
}

// log x, 1 <= x <= 2, within kLogError of its size: 2 artanh y, y = (x - 1) / (x + 1) <= 1/3, is
// 2 y Σ s^k / (2k + 1), s = y². Leaving out what follows the 35th term takes less than 2^-112. From
// one term to the next, the last first, a sum is multiplied by s <= 1/9 and added to the next
// quotient: each is at least .88 of the sum and brings less than 2^-99 of it, so all of them less
// than 2^-98. y counts three times, within 2^-101, and so do two products.
TwoDoubles pair_log(double x) {
  constexpr int kTerms = 35;
  static const std::array<TwoDoubles, kTerms> quotients = [] {
    std::array<TwoDoubles, kTerms> made;
    for (int k = 0; k < kTerms; ++k) made[k] = pair_quotient(1.0, {2.0 * k + 1.0, 0.0});
    return made;
  }();
  const TwoDoubles y = pair_quotient(x - 1.0, TwoDoubles::sum(x, 1.0)), square = pair_product(y, y);
  TwoDoubles sum = quotients[kTerms - 1];
  for (int k = kTerms - 2; k >= 0; --k) sum = quotients[k] + pair_product(sum, square);
  return pair_product({2.0 * y.high, 2.0 * y.low}, sum);
}

// The least double, or the one above it, that is not below high + low.
double above(double high, double low) {
  const TwoDoubles sum = TwoDoubles::sum(high, low);
  return sum.low > 0.0 ? std::nextafter(sum.high, kInfinity) : sum.high;
}

}  // namespace

void PairSum::add_log(double mantissa, int64_t twos) {
  static const TwoDoubles log_2 = pair_log(2.0);
  const auto times = static_cast<double>(twos);
  const double powers = std::fabs(times);  // log 2 is less than one
  total_ += pair_log(mantissa);
  total_ += pair_product({times, 0.0}, log_2);
  size_ += powers + 1.0;
  off_ += 2 * kLogError * (powers + 1.0);
  count_ += 2.0;
  if (!(mantissa >= 1.0 && mantissa <= 2.0 && powers < 0x1p53)) off_ = kInfinity;
}

EnclosedSum PairSum::enclosed(double error) const {
  const double own = (off_ + kAddition * size_ * count_) * kSumRoom + 0x1p-1000;  // what underflows
  const double slack = (error + own) * (1 + 4 * kUnit);
  if (!(slack < kInfinity && size_ < kInfinity)) return {-kInfinity, kInfinity, std::nan("")};
  // The sum of low part and slack is rounded: more than that is added.
  const auto end = [&](double high, double low) {
    const double off = low + slack;
    return above(high, off + 4 * kUnit * (std::fabs(low) + slack));
  };
  return {-end(-total_.high, -total_.low), end(total_.high, total_.low), total_.high};
}

}  // namespace planaris
