#include "embedding/sweep_order.hpp"

#include <algorithm>
#include <numeric>

#include "base/running_sums.hpp"

namespace planaris {

namespace {

struct PlacedVertex {
  Point point;
  int32_t vertex;

  friend bool operator<(const PlacedVertex& a, const PlacedVertex& b) {
    return a.point < b.point || (a.point == b.point && a.vertex < b.vertex);
  }
};

// Calls body(i) for i in [0, count), by several threads; each is about so many nanoseconds.
template <class Body>
void each(Team& team, int64_t count, double nanoseconds, Body&& body) {
  team.split(count, Team::parts(double(count) * nanoseconds), [&](int64_t low, int64_t high, int) {
    for (int64_t i = low; i < high; ++i) body(i);
  });
}

// Sorts runs [begin[k], begin[k + 1]) of one array, then bucket by bucket what lies between
// splitters.
class SortedVertices {
 public:
  SortedVertices(std::span<const double> positions, Team& team)
      : items_(positions.size() / 2), merged_(positions.size() / 2),
        runs_(std::clamp<size_t>(items_.size() >> 15, 1, 64)), begin_(runs_ + 1) {
    for (size_t k = 0; k <= runs_; ++k) begin_[k] = items_.size() * k / runs_;
    team.work(runs_, [&](int worker, int k) {
      team.check(worker);
      for (size_t v = begin_[k]; v < begin_[k + 1]; ++v) {
        items_[v] = {{positions[2 * v], positions[2 * v + 1]}, static_cast<int32_t>(v)};
      }
      std::sort(items_.begin() + begin_[k], items_.begin() + begin_[k + 1]);
    });
    if (runs_ == 1) {
      std::swap(items_, merged_);
      return;
    }
    cut_runs();
    team.work(runs_, [&](int worker, int k) {
      team.check(worker);
      merge_bucket(size_t(k));
    });
  }

  const UnwrittenVector<PlacedVertex>& get() const { return merged_; }

 private:
  // Buckets by splitters that are alike in number: cut_[k][b] is where bucket b begins in run k.
  void cut_runs() {
    std::vector<PlacedVertex> sample;
    for (size_t k = 0; k < runs_; ++k) {
      for (size_t i = 0; i < runs_; ++i) {
        sample.push_back(items_[begin_[k] + (begin_[k + 1] - begin_[k]) * i / runs_]);
      }
    }
    std::sort(sample.begin(), sample.end());
    cut_.assign(runs_, std::vector<size_t>(runs_ + 1));
    for (size_t k = 0; k < runs_; ++k) {
      cut_[k].front() = begin_[k], cut_[k].back() = begin_[k + 1];
      for (size_t b = 1; b < runs_; ++b) {
        const auto low = items_.begin() + cut_[k][b - 1], high = items_.begin() + begin_[k + 1];
        cut_[k][b] = size_t(std::lower_bound(low, high, sample[b * runs_]) - items_.begin());
      }
    }
  }

  void merge_bucket(size_t b) {
    size_t place = 0;
    for (size_t k = 0; k < runs_; ++k) place += cut_[k][b] - begin_[k];
    std::vector<size_t> ends{place};
    for (size_t k = 0; k < runs_; ++k) {
      std::copy(items_.begin() + cut_[k][b], items_.begin() + cut_[k][b + 1],
                merged_.begin() + ends.back());
      ends.push_back(ends.back() + cut_[k][b + 1] - cut_[k][b]);
    }
    for (size_t width = 1; width < runs_; width *= 2) {
      for (size_t k = 0; k + width < runs_; k += 2 * width) {
        const auto at = [&](size_t run) { return merged_.begin() + ends[std::min(run, runs_)]; };
        std::inplace_merge(at(k), at(k + width), at(k + 2 * width));
      }
    }
  }

  UnwrittenVector<PlacedVertex> items_, merged_;
  size_t runs_;
  std::vector<size_t> begin_;
  std::vector<std::vector<size_t>> cut_;
};

}  // namespace

SweepOrder::SweepOrder(int32_t num_vertices, std::span<const int32_t> edges,
                       std::span<const double> positions, Team& team)
    : points(num_vertices), vertex(num_vertices), first(size_t(num_vertices) + 1),
      incoming(num_vertices) {
  group_segments(edges, sort_vertices(positions, team), team);
}

// Returns the ranks of the vertices.
UnwrittenVector<int32_t> SweepOrder::sort_vertices(std::span<const double> positions, Team& team) {
  const SortedVertices sorted(positions, team);
  UnwrittenVector<int32_t> rank(num_vertices());
  each(team, num_vertices(), 3.0, [&](int64_t k) {
    points[k] = sorted.get()[k].point;
    vertex[k] = sorted.get()[k].vertex;
    rank[vertex[k]] = static_cast<int32_t>(k);
    first[k + 1] = incoming[k] = 0;
  });
  return rank;
}

// Looking up the ranks is scattered: done once.
void SweepOrder::group_segments(std::span<const int32_t> edges,
                                const UnwrittenVector<int32_t>& rank, Team& team) {
  const bool shared = team.threads() > 1;
  const auto add_one = [shared](int32_t& count) {
    return shared ? __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) : count++;
  };
  const auto count = static_cast<int64_t>(edges.size() / 2);
  UnwrittenVector<Segment> given(count);
  each(team, count, 5.0, [&](int64_t e) {
    const int32_t a = rank[edges[2 * e]], b = rank[edges[2 * e + 1]];
    const auto h = static_cast<int32_t>(2 * e);
    given[e] = a < b ? Segment{a, b, h} : Segment{b, a, h + 1};
    add_one(first[given[e].left + 1]);
    add_one(incoming[given[e].right]);
  });
  first[0] = 0;
  running_sums(first, team);
  UnwrittenVector<int32_t> place(num_vertices());
  each(team, num_vertices(), 1.0, [&](int64_t v) { place[v] = first[v]; });
  segments.resize(count);
  each(team, count, 5.0, [&](int64_t e) { segments[add_one(place[given[e].left])] = given[e]; });
}

// The first of them; vertices without edges are passed over.
std::pair<int32_t, int32_t> SweepOrder::coincident(Team& team) const {
  const int parts = Team::parts(4.0 * double(num_vertices()));
  std::vector<std::pair<int32_t, int32_t>> found(parts, {-1, -1});
  team.split(num_vertices(), parts, [&](int64_t low, int64_t high, int part) {
    auto v = static_cast<int32_t>(low);
    while (v < high && degree(v) == 0) ++v;
    if (v == high) return;  // so that nothing is passed over twice on the way back
    int32_t last = static_cast<int32_t>(low) - 1;
    while (last >= 0 && degree(last) == 0) --last;
    for (; v < high; ++v) {
      if (degree(v) == 0) continue;
      if (last >= 0 && points[v] == points[last]) {
        found[part] = {last, v};
        return;
      }
      last = v;
    }
  });
  for (const auto& pair : found) {
    if (pair.first >= 0) return pair;
  }
  return {-1, -1};
}

std::pair<int32_t, int32_t> SweepOrder::sort_fans(Team& team) {
  const int parts = Team::parts(20.0 * double(num_vertices()));
  std::vector<std::pair<int32_t, int32_t>> overlap(parts, {-1, -1});
  team.split(num_vertices(), parts, [&](int64_t low, int64_t high, int part) {
    for (int64_t v = low; v < high && overlap[part].first < 0; ++v)
      overlap[part] = sort_fan(int32_t(v));
  });
  const auto found = std::find_if(overlap.begin(), overlap.end(),
                                  [](const auto& pair) { return pair.first >= 0; });
  return found == overlap.end() ? std::pair(-1, -1) : *found;
}

// All right ends lie in one half-plane of v, so one orientation compares two directions.
std::pair<int32_t, int32_t> SweepOrder::sort_fan(int32_t v) {
  const auto begin = segments.begin() + first[v], end = segments.begin() + first[v + 1];
  if (end - begin < 2) return {-1, -1};
  const auto sort = [&](auto&& less) {
    if (end - begin > 8) return std::sort(begin, end, less);
    for (auto i = begin + 1; i != end; ++i) {
      for (auto j = i; j != begin && less(*j, *(j - 1)); --j) std::swap(*j, *(j - 1));
    }
  };
  const auto lower = [this, v](const Segment& s, const Segment& t) {
    if (s.right == t.right) return s.half_edge < t.half_edge;
    return orientation(points[v], points[s.right], points[t.right]) > 0;
  };
  sort([](const Segment& s, const Segment& t) {
    return s.half_edge < t.half_edge;
  });  // threads mix them
  sort(lower);
  for (auto i = begin + 1; i != end; ++i) {
    if ((i - 1)->right != i->right && !lower(*(i - 1), *i))
      return {(i - 1)->half_edge >> 1, i->half_edge >> 1};
  }
  return {-1, -1};
}

std::vector<int32_t> SweepOrder::rotation_offsets(Team& team) const {
  std::vector<int32_t> offsets(size_t(num_vertices()) + 1, 0);
  each(team, num_vertices(), 3.0, [&](int64_t v) { offsets[vertex[v] + 1] = degree(int32_t(v)); });
  running_sums(offsets, team);
  return offsets;
}

}  // namespace planaris
