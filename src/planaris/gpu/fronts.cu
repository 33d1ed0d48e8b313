// Elimination of many models of one plane graph along the fronts of its dissection, one model per
// lane of a warp. The warps of a block share the rows and tiles of a front; there is no search for
// pivots (see lane_kernels.hpp of the core: relative to any state no pivot is smaller than its
// join). Numbers of the 32 models of a block lie side by side everywhere.
#include "threads.h"

#ifndef REAL
#define REAL double
#endif

#define LANES 32
#define WARPS (THREADS / LANES)
#define PANEL 16

// In double precision the two legs of an edge share a weight, in single precision each has its own.
#define WEIGHT_OF(leg) ((leg) >> (sizeof(REAL) == sizeof(double) ? 1 : 0))
#define AT(array, number) array[(long long)(number) * LANES + lane]

// A FrontTree, and where every node keeps its numbers.
struct Tree {
  const int *left, *right, *own, *boundary, *place, *edge_order;
  const int *leaf_faces, *face_begin, *face_legs, *face_rows;
  const int *signs;      // of edges: -1, 1
  const int *up, *down;  // of nodes: where their boundary lies on the stack, going up and down
  const long long* factors;
  int nodes, rows;       // rows of the largest front
  long long stack;       // numbers on it at most
};
struct Batch {
  const REAL* weight;  // edges × models: exp(-g); in single precision legs × models
  REAL *pivots, *uncut, *residual;
  REAL* scratch;
  long long per_block, models;  // models: a multiple of LANES
  int marginals;
};

DEVICE long long packed(long long rows) { return rows * (rows - 1) / 2; }
DEVICE long long column_at(long long j, long long rows) { return j * (2 * rows - j - 1) / 2; }

// New values of rows i of columns k and k + 1: what earlier pairs of the panel take from them.
DEVICE void reduced(const REAL* a, const REAL* kept, int n, int k0, int k, int i, int lane, REAL& u,
                    REAL& v) {
  u = AT(a, k * n + i);
  v = AT(a, (k + 1) * n + i);
#pragma unroll 4
  for (int t = 0; t < k - k0; ++t) {
    const REAL x = AT(a, (k0 + t) * n + i);
    u += x * AT(kept, t * n + k);
    v += x * AT(kept, t * n + k + 1);
  }
}

// Subtracts a panel from a tile of four columns j and four rows i.
DEVICE void update_tile(REAL* a, const REAL* kept, int n, int k0, int depth, int i, int j,
                        int lane) {
  REAL sum[4][4];
  const int rows = n - i < 4 ? n - i : 4, columns = n - j < 4 ? n - j : 4;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      sum[c][r] = c < columns && r < rows ? AT(a, (j + c) * n + i + r) : REAL(0);
    }
  }
#pragma unroll 2
  for (int t = 0; t < depth; ++t) {
    REAL x[4], y[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      x[r] = AT(a, (k0 + t) * n + (r < rows ? i + r : i));
      y[r] = AT(kept, t * n + (r < columns ? j + r : j));
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int r = 0; r < 4; ++r) sum[c][r] += x[r] * y[c];
    }
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (c < columns && r < rows) AT(a, (j + c) * n + i + r) = sum[c][r];
    }
  }
}

// Eliminates the first `own` rows of a front, pair by pair; only the strict lower triangle counts.
// Leaves L below the pivots, which stand at (k + 1, k).
DEVICE void eliminate_front(REAL* a, REAL* kept, int n, int own) {
  for (int k0 = 0; k0 < own; k0 += PANEL) {
    const int k1 = own < k0 + PANEL ? own : k0 + PANEL;
    for (int k = k0; k < k1; k += 2) {
      EACH_THREAD
        const int lane = tid % LANES;
        REAL d, unused;
        reduced(a, kept, n, k0, k, k + 1, lane, d, unused);
        d = -d;
        const REAL inverse = REAL(1) / d;
        REAL *keep_u = kept + (long long)(k - k0) * n * LANES, *keep_v = keep_u + n * LANES;
        if (tid / LANES == 0) AT(keep_u, k + 1) = d;
        for (int i = k + 2 + tid / LANES; i < n; i += WARPS) {
          REAL u, v;
          reduced(a, kept, n, k0, k, i, lane, u, v);
          AT(keep_u, i) = u;
          AT(keep_v, i) = v;
          AT(a, k * n + i) = v * inverse;
          AT(a, (k + 1) * n + i) = -(u * inverse);
        }
      END_EACH
    }
    EACH_THREAD
      const int lane = tid % LANES, tiles = (n - k1 + 3) / 4;
      for (int k = k0 + 2 * (tid / LANES); k < k1; k += 2 * WARPS) {
        AT(a, k * n + k + 1) = AT(kept, (k - k0) * n + k + 1);
      }
      int task = tid / LANES, row = 0;  // tiles of the lower triangle, row after row
      while (row < tiles) {
        if (task > row) {
          task -= ++row;
          continue;
        }
        update_tile(a, kept, n, k0, k1 - k0, k1 + 4 * row, k1 + 4 * task, lane);
        task += WARPS;
      }
    END_EACH
  }
}

DEVICE void assemble(const Tree& t, int node, const REAL* weight, long long models, const REAL* stack,
                     REAL* a, int n, int own) {
  EACH_THREAD
    const int lane = tid % LANES;
    for (int j = tid / LANES; j < n; j += WARPS) {
      for (int i = j + 1; i < n; ++i) AT(a, j * n + i) = REAL(0);
    }
  END_EACH
  EACH_THREAD
    const int lane = tid % LANES, warp = tid / LANES;
    if (t.left[node] < 0) {
      for (int f = t.leaf_faces[node]; f < t.leaf_faces[node + 1]; ++f) {
        const int end = t.face_begin[f + 1];
        for (int i = t.face_begin[f] + warp; i < end; i += WARPS) {
          const REAL own_weight = weight[WEIGHT_OF(t.face_legs[i]) * models + lane];
          for (int j = i + 1; j < end; ++j) {
            const REAL value = own_weight * weight[WEIGHT_OF(t.face_legs[j]) * models + lane];
            const int x = t.face_rows[i], y = t.face_rows[j];
            if (x > y) {
              AT(a, y * n + x) += value;
            } else {
              AT(a, x * n + y) -= value;
            }
          }
        }
      }
    } else {
      for (int side = 0; side < 2; ++side) {
        const int child = side == 0 ? t.left[node] : t.right[node];
        const int* place = t.place + t.boundary[child];
        const int rows = t.boundary[child + 1] - t.boundary[child];
        for (int j = warp; j < rows; j += WARPS) {
          const long long from = t.up[child] + column_at(j, rows) - j - 1;
          for (int i = j + 1; i < rows; ++i) AT(a, place[j] * n + place[i]) = AT(stack, from + i);
        }
      }
    }
  END_EACH
  EACH_THREAD
    const int lane = tid % LANES;
    for (int k = 2 * (tid / LANES); k < own; k += 2 * WARPS) {
      AT(a, k * n + k + 1) -= REAL(t.signs[t.edge_order[t.own[node] + k / 2]]);
    }
  END_EACH
}

DEVICE void go_up(const Tree& t, const Batch& b, long long first, REAL* a, REAL* kept, REAL* stack,
                  REAL* factors) {
  const REAL* weight = b.weight + first;
  for (int node = 0; node < t.nodes; ++node) {
    const int own = 2 * (t.own[node + 1] - t.own[node]);
    const int n = own + t.boundary[node + 1] - t.boundary[node];
    assemble(t, node, weight, b.models, stack, a, n, own);
    eliminate_front(a, kept, n, own);
    EACH_THREAD
      const int lane = tid % LANES, warp = tid / LANES;
      for (int k = 2 * warp; k < own; k += 2 * WARPS) {
        const int edge = t.own[node] + k / 2;
        b.pivots[edge * b.models + first + lane] =
            AT(a, k * n + k + 1) * REAL(t.signs[t.edge_order[edge]]);
      }
      if (b.marginals) {
        for (int j = warp; j < own; j += WARPS) {
          for (int i = j; i < n; ++i) AT(factors, t.factors[node] + j * n + i) = AT(a, j * n + i);
        }
      }
      for (int j = own + warp; j < n; j += WARPS) {
        const long long to = t.up[node] + column_at(j - own, n - own) - j - 1;
        for (int i = j + 1; i < n; ++i) AT(stack, to + i) = AT(a, j * n + i);
      }
    END_EACH
  }
}

// Fills the inverse of a front from its lower right block, pair by pair from the right. With T the
// rows after a pair q: K⁻¹_Tq = -K⁻¹_TT L_Tq. `parts` has room for one number per thread.
DEVICE void extend(REAL* z, const REAL* l, int n, int own, REAL* parts) {
  for (int q = own - 2; q >= 0; q -= 2) {
    EACH_THREAD
      const int lane = tid % LANES;
      REAL part = REAL(0);
      for (int i0 = q + 2 + 4 * (tid / LANES); i0 < n; i0 += 4 * WARPS) {
        REAL u[4] = {}, v[4] = {};
        const int rows = n - i0 < 4 ? n - i0 : 4;
#pragma unroll 2
        for (int t = q + 2; t < n; ++t) {
          const REAL x = AT(l, q * n + t), y = AT(l, (q + 1) * n + t);
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            const REAL entry = AT(z, t * n + (r < rows ? i0 + r : i0));
            u[r] += entry * x;
            v[r] += entry * y;
          }
        }
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          if (r >= rows) continue;
          const int i = i0 + r;
          AT(z, q * n + i) = -u[r];
          AT(z, (q + 1) * n + i) = -v[r];
          AT(z, i * n + q) = u[r];
          AT(z, i * n + q + 1) = v[r];
          part -= u[r] * AT(l, (q + 1) * n + i);
        }
      }
      parts[tid] = part;
    END_EACH
    EACH_THREAD
      const int lane = tid;
      if (tid < LANES) {
        REAL pair = REAL(1) / AT(l, q * n + q + 1);
        for (int w = 0; w < WARPS; ++w) pair -= parts[w * LANES + lane];
        AT(z, q * n + q + 1) = pair;
        AT(z, (q + 1) * n + q) = -pair;
        AT(z, q * n + q) = AT(z, (q + 1) * n + q + 1) = REAL(0);
      }
    END_EACH
  }
}

// Row i of K times column i of K⁻¹ is 1: the largest deviation, for the legs of a leaf's faces.
DEVICE REAL check_faces(const Tree& t, int node, const Batch& b, long long first, const REAL* z, int n,
                        int tid) {
  const int lane = tid % LANES;
  const REAL *weight = b.weight + first + lane, *uncut = b.uncut + first + lane;
  REAL residual = REAL(0);
  for (int f = t.leaf_faces[node]; f < t.leaf_faces[node + 1]; ++f) {
    const int begin = t.face_begin[f], end = t.face_begin[f + 1];
    for (int i = begin + tid / LANES; i < end; i += WARPS) {
      REAL sum = REAL(0);
      for (int j = begin; j < end; ++j) {
        const REAL term = weight[WEIGHT_OF(t.face_legs[j]) * b.models] *
                          AT(z, t.face_rows[i] * n + t.face_rows[j]);
        if (j != i) sum += j < i ? -term : term;
      }
      const int edge = t.face_legs[i] >> 1;
      sum = sum * weight[WEIGHT_OF(t.face_legs[i]) * b.models] + (uncut[edge * b.models] - REAL(1));
      sum = sum < REAL(0) ? -sum : sum;
      if (!(sum <= residual)) residual = sum;  // NaN stays
    }
  }
  return residual;
}

DEVICE void go_down(const Tree& t, const Batch& b, long long first, REAL* z, REAL* stack,
                    const REAL* factors, REAL* parts) {
  REAL OWN(residual);
  EACH_THREAD
    MY(residual) = REAL(0);
  END_EACH
  for (int node = t.nodes - 1; node >= 0; --node) {
    const int own = 2 * (t.own[node + 1] - t.own[node]);
    const int rows = t.boundary[node + 1] - t.boundary[node], n = own + rows;
    EACH_THREAD
      const int lane = tid % LANES;
      for (int j = tid / LANES; j < rows; j += WARPS) {
        for (int i = 0; i < rows; ++i) {
          AT(z, (own + j) * n + own + i) = AT(stack, t.down[node] + (long long)j * rows + i);
        }
      }
    END_EACH
    extend(z, factors + t.factors[node] * LANES, n, own, parts);
    EACH_THREAD
      const int lane = tid % LANES, warp = tid / LANES;
      for (int k = 2 * warp; k < own; k += 2 * WARPS) {
        const int edge = t.edge_order[t.own[node] + k / 2];
        b.uncut[edge * b.models + first + lane] = AT(z, k * n + k + 1) * REAL(t.signs[edge]);
      }
      for (int side = 0; side < 2 && t.left[node] >= 0; ++side) {
        const int child = side == 0 ? t.left[node] : t.right[node];
        const int* place = t.place + t.boundary[child];
        const int count = t.boundary[child + 1] - t.boundary[child];
        for (int j = warp; j < count; j += WARPS) {
          for (int i = 0; i < count; ++i) {
            AT(stack, t.down[child] + (long long)j * count + i) = AT(z, place[j] * n + place[i]);
          }
        }
      }
    END_EACH
    if (t.left[node] < 0) {
      EACH_THREAD
        const REAL found = check_faces(t, node, b, first, z, n, tid);
        if (!(found <= MY(residual))) MY(residual) = found;
      END_EACH
    }
  }
  EACH_THREAD
    parts[tid] = MY(residual);
  END_EACH
  EACH_THREAD
    if (tid < LANES) {
      REAL most = REAL(0);
      for (int w = 0; w < WARPS; ++w) {
        if (!(parts[w * LANES + tid] <= most)) most = parts[w * LANES + tid];
      }
      b.residual[first + tid] = most;
    }
  END_EACH
}

KERNEL void eliminate(PARAMETER(Tree, t), PARAMETER(Batch, b)) {
  REAL* const a = b.scratch + blockIdx.x * b.per_block;
  REAL* const kept = a + (long long)t.rows * t.rows * LANES;
  REAL* const stack = kept + (long long)PANEL * t.rows * LANES;
  REAL* const factors = stack + t.stack * LANES;
  for (long long first = (long long)blockIdx.x * LANES; first < b.models;
       first += (long long)gridDim.x * LANES) {
    go_up(t, b, first, a, kept, stack, factors);
    if (b.marginals) go_down(t, b, first, a, stack, factors, (REAL*)shared);
  }
}

#ifdef PLANARIS_HOST
extern "C" void host_eliminate(const Tree* t, const Batch* b, int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) eliminate(*t, *b);
}
#endif
