// Matches all odd vertices: first within ranges of the sweep order, then across their walls.
#pragma once

#include <atomic>
#include <optional>

#include "base/team.hpp"
#include "tjoin/engine.hpp"
#include "tjoin/state.hpp"

namespace planaris::tjoin {

// Rounds of single-tree searches, each given up after a number of scans that grows from round
// to round: trees stay as small as if all grew at once, and none is kept alive. A round scans
// `size` vertices or more. On return `roots` holds those that met a wall.
template <typename Int, typename Poll>
void match_roots(Engine<Int>& engine, const Store<Int>& store, int32_t size,
                 std::vector<int32_t>& roots, const Poll& poll, int64_t growth = 4) {
  std::vector<int32_t> walled;
  int64_t budget = growth / 2;
  std::erase_if(roots, [&](int32_t v) { return !store.is_free(v); });
  while (!roots.empty()) {
    budget = std::max(growth * budget, int64_t(size) / int64_t(roots.size()));
    size_t kept = 0;
    for (const int32_t v : roots) {
      if (!store.is_free(v)) continue;
      const Outcome outcome = engine.search(v, budget, poll);
      if (outcome == Outcome::kGivenUp) roots[kept++] = v;
      if (outcome == Outcome::kWalled) walled.push_back(v);
    }
    roots.resize(kept);
    std::erase_if(roots, [&](int32_t v) { return !store.is_free(v); });
  }
  roots = std::move(walled);
}

// One odd vertex of each free region.
template <typename Int>
std::vector<int32_t> free_roots(const Store<Int>& store) {
  std::vector<int32_t> roots;
  for (size_t r = 0; r < store.region.size(); ++r) {
    if (!store.is_outermost(r) || store.region[r].mate.to >= 0) continue;
    roots.push_back(store.v[store.region[r].core].source);
  }
  return roots;
}

// From any state; `control` may throw, which leaves a state to go on from.
template <typename Int>
void match_warm(Store<Int>& store, const Graph<Int>& graph, Control& control) {
  std::vector<int32_t> roots = free_roots(store);
  Engine<Int> engine(store, graph, 0, graph.n, std::move(store.spare), store.mark);
  store.spare.clear();
  try {
    match_roots(engine, store, graph.n, roots, [&] { control.poll(); });
  } catch (...) {
    engine.retire();
    throw;
  }
  engine.retire();
}

template <typename Int>
struct RangeTask {
  std::vector<int32_t> children, roots, spare;
  std::optional<Engine<Int>> engine;
};

// Gives every range without children its roots and the numbers of its blossoms. A blossom has
// three children or more, so there are fewer than half as many as odd vertices; rounded up, for
// ranges made of several.
template <typename Int>
void prepare_leaves(Store<Int>& store, const std::vector<Range>& ranges,
                    std::vector<RangeTask<Int>>& tasks, int threads, Control& control) {
  Team team(threads, control);
  control.set_finishing(true);  // it takes no time beside the search
  team.work(tasks.size(), [&](int, int k) {
    if (!tasks[k].children.empty()) return;
    for (int32_t v = ranges[k].low; v < ranges[k].high; ++v) {
      if (store.base[v] >= 0) tasks[k].roots.push_back(v);
    }
  });
  const auto first = int32_t(store.region.size());
  int32_t next = first;
  for (RangeTask<Int>& task : tasks) {
    for (size_t i = 0; i < (task.roots.size() + 1) / 2; ++i) task.spare.push_back(next++);
  }
  store.region.resize(size_t(next));
  in_parts(team, size_t(next - first), [&](size_t, size_t low, size_t high) {
    for (size_t i = low; i < high; ++i) {
      Region<Int>& region = store.region[size_t(first) + i];
      region = {};
      region.spare = true;
    }
  });
  control.set_finishing(false);
}

// From a state without matched or grown regions. Ranges without children match what they can
// within their walls; a range made of two goes on with what stopped at the wall between them.
template <typename Int>
void match_cold(Store<Int>& store, const Graph<Int>& graph, const std::vector<Range>& ranges,
                int threads, Control& control) {
  using Task = RangeTask<Int>;
  std::vector<Task> tasks(ranges.size());
  std::vector<std::vector<int32_t>> successors(tasks.size());
  std::vector<int32_t> waits(tasks.size(), 0);
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (ranges[k].parent < 0) continue;
    successors[k] = {ranges[k].parent};
    tasks[ranges[k].parent].children.push_back(int32_t(k));
    ++waits[ranges[k].parent];
  }
  prepare_leaves(store, ranges, tasks, threads, control);
  const auto all = double(std::max<size_t>(store.region.size(), 1));
  std::atomic<int64_t> settled{0};
  Team team(std::min(threads, int(tasks.size() + 1) / 2), control);
  const auto run = [&](int worker, int k) {
    Task& task = tasks[k];
    uint32_t mark = store.mark;
    for (const int32_t c : task.children) {
      Task& child = tasks[c];
      task.roots.insert(task.roots.end(), child.roots.begin(), child.roots.end());
      const std::vector<int32_t> spare = child.engine->take_spare();
      task.spare.insert(task.spare.end(), spare.begin(), spare.end());
      mark = std::max(mark, child.engine->mark());
    }
    const auto before = int64_t(task.roots.size());
    const auto [low, high, parent] = ranges[k];
    task.engine.emplace(store, graph, low, high, std::move(task.spare), mark);
    // What stopped at a wall lies along it: most of it is matched by small trees.
    match_roots(*task.engine, store, task.children.empty() ? high - low : 0, task.roots,
                [&] { team.check(worker, double(settled.load(std::memory_order_relaxed)) / all); });
    settled += before - int64_t(task.roots.size());
  };
  const auto retire = [&] {
    for (Task& task : tasks) {
      if (task.engine) task.engine->retire();
    }
  };
  try {
    team.work(std::move(successors), std::move(waits), run);
  } catch (...) {
    retire();
    throw;
  }
  retire();
}

}  // namespace planaris::tjoin
