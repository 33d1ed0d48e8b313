#include "frontier/attractive_windows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "base/constants.hpp"
#include "base/grouping.hpp"
#include "base/team.hpp"
#include "frontier/frontier.hpp"

namespace planaris {
namespace {

constexpr double kBlurred = 1e-3;  // rounding errors above are not worth taking

struct Graph {
  std::vector<int64_t> offsets;
  std::vector<int32_t> neighbours, edges;

  explicit Graph(const AttractiveView& model) {
    auto [begins, leaving] = group_by_key<int64_t>(model.num_spins(), model.edges);
    offsets = std::move(begins);
    for (const int32_t h : leaving) {
      neighbours.push_back(model.edges[h ^ 1]);
      edges.push_back(h / 2);
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

  Ranks(const Graph& graph, int32_t n) : first(n, -1), second(n, -1), level(n, 0), seen_(n, -1) {
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

// Which ends a window is for, and where spins around it are held.
enum class Side : int8_t { kLower = -1, kUpper = 1 };

struct Window {
  Side side = Side::kUpper;
  std::vector<int32_t> spins;  // the core first
  size_t core = 0;
  double width = 0;  // of the core's ends together
};

// The model of a window, its spins numbered from zero in the order of their layout.
struct Inside {
  std::vector<int32_t> spins, layout;
  std::vector<int32_t> edges, edge_names;  // names: edges of the whole model
  std::vector<double> pairs, singles;      // logarithms
  std::vector<int32_t> walls;              // around it
  double charge = 0;                       // what walls may be wrong
  double slack = 0;                        // rounding of all fields together

  PairwiseView view() const { return {edges, pairs, singles}; }
};

// The spins of a window in the order in which they leave its table.
std::vector<int32_t> leaving_order(const Inside& inside) {
  const size_t n = inside.spins.size();
  std::vector<int32_t> place(n), last(n), order(n);
  for (int32_t k = 0; k < std::ssize(inside.layout); ++k) {
    place[inside.layout[k]] = last[inside.layout[k]] = k;
  }
  for (size_t k = 0; k < inside.edges.size(); k += 2) {
    const int32_t u = inside.edges[k], v = inside.edges[k + 1];
    last[u] = std::max(last[u], place[v]);
    last[v] = std::max(last[v], place[u]);
  }
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int32_t i) { return std::pair(last[i], place[i]); });
  for (int32_t& i : order) i = inside.spins[i];
  return order;
}

class Rounds {
 public:
  Rounds(const AttractiveView& model, const AttractiveEnds& ends, std::span<const double> guess,
         const WindowSizes& sizes)
      : model_(model), before_(ends), guess_(guess), sizes_(sizes), graph_(model),
        ranks_(graph_, model.num_spins()) {}

  std::vector<Window> windows(Control& control) const;
  // Adds what window k tells to the ends, and to the trace; false where it is too wide.
  bool narrow(const Window& window, int32_t k, AttractiveEnds& ends, WindowTracing* tracing,
              std::mutex& mutex, Control& control) const;

 private:
  // How a spin is held around windows of a side: +1 up, -1 down, 0 if it may be inside.
  int held(int32_t v, Side side) const {
    const double low = before_.nodes_lower[v], high = before_.nodes_upper[v];
    if (high <= sizes_.wall) return -1;
    if (low >= 1 - sizes_.wall) return 1;
    if (side == Side::kUpper) return guess_[v] > 1 - sizes_.held ? 1 : 0;
    return guess_[v] < sizes_.held ? -1 : 0;
  }
  void cover(Side side, std::vector<Window>& found, Control& control) const;
  Inside inside(std::vector<int32_t> spins, Side side) const;
  bool lay_out(Inside& inside, Control& control) const;

  const AttractiveView& model_;
  const AttractiveEnds& before_;
  const std::span<const double> guess_;
  const WindowSizes& sizes_;
  Graph graph_;
  Ranks ranks_;
};

void Rounds::cover(Side side, std::vector<Window>& found, Control& control) const {
  const int32_t n = model_.num_spins();
  std::vector<int32_t> seen(n, -1);
  std::vector<char> open(n), covered(n, 0);
  for (int32_t v = 0; v < n; ++v) open[v] = held(v, side) == 0;
  const auto width = [&](int32_t v) { return before_.nodes_upper[v] - before_.nodes_lower[v]; };
  int32_t stamp = 0;
  for (int32_t v = 0; v < n; ++v) {
    if (covered[v] || !open[v] || width(v) <= sizes_.goal) continue;
    Window window;
    window.side = side;
    window.spins.push_back(v);
    seen[v] = ++stamp;
    search(graph_, window.spins, seen, stamp, sizes_.core, [&](int32_t u) {
      return !covered[u] && open[u] &&
             ranks_.level[u] / sizes_.across == ranks_.level[v] / sizes_.across;
    });
    window.core = window.spins.size();
    for (const int32_t u : window.spins) {
      covered[u] = 1;
      window.width += width(u);
    }
    ++stamp;
    for (const int32_t u : window.spins) seen[u] = stamp;
    search(graph_, window.spins, seen, stamp, std::max(sizes_.core, sizes_.spins),
           [&](int32_t u) { return open[u] != 0; });
    control.spend(64 * static_cast<int64_t>(window.spins.size()));
    found.push_back(std::move(window));
  }
}

std::vector<Window> Rounds::windows(Control& control) const {
  std::vector<Window> found;
  cover(Side::kUpper, found, control);
  cover(Side::kLower, found, control);
  control.poll_now();
  // Those that promise most first: time may not suffice for all.
  std::ranges::stable_sort(found, std::greater<>{}, &Window::width);
  return found;
}

Inside Rounds::inside(std::vector<int32_t> spins, Side side) const {
  const auto rank = [&](int32_t v) { return ranks_.first[v]; };
  std::ranges::sort(spins, {}, rank);
  const auto local = [&](int32_t u) {
    const auto at = std::ranges::lower_bound(spins, rank(u), {}, rank);
    return at != spins.end() && *at == u ? static_cast<int32_t>(at - spins.begin()) : -1;
  };
  const int extreme = static_cast<int>(side);
  Inside found;
  std::vector<int32_t> walls;
  for (int32_t i = 0; i < std::ssize(spins); ++i) {
    const int32_t v = spins[i];
    double field = model_.fields[v], size = std::abs(field);
    int64_t terms = 1;
    for (int64_t k = graph_.offsets[v]; k < graph_.offsets[v + 1]; ++k) {
      const int32_t u = graph_.neighbours[k], e = graph_.edges[k];
      const double j = model_.couplings[e];
      const int32_t other = local(u);
      if (other >= 0) {
        if (other < i) continue;
        found.edges.insert(found.edges.end(), {i, other});
        found.edge_names.push_back(e);
        found.pairs.insert(found.pairs.end(), {j, -j, -j, j});
        continue;
      }
      const bool wall = held(u, side) == -extreme;
      field += wall ? -extreme * j : extreme * j;
      size += j;
      ++terms;
      if (wall) walls.push_back(u);
    }
    found.singles.insert(found.singles.end(), {-field, field});
    found.slack += kEps * static_cast<double>(terms) * size;
  }
  std::ranges::sort(walls);
  walls.erase(std::unique(walls.begin(), walls.end()), walls.end());
  for (const int32_t u : walls) {
    found.charge += side == Side::kUpper ? before_.nodes_upper[u] : 1 - before_.nodes_lower[u];
  }
  found.walls = std::move(walls);
  found.spins = std::move(spins);
  return found;
}

// Finds a layout with a table that is not too large.
bool Rounds::lay_out(Inside& inside, Control& control) const {
  inside.layout.resize(inside.spins.size());
  std::iota(inside.layout.begin(), inside.layout.end(), 0);
  const PairwiseView view = inside.view();
  int32_t width = frontier_width(view, inside.layout, sizes_.max_bits);
  const auto offer = [&](std::vector<int32_t> other) {
    const int32_t least = frontier_width(view, other, std::min(width, sizes_.max_bits));
    if (least >= width) return;
    width = least;
    inside.layout = std::move(other);
  };
  auto across = inside.layout;
  std::ranges::sort(across, {}, [&](int32_t i) { return ranks_.second[inside.spins[i]]; });
  offer(std::move(across));
  if (width > sizes_.max_bits) offer(greedy_layout(view, control));
  return width <= sizes_.max_bits;
}

bool Rounds::narrow(const Window& window, int32_t k, AttractiveEnds& ends, WindowTracing* tracing,
                    std::mutex& mutex, Control& control) const {
  Inside inside = this->inside(window.spins, window.side);
  size_t count = window.spins.size();
  while (!lay_out(inside, control)) {
    count = count * 7 / 8;
    if (count <= window.core) return false;
    const auto end = window.spins.begin() + static_cast<ptrdiff_t>(count);
    inside = this->inside({window.spins.begin(), end}, window.side);
  }
  const PairwiseView view = inside.view();
  const auto program = frontier_program(view, inside.layout, sizes_.max_bits);
  const FrontierSum sum =
      frontier_sum(view, program, true, Exponents::kAny, frontier_spare_tables(program), control);
  if (!(sum.error <= kBlurred)) return true;
  // Sums of nonnegative numbers, at most 2^20 of them: enlarged for their rounding. A field moves
  // a probability by at most half of what it moves itself.
  const double off = (2 * sum.error + inside.slack) * (1 + 0x1p-30) + 64 * kEps;
  const double wrong = std::min(1.0, inside.charge * (1 + 0x1p-30));
  // Walls are wrong with a probability of at most c. A function with values in [0, 1] and the mean
  // g where they are right has a mean between g (1 - c) and g (1 - c) + c.
  const auto lower_end = [&](double g) { return g - g * wrong - off; };
  const auto upper_end = [&](double g) { return g + (1 - std::min(g, 1.0)) * wrong + off; };
  const bool from_above = window.side == Side::kUpper;
  const std::lock_guard lock(mutex);
  // The first of several windows that give the same end counts, whichever is done first.
  const auto take = [&](std::vector<double> AttractiveEnds::* end,
                        std::vector<int32_t> WindowTrace::* by, int32_t at, double value,
                        bool closer) {
    double& now = (ends.*end)[at];
    const bool same = tracing && value == now && (tracing->found.*by)[at] > k;
    if (!closer && !same) return;
    now = value;
    if (tracing) (tracing->found.*by)[at] = k;
  };
  const auto lift = [&](auto end, auto by, int32_t at, double g) {
    const double value = lower_end(g);
    take(end, by, at, value, value > (ends.*end)[at]);
  };
  const auto lower = [&](auto end, auto by, int32_t at, double g) {
    const double value = upper_end(g);
    take(end, by, at, value, value < (ends.*end)[at]);
  };
  using Ends = AttractiveEnds;
  using By = WindowTrace;
  for (size_t i = 0; i < inside.spins.size(); ++i) {
    const double up = sum.singles[2 * i + 1];
    if (from_above)
      lower(&Ends::nodes_upper, &By::nodes_upper, inside.spins[i], up);
    else
      lift(&Ends::nodes_lower, &By::nodes_lower, inside.spins[i], up);
  }
  // P(++) rises and P(--) falls with the boundary.
  for (size_t i = 0; i < inside.edge_names.size(); ++i) {
    const int32_t e = inside.edge_names[i];
    const double both_down = sum.pairs[4 * i], both_up = sum.pairs[4 * i + 3];
    if (from_above) {
      lower(&Ends::up_upper, &By::up_upper, e, both_up);
      lift(&Ends::down_lower, &By::down_lower, e, both_down);
    } else {
      lift(&Ends::up_lower, &By::up_lower, e, both_up);
      lower(&Ends::down_upper, &By::down_upper, e, both_down);
    }
  }
  if (tracing) {
    const auto side = static_cast<int8_t>(window.side);
    tracing->windows[k] = {side, leaving_order(inside), std::move(inside.walls)};
  }
  ++ends.windows;
  return true;
}

}  // namespace

AttractiveEnds narrow_by_windows(const AttractiveView& model, AttractiveEnds ends,
                                 std::span<const double> guess, const WindowSizes& sizes,
                                 bool trace, int threads, Control& control) {
  const AttractiveEnds before = ends;
  std::optional<WindowTracing> tracing;
  if (trace) tracing.emplace(0, model.num_spins(), model.num_edges());
  std::mutex mutex;
  try {
    const Rounds round(model, before, guess, sizes);
    control.poll_now();
    const auto windows = round.windows(control);
    if (trace) tracing.emplace(windows.size(), model.num_spins(), model.num_edges());
    Team team(threads, control);
    control.poll_now();  // other threads may be done with all before this one looks
    team.work(windows.size(), [&](int worker, int k) {
      Control own([&](double) {
        team.check(worker);
        return true;
      });
      team.check(worker);
      const bool fits = round.narrow(windows[k], k, ends, tracing ? &*tracing : nullptr, mutex,
                                     worker == 0 ? control : own);
      if (!fits) {
        const std::lock_guard lock(mutex);
        ++ends.too_wide;
      }
    });
  } catch (const DeadlinePassed&) {
    ends.in_time = false;
  }
  if (tracing) ends.trace = tracing->gather();
  return ends;
}

}  // namespace planaris
