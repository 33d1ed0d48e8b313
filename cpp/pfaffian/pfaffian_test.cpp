#include "pfaffian/pfaffian.hpp"

#include <cmath>
#include <random>

#include "fronts/front_elimination.hpp"
#include "moats/moat_clusters.hpp"
#include "moats/moat_order.hpp"
#include "pfaffian/leg_scaling.hpp"
#include "pfaffian/sweep.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

// Textbook: Parlett & Reid with partial pivoting, no shared code.
static double pfaffian(std::vector<std::vector<double>> a) {
  double value = 1.0;
  const int n = static_cast<int>(a.size());
  for (int k = 0; k + 1 < n; k += 2) {
    int p = k + 1;
    for (int i = k + 1; i < n; ++i) {
      if (std::fabs(a[k][i]) > std::fabs(a[k][p])) p = i;
    }
    if (p != k + 1) {
      std::swap(a[p], a[k + 1]);
      for (auto& row : a) std::swap(row[p], row[k + 1]);
      value = -value;
    }
    value *= a[k][k + 1];
    if (value == 0.0) return 0.0;
    for (int i = k + 2; i < n; ++i) {
      for (int j = k + 2; j < n; ++j) {
        a[i][j] += (a[k][j] * a[k + 1][i] - a[k][i] * a[k + 1][j]) / a[k][k + 1];
      }
    }
  }
  return value;
}

template <class T>
static void check_front(int rows, int candidates, double zeros, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::vector<double>> dense(rows, std::vector<double>(rows, 0.0));
  std::vector<T> a(size_t(rows) * rows, T(0.0));
  for (int j = 0; j < rows; ++j) {
    for (int i = j + 1; i < rows; ++i) {
      const double x = std::fabs(uniform(random)) < zeros ? 0.0 : uniform(random);
      dense[i][j] = x;
      dense[j][i] = -x;
      a[size_t(j) * rows + i] = T(x);
    }
  }
  const double expected = pfaffian(dense);
  std::vector<int32_t> perm(rows);
  for (int k = 0; k < rows; ++k) perm[k] = k;
  Packing packing;
  std::vector<T> pivot_rows;
  const ParallelFor alone;
  FrontElimination<T> front(a.data(), rows, candidates, perm.data(), packing, pivot_rows, alone);
  const int done = front.run(0.1, candidates == rows);
  // What is left is the Schur complement: its Pfaffian times the pivots is the whole one.
  std::vector<std::vector<double>> rest(rows - done, std::vector<double>(rows - done, 0.0));
  for (int j = done; j < rows; ++j) {
    for (int i = j + 1; i < rows; ++i) {
      const double x = to_double(a[size_t(j) * rows + i]);
      rest[i - done][j - done] = x;
      rest[j - done][i - done] = -x;
    }
  }
  double value = pfaffian(rest) * (front.swaps() % 2 ? -1.0 : 1.0);
  for (int k = 0; k < done; k += 2) value *= to_double(a[size_t(k) * rows + k + 1]);
  CHECK(std::fabs(value - expected) <= 1e-9 * std::fabs(expected) + 1e-12);
}

TEST_CASE("fronts keep the pfaffian") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int rows = 2 * static_cast<int>(1 + random() % 40);
    const int candidates = static_cast<int>(random() % (rows + 1));
    const double zeros = round % 3 == 0 ? 0.7 : 0.0;
    check_front<double>(rows, round % 2 ? rows : candidates, zeros, random);
    check_front<DoubleDouble>(rows, round % 2 ? rows : candidates, zeros, random);
  }
  check_front<double>(200, 200, 0.0, random);
  check_front<double>(230, 150, 0.0, random);
}

TEST_CASE("wide numbers hold small and large ones") {
  const DoubleDouble tiny = DoubleDouble::exp(-5000.0), large = DoubleDouble::exp(5000.0);
  CHECK(std::fabs(log_magnitude(tiny) + 5000.0) < 1e-11);
  CHECK(std::fabs(to_double(tiny * large) - 1.0) < 1e-12);
  const DoubleDouble third = DoubleDouble(1.0) / DoubleDouble(3.0);
  const DoubleDouble rest = third + third + third - DoubleDouble(1.0);
  CHECK(std::fabs(to_double(rest)) < 1e-30);
  const DoubleDouble sum = (DoubleDouble(1.0) + DoubleDouble(1e-25)) - DoubleDouble(1.0);
  CHECK(std::fabs(to_double(sum) - 1e-25) < 1e-32);
  CHECK(is_zero(DoubleDouble(1.0) - DoubleDouble(1.0)));
  CHECK(binary_exponent(power_of_two<DoubleDouble>(-3001)) == -3001);
  // e and e^-20 to thirty digits, as two doubles.
  const DoubleDouble e = DoubleDouble::exp(1.0), small = DoubleDouble::exp(-20.0);
  CHECK(e.high == 0x1.5bf0a8b145769p+1);
  CHECK(std::fabs(e.low - 0x1.4d57ee2b1013ap-53) < 1e-31);
  CHECK(small.high == 0x1.1b48655f37267p-29);
  for (const double x : {1e-300, 1e-20, 0.3, 7.25, 88.0, 400.0, 3000.0}) {
    const DoubleDouble one = DoubleDouble::exp(x) * DoubleDouble::exp(-x) - DoubleDouble(1.0);
    CHECK(std::fabs(to_double(one)) < 1e-29 * (1.0 + x));
    const DoubleDouble root = DoubleDouble::exp(x);
    const DoubleDouble twice = DoubleDouble::exp(2 * x) / (root * root) - DoubleDouble(1.0);
    CHECK(std::fabs(to_double(twice)) < 1e-29 * (1.0 + x));
  }
  CHECK(to_double(DoubleDouble::exp(0.0)) == 1.0);
}

// Two triangles that share an edge: vertices 0 1 2 and 1 2 3.
static Faces two_triangles(std::vector<int32_t>& edges) {
  edges = {0, 1, 1, 2, 2, 0, 1, 3, 3, 2};
  const std::vector<int32_t> rotation{0, 5, 6, 2, 1, 4, 3, 9, 8, 7}, offsets{0, 2, 5, 8, 10};
  return trace_faces({edges, rotation, offsets});
}

TEST_CASE("scaled entries are at most one") {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<int32_t> edges;
  const Faces faces = two_triangles(edges);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> g(5);
    for (double& x : g) x = normal(random);
    Control control;
    const std::vector<double> y = leg_scaling(faces, g, control);
    for (int i = 0; i < 10; ++i) {
      double largest = y[i] + y[i ^ 1];
      for (int j = 0; j < 10; ++j) {
        if (j == i || faces.face_of[i] != faces.face_of[j]) continue;
        largest = std::max(largest, y[i] + y[j] - g[i >> 1] - g[j >> 1]);
      }
      CHECK(std::fabs(largest) < 1e-12);
    }
  }
}

TEST_CASE("leaves and threads change nothing") {
  std::vector<int32_t> edges;
  const Faces faces = two_triangles(edges);
  const std::vector<int32_t> rotation{0, 5, 6, 2, 1, 4, 3, 9, 8, 7}, offsets{0, 2, 5, 8, 10};
  const std::vector<int8_t> signs = kasteleyn_signs({edges, rotation, offsets}, faces);
  const std::vector<double> g{0.5, -1.0, 0.25, 2.0, 0.75}, join(10, 0.0);
  std::vector<double> face(10), centres{0, 0, 1, 0, 0.5, 3};
  for (int i = 0; i < 10; ++i) face[i] = -g[i >> 1];
  double total = 0.0, sum = 0.0;
  for (const double x : g) sum += x;
  for (int state = 0; state < 16; ++state) {
    double weight = 0.0;
    for (int e = 0; e < 5; ++e) {
      weight += ((state >> edges[2 * e]) ^ (state >> edges[2 * e + 1])) & 1 ? -g[e] : g[e];
    }
    total += std::exp(weight);
  }
  for (int leaf = 1; leaf <= 3; ++leaf) {
    for (int threads = 1; threads <= 3; ++threads) {
      Control control;
      Factors<double> factors;
      const LogPfaffian found =
          eliminate<double>(dissect_faces(faces, centres, leaf, control), {face, join, signs},
                            {0.1, threads}, control, &factors);
      CHECK(std::fabs(found.log_magnitude + sum + std::log(2.0) - std::log(total)) < 1e-13);
      CHECK(found.stats.left_over == 0);
      CHECK(found.stats.pivots == 5);
      const FrontTree tree = dissect_faces(faces, centres, leaf, control);
      const KasteleynEntries entries{face, join, signs};
      Fronts<double> fronts;
      eliminate<double>(tree, entries, {0.1, threads}, control, &factors, &fronts);
      const UncutProbabilities p = uncut_probabilities(tree, entries, factors, threads, control);
      CHECK(p.residual < 1e-13);
      // The middle of its interval: an edge is cut where that is likelier, given those before.
      const std::vector<double> half(5, 0.5);
      std::vector<uint8_t> cut(5);
      std::vector<CutRow> rows{{cut}};
      sample_cuts(tree, entries, fronts, half, threads, control, rows);
      CHECK(rows[0].undecided == 0);
      CHECK((cut[0] ^ cut[1] ^ cut[2]) == 0);
      CHECK((cut[1] ^ cut[3] ^ cut[4]) == 0);
      // Many rows, one thread each, are drawn as one by all threads.
      std::vector<double> numbers(20, 0.5);
      std::vector<uint8_t> cuts(20);
      std::vector<CutRow> many;
      for (int r = 0; r < 4; ++r) many.push_back({std::span(cuts).subspan(5 * r, 5)});
      sample_cuts(tree, entries, fronts, numbers, threads, control, many);
      for (const CutRow& row : many) {
        CHECK(std::equal(row.cut.begin(), row.cut.end(), cut.begin()));
        CHECK(row.log_probability == rows[0].log_probability);
      }
    }
  }
}

// The same Pfaffian and marginals with exponents. One of the moats lies in a cluster of its own
// from β = 240 on.
static void check_clusters(const FrontTree& tree, const Faces& faces, const Moats& moats,
                           const std::vector<double>& g, const std::vector<int32_t>& unsatisfied,
                           const std::vector<int8_t>& signs, double expected,
                           const std::vector<double>& uncut, double beta) {
  const ClusteredOrder found = clustered_moat_order({tree, faces}, moats, g, unsatisfied, 0.0);
  const MoatClusters& clusters = found.clusters;
  CHECK(clusters.fit(tree, 2 * g.size()));
  CHECK(clusters.distance(clusters.cluster(0), clusters.cluster(0)) == 0);
  CHECK(clusters.around(0, 1) == -1);
  const int levels = clusters.level(clusters.cluster(0)) + clusters.level(clusters.cluster(1));
  CHECK(clusters.distance(clusters.cluster(0), clusters.cluster(1)) == levels);
  CHECK((levels > 0) == (beta >= 300.0));
  std::vector<double> face(found.order.scale);
  for (size_t i = 0; i < face.size(); ++i) face[i] -= g[i >> 1];
  const KasteleynEntries entries{
      face, found.order.scale, signs, found.order.earliest, found.order.rank, &clusters};
  Control control;
  const LogPfaffian r = eliminate<double>(tree, entries, {0.1, 1}, control);
  CHECK(r.stats.left_over == 0);
  CHECK(r.stats.worst_ratio > 1.0 - 1e-12);
  CHECK(std::fabs(r.log_magnitude - expected) <= 1e-14 * beta);
  std::vector<double> other_face(face), other_join(found.order.scale);
  for (size_t i = 0; i < face.size(); ++i) {
    const double shift = 0.1 * static_cast<double>(i) - 0.3;
    other_face[i] += shift;
    other_join[i] += shift;
  }
  KasteleynEntries other = entries;
  other.face = other_face;
  other.join = other_join;
  const auto [first, second] = eliminate_at_once(tree, entries, other, control);
  CHECK(first.log_magnitude == r.log_magnitude);
  CHECK(second.log_magnitude == eliminate<double>(tree, other, {0.1, 1}, control).log_magnitude);
  CHECK(first.sign == r.sign);
  CHECK(second.sign == r.sign);
  for (int threads = 1; threads <= 2; ++threads) {
    Factors<double> factors;
    const LogPfaffian kept = eliminate<double>(tree, entries, {0.1, threads}, control, &factors);
    CHECK(kept.log_magnitude == r.log_magnitude);
    const UncutProbabilities p = uncut_probabilities(tree, entries, factors, threads, control);
    CHECK(p.residual <= 1e-14);
    for (size_t e = 0; e < uncut.size(); ++e)
      CHECK(std::fabs(p.uncut[e] - uncut[e]) <= 1e-14 * beta);
  }
}

// Two triangles of which both are frustrated: the shared edge (-1) is the lightest to leave
// unsatisfied, and moats of 0.4 and 0.6 around them prove it.
TEST_CASE("moats give an order") {
  std::vector<int32_t> edges;
  const Faces faces = two_triangles(edges);
  const std::vector<int32_t> rotation{0, 5, 6, 2, 1, 4, 3, 9, 8, 7}, offsets{0, 2, 5, 8, 10};
  const std::vector<int8_t> signs = kasteleyn_signs({edges, rotation, offsets}, faces);
  const int32_t left = faces.face_of[2], right = faces.face_of[3];
  for (const double beta : {1.0, 30.0, 300.0, 3000.0}) {
    std::vector<double> g{1.5, -1.0, 2.0, 1.25, 3.0}, value{0.4, 0.6};
    for (double& x : g) x *= beta;
    for (double& x : value) x *= beta;
    const std::vector<int32_t> order{left, right}, start{0, 1}, stop{1, 2}, parent{-1, -1};
    const std::vector<int32_t> unsatisfied{1};
    Control dissecting;
    const FrontTree tree = dissect_faces(faces, {}, 1, dissecting);
    const Moats moats{order, start, stop, parent, value};
    const MoatOrder found = moat_order({tree, faces}, moats, g, unsatisfied, 0.0);
    CHECK(found.deepest == value[1]);
    for (int i = 0; i < 10; ++i) {  // no face entry exceeds what the two depths allow
      const double depth = faces.face_of[i] == left    ? value[0]
                           : faces.face_of[i] == right ? value[1]
                                                       : 0;
      CHECK(found.scale[i] - g[i >> 1] <= depth + 1e-12 * beta);
    }
    std::vector<double> face(10);
    for (int i = 0; i < 10; ++i) face[i] = found.scale[i] - g[i >> 1];
    double excess = 0.0;
    std::vector<double> uncut(5, 1.0);
    for (int state = 1; state < 8; ++state) {
      double weight = 0.0;
      for (int e = 0; e < 5; ++e) {
        weight -= ((state >> edges[2 * e]) ^ (state >> edges[2 * e + 1])) & 1 ? 2 * g[e] : 0.0;
      }
      CHECK(weight <= 0.0);
      excess += std::exp(weight);
      for (int e = 0; e < 5; ++e) {
        if (!(((state >> edges[2 * e]) ^ (state >> edges[2 * e + 1])) & 1))
          uncut[e] += std::exp(weight);
      }
    }
    for (double& p : uncut) p /= 1.0 + excess;
    Control control;
    const KasteleynEntries entries{face, found.scale, signs, found.earliest, found.rank};
    if (beta <= 300.0) {  // doubles have the range
      const LogPfaffian r = eliminate<double>(tree, entries, {0.1, 1}, control);
      CHECK(r.stats.left_over == 0);
      CHECK(r.stats.worst_ratio > 1.0 - 1e-12);
      CHECK(std::fabs(r.log_magnitude - std::log1p(excess)) <= 1e-14 * beta);
    }
    const LogPfaffian wide = eliminate<DoubleDouble>(tree, entries, {0.1, 1}, control);
    CHECK(std::fabs(wide.log_magnitude - std::log1p(excess)) <= 1e-14 * beta);
    check_clusters(tree, faces, moats, g, unsatisfied, signs, std::log1p(excess), uncut, beta);
  }
  const std::vector<int32_t> none, wrong{7}, zero{0}, one{1}, top{-1};
  const std::vector<double> g(5, 0.0), value{1.0};
  Control dissecting;
  const FrontTree tree = dissect_faces(faces, {}, 1, dissecting);
  CHECK_THROWS_AS(moat_order({tree, faces}, {wrong, zero, one, top, value}, g, none, 0.0),
                  std::invalid_argument);
}
