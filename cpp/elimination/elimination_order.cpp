#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

#include "base/splitmix64.hpp"
#include "base/table_too_large.hpp"
#include "elimination/elimination.hpp"

namespace planaris {

Adjacency factor_adjacency(const FactorGraphView& graph, Control& control) {
  const int32_t n = graph.num_variables();
  Adjacency result;
  std::vector<int64_t> fill(static_cast<size_t>(n) + 1, 0);
  const auto each_pair = [&](auto&& visit) {
    for (int64_t f = 0; f < graph.num_factors(); ++f) {
      const int64_t begin = graph.scope_offsets[f], end = graph.scope_offsets[f + 1];
      control.spend((end - begin) * (end - begin));
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = begin; j < end; ++j) {
          if (i != j) visit(graph.scopes[i], graph.scopes[j]);
        }
      }
    }
  };
  each_pair([&](int32_t u, int32_t) { ++fill[u + 1]; });
  for (int32_t v = 0; v < n; ++v) fill[v + 1] += fill[v];
  std::vector<int32_t> raw(fill[n]);
  std::vector<int64_t> at(fill.begin(), fill.end() - 1);
  each_pair([&](int32_t u, int32_t w) { raw[at[u]++] = w; });
  result.offsets.assign(static_cast<size_t>(n) + 1, 0);
  result.neighbors.reserve(raw.size());
  for (int32_t v = 0; v < n; ++v) {
    control.spend(8 * (fill[v + 1] - fill[v]));
    std::sort(raw.begin() + fill[v], raw.begin() + fill[v + 1]);
    const auto end = std::unique(raw.begin() + fill[v], raw.begin() + fill[v + 1]);
    result.neighbors.insert(result.neighbors.end(), raw.begin() + fill[v], end);
    result.offsets[v + 1] = static_cast<int64_t>(result.neighbors.size());
  }
  return result;
}

namespace {

constexpr size_t kManyNeighbors = 256;

std::vector<double> label_bits(const FactorGraphView& graph) {
  std::vector<double> bits(graph.num_variables());
  for (size_t v = 0; v < bits.size(); ++v) {
    bits[v] = std::log2(static_cast<double>(graph.cardinalities[v]));
  }
  return bits;
}

// Numbers from 0, in one piece of memory: open addressing, without removal.
class NumberSet {
 public:
  bool empty() const { return count_ == 0; }
  bool contains(int32_t value) const { return !slots_.empty() && slots_[slot(value)] == value; }
  void insert(int32_t value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    int32_t& place = slots_[slot(value)];
    count_ += place != value;
    place = value;
  }

 private:
  size_t slot(int32_t value) const {
    const size_t mask = slots_.size() - 1;
    size_t k = (static_cast<uint64_t>(value) * kGoldenGamma >> 32) & mask;
    while (slots_[k] != -1 && slots_[k] != value) k = (k + 1) & mask;
    return k;
  }
  void grow() {
    const std::vector<int32_t> old = std::move(slots_);
    slots_.assign(std::max<size_t>(4 * kManyNeighbors, 2 * old.size()), -1);
    for (const int32_t value : old) {
      if (value != -1) slots_[slot(value)] = value;
    }
  }

  std::vector<int32_t> slots_;
  size_t count_ = 0;
};

// The graph as it shrinks: eliminating a vertex joins its neighbours. Hubs look their
// neighbours up in a hash table, and list those that are gone until they are half of the list, so
// that a vertex of degree n costs O(n) altogether.
class EliminationGraph {
 public:
  EliminationGraph(const Adjacency& adjacency, const std::vector<double>& bits,
                   const std::vector<char>& gone, Control& control)
      : table_bits_(bits), bits_(bits), gone_(gone), control_(control), neighbors_(bits.size()),
        members_(bits.size()), degree_(bits.size(), 0), mark_(bits.size(), 0) {
    for (size_t v = 0; v < bits.size(); ++v) {
      if (gone[v]) continue;
      control.spend(8 * (adjacency.offsets[v + 1] - adjacency.offsets[v]));
      for (int64_t i = adjacency.offsets[v]; i < adjacency.offsets[v + 1]; ++i) {
        const int32_t u = adjacency.neighbors[i];
        if (!gone[u]) insert(static_cast<int32_t>(v), u);
      }
    }
  }

  size_t degree(int32_t v) const { return degree_[v]; }
  bool is_hub(int32_t v) const { return !members_[v].empty(); }
  // Of vertices that are no hubs.
  const std::vector<int32_t>& neighbors(int32_t v) const { return neighbors_[v]; }
  double table_bits(int32_t v) const { return table_bits_[v]; }

  // Pairs of neighbours that are not joined yet; an upper bound at hubs.
  double fill_in(int32_t v) {
    const auto& around = neighbors_[v];
    const auto degree = static_cast<double>(degree_[v]);
    if (is_hub(v)) return degree * (degree - 1) / 2;
    ++stamp_;
    for (int32_t u : around) mark_[u] = stamp_;
    int64_t joined = 0;
    for (int32_t u : around) {
      if (is_hub(u)) {
        for (int32_t w : around) joined += members_[u].contains(w);
      } else {
        for (int32_t w : neighbors_[u]) joined += mark_[w] == stamp_;
      }
    }
    return (degree * (degree - 1) - static_cast<double>(joined)) / 2;
  }

  // Removes v, which is marked as gone, and returns its former neighbours, now joined.
  std::vector<int32_t> eliminate(int32_t v) {
    std::vector<int32_t> around;
    around.swap(neighbors_[v]);
    std::erase_if(around, [&](int32_t u) { return gone_[u] != 0; });
    members_[v] = {};
    for (int32_t u : around) {
      control_.spend(2 * static_cast<int64_t>(around.size()));
      erase(u, v);
      if (is_hub(u)) {
        for (int32_t w : around) {
          if (w != u && !members_[u].contains(w)) insert(u, w);
        }
        continue;
      }
      ++stamp_;
      mark_[u] = stamp_;
      for (int32_t w : neighbors_[u]) mark_[w] = stamp_;
      for (int32_t w : around) {
        if (mark_[w] != stamp_) insert(u, w);
      }
    }
    return around;
  }

 private:
  void insert(int32_t v, int32_t u) {
    auto& list = neighbors_[v];
    list.push_back(u);
    ++degree_[v];
    table_bits_[v] += bits_[u];
    if (is_hub(v)) {
      members_[v].insert(u);
    } else if (list.size() > kManyNeighbors) {
      for (const int32_t w : list) members_[v].insert(w);
    }
  }

  void erase(int32_t v, int32_t u) {
    auto& list = neighbors_[v];
    --degree_[v];
    table_bits_[v] -= bits_[u];
    if (!is_hub(v)) {
      const auto it = std::find(list.begin(), list.end(), u);
      *it = list.back();
      list.pop_back();
    } else if (degree_[v] <= kManyNeighbors || list.size() > 2 * degree_[v]) {
      control_.spend(static_cast<int64_t>(list.size()));
      std::erase_if(list, [&](int32_t w) { return gone_[w] != 0; });
      if (degree_[v] <= kManyNeighbors) members_[v] = {};
    }
  }

  std::vector<double> table_bits_;
  const std::vector<double>& bits_;
  const std::vector<char>& gone_;
  Control& control_;
  std::vector<std::vector<int32_t>> neighbors_;
  std::vector<NumberSet> members_;  // of hubs
  std::vector<size_t> degree_;      // neighbours that are left
  std::vector<int64_t> mark_;
  int64_t stamp_ = 0;
};

// Vertices, the first of least key: a heap of four children a place, in which keys may change.
class VertexHeap {
 public:
  struct Entry {
    double key, second;
    uint64_t tie;
    int32_t vertex;
  };

  explicit VertexHeap(int32_t count) : place_(count, -1) { heap_.reserve(count); }
  bool empty() const { return heap_.empty(); }

  // Adds a vertex, or gives it another key.
  void put(const Entry& entry) {
    int32_t& place = place_[entry.vertex];
    if (place < 0) {
      place = static_cast<int32_t>(heap_.size());
      heap_.push_back(entry);
      rise(entry);
    } else if (before(entry, heap_[place])) {
      rise(entry);
    } else {
      sink(entry);
    }
  }

  int32_t take_first() {
    const int32_t first = heap_.front().vertex;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      place_[last.vertex] = 0;
      sink(last);
    }
    place_[first] = -1;
    return first;
  }

 private:
  // No two entries are equal, so there is one order only.
  static bool before(const Entry& a, const Entry& b) {
    if (a.key != b.key) return a.key < b.key;
    if (a.second != b.second) return a.second < b.second;
    return a.tie != b.tie ? a.tie < b.tie : a.vertex < b.vertex;
  }
  void set(int32_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[entry.vertex] = place;
  }
  void rise(const Entry& entry) {
    int32_t place = place_[entry.vertex];
    while (place > 0 && before(entry, heap_[(place - 1) / 4])) {
      set(place, heap_[(place - 1) / 4]);
      place = (place - 1) / 4;
    }
    set(place, entry);
  }
  void sink(const Entry& entry) {
    int32_t place = place_[entry.vertex];
    while (true) {
      const size_t begin = 4 * static_cast<size_t>(place) + 1;
      if (begin >= heap_.size()) break;
      size_t best = begin;
      for (size_t k = begin + 1; k < std::min(begin + 4, heap_.size()); ++k) {
        if (before(heap_[k], heap_[best])) best = k;
      }
      if (!before(heap_[best], entry)) break;
      set(place, heap_[best]);
      place = static_cast<int32_t>(best);
    }
    set(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<int32_t> place_;  // of vertices in the heap, -1 elsewhere
};

// Removes variables with at most one neighbour left, again and again. The last neighbour is
// the exclusive or of those left, so no list is searched and hubs cost nothing extra.
void take_leaves(const Adjacency& adjacency, const std::vector<double>& bits,
                 std::vector<char>& gone, EliminationOrder& result, Control& control) {
  const auto n = static_cast<int32_t>(bits.size());
  std::vector<int32_t> degree(n), last(n, 0), leaves;
  for (int32_t v = n - 1; v >= 0; --v) {
    degree[v] = static_cast<int32_t>(adjacency.offsets[v + 1] - adjacency.offsets[v]);
    for (int64_t i = adjacency.offsets[v]; i < adjacency.offsets[v + 1]; ++i) {
      last[v] ^= adjacency.neighbors[i];
    }
    if (degree[v] <= 1) leaves.push_back(v);
  }
  while (!leaves.empty()) {
    control.poll();
    const int32_t v = leaves.back();
    leaves.pop_back();
    if (gone[v]) continue;
    gone[v] = 1;
    result.order.push_back(v);
    double table = bits[v];
    if (degree[v] == 1) {
      const int32_t u = last[v];
      table += bits[u];
      last[u] ^= v;
      if (--degree[u] <= 1) leaves.push_back(u);
    }
    result.log2_largest = std::max(result.log2_largest, table);
    result.entries += std::exp2(table);
  }
}

}  // namespace

EliminationOrder greedy_order(const FactorGraphView& graph, const Adjacency& adjacency,
                              OrderRule rule, uint64_t seed, double max_bits, Control& control) {
  const int32_t n = graph.num_variables();
  EliminationOrder result;
  result.order.reserve(n);
  std::vector<char> gone(n, 0);
  const std::vector<double> bits = label_bits(graph);
  take_leaves(adjacency, bits, gone, result, control);
  if (static_cast<int32_t>(result.order.size()) == n) return result;
  EliminationGraph shrinking(adjacency, bits, gone, control);
  std::mt19937_64 random(seed);

  VertexHeap queue(n);
  const auto push = [&](int32_t v) {
    const auto degree = static_cast<int64_t>(shrinking.degree(v));
    control.spend(rule == OrderRule::kMinFill ? degree * degree + 16 : 16);
    const double table = shrinking.table_bits(v);
    const double key = rule == OrderRule::kMinFill ? shrinking.fill_in(v) : table;
    queue.put({key, table, seed ? random() : static_cast<uint64_t>(v), v});
  };
  for (int32_t v = 0; v < n; ++v) {
    if (!gone[v]) push(v);
  }
  std::vector<int64_t> touched(n, -1);
  while (!queue.empty()) {
    control.spend(64);
    const int32_t v = queue.take_first();
    result.log2_largest = std::max(result.log2_largest, shrinking.table_bits(v));
    result.entries += std::exp2(shrinking.table_bits(v));
    result.order.push_back(v);
    gone[v] = 1;
    const std::vector<int32_t> around = shrinking.eliminate(v);
    if (result.log2_largest > max_bits) break;
    const auto round = static_cast<int64_t>(result.order.size());
    for (int32_t u : around) touched[u] = round;
    for (int32_t u : around) push(u);
    if (rule == OrderRule::kMinFill) {
      // Joining the neighbours changes the fill of whoever sees two of them.
      for (int32_t u : around) {
        if (shrinking.is_hub(u)) continue;
        for (int32_t w : shrinking.neighbors(u)) {
          if (touched[w] != round) {
            touched[w] = round;
            push(w);
          }
        }
      }
    }
  }
  for (int32_t v = 0; v < n; ++v) {
    if (!gone[v]) result.order.push_back(v);
  }
  return result;
}

namespace {

// Children before parents, each subtree in one piece.
std::vector<int32_t> postorder(const std::vector<int32_t>& parent) {
  const auto n = static_cast<int32_t>(parent.size());
  std::vector<int32_t> first(n, -1), next(n, -1), result, stack;
  std::vector<int32_t> roots;
  for (int32_t p = n - 1; p >= 0; --p) {
    if (parent[p] < 0) {
      roots.push_back(p);
    } else {
      next[p] = first[parent[p]];
      first[parent[p]] = p;
    }
  }
  result.reserve(n);
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
    stack.push_back(*root);
    while (!stack.empty()) {
      const int32_t p = stack.back();
      if (first[p] >= 0) {
        const int32_t child = first[p];
        first[p] = next[child];
        stack.push_back(child);
      } else {
        stack.pop_back();
        result.push_back(p);
      }
    }
  }
  return result;
}

struct Structure {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> later;  // positions after each position that it meets, descending
  std::vector<int32_t> parent;
};

Structure symbolic_elimination(const FactorGraphView& graph, const Adjacency& adjacency,
                               std::span<const int32_t> order, const std::vector<int32_t>& position,
                               double max_bits, Control& control) {
  const int32_t n = graph.num_variables();
  const std::vector<double> bits = label_bits(graph);
  Structure s;
  s.parent.assign(n, -1);
  std::vector<int32_t> mark(n, -1), first_child(n, -1), next_child(n, -1);
  for (int32_t p = 0; p < n; ++p) {
    const int32_t v = order[p];
    const auto begin = static_cast<int64_t>(s.later.size());
    const auto meet = [&](int32_t q) {
      if (q > p && mark[q] != p) {
        mark[q] = p;
        s.later.push_back(q);
      }
    };
    for (int64_t i = adjacency.offsets[v]; i < adjacency.offsets[v + 1]; ++i) {
      meet(position[adjacency.neighbors[i]]);
    }
    for (int32_t c = first_child[p]; c >= 0; c = next_child[c]) {
      for (int64_t i = s.offsets[c]; i < s.offsets[c + 1]; ++i) meet(s.later[i]);
    }
    control.spend(16 + 8 * (static_cast<int64_t>(s.later.size()) - begin));
    std::sort(s.later.begin() + begin, s.later.end(), std::greater<>());
    s.offsets.push_back(static_cast<int64_t>(s.later.size()));
    double table_bits = bits[v];
    for (int64_t i = begin; i < s.offsets[p + 1]; ++i) table_bits += bits[order[s.later[i]]];
    if (table_bits > max_bits) throw TableTooLarge("a table is too large");
    if (s.offsets[p + 1] > begin) {
      const int32_t parent = s.later.back();
      s.parent[p] = parent;
      next_child[p] = first_child[parent];
      first_child[parent] = p;
    }
  }
  return s;
}

}  // namespace

EliminationTree elimination_tree(const FactorGraphView& graph, const Adjacency& adjacency,
                                 std::span<const int32_t> order, double max_bits,
                                 Control& control) {
  const int32_t n = graph.num_variables();
  if (static_cast<int32_t>(order.size()) != n) throw std::invalid_argument("order: wrong length");
  std::vector<int32_t> position(n, -1);
  for (int32_t p = 0; p < n; ++p) {
    if (order[p] < 0 || order[p] >= n || position[order[p]] >= 0) {
      throw std::invalid_argument("order: not a permutation");
    }
    position[order[p]] = p;
  }
  const Structure s = symbolic_elimination(graph, adjacency, order, position, max_bits, control);
  const std::vector<int32_t> post = postorder(s.parent);
  std::vector<int32_t> rank(n);
  for (int32_t k = 0; k < n; ++k) rank[post[k]] = k;

  EliminationTree tree;
  tree.axis_offsets.push_back(0);
  std::vector<int64_t> children_entries(n, 0);
  int64_t alive = 0;
  for (int32_t k = 0; k < n; ++k) {
    const int32_t p = post[k];
    control.spend(16 + 4 * (s.offsets[p + 1] - s.offsets[p]));
    int64_t message = 1;
    // Ancestors keep their order in a postorder, so `later` stays sorted.
    for (int64_t i = s.offsets[p]; i < s.offsets[p + 1]; ++i) {
      tree.axes.push_back(order[s.later[i]]);
      message *= graph.cardinalities[tree.axes.back()];
    }
    tree.axes.push_back(order[p]);
    tree.order.push_back(order[p]);
    tree.axis_offsets.push_back(static_cast<int64_t>(tree.axes.size()));
    tree.parent.push_back(s.parent[p] < 0 ? -1 : rank[s.parent[p]]);
    const int64_t table = message * graph.cardinalities[order[p]];
    tree.width = std::max(tree.width, static_cast<int32_t>(s.offsets[p + 1] - s.offsets[p]));
    tree.largest_table = std::max(tree.largest_table, table);
    tree.total_entries += static_cast<double>(table);
    tree.message_entries += message;
    alive += message - children_entries[k];
    tree.stack_entries = std::max(tree.stack_entries, alive + children_entries[k]);
    if (tree.parent.back() >= 0) children_entries[tree.parent.back()] += message;
    if (tree.parent.back() < 0) alive -= message;
  }
  return tree;
}

}  // namespace planaris
