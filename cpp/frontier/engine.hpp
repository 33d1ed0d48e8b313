// Runs a frontier program forwards, and backwards over recomputed checkpoints.
#pragma once

#include <cstring>
#include <memory>

#include "base/large_memory.hpp"
#include "base/simd.hpp"
#include "base/team.hpp"
#include "frontier/frontier.hpp"
#include "frontier/numbers.hpp"

namespace planaris::frontier {

constexpr int kLanes = 16;
constexpr int kRows = 64;     // 2^kGroupSlots
constexpr int kHistory = 8;   // kGroupOps
constexpr double kTop = 400;  // log2 of a plain table's largest entry, within 40

struct FreeArray {
  void operator()(double* p) const { free_large(p); }
};
using Array = std::unique_ptr<double[], FreeArray>;
// Strides of large powers of two touch a page per access: huge pages where they are to be had.
inline Array make_array(size_t size) {
  return Array(static_cast<double*>(allocate_large(size * sizeof(double))));
}

// A table of 2^bits entries; plane p of kind N begins at data + p * capacity.
struct Table {
  Array data;
  size_t capacity = 0;
  int32_t bits = 0;
  double exponent = 0;  // Plain: true value = entry * 2^exponent
  double top = 1;       // Plain: largest entry
  // Plain: log2 of a bound on the weight lost to underflow, as it may grow until the last step.
  double lost = -std::numeric_limits<double>::infinity();
};

inline double log2_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return low == -std::numeric_limits<double>::infinity()
             ? high
             : high + std::log2(1 + std::exp2(low - high));
}

// Where the blocks of a group lie in a table.
struct Blocks {
  int32_t locals = 0;
  int lanes = 1;
  bool contiguous = false;  // lanes are the lowest bits
  uint64_t mask = 0;        // bits that number the blocks
  int64_t count = 1;
  uint64_t row_offset[kRows];
  uint64_t lane_offset[kLanes];
  int32_t place[64];  // slot -> bit of the row

  Blocks(const FrontierStep& step) {
    uint64_t free = (step.bits_before >= 64 ? ~0ULL : (1ULL << step.bits_before) - 1);
    locals = static_cast<int32_t>(step.locals.size());
    for (int32_t k = 0; k < locals; ++k) {
      free &= ~(1ULL << step.locals[k]);
      place[step.locals[k]] = k;
    }
    for (int32_t r = 0; r < (1 << locals); ++r) {
      row_offset[r] = 0;
      for (int32_t k = 0; k < locals; ++k) {
        if (r >> k & 1) row_offset[r] |= 1ULL << step.locals[k];
      }
    }
    lane_offset[0] = 0;
    if (std::popcount(free) >= 4) {
      lanes = kLanes;
      uint64_t chosen = 0;
      for (int k = 0; k < 4; ++k) {
        const uint64_t bit = free & (~free + 1);
        free &= ~bit;
        chosen |= bit;
        for (int l = 0; l < (1 << k); ++l) lane_offset[l | (1 << k)] = lane_offset[l] | bit;
      }
      contiguous = chosen == 15;
    }
    mask = free;
    count = int64_t{1} << std::popcount(free);
  }

  uint64_t base(int64_t block) const {  // deposits the block's number into the mask
    uint64_t result = 0, left = mask;
    for (auto number = static_cast<uint64_t>(block); number; number >>= 1) {
      const uint64_t bit = left & (~left + 1);
      left &= ~bit;
      if (number & 1) result |= bit;
    }
    return result;
  }
  uint64_t next(uint64_t base) const { return ((base | ~mask) + 1) & mask; }
};

// Weights of an op in a kind's own terms; [control] when there is one.
struct Prepared {
  int32_t bit, control_bit;
  bool replaces;
  Weights w[2];
};

template <class N>
Prepared prepare(const FrontierOp& op, const int32_t* place) {
  Prepared p;
  p.replaces = op.old_spin >= 0;
  p.bit = place[op.slot];
  p.control_bit = op.control >= 0 ? place[op.control] : -1;
  for (int c = 0; c < 2; ++c) {
    for (int k = 0; k < 4; ++k) {
      const double log = p.replaces ? op.logs[4 * c + k] : (k < 2 ? op.logs[2 * c + k] : 0.0);
      N::set(log, p.w[c].m[k], p.w[c].e[k]);
    }
  }
  return p;
}

template <class N, int L>
PLANARIS_INLINE void load(const Table& table, const Blocks& blocks, uint64_t base, double factor,
                          double* __restrict rows) {
  const int32_t count = 1 << blocks.locals;
  for (int plane = 0; plane < N::kPlanes; ++plane) {
    const double* __restrict from = table.data.get() + plane * table.capacity + base;
    double* __restrict to = rows + static_cast<ptrdiff_t>(plane) * kRows * L;
    if (blocks.contiguous || L == 1) {
      for (int32_t r = 0; r < count; ++r) {
        for (int l = 0; l < L; ++l) to[r * L + l] = from[blocks.row_offset[r] + l];
      }
    } else {
      for (int l = 0; l < L; ++l) {
        const double* lane = from + blocks.lane_offset[l];
        for (int32_t r = 0; r < count; ++r) to[r * L + l] = lane[blocks.row_offset[r]];
      }
    }
  }
  if (factor != 1.0) {
    for (int32_t i = 0; i < count * L; ++i) rows[i] *= factor;
  }
}

template <class N, int L, int W>
PLANARIS_INLINE void store(Table& table, const Blocks& blocks, uint64_t base,
                           double* __restrict rows, double* __restrict top) {
  const int32_t count = 1 << blocks.locals;
  for (int32_t r = 0; r < count; ++r)
    N::template settle<L, W>(rows + r * L, size_t{kRows} * L, top);
  for (int plane = 0; plane < N::kPlanes; ++plane) {
    double* __restrict to = table.data.get() + plane * table.capacity + base;
    const double* __restrict from = rows + static_cast<ptrdiff_t>(plane) * kRows * L;
    if (blocks.contiguous || L == 1) {
      for (int32_t r = 0; r < count; ++r) {
        for (int l = 0; l < L; ++l) to[blocks.row_offset[r] + l] = from[r * L + l];
      }
    } else {
      for (int l = 0; l < L; ++l) {
        double* lane = to + blocks.lane_offset[l];
        for (int32_t r = 0; r < count; ++r) lane[blocks.row_offset[r]] = from[r * L + l];
      }
    }
  }
}

template <class N, int L, int W>
PLANARIS_INLINE void apply(const Prepared& op, int32_t locals, double* rows) {
  constexpr size_t plane = size_t{kRows} * L;
  const int32_t bit = 1 << op.bit;
  for (int32_t r = 0; r < (1 << locals); ++r) {
    if (r & bit) continue;
    const Weights& w = op.w[op.control_bit < 0 ? 0 : (r >> op.control_bit & 1)];
    double *x0 = rows + r * L, *x1 = rows + (r | bit) * L;
    if (op.replaces) {
      N::template replace<L, W>(x0, x1, plane, w);
    } else {
      N::template scale<L, W>(x0, plane, w.m[0], w.e[0]);
      N::template scale<L, W>(x1, plane, w.m[1], w.e[1]);
    }
  }
}

template <class N, int L, int W>
PLANARIS_INLINE void forward_blocks(Table& table, const Blocks& blocks, const Prepared* ops,
                                    int32_t num_ops, double factor, int64_t begin, int64_t end,
                                    double& top) {
  alignas(64) double rows[N::kPlanes * kRows * L];
  alignas(64) double tops[L] = {};
  uint64_t base = blocks.base(begin);
  for (int64_t b = begin; b < end; ++b, base = blocks.next(base)) {
    load<N, L>(table, blocks, base, factor, rows);
    for (int32_t i = 0; i < num_ops; ++i) apply<N, L, W>(ops[i], blocks.locals, rows);
    store<N, L, W>(table, blocks, base, rows, tops);
  }
  top = *std::max_element(tops, tops + L);
}

// Sums of alpha * weight * beta by [op][control][old][new] (a pair op uses [control][0][label]).
using JointSums = double[kHistory][8];

template <class N, int L, int W>
PLANARIS_INLINE void backward_blocks(const Table& alpha, Table& beta, const Blocks& blocks,
                                     const Prepared* ops, int32_t num_ops, double alpha_factor,
                                     double beta_factor, double reference, int64_t begin,
                                     int64_t end, JointSums sums, double& top) {
  constexpr size_t size = size_t{N::kPlanes} * kRows * L, plane = size_t{kRows} * L;
  const auto history = make_array(size * (num_ops + 1));
  alignas(64) double b[size];
  alignas(64) double acc[kHistory][8][L] = {};
  alignas(64) double tops[L] = {};
  uint64_t base = blocks.base(begin);
  const int32_t rows = 1 << blocks.locals;
  for (int64_t k = begin; k < end; ++k, base = blocks.next(base)) {
    load<N, L>(alpha, blocks, base, alpha_factor, history.get());
    for (int32_t i = 0; i + 1 < num_ops; ++i) {
      std::memcpy(history.get() + size * (i + 1), history.get() + size * i, size * sizeof(double));
      apply<N, L, W>(ops[i], blocks.locals, history.get() + size * (i + 1));
    }
    load<N, L>(beta, blocks, base, beta_factor, b);
    for (int32_t i = num_ops - 1; i >= 0; --i) {
      const Prepared& op = ops[i];
      const double* a = history.get() + size * i;
      const int32_t bit = 1 << op.bit;
      for (int32_t r = 0; r < rows; ++r) {
        if (r & bit) continue;
        const int c = op.control_bit < 0 ? 0 : (r >> op.control_bit & 1);
        const Weights& w = op.w[c];
        double *b0 = b + r * L, *b1 = b + (r | bit) * L;
        const double *a0 = a + r * L, *a1 = a + (r | bit) * L;
        N::template joint<L, W>(a0, b0, plane, w.m[0], w.e[0], reference, acc[i][4 * c]);
        if (op.replaces) {
          N::template joint<L, W>(a0, b1, plane, w.m[1], w.e[1], reference, acc[i][4 * c + 1]);
          N::template joint<L, W>(a1, b0, plane, w.m[2], w.e[2], reference, acc[i][4 * c + 2]);
          N::template joint<L, W>(a1, b1, plane, w.m[3], w.e[3], reference, acc[i][4 * c + 3]);
          N::template replace_back<L, W>(b0, b1, plane, w);
        } else {
          N::template joint<L, W>(a1, b1, plane, w.m[1], w.e[1], reference, acc[i][4 * c + 1]);
          N::template scale<L, W>(b0, plane, w.m[0], w.e[0]);
          N::template scale<L, W>(b1, plane, w.m[1], w.e[1]);
        }
      }
    }
    store<N, L, W>(beta, blocks, base, b, tops);
  }
  for (int32_t i = 0; i < num_ops; ++i) {
    for (int k = 0; k < 8; ++k) {
      sums[i][k] = 0.0;
      for (int l = 0; l < L; ++l) sums[i][k] += acc[i][k][l];
    }
  }
  top = *std::max_element(tops, tops + L);
}

}  // namespace planaris::frontier
