#include "base/wide_integer.hpp"

#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

// value = high * 2^64 + low, built from pieces that both kinds of integers understand.
template <class Int>
Int compose(int64_t high, uint64_t low) {
  return shifted(Int(high), 64) + shifted(Int(int64_t(low >> 32)), 32) +
         Int(int64_t(low & 0xffffffff));
}

TEST_CASE("integers of two limbs add, compare and convert") {
  using Two = WideInteger<2>;
  CHECK(as_double(Two(0)) == 0.0);
  CHECK(as_double(Two(-3)) == -3.0);
  CHECK(as_double(compose<Two>(1, 0)) == 0x1p64);
  CHECK(as_double(compose<Two>(-1, 0)) == -0x1p64);
  CHECK(as_double(compose<Two>(int64_t(1) << 62, 1)) == 0x1p126);
  CHECK(as_double(compose<Two>(1 << 20, uint64_t(1) << 31)) == 0x1p84);  // a tie, to even
  CHECK(as_double(compose<Two>(1 << 20, (uint64_t(1) << 31) + 1)) == 0x1p84 + 0x1p32);
  CHECK(Two(-1) < Two(0));
  CHECK(compose<Two>(-1, 5) < compose<Two>(0, 1));
  CHECK(-compose<Two>(1, 1) == compose<Two>(-2, ~uint64_t{0}));
}

#ifdef __SIZEOF_INT128__
TEST_CASE("integers of two limbs agree with the compiler's own") {
  using Two = WideInteger<2>;
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20000; ++trial) {
    const int drop = int(random() % 63);
    const int64_t a = int64_t(random()) >> drop, b = int64_t(random()) >> (random() % 63);
    const uint64_t c = random() >> (random() % 64), d = random() >> (random() % 64);
    const Two x = compose<Two>(a / 4, c), y = compose<Two>(b / 4, d);
    const auto p = compose<Int128>(a / 4, c), q = compose<Int128>(b / 4, d);
    CHECK(as_double(x) == as_double(p));
    CHECK(as_double(x + y) == as_double(p + q));
    CHECK(as_double(x - y) == as_double(p - q));
    CHECK((x < y) == (p < q));
    CHECK((x == y) == (p == q));
    CHECK(as_double(halved(x - Two(int64_t(c & 1)))) ==
          as_double(halved(p - Int128(int64_t(c & 1)))));
    std::vector<int64_t> digits, wanted;
    append_digits(x, 4, digits);
    append_digits(p, 4, wanted);
    CHECK(digits == wanted);
  }
}
#endif

}  // namespace
