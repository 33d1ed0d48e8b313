#include "pfaffian/lane_kernels.hpp"

#include <algorithm>
#include <cstddef>

#include "base/intrinsics.hpp"

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

#define SIMD_FILE "pfaffian/lane_kernels.inl"
#include "base/each_instruction_set.inl"

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
  std::vector<LaneKernels> found{{"plain", plain::kFloats, &plain::run_group, &plain::run_shots}};
#ifdef PLANARIS_X86
  if (processor_instructions() >= InstructionSet::kAvx2) {
    found.push_back({"avx2", avx2::kFloats, &avx2::run_group, &avx2::run_shots});
  }
  if (processor_instructions() >= InstructionSet::kAvx512) {
    found.push_back({"avx512", avx512::kFloats, &avx512::run_group, &avx512::run_shots});
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
