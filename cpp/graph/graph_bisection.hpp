// Halving a weighted graph so that few edges run between the halves: multilevel bisection.
//
// Vertices are matched along heavy edges and merged until few are left; that graph is halved by
// growing a half from several seeds; on the way back every level improves the cut by moving
// single vertices, best gain first, keeping the best state passed (Fiduccia & Mattheyses 1982;
// Karypis & Kumar 1998).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace planaris {

struct WeightedGraph {
  std::vector<int32_t> begin;      // count + 1: where a vertex' arcs begin
  std::vector<int32_t> neighbour;  // every edge as two arcs, no loops, no parallel arcs
  std::vector<int32_t> weight;     // of arcs
  std::vector<int32_t> size;       // of vertices

  int32_t count() const { return static_cast<int32_t>(size.size()); }
};

class GraphBisection {
 public:
  // The side (0 or 1) of every vertex; both sides hold a vertex if there are two, and each is
  // connected within every component of the graph. A function of the graph alone.
  std::vector<uint8_t> run(const WeightedGraph& graph);

  // Called now and then; stops the work by throwing.
  std::function<void()> poll = [] {};

  // Improves given sides, on all levels; finds them if there are none.
  void improve(const WeightedGraph& graph, std::vector<uint8_t>& side);

 private:
  struct Move {
    int32_t gain;
    uint32_t order;  // breaks ties: the latest first, so that moves stay together
    int32_t vertex;
    bool operator<(const Move& other) const {
      return gain != other.gain ? gain < other.gain : order < other.order;
    }
  };

  // Vertices of different sides are not merged, where there are sides already.
  WeightedGraph coarsen(const WeightedGraph& graph, const std::vector<uint8_t>& side,
                        std::vector<int32_t>& to_coarse);
  void match(const WeightedGraph& graph, const std::vector<uint8_t>& side);
  int64_t cycle(const WeightedGraph& graph, std::vector<uint8_t>& side, int32_t coarsest);
  int64_t try_cycles(const WeightedGraph& graph, std::vector<uint8_t>& side);
  int64_t halve(const WeightedGraph& graph, std::vector<uint8_t>& best);
  void grow(const WeightedGraph& graph, int32_t seed, std::vector<uint8_t>& side);
  int64_t refine(const WeightedGraph& graph, std::vector<uint8_t>& side, int passes);
  template <class Visit>
  void move(const WeightedGraph& graph, std::vector<uint8_t>& side, int32_t v, Visit visit);
  void offer(int side, int32_t v);
  void lock(int side, int32_t v);
  int32_t best_move(const std::vector<uint8_t>& side, int s);
  int32_t choose_move(const std::vector<uint8_t>& side, int64_t allowed);
  int64_t pass(const WeightedGraph& graph, std::vector<uint8_t>& side, int64_t cut);
  int32_t gain_of(const WeightedGraph& graph, const std::vector<uint8_t>& side, int32_t v) const;
  int64_t side_size(const WeightedGraph& graph, const std::vector<uint8_t>& side) const;
  void connect(const WeightedGraph& graph, std::vector<uint8_t>& side, bool larger);
  template <class Together>
  int32_t number_pieces(const WeightedGraph& graph, Together together);
  uint32_t random();

  uint32_t state_ = 1;
  int64_t total_ = 0, sizes_[2] = {0, 0};
  std::vector<int32_t> mate_, order_, waiting_, slot_, gain_, outside_, boundary_, touched_, trail_,
      pieces_;
  std::vector<uint8_t> locked_;
  // Moves on offer in a pass: by heaps, or of graphs of few vertices by gain and order in one key.
  bool few_ = false;
  uint32_t offers_ = 0;
  std::vector<Move> heap_[2];
  std::vector<int64_t> keys_[2];
};

}  // namespace planaris
