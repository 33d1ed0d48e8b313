#include "base/intrinsics.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

#define SIMD_FILE "base/simd_test.inl"
#include "base/each_instruction_set.inl"

using MultiplyAdd = void (*)(int, const double*, double, const double*, double*);

void check(MultiplyAdd kernel, bool fused) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> draw(-1.0, 1.0);
  constexpr int kCount = 64;
  std::vector<double> a(kCount + 1), b(kCount + 1), out(kCount + 1, 7.0);
  for (int i = 0; i <= kCount; ++i) {
    a[i] = draw(random);
    b[i] = -a[i] / 3.0;
  }
  const double x = 1.0 / 3.0;  // all but the rounding of the product cancels
  kernel(kCount, a.data() + 1, x, b.data() + 1, out.data() + 1);  // at odd addresses
  CHECK(out[0] == 7.0);
  for (int i = 1; i <= kCount; ++i) {
    const double product = a[i] * x;
    CHECK(out[i] == (fused ? std::fma(a[i], x, b[i]) : product + b[i]));
  }
  const std::vector<double> zeros(8, -0.0);
  kernel(8, std::vector<double>(8, 1.0).data(), -0.0, zeros.data(), out.data());
  for (int i = 0; i < 8; ++i) CHECK(std::signbit(out[i]));
}

TEST_CASE("vectors of every instruction set multiply and add as numbers do") {
  check(&plain::multiply_add, plain::kFused);
#ifdef PLANARIS_X86
  CHECK_FALSE(plain::kFused);
  if (processor_instructions() >= InstructionSet::kAvx2) check(&avx2::multiply_add, true);
  if (processor_instructions() >= InstructionSet::kAvx512) check(&avx512::multiply_add, true);
#endif
}

TEST_CASE("the kernel is the best of the processor, or plain on request") {
  const MultiplyAdd chosen = PLANARIS_CHOOSE(multiply_add);
  if (plain_kernels()) CHECK((chosen == &plain::multiply_add));
#ifdef PLANARIS_X86
  if (!plain_kernels() && processor_instructions() == InstructionSet::kAvx512) {
    CHECK((chosen == &avx512::multiply_add));
  }
#endif
}

TEST_CASE("small numbers are zero while they are flushed") {
  volatile double small = 0x1p-1040;
  {
    [[maybe_unused]] const FlushToZero flushed;
#ifdef PLANARIS_X86
    CHECK(small * 0.5 == 0.0);
#endif
    [[maybe_unused]] const PlainArithmetic exact;
    CHECK(small * 0.5 == 0x1p-1041);
  }
  CHECK(small * 0.5 == 0x1p-1041);
}

}  // namespace
