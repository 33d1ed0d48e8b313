// Compiled once per instruction set (base/each_instruction_set.inl).
//
// One model is eliminated with rows side by side in a register, or as many models as a register
// holds, one per lane. The operations on a number, and their order, are the same in both: results do
// not depend on which of the two was chosen.

template <class S, bool Lanes>
struct ElementOf {
  typedef S E;
};
template <class S>
struct ElementOf<S, true> {
  typedef typename VectorOf<S>::V E;
};

#include "pfaffian/lane_front.inl"
#include "pfaffian/lane_elimination.inl"
#include "pfaffian/lane_rows.inl"

// Buffers of one group of rows.
struct Group {
  using V = DoubleVector;
  V *couplings, *spins, *field, *weight[2], *pivots[2], *uncut[2];
  FloatVector *float_weight, *float_pivots, *float_uncut;
  double *one_weight, *one_pivots, *one_uncut;
  float *one_float_weight, *one_float_pivots, *one_float_uncut;
  void *scratch, *factors;

  // In the order of the tree.
  SIMD_TARGET Group(const LaneProblem& p, LaneMemory& memory, bool marginals)
      : Group(p, memory, p.program.sizes.scratch(marginals), p.signs.size(),
              marginals ? p.program.sizes.factors : 0) {}

  SIMD_TARGET Group(const LaneProblem& p, LaneMemory& memory, int64_t scratch_numbers,
                    int64_t num_pivots, int64_t num_factors = 0) {
    const int64_t m = p.signs.size();
    Cut cut{memory, 0};
    for (int pass = 0; pass < 2; ++pass) {  // count, then hand out
      cut.used = 0;
      couplings = cut.take<V>(m);
      spins = cut.take<V>(p.graph.num_vertices());
      field = cut.take<V>(p.graph.num_vertices());
      for (int half = 0; half < 2; ++half) {
        weight[half] = cut.take<V>(m);
        pivots[half] = cut.take<V>(num_pivots);
        uncut[half] = cut.take<V>(m);
      }
      float_weight = cut.take<FloatVector>(2 * m);
      float_pivots = cut.take<FloatVector>(num_pivots);
      float_uncut = cut.take<FloatVector>(m);
      one_weight = cut.take<double>(m);
      one_pivots = cut.take<double>(num_pivots);
      one_uncut = cut.take<double>(m);
      one_float_weight = cut.take<float>(2 * m);
      one_float_pivots = cut.take<float>(num_pivots);
      one_float_uncut = cut.take<float>(m);
      scratch = cut.take<V>(scratch_numbers);
      factors = num_factors > 0 ? cut.take<V>(num_factors) : nullptr;
      if (pass == 0) memory.reserve(cut.used);
    }
  }

 private:
  struct Cut {
    LaneMemory& memory;
    size_t used;
    template <class T>
    SIMD_TARGET T* take(int64_t count) {
      T* at = reinterpret_cast<T*>(memory.begin() + used);
      used += (size_t(count) * sizeof(T) + 63) / 64 * 64;
      return at;
    }
  };
};

SIMD_TARGET inline void load_half(const LaneProblem& p, const LaneRows& rows, int first, int live,
                                   Group& g) {
  const auto m = static_cast<int32_t>(p.signs.size());
  for (int lane = 0; lane < kDoubles; ++lane) {
    const double* from = rows.couplings[first + (lane < live ? lane : 0)];
    for (int32_t e = 0; e < p.num_couplings; ++e) g.couplings[e][lane] = from[e];
  }
  for (int32_t e = p.num_couplings; e < m; ++e) g.couplings[e] = DoubleVector{};
  if (rows.spins == nullptr) return Rows::descend(p.graph, p.num_couplings, g.couplings, g.spins, g.field);
  for (int lane = 0; lane < kDoubles; ++lane) {
    const int8_t* from = rows.spins[first + (lane < live ? lane : 0)];
    for (int32_t v = 0; v < p.graph.num_vertices(); ++v) g.spins[v][lane] = from[v];
  }
}

SIMD_TARGET inline void write_uncut(const LaneProblem& p, const LaneRows& rows, int row, const Group& g) {
  const int lane = row % kDoubles;
  const DoubleVector* uncut = g.uncut[row / kDoubles];
  for (int32_t e = 0; e < p.num_couplings; ++e) {
    const double found = uncut[e][lane];
    const double inside = found < 0.0 ? 0.0 : found > 1.0 ? 1.0 : found;
    const bool agree = g.spins[p.graph.edges[2 * e]][lane] == g.spins[p.graph.edges[2 * e + 1]][lane];
    rows.equal[row][e] = agree ? inside : 1.0 - inside;
  }
}

// Whether lanes take less time than so many models one after the other, about: these fill registers
// with rows, which large fronts have.
SIMD_TARGET inline bool worth_lanes(const LaneProblem& p, int live) {
  return 4 * live > kDoubles && 384 * live > p.program.sizes.rows * kDoubles;
}

// Eliminates the rows of float_weight in single precision, to see what rounding does; adds up in
// `apart` how far pivots move, by row. `change`, if not null, receives how far marginals move, at most.
SIMD_TARGET inline void eliminate_singles(const LaneProblem& p, int count, Group& g, bool in_lanes,
                                          LaneClock& clock, double* apart, double* change) {
  const bool marginals = change != nullptr;
  const auto m = static_cast<int32_t>(p.signs.size());
  if (in_lanes) {
    using K = Kernel<float, true>;
    auto* factors = marginals ? static_cast<FloatVector*>(g.factors) : nullptr;
    K::up(p.tree, p.signs.data(), g.float_weight, p.program, g.scratch, g.float_pivots, factors, clock);
    if (marginals) {
      K::down(p.tree, p.signs.data(), g.float_weight, p.program.sizes, g.scratch, factors, g.float_uncut,
              clock);
    }
  } else {
    using K = Kernel<float, false>;
    auto* factors = marginals ? static_cast<float*>(g.factors) : nullptr;
    for (int32_t e = 0; e < m; ++e) g.float_pivots[e] = g.float_uncut[e] = FloatVector{} + 1.0F;
    for (int k = 0; k < count; ++k) {
      for (int32_t leg = 0; leg < 2 * m; ++leg) g.one_float_weight[leg] = g.float_weight[leg][k];
      K::up(p.tree, p.signs.data(), g.one_float_weight, p.program, g.scratch, g.one_float_pivots, factors,
            clock);
      for (int32_t e = 0; e < m; ++e) g.float_pivots[e][k] = g.one_float_pivots[e];
      if (!marginals) continue;
      K::down(p.tree, p.signs.data(), g.one_float_weight, p.program.sizes, g.scratch, factors,
              g.one_float_uncut, clock);
      for (int32_t e = 0; e < m; ++e) g.float_uncut[e][k] = g.one_float_uncut[e];
    }
  }
  for (int k = 0; k < count; k += kDoubles) {
    const int half = k / kDoubles;
    const int live = std::min(kDoubles, count - k);
    const DoubleVector moved = Rows::deviation(m, g.pivots[half], g.float_pivots, half);
    for (int lane = 0; lane < live; ++lane) apart[k + lane] = moved[lane];
    if (!marginals) continue;
    const DoubleVector most = Rows::largest_change(p.num_couplings, g.uncut[half], g.float_uncut, half);
    for (int lane = 0; lane < live; ++lane) change[k + lane] = most[lane];
  }
}

// Weights in single precision, one per leg: one leg of an edge is scaled by a number of its own, the other
// by its inverse. That changes no pivot, but all roundings: numbers that cancel exactly in double precision,
// as those of equal couplings do, leave here what rounding leaves of them.
SIMD_TARGET inline void narrow_weights(const LaneProblem& p, const LaneRows& rows, Group& g, int draw) {
  const auto m = static_cast<int32_t>(p.signs.size());
  const DoubleVector* second = g.weight[rows.count <= kDoubles ? 0 : 1];
  for (int32_t e = 0; e < m; ++e) {
    const double scale = leg_scale(e, draw), factors[] = {scale, 1.0 / scale};
    for (int side = 0; side < 2; ++side) {
      auto* to = reinterpret_cast<float*>(g.float_weight + 2 * e + side);
      narrow(g.weight[0][e] * factors[side], to);
      narrow(second[e] * factors[side], to + kDoubles);
    }
  }
}

// The same elimination in single precision; the largest deviation counts.
SIMD_TARGET inline void run_twin(const LaneProblem& p, const LaneRows& rows, Group& g,
                                  bool in_lanes, int draw) {
  const std::function<void()> look = [&rows] {
    [[maybe_unused]] const PlainArithmetic others;
    (*rows.look)();
  };
  LaneClock clock(rows.look == nullptr ? nullptr : &look);
  narrow_weights(p, rows, g, draw);
  double apart[kFloats], change[kFloats];
  const bool marginals = rows.equal != nullptr;
  eliminate_singles(p, rows.count, g, in_lanes, clock, apart, marginals ? change : nullptr);
  const auto raise = [](double& largest, double found) {
    if (!(found <= largest)) largest = found;  // NaN counts, and stays
  };
  for (int k = 0; k < rows.count; ++k) {
    raise(rows.found[k].deviation, apart[k]);
    if (marginals) raise(rows.found[k].change, change[k]);
  }
}

// Eliminates up to kFloats rows. A few rows are eliminated one after the other.
SIMD_TARGET void run_group(const LaneProblem& p, const LaneRows& rows, LaneMemory& memory) {
  const bool marginals = rows.equal != nullptr;
  Group g(p, memory, marginals);
  LaneClock clock(rows.look);
  const auto m = static_cast<int32_t>(p.signs.size());
  bool in_lanes[2] = {false, false};
  for (int half = 0; half < 2; ++half) {
    const int first = half * kDoubles, live = std::min(kDoubles, rows.count - first);
    if (live <= 0) break;
    load_half(p, rows, first, live, g);
    DoubleVector total, size, mantissa, exponent, residual = DoubleVector{};
    Rows::gauge(p.graph, m, g.couplings, g.spins, g.weight[half], total, size);
    in_lanes[half] = worth_lanes(p, live);
    if (rows.pivots != nullptr && rows.draws.first > 0) {
      for (int32_t e = 0; e < m; ++e) {
        for (int k = 0; k < kDoubles; ++k) {
          g.pivots[half][e][k] = k < live ? rows.pivots[first + k][e] : 1.0;
        }
      }
    } else if (in_lanes[half]) {
      using K = Kernel<double, true>;
      auto* factors = static_cast<DoubleVector*>(g.factors);
      K::up(p.tree, p.signs.data(), g.weight[half], p.program, g.scratch, g.pivots[half], factors,
            clock);
      if (marginals) {
        residual = K::down(p.tree, p.signs.data(), g.weight[half], p.program.sizes, g.scratch, factors,
                           g.uncut[half], clock);
        for (int k = 0; k < live; ++k) write_uncut(p, rows, first + k, g);
      }
    } else {
      using K = Kernel<double, false>;
      auto* factors = static_cast<double*>(g.factors);
      for (int32_t e = 0; e < m; ++e) g.pivots[half][e] = DoubleVector{} + 1.0;
      for (int k = 0; k < live; ++k) {
        for (int32_t e = 0; e < m; ++e) g.one_weight[e] = g.weight[half][e][k];
        K::up(p.tree, p.signs.data(), g.one_weight, p.program, g.scratch, g.one_pivots, factors,
              clock);
        for (int32_t e = 0; e < m; ++e) g.pivots[half][e][k] = g.one_pivots[e];
        if (!marginals) continue;
        residual[k] = K::down(p.tree, p.signs.data(), g.one_weight, p.program.sizes, g.scratch, factors,
                              g.one_uncut, clock);
        for (int32_t e = 0; e < m; ++e) g.uncut[half][e][k] = g.one_uncut[e];
        write_uncut(p, rows, first + k, g);
      }
    }
    const auto sound = Rows::multiply(m, g.pivots[half], kLeastPivot, mantissa, exponent);
    for (int k = 0; k < live; ++k) {
      rows.found[first + k] = {mantissa[k], exponent[k], total[k], size[k], residual[k], 0.0, 0.0,
                               sound[k] != 0};
      if (rows.pivots == nullptr || rows.draws.first > 0) continue;
      for (int32_t e = 0; e < m; ++e) rows.pivots[first + k][e] = g.pivots[half][e][k];
    }
  }
  [[maybe_unused]] const FlushToZero flush;
  for (int draw = rows.draws.first; draw < rows.draws.end; ++draw) run_twin(p, rows, g, in_lanes[0], draw);
}

// Eliminates up to kFloats shots, then the same shots in single precision.
SIMD_TARGET void run_shots(const LaneProblem& p, const LaneShots& shots, LaneMemory& memory) {
  Group g(p, memory, false);
  LaneClock clock(shots.look);
  const auto m = static_cast<int32_t>(p.signs.size());
  for (int32_t e = 0; e < m; ++e) {
    g.weight[0][e] = g.weight[1][e] = spread(shots.weight[e]);
    const double scale = leg_scale(e, 0);
    g.float_weight[2 * e] = FloatVector{} + static_cast<float>(shots.weight[e] * scale);
    g.float_weight[2 * e + 1] = FloatVector{} + static_cast<float>(shots.weight[e] / scale);
  }
  for (int k = 0; k < shots.count; ++k) {
    for (const LaneChange& change : shots.changes[k]) {
      g.weight[k / kDoubles][change.edge][k % kDoubles] = change.weight;
      const double scale = leg_scale(change.edge, 0);
      g.float_weight[2 * change.edge][k] = static_cast<float>(change.weight * scale);
      g.float_weight[2 * change.edge + 1][k] = static_cast<float>(change.weight / scale);
    }
  }
  bool in_lanes[2] = {false, false};
  for (int first = 0; first < shots.count; first += kDoubles) {
    const int half = first / kDoubles, live = std::min(kDoubles, shots.count - first);
    in_lanes[half] = worth_lanes(p, live);
    if (in_lanes[half]) {
      Kernel<double, true>::up(p.tree, p.signs.data(), g.weight[half], p.program, g.scratch,
                               g.pivots[half], nullptr, clock);
    } else {
      for (int32_t e = 0; e < m; ++e) g.pivots[half][e] = DoubleVector{} + 1.0;
      for (int k = 0; k < live; ++k) {
        for (int32_t e = 0; e < m; ++e) g.one_weight[e] = g.weight[half][e][k];
        Kernel<double, false>::up(p.tree, p.signs.data(), g.one_weight, p.program, g.scratch,
                                  g.one_pivots, nullptr, clock);
        for (int32_t e = 0; e < m; ++e) g.pivots[half][e][k] = g.one_pivots[e];
      }
    }
    DoubleVector mantissa, exponent;
    const auto sound = Rows::multiply(m - 1, g.pivots[half], kLeastPivot, mantissa, exponent);
    for (int k = 0; k < live; ++k) {
      const double last = g.pivots[half][m - 1][k];
      shots.found[first + k] = {mantissa[k], exponent[k], last, 0.0,
                                sound[k] != 0 && last > kLeastPivot && last < 1e300};
    }
  }
  [[maybe_unused]] const FlushToZero flush;
  const std::function<void()> look = [&shots] {
    [[maybe_unused]] const PlainArithmetic others;
    (*shots.look)();
  };
  LaneClock single_clock(shots.look == nullptr ? nullptr : &look);
  double apart[kFloats];
  eliminate_singles(p, shots.count, g, in_lanes[0], single_clock, apart, nullptr);
  for (int k = 0; k < shots.count; ++k) shots.found[k].deviation = apart[k];
}

#include "pfaffian/lane_ordered.inl"
