#include "frontier/attractive_windows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>

#include "base/constants.hpp"
#include "base/team.hpp"
#include "frontier/frontier.hpp"

namespace planaris {
namespace {

constexpr double kBlurred = 1e-3;  // rounding errors above are not worth taking

struct Graph {
  std::vector<int64_t> offsets;
  std::vector<int32_t> neighbours, edges;

  explicit Graph(const AttractiveView& model) : offsets(model.num_spins() + 1, 0) {
    for (const int32_t v : model.edges) ++offsets[v + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    neighbours.resize(model.edges.size());
    edges.resize(model.edges.size());
    std::vector<int64_t> at(offsets.begin(), offsets.end() - 1);
    for (int32_t e = 0; e < model.num_edges(); ++e) {
      for (const int side : {0, 1}) {
        const int64_t k = at[model.edges[2 * e + side]]++;
        neighbours[k] = model.edges[2 * e + 1 - side];
        edges[k] = e;
      }
    }
  }
};

// Breadth-first search from spins already in the queue, through spins that `open` lets in.
template <class Open>
void search(const Graph& graph, std::vector<int32_t>& queue, std::vector<int32_t>& seen,
            int32_t stamp, size_t most, Open&& open) {
  for (size_t i = 0; i < queue.size() && queue.size() < most; ++i) {
    for (int64_t k = graph.offsets[queue[i]]; k < graph.offsets[queue[i] + 1]; ++k) {
      const int32_t u = graph.neighbours[k];
      if (seen[u] == stamp || !open(u)) continue;
      if (queue.size() == most) return;
      seen[u] = stamp;
      queue.push_back(u);
    }
  }
}

// The place of every spin in searches from two spins on the rim of its component: on a lattice
// diagonals, one after the other, and those across.
struct Ranks {
  std::vector<int32_t> first, second;
  std::vector<int32_t> level;  // distance from where the second search begins

  Ranks(const Graph& graph, int32_t n)
      : first(n, -1), second(n, -1), level(n, 0), seen_(n, -1) {
    int32_t next = 0;
    for (int32_t v = 0; v < n; ++v) {
      if (first[v] >= 0) continue;
      const auto whole = reach(graph, reach(graph, v, n).back(), n);  // from an end
      const int32_t size = static_cast<int32_t>(whole.size());
      for (int32_t k = 0; k < size; ++k) first[whole[k]] = next + k;
      // The one with the fewest neighbours among those in the middle.
      int32_t root = whole[size / 2];
      const auto degree = [&](int32_t u) { return graph.offsets[u + 1] - graph.offsets[u]; };
      const int32_t near = size / 2 - std::min(size / 2, breadth_), far = size / 2 + breadth_;
      for (int32_t k = near; k < std::min(size, far); ++k) {
        if (degree(whole[k]) < degree(root)) root = whole[k];
      }
      const auto across = reach(graph, root, n);
      for (int32_t k = 0; k < size; ++k) second[across[k]] = next + k;
      for (const int32_t u : across) {  // each is one further than the first that it was met from
        int32_t parent = u;
        for (int64_t i = graph.offsets[u]; i < graph.offsets[u + 1]; ++i) {
          const int32_t w = graph.neighbours[i];
          if (second[w] < second[parent]) parent = w;
        }
        level[u] = parent == u ? 0 : level[parent] + 1;
      }
      next += size;
    }
  }

 private:
  std::vector<int32_t> reach(const Graph& graph, int32_t root, int32_t n) {
    std::vector<int32_t> queue{root};
    seen_[root] = ++stamp_;
    search(graph, queue, seen_, stamp_, n, [](int32_t) { return true; });
    breadth_ = static_cast<int32_t>(std::sqrt(static_cast<double>(queue.size()))) + 1;
    return queue;
  }

  std::vector<int32_t> seen_;
  int32_t stamp_ = 0, breadth_ = 0;
};

struct Window {
  std::vector<int32_t> spins;  // the core first
  size_t core = 0;
  double width = 0;  // of the core's ends together
};

class Rounds {
 public:
  Rounds(const AttractiveView& model, const AttractiveEnds& ends, const WindowSizes& sizes)
      : model_(model), before_(ends), sizes_(sizes), graph_(model),
        ranks_(graph_, model.num_spins()) {}

  std::vector<Window> windows() const;
  // Adds what a window tells to the ends; false where it is too wide.
  bool narrow(const Window& window, AttractiveEnds& ends, std::mutex& mutex,
              Control& control) const;

 private:
  // Down (-1) or up (+1) but for a small probability, or 0.
  int wall(int32_t v) const {
    if (before_.nodes_upper[v] <= sizes_.wall) return -1;
    return before_.nodes_lower[v] >= 1 - sizes_.wall ? 1 : 0;
  }

  const AttractiveView& model_;
  const AttractiveEnds& before_;
  const WindowSizes& sizes_;
  Graph graph_;
  Ranks ranks_;
};

std::vector<Window> Rounds::windows() const {
  const int32_t n = model_.num_spins();
  std::vector<Window> found;
  std::vector<int32_t> seen(n, -1);
  std::vector<char> covered(n, 0);
  int32_t stamp = 0;
  for (int32_t v = 0; v < n; ++v) {
    if (covered[v] || before_.nodes_upper[v] - before_.nodes_lower[v] <= sizes_.goal) continue;
    Window window;
    window.spins.push_back(v);
    seen[v] = ++stamp;
    search(graph_, window.spins, seen, stamp, sizes_.core,
           [&](int32_t u) {
             return !covered[u] && wall(u) == 0 &&
                    ranks_.level[u] / sizes_.across == ranks_.level[v] / sizes_.across;
           });
    window.core = window.spins.size();
    for (const int32_t u : window.spins) {
      covered[u] = 1;
      window.width += before_.nodes_upper[u] - before_.nodes_lower[u];
    }
    ++stamp;
    for (const int32_t u : window.spins) seen[u] = stamp;
    search(graph_, window.spins, seen, stamp, std::max(sizes_.core, sizes_.spins),
           [&](int32_t u) { return wall(u) == 0; });
    found.push_back(std::move(window));
  }
  // Those that promise most first: time may not suffice for all.
  std::ranges::stable_sort(found, std::greater<>{}, &Window::width);
  return found;
}

// The model of a window, its spins numbered from zero in the order of `spins`.
struct Inside {
  std::vector<int32_t> edges, edge_names;  // names: edges of the whole model
  std::vector<double> pairs;               // logarithms
  std::vector<double> up, down;            // fields with the boundary up, and down
  double charge_up = 0, charge_down = 0;   // what walls may be wrong
  double slack = 0;                        // rounding of all fields together
  bool closed = true;                      // by walls on all sides

  PairwiseView view(const std::vector<double>& singles) const { return {edges, pairs, singles}; }
};

std::vector<double> singles_of(const std::vector<double>& fields) {
  std::vector<double> logs;
  logs.reserve(2 * fields.size());
  for (const double h : fields) logs.insert(logs.end(), {-h, h});
  return logs;
}

bool Rounds::narrow(const Window& window, AttractiveEnds& ends, std::mutex& mutex,
                    Control& control) const {
  std::vector<int32_t> spins = window.spins;
  Inside inside;
  std::vector<int32_t> layout;
  const auto build = [&] {
    std::vector<int32_t> sorted(spins);
    std::ranges::sort(sorted, {}, [&](int32_t v) { return ranks_.first[v]; });
    spins = sorted;  // numbered as they are laid out
    const auto local = [&](int32_t u) {
      const auto at = std::ranges::lower_bound(spins, ranks_.first[u], {},
                                               [&](int32_t v) { return ranks_.first[v]; });
      return at != spins.end() && *at == u ? static_cast<int32_t>(at - spins.begin()) : -1;
    };
    inside = Inside{};
    std::vector<int32_t> walls;
    for (int32_t i = 0; i < std::ssize(spins); ++i) {
      const int32_t v = spins[i];
      double up = model_.fields[v], down = up, size = std::abs(up);
      int64_t terms = 1;
      for (int64_t k = graph_.offsets[v]; k < graph_.offsets[v + 1]; ++k) {
        const int32_t u = graph_.neighbours[k], e = graph_.edges[k];
        const double j = model_.couplings[e];
        const int32_t other = local(u);
        if (other >= 0) {
          if (other < i) continue;
          inside.edges.insert(inside.edges.end(), {i, other});
          inside.edge_names.push_back(e);
          inside.pairs.insert(inside.pairs.end(), {j, -j, -j, j});
          continue;
        }
        const int kept = wall(u);
        up += kept < 0 ? -j : j;
        down += kept > 0 ? j : -j;
        size += j;
        ++terms;
        inside.closed &= kept != 0 || j == 0;
        if (kept != 0) walls.push_back(u);
      }
      inside.up.push_back(up);
      inside.down.push_back(down);
      inside.slack += kEps * static_cast<double>(terms) * size;
    }
    std::ranges::sort(walls);
    walls.erase(std::unique(walls.begin(), walls.end()), walls.end());
    for (const int32_t u : walls) {
      if (wall(u) < 0) inside.charge_up += before_.nodes_upper[u];
      if (wall(u) > 0) inside.charge_down += 1 - before_.nodes_lower[u];
    }
    layout.resize(spins.size());
    std::iota(layout.begin(), layout.end(), 0);
    const auto singles = singles_of(inside.up);
    const PairwiseView view = inside.view(singles);
    int32_t width = frontier_width(view, layout, sizes_.max_bits);
    const auto offer = [&](std::vector<int32_t> other) {
      const int32_t least = frontier_width(view, other, std::min(width, sizes_.max_bits));
      if (least >= width) return;
      width = least;
      layout = std::move(other);
    };
    auto across = layout;
    std::ranges::sort(across, {}, [&](int32_t i) { return ranks_.second[spins[i]]; });
    offer(std::move(across));
    if (width > sizes_.max_bits) offer(greedy_layout(view, control));
    return width <= sizes_.max_bits;
  };
  size_t count = spins.size();
  while (!build()) {
    count = count * 7 / 8;
    if (count <= window.core) return false;
    spins.assign(window.spins.begin(), window.spins.begin() + static_cast<ptrdiff_t>(count));
  }
  const auto solve = [&](const std::vector<double>& fields) {
    const auto singles = singles_of(fields);
    const PairwiseView view = inside.view(singles);
    const auto program = frontier_program(view, layout, sizes_.max_bits);
    return frontier_sum(view, program, true, Exponents::kAny, frontier_spare_tables(program), control);
  };
  const FrontierSum high = solve(inside.up);
  const FrontierSum low = inside.closed ? high : solve(inside.down);
  // Sums of nonnegative numbers, at most 2^20 of them: enlarged for their rounding. A field moves
  // a probability by at most half of what it moves itself.
  const auto rounding = [&](double error) {
    return (2 * error + inside.slack) * (1 + 0x1p-30) + 64 * kEps;
  };
  const auto enlarged = [](double charge) { return std::min(1.0, charge * (1 + 0x1p-30)); };
  const double off_up = rounding(high.error), off_down = rounding(low.error);
  const double wrong_up = enlarged(inside.charge_up), wrong_down = enlarged(inside.charge_down);
  if (!(high.error <= kBlurred && low.error <= kBlurred)) return true;
  // Walls are wrong with a probability of at most c. A function with values in [0, 1] and the mean
  // g where they are right has a mean between g (1 - c) and g (1 - c) + c.
  const auto at_most = [](double g, double c) { return g + (1 - std::min(g, 1.0)) * c; };
  const auto at_least = [](double g, double c) { return g - g * c; };
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < spins.size(); ++i) {
    double& lower = ends.nodes_lower[spins[i]];
    double& upper = ends.nodes_upper[spins[i]];
    lower = std::max(lower, at_least(low.singles[2 * i + 1], wrong_down) - off_down);
    upper = std::min(upper, at_most(high.singles[2 * i + 1], wrong_up) + off_up);
  }
  // P(++) rises and P(--) falls with the boundary.
  for (size_t k = 0; k < inside.edge_names.size(); ++k) {
    const double *top = &high.pairs[4 * k], *bottom = &low.pairs[4 * k];
    double& lower = ends.edges_lower[inside.edge_names[k]];
    double& upper = ends.edges_upper[inside.edge_names[k]];
    const double off = off_up + off_down;
    lower = std::max(lower, at_least(bottom[3], wrong_down) + at_least(top[0], wrong_up) - off);
    upper = std::min(upper, at_most(top[3], wrong_up) + at_most(bottom[0], wrong_down) + off);
  }
  ++ends.windows;
  return true;
}

}  // namespace

AttractiveEnds narrow_by_windows(const AttractiveView& model, AttractiveEnds ends,
                                 const WindowSizes& sizes, int threads, Control& control) {
  const AttractiveEnds before = ends;
  const Rounds round(model, before, sizes);
  const auto windows = round.windows();
  std::mutex mutex;
  Team team(threads, control);
  try {
    team.work(windows.size(), [&](int worker, int k) {
      Control own([&](double) {
        team.check(worker);
        return true;
      });
      team.check(worker);
      const bool fits = round.narrow(windows[k], ends, mutex, worker == 0 ? control : own);
      if (!fits) {
        const std::lock_guard lock(mutex);
        ++ends.too_wide;
      }
    });
  } catch (const DeadlinePassed&) {
    ends.in_time = false;
  }
  return ends;
}

}  // namespace planaris
