// Planarity by the left-right criterion of de Fraysseix and Rosenstiehl, as arranged by
// Brandes ("The left-right planarity test", 2009): linear time, no recursion.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Edges are renamed: the tree edge into vertex w is w, back edges follow from n on. Vertices
// are renamed by depth-first number, so ancestors have smaller numbers than descendants.
class LeftRight {
 public:
  LeftRight(int32_t num_vertices, std::span<const int32_t> edges, Control& control);

  // Whether the graph is planar. With `keep_links` a refusal can be explained.
  bool test(bool keep_links = false);

  // After test() was true: half-edges around every vertex, grouped by offsets().
  std::vector<int32_t> rotation();
  std::vector<int32_t> offsets() && { return std::move(offsets_); }

  // After test(true) was false: edges of the spanning forest and the back edges whose
  // constraints contradict each other. Almost always non-planar already, and small.
  std::vector<int32_t> contradiction() const;

 private:
  struct Arc {
    int32_t head, half_edge;
  };
  struct Interval {
    int32_t low = -1, high = -1;
    bool empty() const { return low < 0; }
  };
  struct ConflictPair {
    Interval left, right;
  };
  // Back edges a and b are on equal or on opposite sides because of the fork at `vertex`.
  struct Link {
    int32_t a, b, vertex;
  };

  void build_adjacency(std::span<const int32_t> edges);
  void number_vertices();
  void list_out_edges();
  void find_low_points();
  void sort_out_edges();
  bool test_component(int32_t root);
  bool finish_edge(int32_t edge, int32_t vertex);
  bool add_constraints(int32_t edge, int32_t vertex);
  void remove_back_edges(int32_t vertex);
  void trim(Interval& side, const Interval& other, int32_t target);
  bool conflicts(const Interval& side, int32_t edge) const {
    return !side.empty() && low_[side.high] > low_[edge];
  }
  int32_t lowest(const ConflictPair& pair) const;
  void resolve_side(int32_t edge);
  void place_back_edges(std::vector<int32_t>& next, std::vector<int32_t>& leftmost);
  void link(int32_t a, int32_t b, int32_t vertex) {
    if (keep_links_) links_.push_back({a, b, vertex});
  }
  bool refuse(int32_t a, int32_t b, int32_t edge, int32_t vertex, int32_t highest);
  int32_t branch(int32_t vertex, int32_t back_edge) const;
  std::vector<Link> path_of_links() const;

  int32_t n_;
  Control& control_;
  std::vector<int32_t> offsets_;         // by given vertex
  std::vector<Arc> arcs_;                // by given vertex
  std::vector<int32_t> number_, order_;  // given vertex -> new one, and back
  std::vector<int32_t> parent_;          // by new vertex; -1 at roots
  std::vector<int32_t> half_edge_;       // by new edge: the given half-edge leaving its tail
  std::vector<int32_t> tail_, head_;     // of back edge n + k at k
  std::vector<int32_t> first_out_, out_;
  std::vector<int32_t> low_, low2_, nesting_;
  std::vector<int32_t> reference_, low_edge_, bottom_, cursor_;
  std::vector<int8_t> side_;
  std::vector<ConflictPair> stack_;
  bool keep_links_ = false;
  std::vector<Link> links_;
  Link failure_{-1, -1, -1};
  int32_t failed_edge_ = -1, failed_highest_ = -1;
};

}  // namespace planaris
