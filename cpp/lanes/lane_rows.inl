// Part of lane_kernels.inl: couplings before an elimination, and pivots after it.

// exp(x) for |x| < 700, to about an ulp: r = x - k log 2, a series of r, 2^k.
SIMD_TARGET inline DoubleVector exponential(DoubleVector x) {
  using E = DoubleVector;
  using I = VectorOf<double>::I;
  const E magic = E{} + 6755399441055744.0;
  const E shifted = fused(x, E{} + 1.4426950408889634, magic);
  const E k = shifted - magic;
  E r = fused(-k, E{} + 6.93147180369123816490e-01, x);
  r = fused(-k, E{} + 1.90821492927058770002e-10, r);
  constexpr double kInverseFactorials[] = {
      1.6059043836821613e-10, 2.0876756987868100e-09, 2.5052108385441720e-08,
      2.7557319223985893e-07, 2.7557319223985888e-06, 2.4801587301587302e-05,
      1.9841269841269841e-04, 1.3888888888888889e-03, 8.3333333333333332e-03,
      4.1666666666666664e-02, 1.6666666666666666e-01, 0.5};
  E sum = E{} + kInverseFactorials[0];
#pragma GCC unroll 11
  for (int n = 1; n < 12; ++n) sum = fused(sum, r, E{} + kInverseFactorials[n]);
  const E result = fused(r * r, sum, r) + (E{} + 1.0);
  return (E)((I)result + ((I)shifted << 52));
}

// What is done with couplings before, and with pivots after, an elimination: lanes of doubles.
struct Rows {
  using V = DoubleVector;
  using I = VectorOf<double>::I;

  // Flips spin v where the mask says so; `field` holds Σ J s of the neighbours of every spin.
  SIMD_TARGET static void flip(const RotationView& graph, const V* couplings, int32_t v, I mask,
                                V* spins, V* field) {
    const V change = mask ? -2.0 * spins[v] : V{};
    spins[v] += change;
    for (int32_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
      const int32_t h = graph.rotation[k], w = graph.head(h);
      if (w != v) field[w] = fused(couplings[h >> 1], change, field[w]);
    }
  }

  // Sets every spin to what its neighbours before it want, or all to +1 where that is better, then
  // flips single spins, and pairs of neighbours as well, while that lowers the energy. Flips alone
  // leave walls across a lattice of equal couplings, relative to which marginals lose as many digits
  // as a wall has energy; without frustration this finds a ground state.
  SIMD_TARGET static void descend(const RotationView& graph, std::span<const int32_t> vertices,
                                   int32_t edges, const V* couplings, V* spins, V* field) {
    const int32_t n = graph.num_vertices();
    for (int32_t v = 0; v < n; ++v) field[v] = V{};
    for (const int32_t v : vertices) {
      const V spin = field[v] < V{} ? V{} - 1.0 : V{} + 1.0;
      spins[v] = spin;
      for (int32_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
        const int32_t h = graph.rotation[k], w = graph.head(h);
        if (w != v) field[w] = fused(couplings[h >> 1], spin, field[w]);
      }
    }
    V grown = V{}, equal = V{};
    for (int32_t v = 0; v < n; ++v) grown = fused(field[v], spins[v], grown);
    for (int32_t e = 0; e < edges; ++e) equal += couplings[e];
    const I worse = (I)(grown < 2.0 * equal);
    for (int32_t v = 0; v < n && any(worse); ++v) {
      const I mask = worse & (I)(spins[v] < V{});
      if (any(mask)) flip(graph, couplings, v, mask, spins, field);
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      I changed = I{};
      for (int32_t v = 0; v < n; ++v) {
        const I mask = (I)(field[v] * spins[v] < V{});
        if (!any(mask)) continue;
        flip(graph, couplings, v, mask, spins, field);
        changed |= mask;
      }
      if (any(changed) && sweep < kSingleSweeps) continue;
      for (int32_t e = 0; e < edges; ++e) {
        const int32_t u = graph.edges[2 * e], v = graph.edges[2 * e + 1];
        const V joined = 2.0 * couplings[e] * spins[u] * spins[v];
        const I mask = (I)(fused(field[u], spins[u], field[v] * spins[v]) < joined);
        if (u == v || !any(mask)) continue;
        flip(graph, couplings, u, mask, spins, field);
        flip(graph, couplings, v, mask, spins, field);
        changed |= mask;
      }
      if (!any(changed)) break;
    }
  }

  // Couplings relative to a state, and the factors exp(-g) that their legs bring. `total`
  // receives Σ g, added up without loss (Neumaier), `size` Σ |g|.
  SIMD_TARGET static void gauge(const RotationView& graph, int32_t edges, const V* couplings,
                                 const V* spins, V* weight, V& total, V& size) {
    V sum = V{}, lost = V{}, sizes = V{};
    for (int32_t e = 0; e < edges; ++e) {
      const V g = couplings[e] * spins[graph.edges[2 * e]] * spins[graph.edges[2 * e + 1]];
      weight[e] = exponential(-g);
      const V large = g < V{} ? -g : g, sum_size = sum < V{} ? -sum : sum;
      const V next = sum + g;
      lost += sum_size >= large ? (sum - next) + g : (g - next) + sum;
      sum = next;
      sizes += large;
    }
    total = sum + lost;
    size = sizes;
  }

  // The product of all pivots as mantissa and exponent, and whether none fell below `least`: a
  // mask per lane.
  SIMD_TARGET static I multiply(int64_t count, const V* pivots, double least, V& mantissa,
                                 V& exponent) {
    V p = V{} + 1.0;
    const V low = V{} + least, high = V{} + 1e300;
    I e = I{}, sound = I{} - 1;
    for (int64_t k = 0; k < count; ++k) {
      sound &= (I)(pivots[k] > low) & (I)(pivots[k] < high);
      p *= pivots[k];
      const I bits = (I)p;
      e += (bits >> 52) - 1023;
      p = (V)((bits & 0x000fffffffffffffLL) | 0x3ff0000000000000LL);
    }
    mantissa = p;
    for (int k = 0; k < kDoubles; ++k) exponent[k] = static_cast<double>(e[k]);
    return sound;
  }

  // Σ |single / pivot - 1|: what rounding did to the pivots in single precision. One that has lost all its
  // digits there tells nothing of what it has lost here.
  SIMD_TARGET static V deviation(int64_t count, const V* pivots, const FloatVector* singles,
                                  int half) {
    const V unknown = V{} + std::numeric_limits<double>::infinity();
    V sum = V{};
    for (int64_t k = 0; k < count; ++k) {
      const V single = widened(reinterpret_cast<const float*>(singles + k) + half * kDoubles);
      const V apart = (single - pivots[k]) / pivots[k], size = apart < V{} ? -apart : apart;
      sum += size < kLimits.lost_pivot ? size : unknown;
    }
    return sum;
  }

  // The same of pivots in double precision, with other scales.
  SIMD_TARGET static V deviation(int64_t count, const V* pivots, const V* others) {
    const V unknown = V{} + std::numeric_limits<double>::infinity();
    V sum = V{};
    for (int64_t k = 0; k < count; ++k) {
      const V apart = (others[k] - pivots[k]) / pivots[k], size = apart < V{} ? -apart : apart;
      sum += size < kLimits.lost_pivot ? size : unknown;
    }
    return sum / kSingleToDouble;
  }

  // The largest |single - probability|; infinity where that is so large that it tells nothing.
  SIMD_TARGET static V largest_change(int64_t count, const V* numbers, const FloatVector* singles,
                                      int half) {
    const V unknown = V{} + std::numeric_limits<double>::infinity();
    V largest = V{};
    for (int64_t k = 0; k < count; ++k) {
      const V single = widened(reinterpret_cast<const float*>(singles + k) + half * kDoubles);
      const V apart = single - numbers[k], size = apart < V{} ? -apart : apart;
      largest = size < largest ? largest : size < kLimits.lost_probability ? size : unknown;
    }
    return largest;
  }
};
