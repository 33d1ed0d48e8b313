// How ends of marginals were found by windows: what a proof of them holds.
#pragma once

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace planaris {

// The windows that narrowed something, for a proof: their spins in the order in which they are
// summed over, the walls around them, and the window that each end comes from, -1 where none did.
struct WindowTrace {
  std::vector<int8_t> sides;  // +1: upper ends, -1: lower ends
  std::vector<int64_t> spin_offsets{0}, wall_offsets{0};
  std::vector<int32_t> spins, walls;
  std::vector<int32_t> nodes_lower, nodes_upper, up_lower, up_upper, down_lower, down_upper;
};

// What becomes a trace once all windows were seen.
struct WindowTracing {
  struct One {
    int8_t side = 0;
    std::vector<int32_t> spins, walls;
  };
  std::vector<One> windows;
  WindowTrace found;

  WindowTracing(size_t windows, int32_t num_spins, int32_t num_edges) : windows(windows) {
    for (auto* of_node : {&found.nodes_lower, &found.nodes_upper}) of_node->assign(num_spins, -1);
    for (auto* of_edge : {&found.up_lower, &found.up_upper, &found.down_lower, &found.down_upper}) {
      of_edge->assign(num_edges, -1);
    }
  }

  // Keeps the windows that some end comes from.
  WindowTrace gather() {
    const auto ends = {&found.nodes_lower, &found.nodes_upper, &found.up_lower,
                       &found.up_upper,    &found.down_lower,  &found.down_upper};
    std::vector<int32_t> name(windows.size(), -1);
    for (const auto* end : ends) {
      for (const int32_t k : *end) {
        if (k >= 0) name[k] = 0;
      }
    }
    int32_t count = 0;
    for (size_t k = 0; k < windows.size(); ++k) {
      if (name[k] < 0) continue;
      name[k] = count++;
      found.sides.push_back(windows[k].side);
      found.spins.insert(found.spins.end(), windows[k].spins.begin(), windows[k].spins.end());
      found.walls.insert(found.walls.end(), windows[k].walls.begin(), windows[k].walls.end());
      found.spin_offsets.push_back(std::ssize(found.spins));
      found.wall_offsets.push_back(std::ssize(found.walls));
    }
    for (auto* end : ends) {
      for (int32_t& k : *end) k = k < 0 ? -1 : name[k];
    }
    return std::move(found);
  }
};

}  // namespace planaris
