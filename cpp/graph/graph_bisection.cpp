#include "graph/graph_bisection.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace planaris {

namespace {

constexpr int32_t kCoarsest = 48;     // vertices that are halved without merging any further
constexpr int32_t kManyTimes = 400;   // vertices above which several bisections are compared,
constexpr int32_t kCoarser = 16;      // of a graph this many times smaller,
constexpr int32_t kLarge = 1 << 10;   // which is large enough with so many vertices
constexpr int32_t kMuchCoarser = 64;  // unless it is still this many times smaller;
constexpr int kTries = 6;             // so many bisections are compared
constexpr int kSeeds = 2;
constexpr int kPasses = 4;
constexpr int32_t kFewVertices = 64;  // so few are looked through for the best move, without heaps
constexpr int64_t kNoMove = std::numeric_limits<int64_t>::min();
constexpr double kLargestShare = 0.54;  // of a side, beyond which the larger side must give

}  // namespace

uint32_t GraphBisection::random() {  // xorshift: the same on every machine
  state_ ^= state_ << 13;
  state_ ^= state_ >> 17;
  state_ ^= state_ << 5;
  return state_;
}

std::vector<uint8_t> GraphBisection::run(const WeightedGraph& graph) {
  std::vector<uint8_t> side;
  improve(graph, side);
  return side;
}

void GraphBisection::improve(const WeightedGraph& graph, std::vector<uint8_t>& side) {
  state_ = 2463534242u;
  total_ = std::accumulate(graph.size.begin(), graph.size.end(), int64_t{0});
  // Cuts that differ as a whole are told apart on a graph so coarse that many can be tried.
  const bool try_many = side.empty() && graph.count() > kManyTimes;
  const int32_t n = graph.count();
  const int32_t coarse = std::max(std::min(n / kCoarser, kLarge), n / kMuchCoarser);
  cycle(graph, side, try_many ? std::max(coarse, kCoarsest) : kCoarsest);
  connect(graph, side, side_size(graph, side) * 2 < total_);
}

// Sends all pieces of one side but the largest of every component to the other side. Done for
// either side, both are connected within every component; the cut only shrinks.
void GraphBisection::connect(const WeightedGraph& graph, std::vector<uint8_t>& side, bool larger) {
  const auto on_one_side = [&](int32_t a, int32_t b) { return side[a] == side[b]; };
  if (number_pieces(graph, on_one_side) <= 2) return;  // one of either side, or one in all
  for (const int turn : {0, 1}) {
    const uint8_t s = (turn == 0) == larger ? 0 : 1;
    number_pieces(graph, [&](int32_t a, int32_t b) { return side[a] == s && side[b] == s; });
    std::vector<int32_t> piece_of = pieces_;
    std::vector<int64_t> size(piece_of.size(), 0);
    for (int32_t v = 0; v < graph.count(); ++v) size[piece_of[v]] += graph.size[v];
    number_pieces(graph, [](int32_t, int32_t) { return true; });
    std::vector<int32_t> largest(pieces_.size(), -1);
    for (int32_t v = 0; v < graph.count(); ++v) {
      if (side[v] != s) continue;
      int32_t& best = largest[pieces_[v]];
      if (best < 0 || size[piece_of[v]] > size[best]) best = piece_of[v];
    }
    for (int32_t v = 0; v < graph.count(); ++v) {
      if (side[v] == s && piece_of[v] != largest[pieces_[v]]) side[v] = 1 - s;
    }
  }
}

// Connected pieces when only arcs that `together` accepts count, numbered by a member.
template <class Together>
int32_t GraphBisection::number_pieces(const WeightedGraph& graph, Together together) {
  int32_t count = 0;
  pieces_.assign(graph.count(), -1);
  for (int32_t root = 0; root < graph.count(); ++root) {
    if (pieces_[root] >= 0) continue;
    ++count;
    pieces_[root] = root;
    trail_.assign(1, root);
    while (!trail_.empty()) {
      const int32_t a = trail_.back();
      trail_.pop_back();
      for (int32_t k = graph.begin[a]; k < graph.begin[a + 1]; ++k) {
        const int32_t b = graph.neighbour[k];
        if (pieces_[b] >= 0 || !together(a, b)) continue;
        pieces_[b] = root;
        trail_.push_back(b);
      }
    }
  }
  return count;
}

// Down to at most `coarsest` vertices and back.
int64_t GraphBisection::cycle(const WeightedGraph& graph, std::vector<uint8_t>& side,
                              int32_t coarsest) {
  const bool given = !side.empty();
  std::vector<WeightedGraph> levels;
  std::vector<std::vector<int32_t>> maps;
  const WeightedGraph* last = &graph;
  while (last->count() > coarsest) {
    std::vector<int32_t> to_coarse;
    WeightedGraph next = coarsen(*last, side, to_coarse);
    if (next.count() > 0.95 * last->count()) break;
    if (given) {
      std::vector<uint8_t> merged(next.count());
      for (int32_t v = 0; v < last->count(); ++v) merged[to_coarse[v]] = side[v];
      side = std::move(merged);
    }
    maps.push_back(std::move(to_coarse));
    levels.push_back(std::move(next));
    last = &levels.back();
  }
  int64_t cut = 0;
  if (given) {
    cut = refine(*last, side, kPasses);
  } else if (coarsest > kCoarsest) {
    cut = try_cycles(*last, side);
  } else {
    cut = halve(*last, side);
  }
  for (size_t level = maps.size(); level-- > 0;) {
    const WeightedGraph& finer = level == 0 ? graph : levels[level - 1];
    std::vector<uint8_t> projected(finer.count());
    for (int32_t v = 0; v < finer.count(); ++v) projected[v] = side[maps[level][v]];
    side = std::move(projected);
    cut = refine(finer, side, kPasses);
    levels.pop_back();
  }
  return cut;
}

int64_t GraphBisection::try_cycles(const WeightedGraph& graph, std::vector<uint8_t>& side) {
  int64_t best = -1;
  std::vector<uint8_t> found;
  for (int k = 0; k < kTries; ++k) {
    found.clear();
    int64_t cut = cycle(graph, found, kCoarsest);
    cut = cycle(graph, found, kCoarsest);  // once more, merging within the sides
    if (best >= 0 && cut >= best) continue;
    best = cut;
    side = found;
  }
  return best;
}

// Pairs of neighbours with mate_[a] = b; vertices without a free neighbour are paired with others
// beside the same vertex, or with each other where they have no neighbours at all.
void GraphBisection::match(const WeightedGraph& graph, const std::vector<uint8_t>& side) {
  const int32_t n = graph.count();
  mate_.assign(n, -1);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  // Shuffled in blocks, so that memory is still walked along.
  for (int32_t block = 0; block < n; block += 64) {
    const int32_t length = std::min(64, n - block);
    for (int32_t k = length - 1; k > 0; --k) {
      std::swap(order_[block + k], order_[block + random() % (k + 1)]);
    }
  }
  const int64_t most = std::max<int64_t>(2, total_ / 24);
  waiting_.clear();
  for (const int32_t a : order_) {
    if (mate_[a] >= 0) continue;
    float best = 0.0f;
    int32_t chosen = -1;
    for (int32_t k = graph.begin[a]; k < graph.begin[a + 1]; ++k) {
      const int32_t b = graph.neighbour[k];
      if (mate_[b] >= 0 || graph.size[a] + graph.size[b] > most) continue;
      if (!side.empty() && side[a] != side[b]) continue;
      const auto w = static_cast<float>(graph.weight[k]);
      const float score = w * w / (static_cast<float>(graph.size[a]) * graph.size[b]);
      if (score > best) {
        best = score;
        chosen = b;
      }
    }
    if (chosen >= 0) {
      mate_[a] = chosen;
      mate_[chosen] = a;
    } else {
      waiting_.push_back(a);
    }
  }
  slot_.assign(n + 1, -1);
  for (const int32_t a : waiting_) {
    if (mate_[a] >= 0) continue;
    int32_t beside = n, heavy = 0;
    for (int32_t k = graph.begin[a]; k < graph.begin[a + 1]; ++k) {
      if (graph.weight[k] > heavy) {
        heavy = graph.weight[k];
        beside = graph.neighbour[k];
      }
    }
    int32_t& other = slot_[beside];
    const bool fits = other >= 0 && graph.size[a] + graph.size[other] <= most &&
                      (side.empty() || side[a] == side[other]);
    if (!fits) {
      other = a;
    } else {
      mate_[a] = other;
      mate_[other] = a;
      other = -1;
    }
  }
}

WeightedGraph GraphBisection::coarsen(const WeightedGraph& graph, const std::vector<uint8_t>& side,
                                      std::vector<int32_t>& to_coarse) {
  poll();
  match(graph, side);
  const int32_t n = graph.count();
  to_coarse.assign(n, -1);
  WeightedGraph next;
  next.size.reserve(n / 2 + 16);
  trail_.clear();  // one member of every merged vertex
  for (int32_t a = 0; a < n; ++a) {
    if (to_coarse[a] >= 0) continue;
    const int32_t b = mate_[a];
    to_coarse[a] = next.count();
    if (b >= 0) to_coarse[b] = next.count();
    next.size.push_back(graph.size[a] + (b >= 0 ? graph.size[b] : 0));
    trail_.push_back(a);
  }
  const int32_t m = next.count();
  next.begin.reserve(m + 1);
  next.begin.push_back(0);
  next.neighbour.reserve(graph.neighbour.size() * 3 / 4);
  next.weight.reserve(graph.neighbour.size() * 3 / 4);
  slot_.assign(m, -1);  // where the arc to a merged vertex lies
  for (int32_t c = 0; c < m; ++c) {
    const int32_t start = next.begin.back();
    for (const int32_t v : {trail_[c], mate_[trail_[c]]}) {
      if (v < 0) continue;
      for (int32_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) {
        const int32_t to = to_coarse[graph.neighbour[k]];
        if (to == c) continue;
        if (slot_[to] >= start) {
          next.weight[slot_[to]] += graph.weight[k];
        } else {
          slot_[to] = static_cast<int32_t>(next.neighbour.size());
          next.neighbour.push_back(to);
          next.weight.push_back(graph.weight[k]);
        }
      }
    }
    next.begin.push_back(static_cast<int32_t>(next.neighbour.size()));
  }
  return next;
}

int64_t GraphBisection::side_size(const WeightedGraph& graph,
                                  const std::vector<uint8_t>& side) const {
  int64_t sum = 0;
  for (int32_t v = 0; v < graph.count(); ++v) sum += side[v] ? graph.size[v] : 0;
  return sum;
}

int64_t GraphBisection::halve(const WeightedGraph& graph, std::vector<uint8_t>& best) {
  const int32_t n = graph.count();
  std::vector<uint8_t> side;
  best.assign(n, 0);
  if (n < 2) return 0;
  int64_t best_cut = -1, best_uneven = 0;
  const int seeds = n < 16 ? 2 : kSeeds;
  for (int k = 0; k < seeds; ++k) {
    grow(graph, static_cast<int32_t>(random() % n), side);
    const int64_t cut = refine(graph, side, kPasses);
    const int64_t uneven = std::abs(total_ - 2 * side_size(graph, side));
    if (best_cut < 0 || std::pair(cut, uneven) < std::pair(best_cut, best_uneven)) {
      best_cut = cut;
      best_uneven = uneven;
      best = side;
    }
  }
  return best_cut;
}

// Side 1 grows from a vertex far from the seed by whatever neighbour adds least to the cut.
void GraphBisection::grow(const WeightedGraph& graph, int32_t seed, std::vector<uint8_t>& side) {
  const int32_t n = graph.count();
  side.assign(n, 0);
  locked_.assign(n, 0);
  trail_.assign(1, seed);
  locked_[seed] = 1;
  for (size_t at = 0; at < trail_.size(); ++at) {
    for (int32_t k = graph.begin[trail_[at]]; k < graph.begin[trail_[at] + 1]; ++k) {
      const int32_t b = graph.neighbour[k];
      if (!locked_[b]) {
        locked_[b] = 1;
        trail_.push_back(b);
      }
    }
  }
  int32_t next = trail_.back(), scan = 0;
  int64_t grown = 0;
  std::vector<Move>& heap = heap_[0];
  heap.clear();
  gain_.resize(n);
  std::fill(locked_.begin(), locked_.end(), 0);  // now: whose gain is known
  uint32_t stamp = 0;
  while (next >= 0) {
    side[next] = 1;
    grown += graph.size[next];
    if (2 * grown >= total_) break;
    for (int32_t k = graph.begin[next]; k < graph.begin[next + 1]; ++k) {
      const int32_t b = graph.neighbour[k];
      if (side[b]) continue;
      if (locked_[b]) {
        gain_[b] += 2 * graph.weight[k];
      } else {
        locked_[b] = 1;
        gain_[b] = gain_of(graph, side, b);
      }
      heap.push_back({gain_[b], ++stamp, b});
      std::push_heap(heap.begin(), heap.end());
    }
    next = -1;
    while (!heap.empty() && next < 0) {
      std::pop_heap(heap.begin(), heap.end());
      const Move move = heap.back();
      heap.pop_back();
      if (!side[move.vertex] && move.gain == gain_[move.vertex]) next = move.vertex;
    }
    while (next < 0 && scan < n) {  // another component
      if (!side[scan]) next = scan;
      ++scan;
    }
  }
}

int32_t GraphBisection::gain_of(const WeightedGraph& graph, const std::vector<uint8_t>& side,
                                int32_t v) const {
  int32_t gain = 0;
  for (int32_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) {
    gain += side[graph.neighbour[k]] == side[v] ? -graph.weight[k] : graph.weight[k];
  }
  return gain;
}

// Gains and the weight of arcs to the other side are computed once and kept up to date, so that
// after the first look at the graph only its cut is worked on.
int64_t GraphBisection::refine(const WeightedGraph& graph, std::vector<uint8_t>& side, int passes) {
  poll();
  const int32_t n = graph.count();
  gain_.resize(n);
  outside_.resize(n);
  locked_.assign(n, 0);
  boundary_.clear();
  sizes_[0] = sizes_[1] = 0;
  int64_t cut = 0;
  for (int32_t v = 0; v < n; ++v) {
    sizes_[side[v]] += graph.size[v];
    int32_t all = 0, out = 0;
    for (int32_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) {
      all += graph.weight[k];
      if (side[graph.neighbour[k]] != side[v]) out += graph.weight[k];
    }
    gain_[v] = 2 * out - all;
    outside_[v] = out;
    if (out > 0) boundary_.push_back(v);
    cut += out;
  }
  cut /= 2;
  for (int k = 0; k < passes; ++k) {
    const int64_t better = pass(graph, side, cut);
    if (better >= cut) return better;
    cut = better;
  }
  return cut;
}

// Moves a vertex to the other side; tells `visit` about every neighbour afterwards.
template <class Visit>
void GraphBisection::move(const WeightedGraph& graph, std::vector<uint8_t>& side, int32_t v,
                          Visit visit) {
  const uint8_t from = side[v];
  side[v] = 1 - from;
  sizes_[from] -= graph.size[v];
  sizes_[1 - from] += graph.size[v];
  outside_[v] -= gain_[v];
  gain_[v] = -gain_[v];
  for (int32_t k = graph.begin[v]; k < graph.begin[v + 1]; ++k) {
    const int32_t b = graph.neighbour[k], w = side[b] == from ? graph.weight[k] : -graph.weight[k];
    gain_[b] += 2 * w;
    outside_[b] += w;
    visit(b);
  }
}

void GraphBisection::offer(int side, int32_t v) {
  const uint32_t order = ++offers_;
  if (few_) {
    keys_[side][v] = static_cast<int64_t>(gain_[v]) * (int64_t{1} << 32) + order;
    return;
  }
  heap_[side].push_back({gain_[v], order, v});
  std::push_heap(heap_[side].begin(), heap_[side].end());
}

// The vertex of a side that is best to move, or -1; outdated moves are taken off the heap.
int32_t GraphBisection::best_move(const std::vector<uint8_t>& side, int s) {
  if (few_) {
    const std::vector<int64_t>& keys = keys_[s];
    const auto best = std::max_element(keys.begin(), keys.end());
    return *best == kNoMove ? -1 : static_cast<int32_t>(best - keys.begin());
  }
  auto& heap = heap_[s];
  while (!heap.empty()) {
    const Move& m = heap.front();
    if (!locked_[m.vertex] && side[m.vertex] == s && gain_[m.vertex] == m.gain) return m.vertex;
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  }
  return -1;
}

// The vertex to move next, or -1.
int32_t GraphBisection::choose_move(const std::vector<uint8_t>& side, int64_t allowed) {
  const int32_t best[2] = {best_move(side, 0), best_move(side, 1)};
  if (best[0] < 0 || best[1] < 0) return std::max(best[0], best[1]);
  const int larger = sizes_[1] > sizes_[0];
  if (sizes_[larger] > allowed) return best[larger];
  const int32_t gains[2] = {gain_[best[0]], gain_[best[1]]};
  return best[gains[0] != gains[1] ? gains[1] > gains[0] : larger];
}

// No more moves of this vertex. A heap forgets it when it comes to the top.
void GraphBisection::lock(int side, int32_t v) {
  locked_[v] = 1;
  touched_.push_back(v);
  if (few_) keys_[side][v] = kNoMove;
}

// One pass of single moves; returns the cut of the best state passed, which is left in `side`.
int64_t GraphBisection::pass(const WeightedGraph& graph, std::vector<uint8_t>& side, int64_t cut) {
  few_ = graph.count() <= kFewVertices;
  offers_ = 0;
  for (auto& heap : heap_) heap.clear();
  for (auto& keys : keys_) keys.assign(few_ ? graph.count() : 0, kNoMove);
  for (const int32_t v : boundary_) offer(side[v], v);
  const size_t patience = 8 + boundary_.size();
  const auto allowed = static_cast<int64_t>(kLargestShare * static_cast<double>(total_)) + 1;
  const auto badness = [&](int64_t c) {
    const int64_t larger = std::max(sizes_[0], sizes_[1]);
    return std::tuple(std::max<int64_t>(larger - allowed, 0), c, larger);
  };
  auto best = badness(cut);
  int64_t now = cut;
  size_t kept = 0;
  trail_.clear();
  touched_.assign(boundary_.begin(), boundary_.end());
  while (trail_.size() - kept < patience) {
    const int32_t v = choose_move(side, allowed);
    if (v < 0) break;
    const uint8_t from = side[v];
    lock(from, v);
    const int64_t other = sizes_[1 - from] + graph.size[v];
    if ((other > allowed && sizes_[from] <= sizes_[1 - from]) || sizes_[from] == graph.size[v]) {
      continue;  // too uneven, or the last one
    }
    now -= gain_[v];
    trail_.push_back(v);
    move(graph, side, v, [&](int32_t b) {
      if (locked_[b]) return;
      offer(side[b], b);
      touched_.push_back(b);
    });
    if (const auto here = badness(now); here < best) {
      best = here;
      kept = trail_.size();
    }
  }
  for (size_t k = trail_.size(); k-- > kept;) move(graph, side, trail_[k], [](int32_t) {});
  boundary_.clear();
  for (const int32_t v : touched_) locked_[v] = 0;
  for (const int32_t v : touched_) {
    if (locked_[v] || outside_[v] == 0) continue;
    locked_[v] = 1;
    boundary_.push_back(v);
  }
  for (const int32_t v : boundary_) locked_[v] = 0;
  return std::get<1>(best);
}

}  // namespace planaris
