// The one place that knows instruction sets.
//
// Kernels use the vector types of gcc and clang, which any processor runs. There are three ways to
// have wider registers where the processor has them, all chosen when the program runs:
//   PLANARIS_CLONES before a function: the compiler makes a copy for each instruction set. Products
//     are never fused, so all copies give the same bits.
//   run_widest<Kernel>(arguments): the same for clang and under sanitizers too, where the kernel is
//     told how many doubles a register holds.
//   base/each_instruction_set.inl: compiles a file once for each, with vectors of the widest
//     register and `fused` products; PLANARIS_CHOOSE(name) returns the function to call.
// Plain kernels have registers of 16 bytes: SSE2, or NEON, where products are fused too.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__)
#include <xmmintrin.h>
#define PLANARIS_X86 1
#define PLANARIS_AVX2 __attribute__((target("avx2,fma")))
#ifdef __clang__  // it has no such preference, and ignores attributes that it does not know whole
#define PLANARIS_AVX512 __attribute__((target("avx512f,avx512dq,avx2,fma")))
#else
#define PLANARIS_AVX512 __attribute__((target("avx512f,avx512dq,avx2,fma,prefer-vector-width=512")))
#endif
#endif

// Sanitizers are not set up yet when clones are chosen.
#if defined(PLANARIS_X86) && !defined(__clang__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PLANARIS_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLANARIS_CLONES
#endif

#define PLANARIS_INLINE inline __attribute__((always_inline))
#define PLANARIS_NOINLINE __attribute__((noinline))

#ifdef PLANARIS_X86
#define PLANARIS_CHOOSE(name) ::planaris::choose_kernel(&plain::name, &avx2::name, &avx512::name)
#else
#define PLANARIS_CHOOSE(name) (&plain::name)
#endif

namespace planaris {

// Inside a loop that waits for another thread.
inline void pause_briefly() {
#ifdef PLANARIS_X86
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

enum class InstructionSet : uint8_t { kPlain, kAvx2, kAvx512 };

// The best that this processor has.
inline InstructionSet processor_instructions() {
#ifdef PLANARIS_X86
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::kPlain;
  }
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return wide ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
#else
  return InstructionSet::kPlain;
#endif
}

// True if the environment variable PLANARIS_PLAIN_KERNELS is set to anything but "" or "0": plain
// kernels then run on any processor, so that tests reach them. Read once.
inline bool plain_kernels() {
  static const bool forced = [] {
    const char* value = std::getenv("PLANARIS_PLAIN_KERNELS");
    return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
  }();
  return forced;
}

// The function for this processor, or the plain one where that is asked for.
template <class Function>
Function choose_kernel(Function plain, Function avx2, Function avx512) {
  if (plain_kernels()) return plain;
  switch (processor_instructions()) {
    case InstructionSet::kAvx512: return avx512;
    case InstructionSet::kAvx2: return avx2;
    default: return plain;
  }
}

constexpr int kPlainWidth = 2;  // doubles of a register that every processor has

// W doubles side by side. Let W be what the processor has: compilers take wider vectors apart, into
// single numbers where they are compared.
template <int W>
struct Pack {
  typedef double Type __attribute__((vector_size(W * sizeof(double))));
  typedef uint64_t Bits __attribute__((vector_size(W * sizeof(uint64_t))));
  static PLANARIS_INLINE Type get(const double* p) {
    Type x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  static PLANARIS_INLINE void set(double* p, Type x) { std::memcpy(p, &x, sizeof(x)); }
};
template <>
struct Pack<1> {
  using Type = double;
  using Bits = uint64_t;
  static PLANARIS_INLINE Type get(const double* p) { return *p; }
  static PLANARIS_INLINE void set(double* p, Type x) { *p = x; }
};

// What kernels run with. Until it is set, when the library is loaded, they are plain.
inline const InstructionSet kInstructions =
    plain_kernels() ? InstructionSet::kPlain : processor_instructions();

// Numbers and pointers by value, all else by reference.
template <class T>
using KernelArgument = std::conditional_t<std::is_scalar_v<T>, T, T&>;

template <class Kernel, class... Arguments>
__attribute__((noinline)) auto run_plain(KernelArgument<Arguments>... arguments) {
  return Kernel::template run<kPlainWidth>(arguments...);
}
#ifdef PLANARIS_X86
template <class Kernel, class... Arguments>
PLANARIS_AVX2 auto run_avx2(KernelArgument<Arguments>... arguments) {
  return Kernel::template run<4>(arguments...);
}
template <class Kernel, class... Arguments>
PLANARIS_AVX512 auto run_avx512(KernelArgument<Arguments>... arguments) {
  return Kernel::template run<8>(arguments...);
}
#endif

// Kernel::run<W>(arguments) for registers of W doubles, as this processor has them. `run` must be
// PLANARIS_INLINE, and so must be all that it calls in its loops; numbers reach it by value.
template <class Kernel, class... Arguments>
PLANARIS_INLINE auto run_widest(Arguments&... arguments) {
#ifdef PLANARIS_X86
  if (kInstructions == InstructionSet::kAvx512)
    return run_avx512<Kernel, Arguments...>(arguments...);
  if (kInstructions == InstructionSet::kAvx2) return run_avx2<Kernel, Arguments...>(arguments...);
#endif
  return run_plain<Kernel, Arguments...>(arguments...);
}

// While it lives, the arithmetic of this thread does, or does not, count numbers too small for
// full precision as zero: they would be slow.
template <bool flushed>
class Subnormals {
 public:
#ifdef PLANARIS_X86
  Subnormals() : before_(_mm_getcsr()) {
    _mm_setcsr(flushed ? before_ | 0x8040 : before_ & ~0x8040u);
  }
  ~Subnormals() { _mm_setcsr(before_); }
  Subnormals(const Subnormals&) = delete;
  Subnormals& operator=(const Subnormals&) = delete;

 private:
  unsigned before_;
#elif defined(__aarch64__) && defined(__GNUC__)
  Subnormals() {
    constexpr uint64_t kFlush = uint64_t{1} << 24;
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    set(flushed ? before_ | kFlush : before_ & ~kFlush);
  }
  ~Subnormals() { set(before_); }
  Subnormals(const Subnormals&) = delete;
  Subnormals& operator=(const Subnormals&) = delete;

 private:
  static void set(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
  uint64_t before_;
#endif
};
using FlushToZero = Subnormals<true>;
using PlainArithmetic = Subnormals<false>;

}  // namespace planaris
