#include "base/control.hpp"

#include <bit>
#include <cfenv>
#include <cstdint>
#include <limits>

#include "base/rounding.hpp"
#include "base/simd.hpp"
#include "third_party/doctest/doctest.h"

namespace planaris {

namespace {

// Where the compiler cannot move it from.
PLANARIS_NOINLINE double quotient(double x, double y) {
  volatile double numerator = x, found = numerator / y;
  return found;
}

// 1/3 is rounded down, 1/10 up, and half of a small number is not zero, to which comparisons may
// take it.
bool is_usual() {
  return quotient(1.0, 3.0) == 0x1.5555555555555p-2 &&
         quotient(1.0, 10.0) == 0x1.999999999999ap-4 &&
         std::bit_cast<uint64_t>(quotient(0x1p-1040, 2.0)) != 0;
}

}  // namespace

TEST_CASE("what is called back computes as usual, whatever the kernel around it does") {
  bool called = false, asked = false, fine = true;
  const auto call = [&](double) {
    fine &= is_usual();
    return called = true;
  };
  const auto ask = [&] {
    fine &= is_usual();
    return asked = true;
  };
  Control control(call, std::numeric_limits<double>::infinity(), {1, 0.0});
  control.set_signals(ask);
  {
    [[maybe_unused]] const FlushToZero flushed;
    const RoundUp up;
    CHECK_NOTHROW(control.poll_now());
    control.set_finishing(true);
    while (!asked) control.poll_now();
    CHECK(std::fegetround() == FE_UPWARD);
#if defined(PLANARIS_X86) || (defined(__aarch64__) && defined(__GNUC__))
    CHECK(quotient(0x1p-1040, 2.0) == 0.0);
#endif
  }
  CHECK(called);
  CHECK(fine);
  CHECK(is_usual());
}

}  // namespace planaris
