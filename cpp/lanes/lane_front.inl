// Compiled once per instruction set (base/each_instruction_set.inl): a front of several models, one
// per lane of a register.
//
// Every entry is read once, where a child left it, gains the products of all pairs of columns before
// it, tile by tile in registers, and is written once, where the parent will read it. Of an eliminated
// pair (u, v) of columns with pivot d, u / d and v are kept: entry (i, j) gains
// v(i) (u(j) / d) - (u(i) / d) v(j). Rows lie in blocks of four, within a block by columns; the first
// row that is left to the parent begins a new block.

// What the two children of a front left, by columns, and where its rows come from; see LaneProgram.
// Columns that are filled beforehand count as a third child.
template <class S, bool Lanes>
struct FrontChildren {
  using E = typename ElementOf<S, Lanes>::E;
  const uint8_t* side;      // by row of the front
  const int32_t* place[3];  // by row of the front: in columns of the other child, the row of zeros
  const E* left[3];
  int64_t rows[3];
};

template <class S>
struct LaneFront {
  using E = typename VectorOf<S>::V;
  static constexpr int64_t kBlock = 4;
  static constexpr int64_t kPanel = 32;  // own columns that other columns gain at a time

  FrontChildren<S, true> children;
  int64_t n, own;
  E *kept, *rest;
  const int8_t* signs;       // of the edges that the front joins
  const int32_t* edges;
  E* pivots;                 // receives them, relative to their joins
  const E* joined = nullptr;  // signs of edges by pair, where they differ and entries hold the joins

  int64_t boundary() const { return n - own; }
  E* column_left(int64_t j) const { return rest + (j - own) * (boundary() + 1) - own; }
  int64_t own_blocks() const { return (own + kBlock - 1) / kBlock; }
  E* block(int64_t at) const { return kept + at * kBlock * own; }

  // Rows of a block, or columns: where they begin in the front, and how many there are.
  struct Range {
    int64_t block, first, count;
  };
  Range range(int64_t at) const {
    const int64_t owned = own_blocks();
    const int64_t first = at < owned ? at * kBlock : own + (at - owned) * kBlock;
    return {at, first, std::min(kBlock, (at < owned ? own : n) - first)};
  }

  template <int I, int J>
  struct Tile {
    E sum[J][I];
  };

  // Entries as the children left them.
  template <int I, int J, bool Diagonal>
  SIMD_TARGET PLANARIS_INLINE void gather(const Range& rows, const Range& columns,
                                          Tile<I, J>& tile) const {
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) {
      const int at = children.side[columns.first + j];
      const int32_t *place = children.place[at], *row = place + rows.first;
      const E* column = children.left[at] + place[columns.first + j] * (children.rows[at] + 1);
#pragma GCC unroll 4
      for (int i = Diagonal ? j + 1 : 0; i < I; ++i) tile.sum[j][i] = column[row[i]];
    }
  }

  // Entries that columns before have changed already.
  template <int I, int J, bool Diagonal>
  SIMD_TARGET PLANARIS_INLINE static void load(const E* from, int64_t apart, Tile<I, J>& tile) {
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) {
#pragma GCC unroll 4
      for (int i = Diagonal ? j + 1 : 0; i < I; ++i) tile.sum[j][i] = from[j * apart + i];
    }
  }
  template <int I, int J, bool Diagonal>
  SIMD_TARGET PLANARIS_INLINE static void store(const Tile<I, J>& tile, E* to, int64_t apart) {
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j) {
#pragma GCC unroll 4
      for (int i = Diagonal ? j + 1 : 0; i < I; ++i) to[j * apart + i] = tile.sum[j][i];
    }
  }

  // Adds what the own columns [t0, t1) bring to columns [J0, J1) of a tile; x are its rows, y its
  // columns. On the diagonal only entries below it count.
  template <int I, int J, int J0, int J1, bool Diagonal>
  SIMD_TARGET PLANARIS_INLINE static void gain_columns(const E* x, const E* y, int64_t t0, int64_t t1,
                                                       Tile<I, J>& tile) {
    x += kBlock * t0;
    y += kBlock * t0;
    for (int64_t t = t0; t < t1; t += 2, x += 2 * kBlock, y += 2 * kBlock) {
      E factor[I];
#pragma GCC unroll 4
      for (int i = 0; i < I; ++i) factor[i] = -x[i];
#pragma GCC unroll 4
      for (int j = J0; j < J1; ++j) {
        const E v = y[kBlock + j];
#pragma GCC unroll 4
        for (int i = Diagonal ? j + 1 : 0; i < I; ++i) {
          tile.sum[j][i] = fused(factor[i], v, tile.sum[j][i]);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < I; ++i) factor[i] = x[kBlock + i];
#pragma GCC unroll 4
      for (int j = J0; j < J1; ++j) {
        const E u = y[j];
#pragma GCC unroll 4
        for (int i = Diagonal ? j + 1 : 0; i < I; ++i) {
          tile.sum[j][i] = fused(factor[i], u, tile.sum[j][i]);
        }
      }
    }
  }

  // As many columns at a time as there are registers for.
  template <int I, int J, bool Diagonal>
  SIMD_TARGET PLANARIS_INLINE static void gain(const E* x, const E* y, int64_t t0, int64_t t1,
                                               Tile<I, J>& tile) {
    constexpr int kColumns = SIMD_BYTES == 64 ? 4 : 2;
    if constexpr (J <= kColumns) {
      gain_columns<I, J, 0, J, Diagonal>(x, y, t0, t1, tile);
    } else {
      gain_columns<I, J, 0, kColumns, Diagonal>(x, y, t0, t1, tile);
      gain_columns<I, J, kColumns, J, Diagonal>(x, y, t0, t1, tile);
    }
  }

  SIMD_TARGET PLANARIS_INLINE E join(int64_t pair) const {
    return joined != nullptr ? joined[pair] : E{} + S(signs[edges[pair]]);
  }

  // What a tile is before it gains from own columns from t0 on.
  template <int I, int J, bool Diagonal>
  SIMD_TARGET PLANARIS_INLINE void begin(const Range& rows, const Range& columns, int64_t t0,
                                         Tile<I, J>& tile) const {
    if (t0 == 0) {
      gather<I, J, Diagonal>(rows, columns, tile);
      if (Diagonal && columns.first < own && joined == nullptr) {
#pragma GCC unroll 2
        for (int j = 0; j + 1 < J; j += 2) tile.sum[j][j + 1] -= join((columns.first + j) / 2);
      }
    } else if (columns.first < own) {
      load<I, J, Diagonal>(block(rows.block) + kBlock * columns.first, kBlock, tile);
    } else {
      load<I, J, Diagonal>(column_left(columns.first) + rows.first, boundary() + 1, tile);
    }
  }

  // Columns that are not eliminated yet gain what the panel [t0, t1) brings.
  template <int I, int J, bool Diagonal>
  SIMD_TARGET void update(const Range& rows, const Range& columns, int64_t t0, int64_t t1) const {
    Tile<I, J> tile;
    begin<I, J, Diagonal>(rows, columns, t0, tile);
    gain<I, J, Diagonal>(block(rows.block), block(columns.block), t0, t1, tile);
    if (columns.first < own) {
      store<I, J, Diagonal>(tile, block(rows.block) + kBlock * columns.first, kBlock);
    } else {
      store<I, J, Diagonal>(tile, column_left(columns.first) + rows.first, boundary() + 1);
    }
  }

  // What eliminates up to two pairs of columns: reciprocals of their pivots, and the entries of the
  // first pair in the rows of the second.
  struct Pivots {
    E inverse[2], u[2], v[2];
  };

  // The pivot of a pair whose entry is `entry`.
  SIMD_TARGET PLANARIS_INLINE void take_pivot(int64_t pair, E entry, E& inverse) {
    const E d = -entry;
    pivots[pair] = d * join(pair);
    inverse = (E{} + S(1)) / d;
  }

  // The tile on the diagonal of J own columns. Rows of the pair itself are not needed any more.
  template <int J>
  SIMD_TARGET Pivots eliminate_diagonal(const Range& columns, int64_t t0) {
    Tile<J, J> tile;
    begin<J, J, true>(columns, columns, t0, tile);
    const int64_t pair = columns.first / 2;
    gain<J, J, true>(block(columns.block), block(columns.block), t0, columns.first, tile);
    Pivots found;
    take_pivot(pair, tile.sum[0][1], found.inverse[0]);
    if constexpr (J == 4) {
      E* to = block(columns.block) + kBlock * columns.first;
      for (int k = 0; k < 2; ++k) {
        to[2 + k] = found.u[k] = tile.sum[0][2 + k] * found.inverse[0];
        to[kBlock + 2 + k] = found.v[k] = tile.sum[1][2 + k];
      }
      E entry = fused(-found.u[1], found.v[0], tile.sum[2][3]);
      entry = fused(found.v[1], found.u[0], entry);
      take_pivot(pair + 1, entry, found.inverse[1]);
    }
    return found;
  }

  // Rows below it.
  template <int I, int J>
  SIMD_TARGET void eliminate(const Range& rows, const Range& columns, int64_t t0, const Pivots& by) {
    Tile<I, J> tile;
    begin<I, J, false>(rows, columns, t0, tile);
    gain<I, J, false>(block(rows.block), block(columns.block), t0, columns.first, tile);
    E* to = block(rows.block) + kBlock * columns.first;
#pragma GCC unroll 4
    for (int i = 0; i < I; ++i) {
      const E u = tile.sum[0][i] * by.inverse[0], v = tile.sum[1][i];
      to[i] = u;
      to[kBlock + i] = v;
      if constexpr (J == 4) {
        const E next_u = fused(v, by.u[0], fused(-u, by.v[0], tile.sum[2][i]));
        to[2 * kBlock + i] = next_u * by.inverse[1];
        to[3 * kBlock + i] = fused(v, by.u[1], fused(-u, by.v[1], tile.sum[3][i]));
      }
    }
  }

  template <int J>
  SIMD_TARGET void eliminate_columns(const Range& columns, int64_t t0, int64_t blocks) {
    const Pivots by = eliminate_diagonal<J>(columns, t0);
    for (int64_t at = columns.block + 1; at < blocks; ++at) {
      const Range rows = range(at);
      switch (rows.count) {
        case 4: eliminate<4, J>(rows, columns, t0, by); break;
        case 3: eliminate<3, J>(rows, columns, t0, by); break;
        case 2: eliminate<2, J>(rows, columns, t0, by); break;
        default: eliminate<1, J>(rows, columns, t0, by);
      }
    }
  }

  template <int J>
  SIMD_TARGET void update_columns(const Range& columns, int64_t t0, int64_t t1, int64_t blocks) const {
    update<J, J, true>(columns, columns, t0, t1);
    for (int64_t at = columns.block + 1; at < blocks; ++at) {
      const Range rows = range(at);
      switch (rows.count) {
        case 4: update<4, J, false>(rows, columns, t0, t1); break;
        case 3: update<3, J, false>(rows, columns, t0, t1); break;
        case 2: update<2, J, false>(rows, columns, t0, t1); break;
        default: update<1, J, false>(rows, columns, t0, t1);
      }
    }
  }

  // Fills the front, eliminates its own columns, and writes what is left.
  SIMD_TARGET void run() {
    const int64_t blocks = own_blocks() + (boundary() + kBlock - 1) / kBlock;
    for (int64_t t0 = 0; t0 == 0 || t0 < own; t0 += kPanel) {
      const int64_t t1 = std::min(own, t0 + kPanel);
      int64_t at = t0 / kBlock;
      for (; at * kBlock < t1; ++at) {
        if (const Range columns = range(at); columns.count == 4) {
          eliminate_columns<4>(columns, t0, blocks);
        } else {
          eliminate_columns<2>(columns, t0, blocks);
        }
      }
      for (; at < blocks; ++at) {
        const Range columns = range(at);
        switch (columns.count) {
          case 4: update_columns<4>(columns, t0, t1, blocks); break;
          case 3: update<3, 3, true>(columns, columns, t0, t1); break;  // the last block
          case 2: update_columns<2>(columns, t0, t1, blocks); break;
          default: break;  // a column without rows below it
        }
      }
    }
  }

  // The columns of L, all n rows of them: K⁻¹ needs them, see Kernel::extend.
  SIMD_TARGET void write_factors(E* to) const {
    for (int64_t k = 0; k < own; k += 2) {
      E *u = to + k * n, *v = u + n;
      const E d = pivots[k / 2] * join(k / 2), minus = -((E{} + S(1)) / d);
      u[k + 1] = d;
      const auto from = [&](int64_t i) {
        const int64_t at = i < own ? i / kBlock : own_blocks() + (i - own) / kBlock;
        return block(at) + kBlock * k + (i < own ? i % kBlock : (i - own) % kBlock);
      };
      for (int64_t i = k + 2; i < n; ++i) {
        const E* x = from(i);
        u[i] = x[kBlock] * minus;
        v[i] = x[0];
      }
    }
  }
};
