// From a store with matched regions to the join and the certificate.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "tjoin/matching.hpp"
#include "tjoin/store.hpp"
#include "tjoin/tiles.hpp"

namespace planaris::tjoin {

struct Pairs {
  std::vector<Contact> matched;  // `to` is n for the boundary
  std::vector<int32_t> loose;    // one odd vertex of each free region
  std::vector<int32_t> parent;   // of regions: the blossom that one is a child of, or -1
};

// The distance of two odd vertices that are matched: the duals of all sets that hold one of them.
template <typename Int>
Int matched_length(const Store<Int>& store, const std::vector<int32_t>& parent, int32_t s,
                   int32_t t) {
  std::vector<int32_t> chains[2];
  for (int32_t r = store.base[s]; r >= 0; r = parent[r]) chains[0].push_back(r);
  for (int32_t r = store.base[t]; r >= 0; r = parent[r]) chains[1].push_back(r);
  while (chains[0].back() == chains[1].back()) chains[0].pop_back(), chains[1].pop_back();
  Int length = 0;
  for (const auto& chain : chains) {
    for (const int32_t r : chain) length += store.region[r].y;
  }
  return length;
}

// Opens blossoms from outside in: the child with the matched vertex keeps that match, the
// others pair up along the cycle.
template <typename Int>
class BlossomOpener {
 public:
  explicit BlossomOpener(const Store<Int>& store)
      : store_(store), parent_(store.region.size(), -1) {}

  // All pairs, by one thread; memory is kept from call to call.
  void open_all(Pairs& pairs) {
    pairs.matched.clear();
    pairs.loose.clear();
    const size_t count = store_.region.size();
    parent_.assign(count, -1);
    find_parents(0, count);
    for (size_t r = 0; r < count; ++r) {
      if (store_.is_outermost(r)) open(r, pairs, open_);
    }
  }

  std::vector<int32_t>& parents() { return parent_; }

  // Looks for blossoms among the regions [low, high); before open().
  void find_parents(size_t low, size_t high) {
    for (size_t r = low; r < high; ++r) {
      const int32_t child = store_.region[r].child;
      if (store_.region[r].spare || child < 0) continue;
      int32_t c = child;
      do {
        parent_[c] = int32_t(r);
        c = store_.region[c].cycle;
      } while (c != child);
    }
  }

  // A blossom that is still to be opened, and the vertex in it that is matched outside.
  struct Closed {
    int32_t region, from;
  };

  // Appends what outermost region r holds; `open` is memory.
  void open(size_t r, Pairs& pairs, std::vector<Closed>& open) const {
    const auto& region = store_.region;
    const auto keep = [&](const Contact& pair) {
      if (pair.to == store_.n || pair.from < pair.to) pairs.matched.push_back(pair);
    };
    const auto assign = [&](int32_t c, int32_t from) {
      if (region[c].child >= 0) open.push_back({c, from});
    };
    if (region[r].mate.to < 0) {
      pairs.loose.push_back(store_.v[region[r].core].source);
      assign(int32_t(r), pairs.loose.back());
    } else {
      keep(region[r].mate);
      assign(int32_t(r), region[r].mate.from);
    }
    while (!open.empty()) {
      const auto [whole, from] = open.back();
      open.pop_back();
      int32_t base = store_.base[from];
      while (parent_[base] != whole) base = parent_[base];
      assign(base, from);
      for (int32_t c = region[base].cycle; c != base; c = region[region[c].cycle].cycle) {
        const Contact& link = region[c].link;
        keep(link.from < link.to ? link : link.turned());
        assign(c, link.from);
        assign(region[c].cycle, link.to);
      }
    }
  }

 private:
  const Store<Int>& store_;
  std::vector<int32_t> parent_;
  std::vector<Closed> open_;
};

// By several threads.
template <typename Int>
Pairs matched_pairs(const Store<Int>& store, Team& team) {
  BlossomOpener<Int> opener(store);
  in_parts(team, store.region.size(),
           [&](size_t, size_t low, size_t high) { opener.find_parents(low, high); });
  std::vector<Pairs> found(num_parts(store.region.size()));
  in_parts(team, store.region.size(), [&](size_t part, size_t low, size_t high) {
    std::vector<typename BlossomOpener<Int>::Closed> open;
    for (size_t r = low; r < high; ++r) {
      if (store.is_outermost(r)) opener.open(r, found[part], open);
    }
  });
  Pairs pairs = std::move(found[0]);
  for (size_t k = 1; k < found.size(); ++k) {
    pairs.matched.insert(pairs.matched.end(), found[k].matched.begin(), found[k].matched.end());
    pairs.loose.insert(pairs.loose.end(), found[k].loose.begin(), found[k].loose.end());
  }
  pairs.parent = std::move(opener.parents());
  return pairs;
}

// Appends the path along which two odd vertices met, if the vertices on it still know how they
// were reached; false: nothing is appended. That an edge ends a shortest path from a source depends
// on weights alone, so that it does not matter when it was found. end(e, side) is an end of edge e.
template <typename Int, class End>
bool append_as_met(const Store<Int>& store, const Contact& pair, const End& end,
                   std::vector<int32_t>& edges) {
  if (pair.edge < 0) return false;
  const size_t begin = edges.size();
  const auto& v = store.v;
  int32_t a = end(pair.edge, 0), b = end(pair.edge, 1);
  if (v[a].source != pair.from) std::swap(a, b);
  edges.push_back(pair.edge);
  for (const auto& [last, source] : {std::pair(a, pair.from), std::pair(b, pair.to)}) {
    int32_t x = last;
    while (v[x].source == source && x != source && edges.size() - begin <= v.size()) {
      const int32_t via = v[x].via, from = end(via, 0);
      edges.push_back(via);
      x = from != x ? from : end(via, 1);
    }
    if (x != source) {
      edges.resize(begin);
      return false;
    }
  }
  return true;
}

// Shortest paths, one pair at a time; what a search does not reach costs nothing. Of paths of one
// length those of fewer edges are looked at first: where edges weigh nothing, many vertices are
// equally near. Calls `look` every kStride vertices.
template <typename Int>
class Paths {
 public:
  explicit Paths(const Graph<Int>& graph, std::function<void()> look = {})
      : graph_(&graph), look_(std::move(look)),
        label_(static_cast<Label*>(std::calloc(size_t(graph.n) + 1, sizeof(Label)))) {
    if (!label_) throw std::bad_alloc();
  }

  // For many paths: looks up the lightest edge of every vertex once.
  void prepare() {
    lightest_.resize(graph_->n);
    for (int32_t v = 0; v < graph_->n; ++v) {
      if (graph_->offsets[v] < graph_->offsets[v + 1]) lightest_[v] = find_lightest(v);
    }
  }

  // After weights have changed.
  void forget() { lightest_.clear(); }

  // Appends the edges of a shortest path from s to t.
  void append(int32_t s, int32_t t, std::vector<int32_t>& edges) {
    if (const Arc<Int>* arc = only_edge(s, t)) {
      edges.push_back(arc->edge);
      return;
    }
    start();
    reach(s, Int(0), -1, -1);
    while (pop() != t) {
    }
    trace(t, edges);
  }

  // The same; their distance is `length` or, after weights have changed, more. Paths of few edges
  // are looked for first: where many edges weigh nothing, as near as t there may be most of the
  // graph.
  void append_of_length(int32_t s, int32_t t, const Int& length, std::vector<int32_t>& edges) {
    for (int64_t most = kFewSteps; most < graph_->n; most *= 4) {
      if (append_within(s, t, length, int32_t(most), edges)) return;
    }
    append(s, t, edges);
  }

  // Appends the edges, with repetition, of a join of `loose` and the boundary: a good one if
  // there are few, a quick one if there are many.
  void append_rest(const std::vector<int32_t>& loose, std::vector<int32_t>& edges) {
    if (loose.size() > 64 + (size_t(graph_->n) + 1) / 64) {
      append_sweep(loose, edges);
    } else if (!loose.empty()) {
      append_tree(loose, edges);
    }
  }

 private:
  // Appends the edges of a path of this length and of at most so many edges, if there is one;
  // returns whether.
  bool append_within(int32_t s, int32_t t, const Int& length, int32_t most,
                     std::vector<int32_t>& edges) {
    start();
    reach(s, Int(0), -1, -1);
    while (!heap_.empty()) {
      look_sometimes();
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      const Item item = heap_.back();
      heap_.pop_back();
      const int32_t v = item.vertex;
      if (v == t) {
        if (item.distance != length) return false;
        trace(t, edges);
        return true;
      }
      if (is_stale(item) || item.steps == most || v == graph_->n) continue;
      for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
        const Arc<Int>& arc = graph_->arcs[a];
        const Int distance = item.distance + arc.weight;
        if (distance <= length) reach(arc.to, distance, arc.edge, v);
      }
    }
    return false;
  }

  // Each vertex, last first, hands its parity on along its lightest edge to an earlier one.
  void append_sweep(const std::vector<int32_t>& loose, std::vector<int32_t>& edges);
  // Along a lightest tree of shortest paths between them (Mehlhorn 1988).
  void append_tree(const std::vector<int32_t>& loose, std::vector<int32_t>& edges);

  const Int& lightest(int32_t v) const {
    return lightest_.empty() ? find_lightest(v) : lightest_[v];
  }
  const Int& find_lightest(int32_t v) const {
    const Arc<Int>* best = &graph_->arcs[graph_->offsets[v]];
    for (int32_t a = graph_->offsets[v] + 1; a < graph_->offsets[v + 1]; ++a) {
      if (graph_->arcs[a].weight < best->weight) best = &graph_->arcs[a];
    }
    return best->weight;
  }
  // The edge between two neighbours if every other path is longer, else null. A path of two edges
  // or more leaves s by one edge and, unless it has reached the boundary, the next vertex by
  // another.
  const Arc<Int>* only_edge(int32_t s, int32_t t) const {
    const int32_t n = graph_->n;
    if (s == n) return nullptr;
    const Arc<Int>* edge = nullptr;
    for (int32_t a = graph_->offsets[s]; a < graph_->offsets[s + 1]; ++a) {
      const Arc<Int>& arc = graph_->arcs[a];
      if (arc.to == t && (edge == nullptr || arc.weight < edge->weight)) edge = &arc;
    }
    if (edge == nullptr) return nullptr;
    if (t != n) return edge->weight < lightest(s) + lightest(t) ? edge : nullptr;
    for (int32_t a = graph_->offsets[s]; a < graph_->offsets[s + 1]; ++a) {
      const Arc<Int>& arc = graph_->arcs[a];
      if (arc.to != n && !(edge->weight < arc.weight + lightest(arc.to))) return nullptr;
    }
    return edge;
  }

  struct Label {
    Int distance;
    int32_t via, from;  // edge into the vertex, and where it comes from
    int32_t steps;      // edges of the path
    uint32_t stamp;     // zero: never reached
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Item {
    Int distance;
    int32_t vertex, steps;
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const {
      return a.distance != b.distance ? a.distance > b.distance : a.steps > b.steps;
    }
  };

  void look_sometimes() {
    if (++seen_ % kStride == 0 && look_) look_();
  }
  void start() {
    heap_.clear();
    if (++stamp_ == 0) {
      for (int32_t v = 0; v <= graph_->n; ++v) label_[v].stamp = 0;
      stamp_ = 1;
    }
  }
  bool is_stale(const Item& item) const {
    const Label& label = label_[item.vertex];
    return item.distance != label.distance || item.steps != label.steps;
  }
  bool reached(int32_t v) const { return label_[v].stamp == stamp_; }
  void reach(int32_t v, const Int& distance, int32_t via, int32_t from) {
    const int32_t steps = from < 0 ? 0 : label_[from].steps + 1;
    if (reached(v) && (label_[v].distance < distance ||
                       (label_[v].distance == distance && label_[v].steps <= steps))) {
      return;
    }
    label_[v] = {distance, via, from, steps, stamp_};
    heap_.push_back({distance, v, steps});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  // Settles the nearest vertex and returns it; -1 when none is left.
  int32_t pop() {
    look_sometimes();
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      const Item item = heap_.back();
      heap_.pop_back();
      const int32_t v = item.vertex;
      if (is_stale(item)) continue;
      if (v == graph_->n) return v;
      for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
        const Arc<Int>& arc = graph_->arcs[a];
        reach(arc.to, item.distance + arc.weight, arc.edge, v);
      }
      return v;
    }
    return -1;
  }
  // Appends the path to v and returns where it begins.
  int32_t trace(int32_t v, std::vector<int32_t>& edges) const {
    for (; label_[v].from >= 0; v = label_[v].from) edges.push_back(label_[v].via);
    return v;
  }

  static constexpr uint32_t kStride = 1 << 13;
  static constexpr int32_t kFewSteps = 8;
  const Graph<Int>* graph_;
  std::function<void()> look_;
  std::unique_ptr<Label[], Free> label_;  // memory that no search reaches is never written
  std::vector<Item> heap_;
  std::vector<Int> lightest_;  // by vertex, or nothing
  uint32_t stamp_ = 0, seen_ = 0;
};

// Joins a matched pair: along the edges by which the two met, if they know and no weight has
// changed since.
template <typename Int, class End>
void append_matched(const Store<Int>& store, const std::vector<int32_t>& parent,
                    const Contact& pair, bool as_met, const End& end, Paths<Int>& paths,
                    std::vector<int32_t>& edges) {
  if (as_met && append_as_met(store, pair, end, edges)) return;
  paths.append_of_length(pair.from, pair.to, matched_length(store, parent, pair.from, pair.to),
                         edges);
}

template <typename Int>
void Paths<Int>::append_sweep(const std::vector<int32_t>& loose, std::vector<int32_t>& edges) {
  const int32_t n = graph_->n;
  std::vector<uint8_t> odd(size_t(n) + 1, 0);
  for (const int32_t v : loose) odd[v] = 1;
  for (int32_t v = n - 1; v >= 0; --v) {
    if (!odd[v]) continue;
    const Arc<Int>* best = nullptr;
    for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
      const Arc<Int>& arc = graph_->arcs[a];
      if (arc.to > v && arc.to != n) continue;
      if (best == nullptr || arc.weight < best->weight) best = &arc;
    }
    if (best == nullptr) {  // the first of its component
      append(v, n, edges);
      continue;
    }
    edges.push_back(best->edge);
    odd[best->to] ^= 1;
  }
}

template <typename Int>
void Paths<Int>::append_tree(const std::vector<int32_t>& loose, std::vector<int32_t>& edges) {
  const int32_t n = graph_->n;
  start();
  for (const int32_t s : loose) reach(s, Int(0), -1, -1);
  reach(n, Int(0), -1, -1);
  std::vector<int32_t> cell(size_t(n) + 1, -1);
  for (size_t i = 0; i < loose.size(); ++i) cell[loose[i]] = int32_t(i);
  const auto root = int32_t(loose.size());
  cell[n] = root;
  for (int32_t v = pop(); v >= 0; v = pop()) {
    if (label_[v].from >= 0) cell[v] = cell[label_[v].from];
  }
  struct Link {
    Int length;
    int32_t arc, from;
  };
  std::vector<Link> links;
  for (int32_t v = 0; v < n; ++v) {
    look_sometimes();
    if (cell[v] < 0) continue;
    for (int32_t a = graph_->offsets[v]; a < graph_->offsets[v + 1]; ++a) {
      const int32_t x = graph_->arcs[a].to;
      if (x < v || cell[x] == cell[v]) continue;
      links.push_back({label_[v].distance + graph_->arcs[a].weight + label_[x].distance, a, v});
    }
  }
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return a.length != b.length ? a.length < b.length : a.arc < b.arc;
  });
  std::vector<int32_t> leader(loose.size() + 1), degree(loose.size() + 1, 0);
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](int32_t c) {
    while (leader[c] != c) c = leader[c] = leader[leader[c]];
    return c;
  };
  // Of the tree, XOR-ed over the neighbours still there: enough to take leaves off it.
  std::vector<int32_t> neighbours(loose.size() + 1, 0), links_of(loose.size() + 1, 0);
  std::vector<Link> tree;
  for (const Link& link : links) {
    const int32_t p = cell[link.from], q = cell[graph_->arcs[link.arc].to];
    if (find(p) == find(q)) continue;
    leader[find(p)] = find(q);
    for (const auto& [c, other] : {std::pair(p, q), std::pair(q, p)}) {
      ++degree[c];
      neighbours[c] ^= other;
      links_of[c] ^= int32_t(tree.size());
    }
    tree.push_back(link);
  }
  std::vector<uint8_t> odd(loose.size() + 1, 1);
  for (int32_t leaf = 0; leaf < root; ++leaf) {
    for (int32_t c = leaf; c != root && degree[c] == 1;) {
      const int32_t next = neighbours[c];
      if (odd[c]) {
        const Link& link = tree[links_of[c]];
        const Arc<Int>& arc = graph_->arcs[link.arc];
        edges.push_back(arc.edge);
        trace(link.from, edges);
        trace(arc.to, edges);
        odd[next] ^= 1;
      }
      degree[c] = 0;
      --degree[next];
      neighbours[next] ^= c;
      links_of[next] ^= links_of[c];
      c = next;
    }
  }
}

// Edges that occur an odd number of times, ascending.
inline std::vector<int32_t> odd_edges(const std::vector<std::vector<int32_t>>& lists,
                                      size_t num_edges, Team& team) {
  UnwrittenVector<uint8_t> parity(num_edges);
  in_parts(team, num_edges, [&](size_t, size_t low, size_t high) {
    std::fill(parity.begin() + low, parity.begin() + high, uint8_t(0));
  });
  team.work(lists.size(), [&](int, int k) {
    for (const int32_t e : lists[k]) __atomic_fetch_xor(&parity[e], uint8_t(1), __ATOMIC_RELAXED);
  });
  std::vector<size_t> first(num_parts(num_edges) + 1, 0);
  in_parts(team, num_edges, [&](size_t part, size_t low, size_t high) {
    first[part + 1] = size_t(std::count(parity.begin() + low, parity.begin() + high, 1));
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int32_t> join(first.back());
  in_parts(team, num_edges, [&](size_t part, size_t low, size_t high) {
    size_t place = first[part];
    for (size_t e = low; e < high; ++e) {
      if (parity[e]) join[place++] = int32_t(e);
    }
  });
  return join;
}

// The regions as nested intervals of one order of the vertices.
template <typename Int>
class CertificateWriter {
 public:
  static constexpr bool kPlain = kBits<Int> == 64;

  // original[v] is the caller's number of the vertex at place v. Regions of one part write to one
  // `out`; `place` is shared, as regions share no vertices.
  CertificateWriter(const Store<Int>& store, const UnwrittenVector<int32_t>& original,
                    UnwrittenVector<int32_t>& place, TJoinSolution& out)
      : store_(store), original_(original), place_(place), out_(out) {}

  // Appends outermost region r and what it holds.
  void append(size_t r) {
    const auto& region = store_.region;
    const auto& vertex = store_.v;
    for (int32_t v = region[r].first;; v = vertex[v].next) {
      if (vertices_ == out_.order.size()) [[unlikely]]
        out_.order.resize(2 * vertices_ + 64);
      place_[v] = int32_t(vertices_);
      out_.order[vertices_++] = original_[v];
      if (v == region[r].last) break;
    }
    stack_.push_back({int32_t(r), -1, Int(0)});
    while (!stack_.empty()) {
      Item item = stack_.back();
      stack_.pop_back();
      const Region<Int>& g = region[item.region];
      const int32_t stop = place_[g.last] + 1;
      Int radius = g.y;
      for (int32_t v = g.first; v != g.core; v = vertex[v].next) {
        const Int inner = item.above - vertex[v].height;
        emit(radius - inner, place_[v], stop, item.parent);
        radius = inner;
      }
      emit(radius, place_[g.core], stop, item.parent);
      if (g.child < 0) continue;
      int32_t c = g.child;
      do {
        stack_.push_back({c, item.parent, item.above + region[c].y});
        c = region[c].cycle;
      } while (c != g.child);
    }
  }

  // Cuts the lists to what was written.
  void finish() {
    out_.order.resize(vertices_);
    for (auto* list : {&out_.start, &out_.stop, &out_.parent}) list->resize(sets_);
    if constexpr (kPlain) out_.values.resize(sets_);
  }

 private:
  struct Item {
    int32_t region, parent;
    Int above;  // duals of the regions between this one's vertices and the outermost
  };

  void emit(const Int& value, int32_t start, int32_t stop, int32_t& parent) {
    if (value == 0) return;
    if (sets_ == out_.start.size()) [[unlikely]] {
      for (auto* list : {&out_.start, &out_.stop, &out_.parent}) list->resize(2 * sets_ + 64);
      if constexpr (kPlain) out_.values.resize(2 * sets_ + 64);
    }
    out_.start[sets_] = start;
    out_.stop[sets_] = stop;
    out_.parent[sets_] = parent;
    if constexpr (kPlain) {
      out_.values[sets_] = value;
    } else {
      append_digits(value, kBits<Int> / 32, out_.values);
    }
    parent = int32_t(sets_++);
  }

  const Store<Int>& store_;
  const UnwrittenVector<int32_t>& original_;
  UnwrittenVector<int32_t>& place_;
  TJoinSolution& out_;
  size_t vertices_ = 0, sets_ = 0;  // that were written; the lists are longer
  std::vector<Item> stack_;
};

template <typename Int>
void write_certificate(const Store<Int>& store, const UnwrittenVector<int32_t>& original,
                       Team& team, TJoinSolution& out) {
  out.num_digits = CertificateWriter<Int>::kPlain ? 0 : kBits<Int> / 32;
  UnwrittenVector<int32_t> place(store.n);
  std::vector<TJoinSolution> found(num_parts(store.region.size()));
  in_parts(team, store.region.size(), [&](size_t part, size_t low, size_t high) {
    CertificateWriter<Int> writer(store, original, place, found[part]);
    for (size_t r = low; r < high; ++r) {
      if (store.is_outermost(r)) writer.append(r);
    }
    writer.finish();
  });
  if (found.size() == 1) {
    TJoinSolution& all = found[0];
    out.order = std::move(all.order), out.start = std::move(all.start);
    out.stop = std::move(all.stop), out.parent = std::move(all.parent);
    out.values = std::move(all.values);
    return;
  }
  std::vector<size_t> vertices(found.size() + 1, 0), sets(found.size() + 1, 0);
  for (size_t k = 0; k < found.size(); ++k) {
    vertices[k + 1] = vertices[k] + found[k].order.size();
    sets[k + 1] = sets[k] + found[k].start.size();
  }
  const size_t width = std::max(out.num_digits, 1);
  out.order.resize(vertices.back());
  for (auto* list : {&out.start, &out.stop, &out.parent}) list->resize(sets.back());
  out.values.resize(sets.back() * width);
  team.work(found.size(), [&](int, int k) {
    TJoinSolution& part = found[k];
    const auto moved = int32_t(vertices[k]), before = int32_t(sets[k]);
    std::copy(part.order.begin(), part.order.end(), out.order.begin() + moved);
    std::copy(part.values.begin(), part.values.end(),
              out.values.begin() + int64_t(sets[k] * width));
    for (size_t i = 0; i < part.start.size(); ++i) {
      out.start[sets[k] + i] = part.start[i] + moved;
      out.stop[sets[k] + i] = part.stop[i] + moved;
      out.parent[sets[k] + i] = part.parent[i] < 0 ? -1 : part.parent[i] + before;
    }
    part = {};
  });
}

}  // namespace planaris::tjoin
