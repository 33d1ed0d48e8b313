// Random T-joins under sanitizers: the answer against enumeration, the packing against every
// edge, for every number type. PLANARIS_FUZZ_CASES sets how many.
#include "tjoin/matching.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <span>

#include "third_party/doctest/doctest.h"

using namespace planaris;

namespace {

using Rng = std::mt19937_64;

const char* const kWanted = std::getenv("PLANARIS_FUZZ_CASES");
const int kCases = kWanted ? std::atoi(kWanted) : 20000;

struct Case {
  int32_t n = 0;
  std::vector<int32_t> edges, odd, boundary;
  UnwrittenVector<int64_t> weights;
};

// Numbers of the solution as int64: tests use weights small enough for that.
int64_t number(std::span<const int64_t> digits, size_t first, size_t count) {
  int64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    CHECK((i < 2 || digits[first + i] == 0));
    if (i < 2) value += digits[first + i] << (32 * i);
  }
  return value;
}

Case grid(int32_t rows, int32_t columns) {
  Case c;
  c.n = rows * columns + 1;
  const auto at = [&](int32_t r, int32_t k) {
    return r < 0 || k < 0 || r >= rows || k >= columns ? c.n - 1 : r * columns + k;
  };
  for (int32_t r = 0; r <= rows; ++r) {
    for (int32_t k = 0; k <= columns; ++k) {
      if (k < columns) c.edges.insert(c.edges.end(), {at(r - 1, k), at(r, k)});
      if (r < rows) c.edges.insert(c.edges.end(), {at(r, k - 1), at(r, k)});
    }
  }
  return c;
}

Case random_case(Rng& rng) {
  const auto below = [&](int64_t k) { return int64_t(rng() % uint64_t(k)); };
  Case c;
  if (below(3) == 0) {
    c = grid(int32_t(1 + below(3)), int32_t(1 + below(3)));
  } else {
    c.n = int32_t(1 + below(10));
    const int64_t m = below(3 * c.n + 1);
    for (int64_t i = 0; i < 2 * m; ++i) c.edges.push_back(int32_t(below(c.n)));
  }
  const int64_t most[] = {1, 2, 3, 6, 1000, int64_t{1} << 40};
  const int64_t range = most[below(6)], lowest = below(2);
  for (size_t e = 0; e < c.edges.size() / 2; ++e) c.weights.push_back(lowest + below(range));
  for (int64_t i = below(c.n + 1); i > 0; --i) c.odd.push_back(int32_t(below(c.n)));
  for (int64_t i = below(3); i > 0; --i) c.boundary.push_back(int32_t(below(c.n)));
  return c;
}

// The lightest way to reach each parity pattern, edge by edge; boundary bits are masked out.
int64_t enumerate(const Case& c) {
  uint32_t keep = (uint32_t{1} << c.n) - 1, target = 0;
  for (const int32_t v : c.boundary) keep &= ~(uint32_t{1} << v);
  for (const int32_t v : c.odd) target ^= uint32_t{1} << v;
  std::map<uint32_t, int64_t> best{{0, 0}};
  for (size_t e = 0; e < c.weights.size(); ++e) {
    const uint32_t flip =
        ((uint32_t{1} << c.edges[2 * e]) ^ (uint32_t{1} << c.edges[2 * e + 1])) & keep;
    std::map<uint32_t, int64_t> next = best;
    for (const auto& [pattern, weight] : best) {
      const auto [place, fresh] = next.try_emplace(pattern ^ flip, weight + c.weights[e]);
      if (!fresh) place->second = std::min(place->second, weight + c.weights[e]);
    }
    best = std::move(next);
  }
  const auto found = best.find(target & keep);
  return found == best.end() ? -1 : found->second;
}

TJoinSolution solve(const Case& c, const TJoinWeights& weights, const TJoinState* start = nullptr,
                    double seconds = 1e9) {
  Control control({}, seconds);
  return minimum_tjoin({c.n, c.edges, &weights, c.odd, c.boundary, false}, start, control);
}

// Ranges of a few vertices: nearly every search meets walls.
TJoinSolution solve_split(const Case& c, int threads, int32_t range) {
  Control control;
  const TJoinWeights weights{c.weights, {}, 0};
  return minimum_tjoin({c.n, c.edges, &weights, c.odd, c.boundary, false, threads, range}, nullptr,
                       control);
}

void check_packing(const Case& c, const TJoinSolution& s, int64_t objective) {
  std::vector<int64_t> load(c.weights.size());
  std::vector<uint8_t> odd(c.n), bound(c.n);
  for (const int32_t v : c.odd) odd[v] ^= 1;
  for (const int32_t v : c.boundary) bound[v] = 1;
  const size_t width = s.num_digits == 0 ? 1 : size_t(s.num_digits);
  int64_t total = 0;
  for (size_t k = 0; k < s.start.size(); ++k) {
    const int64_t value = s.num_digits == 0 ? s.values[k] : number(s.values, k * width, width);
    CHECK(value > 0);
    total += value;
    std::vector<uint8_t> inside(c.n);
    int parity = 0;
    for (int32_t i = s.start[k]; i < s.stop[k]; ++i) {
      inside[s.order[i]] = 1;
      parity ^= odd[s.order[i]];
      CHECK(!bound[s.order[i]]);
    }
    CHECK(parity == 1);
    for (size_t e = 0; e < load.size(); ++e) {
      if (inside[c.edges[2 * e]] != inside[c.edges[2 * e + 1]]) load[e] += value;
    }
  }
  CHECK(total == number(s.lower, 0, s.lower.size()));
  CHECK((s.exact ? total == 2 * objective : total <= 2 * objective));
  for (size_t e = 0; e < load.size(); ++e) CHECK(load[e] <= 2 * c.weights[e]);
}

void check_solution(const Case& c, const TJoinSolution& s, int64_t expected) {
  if (expected < 0) {
    CHECK(s.infeasible >= 0);
    return;
  }
  CHECK(s.infeasible < 0);
  const int64_t objective = number(s.objective, 0, s.objective.size());
  CHECK((s.exact ? objective == expected : objective >= expected));
  int64_t weight = 0;
  std::vector<uint8_t> parity(c.n);
  for (const int32_t e : s.join) {
    weight += c.weights[e];
    parity[c.edges[2 * e]] ^= 1, parity[c.edges[2 * e + 1]] ^= 1;
  }
  for (const int32_t v : c.odd) parity[v] ^= 1;
  for (const int32_t v : c.boundary) parity[v] = 0;
  for (const uint8_t p : parity) CHECK(p == 0);
  CHECK(weight == objective);
  check_packing(c, s, objective);
  CHECK(number(s.lower, 0, s.lower.size()) <= 2 * expected);
}

void check_same(const TJoinSolution& a, const TJoinSolution& b) {
  CHECK(a.join == b.join);
  CHECK((a.order == b.order && a.start == b.start && a.stop == b.stop && a.parent == b.parent));
  CHECK((a.values == b.values && a.counters == b.counters));
}

TEST_CASE("random cases match enumeration") {
  Rng rng(7);
  for (int i = 0; i < kCases; ++i) {
    Case c = random_case(rng);
    const int64_t expected = enumerate(c);
    TJoinWeights weights{c.weights, {}, 0};
    const TJoinSolution s = solve(c, weights);
    check_solution(c, s, expected);
    check_solution(c, solve_split(c, 2, 1 + i % 4), expected);
    TJoinSolution late = solve(c, weights, nullptr, 0.0);
    check_solution(c, late, expected);
    if (late.state) check_solution(c, solve(c, weights, late.state.get()), expected);
    if (i % 8 != 0 || c.weights.empty()) continue;
    // Wider types, chosen because one loop is heavy, give the same.
    for (const int32_t shift : {70, 150, 400}) {
      Case heavy = c;
      heavy.edges.insert(heavy.edges.end(), {0, 0});
      TJoinWeights wide{c.weights, UnwrittenVector<int32_t>(c.weights.size() + 1, 0), 0};
      wide.mantissas.push_back(1);
      wide.shifts.back() = shift;
      heavy.weights.push_back(0);  // never used: a loop joins nothing
      check_solution(heavy, solve(heavy, wide), expected);
    }
  }
}

// One solver, many weights and sets of odd vertices; a set that cannot be joined leaves no trace.
TEST_CASE("prepared solvers match enumeration") {
  Rng rng(17);
  for (int i = 0; i < kCases / 5; ++i) {
    Case c = random_case(rng);
    const TJoinWeights weights{c.weights, {}, 0};
    const auto solver = prepare_tjoins({c.n, c.edges, &weights, {}, c.boundary});
    for (int shot = 0; shot < 5; ++shot) {
      Control control;
      std::vector<int32_t> join;
      std::vector<int64_t> objective;
      TJoinSolution proof;
      const int32_t infeasible = solver->solve(c.odd, control, join, objective, &proof);
      const int64_t expected = enumerate(c);
      CHECK((infeasible < 0) == (expected >= 0));
      if (expected >= 0) {
        CHECK(number(objective, 0, objective.size()) == expected);
        int64_t weight = 0;
        std::vector<uint8_t> parity(c.n);
        for (const int32_t e : join) {
          weight += c.weights[e];
          parity[c.edges[2 * e]] ^= 1, parity[c.edges[2 * e + 1]] ^= 1;
        }
        for (const int32_t v : c.odd) parity[v] ^= 1;
        for (const int32_t v : c.boundary) parity[v] = 0;
        for (const uint8_t p : parity) CHECK(p == 0);
        CHECK(weight == expected);
        proof.lower = {(2 * expected) & 0xffffffff, (2 * expected) >> 32};
        check_packing(c, proof, expected);
      }
      for (int64_t& w : c.weights) {
        if (rng() % 3 == 0) w = int64_t(rng() % 5);
      }
      CHECK(solver->set_weights({c.weights, {}, 0}));
      if (!c.weights.empty()) {  // numbers that are too narrow change nothing
        const UnwrittenVector<int32_t> shifts(c.weights.size(), 70);
        CHECK(!solver->set_weights({UnwrittenVector<int64_t>(c.weights.size(), 1), shifts, 0}));
      }
      c.odd.clear();
      for (uint64_t k = rng() % uint64_t(c.n + 1); k > 0; --k) {
        c.odd.push_back(int32_t(rng() % uint64_t(c.n)));
      }
    }
  }
}

// Changes weights and parities a few times over; every answer must be that of a cold start.
TEST_CASE("warm starts match enumeration") {
  Rng rng(13);
  for (int i = 0; i < kCases / 5; ++i) {
    Case c = random_case(rng);
    TJoinSolution last = solve(c, {c.weights, {}, 0});
    for (int step = 0; step < 4 && last.infeasible < 0; ++step) {
      const int64_t top = 1 + int64_t(rng() % 6);
      for (int64_t& w : c.weights) {
        if (rng() % 4 == 0) w = int64_t(rng() % uint64_t(top));
      }
      if (rng() % 2) c.odd.push_back(int32_t(rng() % uint64_t(c.n)));
      if (rng() % 2) c.odd.push_back(int32_t(rng() % uint64_t(c.n)));
      // Half of the time in finer units, so that old duals must be scaled.
      const auto finer = int32_t(rng() % 2 * 5);
      const TJoinWeights weights{c.weights, UnwrittenVector<int32_t>(c.weights.size(), finer),
                                 last.exponent - finer};
      TJoinSolution s = solve(c, weights, last.state.get());
      for (int64_t& w : c.weights) w <<= finer;
      check_solution(c, s, enumerate(c));
      last = std::move(s);
    }
  }
}

// Large enough that every step is shared, with ties and without.
TEST_CASE("the number of threads changes nothing") {
  Rng rng(5);
  for (const int64_t range : {int64_t{2}, int64_t{1} << 40}) {
    Case c = grid(200, 180);
    c.boundary = {c.n - 1};
    for (size_t e = 0; e < c.edges.size() / 2; ++e) c.weights.push_back(1 + int64_t(rng() % range));
    for (int32_t v = 0; v < c.n - 1; ++v) {
      if (rng() % 2) c.odd.push_back(v);
    }
    const TJoinSolution whole = solve(c, {c.weights, {}, 0});
    const TJoinSolution one = solve_split(c, 1, 640);
    CHECK(one.objective == whole.objective);
    for (const int threads : {2, 5}) check_same(one, solve_split(c, threads, 640));
  }
}

TEST_CASE("doubles are written exactly") {
  Rng rng(11);
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 5; ++k)
      values.push_back(std::ldexp(double(rng() >> 11), int(rng() % 40) - 60));
    values.insert(values.end(), {0.0, -0.0, -1.5, std::ldexp(double(rng() >> 40), -1074)});
    const TJoinWeights w = dyadic_weights(values);
    for (size_t k = 0; k < values.size(); ++k) {
      CHECK(std::ldexp(double(w.mantissas[k]), w.shifts[k] + w.exponent) == values[k]);
      CHECK(w.shifts[k] >= 0);
    }
  }
}

// Too large to enumerate: the packing, checked edge by edge, proves the weight. Deep nests of
// blossoms that enter trees, shrink and open again need graphs of this size.
TEST_CASE("larger cases prove themselves") {
  Rng rng(3);
  for (int i = 0; i < kCases / 100; ++i) {
    const auto below = [&](int64_t k) { return int64_t(rng() % uint64_t(k)); };
    Case c;
    if (i % 3 != 0) {
      c = grid(int32_t(10 + below(25)), int32_t(10 + below(25)));
      c.boundary = {c.n - 1};
    } else {
      c.n = int32_t(20 + below(100));
      for (int64_t k = c.n * (2 + below(4)); k > 0; --k) c.edges.push_back(int32_t(below(c.n)));
      c.edges.resize(c.edges.size() / 2 * 2);
      c.boundary = {int32_t(below(c.n))};
    }
    const int64_t most[] = {2, 4, 100, int64_t{1} << 40};
    const int64_t range = most[i % 4], share = 2 + below(3);
    for (size_t e = 0; e < c.edges.size() / 2; ++e) c.weights.push_back(below(range));
    for (int32_t v = 0; v < c.n; ++v) {
      if (below(share) == 0) c.odd.push_back(v);
    }
    TJoinSolution s = solve(c, {c.weights, {}, 0});
    if (s.infeasible >= 0) continue;
    check_solution(c, s, number(s.objective, 0, s.objective.size()));
    const TJoinSolution one = solve_split(c, 1, 20);
    check_solution(c, one, number(s.objective, 0, s.objective.size()));
    check_same(one, solve_split(c, 2, 20));
    check_same(one, solve_split(c, 3, 20));
    for (int step = 0; step < 2; ++step) {
      for (int k = 0; k < 5 && !c.weights.empty(); ++k) {
        c.weights[size_t(below(int64_t(c.weights.size())))] = below(range);
      }
      s = solve(c, {c.weights, {}, 0}, s.state.get());
      check_solution(c, s, number(s.objective, 0, s.objective.size()));
    }
  }
}

}  // namespace

TEST_CASE("rounded weights are as close as a machine word allows") {
  Rng rng(19);
  for (const double scale : {1.0, 1e-300, 1e-320, 1e300}) {
    std::vector<double> weights;
    for (int k = 0; k < 100; ++k) weights.push_back(scale * double(rng() % 1000) / 999.0);
    const TJoinWeights found = rounded_weights(weights);
    for (size_t e = 0; e < weights.size(); ++e) {
      const double back = std::ldexp(double(found.mantissas[e]), found.exponent);
      CHECK(std::fabs(back - weights[e]) <= 0x1p-40 * scale);
    }
  }
  CHECK(rounded_weights(std::vector<double>{0.0}).mantissas == UnwrittenVector<int64_t>{0});
  CHECK_THROWS_AS(rounded_weights(std::vector<double>{-1.0}), std::invalid_argument);
  CHECK_THROWS_AS(rounded_weights(std::vector<double>{NAN}), std::invalid_argument);
}

TEST_CASE("weights are the same integers for any number of threads") {
  std::vector<double> values(200'000);
  for (size_t e = 0; e < values.size(); ++e)
    values[e] = std::ldexp(double(e % 977), int(e % 90) - 60);
  const TJoinWeights one = dyadic_weights(values, 1), many = dyadic_weights(values, 3);
  CHECK(one.exponent == many.exponent);
  CHECK(one.mantissas == many.mantissas);
  CHECK(one.shifts == many.shifts);
  values[150'000] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(dyadic_weights(values, 3), std::invalid_argument);
}

TEST_CASE("an edge with a negative value changes the parity of both ends") {
  const std::vector<int32_t> edges{0, 1, 1, 2, 2, 2, 0, 3, 0, 3};
  CHECK(negative_parity(5, edges, std::vector<double>{-1.0, 2.0, -3.0, -0.0, -4.0}) ==
        std::vector<uint8_t>{0, 1, 0, 1, 0});
  CHECK_THROWS_AS(negative_parity(3, edges, std::vector<double>(5, 1.0)), std::invalid_argument);
  CHECK_THROWS_AS(negative_parity(5, edges, std::vector<double>(4, 1.0)), std::invalid_argument);
}

TEST_CASE("paths over edges that weigh nothing are looked for nearby") {
  Rng rng(23);
  for (const int64_t range : {int64_t{1}, int64_t{1} << 30}) {
    Case c = grid(150, 150);
    for (size_t e = 0; e < c.edges.size() / 2; ++e) {
      c.weights.push_back(rng() % 2 ? 0 : 1 + int64_t(rng() % uint64_t(range)));
    }
    for (int32_t v = 0; v + 1 < c.n; ++v) {
      if (rng() % 2) c.odd.push_back(v);
    }
    c.boundary = {c.n - 1};
    int looks = 0;  // after the search: one every 64 pairs, and one every 8192 vertices on the way
    const auto count = [&](double fraction) {
      looks += fraction == 1.0;
      return true;
    };
    Control control(count, 1e8, {1, 0.0});
    const TJoinWeights weights{c.weights, {}, 0};
    TJoinProblem problem{c.n, c.edges, &weights, c.odd, c.boundary, false};
    problem.give_up = true;
    const TJoinSolution found = minimum_tjoin(problem, nullptr, control);
    CHECK(found.exact);
    check_packing(c, found, number(found.objective, 0, found.objective.size()));
    CHECK(looks > 10);
    CHECK(looks < int(c.odd.size()) / 64 + 80);
  }
}
