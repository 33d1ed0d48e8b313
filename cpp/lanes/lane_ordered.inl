// Compiled once per instruction set (base/each_instruction_set.inl): elimination in orders that
// differ from model to model, see LaneOrder. One model, or one per lane: same digits.

template <class S, bool Lanes>
struct OrderedKernel {
  using K = Kernel<S, Lanes>;
  using E = typename K::E;
  static constexpr int64_t kModels = Lanes ? K::W : 1;  // numbers of an element

  const FrontTree& tree;
  const LaneProgram& program;
  const int8_t* signs;
  const E* weight;  // by edge, or by leg: see Kernel::kShared
  const LaneOrder& order;
  int32_t first, live;  // models of the order in these lanes
  E* scratch;
  E* pivots;  // receives them, relative to their joins

  E *matrix = nullptr, *columns = nullptr, *aside = nullptr;
  E* top[2] = {nullptr, nullptr};  // of two stacks: children wait on one, their parent on the other
  int64_t n = 0, ld = 0;

  E& entry(int64_t i, int64_t j) const { return matrix[j * ld + i]; }

  // Rows of what a front leaves, with a row of zeros below it.
  static int64_t apart(int64_t rows) { return rows + 1; }

  SIMD_TARGET void run(LaneClock& clock) {
    matrix = scratch;
    columns = matrix + order.most_rows * order.widest();
    aside = columns + order.columns();
    top[0] = aside + order.aside();
    top[1] = top[0] + order.stack;
    for (int32_t node = 0; node < tree.num_nodes(); ++node) {
      const LaneOrder::Front& front = order.fronts[node];
      const int64_t eliminated = 2 * front.eliminated();
      n = order.rows(tree, node);
      ld = Lanes ? apart(n) : K::leading(n);
      const int64_t filled = Lanes && !tree.is_leaf(node) ? 2 * front.pairs : n;
      for (int64_t j = 0; j < filled; ++j) {
        std::memset(static_cast<void*>(matrix + j * ld + j + 1), 0, (n - j - 1) * sizeof(E));
      }
      const Left left = pop(node);
      fill(node, front, left);
      for (int32_t k = 0; k < live; ++k) {
        if (!order.moved[size_t(node) * order.models + first + k]) continue;
        if (tree.is_leaf(node)) {
          refill(node, front, k);
        } else {
          permute(node, front, k);
        }
      }
      E*& rest = top[program.side[node]];
      if constexpr (Lanes) {
        eliminate_in_lanes(node, front, left, filled, rest);
      } else {
        eliminate_alone(node, front, rest);
      }
      pivots += front.eliminated();
      rest += (n - eliminated) * apart(n - eliminated);
      clock.spend(n * n * (eliminated + 1) / 2);
    }
  }

 private:
  // What the two children of a front left.
  struct Left {
    const E* from[2];
    int64_t rows[2], handed[2];  // all rows, and those that were handed on, which come first
  };

  // The last that came are the first to go.
  Left pop(int32_t node) {
    Left left{};
    if (tree.is_leaf(node)) return left;
    E*& end = top[1 - program.side[node]];
    for (const int at : {1, 0}) {
      const int32_t child = at == 0 ? tree.left[node] : tree.right[node];
      left.rows[at] = order.left(tree, child);
      left.handed[at] = 2 * order.fronts[child].kept;
      end -= left.rows[at] * apart(left.rows[at]);
      left.from[at] = end;
    }
    return left;
  }

  SIMD_TARGET void eliminate_alone(int32_t node, const LaneOrder::Front& front, E* rest) {
    const int64_t eliminated = 2 * front.eliminated(), left = n - eliminated;
    K::eliminate_front({matrix, matrix + eliminated * ld + eliminated, n, eliminated, ld, ld}, columns);
    for (int32_t k = 0; k < front.eliminated(); ++k) {
      pivots[k] = entry(2 * k + 1, 2 * k) * signs_of(node, k);
    }
    for (int64_t j = 0; j < left; ++j) {
      const E* column = matrix + (eliminated + j) * ld + eliminated;
      std::memcpy(static_cast<void*>(rest + j * apart(left) + j + 1), column + j + 1,
                  (left - j - 1) * sizeof(E));
    }
  }

  // The first `filled` columns are in the matrix, the others, of the boundary, where the children left them.
  SIMD_TARGET void eliminate_in_lanes(int32_t node, const LaneOrder::Front& front, const Left& left,
                                      int64_t filled, E* rest) {
    const int64_t n = this->n, eliminated = 2 * front.eliminated(), after = n - eliminated;
    for (int32_t k = 0; k < front.eliminated(); ++k) aside[k] = signs_of(node, k);
    auto* place = reinterpret_cast<int32_t*>(aside + front.eliminated());
    auto* side = reinterpret_cast<uint8_t*>(place + 3 * n);
    for (int64_t i = 0; i < n; ++i) place[2 * n + i] = static_cast<int32_t>(i);
    std::memset(side, 2, filled);
    const int64_t rows = tree.rows(node), shift = n - rows;
    const uint8_t* child = program.child.data() + program.rows[node];
    const int32_t* before = program.place.data() + 2 * program.rows[node];
    for (int64_t i = filled; i < n; ++i) {
      side[i] = child[i - shift];
      place[i] = static_cast<int32_t>(before[i - shift] + left.handed[0]);
      place[n + i] = static_cast<int32_t>(before[rows + i - shift] + left.handed[1]);
    }
    LaneFront<S>{{side,
                  {place, place + n, place + 2 * n},
                  {left.from[0], left.from[1], matrix},
                  {left.rows[0], left.rows[1], n}},
                 n, eliminated, columns, rest, nullptr, nullptr, pivots, aside}
        .run();
    for (int64_t j = 0; j < after; ++j) rest[j * apart(after) + after] = E{};
  }

  // Signs of the joins of a pair, by model.
  SIMD_TARGET E signs_of(int32_t node, int32_t pair) const {
    const int32_t* edge = order.edge.data() + order.at(node, pair, first);
    E found = K::constant(S(1));
    for (int32_t k = 0; k < live; ++k) {
      if (edge[k] >= 0) reinterpret_cast<S*>(&found)[k] = S(signs[edge[k]]);
    }
    return found;
  }

  SIMD_TARGET void put(int64_t i, int64_t j, E value) const {
    if (i > j) {
      entry(i, j) = value;
    } else {
      entry(j, i) = -value;
    }
  }

  SIMD_TARGET void fill(int32_t node, const LaneOrder::Front& front, const Left& left) {
    const int64_t own = tree.own_rows(node), shift = 2 * front.pairs - own;
    const auto row = [&](int64_t r) { return r < own ? r : r + shift; };
    if (tree.is_leaf(node)) {
      for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
        const int64_t end = tree.face_begin[f + 1];
        for (int64_t i = tree.face_begin[f]; i < end; ++i) {
          for (int64_t j = i + 1; j < end; ++j) {
            put(row(tree.face_rows[i]), row(tree.face_rows[j]),
                weight[tree.face_legs[i] >> K::kShared] *
                    weight[tree.face_legs[j] >> K::kShared]);
          }
        }
      }
    } else {
      take(tree.left[node], left, 0, own, shift);
      take(tree.right[node], left, 1, own, shift);
    }
    for (int64_t k = 0; k < own; k += 2) {
      entry(k + 1, k) -= K::constant(S(signs[tree.edge_order[tree.own[node] + k / 2]]));
    }
    for (int64_t k = front.pairs - front.fresh; k < front.pairs; ++k) {
      entry(2 * k + 1, 2 * k) = K::constant(S(-1));
    }
  }

  // What a child left: first the rows that it handed on, then its boundary, which keeps its order. Columns
  // of this front's boundary stay where they are in lanes.
  SIMD_TARGET void take(int32_t child, const Left& left, int at, int64_t own, int64_t shift) {
    const int64_t handed = left.handed[at], rows = left.rows[at], column_apart = apart(rows);
    const int64_t slots = at == 0 ? own : own + left.handed[0];
    const int32_t* place = tree.place.data() + tree.boundary[child];
    const E* const from = left.from[at];
    E* const to = matrix;
    const int64_t ld = this->ld, boundary = rows - handed;
    int64_t inner = 0;  // rows of the boundary that come before the slots
    while (inner < boundary && place[inner] < own) ++inner;
    for (int64_t j = 0; j < handed; ++j) {
      const E* column = from + j * column_apart;
      E* filled = to + (slots + j) * ld;
      for (int64_t i = j + 1; i < handed; ++i) filled[slots + i] = column[i];
      for (int64_t i = 0; i < inner; ++i) to[place[i] * ld + slots + j] = -column[handed + i];
      for (int64_t i = inner; i < boundary; ++i) filled[place[i] + shift] = column[handed + i];
    }
    for (int64_t j = 0; j < (Lanes ? inner : boundary); ++j) {
      const E* column = from + (handed + j) * column_apart + handed;
      E* filled = to + (j < inner ? place[j] : place[j] + shift) * ld;
      for (int64_t i = j + 1; i < inner; ++i) filled[place[i]] = column[i];
      for (int64_t i = std::max(inner, j + 1); i < boundary; ++i) filled[place[i] + shift] = column[i];
    }
  }

  // Fills the leaf of one model anew, in order: it has few entries.
  SIMD_TARGET void refill(int32_t node, const LaneOrder::Front& front, int32_t lane) {
    const int32_t *source = order.source.data() + order.at(node, 0, first + lane),
                  *edge = order.edge.data() + order.at(node, 0, first + lane);
    const int64_t ld = this->ld, models = order.models, own = tree.own_rows(node);
    const int64_t shift = 2 * front.pairs - own;
    S* numbers = reinterpret_cast<S*>(matrix) + lane;
    const S* weights = reinterpret_cast<const S*>(weight) + lane;
    const auto at = [=](int64_t i, int64_t j) { return numbers + (j * ld + i) * kModels; };
    auto* place = reinterpret_cast<int64_t*>(aside);  // by pair, where it goes
    for (int64_t pair = 0; pair < front.pairs; ++pair) place[source[pair * models]] = pair;
    const auto each = [&](auto&& visit) {
      for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
        const int64_t end = tree.face_begin[f + 1];
        for (int64_t i = tree.face_begin[f]; i < end; ++i) {
          for (int64_t j = i + 1; j < end; ++j) visit(i, j);
        }
      }
    };
    each([&](int64_t i, int64_t j) {
      const int64_t a = tree.face_rows[i], b = tree.face_rows[j];
      const int64_t low = std::min(a, b), high = std::max(a, b);
      if (low < own) *at(high < own ? high : high + shift, low) = S(0);
    });
    for (int64_t pair = 0; pair < front.pairs; ++pair) *at(2 * pair + 1, 2 * pair) = S(0);
    each([&](int64_t i, int64_t j) {
      const auto row = [&](int64_t r) { return r < own ? 2 * place[r / 2] + (r & 1) : r + shift; };
      const int64_t a = row(tree.face_rows[i]), b = row(tree.face_rows[j]);
      const S value = weights[(tree.face_legs[i] >> K::kShared) * kModels] *
                      weights[(tree.face_legs[j] >> K::kShared) * kModels];
      *at(std::max(a, b), std::min(a, b)) = a > b ? value : -value;
    });
    for (int64_t pair = 0; pair < front.pairs; ++pair) {
      const int32_t e = edge[pair * models];
      *at(2 * pair + 1, 2 * pair) -= e < 0 ? S(1) : S(signs[e]);
    }
  }

  // Brings the pairs of one model in order: copies the rows that move, and writes them where they go.
  // Rows of empty pairs are known.
  SIMD_TARGET void permute(int32_t node, const LaneOrder::Front& front, int32_t lane) {
    const int32_t *source = order.source.data() + order.at(node, 0, first + lane),
                  *edge = order.edge.data() + order.at(node, 0, first + lane);
    const int64_t n = this->n, step = ld * kModels, models = order.models;
    S *numbers = reinterpret_cast<S*>(matrix) + lane, *copy = reinterpret_cast<S*>(aside);
    S* to = copy;
    for (int64_t pair = 0; pair < front.pairs; ++pair) {
      const int64_t from = source[pair * models];
      if (from == pair || edge[pair * models] < 0) continue;
      const int64_t r = 2 * from;  // rows r and r + 1 lie side by side
      S *first_to = to, *second_to = to + n;
      const S *row = numbers + r * kModels, *column = numbers + r * step;
      for (int64_t i = 0; i < r; ++i, row += step) {
        first_to[i] = -row[0];
        second_to[i] = -row[kModels];
      }
      first_to[r + 1] = column[(r + 1) * kModels];
      second_to[r] = -first_to[r + 1];
      for (int64_t i = r + 2; i < n; ++i) {
        first_to[i] = column[i * kModels];
        second_to[i] = column[step + i * kModels];
      }
      to += 2 * n;
    }
    auto* before = reinterpret_cast<int64_t*>(to);  // by row, where it stood
    before = reinterpret_cast<int64_t*>((reinterpret_cast<uintptr_t>(before) + 7) & ~uintptr_t{7});
    for (int64_t i = 0; i < n; ++i) {
      before[i] = i < 2 * front.pairs ? 2 * int64_t{source[i / 2 * models]} + (i & 1) : i;
    }
    const S* line = copy;  // entries (i, r) of a row r
    for (int64_t pair = 0; pair < front.pairs; ++pair) {
      if (source[pair * models] == pair) continue;
      const int64_t r = 2 * pair;
      S *row = numbers + r * kModels, *column = numbers + r * step;
      if (edge[pair * models] < 0) {
        for (int64_t i = 0; i < r; ++i, row += step) row[0] = row[kModels] = S(0);
        column[(r + 1) * kModels] = S(-1);
        for (int64_t i = r + 2; i < n; ++i) column[i * kModels] = column[step + i * kModels] = S(0);
        continue;
      }
      const S* const next = line + n;
      for (int64_t i = 0; i < r; ++i, row += step) {
        row[0] = -line[before[i]];
        row[kModels] = -next[before[i]];
      }
      column[(r + 1) * kModels] = line[before[r + 1]];
      for (int64_t i = r + 2; i < n; ++i) {
        column[i * kModels] = line[before[i]];
        column[step + i * kModels] = next[before[i]];
      }
      line += 2 * n;
    }
  }
};

// Eliminates one half of the rows in their orders. One row alone fills registers with rows of the matrix.
SIMD_TARGET inline void eliminate_half_ordered(const LaneProblem& p, const LaneRows& rows, const LaneOrder& order,
                                               int half, Group& g, const Group& own) {
  LaneClock clock(rows.look);
  const auto m = static_cast<int32_t>(p.signs.size());
  if (rows.count > 1) {
    OrderedKernel<double, true>{p.tree, p.program, p.signs.data(), g.weight[half], order, half * kDoubles,
                                live_rows(rows, half), static_cast<DoubleVector*>(own.scratch), g.pivots[half]}
        .run(clock);
    return;
  }
  for (int32_t e = 0; e < m; ++e) own.one_weight[e] = g.weight[half][e][0];
  OrderedKernel<double, false>{p.tree, p.program, p.signs.data(), own.one_weight, order, 0, 1,
                               static_cast<double*>(own.scratch), own.one_pivots}
      .run(clock);
  for (int64_t k = 0; k < order.pivots; ++k) g.pivots[half][k] = spread(own.one_pivots[k]);
}

// The same of all rows in single precision.
SIMD_TARGET inline void run_twin_ordered(const LaneProblem& p, const LaneRows& rows, const LaneOrder& order,
                                         int pass, Group& g, const Group& own) {
  [[maybe_unused]] const FlushToZero flush;
  PlainLook look(rows.look);
  const auto m = static_cast<int32_t>(p.signs.size());
  narrow_weights(p, Draws(rows, false), pass, g, own.float_weight);
  if (rows.count > 1) {
    OrderedKernel<float, true>{p.tree, p.program, p.signs.data(), own.float_weight, order, 0, rows.count,
                               static_cast<FloatVector*>(own.scratch), g.float_pivots[pass]}
        .run(look.clock);
    return;
  }
  for (int32_t leg = 0; leg < 2 * m; ++leg) own.one_float_weight[leg] = own.float_weight[leg][0];
  OrderedKernel<float, false>{p.tree, p.program, p.signs.data(), own.one_float_weight, order, 0, 1,
                              static_cast<float*>(own.scratch), own.one_float_pivots}
      .run(look.clock);
  for (int64_t k = 0; k < order.pivots; ++k) {
    g.float_pivots[pass][k] = FloatVector{} + own.one_float_pivots[k];
  }
}

// Eliminates up to kFloats rows in their orders, and the same in single precision.
SIMD_TARGET void run_ordered(const LaneProblem& p, const LaneRows& rows, const LaneOrder& order,
                             LaneMemory& memory) {
  const Draws draws(rows, false);
  const int passes = draws.passes(), halves = rows.count > kDoubles ? 2 : 1;
  const int64_t num_pivots = std::max<int64_t>(order.pivots, p.signs.size());
  Group g(p, memory, passes, order.scratch(), num_pivots);
  run_parts(rows, halves, memory, [&](int half, LaneMemory& of) {
    load_half(p, rows, half, g, Group(p, of, passes, order.scratch(), num_pivots));
  });
  run_parts(rows, halves + passes, memory, [&](int part, LaneMemory& of) {
    const Group own(p, of, passes, order.scratch(), num_pivots);
    if (part < halves) {
      eliminate_half_ordered(p, rows, order, part, g, own);
    } else {
      run_twin_ordered(p, rows, order, part - halves, g, own);
    }
  });
  finish_rows(p, rows, draws, order.pivots, g);
}
