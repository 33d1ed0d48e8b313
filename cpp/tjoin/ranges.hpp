// Matches all odd vertices: first within ranges of the sweep order, then across their walls.
#pragma once

#include <atomic>
#include <optional>

#include "base/team.hpp"
#include "tjoin/engine.hpp"

namespace planaris::tjoin {

// Rounds of single-tree searches, each given up after a number of scans that grows from round
// to round: trees stay as small as if all grew at once, and none is kept alive. On return
// `roots` holds those that met a wall.
template <typename Int, typename Poll>
void match_roots(Engine<Int>& engine, const Store<Int>& store, int32_t size,
                 std::vector<int32_t>& roots, const Poll& poll) {
  std::vector<int32_t> walled;
  int64_t budget = 2;
  std::erase_if(roots, [&](int32_t v) { return !store.is_free(v); });
  while (!roots.empty()) {
    budget = std::max(2 * budget, int64_t(size) / int64_t(roots.size()));
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
    if (!store.is_outermost(r) || store.region[r].mate_to >= 0) continue;
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

// From a state without matched or grown regions. A binary tree of ranges: leaves match what
// they can within their walls; a range made of two goes on with what stopped at the wall
// between them.
template <typename Int>
void match_cold(Store<Int>& store, const Graph<Int>& graph, int threads, int32_t range,
                Control& control) {
  int32_t leaves = 1;
  while (threads > 1 && graph.n / leaves > range) leaves *= 2;
  struct Task {
    int32_t low, high, parent = -1, left = -1, right = -1;
    std::vector<int32_t> roots, spare;
    std::optional<Engine<Int>> engine;
  };
  // Task k is made of 2k + 1 and 2k + 2; the last `leaves` of them are leaves.
  std::vector<Task> tasks(2 * size_t(leaves) - 1);
  std::vector<std::vector<int32_t>> successors(tasks.size());
  std::vector<int32_t> waits(tasks.size(), 0);
  for (size_t k = tasks.size(); k-- > 0;) {
    Task& task = tasks[k];
    if (k > 0) successors[k] = {int32_t(k - 1) / 2};
    const int64_t leaf = int64_t(k) - (leaves - 1);
    if (leaf < 0) {
      waits[k] = 2;
      task.left = int32_t(2 * k + 1), task.right = int32_t(2 * k + 2);
      task.low = std::min(tasks[task.left].low, tasks[task.right].low);
      task.high = std::max(tasks[task.left].high, tasks[task.right].high);
      continue;
    }
    task.low = int32_t(graph.n * leaf / leaves);
    task.high = int32_t(graph.n * (leaf + 1) / leaves);
    for (int32_t v = task.low; v < task.high; ++v) {
      if (store.base[v] >= 0) task.roots.push_back(v);
    }
    // A blossom has three children or more, so there are fewer than half as many as odd vertices;
    // rounded up, for ranges made of several.
    for (size_t i = 0; i < (task.roots.size() + 1) / 2; ++i) {
      task.spare.push_back(int32_t(store.region.size()));
      store.region.emplace_back().spare = true;
    }
  }
  const auto all = double(std::max<size_t>(store.region.size(), 1));
  std::atomic<int64_t> settled{0};
  Team team(std::min(threads, leaves), control);
  const auto run = [&](int worker, int k) {
    Task& task = tasks[k];
    uint32_t mark = store.mark;
    for (const int32_t c : {task.left, task.right}) {
      if (c < 0) continue;
      Task& child = tasks[c];
      task.roots.insert(task.roots.end(), child.roots.begin(), child.roots.end());
      const std::vector<int32_t> spare = child.engine->take_spare();
      task.spare.insert(task.spare.end(), spare.begin(), spare.end());
      mark = std::max(mark, child.engine->mark());
    }
    const auto before = int64_t(task.roots.size());
    task.engine.emplace(store, graph, task.low, task.high, std::move(task.spare), mark);
    match_roots(*task.engine, store, task.high - task.low, task.roots,
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
