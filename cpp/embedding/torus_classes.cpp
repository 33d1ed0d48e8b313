#include "embedding/torus_classes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/grouping.hpp"

namespace planaris {

namespace {

constexpr int32_t kGenerators = 24;
constexpr int64_t kWork = 8000;  // half-edges looked at per edge, before it is given up
constexpr int32_t kLongest = 64;
constexpr int kHoles = 8;  // generators, beside those of edges left out, that may have relations

using Class = std::array<int16_t, kGenerators>;

void add(Class& sum, const Class& term, int sign) {
  for (int32_t k = 0; k < kGenerators; ++k) {
    sum[k] = static_cast<int16_t>(sum[k] + sign * term[k]);
  }
}

// Vertices near one, in the order of their distance, with the half-edge that reached each.
struct Ball {
  std::vector<int32_t> stamp, distance, by, order;
  int32_t round = 0;

  explicit Ball(int32_t n) : stamp(n, 0), distance(n, 0), by(n, -1) {}
  bool has(int32_t v) const { return stamp[v] == round; }
  void start(int32_t v) {
    ++round;
    order.clear();
    put(v, 0, -1);
  }
  void put(int32_t v, int32_t at, int32_t half) {
    stamp[v] = round;
    distance[v] = at;
    by[v] = half;
    order.push_back(v);
  }
};

class ClassSearch {
 public:
  ClassSearch(int32_t num_vertices, std::span<const int32_t> edges, int32_t max_left_out,
              Control& control)
      : n_(num_vertices), m_(static_cast<int32_t>(edges.size() / 2)), edges_(edges),
        max_left_out_(std::min(max_left_out, kGenerators - kHoles)),
        most_generators_(kHoles + max_left_out_), control_(control), here_(num_vertices),
        there_(num_vertices) {}

  TorusClasses run(int32_t least_length) {
    work_left_ = kWork * m_;
    list_neighbours();
    known_.assign(m_, 1);
    class_.assign(m_, Class{});
    if (max_left_out_ > 0) forget_long_edges();
    if (!span()) {
      known_.assign(m_, 1);
      if (!span()) return {};
    }
    list_outside();
    null_ = in_tree_;
    waiting_ = outside_;
    int32_t idle = 0;  // lengths in a row that decided nothing
    for (length_ = 3; length_ <= kLongest && work_left_ >= 0; ++length_) {
      most_ = 64 + 4 * static_cast<size_t>(length_ * length_);
      const size_t before = waiting_.size();
      const bool is_labelled = label();
      idle = waiting_.size() < before ? 0 : idle + 1;
      if (!is_labelled && is_hopeless(idle)) break;
      if (length_ < least_length || !is_labelled) continue;
      const int rank = relate();
      TorusClasses found;
      if (rank == 2 && list(found)) return found;
      if (rank < 2) break;
    }
    return {};
  }

 private:
  int32_t n_, m_;
  std::span<const int32_t> edges_;
  int32_t max_left_out_, most_generators_;
  Control& control_;
  Ball here_, there_;
  int64_t work_left_ = 0;
  int32_t length_ = 0;
  size_t most_ = 0;                      // vertices of a ball; lattices have fewer
  std::vector<int32_t> begin_, around_;  // half-edges that leave each vertex
  std::vector<int8_t> in_tree_, known_;
  std::vector<int8_t> null_;      // known edges of class zero, before there are generators
  std::vector<int32_t> outside_;  // edges outside the tree, nearest to its root first
  std::vector<int32_t> waiting_;  // edges that no short cycle decides without generators
  std::vector<Class> class_;
  int32_t generators_ = 0;
  std::array<int32_t, kGenerators> support_{};
  std::vector<int32_t> left_;

  int32_t tail(int32_t half) const { return edges_[half]; }
  int32_t head(int32_t half) const { return edges_[half ^ 1]; }

  void list_neighbours() {
    auto [begin, around] = group_by_key(n_, edges_);
    begin_ = std::move(begin), around_ = std::move(around);
  }

  // Edges in no short cycle are no part of the tree if they need not be.
  void forget_long_edges() {
    length_ = 8;
    most_ = 1024;
    std::vector<int8_t> is_short(m_, 1);
    for (int32_t e = 0; e < m_; ++e) {
      control_.poll();
      known_[e] = 0;
      is_short[e] = close(e);
      known_[e] = 1;
    }
    known_ = is_short;
  }

  // A breadth-first tree of known edges. False if they do not connect the graph.
  bool span() {
    if (n_ == 0) return false;
    here_.start(0);
    in_tree_.assign(m_, 0);
    for (size_t k = 0; k < here_.order.size(); ++k) {
      control_.spend(8);
      const int32_t v = here_.order[k];
      for (int32_t j = begin_[v]; j < begin_[v + 1]; ++j) {
        const int32_t h = around_[j];
        if (!known_[h >> 1] || here_.has(head(h))) continue;
        here_.put(head(h), here_.distance[v] + 1, h);
        in_tree_[h >> 1] = 1;
      }
    }
    return static_cast<int32_t>(here_.order.size()) == n_;
  }

  void list_outside() {
    std::vector<int32_t> far(m_);
    for (int32_t e = 0; e < m_; ++e) {
      far[e] = here_.distance[edges_[2 * e]] + here_.distance[edges_[2 * e + 1]];
      if (!in_tree_[e]) outside_.push_back(e);
    }
    std::stable_sort(outside_.begin(), outside_.end(),
                     [&](int32_t a, int32_t b) { return far[a] < far[b]; });
  }

  // The known edges within a distance of v. False if there are too many.
  bool grow(Ball& ball, int32_t v, int32_t radius) {
    ball.start(v);
    for (size_t k = 0; k < ball.order.size(); ++k) {
      const int32_t u = ball.order[k];
      if (ball.distance[u] >= radius) break;
      work_left_ -= begin_[u + 1] - begin_[u];
      for (int32_t j = begin_[u]; j < begin_[u + 1]; ++j) {
        const int32_t h = around_[j];
        if (known_[h >> 1] && !ball.has(head(h))) ball.put(head(h), ball.distance[u] + 1, h);
      }
      if (ball.order.size() > most_) return false;
    }
    return true;
  }

  Class along(const Ball& ball, int32_t v) const {  // from the centre of the ball to v
    Class sum{};
    for (int32_t h = ball.by[v]; h >= 0; h = ball.by[tail(h)]) {
      add(sum, class_[h >> 1], (h & 1) ? -1 : 1);
    }
    return sum;
  }

  // Half of the faces of a graph on a torus are hardly longer than the mean, and holes of diluted
  // lattices have all lengths, with gaps between the longest.
  bool is_hopeless(int32_t idle) const {
    return idle > std::max(3, length_ / 4) ||
           (length_ >= 8 && 2 * waiting_.size() > outside_.size());
  }

  // An edge gets the class of a path of known edges that closes a short cycle with it.
  bool close(int32_t e) {
    const int32_t u = edges_[2 * e], w = edges_[2 * e + 1];
    if (!grow(here_, u, length_ / 2) || !grow(there_, w, (length_ - 1) / 2)) return false;
    for (const int32_t v : there_.order) {
      if (!here_.has(v) || here_.distance[v] + there_.distance[v] >= length_) continue;
      class_[e] = along(here_, v);
      add(class_[e], along(there_, v), -1);
      known_[e] = 1;
      return true;
    }
    return false;
  }

  void close_all(std::vector<int32_t>& waiting) {
    for (size_t before = waiting.size() + 1; waiting.size() < before;) {
      before = waiting.size();
      std::erase_if(waiting, [&](int32_t e) {
        control_.poll();
        return work_left_ >= 0 && close(e);
      });
    }
  }

  // Classes of all edges, in terms of generators: edges that no short cycle decides.
  bool label() {
    class_.assign(m_, Class{});
    known_ = null_;
    generators_ = 0;
    close_all(waiting_);
    null_ = known_;
    std::vector<int32_t> waiting = waiting_;
    while (true) {
      if (generators_ > 0) close_all(waiting);
      if (work_left_ < 0) return false;
      if (waiting.empty()) return true;
      if (generators_ == most_generators_) return false;
      class_[waiting.front()][generators_++] = 1;
      known_[waiting.front()] = 1;
      waiting.erase(waiting.begin());
    }
  }

  // Make all short cycles sum to zero, and leave out edges that are generators by themselves.
  // Returns the number of generators left, -1 if they do not fit on an orientable surface.
  int relate() {
    std::vector<Class> potential(n_);
    for (int32_t v = 0; v < n_; ++v) {
      const bool is_null = std::all_of(around_.begin() + begin_[v], around_.begin() + begin_[v + 1],
                                       [&](int32_t h) { return class_[h >> 1] == Class{}; });
      if (is_null) continue;  // cycles that do not sum to zero run elsewhere
      control_.poll();
      if (work_left_ < 0) return -1;
      if (!grow(here_, v, length_ / 2)) continue;
      sum_up(potential);
      for (size_t k = 0; k < here_.order.size(); ++k) {
        const int32_t u = here_.order[k];
        for (int32_t j = begin_[u]; j < begin_[u + 1]; ++j) {
          const int32_t h = around_[j], w = head(h);
          if ((h & 1) || !here_.has(w)) continue;
          if (here_.distance[u] + here_.distance[w] >= length_) continue;
          Class sum = potential[u];
          add(sum, class_[h >> 1], 1);
          add(sum, potential[w], -1);
          if (sum == Class{}) continue;
          if (!eliminate(sum)) return -1;
          sum_up(potential);
        }
      }
    }
    return count_left();
  }

  void sum_up(std::vector<Class>& potential) const {  // from the centre to all of the ball
    for (const int32_t v : here_.order) {
      const int32_t h = here_.by[v];
      potential[v] = h < 0 ? Class{} : potential[tail(h)];
      if (h >= 0) add(potential[v], class_[h >> 1], (h & 1) ? -1 : 1);
    }
  }

  bool eliminate(const Class& relation) {
    int32_t k = 0;
    while (k < kGenerators && relation[k] != 1 && relation[k] != -1) ++k;
    if (k == kGenerators) return false;
    for (Class& one : class_) {
      if (one[k] != 0) add(one, relation, -one[k] * relation[k]);
    }
    return true;
  }

  int count_left() {
    support_.fill(0);
    std::array<int32_t, kGenerators> last{};
    for (int32_t e = 0; e < m_; ++e) {
      for (int32_t k = 0; k < generators_; ++k) {
        if (class_[e][k] != 0) ++support_[k], last[k] = e;
      }
    }
    int left = static_cast<int>(
        std::count_if(support_.begin(), support_.end(), [](int32_t s) { return s > 0; }));
    left_.clear();
    for (int32_t k = 0; k < generators_ && left > 2; ++k) {
      if (support_[k] != 1 || static_cast<int32_t>(left_.size()) == max_left_out_) continue;
      left_.push_back(last[k]);
      support_[k] = 0;
      --left;
    }
    return left;
  }

  bool list(TorusClasses& found) {
    std::array<int32_t, 2> chosen{-1, -1};
    for (int32_t k = 0, at = 0; k < generators_; ++k) {
      if (support_[k] > 0) chosen[at++] = k;
    }
    found.length = length_;
    found.left_out = left_;
    std::sort(found.left_out.begin(), found.left_out.end());
    found.classes.reserve(2 * m_);
    for (const Class& one : class_) {
      for (const int32_t k : chosen) found.classes.push_back(one[k]);
    }
    return std::adjacent_find(found.left_out.begin(), found.left_out.end()) == found.left_out.end();
  }
};

}  // namespace

TorusClasses find_torus_classes(int32_t num_vertices, std::span<const int32_t> edges,
                                int32_t max_left_out, int32_t least_length, Control& control) {
  return ClassSearch(num_vertices, edges, max_left_out, control).run(least_length);
}

}  // namespace planaris
