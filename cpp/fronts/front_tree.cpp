#include "fronts/front_tree.hpp"

#include <algorithm>
#include <numeric>

#include "fronts/dissection.hpp"

namespace planaris {

namespace {

// Calls visit(node, legs) in postorder; `legs` are the leaf's legs or those left by its children
// and visit returns how many of them (moved to the front) stay.
template <class Visit>
void sweep_legs(const Dissection& d, const Faces& faces, Visit visit) {
  std::vector<int32_t> stack;
  std::vector<int32_t> left_over(d.range.size());
  for (int32_t node = 0; node < static_cast<int32_t>(d.range.size()); ++node) {
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
    left_over[node] = visit(node, std::span<int32_t>(stack.data() + base, count));
    stack.resize(base + left_over[node]);
  }
}

void join_edges(const Dissection& d, const Faces& faces, int32_t last_edge, FrontTree& tree) {
  std::vector<int32_t> position(d.order.size());
  for (size_t k = 0; k < d.order.size(); ++k) position[d.order[k]] = static_cast<int32_t>(k);
  const auto root = static_cast<int32_t>(d.range.size()) - 1;
  tree.own.assign(1, 0);
  tree.edge_order.reserve(faces.walk.size() / 2);
  sweep_legs(d, faces, [&](int32_t node, std::span<int32_t> legs) {
    const FaceRange r = d.range[node];
    int32_t stay = 0;
    for (const int32_t h : legs) {
      const int32_t other = position[faces.face_of[h ^ 1]];
      const bool last = h >> 1 == last_edge;
      if (other < r.begin || other >= r.end || (last && node != root)) {
        legs[stay++] = h;
      } else if ((h & 1) == 0 && !last) {
        tree.edge_order.push_back(h >> 1);
      }
    }
    if (node == root && last_edge >= 0) tree.edge_order.push_back(last_edge);
    tree.own.push_back(static_cast<int32_t>(tree.edge_order.size()));
    return stay;
  });
}

void list_leaf_faces(const Dissection& d, const Faces& faces, FrontTree& tree) {
  tree.leaf_faces.assign(1, 0);
  tree.face_begin.assign(1, 0);
  tree.face_legs.reserve(faces.walk.size());
  for (size_t node = 0; node < d.range.size(); ++node) {
    if (d.left[node] < 0) {
      for (int32_t k = d.range[node].begin; k < d.range[node].end; ++k) {
        const int32_t f = d.order[k];
        tree.face_legs.insert(tree.face_legs.end(), faces.walk.begin() + faces.offsets[f],
                              faces.walk.begin() + faces.offsets[f + 1]);
        tree.face_begin.push_back(static_cast<int64_t>(tree.face_legs.size()));
      }
    }
    tree.leaf_faces.push_back(static_cast<int32_t>(tree.face_begin.size()) - 1);
  }
}

// Rows of every front, sorted by rank, and where boundary rows lie in the parent's front.
void lay_out_fronts(const Dissection& d, const Faces& faces, FrontTree& tree) {
  std::vector<int32_t> rank(faces.walk.size()), row(faces.walk.size()), merged;
  for (size_t k = 0; k < tree.edge_order.size(); ++k) {
    rank[2 * tree.edge_order[k]] = static_cast<int32_t>(2 * k);
    rank[2 * tree.edge_order[k] + 1] = static_cast<int32_t>(2 * k) + 1;
  }
  tree.boundary.assign(1, 0);
  sweep_legs(d, faces, [&](int32_t node, std::span<int32_t> legs) {
    if (tree.is_leaf(node)) {
      std::sort(legs.begin(), legs.end(), [&](int32_t a, int32_t b) { return rank[a] < rank[b]; });
      for (size_t k = 0; k < legs.size(); ++k) row[legs[k]] = static_cast<int32_t>(k);
      const int64_t begin = tree.face_begin[tree.leaf_faces[node]];
      const int64_t end = tree.face_begin[tree.leaf_faces[node + 1]];
      for (int64_t k = begin; k < end; ++k) tree.face_rows.push_back(row[tree.face_legs[k]]);
    } else {
      const int32_t l = tree.left[node], r = tree.right[node];
      const int32_t nl = tree.boundary_rows(l), nr = tree.boundary_rows(r);
      int32_t* place_l = tree.place.data() + tree.boundary[l];
      int32_t* place_r = tree.place.data() + tree.boundary[r];
      merged.clear();
      for (int32_t i = 0, j = 0; i < nl || j < nr;) {
        const bool from_left = j == nr || (i < nl && rank[legs[i]] < rank[legs[nl + j]]);
        (from_left ? place_l[i] : place_r[j]) = static_cast<int32_t>(merged.size());
        merged.push_back(from_left ? legs[i] : legs[nl + j]);
        (from_left ? i : j) += 1;
      }
      std::copy(merged.begin(), merged.end(), legs.begin());
    }
    const int32_t own = tree.own_rows(node);
    const auto stay = static_cast<int32_t>(legs.size()) - own;
    tree.boundary_legs.insert(tree.boundary_legs.end(), legs.begin() + own, legs.end());
    std::copy(legs.begin() + own, legs.end(), legs.begin());
    tree.boundary.push_back(tree.boundary.back() + stay);
    tree.place.resize(tree.boundary.back());
    return stay;
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
  join_edges(d, faces, last_edge, tree);
  list_leaf_faces(d, faces, tree);
  lay_out_fronts(d, faces, tree);
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
