// Enclosures of moved vectors and the factors that sums over a state are off by: what they say
// holds for all configurations of a small chain, and does not without the terms `moved` and `cone`.
#include "tensor/cone.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tensor/enclosure.hpp"
#include "tensor/rounding.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris::tensor;

namespace {

constexpr int kSites = 6, kDim = 3;

// A chain of matrices near one that has a positive vector: all products have positive sums.
struct Chain {
  std::vector<Core> cores;
  std::vector<Letters> ahead, back;
  std::vector<Vector> moved_x, moved_y;  // per bond

  Chain(uint64_t seed, double size) : ahead(kSites), back(kSites) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> any(-1, 1);
    for (int i = 0; i < kSites; ++i) {
      Core core{i == 0 ? 1 : kDim, i + 1 == kSites ? 1 : kDim, {}};
      core.values.resize(static_cast<size_t>(core.left) * 2 * core.right);
      for (double& x : core.values) x = 0.15 * any(random);
      for (int s = 0; s < 2; ++s) core.at(0, s)[0] = 1 + 0.3 * any(random);
      Letters &to = ahead[i], &from = back[kSites - 1 - i];
      to.from = from.to = core.left;
      to.to = from.from = core.right;
      for (int s = 0; s < 2; ++s) {
        for (int a = 0; a < core.left; ++a) {
          to.m[s].insert(to.m[s].end(), core.at(a, s), core.at(a, s) + core.right);
        }
        for (int b = 0; b < core.right; ++b) {
          for (int a = 0; a < core.left; ++a) from.m[s].push_back(core.at(a, s)[b]);
        }
      }
      cores.push_back(std::move(core));
    }
    for (int i = 0; i <= kSites; ++i) {
      const int dim = i == 0 || i == kSites ? 1 : kDim;
      moved_x.push_back(Vector(dim, size));
      moved_y.push_back(Vector(dim, size));
    }
  }

  int dim(int bond) const { return static_cast<int>(moved_x[bond].size()); }
};

std::vector<Vector> duals_of(const std::vector<Letters>& steps) {
  std::vector<Vector> out{Vector{1.0}};
  for (const Letters& t : steps) {
    Vector one(t.to, 0.2);
    one[0] = 1;
    out.push_back(std::move(one));
  }
  return out;
}

// All vectors of a position: every word, moved at every bond to a random corner.
std::vector<Vector> vectors(const std::vector<Letters>& steps, const std::vector<Vector>& moved,
                            int position, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Vector> found{Vector{1.0}};
  for (int p = 0; p < position; ++p) {
    std::vector<Vector> next;
    for (const Vector& x : found) {
      for (int s = 0; s < 2; ++s) {
        Vector y(steps[p].to, 0.0);
        for (int a = 0; a < steps[p].from; ++a) {
          for (int b = 0; b < steps[p].to; ++b) {
            y[b] += x[a] * steps[p].m[s][static_cast<size_t>(a) * steps[p].to + b];
          }
        }
        const double first = y[0];
        for (size_t b = 0; b < y.size(); ++b)
          y[b] += (random() % 2 ? 1 : -1) * moved[p + 1][b] * first;
        const double scale = y[0];
        for (double& z : y) z /= scale;
        next.push_back(std::move(y));
      }
    }
    found = std::move(next);
  }
  return found;
}

bool holds(const Enclosure& e, const Vector& x) {
  for (int node = 0; node < e.size(); ++node) {
    if (e.nodes[node].count > 0) continue;
    bool inside = true;
    for (int k = 0; k < e.dim; ++k) inside &= std::abs(x[k] - e.c(node)[k]) <= e.r(node)[k] + 1e-13;
    if (inside) return true;
  }
  return false;
}

Encloser enclosed(const std::vector<Letters>& steps, const std::vector<Vector>& duals,
                  const std::vector<Vector>& moved, const Terms& terms) {
  const planaris::RoundUp up;
  Encloser out(steps, duals, {4, 14}, terms);
  for (int p = 1; p <= kSites; ++p) out.advance({}, moved[p]);
  return out;
}

// The same with errors that every step adds, relative to the first component before it.
Encloser enclosed_with_errors(const std::vector<Letters>& steps, const std::vector<Vector>& duals,
                              double size, const Terms& terms) {
  const planaris::RoundUp up;
  Encloser out(steps, duals, {4, 14}, terms);
  for (const Letters& t : steps) out.advance(Vector(static_cast<size_t>(2) * t.to, size));
  return out;
}

// How many vectors, moved by an error at every step, are in none of the boxes.
int outside_of_errors(double factor) {
  constexpr double kSize = 0.02;  // more than 0.01 of the first component after any step
  int count = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Chain chain(seed, 0.01);
    Terms terms;
    terms.added = factor;
    const std::vector<Vector> duals = duals_of(chain.ahead);
    const Encloser left = enclosed_with_errors(chain.ahead, duals, kSize, terms);
    for (int p = 1; p <= kSites; ++p) {
      for (const Vector& x : vectors(chain.ahead, chain.moved_x, p, seed))
        count += !holds(left.at(p), x);
    }
  }
  return count;
}

// How many moved vectors are in none of the boxes.
int outside(double factor) {
  int count = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Chain chain(seed, 0.01);
    Terms terms;
    terms.moved = factor;
    const std::vector<Vector> duals = duals_of(chain.ahead);
    const Encloser left = enclosed(chain.ahead, duals, chain.moved_x, terms);
    for (int p = 1; p <= kSites; ++p) {
      for (const Vector& x : vectors(chain.ahead, chain.moved_x, p, seed))
        count += !holds(left.at(p), x);
    }
  }
  return count;
}

// Largest Σ |x_a| |U_ab| |y_b| / x U y over all x and y, relative to what the factors say of it.
double most(double factor) {
  double worst = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Chain chain(seed, 1e-3);
    Terms terms;
    terms.cone = factor;
    const std::vector<Vector> ahead = duals_of(chain.ahead), back = duals_of(chain.back);
    const Encloser left = enclosed(chain.ahead, ahead, chain.moved_x, terms);
    const Encloser right = enclosed(chain.back, back, chain.moved_y, terms);
    ConeFactors found(kSites);
    {
      const planaris::RoundUp up;
      std::vector<BondSizes> sizes;
      for (int i = 0; i <= kSites; ++i) {
        sizes.push_back(bond_sizes(left.at(i), right.at(kSites - i)));
        REQUIRE(sizes[i].failed_x.empty());
        found.over_x[i] = sizes[i].over_x;
        found.over_y[i] = sizes[i].over_y;
        found.to_x[i] = Vector(chain.dim(i), 1e3);
      }
      for (int i = 0; i < kSites; ++i) {
        cone_factors(chain.cores[i], left.at(i), right.at(kSites - 1 - i), sizes[i], sizes[i + 1],
                     Vector(chain.dim(i), 1e3), i, terms, found);
      }
    }
    for (int i = 0; i < kSites; ++i) {
      const Core& core = chain.cores[i];
      const auto xs = vectors(chain.ahead, chain.moved_x, i, seed);
      const auto ys = vectors(chain.back, chain.moved_y, kSites - 1 - i, seed);
      for (const Vector& x : xs) {
        for (const Vector& y : ys) {
          for (int s = 0; s < 2; ++s) {
            double value = 0, size = 0;
            for (int a = 0; a < core.left; ++a) {
              for (int b = 0; b < core.right; ++b) {
                value += x[a] * core.at(a, s)[b] * y[b];
                size += std::abs(x[a] * core.at(a, s)[b] * y[b]);
              }
            }
            worst = std::max({worst, size / value / found.right[i], size / value / found.left[i]});
          }
        }
      }
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("vectors that are moved at every bond are enclosed") {
  CHECK(outside(1.0) == 0);
  CHECK(outside(0.5) > 0);
  CHECK(outside(0.0) > 0);
}

TEST_CASE("vectors with errors of every step are enclosed") {
  CHECK(outside_of_errors(1.0) == 0);
  CHECK(outside_of_errors(0.1) > 0);
}

TEST_CASE("factors of rounding hold for all configurations") {
  CHECK(most(1.0) <= 1.0);
  CHECK(most(0.5) > 1.0);
}
