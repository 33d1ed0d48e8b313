// Part of lane_kernels.inl: the elimination of one model or of one model per lane, and its inverse.

// S: double or float. An element E is a vector of models (Lanes) or a number.
template <class S, bool Lanes>
struct Kernel {
  using V = typename VectorOf<S>::V;
  using E = typename ElementOf<S, Lanes>::E;
  static constexpr int W = SIMD_BYTES / static_cast<int>(sizeof(S));
  // In double precision the two legs of an edge share a weight, and in single precision each has its own:
  // see narrow_weights. Functions that take `Shared` have both: see scale_weights.
  static constexpr int kShared = sizeof(S) == sizeof(double) ? 1 : 0;
  static constexpr int kStep = Lanes ? 1 : W;  // elements of a column in one register
  static constexpr int kMaxI = SIMD_BYTES == 64 ? 4 : 3, kMaxJ = 4;

  // Room for a register that starts at the last row.
  static int64_t leading(int64_t rows) { return Lanes ? rows : rows + W; }

  // The same of what is left to the parent, with a row of zeros below it.
  static int64_t left_leading(int64_t rows) { return Lanes ? rows + 1 : rows + W; }

  SIMD_TARGET static V load(const E* from) { return *reinterpret_cast<const V*>(from); }
  SIMD_TARGET static void store(E* to, V value) { *reinterpret_cast<V*>(to) = value; }
  SIMD_TARGET static V factor(const E* from) {
    if constexpr (Lanes) {
      return *from;
    } else {
      return V{} + *from;
    }
  }
  SIMD_TARGET static E constant(S value) {
    if constexpr (Lanes) {
      return V{} + value;
    } else {
      return value;
    }
  }

  // C(i, j) += Σ_t x(i, t) y(t, j): MI registers by MJ columns. Fresh: C is zero before.
  template <int MI, int MJ, bool Fresh>
  SIMD_TARGET static void tile(int64_t depth, const E* x, int64_t xt, const E* y, int64_t yt,
                                int64_t yj, E* c, int64_t cj) {
    V sum[MJ][MI];
#pragma GCC unroll 4
    for (int j = 0; j < MJ; ++j) {
#pragma GCC unroll 4
      for (int i = 0; i < MI; ++i) sum[j][i] = Fresh ? V{} : load(c + j * cj + i * kStep);
    }
    for (int64_t t = 0; t < depth; ++t, x += xt, y += yt) {
      V xs[MI];
#pragma GCC unroll 4
      for (int i = 0; i < MI; ++i) xs[i] = load(x + i * kStep);
#pragma GCC unroll 4
      for (int j = 0; j < MJ; ++j) {
        const V value = factor(y + j * yj);
#pragma GCC unroll 4
        for (int i = 0; i < MI; ++i) sum[j][i] = fused(xs[i], value, sum[j][i]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < MJ; ++j) {
#pragma GCC unroll 4
      for (int i = 0; i < MI; ++i) store(c + j * cj + i * kStep, sum[j][i]);
    }
  }

  template <int MJ, bool Fresh>
  SIMD_TARGET static void strip(int64_t rows, int64_t depth, const E* x, int64_t xt, const E* y,
                                 int64_t yt, int64_t yj, E* c, int64_t cj) {
    constexpr int kFull = kMaxI * kStep;
    for (; rows > (kMaxI - 1) * kStep; rows -= kFull, x += kFull, c += kFull) {
      tile<kMaxI, MJ, Fresh>(depth, x, xt, y, yt, yj, c, cj);
    }
    if (rows > 2 * kStep) {
      tile<3, MJ, Fresh>(depth, x, xt, y, yt, yj, c, cj);
    } else if (rows > kStep) {
      tile<2, MJ, Fresh>(depth, x, xt, y, yt, yj, c, cj);
    } else if (rows > 0) {
      tile<1, MJ, Fresh>(depth, x, xt, y, yt, yj, c, cj);
    }
  }

  template <bool Fresh = false>
  SIMD_TARGET static void product(int64_t rows, int columns, int64_t depth, const E* x, int64_t xt,
                                   const E* y, int64_t yt, int64_t yj, E* c, int64_t cj) {
    for (; columns >= 4; columns -= 4, y += 4 * yj, c += 4 * cj) {
      strip<4, Fresh>(rows, depth, x, xt, y, yt, yj, c, cj);
    }
    if (columns == 3) {
      strip<3, Fresh>(rows, depth, x, xt, y, yt, yj, c, cj);
    } else if (columns == 2) {
      strip<2, Fresh>(rows, depth, x, xt, y, yt, yj, c, cj);
    } else if (columns == 1) {
      strip<1, Fresh>(rows, depth, x, xt, y, yt, yj, c, cj);
    }
  }

  // A front in two parts: the columns of its own rows, all `n` rows of them, and the square that is
  // left to the parent. Only the strict lower triangle counts.
  struct Front {
    E *own_columns, *rest;
    int64_t n, own, ld, rest_ld;

    // Entry (i, j) is column(j)[i].
    E* column(int64_t j) const {
      return j < own ? own_columns + j * ld : rest + (j - own) * rest_ld - own;
    }
  };

  // Eliminates the front's own rows, pair by pair. Of every pair (u, v) of columns, the pivot d at
  // (u + 1, u) and below it u / d and v stay; `y`, which has room for a panel, receives -v and u / d.
  SIMD_TARGET static void eliminate_front(const Front& f, E* y) {
    const int64_t panel = f.n > 160 ? 32 : 16, n = f.n, ld = f.ld;
    for (int64_t k0 = 0; k0 < f.own; k0 += panel) {
      const int64_t k1 = std::min(f.own, k0 + panel);
      const E* x = f.own_columns + k0 * ld;
      for (int64_t k = k0; k < k1; k += 2) {
        E *u = f.own_columns + k * ld, *v = u + ld;
        if (k > k0) {
          product(n - k - 1, 2, k - k0, x + k + 1, ld, y + k, ld, 1, u + k + 1, ld);
        }
        E *y_u = y + (k - k0) * ld, *y_v = y_u + ld;
        const E d = -u[k + 1], inverse = constant(S(1)) / d;
        u[k + 1] = d;
        for (int64_t i = k + 2; i < n; ++i) {
          y_u[i] = -v[i];
          u[i] = y_v[i] = u[i] * inverse;
        }
      }
      for (int64_t j = k1; j < n;) {
        const int64_t end = j < f.own ? f.own : n;
        const int columns = static_cast<int>(std::min<int64_t>(4, end - j));
        product(n - j - 1, columns, k1 - k0, x + j + 1, ld, y + j, ld, 1,
                f.column(j) + j + 1, j < f.own ? ld : f.rest_ld);
        j += columns;
      }
    }
  }

  // Fills the front of a leaf: the legs of a face are joined, those of two faces are not.
  template <int Shared>
  SIMD_TARGET static void fill_from_faces(const FrontTree& tree, int32_t node, const E* weight,
                                          const Front& front) {
    const int32_t *rows = tree.face_rows.data(), *legs = tree.face_legs.data();
    const int64_t last = tree.face_begin[tree.leaf_faces[node + 1]];
    for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
      const int64_t end = tree.face_begin[f + 1];
      for (int64_t i = tree.face_begin[f]; i < end; ++i) {
        const E own = weight[legs[i] >> Shared];
        const int32_t row = rows[i];
        for (int64_t j = i + 1; j < end; ++j) {
          const E value = own * weight[legs[j] >> Shared];
          if (row > rows[j]) {
            front.column(rows[j])[row] = value;
          } else {
            front.column(row)[rows[j]] = -value;
          }
        }
        for (int64_t j = end; j < last; ++j) {
          front.column(std::min(row, rows[j]))[std::max(row, rows[j])] = E{};
        }
      }
    }
  }

  // Fills the front of one model from its children.
  SIMD_TARGET static void fill_from_children(const FrontChildren<S, Lanes>& c, const Front& front) {
    for (int64_t j = 0; j < front.n; ++j) {
      const int at = c.side[j];
      const int32_t* place = c.place[at];
      const E* from = c.left[at] + place[j] * left_leading(c.rows[at]);
      E* column = front.column(j);
      for (int64_t i = j + 1; i < front.n; ++i) column[i] = from[place[i]];
    }
  }

  // Runs of a program, from `code` on; returns what comes after. `sources`: a zero, what the
  // children left, the front. No branch depends on an entry.
  SIMD_TARGET static const uint32_t* run_entries(const FrontProgram::Run* run,
                                                 const FrontProgram::Run* last,
                                                 const uint32_t* code, const E* const* sources,
                                                 const E* scaled, E* front) {
    for (; run < last; ++run) {
      const int32_t terms = run->terms;
      for (int32_t k = run->count; k > 0; --k) {
        E sum = sources[code[1] >> 28][code[1] & 0x0fffffff];
        for (int32_t t = 0; t < terms; ++t) {
          const uint32_t term = code[t + 2];
          sum = fused(front[term & 0xffff], scaled[term >> 16], sum);
        }
        front[code[0]] = sum;
        code += terms + 2;
      }
    }
    return code;
  }

  // Fills and eliminates a small front: the square that it leaves, then its own columns, `n` rows of
  // them. `scaled` has room for its own columns twice; `factors`, if not null, receives those of L.
  template <int Shared>
  SIMD_TARGET static void run_program(const FrontProgram& program, const int8_t* signs,
                                      const int32_t* edges, const int32_t* legs, const E* weight,
                                      const E* children, const Front& f, E* scaled, E* factors) {
    const E zero = E{};
    E* front = f.rest;
    E* turned = scaled + f.n * f.own;
    const E* const sources[] = {&zero, children, front};
    for (const auto& [to, i, j] : program.products) {
      front[to] = weight[legs[i] >> Shared] * weight[legs[j] >> Shared];
    }
    for (const auto& [to, i, j] : program.negative) {
      front[to] = -(weight[legs[i] >> Shared] * weight[legs[j] >> Shared]);
    }
    for (int64_t k = 0; k < f.own; k += 2) {
      const uint32_t start = program.pivots[k / 2];
      f.own_columns[k * f.n + k + 1] =
          sources[start >> 28][start & 0x0fffffff] - constant(S(signs[edges[k / 2]]));
    }
    const FrontProgram::Run* const runs = program.runs.data();
    const FrontProgram::Scaling* scaling = program.scalings.data();
    const uint32_t* code = program.code.data();
    int32_t done = 0, divided = 0;
    for (int64_t k = 0; k < f.own; k += 2) {
      const FrontProgram::Pair& pair = program.pairs[k / 2];
      code = run_entries(runs + done, runs + pair.runs, code, sources, scaled, front);
      done = pair.runs;
      E& pivot = f.own_columns[k * f.n + k + 1];
      const E d = -pivot, inverse = constant(S(1)) / d, minus = -inverse;
      pivot = d;
      for (; divided < pair.of_u; ++divided, ++scaling) {
        const E value = front[scaling->from] * inverse;
        scaled[scaling->to] = value;
        turned[scaling->to] = -value;
        if (factors != nullptr) factors[scaling->to] = value;
      }
      if (factors != nullptr) {
        factors[k * f.n + k + 1] = d;
        for (const auto* s = scaling; s < program.scalings.data() + pair.of_v; ++s) {
          factors[s->to] = front[s->from] * minus;
        }
      }
      scaling = program.scalings.data() + (divided = pair.of_v);
    }
    run_entries(runs + done, runs + program.runs.size(), code, sources, scaled, front);
    if (factors == nullptr) return;
    for (const int32_t place : program.zeros) factors[place] = E{};
  }

  // The columns of L, n rows of them, from the eliminated own columns of a front.
  SIMD_TARGET static void write_factors(const Front& f, E* to) {
    for (int64_t k = 0; k < f.own; k += 2) {
      const E *u = f.own_columns + k * f.ld, *v = u + f.ld;
      E *to_u = to + k * f.n, *to_v = to_u + f.n;
      const E d = u[k + 1], minus = -(constant(S(1)) / d);
      to_u[k + 1] = d;
      for (int64_t i = k + 2; i < f.n; ++i) {
        to_u[i] = v[i] * minus;
        to_v[i] = u[i];
      }
    }
  }

  // Up the tree. `pivots` receives one number per edge, in the order of the tree, relative to its
  // join; `factors`, where given, the columns of L of all fronts, one front after the other.
  template <int Shared = kShared>
  SIMD_TARGET static void up(const FrontTree& tree, const int8_t* signs, const E* weight,
                              const LaneProgram& program, void* scratch, E* pivots, E* factors,
                              LaneClock& clock) {
    const LaneSizes& sizes = program.sizes;
    // Room for a panel or, in lanes, for the own columns of a front and for the square of a leaf.
    E* work = static_cast<E*>(scratch);
    E* leaf = work + sizes.own;
    // What is left to the parent: children lie on one stack, their parent on the other.
    E* top[2];
    top[0] = Lanes ? leaf + sizes.leaf : work + 32 * leading(sizes.rows);
    top[1] = top[0] + sizes.up[0] + (Lanes ? 1 : W) * sizes.up_columns[0];
    for (int32_t node = 0; node < tree.num_nodes(); ++node) {
      const int64_t n = tree.rows(node), own = tree.own_rows(node), b = n - own;
      const int side = program.side[node];
      E* rest = top[side];
      const int32_t* place = program.place.data() + 2 * program.rows[node];
      FrontChildren<S, Lanes> children{
          program.child.data() + program.rows[node], {place, place + n}, {leaf}, {n}};
      if (!tree.is_leaf(node)) {
        children.rows[0] = tree.boundary_rows(tree.left[node]);
        children.rows[1] = tree.boundary_rows(tree.right[node]);
        for (const int at : {0, 1}) {
          top[1 - side] -= children.rows[at] * left_leading(children.rows[at]);
        }
        children.left[0] = top[1 - side];
        children.left[1] = top[1 - side] + children.rows[0] * left_leading(children.rows[0]);
      }
      const int32_t* edges = tree.edge_order.data() + tree.own[node];
      E* found = pivots + tree.own[node];
      const int32_t small = program.front_of[node];
      if constexpr (Lanes) {
        if (small < 0) {
          if (tree.is_leaf(node)) {
            fill_from_faces<Shared>(tree, node, weight, {leaf, nullptr, n, n, left_leading(n), 0});
          }
          LaneFront<S> front{children, n, own, work, rest, signs, edges, found};
          front.run();
          if (factors != nullptr) front.write_factors(factors);
        }
      }
      if (!Lanes || small >= 0) {
        // The front lies on top of its stack, the rest first and then its own columns.
        const Front front{rest + b * left_leading(b), rest, n, own, leading(n), left_leading(b)};
        if constexpr (Lanes) {
          const int32_t* legs = tree.face_legs.data() + tree.face_begin[tree.leaf_faces[node]];
          run_program<Shared>(program.fronts[small], signs, edges, legs, weight, children.left[0], front,
                              work, factors);
        } else {
          if (tree.is_leaf(node)) {
            fill_from_faces<Shared>(tree, node, weight, front);
          } else {
            fill_from_children(children, front);
          }
          for (int64_t k = 0; k < own; k += 2) {
            front.own_columns[k * front.ld + k + 1] -= constant(S(signs[edges[k / 2]]));
          }
          eliminate_front(front, work);
          if (factors != nullptr) write_factors(front, factors);
        }
        for (int64_t k = 0; k < own; k += 2) {
          found[k / 2] = front.own_columns[k * front.ld + k + 1] * constant(S(signs[edges[k / 2]]));
        }
      }
      for (int64_t j = 0; j < b; ++j) rest[j * left_leading(b) + b] = E{};
      if (factors != nullptr) factors += n * own;
      clock.spend(n * n * (own + 1) / 2);
      top[side] += b * left_leading(b);
    }
  }

  // Σ_t x[t] y[t] in four sums.
  SIMD_TARGET static E dot(int64_t count, const E* x, const E* y) {
    E s0 = E{}, s1 = E{}, s2 = E{}, s3 = E{};
    int64_t t = 0;
    for (; t + 3 < count; t += 4) {
      s0 = fused(x[t], y[t], s0);
      s1 = fused(x[t + 1], y[t + 1], s1);
      s2 = fused(x[t + 2], y[t + 2], s2);
      s3 = fused(x[t + 3], y[t + 3], s3);
    }
    for (; t < count; ++t) s0 = fused(x[t], y[t], s0);
    return (s0 + s1) + (s2 + s3);
  }

  // Fills the inverse of a front from its lower right block, panel by panel from the right. With
  // T the rows after a pair q: K⁻¹_Tq = K⁻¹_TT l_Tq; `l` are the scaled columns, of n rows.
  SIMD_TARGET static void extend(E* z, int64_t n, int64_t ld, int64_t own, const E* l) {
    constexpr int64_t kPanel = 8;
    for (int64_t k1 = own; k1 > 0;) {
      const int64_t k0 = std::max<int64_t>(0, k1 - kPanel), rest = n - k1;
      product<true>(rest, static_cast<int>(k1 - k0), rest, z + k1 * ld + k1, ld, l + k0 * n + k1, 1, n,
              z + k0 * ld + k1, ld);
      for (int64_t q = k1 - 2; q >= k0; q -= 2) {
        E *u = z + q * ld, *v = u + ld;
        const E *l_u = l + q * n, *l_v = l_u + n;
        const int64_t inside = k1 - q - 2;
        product(rest, 2, inside, z + (q + 2) * ld + k1, ld, l_u + q + 2, 1, n, u + k1, ld);
        // Rows of the panel itself, down to the last row of the front.
        for (int64_t i = k1; i < n; ++i) {
          z[i * ld + q] = -u[i];
          z[i * ld + q + 1] = -v[i];
        }
        if (inside > 0) {
          E* block = z + n * ld;  // two columns of room: a register may write past the panel
          product<true>(inside, 2, n - q - 2, z + (q + 2) * ld + q + 2, ld, l_u + q + 2, 1, n, block, ld);
          for (int64_t i = 0; i < inside; ++i) {
            const int64_t row = q + 2 + i;
            u[row] = block[i];
            v[row] = block[ld + i];
            z[row * ld + q] = -block[i];
            z[row * ld + q + 1] = -block[ld + i];
          }
        }
        const E pair = constant(S(1)) / l_u[q + 1] + dot(n - q - 2, u + q + 2, l_v + q + 2);
        u[q + 1] = pair;
        v[q] = -pair;
        u[q] = v[q + 1] = E{};
      }
      k1 = k0;
    }
  }

  // Row i of K times column i of K⁻¹ is 1; see Sweep::check_faces.
  SIMD_TARGET static void check_faces(const FrontTree& tree, int32_t node, const E* weight,
                                       const E* uncut, const E* z, int64_t ld, E& residual) {
    const int32_t *rows = tree.face_rows.data(), *legs = tree.face_legs.data();
    for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
      const int64_t begin = tree.face_begin[f], end = tree.face_begin[f + 1];
      for (int64_t i = begin; i < end; ++i) {
        E sum = E{};
        const E* column = z + rows[i] * ld;
        for (int64_t j = begin; j < i; ++j) {
          sum = fused(weight[legs[j] >> kShared], -column[rows[j]], sum);
        }
        for (int64_t j = i + 1; j < end; ++j) {
          sum = fused(weight[legs[j] >> kShared], column[rows[j]], sum);
        }
        const int32_t edge = legs[i] >> 1;
        sum = fused(sum, weight[legs[i] >> kShared], uncut[edge] - constant(S(1)));
        sum = sum < E{} ? -sum : sum;
        residual = sum <= residual ? residual : sum;  // stays NaN, once it is
        residual = sum == sum ? residual : sum;
      }
    }
  }

  // What a front's inverse says of the rows that a child left: columns of `to`, `to_ld` apart.
  SIMD_TARGET static void hand_down(const FrontTree& tree, int32_t child, const E* z, int64_t ld,
                                    E* to, int64_t to_ld) {
    const int32_t* place = tree.place.data() + tree.boundary[child];
    const int64_t rows = tree.boundary_rows(child);
    for (int64_t j = 0; j < rows; ++j, to += to_ld) {
      const E* column = z + place[j] * ld;
      for (int64_t i = 0; i < rows; ++i) to[i] = column[place[i]];
    }
  }

  // Down the tree again: `uncut` receives K_ij (K⁻¹)_ji of the join of every edge. A right child
  // comes right after its parent and reads its inverse, in the other of two buffers; what the left
  // child needs waits on a stack. Returns the residual, if it is to be checked.
  template <bool Check>
  SIMD_TARGET static E down(const FrontTree& tree, const int8_t* signs, const E* weight,
                             const LaneSizes& sizes, void* scratch, const E* factors, E* uncut,
                             LaneClock& clock) {
    const int64_t room = (sizes.rows + 2) * leading(sizes.rows);
    E *z = static_cast<E*>(scratch), *above = z + room, *top = above + room;
    int64_t above_ld = 0;
    E residual = E{};
    const E* l = factors + sizes.factors;
    for (int32_t node = tree.num_nodes() - 1; node >= 0; --node) {
      const int64_t n = tree.rows(node), own = tree.own_rows(node), ld = leading(n);
      const int64_t b = n - own;
      l -= n * own;
      E* rest = z + own * ld + own;
      if (tree.parent[node] == node + 1) {
        hand_down(tree, node, above, above_ld, rest, ld);
      } else {
        top -= b * b;
        for (int64_t j = 0; j < b; ++j) {
          for (int64_t i = 0; i < b; ++i) rest[j * ld + i] = top[j * b + i];
        }
      }
      extend(z, n, ld, own, l);
      clock.spend(n * n * (own + 1));
      const int32_t* edges = tree.edge_order.data() + tree.own[node];
      for (int64_t k = 0; k < own; k += 2) {
        uncut[edges[k / 2]] = z[k * ld + k + 1] * constant(S(signs[edges[k / 2]]));
      }
      if (tree.is_leaf(node)) {
        if constexpr (Check) check_faces(tree, node, weight, uncut, z, ld, residual);
        continue;
      }
      const int64_t left_rows = tree.boundary_rows(tree.left[node]);
      hand_down(tree, tree.left[node], z, ld, top, left_rows);
      top += left_rows * left_rows;
      std::swap(z, above);
      above_ld = ld;
    }
    return residual;
  }
};
