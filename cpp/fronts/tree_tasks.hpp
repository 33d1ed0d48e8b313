// Cuts a FrontTree into tasks: subtrees that one thread works off, and single nodes above them.
#pragma once

#include <cstdint>
#include <vector>

#include "fronts/front_tree.hpp"

namespace planaris {

struct TreeTasks {
  struct Task {
    int32_t first, last;  // nodes in postorder; `last` is the task's root
  };
  std::vector<Task> tasks;
  std::vector<int32_t> task_of_root;  // by node: the task whose root it is, or -1

  // Tasks that wait for t: its parent (upwards) or its children (downwards).
  std::vector<std::vector<int32_t>> successors(const FrontTree& tree, bool upwards) const;
  std::vector<int32_t> waits(const FrontTree& tree, bool upwards) const;
};

// Whether the elimination is more work than waking a thread.
bool worth_threads(const FrontTree& tree);

TreeTasks cut_tasks(const FrontTree& tree, int threads);

}  // namespace planaris
