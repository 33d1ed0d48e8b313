#include "lanes/lane_order.hpp"

#include <algorithm>

namespace planaris {

namespace {

// What one model would eliminate at a node: edges in order, and where their pairs stand.
struct Ranked {
  int32_t rank, pair, edge;
};

class Writer {
 public:
  Writer(const FrontTree& tree, std::span<const RowOrder> orders, LaneOrder& order)
      : tree_(tree), orders_(orders), order_(order), listed_(orders.size()),
        waiting_(orders.size()), empty_(orders.size()),
        special_(tree.num_nodes() * orders.size(), 0), handed_(special_) {
    for (int32_t node = 0; node < tree.num_nodes(); ++node) {
      for (int32_t k = tree.own[node]; k < tree.own[node + 1]; ++k) {
        const int32_t e = tree.edge_order[k];
        for (size_t model = 0; model < orders.size(); ++model) {
          special_[node * orders.size() + model] |=
              orders[model].earliest[e] > node || orders[model].rank[e] > 0;
        }
      }
    }
  }

  void add(int32_t node) {
    LaneOrder::Front& front = order_.fronts[node];
    front.begin = pairs_;
    const int32_t own = tree_.own_rows(node) / 2;
    int32_t slots = 0;
    if (!tree_.is_leaf(node)) {
      slots = order_.fronts[tree_.left[node]].kept + order_.fronts[tree_.right[node]].kept;
    }
    for (size_t model = 0; model < orders_.size(); ++model) {
      // A model has something to sort where one of its edges does not take its turn.
      uint8_t& special = special_[node * orders_.size() + model];
      if (!tree_.is_leaf(node)) {
        special |= handed(tree_.left[node], model) || handed(tree_.right[node], model);
      }
      if (!special) continue;
      list(node, model);
      front.kept = std::max(front.kept, static_cast<int32_t>(waiting_[model].size()));
    }
    for (size_t model = 0; model < orders_.size(); ++model) {
      const size_t found =
          is_special(node, model) ? waiting_[model].size() + empty_[model].size() : slots;
      front.fresh = std::max(front.fresh, front.kept - static_cast<int32_t>(found));
    }
    front.pairs = own + slots + front.fresh;
    pairs_ += front.pairs;
    order_.source.resize(pairs_ * orders_.size());
    order_.edge.resize(pairs_ * orders_.size());
    stay(node);
    for (size_t model = 0; model < orders_.size(); ++model) {
      if (is_special(node, model)) write(node, model, own + slots);
    }
    order_.pivots += front.eliminated();
  }

 private:
  bool is_special(int32_t node, size_t model) const {
    return special_[node * orders_.size() + model];
  }

  // Models that have nothing to sort: every pair stays where it is, own edges, and then empty
  // slots, of which there are as many as are handed on, since fresh ones make up for what is
  // missing.
  void stay(int32_t node) {
    const int32_t own = tree_.own_rows(node) / 2, pairs = order_.fronts[node].pairs;
    const int32_t* edges = tree_.edge_order.data() + tree_.own[node];
    for (int32_t k = 0; k < pairs; ++k) {
      const int64_t at = order_.at(node, k, 0);
      std::fill_n(order_.source.begin() + at, order_.models, k);
      std::fill_n(order_.edge.begin() + at, order_.models, k < own ? edges[k] : -1);
    }
  }

  // Whether an edge is handed on, not only empty pairs.
  bool handed(int32_t child, size_t model) const { return handed_[child * orders_.size() + model]; }

  // The edges that wait for nothing, then by rank the others that may be eliminated here; those
  // that have to wait further; slots that are empty.
  void list(int32_t node, size_t model) {
    auto &ready = listed_[model], &waiting = waiting_[model];
    auto& empty = empty_[model];
    ready.clear();
    waiting.clear();
    empty.clear();
    ranked_.clear();
    const RowOrder& order = orders_[model];
    const int32_t own = tree_.own_rows(node) / 2;
    for (int32_t k = 0; k < own; ++k) {
      const int32_t e = tree_.edge_order[tree_.own[node] + k];
      if (order.earliest[e] > node) {
        waiting.push_back({0, k, e});
      } else if (order.rank[e] == 0) {
        ready.push_back({0, k, e});
      } else {
        ranked_.push_back({order.rank[e], k, e});
      }
    }
    int32_t pair = own;
    if (!tree_.is_leaf(node)) {
      for (const int32_t child : {tree_.left[node], tree_.right[node]}) {
        const LaneOrder::Front& front = order_.fronts[child];
        for (int32_t k = front.eliminated(); k < front.pairs; ++k, ++pair) {
          const int32_t e = order_.edge[order_.at(child, k, static_cast<int32_t>(model))];
          if (e < 0) {
            empty.push_back(pair);
          } else if (order.earliest[e] > node) {
            waiting.push_back({0, pair, e});
          } else {
            ranked_.push_back({order.rank[e], pair, e});
          }
        }
      }
    }
    std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.pair < b.pair;
    });
    ready.insert(ready.end(), ranked_.begin(), ranked_.end());
  }

  // Few pairs should move: empty ones take the places of those that are held back, and pairs that
  // are handed on stay where they are, if they can, in their order.
  void write(int32_t node, size_t model, int32_t first_fresh) {
    const LaneOrder::Front& front = order_.fronts[node];
    const auto &ready = listed_[model], &waiting = waiting_[model];
    const int32_t end = front.eliminated();
    auto& empty = empty_[model];
    for (int32_t k = 0; k < front.fresh; ++k) empty.push_back(first_fresh + k);
    handed_[node * orders_.size() + model] = !waiting.empty();
    taken_.assign(front.pairs, 0);  // places that are handed on
    std::vector<int32_t>& place = place_;
    place.clear();
    for (size_t k = 0; k < waiting.size(); ++k) {
      const auto after = static_cast<int32_t>(waiting.size() - k);
      const int32_t least = std::max(waiting[k].pair, k == 0 ? end : place.back() + 1);
      place.push_back(std::min(least, front.pairs - after));
      taken_[place.back()] = 1;
    }
    // Empty pairs that stay: those that are handed on, then any.
    spare_.clear();
    for (const int32_t pair : empty) {
      if (pair >= end && !taken_[pair]) {
        put(node, model, pair, pair, -1);
        taken_[pair] = 1;
      } else {
        spare_.push_back(pair);
      }
    }
    for (int32_t to = end; to < front.pairs; ++to) {
      if (taken_[to]) continue;
      put(node, model, to, spare_.back(), -1);
      spare_.pop_back();
    }
    for (size_t k = 0; k < waiting.size(); ++k) {
      put(node, model, place[k], waiting[k].pair, waiting[k].edge);
    }
    // An empty pair stays, if it can; the others are taken from the last one on.
    for (const int32_t pair : spare_) taken_[pair] = 2;
    size_t next = 0;
    auto left = static_cast<int32_t>(spare_.size());
    for (int32_t to = 0; to < end; ++to) {
      const bool here = next < ready.size() && ready[next].pair <= to;
      if (next < ready.size() && (here || left == 0)) {
        put(node, model, to, ready[next].pair, ready[next].edge);
        ++next;
        continue;
      }
      int32_t pair = to;
      if (taken_[to] != 2) {
        while (taken_[spare_.back()] != 2) spare_.pop_back();
        pair = spare_.back();
      }
      put(node, model, to, pair, -1);
      taken_[pair] = 0;
      --left;
    }
  }

  void put(int32_t node, size_t model, int32_t to, int32_t pair, int32_t edge) {
    const int64_t at = order_.at(node, to, static_cast<int32_t>(model));
    order_.source[at] = pair;
    order_.edge[at] = edge;
    if (pair != to) order_.moved[node * orders_.size() + model] = 1;
  }

  const FrontTree& tree_;
  std::span<const RowOrder> orders_;
  LaneOrder& order_;
  int64_t pairs_ = 0;
  std::vector<std::vector<Ranked>> listed_, waiting_;  // by model
  std::vector<std::vector<int32_t>> empty_;
  std::vector<uint8_t> special_, handed_;  // by node and model
  std::vector<uint8_t> taken_;
  std::vector<int32_t> place_, spare_;
  std::vector<Ranked> ranked_;
};

}  // namespace

void LaneOrder::assign(const FrontTree& tree, std::span<const RowOrder> orders) {
  models = static_cast<int32_t>(orders.size());
  fronts.assign(tree.num_nodes(), {});
  moved.assign(tree.num_nodes() * orders.size(), 0);
  pivots = stack = 0;
  most_rows = most_pairs = 0;
  Writer writer(tree, orders, *this);
  int64_t waiting = 0;
  const auto size = [&](int32_t node) {
    return left(tree, node) * (left(tree, node) + int64_t{1});
  };
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    writer.add(node);
    most_rows = std::max(most_rows, rows(tree, node));
    most_pairs = std::max(most_pairs, fronts[node].pairs);
    if (!tree.is_leaf(node)) waiting -= size(tree.left[node]) + size(tree.right[node]);
    waiting += size(node);
    stack = std::max(stack, waiting);
  }
}

}  // namespace planaris
