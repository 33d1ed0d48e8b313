#include "frontier/frontier.hpp"

#include <cmath>
#include <numeric>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

struct Grid {
  int32_t rows, columns;
  std::vector<int32_t> edges;
  std::vector<double> pairs, singles;

  Grid(int32_t rows_, int32_t columns_, double beta) : rows(rows_), columns(columns_) {
    const auto link = [&](int32_t u, int32_t v) {
      edges.insert(edges.end(), {u, v});
      const double j = beta * std::sin(3.7 * static_cast<double>(edges.size()));
      pairs.insert(pairs.end(), {j, -j, -j, j});
    };
    for (int32_t r = 0; r < rows; ++r) {
      for (int32_t c = 0; c < columns; ++c) {
        const double h = beta * std::cos(1.3 * (r * columns + c));
        singles.insert(singles.end(), {-h, h});
        if (c + 1 < columns) link(r * columns + c, r * columns + c + 1);
        if (r + 1 < rows) link(r * columns + c, (r + 1) * columns + c);
      }
    }
  }
  PairwiseView view() const { return {edges, pairs, singles}; }
  double log_weight(int64_t state) const {
    double total = 0;
    for (size_t e = 0; e < edges.size() / 2; ++e) {
      total += pairs[4 * e + 2 * (state >> edges[2 * e] & 1) + (state >> edges[2 * e + 1] & 1)];
    }
    for (size_t v = 0; v < singles.size() / 2; ++v) total += singles[2 * v + (state >> v & 1)];
    return total;
  }
};

void check_grid(int32_t rows, int32_t columns, double beta) {
  const Grid grid(rows, columns, beta);
  const int32_t n = rows * columns;
  double best = -1e300, z = 0, last = 0;
  for (int64_t s = 0; s < (int64_t{1} << n); ++s) best = std::max(best, grid.log_weight(s));
  for (int64_t s = 0; s < (int64_t{1} << n); ++s) {
    const double p = std::exp(grid.log_weight(s) - best);
    z += p;
    if (s >> (n - 1) & 1) last += p;
  }
  std::vector<int32_t> layout(n);
  std::iota(layout.begin(), layout.end(), 0);
  Control control;
  const auto program = frontier_program(grid.view(), layout, 40);
  CHECK(program.max_bits == frontier_width(grid.view(), layout, 64));
  for (const bool wide : {false, true}) {
    for (const int32_t spare : {0, 1, 2, 30}) {
      const auto sum = frontier_sum(grid.view(), program, true,
                                    wide ? Exponents::kOwn : Exponents::kAny, spare, control);
      CHECK(std::abs(sum.log_partition - best - std::log(z)) < 1e-12 * (1 + std::abs(best)));
      CHECK(std::abs(sum.singles[2 * n - 1] - last / z) < 1e-11);
      CHECK(sum.wide_exponents >= wide);
    }
    CHECK(frontier_sample(grid.view(), program, 5, 1, wide, 2, control).size() ==
          5 * static_cast<size_t>(n));
  }
  const auto most = frontier_max(grid.view(), program, 3, control);
  int64_t state = 0;
  for (int32_t v = 0; v < n; ++v) state |= int64_t{most.labels[v]} << v;
  CHECK(std::abs(grid.log_weight(state) - best) < 1e-12 * (1 + std::abs(best)));
}

}  // namespace

TEST_CASE("small grids agree with their states") {
  check_grid(3, 4, 1.0);
  check_grid(4, 3, 60.0);
  check_grid(1, 9, 2.0);
  check_grid(2, 6, 900.0);
}

TEST_CASE("wide tables use all lanes") {
  // Eleven columns: blocks of 16 lanes, contiguous and scattered; the transposed sweep agrees.
  const Grid grid(4, 11, 1.0);
  std::vector<int32_t> rows(44), columns;
  std::iota(rows.begin(), rows.end(), 0);
  for (int32_t c = 0; c < 11; ++c) {
    for (int32_t r = 0; r < 4; ++r) columns.push_back(11 * r + c);
  }
  Control control;
  const auto across = frontier_program(grid.view(), rows, 40);
  const auto down = frontier_program(grid.view(), columns, 40);
  CHECK(across.max_bits == 11);
  CHECK(down.max_bits == 4);
  const auto one = frontier_sum(grid.view(), across, true, Exponents::kAny, 3, control);
  const auto two = frontier_sum(grid.view(), down, true, Exponents::kOwn, 3, control);
  CHECK(std::abs(one.log_partition - two.log_partition) < 1e-12);
  for (size_t i = 0; i < one.pairs.size(); ++i)
    CHECK(std::abs(one.pairs[i] - two.pairs[i]) < 1e-12);
}

TEST_CASE("layouts are permutations") {
  const Grid grid(5, 6, 1.0);
  Control control;
  auto layout = greedy_layout(grid.view(), control);
  CHECK(frontier_width(grid.view(), layout, 64) <= 7);
  std::sort(layout.begin(), layout.end());
  for (int32_t v = 0; v < 30; ++v) CHECK(layout[v] == v);
}
