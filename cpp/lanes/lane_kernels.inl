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

#include "lanes/lane_front.inl"
#include "lanes/lane_elimination.inl"
#include "lanes/lane_rows.inl"

// Buffers of one group of rows. Those of a thread that helps with a part of it are its own, but for what the
// group keeps: weights, spins and what was found.
struct Group {
  using V = DoubleVector;
  V *couplings, *field, *spins[2], *weight[2], *pivots[2], *uncut[2];
  FloatVector *float_weight, *float_pivots[kMostDraws], *float_uncut[kMostDraws];
  double *one_weight, *one_pivots, *one_uncut;
  float *one_float_weight, *one_float_pivots, *one_float_uncut;
  void *scratch, *factors;

  // In the order of the tree.
  SIMD_TARGET Group(const LaneProblem& p, LaneMemory& memory, int draws, bool marginals)
      : Group(p, memory, draws, p.program.sizes.scratch(marginals), p.signs.size(),
              marginals ? p.program.sizes.factors : 0) {}

  SIMD_TARGET Group(const LaneProblem& p, LaneMemory& memory, int draws, int64_t scratch_numbers,
                    int64_t num_pivots, int64_t num_factors = 0) {
    const int64_t m = p.signs.size(), num_uncut = num_factors > 0 ? m : 0;
    Cut cut{memory, 0};
    for (int pass = 0; pass < 2; ++pass) {  // count, then hand out
      cut.used = 0;
      couplings = cut.take<V>(m);
      field = cut.take<V>(p.graph.num_vertices());
      for (int half = 0; half < 2; ++half) {
        spins[half] = cut.take<V>(p.graph.num_vertices());
        weight[half] = cut.take<V>(m);
        pivots[half] = cut.take<V>(num_pivots);
        uncut[half] = cut.take<V>(num_uncut);
      }
      float_weight = cut.take<FloatVector>(2 * m);
      for (int draw = 0; draw < draws; ++draw) {
        float_pivots[draw] = cut.take<FloatVector>(num_pivots);
        float_uncut[draw] = cut.take<FloatVector>(num_uncut);
      }
      one_weight = cut.take<double>(2 * m);
      one_pivots = cut.take<double>(num_pivots);
      one_uncut = cut.take<double>(num_uncut);
      one_float_weight = cut.take<float>(2 * m);
      one_float_pivots = cut.take<float>(num_pivots);
      one_float_uncut = cut.take<float>(num_uncut);
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

SIMD_TARGET inline int live_rows(const LaneRows& rows, int half) {
  return std::min(kDoubles, rows.count - half * kDoubles);
}

// Weights of one half of the rows, relative to gauge states. `own` are the buffers of this thread.
SIMD_TARGET inline void load_half(const LaneProblem& p, const LaneRows& rows, int half, Group& g,
                                  const Group& own) {
  const auto m = static_cast<int32_t>(p.signs.size());
  const int first = half * kDoubles, live = live_rows(rows, half);
  DoubleVector* const spins = g.spins[half];
  for (int lane = 0; lane < kDoubles; ++lane) {
    const double* from = rows.couplings[first + (lane < live ? lane : 0)];
    for (int32_t e = 0; e < p.num_couplings; ++e) own.couplings[e][lane] = from[e];
  }
  for (int32_t e = p.num_couplings; e < m; ++e) own.couplings[e] = DoubleVector{};
  if (rows.spins == nullptr) {
    Rows::descend(p.graph, p.vertices, p.num_couplings, own.couplings, spins, own.field);
  } else {
    for (int lane = 0; lane < kDoubles; ++lane) {
      const int8_t* from = rows.spins[first + (lane < live ? lane : 0)];
      for (int32_t v = 0; v < p.graph.num_vertices(); ++v) spins[v][lane] = from[v];
    }
  }
  DoubleVector total, size;
  Rows::gauge(p.graph, m, own.couplings, spins, g.weight[half], total, size);
  for (int k = 0; k < live; ++k) {
    rows.found[first + k] = {1.0, 0.0, total[k], size[k], 0.0, 0.0, 0.0, false};
  }
}

// Marginals of one half of the rows.
SIMD_TARGET inline void write_uncut(const LaneProblem& p, const LaneRows& rows, int half, const Group& g) {
  using V = DoubleVector;
  const V *uncut = g.uncut[half], *spins = g.spins[half];
  const int live = live_rows(rows, half);
  constexpr int32_t kBlock = 8;
  for (int32_t first = 0; first < p.num_couplings; first += kBlock) {
    const int32_t count = std::min(kBlock, p.num_couplings - first);
    V block[kBlock];
    for (int32_t k = 0; k < count; ++k) {
      const int32_t e = first + k;
      const V found = uncut[e], low = found < V{} ? V{} : found, inside = low > V{} + 1.0 ? V{} + 1.0 : low;
      const V agree = spins[p.graph.edges[2 * e]] * spins[p.graph.edges[2 * e + 1]];
      block[k] = agree > V{} ? inside : 1.0 - inside;
    }
    for (int lane = 0; lane < live; ++lane) {
      double* to = rows.equal[half * kDoubles + lane] + first;
      const double* from = reinterpret_cast<const double*>(block) + lane;
      for (int32_t k = 0; k < count; ++k) to[k] = from[k * kDoubles];
    }
  }
}

// Whether lanes take less time than so many models one after the other, about: these fill registers
// with rows, which large fronts have.
SIMD_TARGET inline bool worth_lanes(const LaneProblem& p, int live) {
  return 4 * live > kDoubles && 384 * live > p.program.sizes.rows * kDoubles;
}

// Looks as `rows.look` does, in the arithmetic that others expect.
struct PlainLook {
  explicit PlainLook(const std::function<void()>* look)
      : plain([look] {
          [[maybe_unused]] const PlainArithmetic others;
          (*look)();
        }),
        clock(look == nullptr ? nullptr : &plain) {}

  std::function<void()> plain;
  LaneClock clock;
};

// Draws in single precision: two of them are made together where rows fill half the lanes, or less. Draws in
// doubles take a pass for each half of the rows.
struct Draws {
  int count, first, end, together;
  bool in_doubles;

  SIMD_TARGET Draws(const LaneRows& rows, bool in_pairs)
      : count(rows.count), first(rows.draws.first), end(rows.draws.end),
        together(in_pairs && count <= kDoubles ? 2 : 1), in_doubles(rows.draws.in_doubles) {}
  SIMD_TARGET int halves() const { return count > kDoubles ? 2 : 1; }
  SIMD_TARGET int passes() const {
    return in_doubles ? (end - first) * halves() : (end - first + together - 1) / together;
  }
  // The number of the draw in one half of a pass; the last one may be made twice.
  SIMD_TARGET int at(int pass, int half) const {
    return std::min(first + pass * together + (together > 1 ? half : 0), end - 1);
  }
};

// Eliminates the rows of own.float_weight in single precision, to see what rounding does: pivots of a pass, and
// with `marginals` these.
SIMD_TARGET inline void eliminate_singles(const LaneProblem& p, int count, Group& g, const Group& own, int pass,
                                          bool in_lanes, LaneClock& clock, bool marginals) {
  const auto m = static_cast<int32_t>(p.signs.size());
  FloatVector *const pivots = g.float_pivots[pass], *const uncut = g.float_uncut[pass];
  if (in_lanes) {
    using K = Kernel<float, true>;
    auto* factors = marginals ? static_cast<FloatVector*>(own.factors) : nullptr;
    K::up(p.tree, p.signs.data(), own.float_weight, p.program, own.scratch, pivots, factors, clock);
    if (marginals) {
      K::template down<false>(p.tree, p.signs.data(), own.float_weight, p.program.sizes, own.scratch, factors,
                              uncut, clock);
    }
    return;
  }
  using K = Kernel<float, false>;
  auto* factors = marginals ? static_cast<float*>(own.factors) : nullptr;
  for (int32_t e = 0; e < m; ++e) pivots[e] = FloatVector{} + 1.0F;
  for (int32_t e = 0; marginals && e < m; ++e) uncut[e] = FloatVector{} + 1.0F;
  for (int k = 0; k < count; ++k) {
    for (int32_t leg = 0; leg < 2 * m; ++leg) own.one_float_weight[leg] = own.float_weight[leg][k];
    K::up(p.tree, p.signs.data(), own.one_float_weight, p.program, own.scratch, own.one_float_pivots, factors,
          clock);
    for (int32_t e = 0; e < m; ++e) pivots[e][k] = own.one_float_pivots[e];
    if (!marginals) continue;
    K::template down<false>(p.tree, p.signs.data(), own.one_float_weight, p.program.sizes, own.scratch, factors,
                            own.one_float_uncut, clock);
    for (int32_t e = 0; e < m; ++e) uncut[e][k] = own.one_float_uncut[e];
  }
}

// Weights in single precision, one per leg: one leg of an edge is scaled by a number of its own, the other
// by its inverse. That changes no pivot, but all roundings: numbers that cancel exactly in double precision,
// as those of equal couplings do, leave here what rounding leaves of them.
SIMD_TARGET inline void narrow_weights(const LaneProblem& p, const Draws& draws, int pass, const Group& g,
                                       FloatVector* weight) {
  const auto m = static_cast<int32_t>(p.signs.size());
  for (int half = 0; half < 2; ++half) {
    const DoubleVector* from = g.weight[draws.count <= kDoubles ? 0 : half];
    const int draw = draws.at(pass, half);
    for (int32_t e = 0; e < m; ++e) {
      const double scale = leg_scale(e, draw);
      auto* to = reinterpret_cast<float*>(weight + 2 * e) + half * kDoubles;
      narrow(from[e] * scale, to);
      narrow(from[e] * (1.0 / scale), to + kFloats);
    }
  }
}

// Weights of one half of the rows in doubles, one per leg, scaled as above.
SIMD_TARGET inline void scale_weights(const LaneProblem& p, int draw, const DoubleVector* from,
                                      DoubleVector* weight) {
  for (int32_t e = 0; e < static_cast<int32_t>(p.signs.size()); ++e) {
    const double scale = leg_scale(e, draw);
    weight[2 * e] = from[e] * scale;
    weight[2 * e + 1] = from[e] * (1.0 / scale);
  }
}

// Eliminates one half of the rows in double precision.
SIMD_TARGET inline void eliminate_half(const LaneProblem& p, const LaneRows& rows, int half, Group& g,
                                       const Group& own) {
  LaneClock clock(rows.look);
  const bool marginals = rows.equal != nullptr;
  const auto m = static_cast<int32_t>(p.signs.size());
  const int first = half * kDoubles, live = live_rows(rows, half);
  DoubleVector* const pivots = g.pivots[half];
  DoubleVector residual = DoubleVector{};
  if (rows.pivots != nullptr && rows.draws.first > 0) {
    for (int32_t e = 0; e < m; ++e) {
      for (int k = 0; k < kDoubles; ++k) pivots[e][k] = k < live ? rows.pivots[first + k][e] : 1.0;
    }
  } else if (worth_lanes(p, live)) {
    using K = Kernel<double, true>;
    auto* factors = static_cast<DoubleVector*>(own.factors);
    K::up(p.tree, p.signs.data(), g.weight[half], p.program, own.scratch, pivots, factors, clock);
    if (marginals) {
      residual = K::template down<true>(p.tree, p.signs.data(), g.weight[half], p.program.sizes, own.scratch, factors,
                         g.uncut[half], clock);
    }
  } else {
    using K = Kernel<double, false>;
    auto* factors = static_cast<double*>(own.factors);
    for (int32_t e = 0; e < m; ++e) pivots[e] = DoubleVector{} + 1.0;
    for (int k = 0; k < live; ++k) {
      for (int32_t e = 0; e < m; ++e) own.one_weight[e] = g.weight[half][e][k];
      K::up(p.tree, p.signs.data(), own.one_weight, p.program, own.scratch, own.one_pivots, factors, clock);
      for (int32_t e = 0; e < m; ++e) pivots[e][k] = own.one_pivots[e];
      if (!marginals) continue;
      residual[k] = K::template down<true>(p.tree, p.signs.data(), own.one_weight, p.program.sizes, own.scratch, factors,
                            own.one_uncut, clock);
      for (int32_t e = 0; e < m; ++e) g.uncut[half][e][k] = own.one_uncut[e];
    }
  }
  if (marginals) write_uncut(p, rows, half, g);
  for (int k = 0; k < live; ++k) {
    rows.found[first + k].residual = residual[k];
    if (rows.pivots == nullptr || rows.draws.first > 0) continue;
    for (int32_t e = 0; e < m; ++e) rows.pivots[first + k][e] = pivots[e][k];
  }
}

// The same elimination of all rows in single precision.
SIMD_TARGET inline void run_twin(const LaneProblem& p, const LaneRows& rows, int pass, Group& g, const Group& own) {
  [[maybe_unused]] const FlushToZero flush;
  PlainLook look(rows.look);
  const bool in_lanes = worth_lanes(p, live_rows(rows, 0));
  narrow_weights(p, Draws(rows, in_lanes), pass, g, own.float_weight);
  eliminate_singles(p, rows.count, g, own, pass, in_lanes, look.clock, rows.equal != nullptr);
}

// One more elimination of one half of the rows in doubles, to see what rounding does. The memory of single
// precision has room for it: half of the rows in numbers of twice the size.
SIMD_TARGET inline void run_wide_twin(const LaneProblem& p, const LaneRows& rows, const Draws& draws, int pass,
                                      Group& g, const Group& own) {
  static_assert(sizeof(DoubleVector) == sizeof(FloatVector));
  LaneClock clock(rows.look);
  const auto m = static_cast<int32_t>(p.signs.size());
  const int half = pass % draws.halves(), live = live_rows(rows, half);
  auto* const weight = reinterpret_cast<DoubleVector*>(own.float_weight);
  auto* const pivots = reinterpret_cast<DoubleVector*>(g.float_pivots[pass]);
  scale_weights(p, draws.first + pass / draws.halves(), g.weight[half], weight);
  if (worth_lanes(p, live)) {
    return Kernel<double, true>::up<0>(p.tree, p.signs.data(), weight, p.program, own.scratch, pivots, nullptr,
                                       clock);
  }
  for (int32_t e = 0; e < m; ++e) pivots[e] = DoubleVector{} + 1.0;
  for (int k = 0; k < live; ++k) {
    for (int32_t leg = 0; leg < 2 * m; ++leg) own.one_weight[leg] = weight[leg][k];
    Kernel<double, false>::up<0>(p.tree, p.signs.data(), own.one_weight, p.program, own.scratch, own.one_pivots,
                                 nullptr, clock);
    for (int32_t e = 0; e < m; ++e) pivots[e][k] = own.one_pivots[e];
  }
}

// Products of pivots, and how far pivots and marginals move in single precision: the largest deviation counts.
SIMD_TARGET inline void finish_rows(const LaneProblem& p, const LaneRows& rows, const Draws& draws,
                                    int64_t num_pivots, const Group& g) {
  const auto raise = [](double& largest, double found) {
    if (!(found <= largest)) largest = found;  // NaN counts, and stays
  };
  for (int half = 0; half * kDoubles < rows.count; ++half) {
    LaneOutcome* const found = rows.found + half * kDoubles;
    const int live = live_rows(rows, half);
    DoubleVector mantissa, exponent;
    const auto sound = Rows::multiply(num_pivots, g.pivots[half], kLeastPivot, mantissa, exponent);
    for (int k = 0; k < live; ++k) {
      found[k].mantissa = mantissa[k];
      found[k].exponent = exponent[k];
      found[k].sound = sound[k] != 0;
    }
    for (int draw = 0; draw < draws.end - draws.first; ++draw) {
      const int pass = draws.in_doubles ? draw * draws.halves() + half : draw / draws.together;
      const int at = half + draw % draws.together;
      const DoubleVector moved =
          draws.in_doubles
              ? Rows::deviation(num_pivots, g.pivots[half],
                                reinterpret_cast<const DoubleVector*>(g.float_pivots[pass]))
              : Rows::deviation(num_pivots, g.pivots[half], g.float_pivots[pass], at);
      for (int k = 0; k < live; ++k) raise(found[k].deviation, moved[k]);
      if (rows.equal == nullptr) continue;
      const DoubleVector most = Rows::largest_change(p.num_couplings, g.uncut[half], g.float_uncut[pass], at);
      for (int k = 0; k < live; ++k) raise(found[k].change, most[k]);
    }
  }
}

// Runs parts of a group, by other threads too if there are any.
inline void run_parts(const LaneRows& rows, int count, LaneMemory& memory, const LanePart& run) {
  if (rows.share != nullptr) return (*rows.share)(count, run);
  for (int part = 0; part < count; ++part) run(part, memory);
}

// Eliminates up to kFloats rows. A few rows are eliminated one after the other.
SIMD_TARGET void run_group(const LaneProblem& p, const LaneRows& rows, LaneMemory& memory) {
  const bool marginals = rows.equal != nullptr;
  const Draws draws(rows, worth_lanes(p, live_rows(rows, 0)));
  const int passes = draws.passes(), halves = rows.count > kDoubles ? 2 : 1;
  Group g(p, memory, passes, marginals);
  run_parts(rows, halves, memory, [&](int half, LaneMemory& of) {
    load_half(p, rows, half, g, Group(p, of, passes, marginals));
  });
  run_parts(rows, halves + passes, memory, [&](int part, LaneMemory& of) {
    const Group own(p, of, passes, marginals);
    if (part < halves) {
      eliminate_half(p, rows, part, g, own);
    } else if (draws.in_doubles) {
      run_wide_twin(p, rows, draws, part - halves, g, own);
    } else {
      run_twin(p, rows, part - halves, g, own);
    }
  });
  finish_rows(p, rows, draws, p.signs.size(), g);
}

// Eliminates up to kFloats shots, then the same shots in single precision.
SIMD_TARGET void run_shots(const LaneProblem& p, const LaneShots& shots, LaneMemory& memory) {
  Group g(p, memory, 1, false);
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
  PlainLook look(shots.look);
  eliminate_singles(p, shots.count, g, g, 0, in_lanes[0], look.clock, false);
  for (int first = 0; first < shots.count; first += kDoubles) {
    const int half = first / kDoubles;
    const DoubleVector moved = Rows::deviation(m, g.pivots[half], g.float_pivots[0], half);
    for (int k = 0; k < std::min(kDoubles, shots.count - first); ++k) {
      shots.found[first + k].deviation = moved[k];
    }
  }
}

#include "lanes/lane_ordered.inl"
