#include "polytope/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace planaris {

namespace {

struct Neighbour {
  int32_t to;
  double coupling;
};

struct Adjacency {
  Adjacency(int32_t n, std::span<const int32_t> edges, std::span<const double> couplings,
            Control& control)
      : offsets(n + 1, 0), list(edges.size()) {
    if (edges.size() != 2 * couplings.size()) throw std::invalid_argument("one value per edge");
    for (int32_t v : edges) {
      if (v < 0 || v >= n) throw std::invalid_argument("edge names no spin");
      ++offsets[v + 1];
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<int32_t> fill(offsets.begin(), offsets.end() - 1);
    for (size_t h = 0; h < edges.size(); ++h) {
      control.spend(8);
      list[fill[edges[h]]++] = {edges[h ^ 1], couplings[h / 2]};
    }
  }
  std::span<const Neighbour> of(int32_t v) const {
    return std::span(list).subspan(offsets[v], offsets[v + 1] - offsets[v]);
  }
  std::vector<int32_t> offsets;
  std::vector<Neighbour> list;
};

// gain[v]: by how much the energy falls when v flips, that is -2 s_v sum_w J_vw s_w.
class Flipper {
 public:
  Flipper(const Adjacency& graph, std::vector<int8_t>& spins, Control& control)
      : graph_(graph), spins_(spins) {
    gain.assign(spins.size(), 0);
    for (size_t v = 0; v < spins.size(); ++v) {
      control.spend(8);
      for (const Neighbour& w : graph.of(static_cast<int32_t>(v))) {
        gain[v] -= 2 * spins[v] * spins[w.to] * w.coupling;
      }
    }
  }
  void flip(int32_t v) {
    spins_[v] = static_cast<int8_t>(-spins_[v]);
    gain[v] = -gain[v];
    for (const Neighbour& w : graph_.of(v)) {
      gain[w.to] -= 4 * spins_[v] * spins_[w.to] * w.coupling;
    }
  }
  // Flips spins that gain until none does.
  void descend(Control& control) {
    std::vector<int32_t> queue(spins_.size());
    std::iota(queue.begin(), queue.end(), 0);
    // Gains are updated with rounding, so a flip must gain more than noise to end for sure.
    double scale = 0;
    for (double g : gain) scale = std::max(scale, std::abs(g));
    for (size_t k = 0; k < queue.size(); ++k) {
      control.poll();
      const int32_t v = queue[k];
      if (gain[v] <= 1e-12 * scale) continue;
      flip(v);
      for (const Neighbour& w : graph_.of(v)) {
        if (gain[w.to] > 1e-12 * scale) queue.push_back(w.to);
      }
      if (queue.size() > 64 * spins_.size() + 1024 && k > queue.size() / 2) {
        queue.erase(queue.begin(), queue.begin() + static_cast<ptrdiff_t>(k) + 1);
        k = static_cast<size_t>(-1);
      }
    }
  }
  std::vector<double> gain;

 private:
  const Adjacency& graph_;
  std::vector<int8_t>& spins_;
};

}  // namespace

std::vector<int8_t> round_disagreements(int32_t num_spins, std::span<const int32_t> edges,
                                        std::span<const double> x) {
  const auto m = static_cast<int32_t>(x.size());
  std::vector<int32_t> order(m);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&x](int32_t a, int32_t b) {
    return std::abs(x[a] - 0.5) > std::abs(x[b] - 0.5);
  });
  // Union-find that keeps each spin's sign relative to its root.
  std::vector<int32_t> parent(num_spins);
  std::iota(parent.begin(), parent.end(), 0);
  std::vector<int8_t> sign(num_spins, 1);
  const auto find = [&](int32_t v) {
    int32_t root = v;
    int8_t total = 1;
    while (parent[root] != root)
      total = static_cast<int8_t>(total * sign[root]), root = parent[root];
    while (parent[v] != v) {  // path compression, signs becoming relative to the root
      const int32_t up = parent[v];
      const int8_t own = sign[v];
      parent[v] = root;
      sign[v] = total;
      total = static_cast<int8_t>(total * own);
      v = up;
    }
    return root;
  };
  for (int32_t e : order) {
    const int32_t u = edges[2 * e], v = edges[2 * e + 1];
    const int32_t a = find(u), b = find(v);
    if (a == b) continue;
    const int8_t su = a == u ? 1 : sign[u], sv = b == v ? 1 : sign[v];
    parent[a] = b;
    sign[a] = static_cast<int8_t>(su * sv * (x[e] > 0.5 ? -1 : 1));
  }
  std::vector<int8_t> spins(num_spins, 1);
  for (int32_t v = 0; v < num_spins; ++v) {
    if (find(v) != v) spins[v] = sign[v];
  }
  return spins;
}

void improve_spins(int32_t num_spins, std::span<const int32_t> edges,
                   std::span<const double> couplings, std::vector<int8_t>& spins,
                   int64_t tabu_steps, uint64_t seed, Control& control) {
  if (static_cast<int32_t>(spins.size()) != num_spins) throw std::invalid_argument("spins");
  std::optional<Adjacency> graph;
  std::optional<Flipper> made;
  // Any state will do when the time is over: single flips only lower the energy.
  try {
    graph.emplace(num_spins, edges, couplings, control);
    made.emplace(*graph, spins, control);
    made->descend(control);
  } catch (const DeadlinePassed&) {
    return;
  }
  Flipper& flipper = *made;
  if (num_spins < 3) return;
  std::vector<int8_t> best = spins;
  const int32_t polls = num_spins / 4096;  // a step looks at every spin
  std::vector<int64_t> free_at(num_spins, 0);
  double fall = 0, best_fall = 0;
  uint64_t state = seed * 2 + 1;
  for (int64_t step = 1; step <= tabu_steps; ++step) {
    try {
      if (polls > 0) {
        control.poll_now();
      } else {
        control.poll();
      }
    } catch (const DeadlinePassed&) {
      break;
    }
    int32_t chosen = -1;
    double gain = -std::numeric_limits<double>::infinity();
    for (int32_t v = 0; v < num_spins; ++v) {
      const double g = flipper.gain[v];
      if (g > gain && (free_at[v] < step || fall + g > best_fall)) gain = g, chosen = v;
    }
    if (chosen < 0) break;
    fall += gain;
    flipper.flip(chosen);
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    free_at[chosen] = step + num_spins / 8 + 2 + static_cast<int64_t>((state >> 33) % 10);
    if (fall > best_fall * (1 + 1e-12) + 1e-300) {
      best_fall = fall;
      best = spins;
    }
  }
  spins = std::move(best);
}

}  // namespace planaris
