#include "fronts/front_tree.hpp"

#include <algorithm>
#include <numeric>

#include "base/team.hpp"
#include "fronts/dissection.hpp"

namespace planaris {

namespace {

constexpr int32_t kFewNodes = 2048;  // of a subtree that one thread lays out
constexpr int32_t kSubtrees = 64;    // about, of a large tree

// The tree in subtrees, which are ranges of nodes in postorder, and the nodes above them. A
// function of the tree alone.
struct Subtrees {
  std::vector<FaceRange> ranges;  // of nodes
  std::vector<int32_t> above;     // in postorder

  explicit Subtrees(const FrontTree& tree) {
    const int32_t n = tree.num_nodes();
    const int32_t most = std::max(kFewNodes, n / kSubtrees);
    std::vector<int32_t> size(n, 1);
    for (int32_t node = 0; node < n; ++node) {
      if (tree.parent[node] >= 0) size[tree.parent[node]] += size[node];
    }
    for (int32_t node = 0; node < n; ++node) {
      const int32_t parent = tree.parent[node];
      if (size[node] > most) {
        above.push_back(node);
      } else if (parent < 0 || size[parent] > most) {
        ranges.push_back({node - size[node] + 1, node + 1});
      }
    }
  }
};

// Calls visit(node, legs, subtree) in postorder within every subtree, subtrees side by side, then
// for the nodes above (subtree -1). `legs` are the leaf's legs or those left by its children, and
// visit returns how many of them (moved to the front) stay.
template <class Visit>
void sweep_legs(const Dissection& d, const Faces& faces, const Subtrees& subtrees, Team& team,
                Visit visit) {
  std::vector<int32_t> left_over(d.range.size());
  std::vector<std::vector<int32_t>> legs_of(d.range.size());  // of roots of subtrees and above
  const auto sweep = [&](int32_t subtree) {
    const FaceRange nodes = subtrees.ranges[subtree];
    std::vector<int32_t> stack;
    for (int32_t node = nodes.begin; node < nodes.end; ++node) {
      int32_t count = 0;
      if (d.left[node] < 0) {
        for (int32_t k = d.range[node].begin; k < d.range[node].end; ++k) {
          const int32_t f = d.order[k];
          stack.insert(stack.end(), faces.walk.begin() + faces.offsets[f],
                       faces.walk.begin() + faces.offsets[f + 1]);
          count += faces.offsets[f + 1] - faces.offsets[f];
        }
      } else {
        count = left_over[d.left[node]] + left_over[d.right[node]];
      }
      const size_t base = stack.size() - count;
      left_over[node] = visit(node, std::span<int32_t>(stack.data() + base, count), subtree);
      stack.resize(base + left_over[node]);
    }
    legs_of[nodes.end - 1] = std::move(stack);
  };
  team.work(subtrees.ranges.size(), [&](int worker, int task) {
    team.check(worker);
    sweep(task);
  });
  for (const int32_t node : subtrees.above) {
    std::vector<int32_t>& legs = legs_of[node];
    for (const int32_t child : {d.left[node], d.right[node]}) {
      legs.insert(legs.end(), legs_of[child].begin(), legs_of[child].end());
      legs_of[child] = {};
    }
    left_over[node] = visit(node, std::span<int32_t>(legs), -1);
    legs.resize(left_over[node]);
  }
}

// Where edges are joined: `edge_order` and `own`; and how many boundary rows every node has.
void join_edges(const Dissection& d, const Faces& faces, const Subtrees& subtrees,
                int32_t last_edge, Team& team, FrontTree& tree) {
  std::vector<int32_t> position(d.order.size());
  for (size_t k = 0; k < d.order.size(); ++k) position[d.order[k]] = static_cast<int32_t>(k);
  const int32_t n = tree.num_nodes(), root = n - 1;
  tree.own.assign(n + 1, 0);
  tree.boundary.assign(n + 1, 0);
  // Edges of a subtree, in order; of the nodes above, one list each.
  std::vector<std::vector<int32_t>> joined(subtrees.ranges.size()), above;
  sweep_legs(d, faces, subtrees, team, [&](int32_t node, std::span<int32_t> legs, int32_t subtree) {
    std::vector<int32_t>& edges = subtree < 0 ? above.emplace_back() : joined[subtree];
    const FaceRange r = d.range[node];
    const size_t before = edges.size();
    int32_t stay = 0;
    for (const int32_t h : legs) {
      const int32_t other = position[faces.face_of[h ^ 1]];
      const bool last = h >> 1 == last_edge;
      if (other < r.begin || other >= r.end || (last && node != root)) {
        legs[stay++] = h;
      } else if ((h & 1) == 0 && !last) {
        edges.push_back(h >> 1);
      }
    }
    if (node == root && last_edge >= 0) edges.push_back(last_edge);
    tree.own[node + 1] = static_cast<int32_t>(edges.size() - before);
    tree.boundary[node + 1] = stay;
    return stay;
  });
  std::partial_sum(tree.own.begin(), tree.own.end(), tree.own.begin());
  std::partial_sum(tree.boundary.begin(), tree.boundary.end(), tree.boundary.begin());
  tree.edge_order.resize(tree.own.back());
  const auto place = [&](int32_t node, const std::vector<int32_t>& edges) {
    std::copy(edges.begin(), edges.end(), tree.edge_order.begin() + tree.own[node]);
  };
  for (size_t k = 0; k < joined.size(); ++k) place(subtrees.ranges[k].begin, joined[k]);
  for (size_t k = 0; k < above.size(); ++k) place(subtrees.above[k], above[k]);
}

void list_leaf_faces(const Dissection& d, const Faces& faces, Team& team, FrontTree& tree) {
  tree.leaf_faces.assign(1, 0);
  for (size_t node = 0; node < d.range.size(); ++node) {
    const int32_t count = d.left[node] < 0 ? d.range[node].end - d.range[node].begin : 0;
    tree.leaf_faces.push_back(tree.leaf_faces.back() + count);
  }
  // Leaves hold the faces in the order of the dissection.
  tree.face_begin.assign(1, 0);
  for (const int32_t f : d.order) {
    tree.face_begin.push_back(tree.face_begin.back() + faces.offsets[f + 1] - faces.offsets[f]);
  }
  tree.face_legs.resize(tree.face_begin.back());
  const auto count = static_cast<int64_t>(d.order.size());
  team.split(count, Team::parts(10.0 * static_cast<double>(count)),
             [&](int64_t begin, int64_t end, int) {
               for (int64_t k = begin; k < end; ++k) {
                 const int32_t f = d.order[k];
                 std::copy(faces.walk.begin() + faces.offsets[f],
                           faces.walk.begin() + faces.offsets[f + 1],
                           tree.face_legs.begin() + tree.face_begin[k]);
               }
             });
}

// Merges the boundary rows of two children, sorted by rank, and notes where each row goes.
void merge_rows(std::span<int32_t> legs, std::span<const int32_t> rank, std::span<int32_t> left,
                std::span<int32_t> right, std::vector<int32_t>& merged) {
  const size_t nl = left.size(), nr = right.size();
  merged.clear();
  for (size_t i = 0, j = 0; i < nl || j < nr;) {
    const bool from_left = j == nr || (i < nl && rank[legs[i]] < rank[legs[nl + j]]);
    (from_left ? left[i] : right[j]) = static_cast<int32_t>(merged.size());
    merged.push_back(from_left ? legs[i] : legs[nl + j]);
    (from_left ? i : j) += 1;
  }
  std::copy(merged.begin(), merged.end(), legs.begin());
}

// Rows of every front, sorted by rank, and where boundary rows lie in the parent's front.
void lay_out_fronts(const Dissection& d, const Faces& faces, const Subtrees& subtrees, Team& team,
                    FrontTree& tree) {
  std::vector<int32_t> rank(faces.walk.size()), row(faces.walk.size());
  for (size_t k = 0; k < tree.edge_order.size(); ++k) {
    rank[2 * tree.edge_order[k]] = static_cast<int32_t>(2 * k);
    rank[2 * tree.edge_order[k] + 1] = static_cast<int32_t>(2 * k) + 1;
  }
  tree.place.resize(tree.boundary.back());
  tree.boundary_legs.resize(tree.boundary.back());
  tree.face_rows.resize(tree.face_legs.size());
  const auto places = [&tree](int32_t child) {
    return std::span(tree.place).subspan(tree.boundary[child], tree.boundary_rows(child));
  };
  std::vector<std::vector<int32_t>> merged(subtrees.ranges.size() + 1);
  sweep_legs(d, faces, subtrees, team, [&](int32_t node, std::span<int32_t> legs, int32_t subtree) {
    if (tree.is_leaf(node)) {
      std::sort(legs.begin(), legs.end(), [&](int32_t a, int32_t b) { return rank[a] < rank[b]; });
      for (size_t k = 0; k < legs.size(); ++k) row[legs[k]] = static_cast<int32_t>(k);
      const int64_t begin = tree.face_begin[tree.leaf_faces[node]];
      const int64_t end = tree.face_begin[tree.leaf_faces[node + 1]];
      for (int64_t k = begin; k < end; ++k) tree.face_rows[k] = row[tree.face_legs[k]];
    } else {
      merge_rows(legs, rank, places(tree.left[node]), places(tree.right[node]),
                 subtree < 0 ? merged.back() : merged[subtree]);
    }
    const int32_t own = tree.own_rows(node);
    std::copy(legs.begin() + own, legs.end(), tree.boundary_legs.begin() + tree.boundary[node]);
    std::copy(legs.begin() + own, legs.end(), legs.begin());
    return static_cast<int32_t>(legs.size()) - own;
  });
}

}  // namespace

FrontTree dissect_faces(const Faces& faces, std::span<const double> centres, int32_t leaf_size,
                        Control& control, int32_t last_edge) {
  const Dissection d = bisect_faces(faces, centres, std::max(leaf_size, 1), control);
  FrontTree tree;
  tree.left = d.left;
  tree.right = d.right;
  const int32_t num_nodes = tree.num_nodes();
  tree.parent.assign(num_nodes, -1);
  for (int32_t node = 0; node < num_nodes; ++node) {
    if (!tree.is_leaf(node)) tree.parent[d.left[node]] = tree.parent[d.right[node]] = node;
  }
  const Subtrees subtrees(tree);
  Team team(std::min<int>(control.threads(), static_cast<int>(subtrees.ranges.size())), control);
  join_edges(d, faces, subtrees, last_edge, team, tree);
  list_leaf_faces(d, faces, team, tree);
  lay_out_fronts(d, faces, subtrees, team, tree);
  tree.work.assign(num_nodes, 0.0);
  for (int32_t node = 0; node < num_nodes; ++node) {
    const double n = tree.rows(node), b = tree.boundary_rows(node);
    tree.work[node] += (n * n * n - b * b * b) / 3 + 4 * n * n + 100;
    if (tree.parent[node] >= 0) tree.work[tree.parent[node]] += tree.work[node];
  }
  return tree;
}

namespace {

// Order in which a search from the smallest vertex of every component meets the vertices, and
// the half-edge from each to the vertex that found it (-1 at the first of a component).
struct SpanningForest {
  std::vector<int32_t> order, to_parent;
};

SpanningForest spanning_forest(const RotationView& r) {
  const int32_t n = r.num_vertices();
  SpanningForest forest;
  forest.order.reserve(n);
  forest.to_parent.assign(n, -1);
  std::vector<char> seen(n, 0);
  for (int32_t root = 0; root < n; ++root) {
    if (seen[root]) continue;
    seen[root] = 1;
    forest.order.push_back(root);
    for (size_t at = forest.order.size() - 1; at < forest.order.size(); ++at) {
      const int32_t v = forest.order[at];
      for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
        const int32_t h = r.rotation[k], w = r.head(h);
        if (seen[w]) continue;
        seen[w] = 1;
        forest.to_parent[w] = h ^ 1;
        forest.order.push_back(w);
      }
    }
  }
  return forest;
}

}  // namespace

std::vector<int8_t> kasteleyn_signs(const RotationView& r, const Faces& faces) {
  std::vector<int32_t> place(faces.walk.size());
  for (size_t k = 0; k < faces.walk.size(); ++k) place[faces.walk[k]] = static_cast<int32_t>(k);
  const SpanningForest forest = spanning_forest(r);
  std::vector<int8_t> sigma(faces.walk.size() / 2, 1);
  for (size_t at = forest.order.size(); at-- > 0;) {
    const int32_t v = forest.order[at], up = forest.to_parent[v];
    if (up < 0) continue;
    int product = 1;
    for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
      const int32_t h = r.rotation[k];
      const int32_t next = r.rotation[k + 1 == r.offsets[v + 1] ? r.offsets[v] : k + 1];
      // From the leg right of h to the leg left of it ...
      if (h != up) product *= sigma[h >> 1] * ((h & 1) ? 1 : -1);
      // ... and through the face on its left to the next edge counter-clockwise.
      if (place[h] > place[next ^ 1]) product = -product;
    }
    sigma[up >> 1] = static_cast<int8_t>(-product * ((up & 1) ? 1 : -1));
  }
  return sigma;
}

}  // namespace planaris
