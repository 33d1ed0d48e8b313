#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/intrinsics.hpp"
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

struct LargerProducts {
  template <int W>
  static PLANARIS_INLINE int run(const std::vector<double>& a, const double* b, double x,
                                 double* out) {
    using P = Pack<W>;
    for (size_t i = 0; i + W <= a.size(); i += W) {
      const auto product = x * P::get(a.data() + i) + P::get(b + i), other = P::get(b + i);
      P::set(out + i, product > other ? product : other);
    }
    return W;
  }
};

TEST_CASE("kernels of every width give the same bits") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> draw(-1.0, 1.0);
  std::vector<double> a(64), b(65), expected(64);
  for (double& value : a) value = draw(random);
  for (double& value : b) value = draw(random);
  const double x = draw(random);
  for (size_t i = 0; i < a.size(); ++i) expected[i] = std::max(x * a[i] + b[i + 1], b[i + 1]);
  const double* odd = b.data() + 1;
  std::vector<double> out(64);
  double* to = out.data();
  const auto check_width = [&](int found, int width) {
    CHECK(found == width);
    CHECK(out == expected);
    out.assign(out.size(), 0.0);
  };
  using Vector = std::vector<double>;
  check_width(
      run_plain<LargerProducts, Vector, const double*, const double, double*>(a, odd, x, to), 2);
  const InstructionSet best = plain_kernels() ? InstructionSet::kPlain : processor_instructions();
  check_width(run_widest<LargerProducts>(a, odd, x, to), 2 << static_cast<int>(best));
#ifdef PLANARIS_X86
  if (processor_instructions() >= InstructionSet::kAvx2) {
    check_width(
        run_avx2<LargerProducts, Vector, const double*, const double, double*>(a, odd, x, to), 4);
  }
#endif
}

// Where the compiler cannot move it from.
PLANARIS_NOINLINE double half_of(double x) {
  volatile double half = x * 0.5;
  return half;
}

TEST_CASE("small numbers are zero while they are flushed") {
  const double small = 0x1p-1040;
  {
    [[maybe_unused]] const FlushToZero flushed;
#if defined(PLANARIS_X86) || defined(__aarch64__)
    CHECK(half_of(small) == 0.0);
#endif
    [[maybe_unused]] const PlainArithmetic exact;
    CHECK(half_of(small) == 0x1p-1041);
  }
  CHECK(half_of(small) == 0x1p-1041);
}

}  // namespace
