// Passes over a table of 2^bits numbers, several updates of a frontier programme in each.
//
// A block of threads takes a tile of 2^TILE_BITS entries into shared memory: those that differ in
// the updated bits and in the lowest others, so that lines of memory are read whole. Updates come
// in stages of at most three bits; for a stage every thread holds eight entries in registers.
//
// With PLANARIS_HOST the same code is C++: the threads of a block run one after the other between
// two barriers. Tests compile it so.
typedef unsigned long long Index;

#ifdef PLANARIS_HOST
#define DEVICE static inline
#define KERNEL static
#define PARAMETER(type, name) const type& name
#define EACH_THREAD for (int tid = 0; tid < THREADS; ++tid) {
#define END_EACH }
#define OWN(name) name[THREADS]
#define MY(name) name[tid]
static struct { int x; } blockIdx, gridDim;
static double shared[1 << 18];
#else
#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ __launch_bounds__(THREADS)
#define PARAMETER(type, name) const __grid_constant__ type name
#define EACH_THREAD { const int tid = threadIdx.x;
#define END_EACH } __syncthreads();
#define OWN(name) name
#define MY(name) name
extern __shared__ double shared[];
#endif

#define MAX_RUNS 14
#define MAX_STAGES 4
#define MAX_OPS 16
#define BACK_OPS 7
#define SUMS (3 * BACK_OPS + 1)

#define TILE (1 << TILE_BITS)

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
};
struct Pass {
  Index tiles;
  double factor;
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
DEVICE int entry(const Stage& s, int j, int i) {
  return place(j | (i & 1) << s.bits[0] | (i >> 1 & 1) << s.bits[1] | (i >> 2) << s.bits[2]);
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
DEVICE void update(double* a, const double* w) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i >> T & 1) continue;
    const double* m = w + (C >= 0 && (i >> (C < 0 ? 0 : C) & 1) ? 4 : 0);
    const double x = a[i], y = a[i | 1 << T];
    a[i] = join(x, m[0], y, m[Back ? 1 : 2]);
    a[i | 1 << T] = join(x, m[Back ? 2 : 1], y, m[3]);
  }
}

// Sums of before * weight * after where the new label is 1: all; old label 1; control 1.
template <int T, int C>
DEVICE void joint(const double* a, const double* b, const double* w, double* sums) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i >> T & 1) continue;
    const bool one = C >= 0 && (i >> (C < 0 ? 0 : C) & 1);
    const double* m = w + (one ? 4 : 0);
    const double after = b[i | 1 << T];
    const double both = a[i | 1 << T] * m[3] * after, all = both + a[i] * m[1] * after;
    sums[0] += all;
    sums[1] += both;
    if (one) sums[2] += all;
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

// The weights of an op for entries of an index; with a control outside, those of its label first.
DEVICE bool weights(const Op& op, Index index, double* w) {
  const bool one = op.outside >= 0 && (index >> op.outside & 1);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    w[k] = one ? op.w[4 + k] : op.w[k];
    w[4 + k] = op.w[4 + k];
  }
  return one;
}

template <bool Back>
DEVICE void apply(const Op& op, Index index, double* a) {
  double w[8];
  weights(op, index, w);
#define UPDATE(T, C) update<T, C, Back>(a, w)
  EACH_CASE(UPDATE)
}

DEVICE void load(const double* from, const Pass& p, Index base, double factor, int tid,
                 double* to) {
  double held[TILE / THREADS];
#pragma unroll
  for (int k = 0; k < TILE / THREADS; ++k) held[k] = from[base | offset(p, k * THREADS + tid)];
#pragma unroll
  for (int k = 0; k < TILE / THREADS; ++k) {
#ifdef BEST
    to[place(k * THREADS + tid)] = held[k];
#else
    to[place(k * THREADS + tid)] = held[k] * factor;
#endif
  }
}

KERNEL void forward_pass(double* table, double* tops, PARAMETER(Pass, p)) {
  double OWN(top);
  EACH_THREAD
    MY(top) = 0.0;
  END_EACH
  for (Index tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const Index base = tile_base(p, tile);
    EACH_THREAD
      load(table, p, base, p.factor, tid, shared);
    END_EACH
    for (int s = 0; s < p.stages; ++s) {
      EACH_THREAD
        const Stage& stage = p.stage[s];
        for (int q = tid; q < TILE / 8; q += THREADS) {
          const int j = spread(stage, q);
          const Index index = base | offset(p, j);
          double a[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) a[i] = shared[entry(stage, j, i)];
          for (int o = stage.first; o < stage.last; ++o) apply<false>(p.op[o], index, a);
#pragma unroll
          for (int i = 0; i < 8; ++i) shared[entry(stage, j, i)] = a[i];
        }
      END_EACH
    }
    EACH_THREAD
#pragma unroll
      for (int k = 0; k < TILE / THREADS; ++k) {
        const int j = k * THREADS + tid;
        const double value = shared[place(j)];
        table[base | offset(p, j)] = value;
        MY(top) = value > MY(top) ? value : MY(top);
      }
    END_EACH
  }
  EACH_THREAD
    shared[tid] = MY(top);
  END_EACH
  EACH_THREAD
    if (tid == 0) {
      double most = 0.0;
      for (int k = 0; k < THREADS; ++k) most = shared[k] > most ? shared[k] : most;
      tops[blockIdx.x] = most;
    }
  END_EACH
}

#ifndef BEST
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
      load(alpha, p, base, 1.0, tid, shared);
      load(beta, p, base, p.factor, tid, b);
    END_EACH
    for (int s = 0; s + 1 < p.stages; ++s) {
      EACH_THREAD
        const Stage& stage = p.stage[s];
        for (int q = tid; q < TILE / 8; q += THREADS) {
          const int j = spread(stage, q);
          const Index index = base | offset(p, j);
          double a[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) a[i] = shared[s * TILE + entry(stage, j, i)];
          for (int o = stage.first; o < stage.last; ++o) apply<false>(p.op[o], index, a);
#pragma unroll
          for (int i = 0; i < 8; ++i) shared[(s + 1) * TILE + entry(stage, j, i)] = a[i];
        }
      END_EACH
    }
    for (int s = p.stages - 1; s >= 0; --s) {
      EACH_THREAD
        const Stage& stage = p.stage[s];
        for (int q = tid; q < TILE / 8; q += THREADS) {
          const int j = spread(stage, q);
          const Index index = base | offset(p, j);
          double after[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) after[i] = b[entry(stage, j, i)];
          for (int o = stage.last - 1; o >= stage.first; --o) {
            double a[8], w[8], found[3] = {0.0, 0.0, 0.0};
#pragma unroll
            for (int i = 0; i < 8; ++i) a[i] = shared[s * TILE + entry(stage, j, i)];
            for (int k = stage.first; k < o; ++k) apply<false>(p.op[k], index, a);
            const Op& op = p.op[o];
            const bool one = weights(op, index, w);
#define JOINT(T, C) joint<T, C>(a, after, w, found)
            EACH_CASE(JOINT)
            if (one) found[2] = found[0];
            for (int k = 0; k < 3; ++k) collected[(3 * o + k) * THREADS + tid] += found[k];
            apply<true>(op, index, after);
          }
#pragma unroll
          for (int i = 0; i < 8; ++i) b[entry(stage, j, i)] = after[i];
        }
      END_EACH
    }
    EACH_THREAD
      double whole = 0.0;
#pragma unroll
      for (int k = 0; k < TILE / THREADS; ++k) {
        const int j = k * THREADS + tid;
        const double value = b[place(j)];
        beta[base | offset(p, j)] = value;
        MY(top) = value > MY(top) ? value : MY(top);
        whole += value * shared[place(j)];
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
    if (tid == 0) {
      double most = 0.0;
      for (int k = 0; k < THREADS; ++k) most = shared[k] > most ? shared[k] : most;
      tops[blockIdx.x] = most;
    }
  END_EACH
}
#endif

#ifdef PLANARIS_HOST
extern "C" void host_forward(double* table, double* tops, const Pass* p, int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) forward_pass(table, tops, *p);
}
#ifndef BEST
extern "C" void host_backward(const double* alpha, double* beta, double* tops, double* sums,
                              const Pass* p, int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    backward_pass(alpha, beta, tops, sums, *p);
  }
}
#endif
#endif
