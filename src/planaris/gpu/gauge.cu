// States of low energy of many models of one graph: by flips, a thread per model whose numbers lie
// side by side; or by annealing, a block per model.
#include "threads.h"
#ifdef PLANARIS_HOST
#include <math.h>
#endif

#define SWEEPS 8
#define SINGLE_SWEEPS 2
#define SWEEPS_OF_ANNEALING 100
#define COLD_SWEEPS 4
#define WARM 0.3f  // inverse temperatures, in units of the mean size of couplings
#define COLD 3.0f
#define AGAIN 0.45f  // where the second state and all others begin, with the best one so far

#define OF(array, number) array[(long long)(number) * models + model]

struct Graph {
  const int *offsets, *heads, *edge_of;  // by vertex
  const int* ends;                       // two per edge
  int vertices, edges;
};

// Vertices by colour: no two neighbours share one. Places are vertices in this order, slots are the
// neighbours of every place.
struct Colours {
  const int *begin, *first, *heads;  // places of a colour, slots of a place, places of neighbours
  int count, places;
  long long slots;
};

DEVICE void flip(const Graph& g, int v, const double* couplings, long long models, long long model,
                 signed char* spins, double* field) {
  const double change = -2.0 * OF(spins, v);
  OF(spins, v) = (signed char)-OF(spins, v);
  for (int k = g.offsets[v]; k < g.offsets[v + 1]; ++k) {
    OF(field, g.heads[k]) += OF(couplings, g.edge_of[k]) * change;
  }
}

// Single spins, then pairs of neighbours as well, are flipped while that helps, in a few sweeps.
KERNEL void lower_energy(PARAMETER(Graph, g), const double* couplings, signed char* spins,
                         double* field, long long models) {
  EACH_THREAD
    const long long model = (long long)blockIdx.x * THREADS + tid;
    if (model < models) {
      for (int v = 0; v < g.vertices; ++v) {
        double sum = 0.0;
        for (int k = g.offsets[v]; k < g.offsets[v + 1]; ++k) sum += OF(couplings, g.edge_of[k]);
        OF(field, v) = sum;
        OF(spins, v) = 1;
      }
      for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        bool changed = false;
        for (int v = 0; v < g.vertices; ++v) {
          if (!(OF(field, v) * OF(spins, v) < 0.0)) continue;
          flip(g, v, couplings, models, model, spins, field);
          changed = true;
        }
        if (changed && sweep < SINGLE_SWEEPS) continue;
        for (int e = 0; e < g.edges; ++e) {
          const int u = g.ends[2 * e], v = g.ends[2 * e + 1];
          const double su = OF(spins, u), sv = OF(spins, v);
          const double joined = 2.0 * OF(couplings, e) * su * sv;
          if (u == v || !(OF(field, u) * su + OF(field, v) * sv < joined)) continue;
          flip(g, u, couplings, models, model, spins, field);
          flip(g, v, couplings, models, model, spins, field);
          changed = true;
        }
        if (!changed) break;
      }
    }
  END_EACH
}

// A number in [0, 1), the same for every model.
DEVICE float chance(unsigned place, unsigned time) {
  unsigned x = place * 0x9e3779b9u + time * 0x85ebca6bu;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return (float)((x ^ (x >> 16)) >> 8) * 5.9604645e-8f;
}

// What a block has of its model: couplings by slot, relative to their mean size; by place, two
// states, a label and room for a sum.
struct Model {
  const float* coupling;
  signed char *spin, *other;
  int* label;
  long long* gain;
};

// Cools `other` down by heat-bath updates, one colour after the other; the first time from anywhere,
// then from `spin`.
DEVICE void cool(const Colours& c, const Model& m, int replica) {
  signed char* const spin = m.other;
  const unsigned start = replica * (SWEEPS_OF_ANNEALING + COLD_SWEEPS + 1);
  EACH_THREAD
    for (int p = tid; p < c.places; p += THREADS) {
      spin[p] = replica > 0 ? m.spin[p] : chance(p, start) < 0.5f ? 1 : -1;
    }
  END_EACH
  for (int sweep = 0; sweep < SWEEPS_OF_ANNEALING + COLD_SWEEPS; ++sweep) {
    const float warm = replica > 0 ? AGAIN : WARM;
    const float beta = warm + (COLD - warm) * (float)sweep / (float)SWEEPS_OF_ANNEALING;
    const float twice_beta = sweep < SWEEPS_OF_ANNEALING ? 2.0f * beta : 1e30f;
    for (int colour = 0; colour < c.count; ++colour) {
      EACH_THREAD
        for (int p = c.begin[colour] + tid; p < c.begin[colour + 1]; p += THREADS) {
          float field = 0.0f;
          for (int k = c.first[p]; k < c.first[p + 1]; ++k) {
            field += m.coupling[k] * (float)spin[c.heads[k]];
          }
          if (field == 0.0f) continue;
          const float up = 1.0f / (1.0f + expf(-twice_beta * field));
          spin[p] = chance(p, start + sweep + 1) < up ? 1 : -1;
        }
      END_EACH
    }
  }
}

// Flips connected sets of spins in which `spin` and sign * `other` differ, where that helps.
DEVICE void merge(const Colours& c, const Model& m, int sign) {
  int* const moved = (int*)shared;
  EACH_THREAD
    for (int p = tid; p < c.places; p += THREADS) {
      m.label[p] = m.spin[p] == sign * m.other[p] ? -1 : p;
      m.gain[p] = 0;
    }
  END_EACH
  for (bool more = true; more;) {  // labels fall to the least place of their set
    EACH_THREAD
      if (tid == 0) *moved = 0;
    END_EACH
    EACH_THREAD
      for (int p = tid; p < c.places; p += THREADS) {
        const int old = m.label[p];
        if (old < 0) continue;
        int least = m.label[old];
        for (int k = c.first[p]; k < c.first[p + 1]; ++k) {
          const int label = m.label[c.heads[k]];
          if (label >= 0 && label < least) least = label;
        }
        if (least == old) continue;
        m.label[p] = least;
        *moved = 1;
      }
    END_EACH
    more = *moved != 0;
    BARRIER;
  }
  EACH_THREAD
    for (int p = tid; p < c.places; p += THREADS) {
      if (m.label[p] < 0) continue;
      float sum = 0.0f;
      for (int k = c.first[p]; k < c.first[p + 1]; ++k) {
        if (m.label[c.heads[k]] < 0) sum += m.coupling[k] * (float)(m.spin[p] * m.spin[c.heads[k]]);
      }
      ADD(m.gain + m.label[p], (long long)(sum * 1048576.0f));
    }
  END_EACH
  EACH_THREAD
    for (int p = tid; p < c.places; p += THREADS) {
      if (m.label[p] >= 0 && m.gain[m.label[p]] < 0) m.spin[p] = (signed char)-m.spin[p];
    }
  END_EACH
}

// One block per model: a state is annealed and, again and again, heated up and cooled down; of what
// comes out it takes the sets of spins that are better.
KERNEL void anneal(PARAMETER(Colours, c), const float* couplings, signed char* spins,
                   signed char* others, int* labels, long long* gains, int replicas) {
  const long long at = (long long)blockIdx.x * c.places;
  const Model first = {couplings + (long long)blockIdx.x * c.slots, others + at, spins + at,
                       labels + at, gains + at};
  const Model later = {first.coupling, first.other, first.spin, first.label, first.gain};
  cool(c, first, 0);
  for (int replica = 1; replica < replicas; ++replica) {
    cool(c, later, replica);
    merge(c, later, 1);
    merge(c, later, -1);
  }
}

#ifdef PLANARIS_HOST
extern "C" void host_lower_energy(const Graph* g, const double* couplings, signed char* spins,
                                  double* field, long long models, int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    lower_energy(*g, couplings, spins, field, models);
  }
}

extern "C" void host_anneal(const Colours* c, const float* couplings, signed char* spins,
                            signed char* others, int* labels, long long* gains, int replicas,
                            int blocks) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    anneal(*c, couplings, spins, others, labels, gains, replicas);
  }
}
#endif
