// Rival for bench_matching.py: LEMON's weighted perfect matching on the expanded dual.
// Reads int64: faces, edges, then per edge: face, face, signed weight. Writes: processor seconds, weight.
//
// A cut is an even subgraph of the dual. Each face of degree 3 or 4 becomes a complete graph on
// four nodes, one per side (and a spare for triangles); a larger face is first split into a path
// of triangles by edges of weight zero. Perfect matchings are then the complements of cuts.
#include <lemon/matching.h>
#include <lemon/smart_graph.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

int main(int, char** argv) {
  std::FILE* file = std::fopen(argv[1], "rb");
  int64_t head[2];
  if (file == nullptr || std::fread(head, 8, 2, file) != 2) return 1;
  std::vector<int64_t> data(3 * head[1]);
  if (std::fread(data.data(), 8, data.size(), file) != data.size()) return 1;
  std::fclose(file);
  const std::clock_t begin = std::clock();

  std::vector<std::vector<std::pair<int64_t, int>>> sides(head[0]);  // edge, end
  std::vector<int64_t> weight;
  for (int64_t e = 0; e < head[1]; ++e) {
    sides[data[3 * e]].push_back({e, 0});
    sides[data[3 * e + 1]].push_back({e, 1});
    weight.push_back(data[3 * e + 2]);
  }
  for (size_t f = 0; f < sides.size(); ++f) {
    while (sides[f].size() > 4) {  // cut off a triangle: two sides and a new edge
      const auto e = int64_t(weight.size());
      weight.push_back(0);
      const auto a = sides[f].back();
      sides[f].pop_back();
      const auto b = sides[f].back();
      sides[f].pop_back();
      sides[f].push_back({e, 0});
      sides.push_back({a, b, {e, 1}});
    }
  }
  using Graph = lemon::SmartGraph;
  using Weights = Graph::EdgeMap<long long>;
  Graph graph;
  graph.reserveNode(int(4 * sides.size()));
  Weights cost(graph);
  std::vector<Graph::Node> end(2 * weight.size());
  for (const auto& face : sides) {
    Graph::Node node[4];
    const size_t size = face.size() + face.size() % 2;
    for (size_t i = 0; i < size; ++i) node[i] = graph.addNode();
    for (size_t i = 0; i < face.size(); ++i) end[2 * face[i].first + face[i].second] = node[i];
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < i; ++j) cost[graph.addEdge(node[i], node[j])] = 0;
    }
  }
  std::vector<Graph::Edge> edge(weight.size());
  for (size_t e = 0; e < weight.size(); ++e) {
    edge[e] = graph.addEdge(end[2 * e], end[2 * e + 1]);
    cost[edge[e]] = -weight[e];
  }
  lemon::MaxWeightedPerfectMatching<Graph, Weights> matching(graph, cost);
  matching.fractionalInit();
  matching.start();
  const double elapsed = double(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.6f %lld\n", elapsed, -matching.matchingWeight());
}
