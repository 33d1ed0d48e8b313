// Passes over a table of 2^bits numbers, several updates of a frontier programme in each.
//
// A block of threads takes a tile of 2^TILE_BITS entries into shared memory: those that differ in
// the updated bits and in the lowest others, so that lines of memory are read whole. Updates come
// in stages of at most three bits; for a stage every thread holds eight entries in registers.
//
// Tests compile the same code as C++ (threads.h).
#include "threads.h"

#define MAX_RUNS 14
#define MAX_HELD 16
#define MAX_STAGES 4
#define MAX_OPS 16
#define BACK_OPS 7
#define SUMS (3 * BACK_OPS + 1)

#define TILE (1 << TILE_BITS)
#define HELD (TILE / THREADS)         // entries that a thread loads
#define GROUPS (TILE / 8 / THREADS)   // groups of eight that it updates

// New entry of label b: from labels a, and the label c of the control: w[4 c + 2 a + b].
struct Op {
  int target;   // bit of the stage that it updates
  int inside;   // its control, if that is a bit of the stage, or -1
  int outside;  // its control, if that is another bit of the index, or -1
  int unused;
  double w[8];
};
struct Stage {
  int bits[3];  // of the tile, rising
  int first, last;
  int place[3];  // of these bits in shared memory
};
struct Pass {
  Index tiles;
  double factor;
  Index held[MAX_HELD];  // where the entries 0, THREADS, 2 THREADS, ... of a tile are
  int runs, stages;
  int run_start[MAX_RUNS], run_length[MAX_RUNS];  // the bits of the index that are the tile's
  Stage stage[MAX_STAGES];
  Op op[MAX_OPS];
};

// The tile's number, spread over the bits that are not the tile's.
DEVICE Index tile_base(const Pass& p, Index tile) {
  for (int r = 0; r < p.runs; ++r) {
    const int s = p.run_start[r];
    tile = ((tile >> s) << (s + p.run_length[r])) | (tile & ((Index(1) << s) - 1));
  }
  return tile;
}
DEVICE Index offset(const Pass& p, int j) {
  Index found = 0;
  for (int r = 0; r < p.runs; ++r) {
    found |= Index(j & ((1 << p.run_length[r]) - 1)) << p.run_start[r];
    j >>= p.run_length[r];
  }
  return found;
}
// Where an entry lies in shared memory: neighbours in any four bits lie in different banks.
DEVICE int place(int j) { return j ^ ((j >> 4) & 15) ^ ((j >> 8) & 15); }
DEVICE int spread(const Stage& s, int q) {
  for (int k = 0; k < 3; ++k) {
    q = ((q >> s.bits[k]) << (s.bits[k] + 1)) | (q & ((1 << s.bits[k]) - 1));
  }
  return q;
}
// Largest of the numbers that the threads of a block have left, none of them negative.
DEVICE double largest(const double* left) {
  double most = 0.0;
  for (int k = 0; k < THREADS; ++k) most = left[k] > most ? left[k] : most;
  return most;
}
// Addresses of a group in shared memory: exclusive or commutes with `place`.
DEVICE void addresses(const Stage& s, int first, int* at) {
  at[0] = first;
  at[1] = first ^ s.place[0];
  at[2] = first ^ s.place[1];
  at[3] = at[1] ^ s.place[1];
#pragma unroll
  for (int i = 0; i < 4; ++i) at[4 + i] = at[i] ^ s.place[2];
}

#ifdef BEST
DEVICE double join(double x, double v, double y, double w) {
  const double a = x + v, b = y + w;
  return a > b ? a : b;
}
#else
DEVICE double join(double x, double v, double y, double w) { return x * v + y * w; }
#endif

template <int T, int C, bool Back>
DEVICE void update(double a[][8], const double* w, const bool* one) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    double chosen[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) chosen[k] = C < 0 && one[g] ? w[4 + k] : w[k];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i >> T & 1) continue;
      const double* m = C >= 0 && (i >> (C < 0 ? 0 : C) & 1) ? w + 4 : chosen;
      const double x = a[g][i], y = a[g][i | 1 << T];
      a[g][i] = join(x, m[0], y, m[Back ? 1 : 2]);
      a[g][i | 1 << T] = join(x, m[Back ? 2 : 1], y, m[3]);
    }
  }
}

// Sums of before * weight * after where the new label is 1: all; old label 1; control 1.
template <int T, int C>
DEVICE void joint(const double a[][8], const double b[][8], const double* w, const bool* one,
                  double* sums) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    double all_of = 0.0;
    const double w01 = C < 0 && one[g] ? w[5] : w[1], w11 = C < 0 && one[g] ? w[7] : w[3];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i >> T & 1) continue;
      const bool inside = C >= 0 && (i >> (C < 0 ? 0 : C) & 1);
      const double after = b[g][i | 1 << T];
      const double both = a[g][i | 1 << T] * (inside ? w[7] : w11) * after;
      const double all = both + a[g][i] * (inside ? w[5] : w01) * after;
      sums[1] += both;
      all_of += all;
      if (inside) sums[2] += all;
    }
    sums[0] += all_of;
    if (C < 0 && one[g]) sums[2] += all_of;
  }
}

#define EACH_CASE(DO) \
  switch (4 * op.target + op.inside + 1) { \
    case 0: DO(0, -1); break; \
    case 2: DO(0, 1); break; \
    case 3: DO(0, 2); break; \
    case 4: DO(1, -1); break; \
    case 5: DO(1, 0); break; \
    case 7: DO(1, 2); break; \
    case 8: DO(2, -1); break; \
    case 9: DO(2, 0); break; \
    default: DO(2, 1); break; \
  }

// Loads the weights of an op; tells whether a control outside has label 1, for every group.
DEVICE void prepare(const Op& op, const Index* index, double* w, bool* one) {
#pragma unroll
  for (int k = 0; k < 8; ++k) w[k] = op.w[k];
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) one[g] = op.outside >= 0 && (index[g] >> op.outside & 1);
}

DEVICE void apply(const Op& op, const Index* index, double a[][8]) {
  double w[8];
  bool one[GROUPS];
  prepare(op, index, w, one);
#define UPDATE(T, C) update<T, C, false>(a, w, one)
  EACH_CASE(UPDATE)
}

// The groups of a thread in a stage: addresses in shared memory, and indices in the table.
DEVICE void find_groups(const Pass& p, const Stage& stage, Index base, int tid, int at[][8],
                        Index* index) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    const int j = spread(stage, g * THREADS + tid);
    index[g] = base | offset(p, j);
    addresses(stage, place(j), at[g]);
  }
}
DEVICE void read(const double* from, const int at[][8], double a[][8]) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
    for (int i = 0; i < 8; ++i) a[g][i] = from[at[g][i]];
  }
}
DEVICE void write(double* to, const int at[][8], const double a[][8]) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[at[g][i]] = a[g][i];
  }
}

DEVICE void copy(const double from[][8], double to[][8]) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[g][i] = from[g][i];
  }
}

DEVICE void load(const double* from, const Pass& p, double factor, int at, double* to) {
  double held[HELD];
#pragma unroll
  for (int k = 0; k < HELD; ++k) held[k] = from[p.held[k]];
#pragma unroll
  for (int k = 0; k < HELD; ++k) {
#ifdef BEST
    to[at ^ place(k * THREADS)] = held[k];
#else
    to[at ^ place(k * THREADS)] = held[k] * factor;
#endif
  }
}

// One stage of updates, from one tile to another or in place.
DEVICE void run_stage(const Pass& p, const Stage& stage, Index base, int tid, const double* from,
                      double* to) {
  int at[GROUPS][8];
  Index index[GROUPS];
  double a[GROUPS][8];
  find_groups(p, stage, base, tid, at, index);
  read(from, at, a);
  for (int o = stage.first; o < stage.last; ++o) apply(p.op[o], index, a);
  write(to, at, a);
}

#ifndef BACKWARD
KERNEL void forward_pass(double* table, double* tops, PARAMETER(Pass, p)) {
  double OWN(top);
  EACH_THREAD
    MY(top) = 0.0;
  END_EACH
  for (Index tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const Index base = tile_base(p, tile);
    EACH_THREAD
      load(table + (base | offset(p, tid)), p, p.factor, place(tid), shared);
    END_EACH
    for (int s = 0; s < p.stages; ++s) {
      EACH_THREAD
        run_stage(p, p.stage[s], base, tid, shared, shared);
      END_EACH
    }
    EACH_THREAD
double* const to = table + (base | offset(p, tid));
      const int at = place(tid);
#pragma unroll
      for (int k = 0; k < HELD; ++k) {
        const double value = shared[at ^ place(k * THREADS)];
        to[p.held[k]] = value;
        MY(top) = value > MY(top) ? value : MY(top);
      }
    END_EACH
  }
  EACH_THREAD
    shared[tid] = MY(top);
  END_EACH
  EACH_THREAD
    if (tid == 0) tops[blockIdx.x] = largest(shared);
  END_EACH
}

#endif

#if !defined(BEST) && !defined(FORWARD)
// Turns beta after the updates into beta before them. `sums` receives, for every block, three
// sums for each update and that of alpha * beta; alpha is the table before the updates.
KERNEL void backward_pass(const double* alpha, double* beta, double* tops, double* sums,
                          PARAMETER(Pass, p)) {
  double* const b = shared + 3 * TILE;
  double* const collected = b + TILE;
  double OWN(top);
  EACH_THREAD
    MY(top) = 0.0;
    for (int k = 0; k < SUMS; ++k) collected[k * THREADS + tid] = 0.0;
  END_EACH
  for (Index tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const Index base = tile_base(p, tile);
    EACH_THREAD
      const Index first = base | offset(p, tid);
      load(alpha + first, p, 1.0, place(tid), shared);
      load(beta + first, p, p.factor, place(tid), b);
    END_EACH
    for (int s = 0; s + 1 < p.stages; ++s) {
      EACH_THREAD
        run_stage(p, p.stage[s], base, tid, shared + s * TILE, shared + (s + 1) * TILE);
      END_EACH
    }
    for (int s = p.stages - 1; s >= 0; --s) {
      EACH_THREAD
        const Stage& stage = p.stage[s];
        int at[GROUPS][8];
        Index index[GROUPS];
        double after[GROUPS][8];
        find_groups(p, stage, base, tid, at, index);
        read(b, at, after);
        // What alpha is before each update of the stage; there are at most three.
        double a[3][GROUPS][8];
        const int count = stage.last - stage.first;
        read(shared + s * TILE, at, a[0]);
#pragma unroll
        for (int o = 1; o < 3; ++o) {
          if (o >= count) break;
          copy(a[o - 1], a[o]);
          apply(p.op[stage.first + o - 1], index, a[o]);
        }
#pragma unroll
        for (int o = 2; o >= 0; --o) {
          if (o >= count) continue;
          double w[8], found[3] = {0.0, 0.0, 0.0};
          bool one[GROUPS];
          const Op& op = p.op[stage.first + o];
          prepare(op, index, w, one);
#define JOINT(T, C) joint<T, C>(a[o], after, w, one, found)
          EACH_CASE(JOINT)
#pragma unroll
          for (int k = 0; k < 3; ++k) {
            collected[(3 * (stage.first + o) + k) * THREADS + tid] += found[k];
          }
#define UPDATE_BACK(T, C) update<T, C, true>(after, w, one)
          EACH_CASE(UPDATE_BACK)
        }
        write(b, at, after);
      END_EACH
    }
    EACH_THREAD
      double* const to = beta + (base | offset(p, tid));
      const int at = place(tid);
      double whole = 0.0;
#pragma unroll
      for (int k = 0; k < HELD; ++k) {
        const double value = b[at ^ place(k * THREADS)];
        to[p.held[k]] = value;
        MY(top) = value > MY(top) ? value : MY(top);
        whole += value * shared[at ^ place(k * THREADS)];
      }
      collected[(SUMS - 1) * THREADS + tid] += whole;
    END_EACH
  }
  EACH_THREAD
    shared[tid] = MY(top);
    for (int k = tid; k < SUMS; k += THREADS) {
      double sum = 0.0;
      for (int t = 0; t < THREADS; ++t) sum += collected[k * THREADS + t];
      sums[blockIdx.x * SUMS + k] = sum;
    }
  END_EACH
  EACH_THREAD
    if (tid == 0) tops[blockIdx.x] = largest(shared);
  END_EACH
}
#endif

#ifdef PLANARIS_HOST
#ifndef BACKWARD
extern "C" void host_forward(double* table, double* tops, const Pass* p, int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) forward_pass(table, tops, *p);
}
#endif
#if !defined(BEST) && !defined(FORWARD)
extern "C" void host_backward(const double* alpha, double* beta, double* tops, double* sums,
                              const Pass* p, int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    backward_pass(alpha, beta, tops, sums, *p);
  }
}
#endif
#endif
