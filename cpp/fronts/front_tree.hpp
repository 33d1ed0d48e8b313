// Nested dissection of the faces of a rotation system, for elimination of its Kasteleyn matrix.
//
// The matrix has one row per half-edge ("leg"): the legs of a face form a clique, the two legs
// of an edge are joined. A node of the tree stands for a set of faces; an edge is joined at the
// lowest node that holds both its faces, and both its legs are eliminated there. Rows of a front
// are sorted by the order in which edges are joined (children first), so that a front's own legs
// come first, the two of an edge side by side, and maps from child to parent are increasing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"

namespace planaris {

struct FrontTree {
  // Nodes in postorder: children before parents, the root last. Leaves have children -1.
  std::vector<int32_t> left, right, parent;
  std::vector<int32_t> edge_order;     // edges in the order in which they are joined
  std::vector<int32_t> own;            // num_nodes + 1: where a node's edges begin in edge_order
  std::vector<int64_t> boundary;       // num_nodes + 1: where a node's boundary rows begin
  std::vector<int32_t> place;          // row of the parent's front for every boundary row
  std::vector<int32_t> boundary_legs;  // leg of every boundary row
  std::vector<int32_t> leaf_faces;     // num_nodes + 1: where a leaf's faces begin in face_begin
  std::vector<int64_t> face_begin;     // listed faces + 1: where a face begins in face_legs
  std::vector<int32_t> face_legs;      // half-edges in walking order
  std::vector<int32_t> face_rows;      // their rows in the front of the leaf
  std::vector<double> work;            // per node: multiplications of its subtree, about

  int32_t num_nodes() const { return static_cast<int32_t>(left.size()); }
  int32_t own_rows(int32_t node) const { return 2 * (own[node + 1] - own[node]); }
  int32_t boundary_rows(int32_t node) const {
    return static_cast<int32_t>(boundary[node + 1] - boundary[node]);
  }
  int32_t rows(int32_t node) const { return own_rows(node) + boundary_rows(node); }
  bool is_leaf(int32_t node) const { return left[node] < 0; }
  // Multiplications of a node's own front, about.
  double own_work(int32_t node) const {
    return is_leaf(node) ? work[node] : work[node] - work[left[node]] - work[right[node]];
  }
};

// `centres` holds two coordinates per face, by which faces are cut in halves until at most
// `leaf_size` are left; without centres, the dual graph is bisected instead. `last_edge`, if not
// negative, is joined at the root, after all others.
FrontTree dissect_faces(const Faces& faces, std::span<const double> centres, int32_t leaf_size,
                        Control& control, int32_t last_edge = -1);

// Signs of the joins, one per edge: around every vertex but one per component the product of the
// entries that a walk meets is -1, which makes every term of the Pfaffian of a plane graph
// positive (Kasteleyn). Edges off a spanning tree get +1; tree edges are solved leaves first.
std::vector<int8_t> kasteleyn_signs(const RotationView& rotation, const Faces& faces);

}  // namespace planaris
