#include "pfaffian/spin_correlations.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/double_double.hpp"
#include "base/team.hpp"
#include "fronts/skew_block.hpp"
#include "fronts/tree_tasks.hpp"

namespace planaris {

namespace {

constexpr int kWays = 2;  // leaves in which a spin is looked at

// What does not depend on numbers: where vertices, faces and edges lie in the tree.
struct Places {
  std::vector<int32_t> first_leaf;          // per node: first node of its subtree
  std::vector<int32_t> owner;               // per edge: the node that joins it
  std::vector<int64_t> begin;               // per vertex: where its faces begin
  std::vector<int32_t> faces;               // their places in the order of the leaves, sorted
  std::vector<uint8_t> reached;             // per vertex: joined to the source
  std::vector<std::vector<int32_t>> spins;  // per leaf node: spins to look at there

  Places(const FrontTree& tree, std::span<const int32_t> edges, int32_t num_vertices,
         int32_t source) {
    const int32_t nodes = tree.num_nodes();
    first_leaf.resize(nodes);
    owner.resize(edges.size() / 2);
    for (int32_t node = 0; node < nodes; ++node) {
      first_leaf[node] = tree.is_leaf(node) ? node : first_leaf[tree.left[node]];
      for (int32_t k = tree.own[node]; k < tree.own[node + 1]; ++k) {
        owner[tree.edge_order[k]] = node;
      }
    }
    begin.assign(num_vertices + 1, 0);
    for (const int32_t leg : tree.face_legs) ++begin[edges[leg] + 1];
    for (int32_t v = 0; v < num_vertices; ++v) begin[v + 1] += begin[v];
    faces.resize(tree.face_legs.size());
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    const auto num_faces = static_cast<int32_t>(tree.face_begin.size()) - 1;
    for (int32_t f = 0; f < num_faces; ++f) {  // in order, so every list is sorted
      for (int64_t k = tree.face_begin[f]; k < tree.face_begin[f + 1]; ++k) {
        faces[next[edges[tree.face_legs[k]]]++] = f;
      }
    }
    reach(edges, num_vertices, source);
    list_spins(tree, edges, num_vertices);
  }

  bool touches(int32_t vertex, std::pair<int32_t, int32_t> range) const {
    const auto* end = faces.data() + begin[vertex + 1];
    const auto* at = std::lower_bound(faces.data() + begin[vertex], end, range.first);
    return at != end && *at < range.second;
  }

 private:
  void reach(std::span<const int32_t> edges, int32_t num_vertices, int32_t source) {
    const std::vector<int32_t> component = connected_components(num_vertices, edges);
    reached.resize(num_vertices);
    for (int32_t v = 0; v < num_vertices; ++v) reached[v] = component[v] == component[source];
  }

  void list_spins(const FrontTree& tree, std::span<const int32_t> edges, int32_t num_vertices) {
    std::vector<uint8_t> ways(num_vertices, 0);
    std::vector<int32_t> last(num_vertices, -1);
    spins.resize(tree.num_nodes());
    for (int32_t node = 0; node < tree.num_nodes(); ++node) {
      const int64_t from = tree.face_begin[tree.leaf_faces[node]];
      const int64_t to = tree.face_begin[tree.leaf_faces[node + 1]];
      for (int64_t k = from; k < to; ++k) {
        const int32_t v = edges[tree.face_legs[k]];
        if (!reached[v] || last[v] == node || ways[v] == kWays) continue;
        last[v] = node;
        ++ways[v];
        spins[node].push_back(v);
      }
    }
  }
};

// Breadth-first search along a few edges. Arrays are as large as the graph and made once.
class PathSearch {
 public:
  explicit PathSearch(std::span<const int32_t> edges, int32_t num_vertices)
      : edges_(edges), first_(num_vertices, -1), via_(num_vertices, kUnseen) {}

  // Searches along `allowed` from a vertex until `stop(vertex)`; returns where, or -1.
  template <class Stop>
  int32_t run(int32_t from, const std::vector<int32_t>& allowed, Stop stop) {
    clear();
    next_.resize(2 * allowed.size());
    for (size_t k = 0; k < allowed.size(); ++k) {
      for (int end = 0; end < 2; ++end) {
        const int32_t v = edges_[2 * allowed[k] + end];
        next_[2 * k + end] = first_[v];
        first_[v] = static_cast<int32_t>(2 * k + end);
        used_.push_back(v);
      }
    }
    via_[from] = -1;
    used_.push_back(from);
    queue_.assign(1, from);
    for (size_t at = 0; at < queue_.size(); ++at) {
      const int32_t v = queue_[at];
      if (stop(v)) return v;
      for (int32_t k = first_[v]; k >= 0; k = next_[k]) {
        const int32_t leg = 2 * allowed[k / 2] + (k & 1), w = edges_[leg ^ 1];
        if (via_[w] != kUnseen) continue;
        via_[w] = leg;
        queue_.push_back(w);
      }
    }
    return -1;
  }

  bool met(int32_t v) const { return via_[v] != kUnseen; }

  // Edges from a vertex that was met back to where the search began.
  template <class Visit>
  void walk_back(int32_t v, Visit visit) const {
    for (; via_[v] >= 0; v = edges_[via_[v]]) visit(via_[v] >> 1);
  }

 private:
  static constexpr int32_t kUnseen = -2;

  void clear() {
    for (const int32_t v : used_) {
      first_[v] = -1;
      via_[v] = kUnseen;
    }
    used_.clear();
  }

  std::span<const int32_t> edges_;
  std::vector<int32_t> first_, via_, next_, queue_, used_;
};

template <class T>
class SpinSweep {
 public:
  SpinSweep(const FrontTree& tree, const KasteleynEntries& entries, const Fronts<T>& fronts,
            std::span<const int32_t> edges, int32_t num_vertices, int32_t source, double reference,
            int threads, Control& control)
      : tree_(tree), entries_(entries), fronts_(fronts), edges_(edges),
        places_(tree, edges, num_vertices, source), source_(source), reference_{reference, 0.0},
        team_(threads, control) {
    for (const double scale : entries.join) reference_ += {scale, 0.0};
    found_.assign(size_t(num_vertices) * kWays, NAN);
  }

  SpinCorrelations run() {
    sum_factors();
    const TreeTasks cut = cut_tasks(tree_, team_.threads());
    handed_.resize(cut.tasks.size());
    handed_.back().anchor = source_;
    for (int k = 0; k < team_.threads(); ++k) {
      workers_.push_back(std::make_unique<Worker>(edges_, places_.reached.size()));
    }
    team_.work(cut.successors(tree_, false), cut.waits(tree_, false),
               [&](int worker, int task) { run_task(cut, worker, task); });
    SpinCorrelations result;
    for (const auto& w : workers_) result.complete &= !w->failed;
    result.value = std::move(found_);
    return result;
  }

 private:
  // What lies outside a node: rows yet to be eliminated, then the legs across the boundary, in
  // the order of the boundary. The path flipped so far ends at `anchor`, a vertex of the node.
  struct Outside {
    SkewBlock<T> block;
    int32_t anchor = -1;
  };

  struct Worker {
    Worker(std::span<const int32_t> edges, size_t num_vertices)
        : search(edges, static_cast<int32_t>(num_vertices)), flipped(edges.size() / 2, 0) {}
    std::vector<Outside> stack;
    BlockElimination<T> elimination;
    PathSearch search;
    std::vector<uint8_t> flipped;  // per edge
    std::vector<int32_t> path, allowed, rows;
    bool failed = false;
    double done = 0.0;
  };

  // Pivots of whole subtrees.
  void sum_factors() {
    below_.resize(tree_.num_nodes());
    for (int32_t node = 0; node < tree_.num_nodes(); ++node) {
      const FrontMatrix<T>& front = fronts_[node];
      SignedLog& sum = below_[node];
      sum = {{front.log_pivots, 0.0}, front.sign};
      if (tree_.is_leaf(node)) continue;
      sum *= contribution_factor(node, 0);
      sum *= contribution_factor(node, 1);
    }
  }

  SignedLog contribution_factor(int32_t node, int side) const {
    const FrontMatrix<T>& front = fronts_[node];
    const auto count = static_cast<int32_t>(front.exponents.size());
    SignedLog factor = below_[side == 0 ? tree_.left[node] : tree_.right[node]];
    const int32_t from = side == 0 ? 0 : front.delayed_left;
    const int32_t to = side == 0 ? front.delayed_left : count;
    for (int32_t k = from; k < to; ++k) factor.log -= multiple_of_ln2(front.exponents[k]);
    return factor;
  }

  void run_task(const TreeTasks& cut, int worker, int task) {
    Worker& w = *workers_[worker];
    const auto [first, last] = cut.tasks[task];
    w.stack.clear();
    w.stack.push_back(std::move(handed_[task]));
    for (int32_t node = last; node >= first; --node) {
      w.done += tree_.own_work(node);
      team_.check(worker, w.done * team_.threads() / tree_.work.back());
      const Outside outside = std::move(w.stack.back());
      w.stack.pop_back();
      if (tree_.is_leaf(node)) {
        if (outside.anchor >= 0) visit_leaf(w, node, outside);
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        const int32_t child = side == 0 ? tree_.left[node] : tree_.right[node];
        Outside down;
        if (outside.anchor >= 0 && has_spins(child)) down = descend(w, node, side, outside);
        const int32_t below = cut.task_of_root[child];
        if (first == last && below >= 0) {
          handed_[below] = std::move(down);
        } else {
          w.stack.push_back(std::move(down));  // the right child comes first
        }
      }
    }
  }

  bool has_spins(int32_t node) const {
    for (int32_t k = places_.first_leaf[node]; k <= node; ++k) {
      if (!places_.spins[k].empty()) return true;
    }
    return false;
  }

  std::pair<int32_t, int32_t> range(int32_t node) const {
    return {tree_.leaf_faces[places_.first_leaf[node]], tree_.leaf_faces[node + 1]};
  }

  T join(const Worker& w, int32_t edge) const {
    const T value = exponential<T>(entries_.join[2 * edge] + entries_.join[2 * edge + 1]);
    return (entries_.sign[edge] > 0) != (w.flipped[edge] != 0) ? value : -value;
  }

  // Rows of a child's contribution in the front of its parent as it was stored.
  std::vector<int32_t> rows_of_child(int32_t node, int side) const {
    const FrontMatrix<T>& front = fronts_[node];
    const int32_t child = side == 0 ? tree_.left[node] : tree_.right[node];
    const int32_t own = tree_.own_rows(node);
    const auto delayed = static_cast<int32_t>(front.exponents.size());
    std::vector<int32_t> rows;
    const int32_t from = side == 0 ? 0 : front.delayed_left;
    const int32_t to = side == 0 ? front.delayed_left : delayed;
    for (int32_t k = from; k < to; ++k) rows.push_back(own + k);
    for (int64_t k = tree_.boundary[child]; k < tree_.boundary[child + 1]; ++k) {
      rows.push_back(tree_.place[k] < own ? tree_.place[k] : tree_.place[k] + delayed);
    }
    return rows;
  }

  SkewBlock<T> stored_child(int32_t node, int side) const {
    const std::vector<int32_t> rows = rows_of_child(node, side);
    const int32_t child = side == 0 ? tree_.left[node] : tree_.right[node];
    const auto count = static_cast<int32_t>(rows.size());
    SkewBlock<T> block(count, count - tree_.boundary_rows(child));
    block.factor = contribution_factor(node, side);
    for (int32_t j = 0; j < count; ++j) {
      for (int32_t i = j + 1; i < count; ++i) {
        block.column(j)[i] = fronts_[node].entry(rows[i], rows[j]);
      }
    }
    return block;
  }

  // Puts the path from the anchor to the child into w.path and marks it as flipped; returns its
  // end. It leads along the boundary of the sibling if it can, through its inside if it must.
  int32_t find_path(Worker& w, int32_t node, int32_t child, int32_t sibling, int32_t anchor) {
    w.path.clear();
    const auto target = range(child);
    const auto arrived = [&](int32_t v) { return places_.touches(v, target); };
    if (arrived(anchor)) return anchor;
    const int32_t own = tree_.own_rows(node);
    w.allowed.clear();
    for (int64_t k = tree_.boundary[sibling]; k < tree_.boundary[sibling + 1]; ++k) {
      if (tree_.place[k] >= own) w.allowed.push_back(tree_.boundary_legs[k] >> 1);
    }
    int32_t end = w.search.run(anchor, w.allowed, arrived);
    if (end < 0) {
      w.allowed.clear();
      const auto [from, to] = range(sibling);
      for (int64_t k = tree_.face_begin[from]; k < tree_.face_begin[to]; ++k) {
        w.allowed.push_back(tree_.face_legs[k] >> 1);
      }
      end = w.search.run(anchor, w.allowed, arrived);
    }
    if (end >= 0) w.search.walk_back(end, [&](int32_t edge) { w.path.push_back(edge); });
    return end;
  }

  Outside descend(Worker& w, int32_t node, int side, const Outside& outside) {
    const int32_t children[2] = {tree_.left[node], tree_.right[node]};
    const int32_t child = children[side], sibling = children[1 - side];
    Outside down;
    down.anchor = find_path(w, node, child, sibling, outside.anchor);
    if (down.anchor < 0) {  // cannot be: nodes are connected within a component
      w.failed = true;
      return down;
    }
    for (const int32_t edge : w.path) w.flipped[edge] = 1;
    const SkewBlock<T> beside = contribution(w, node, 1 - side);
    down.block = put_together(w, node, child, sibling, outside.block, beside);
    if (w.path.size() % 2 == 1) down.block.factor.sign = -down.block.factor.sign;
    for (const int32_t edge : w.path) w.flipped[edge] = 0;
    return down;
  }

  // The outside of a child: that of the node and the sibling, edges between these two joined.
  SkewBlock<T> put_together(Worker& w, int32_t node, int32_t child, int32_t sibling,
                            const SkewBlock<T>& outside, const SkewBlock<T>& beside) {
    const int32_t own = tree_.own_rows(node);
    std::vector<int32_t> to_outside(outside.rows, -1), to_beside(beside.rows, -1);
    std::vector<int32_t> beside_row(own, -1);  // of the node's own legs
    const int32_t* place = tree_.place.data() + tree_.boundary[sibling];
    const int32_t* legs = tree_.boundary_legs.data() + tree_.boundary[sibling];
    int32_t count = 0;
    struct Pair {
      int32_t even, odd, edge;
    };
    std::vector<Pair> pairs;
    for (int32_t k = 0; k < tree_.boundary_rows(sibling); ++k) {
      if (place[k] < own) {
        beside_row[place[k]] = beside.pending + k;
        continue;
      }
      const bool even = (legs[k] & 1) == 0;
      to_beside[beside.pending + k] = count + (even ? 0 : 1);
      to_outside[outside.pending + place[k] - own] = count + (even ? 1 : 0);
      pairs.push_back({count, count + 1, legs[k] >> 1});
      count += 2;
    }
    for (int32_t k = 0; k < outside.pending; ++k) to_outside[k] = count++;
    for (int32_t k = 0; k < beside.pending; ++k) to_beside[k] = count++;
    const int32_t candidates = count;
    place = tree_.place.data() + tree_.boundary[child];
    for (int32_t k = 0; k < tree_.boundary_rows(child); ++k) {
      if (place[k] < own) {
        to_beside[beside_row[place[k] ^ 1]] = count++;
      } else {
        to_outside[outside.pending + place[k] - own] = count++;
      }
    }
    SkewBlock<T> block(count, 0);
    block.factor = outside.factor * beside.factor;
    scatter(outside, to_outside, block);
    scatter(beside, to_beside, block);
    for (const Pair& p : pairs) block.join(p.even, p.odd, join(w, p.edge));
    return w.elimination.reduce(std::move(block), candidates);
  }

  static void scatter(const SkewBlock<T>& from, const std::vector<int32_t>& rows,
                      SkewBlock<T>& to) {
    for (int32_t j = 0; j < from.rows; ++j) {
      for (int32_t i = j + 1; i < from.rows; ++i) to.set(rows[i], rows[j], from.column(j)[i]);
    }
  }

  // What a child leaves to its parent, with the flipped edges of the path flipped.
  SkewBlock<T> contribution(Worker& w, int32_t node, int side) {
    const int32_t child = side == 0 ? tree_.left[node] : tree_.right[node];
    std::map<int32_t, SkewBlock<T>> changed;  // in postorder
    for (const int32_t edge : w.path) {
      const int32_t owner = places_.owner[edge];
      if (owner < places_.first_leaf[child] || owner > child) continue;
      for (int32_t at = owner; changed.try_emplace(at).second && at != child;) {
        at = tree_.parent[at];
      }
    }
    if (changed.empty()) return stored_child(node, side);
    for (auto& [at, block] : changed) block = eliminate_again(w, at, changed);
    return std::move(changed[child]);
  }

  SkewBlock<T> eliminate_again(Worker& w, int32_t node, std::map<int32_t, SkewBlock<T>>& changed) {
    const int32_t own = tree_.own_rows(node), boundary = tree_.boundary_rows(node);
    SkewBlock<T> block;
    int32_t delayed = 0;
    if (tree_.is_leaf(node)) {
      block = SkewBlock<T>(own + boundary, 0);
      for (int32_t j = 0; j < block.rows; ++j) {
        for (int32_t i = j + 1; i < block.rows; ++i) block.column(j)[i] = fronts_[node].entry(i, j);
      }
    } else {
      SkewBlock<T> parts[2];
      for (int side = 0; side < 2; ++side) {
        const auto it = changed.find(side == 0 ? tree_.left[node] : tree_.right[node]);
        parts[side] = it == changed.end() ? stored_child(node, side) : std::move(it->second);
      }
      delayed = parts[0].pending + parts[1].pending;
      block = SkewBlock<T>(own + delayed + boundary, 0);
      block.factor = parts[0].factor * parts[1].factor;
      for (int side = 0; side < 2; ++side) {
        const int32_t child = side == 0 ? tree_.left[node] : tree_.right[node];
        const int32_t before = own + (side == 0 ? 0 : parts[0].pending);
        std::vector<int32_t> rows(parts[side].rows);
        for (int32_t k = 0; k < parts[side].rows; ++k) {
          const int32_t p = k < parts[side].pending
                                ? 0
                                : tree_.place[tree_.boundary[child] + k - parts[side].pending];
          rows[k] = k < parts[side].pending ? before + k : (p < own ? p : p + delayed);
        }
        scatter(parts[side], rows, block);
      }
    }
    for (int32_t k = 0; k < own / 2; ++k) {
      block.join(2 * k, 2 * k + 1, join(w, tree_.edge_order[tree_.own[node] + k]));
    }
    return w.elimination.reduce(std::move(block), own + delayed);
  }

  // Everything is in one small matrix: the leaf's legs, those across its boundary, what is
  // pending. One Pfaffian per spin.
  void visit_leaf(Worker& w, int32_t node, const Outside& outside) {
    const int32_t own = tree_.own_rows(node), boundary = tree_.boundary_rows(node);
    const int32_t pending = outside.block.pending;
    const int32_t inside = own + boundary, rows = inside + boundary + pending;
    SkewBlock<T> bare(rows, 0);
    bare.factor = outside.block.factor;
    const FrontMatrix<T>& front = fronts_[node];
    // Two legs of an edge side by side, the even one first.
    std::vector<int32_t> to_inside(inside), to_outside(outside.block.rows), edges;
    for (int32_t k = 0; k < own; ++k) to_inside[k] = k;
    for (int32_t k = 0; k < own / 2; ++k) {
      edges.push_back(tree_.edge_order[tree_.own[node] + k]);
    }
    for (int32_t k = 0; k < boundary; ++k) {
      const int32_t leg = tree_.boundary_legs[tree_.boundary[node] + k];
      to_inside[own + k] = own + 2 * k + (leg & 1);
      to_outside[pending + k] = own + 2 * k + 1 - (leg & 1);
      edges.push_back(leg >> 1);
    }
    for (int32_t k = 0; k < pending; ++k) to_outside[k] = inside + boundary + k;
    for (int32_t j = 0; j < inside; ++j) {
      for (int32_t i = j + 1; i < inside; ++i) {
        bare.set(to_inside[i], to_inside[j], front.entry(i, j));
      }
    }
    scatter(outside.block, to_outside, bare);
    w.search.run(outside.anchor, edges, [](int32_t) { return false; });
    for (const int32_t v : places_.spins[node]) {
      w.failed |= !w.search.met(v);  // cannot be: leaves are connected within a component
      SkewBlock<T> block = bare;
      int flips = 0;
      w.search.walk_back(v, [&](int32_t edge) {
        w.flipped[edge] = 1;
        ++flips;
      });
      for (size_t k = 0; k < edges.size(); ++k) {
        const auto at = static_cast<int32_t>(2 * k);
        block.join(at, at + 1, join(w, edges[k]));
      }
      w.search.walk_back(v, [&](int32_t edge) { w.flipped[edge] = 0; });
      const SignedLog found = w.elimination.pfaffian(block, rows);
      const double above = (found.log - reference_).high;
      const double size = found.is_zero() ? 0.0 : std::exp(std::min(above, 700.0));
      // Leaves of one spin write to different places: the first one in postorder to the first.
      const int way = first_way(node, v) ? 0 : 1;
      found_[size_t(kWays) * v + way] = (flips % 2 == 0 ? size : -size) * found.sign;
    }
  }

  bool first_way(int32_t node, int32_t v) const {
    return tree_.leaf_faces[node] <= places_.faces[places_.begin[v]];
  }

  const FrontTree& tree_;
  KasteleynEntries entries_;
  const Fronts<T>& fronts_;
  std::span<const int32_t> edges_;
  Places places_;
  int32_t source_;
  TwoDoubles reference_;
  Team team_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Outside> handed_;
  std::vector<SignedLog> below_;
  std::vector<double> found_;
};

}  // namespace

template <class T>
SpinCorrelations spin_correlations(const FrontTree& tree, const KasteleynEntries& entries,
                                   const Fronts<T>& fronts, std::span<const int32_t> edges,
                                   int32_t num_vertices, int32_t source, double reference,
                                   int threads, Control& control) {
  if (edges.empty()) return {std::vector<double>(size_t(num_vertices) * kWays, NAN), true};
  return SpinSweep<T>(tree, entries, fronts, edges, num_vertices, source, reference, threads,
                      control)
      .run();
}

template SpinCorrelations spin_correlations<double>(const FrontTree&, const KasteleynEntries&,
                                                    const Fronts<double>&, std::span<const int32_t>,
                                                    int32_t, int32_t, double, int, Control&);
template SpinCorrelations spin_correlations<DoubleDouble>(const FrontTree&, const KasteleynEntries&,
                                                          const Fronts<DoubleDouble>&,
                                                          std::span<const int32_t>, int32_t,
                                                          int32_t, double, int, Control&);

}  // namespace planaris
