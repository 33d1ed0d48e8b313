#include "polytope/clique_separation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace planaris {

namespace {

constexpr int32_t kMaxSize = 7;

struct Clique {
  std::array<int32_t, kMaxSize> spins{};
  std::array<int8_t, kMaxSize> signs{};
  double left = 0.0;  // Σ b_i b_j x_ij

  bool same_row(const Clique& other) const { return spins == other.spins && signs == other.signs; }
};

// Sorts the spins and makes the first sign +1.
void normalise(Clique& clique, int32_t size) {
  std::array<int32_t, kMaxSize> order{};
  std::iota(order.begin(), order.begin() + size, 0);
  for (int32_t k = 1; k < size; ++k) {  // by insertion: there are few
    for (int32_t i = k; i > 0 && clique.spins[order[i]] < clique.spins[order[i - 1]]; --i) {
      std::swap(order[i], order[i - 1]);
    }
  }
  const Clique old = clique;
  const int8_t turn = old.signs[order[0]];
  for (int32_t k = 0; k < size; ++k) {
    clique.spins[k] = old.spins[order[k]];
    clique.signs[k] = static_cast<int8_t>(turn * old.signs[order[k]]);
  }
}

CliqueCuts best_of(std::vector<Clique>& found, int32_t size, int32_t max_cuts) {
  const auto lower = [](const Clique& a, const Clique& b) {
    if (a.left != b.left) return a.left < b.left;
    if (a.spins != b.spins) return a.spins < b.spins;
    return a.signs < b.signs;
  };
  // Equal rows may differ in the last bits of their left sides: compare the rows themselves.
  std::sort(found.begin(), found.end(), [](const Clique& a, const Clique& b) {
    return a.spins != b.spins ? a.spins < b.spins : a.signs < b.signs;
  });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const Clique& a, const Clique& b) { return a.same_row(b); }),
              found.end());
  if (found.size() > static_cast<size_t>(max_cuts)) {
    std::nth_element(found.begin(), found.begin() + max_cuts, found.end(), lower);
    found.resize(max_cuts);
  }
  std::sort(found.begin(), found.end(), lower);
  CliqueCuts cuts;
  cuts.size = size;
  for (const Clique& clique : found) {
    cuts.spins.insert(cuts.spins.end(), clique.spins.begin(), clique.spins.begin() + size);
    cuts.signs.insert(cuts.signs.end(), clique.signs.begin(), clique.signs.begin() + size);
    cuts.violation.push_back(-0.5 * (size - 1) - clique.left);
  }
  return cuts;
}

// Adds the pair of spins that lowers the left side most; `pull` is Σ b_i x_i over the clique.
void add_best_pair(int32_t n, const double* x, Clique& clique, int32_t size,
                   std::span<double> pull) {
  double best = std::numeric_limits<double>::infinity();
  int32_t at_l = -1, at_m = -1;
  const auto members = std::span(clique.spins).first(size);
  const auto inside = [&](int32_t v) {
    return std::find(members.begin(), members.end(), v) != members.end();
  };
  for (int32_t l = 1; l < n; ++l) {
    if (inside(l)) continue;
    const double* row = x + static_cast<size_t>(l) * n;
    const double p = pull[l];
    double low = std::numeric_limits<double>::infinity();
    for (int32_t m = 0; m < l; ++m) {
      const double equal = row[m] - std::fabs(p + pull[m]);
      const double apart = -row[m] - std::fabs(p - pull[m]);
      low = std::min(low, std::min(equal, apart));
    }
    if (low >= best) continue;
    for (int32_t m = 0; m < l; ++m) {
      const double value =
          std::min(row[m] - std::fabs(p + pull[m]), -row[m] - std::fabs(p - pull[m]));
      if (value < best && !inside(m)) best = value, at_l = l, at_m = m;
    }
  }
  const double join = x[static_cast<size_t>(at_l) * n + at_m];
  const double equal = join - std::fabs(pull[at_l] + pull[at_m]);
  const double apart = -join - std::fabs(pull[at_l] - pull[at_m]);
  const bool same = equal <= apart;
  const double lead = same ? pull[at_l] + pull[at_m] : pull[at_l] - pull[at_m];
  const int8_t sign = lead > 0 ? -1 : 1;
  clique.spins[size] = at_l;
  clique.signs[size] = sign;
  clique.spins[size + 1] = at_m;
  clique.signs[size + 1] = static_cast<int8_t>(same ? sign : -sign);
  clique.left += best;
}

void add_row(int32_t n, const double* x, int32_t spin, double sign, std::span<double> pull) {
  const double* row = x + static_cast<size_t>(spin) * n;
  for (int32_t v = 0; v < n; ++v) pull[v] += sign * row[v];
}

// Exchanges single spins while the left side falls.
void exchange(int32_t n, const double* x, Clique& clique, int32_t size, std::span<double> pull) {
  for (int32_t idle = 0, k = 0; idle < size; k = (k + 1) % size) {
    const int32_t out = clique.spins[k];
    const int8_t sign = clique.signs[k];
    add_row(n, x, out, -sign, pull);
    int32_t best = out;
    double strongest = std::fabs(pull[out]) + 1e-9;
    for (int32_t v = 0; v < n; ++v) {
      if (std::fabs(pull[v]) <= strongest) continue;
      if (std::find(clique.spins.begin(), clique.spins.begin() + size, v) !=
          clique.spins.begin() + size) {
        continue;
      }
      best = v, strongest = std::fabs(pull[v]);
    }
    const int8_t turned = pull[best] > 0 ? -1 : 1;
    const double change = turned * pull[best] - sign * pull[out];
    if (change < -1e-9) {
      clique.spins[k] = best;
      clique.signs[k] = turned;
      clique.left += change;
      idle = 0;
    } else {
      ++idle;
    }
    add_row(n, x, clique.spins[k], clique.signs[k], pull);
  }
}

}  // namespace

CliqueCuts separate_triangles(int32_t n, std::span<const double> x, double min_violation,
                              int32_t max_cuts, Control& control) {
  std::vector<Clique> found;
  double limit = -1.0 - min_violation;
  const size_t room = 4 * static_cast<size_t>(std::max(max_cuts, 1)) + 1024;
  const auto by_left = [](const Clique& a, const Clique& b) { return a.left < b.left; };
  for (int32_t i = 0; i + 2 < n; ++i) {
    control.spend(static_cast<int64_t>(n - i) * (n - i) / 2);
    const double* from_i = x.data() + static_cast<size_t>(i) * n;
    for (int32_t j = i + 1; j + 1 < n; ++j) {
      const double* from_j = x.data() + static_cast<size_t>(j) * n;
      const double a = from_i[j];
      double low = 0.0;
      for (int32_t k = j + 1; k < n; ++k) {
        const double b = from_i[k], c = from_j[k];
        low = std::min(low, std::min(a - std::fabs(b + c), -a - std::fabs(b - c)));
      }
      if (low >= limit) continue;
      for (int32_t k = j + 1; k < n; ++k) {
        const double b = from_i[k], c = from_j[k];
        // Signs of (j, k) beside + for i: the product of pairs is b_j, b_k, b_j b_k.
        for (int32_t kind = 0; kind < 4; ++kind) {
          const int8_t sj = kind & 1 ? -1 : 1, sk = kind & 2 ? -1 : 1;
          const double left = sj * a + sk * b + sj * sk * c;
          if (left >= limit) continue;
          Clique clique;
          clique.spins = {i, j, k};
          clique.signs = {1, sj, sk};
          clique.left = left;
          found.push_back(clique);
        }
      }
      if (found.size() > room) {  // only the worst can be among those returned
        std::nth_element(found.begin(), found.begin() + max_cuts, found.end(), by_left);
        found.resize(max_cuts);
        limit = std::max_element(found.begin(), found.end(), by_left)->left;
      }
    }
  }
  return best_of(found, 3, max_cuts);
}

CliqueCuts extend_cliques(int32_t n, std::span<const double> x, int32_t size,
                          std::span<const int32_t> spins, std::span<const int8_t> signs,
                          double min_violation, int32_t max_cuts, Control& control) {
  std::vector<Clique> found;
  std::vector<double> pull(n);
  const double limit = -0.5 * (size + 1) - min_violation;
  const size_t count = spins.size() / size;
  if (size + 2 <= kMaxSize && size + 2 <= n) {
    for (size_t row = 0; row < count; ++row) {
      control.spend(static_cast<int64_t>(n) * (n + 8));  // pairs that extend it, and rows added
      Clique clique;
      std::copy_n(spins.begin() + row * size, size, clique.spins.begin());
      std::copy_n(signs.begin() + row * size, size, clique.signs.begin());
      std::fill(pull.begin(), pull.end(), 0.0);
      for (int32_t k = 0; k < size; ++k) {
        clique.left += clique.signs[k] * pull[clique.spins[k]];
        add_row(n, x.data(), clique.spins[k], clique.signs[k], pull);
      }
      add_best_pair(n, x.data(), clique, size, pull);
      for (int32_t k = size; k < size + 2; ++k) {
        add_row(n, x.data(), clique.spins[k], clique.signs[k], pull);
      }
      exchange(n, x.data(), clique, size + 2, pull);
      if (clique.left >= limit) continue;
      normalise(clique, size + 2);
      found.push_back(clique);
    }
  }
  return best_of(found, size + 2, max_cuts);
}

}  // namespace planaris
