#include "pfaffian/lane_kernels.hpp"

#include <algorithm>
#include <cstddef>

#include "base/plain_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PLANARIS_X86 1
#endif

namespace planaris {

namespace {

constexpr int kSweeps = 8, kSingleSweeps = 2;  // of spin flips, for a gauge state
constexpr double kLeastPivot = 1.0 - 1e-6;

// -1, 0 or 1, by chance.
double last_digit(uint64_t edge, uint64_t draw) {
  uint64_t z = (edge * 8 + draw) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) % 3) - 1.0;
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
#endif
};
using FlushToZero = Subnormals<true>;
using PlainArithmetic = Subnormals<false>;

namespace plain {
#define LANES_TARGET
#define LANES_BYTES 16
#ifdef __FP_FAST_FMA
#define LANES_FMA 1
#else
#define LANES_FMA 0
#endif
#include "pfaffian/lane_kernels.inl"
#undef LANES_TARGET
#undef LANES_BYTES
#undef LANES_FMA
}  // namespace plain

#ifdef PLANARIS_X86
#define LANES_FMA 1
namespace avx2 {
#define LANES_TARGET __attribute__((target("avx2,fma")))
#define LANES_BYTES 32
#include "pfaffian/lane_kernels.inl"
#undef LANES_TARGET
#undef LANES_BYTES
}  // namespace avx2
namespace avx512 {
#ifdef __clang__  // it has no such preference, and ignores attributes that it does not know whole
#define LANES_TARGET __attribute__((target("avx512f,avx512dq,avx2,fma")))
#else
#define LANES_TARGET __attribute__((target("avx512f,avx512dq,avx2,fma,prefer-vector-width=512")))
#endif
#define LANES_BYTES 64
#include "pfaffian/lane_kernels.inl"
#undef LANES_TARGET
#undef LANES_BYTES
}  // namespace avx512
#undef LANES_FMA
#endif

}  // namespace

LaneSizes lane_sizes(const FrontTree& tree) {
  LaneSizes sizes;
  const auto packed = [](int64_t b) { return b * (b - 1) / 2; };
  int64_t up = 0, down = 0;
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    const int64_t n = tree.rows(node), b = tree.boundary_rows(node);
    sizes.rows = std::max(sizes.rows, n);
    sizes.factors += n * tree.own_rows(node);
    if (!tree.is_leaf(node)) {
      up -= packed(tree.boundary_rows(tree.left[node])) + packed(tree.boundary_rows(tree.right[node]));
    }
    up += packed(b);
    sizes.up = std::max(sizes.up, up);
  }
  const auto square = [&](int32_t node) {
    return int64_t(tree.boundary_rows(node)) * tree.boundary_rows(node);
  };
  for (int32_t node = tree.num_nodes() - 1; node >= 0; --node) {
    down -= node + 1 == tree.num_nodes() ? 0 : square(node);
    if (!tree.is_leaf(node)) down += square(tree.left[node]) + square(tree.right[node]);
    sizes.down = std::max(sizes.down, down);
  }
  return sizes;
}

size_t lane_bytes(const LaneSizes& sizes, size_t edges, size_t vertices, bool marginals) {
  const int64_t front = (sizes.rows + 34) * (sizes.rows + 16) + std::max(sizes.up, sizes.down);
  return 64 * (size_t(front) + (marginals ? size_t(sizes.factors) : 0) + 9 * edges + 2 * vertices);
}

std::vector<LaneKernels> all_lane_kernels() {
  std::vector<LaneKernels> found{{"plain", plain::kFloats, &plain::run_group}};
#ifdef PLANARIS_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back({"avx2", avx2::kFloats, &avx2::run_group});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    found.push_back({"avx512", avx512::kFloats, &avx512::run_group});
  }
#endif
  return found;
}

const LaneKernels& lane_kernels() {
  static const LaneKernels chosen =
      plain_kernels() ? all_lane_kernels().front() : all_lane_kernels().back();
  return chosen;
}

}  // namespace planaris
