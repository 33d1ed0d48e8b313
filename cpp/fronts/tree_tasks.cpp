#include "fronts/tree_tasks.hpp"

#include <algorithm>

namespace planaris {

namespace {

constexpr double kWakeUp = 2e6;  // multiplications: less work than a wake-up is not worth a task

}  // namespace

bool worth_threads(const FrontTree& tree) {
  return tree.num_nodes() > 0 && tree.work.back() > kWakeUp;
}

TreeTasks cut_tasks(const FrontTree& tree, int threads) {
  TreeTasks cut;
  const int32_t num_nodes = tree.num_nodes();
  cut.task_of_root.assign(num_nodes, -1);
  if (num_nodes == 0) return cut;
  // About eight subtrees a thread even out.
  const double most =
      threads <= 1 ? tree.work.back() + 1 : std::max(tree.work.back() / (8.0 * threads), kWakeUp);
  std::vector<int32_t> size(num_nodes, 1);
  for (int32_t node = 0; node < num_nodes; ++node) {
    if (!tree.is_leaf(node)) size[node] += size[tree.left[node]] + size[tree.right[node]];
    const int32_t parent = tree.parent[node];
    const bool small = tree.work[node] <= most;
    if (small && parent >= 0 && tree.work[parent] <= most) continue;
    const int32_t first = small ? node - size[node] + 1 : node;
    cut.task_of_root[node] = static_cast<int32_t>(cut.tasks.size());
    cut.tasks.push_back({first, node});
  }
  return cut;
}

std::vector<std::vector<int32_t>> TreeTasks::successors(const FrontTree& tree, bool upwards) const {
  std::vector<std::vector<int32_t>> result(tasks.size());
  for (size_t t = 0; t < tasks.size(); ++t) {
    const int32_t parent = tree.parent[tasks[t].last];
    if (parent < 0) continue;
    const int32_t above = task_of_root[parent];
    if (upwards) {
      result[t].push_back(above);
    } else {
      result[above].push_back(static_cast<int32_t>(t));
    }
  }
  return result;
}

std::vector<int32_t> TreeTasks::waits(const FrontTree& tree, bool upwards) const {
  std::vector<int32_t> result(tasks.size(), 0);
  for (const auto& list : successors(tree, upwards)) {
    for (const int32_t t : list) ++result[t];
  }
  return result;
}

}  // namespace planaris
