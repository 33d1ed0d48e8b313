#include "pfaffian/leg_scaling.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace planaris {

namespace {

// Shortest augmenting paths (Jonker & Volgenant) on the bipartite graph of rows and columns.
class Assignment {
 public:
  Assignment(const Faces& faces, std::span<const double> gauged)
      : faces_(faces), g_(gauged), legs_(static_cast<int32_t>(faces.walk.size())), row_dual_(legs_),
        column_dual_(legs_), column_of_(legs_, -1), row_of_(legs_, -1), distance_(legs_, kFar),
        from_(legs_, -1), done_(legs_, 0) {}

  std::vector<double> solve(Control& control) {
    start();
    for (int32_t row = 0; row < legs_; ++row) {
      if (column_of_[row] < 0) match_cheaply(row);
    }
    for (int32_t row = 0; row < legs_; ++row) {
      control.poll(static_cast<double>(row) / legs_);
      if (column_of_[row] < 0) augment(row);
    }
    std::vector<double> y(legs_);
    for (int32_t i = 0; i < legs_; ++i) y[i] = (row_dual_[i] + column_dual_[i]) / 2;
    return y;
  }

 private:
  static constexpr double kFar = std::numeric_limits<double>::infinity();

  double g(int32_t leg) const { return g_[leg >> 1]; }

  // Legs of edges that are not broken are matched across their edge at no cost.
  void start() {
    for (int32_t i = 0; i < legs_; ++i) {
      row_dual_[i] = column_dual_[i] = std::min(g(i), 0.0);
      if (g(i) >= 0.0) column_of_[i] = row_of_[i] = i ^ 1;
    }
  }

  // Calls visit(column, reduced cost) for every entry of a row.
  template <class Visit>
  void for_entries(int32_t row, Visit visit) const {
    const int32_t f = faces_.face_of[row];
    const double base = g(row) - row_dual_[row];
    for (int32_t k = faces_.offsets[f]; k < faces_.offsets[f + 1]; ++k) {
      const int32_t j = faces_.walk[k];
      if (j != row) visit(j, base + g(j) - column_dual_[j]);
    }
    visit(row ^ 1, -row_dual_[row] - column_dual_[row ^ 1]);
  }

  void match_cheaply(int32_t row) {
    double least = kFar;
    for_entries(row, [&](int32_t, double cost) { least = std::min(least, cost); });
    if (least < kFar) row_dual_[row] += least;
    int32_t free_column = -1;
    for_entries(row, [&](int32_t j, double cost) {
      if (free_column < 0 && row_of_[j] < 0 && cost <= 0.0) free_column = j;
    });
    if (free_column >= 0) {
      column_of_[row] = free_column;
      row_of_[free_column] = row;
    }
  }

  void push(int32_t column, double distance) {
    heap_.push_back({distance, column});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  void scan(int32_t row, double base) {
    for_entries(row, [&](int32_t j, double cost) {
      const double d = base + std::max(cost, 0.0);
      if (d >= bound_ || done_[j] || d >= distance_[j]) return;
      if (row_of_[j] < 0) bound_ = d;  // nothing farther than a free column is of interest
      if (distance_[j] == kFar) touched_.push_back(j);
      distance_[j] = d;
      from_[j] = row;
      push(j, d);
    });
  }

  void augment(int32_t source) {
    heap_.clear();
    touched_.clear();
    bound_ = kFar;
    scan(source, 0.0);
    int32_t end = -1;
    double length = 0.0;
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const auto [d, column] = heap_.back();
      heap_.pop_back();
      if (done_[column] || d > distance_[column]) continue;
      done_[column] = 1;
      length = d;
      if (row_of_[column] < 0) {
        end = column;
        break;
      }
      scan(row_of_[column], d);
    }
    if (end >= 0) {
      row_dual_[source] += length;
      for (const int32_t j : touched_) {
        if (!done_[j] || j == end) continue;
        column_dual_[j] -= length - distance_[j];
        row_dual_[row_of_[j]] += length - distance_[j];
      }
      for (int32_t column = end;;) {
        const int32_t row = from_[column], next = column_of_[row];
        row_of_[column] = row;
        column_of_[row] = column;
        if (row == source) break;
        column = next;
      }
    }
    for (const int32_t j : touched_) {
      distance_[j] = kFar;
      done_[j] = 0;
    }
  }

  struct Item {
    double distance;
    int32_t column;
    bool operator>(const Item& other) const { return distance > other.distance; }
  };

  const Faces& faces_;
  std::span<const double> g_;
  int32_t legs_;
  std::vector<double> row_dual_, column_dual_;
  std::vector<int32_t> column_of_, row_of_;
  std::vector<double> distance_;
  double bound_ = kFar;
  std::vector<int32_t> from_;
  std::vector<char> done_;
  std::vector<Item> heap_;
  std::vector<int32_t> touched_;
};

}  // namespace

std::vector<double> leg_scaling(const Faces& faces, std::span<const double> gauged,
                                Control& control) {
  return Assignment(faces, gauged).solve(control);
}

}  // namespace planaris
