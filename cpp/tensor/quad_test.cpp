#include "tensor/quad.hpp"

#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris::tensor;

namespace {

bool near(const Quad& a, const Quad& b, double error) { return size_of(a - b) <= error; }

}  // namespace

TEST_CASE("quads have four times the digits of doubles") {
  const Quad one(1.0), x(1.0, 0x1p-60, 0x1p-120, 0x1p-180);
  // (1 + t + t² + t³)² = 1 + 2 t + 3 t² + 4 t³ + O(t⁴), t = 2^-60
  CHECK(near(x * x, Quad(1.0, 0x1p-59, 3 * 0x1p-120, 0x1p-178), 0x1p-205));
  CHECK(!near(x * x, Quad(1.0, 0x1p-59, 3 * 0x1p-120, 3 * 0x1p-180), 0x1p-190));
  CHECK(near(x + x, x * 2.0, 0x1p-208));
  CHECK(near(x - Quad(1.0, 0x1p-60, 0x1p-120, 0.0), Quad(0x1p-180), 0x1p-208));
  CHECK(near(one / Quad(3.0) * 3.0, one, 0x1p-207));
  CHECK(
      near(one / x, Quad(1.0, -0x1p-60, 0.0, 0.0), 0x1p-205));  // (1 - t)(1 + t + t² + t³) = 1 - t⁴
  CHECK(divisor<Quad>(5.0) == 4.0);
}

TEST_CASE("quads obey the laws of arithmetic to 60 digits") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto draw = [&] {
    Quad out(normal(random));
    for (int k = 1; k < 4; ++k) out += Quad(normal(random)) * std::ldexp(1.0, -53 * k);
    return out;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const Quad a = draw(), b = draw(), c = draw();
    const double all = size_of(a) + size_of(b) + size_of(c) + 1;
    const double close = 0x1p-200 * all * all * all;
    CHECK(near((a + b) + c, a + (b + c), close));
    CHECK(near((a * b) * c, a * (b * c), close));
    CHECK(near(a * (b + c), a * b + a * c, close));
    CHECK(near(a / b * b, a, close));
    CHECK(near(a * b.part[0], a * Quad(b.part[0]), close));
    for (int k = 0; k < 3; ++k)
      CHECK(std::fabs((a * b).part[k + 1]) <= 0x1p-52 * std::fabs((a * b).part[k]));
  }
}
