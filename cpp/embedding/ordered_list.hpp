// A doubly linked list that can also be searched: a treap with parent links. Inserting next to
// a known element and erasing a known one take O(1) expected time, searching O(log n).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace planaris {

class OrderedList {
 public:
  static constexpr int32_t kNone = -1;

  int32_t next(int32_t node) const { return nodes_[node].next; }
  int32_t previous(int32_t node) const { return nodes_[node].previous; }
  int32_t& value(int32_t node) { return nodes_[node].value; }

  // Inserts after `before` (kNone: at the front) and returns the new node.
  int32_t insert_after(int32_t before, int32_t value) {
    const int32_t node = allocate(value);
    const int32_t after = before == kNone ? first_ : nodes_[before].next;
    nodes_[node].previous = before;
    nodes_[node].next = after;
    (before == kNone ? first_ : nodes_[before].next) = node;
    if (after != kNone) nodes_[after].previous = node;
    if (before != kNone && nodes_[before].right == kNone) {
      nodes_[before].right = node;
      nodes_[node].parent = before;
    } else if (after != kNone) {  // `after` is then the leftmost of a subtree: no left child
      nodes_[after].left = node;
      nodes_[node].parent = after;
    } else {
      root_ = node;
    }
    while (nodes_[node].parent != kNone &&
           nodes_[nodes_[node].parent].priority < nodes_[node].priority) {
      rotate_up(node);
    }
    return node;
  }

  void erase(int32_t node) {
    for (;;) {
      const int32_t left = nodes_[node].left, right = nodes_[node].right;
      if (left == kNone && right == kNone) break;
      const bool take_left =
          right == kNone || (left != kNone && nodes_[left].priority > nodes_[right].priority);
      rotate_up(take_left ? left : right);
    }
    child_link(node) = kNone;
    const auto [previous, next] = std::pair(nodes_[node].previous, nodes_[node].next);
    (previous == kNone ? first_ : nodes_[previous].next) = next;
    if (next != kNone) nodes_[next].previous = previous;
    free_.push_back(node);
  }

  // The last node whose value lies `below` (a predicate that is true on a prefix), or kNone.
  template <typename Below>
  int32_t last_below(Below&& below) const {
    int32_t found = kNone;
    for (int32_t node = root_; node != kNone;) {
      if (below(nodes_[node].value)) {
        found = node;
        node = nodes_[node].right;
      } else {
        node = nodes_[node].left;
      }
    }
    return found;
  }

  int32_t first() const { return first_; }

 private:
  struct Node {
    int32_t value, previous, next, parent, left, right;
    uint32_t priority;
  };

  int32_t allocate(int32_t value) {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const Node fresh{
        value, kNone, kNone, kNone, kNone, kNone, static_cast<uint32_t>(random_ >> 32)};
    if (free_.empty()) {
      nodes_.push_back(fresh);
      return static_cast<int32_t>(nodes_.size()) - 1;
    }
    const int32_t node = free_.back();
    free_.pop_back();
    nodes_[node] = fresh;
    return node;
  }

  int32_t& child_link(int32_t node) {
    const int32_t parent = nodes_[node].parent;
    if (parent == kNone) return root_;
    return nodes_[parent].left == node ? nodes_[parent].left : nodes_[parent].right;
  }

  void rotate_up(int32_t node) {
    const int32_t parent = nodes_[node].parent;
    child_link(parent) = node;
    nodes_[node].parent = nodes_[parent].parent;
    const bool was_left = nodes_[parent].left == node;
    int32_t& inner = was_left ? nodes_[node].right : nodes_[node].left;
    (was_left ? nodes_[parent].left : nodes_[parent].right) = inner;
    if (inner != kNone) nodes_[inner].parent = parent;
    inner = parent;
    nodes_[parent].parent = node;
  }

  std::vector<Node> nodes_;
  std::vector<int32_t> free_;
  int32_t root_ = kNone, first_ = kNone;
  uint64_t random_ = 1;
};

}  // namespace planaris
