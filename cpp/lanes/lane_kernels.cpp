#include "lanes/lane_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/intrinsics.hpp"
#include "base/splitmix64.hpp"
#include "lanes/batch_limits.hpp"

namespace planaris {

namespace {

constexpr int kSweeps = 8, kSingleSweeps = 2;  // of spin flips, for a gauge state
constexpr double kLeastPivot = 1.0 - 1e-6;

// Between 1 and 2, by chance.
double leg_scale(uint64_t edge, uint64_t draw) {
  return 1.0 + static_cast<double>(mix64((edge * 8 + draw) * kGoldenGamma) >> 11) * 0x1p-53;
}

#define SIMD_FILE "lanes/lane_kernels.inl"
#include "base/each_instruction_set.inl"

}  // namespace

// The kernels of an instruction set, by the name of its namespace.
#define PLANARIS_LANE_KERNELS(set)                                           \
  LaneKernels {                                                              \
    #set, set::kFloats, &set::run_group, &set::run_shots, &set::run_ordered, \
        &set::Kernel<double, false>::product<false>                          \
  }

std::vector<LaneKernels> all_lane_kernels() {
  std::vector<LaneKernels> found{PLANARIS_LANE_KERNELS(plain)};
#ifdef PLANARIS_X86
  if (processor_instructions() >= InstructionSet::kAvx2) {
    found.push_back(PLANARIS_LANE_KERNELS(avx2));
  }
  if (processor_instructions() >= InstructionSet::kAvx512) {
    found.push_back(PLANARIS_LANE_KERNELS(avx512));
  }
#endif
  return found;
}

const LaneKernels& lane_kernels() {
  static const LaneKernels chosen =
      plain_kernels() ? all_lane_kernels().front() : all_lane_kernels().back();
  return chosen;
}

const LaneKernels& lane_kernels_for([[maybe_unused]] int rows) {
#ifdef PLANARIS_X86
  static const bool wide = !plain_kernels() && processor_instructions() >= InstructionSet::kAvx512;
  static const LaneKernels half = PLANARIS_LANE_KERNELS(avx2);
  if (wide && rows <= avx2::kDoubles && 2 * rows > avx2::kDoubles) return half;
#endif
  return lane_kernels();
}

}  // namespace planaris
