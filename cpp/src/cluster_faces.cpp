#include <algorithm>
#include <cstdint>
#include <numeric>

#include "planaris/dissection.hpp"

namespace planaris {

namespace {

// Clusters of one round: neighbours with the number of edges between them.
struct ClusterGraph {
  std::vector<int64_t> begin;
  std::vector<int32_t> neighbour;
  std::vector<float> shared;
  std::vector<float> perimeter;
  std::vector<int32_t> size;   // faces
  std::vector<int32_t> node;   // in the tree of merges
  int32_t count() const { return static_cast<int32_t>(size.size()); }
};

struct Arc {
  int32_t from, to;
  float shared;
};

void set_arcs(ClusterGraph& graph, std::vector<Arc>& arcs) {
  // Counting sort by target, then by source: arcs of a pair end up side by side.
  const int32_t n = graph.count();
  std::vector<Arc> sorted(arcs.size());
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<int64_t> place(n + 1, 0);
    for (const Arc& a : arcs) ++place[(pass == 0 ? a.to : a.from) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    for (const Arc& a : arcs) sorted[place[pass == 0 ? a.to : a.from]++] = a;
    std::swap(arcs, sorted);
  }
  graph.begin.assign(n + 1, 0);
  graph.neighbour.clear();
  graph.shared.clear();
  graph.perimeter.assign(n, 0.0f);
  for (size_t k = 0; k < arcs.size(); ++k) {
    graph.perimeter[arcs[k].from] += arcs[k].shared;
    if (k > 0 && arcs[k].from == arcs[k - 1].from && arcs[k].to == arcs[k - 1].to) {
      graph.shared.back() += arcs[k].shared;
      continue;
    }
    graph.neighbour.push_back(arcs[k].to);
    graph.shared.push_back(arcs[k].shared);
    ++graph.begin[arcs[k].from + 1];
  }
  std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
}

ClusterGraph single_faces(const Faces& faces) {
  const auto n = static_cast<int32_t>(faces.offsets.size()) - 1;
  ClusterGraph graph;
  graph.size.assign(n, 1);
  graph.node.resize(n);
  std::iota(graph.node.begin(), graph.node.end(), 0);
  std::vector<Arc> arcs;
  arcs.reserve(faces.walk.size());
  for (size_t h = 0; h < faces.face_of.size(); ++h) {
    if (faces.face_of[h] != faces.face_of[h ^ 1]) {
      arcs.push_back({faces.face_of[h], faces.face_of[h ^ 1], 1.0f});
    }
  }
  set_arcs(graph, arcs);
  return graph;
}

std::vector<int32_t> match_clusters(const ClusterGraph& graph) {
  const int32_t n = graph.count();
  std::vector<int32_t> mate(n, -1), order(n), heaviest(n, -1);
  std::iota(order.begin(), order.end(), 0);
  // Small clusters choose first, so that sizes stay even; neighbours in number follow each other.
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return graph.size[a] < graph.size[b]; });
  for (const int32_t a : order) {
    float best = 0.0f, heavy = 0.0f;
    int32_t chosen = -1;
    for (int64_t k = graph.begin[a]; k < graph.begin[a + 1]; ++k) {
      const int32_t b = graph.neighbour[k];
      if (graph.shared[k] > heavy) {
        heavy = graph.shared[k];
        heaviest[a] = b;
      }
      if (mate[a] >= 0 || mate[b] >= 0) continue;
      const float left = graph.perimeter[a] + graph.perimeter[b] - 2 * graph.shared[k];
      const float score =
          graph.shared[k] / (left + 1.0f) / static_cast<float>(graph.size[a] + graph.size[b]);
      if (score > best) {
        best = score;
        chosen = b;
      }
    }
    if (mate[a] < 0 && chosen >= 0) {
      mate[a] = chosen;
      mate[chosen] = a;
    }
  }
  // The rest: beside the same cluster, or alone in the world, two and two.
  std::vector<int32_t> waiting(n + 1, -1);
  for (const int32_t a : order) {
    if (mate[a] >= 0) continue;
    int32_t& other = waiting[heaviest[a] < 0 ? n : heaviest[a]];
    if (other < 0) {
      other = a;
    } else {
      mate[a] = other;
      mate[other] = a;
      other = -1;
    }
  }
  return mate;
}

struct MergeTree {
  std::vector<int32_t> left, right, size;
};

ClusterGraph merge(const ClusterGraph& graph, const std::vector<int32_t>& mate, MergeTree& tree) {
  ClusterGraph next;
  std::vector<int32_t> new_of(graph.count(), -1);
  for (int32_t a = 0; a < graph.count(); ++a) {
    if (new_of[a] >= 0) continue;
    const int32_t b = mate[a];
    new_of[a] = next.count();
    if (b < 0) {
      next.size.push_back(graph.size[a]);
      next.node.push_back(graph.node[a]);
      continue;
    }
    new_of[b] = new_of[a];
    next.size.push_back(graph.size[a] + graph.size[b]);
    next.node.push_back(static_cast<int32_t>(tree.left.size()));
    tree.left.push_back(graph.node[a]);
    tree.right.push_back(graph.node[b]);
    tree.size.push_back(next.size.back());
  }
  std::vector<Arc> arcs;
  arcs.reserve(graph.neighbour.size());
  for (int32_t a = 0; a < graph.count(); ++a) {
    for (int64_t k = graph.begin[a]; k < graph.begin[a + 1]; ++k) {
      const int32_t b = graph.neighbour[k];
      if (new_of[a] != new_of[b]) arcs.push_back({new_of[a], new_of[b], graph.shared[k]});
    }
  }
  set_arcs(next, arcs);
  return next;
}

}  // namespace

Dissection cluster_faces(const Faces& faces, int32_t leaf_size) {
  const auto num_faces = static_cast<int32_t>(faces.offsets.size()) - 1;
  MergeTree tree;
  tree.left.assign(num_faces, -1);
  tree.right.assign(num_faces, -1);
  tree.size.assign(num_faces, 1);
  Dissection d;
  if (num_faces == 0) {
    d.range.push_back({0, 0});
    d.left.push_back(-1);
    d.right.push_back(-1);
    return d;
  }
  ClusterGraph graph = single_faces(faces);
  while (graph.count() > 1) graph = merge(graph, match_clusters(graph), tree);
  // Postorder; subtrees of at most leaf_size faces become leaves.
  struct Visit {
    int32_t node, stage, left, begin;
  };
  std::vector<Visit> stack{{graph.node[0], 0, -1, 0}};
  int32_t last = -1;
  std::vector<int32_t> todo;
  while (!stack.empty()) {
    Visit& top = stack.back();
    const int32_t node = top.node;
    if (tree.size[node] <= leaf_size || tree.left[node] < 0) {
      const auto begin = static_cast<int32_t>(d.order.size());
      todo.assign(1, node);
      while (!todo.empty()) {
        const int32_t t = todo.back();
        todo.pop_back();
        if (tree.left[t] < 0) {
          d.order.push_back(t);
        } else {
          todo.push_back(tree.right[t]);
          todo.push_back(tree.left[t]);
        }
      }
      d.range.push_back({begin, static_cast<int32_t>(d.order.size())});
      d.left.push_back(-1);
      d.right.push_back(-1);
      last = static_cast<int32_t>(d.range.size()) - 1;
      stack.pop_back();
      continue;
    }
    if (top.stage == 0) {
      top.stage = 1;
      top.begin = static_cast<int32_t>(d.order.size());
      stack.push_back({tree.left[node], 0, -1, 0});
    } else if (top.stage == 1) {
      top.stage = 2;
      top.left = last;
      stack.push_back({tree.right[node], 0, -1, 0});
    } else {
      d.range.push_back({top.begin, static_cast<int32_t>(d.order.size())});
      d.left.push_back(top.left);
      d.right.push_back(last);
      last = static_cast<int32_t>(d.range.size()) - 1;
      stack.pop_back();
    }
  }
  return d;
}

}  // namespace planaris
