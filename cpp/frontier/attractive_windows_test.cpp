#include "frontier/attractive_windows.hpp"

#include <algorithm>
#include <cmath>

#include "third_party/doctest/doctest.h"

using namespace planaris;

// A grid of few spins, and its marginals by a sum over all states.
struct SmallGrid {
  int32_t rows, columns;
  std::vector<int32_t> edges;
  std::vector<double> couplings, fields, up, both_up, both_down;

  SmallGrid(int32_t rows_, int32_t columns_, double coupling, double spread, double shift = 0.0)
      : rows(rows_), columns(columns_) {
    const int32_t n = rows * columns;
    for (int32_t v = 0; v < n; ++v) {
      fields.push_back(shift + spread * std::sin(2.3 * v + 0.4));
      if ((v + 1) % columns) edges.insert(edges.end(), {v, v + 1});
      if (v + columns < n) edges.insert(edges.end(), {v, v + columns});
    }
    couplings.assign(edges.size() / 2, coupling);
    up.assign(n, 0);
    both_up.assign(couplings.size(), 0);
    both_down = both_up;
    double z = 0;
    for (int64_t state = 0; state < (int64_t{1} << n); ++state) {
      double log = 0;
      for (int32_t v = 0; v < n; ++v) log += fields[v] * spin(state, v);
      for (size_t e = 0; e < couplings.size(); ++e) log += couplings[e] * product(state, e);
      const double weight = std::exp(log);
      z += weight;
      for (int32_t v = 0; v < n; ++v) up[v] += weight * (spin(state, v) > 0);
      for (size_t e = 0; e < couplings.size(); ++e) {
        if (product(state, e) < 0) continue;
        (spin(state, edges[2 * e]) > 0 ? both_up : both_down)[e] += weight;
      }
    }
    for (double& p : up) p /= z;
    for (double& p : both_up) p /= z;
    for (double& p : both_down) p /= z;
  }

  static int spin(int64_t state, int32_t v) { return state >> v & 1 ? 1 : -1; }
  int product(int64_t state, size_t e) const {
    return spin(state, edges[2 * e]) * spin(state, edges[2 * e + 1]);
  }
  AttractiveView view() const { return {edges, couplings, fields}; }
  AttractiveEnds nothing_known() const {
    const std::vector<double> zeros(couplings.size(), 0), ones(couplings.size(), 1);
    return {std::vector<double>(up.size(), 0),
            std::vector<double>(up.size(), 1),
            zeros,
            ones,
            zeros,
            ones};
  }
  bool inside(const AttractiveEnds& ends) const {
    bool holds = true;
    for (size_t v = 0; v < up.size(); ++v) {
      holds &= ends.nodes_lower[v] <= up[v] && up[v] <= ends.nodes_upper[v];
    }
    for (size_t e = 0; e < both_up.size(); ++e) {
      holds &= ends.up_lower[e] <= both_up[e] && both_up[e] <= ends.up_upper[e];
      holds &= ends.down_lower[e] <= both_down[e] && both_down[e] <= ends.down_upper[e];
    }
    return holds;
  }
};

AttractiveEnds narrow_grid(const SmallGrid& grid, const AttractiveEnds& ends,
                           const WindowSizes& sizes, int threads, Control& control) {
  return narrow_by_windows(grid.view(), ends, grid.up, sizes, true, threads, control);
}

double total_width(const AttractiveEnds& ends) {
  double total = 0;
  for (size_t v = 0; v < ends.nodes_lower.size(); ++v) {
    total += ends.nodes_upper[v] - ends.nodes_lower[v];
  }
  return total;
}

TEST_CASE("ends hold whatever the windows and walls, and narrow") {
  for (const double coupling : {0.2, 0.8, 2.0}) {
    const SmallGrid grid(4, 4, coupling, 1.5 * coupling);
    for (const double wall : {0.0, 0.01, 0.3}) {
      AttractiveEnds ends = grid.nothing_known();
      double width = total_width(ends);
      for (const int32_t spins : {1, 2, 5, 9, 12}) {
        for (const double held : {0.0, 0.4}) {
          Control control;
          ends =
              narrow_grid(grid, ends, {1 + spins / 4, 2, spins, 8, 1e-9, wall, held}, 1, control);
          CHECK(grid.inside(ends));
          CHECK(total_width(ends) <= width);
          width = total_width(ends);
        }
      }
    }
  }
}

TEST_CASE("the trace names the window that every end comes from") {
  const SmallGrid grid(4, 4, 0.8, 1.5);
  const AttractiveEnds before = grid.nothing_known();
  std::vector<int32_t> last;
  for (const int threads : {1, 2}) {
    Control control;
    const auto ends = narrow_grid(grid, before, {2, 2, 5, 8, 1e-9, 0.0, 0.0}, threads, control);
    const WindowTrace& trace = ends.trace;
    const auto count = static_cast<int32_t>(trace.sides.size());
    REQUIRE(std::ssize(trace.spin_offsets) == count + 1);
    CHECK(trace.walls.empty());
    for (int32_t v = 0; v < std::ssize(grid.up); ++v) {
      const int32_t k = trace.nodes_upper[v];
      REQUIRE((k >= 0) == (ends.nodes_upper[v] < 1));
      REQUIRE(k < count);
      if (k < 0) continue;
      CHECK(trace.sides[k] == 1);
      const auto first = trace.spins.begin() + trace.spin_offsets[k];
      CHECK(std::count(first, trace.spins.begin() + trace.spin_offsets[k + 1], v) == 1);
    }
    if (threads == 2) CHECK(trace.spins == last);
    last = trace.spins;
  }
}

TEST_CASE("a wall costs what it may be wrong") {
  // The middle of three spins is up with probability p; its neighbours are held by it alone.
  const SmallGrid grid(1, 3, 1.0, 0.1, 0.2);
  AttractiveEnds ends = grid.nothing_known();
  const double p = grid.up[1];
  REQUIRE(p > 0.5);
  ends.nodes_lower[1] = p - 0.05;
  ends.nodes_upper[1] = p + 0.05;
  Control control;
  const double wall = 1 - (p - 0.05) + 1e-9;
  REQUIRE(wall < 0.5);
  const auto found = narrow_grid(grid, ends, {1, 1, 1, 4, 1e-9, wall, 0.0}, 1, control);
  CHECK(grid.inside(found));
  // Held up, the others would be up more often than they are.
  const double held = 1 / (1 + std::exp(-2 * (grid.fields[0] + 1.0)));
  CHECK(held > grid.up[0] + 0.01);
  CHECK(found.nodes_lower[0] == doctest::Approx(held * (1 - wall)).epsilon(1e-6));
}

TEST_CASE("ends between walls that are often wrong hold only with what walls cost") {
  // Spins known to within 1/10, held as if they were known: every bound is off by some of that.
  int close = 0;
  for (const double shift : {-0.4, -0.2, 0.0, 0.2, 0.4}) {
    const SmallGrid grid(3, 5, 0.6, 1.0, shift);
    AttractiveEnds ends = grid.nothing_known();
    for (size_t v = 0; v < grid.up.size(); ++v) {
      ends.nodes_lower[v] = std::max(0.0, grid.up[v] - 1e-6);
      ends.nodes_upper[v] = std::min(1.0, grid.up[v] + 1e-6);
    }
    for (const double wall : {0.1, 0.2, 0.3}) {
      Control control;
      // One spin at a time between its neighbours; ends of the others must not matter.
      AttractiveEnds known = ends;
      for (size_t v = 0; v < grid.up.size(); v += 2) {
        known.nodes_lower[v] = 0;
        known.nodes_upper[v] = 1;
      }
      const auto found = narrow_grid(grid, known, {1, 1, 1, 4, 0.01, wall, 0.0}, 1, control);
      CHECK(grid.inside(found));
      for (size_t v = 0; v < grid.up.size(); v += 2) {
        close +=
            found.nodes_lower[v] > grid.up[v] - 0.05 || found.nodes_upper[v] < grid.up[v] + 0.05;
      }
    }
  }
  CHECK(close > 5);  // ends that less would move beyond the truth
}

TEST_CASE("one window of everything is exact, and threads do not count") {
  const SmallGrid grid(3, 4, 0.7, 1.0);
  Control control;
  const auto whole =
      narrow_grid(grid, grid.nothing_known(), {12, 9, 12, 8, 1e-9, 0.0, 0.0}, 1, control);
  CHECK(whole.windows == 2);  // one for each end
  CHECK(total_width(whole) < 1e-10);
  const auto one =
      narrow_grid(grid, grid.nothing_known(), {2, 3, 6, 8, 1e-9, 0.0, 0.0}, 1, control);
  const auto many =
      narrow_grid(grid, grid.nothing_known(), {2, 3, 6, 8, 1e-9, 0.0, 0.0}, 3, control);
  CHECK(one.windows > 1);
  CHECK(one.nodes_lower == many.nodes_lower);
  CHECK(one.up_upper == many.up_upper);
  CHECK(one.down_upper == many.down_upper);
}

TEST_CASE("windows that do not fit are made smaller, and a deadline leaves ends that hold") {
  const SmallGrid grid(4, 4, 0.5, 0.5);
  Control control;
  const auto found =
      narrow_grid(grid, grid.nothing_known(), {4, 3, 16, 2, 1e-9, 0.0, 0.0}, 1, control);
  CHECK(found.windows + found.too_wide > 0);
  CHECK(grid.inside(found));
  Control late([](double) { return true; }, 0.0);
  const auto none = narrow_grid(grid, grid.nothing_known(), {4, 3, 16, 8, 1e-9, 0.0, 0.0}, 2, late);
  CHECK(!none.in_time);
  CHECK(grid.inside(none));
}

TEST_CASE("spins that are held cost what they are held wrongly, and windows go around them") {
  // In a chain whose middle is all but sure to be up, the upper end of its neighbour is that of a
  // window that ends there; the lower end knows nothing of it.
  SmallGrid grid(1, 5, 0.5, 0.3, 0.1);
  std::vector<double> guess(5, 0.5);
  guess[2] = 0.95;
  Control control;
  const auto found = narrow_by_windows(grid.view(), grid.nothing_known(), guess,
                                       {5, 9, 5, 8, 1e-9, 0.0, 0.1}, false, 1, control);
  CHECK(grid.inside(found));
  CHECK(found.nodes_upper[2] == 1);
  CHECK(found.nodes_upper[1] > grid.up[1] + 0.01);
  CHECK(found.nodes_upper[1] < 1);
  for (const int v : {0, 1, 2, 3, 4}) CHECK(found.nodes_lower[v] > grid.up[v] - 1e-9);
}
