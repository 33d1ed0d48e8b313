// Draws the edges of one front, each with its probability given all edges before.
//
// The weights of the patterns of a block are Pfaffians: legs of edges that are not cut are struck
// out, those of cut edges stay, edges that are yet to be drawn are joined, which sums over them.
// Pivots are searched for, so that rounding may be felt at low temperature. Hence the sum of both
// weights of an edge is compared to the weight of what was drawn before.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "fronts/front_elimination.hpp"

namespace planaris {

// A skew-symmetric matrix, lower triangle, column-major: first rows to get rid of, then the two
// legs of every edge that is to be drawn (without their joins).
template <class T>
struct DrawnBlock {
  std::vector<T> entries;
  int32_t rows = 0, others = 0;
  double log = 0.0;  // of the factor that Pfaffians lack

  DrawnBlock() = default;
  DrawnBlock(int32_t rows, int32_t others, double log)
      : entries(size_t(rows) * rows), rows(rows), others(others), log(log) {}

  T* column(int32_t j) { return entries.data() + size_t(j) * rows; }
  const T* column(int32_t j) const { return entries.data() + size_t(j) * rows; }
  T entry(int32_t i, int32_t j) const {
    return i > j ? entries[size_t(j) * rows + i] : -entries[size_t(i) * rows + j];
  }
};

template <class T>
class EdgeDrawer {
 public:
  struct Edge {
    int32_t edge;
    double log_join;
    bool negative;

    T join() const {
      const T value = exponential<T>(log_join);
      return negative ? -value : value;
    }
  };

  // What drawing a block came to.
  struct Outcome {
    int64_t undecided = 0;         // edges for which both weights vanished
    double log_probability = 0.0;  // of all decisions, as they were computed
    double mismatch = 0.0;         // of logarithms of weights, from one edge to the next
  };

  // Writes whether each edge is cut to `cut`, by one number in [0, 1) each; both by edge.
  Outcome run(DrawnBlock<T>&& block, std::span<const Edge> edges, std::span<const double> uniform,
              std::span<uint8_t> cut) {
    uniform_ = uniform;
    cut_ = cut;
    outcome_ = {};
    drawn_ = NAN;
    const int32_t others = block.others;
    draw(reduce(std::move(block), others), edges);
    return outcome_;
  }

 private:
  using Block = DrawnBlock<T>;

  // Eliminates as many of the first `candidates` rows as have pivots.
  Block reduce(Block&& block, int32_t candidates) {
    if (candidates == 0) return std::move(block);
    perm_.resize(block.rows);
    for (int32_t k = 0; k < block.rows; ++k) perm_[k] = k;
    FrontElimination<T> front(block.entries.data(), block.rows, candidates, perm_.data(), packing_,
                              pivot_rows_, alone_);
    const int32_t done = front.run(0.1, false);
    Block rest(block.rows - done, candidates - done, block.log);
    for (int32_t k = 0; k < done; k += 2) rest.log += log_magnitude(block.column(k)[k + 1]);
    for (int32_t j = 0; j < rest.rows; ++j) {
      const T* from = block.column(done + j) + done;
      std::copy(from + j + 1, from + rest.rows, rest.column(j) + j + 1);
    }
    for (int32_t r = 0; r < rest.others; ++r) rescale(rest, r);
    return rest;
  }

  // Small rows are made large: only ratios of Pfaffians are of interest.
  void rescale(Block& block, int32_t r) {
    T largest = T(0.0);
    for (int32_t i = 0; i < block.rows; ++i) {
      if (i != r) largest = std::max(largest, magnitude(block.entry(i, r)));
    }
    if (is_zero(largest)) return;
    const int64_t power = std::clamp<int64_t>(-binary_exponent(largest), -1000, 1000);
    const T factor = power_of_two<T>(power);
    for (int32_t j = 0; j < r; ++j) block.column(j)[r] = block.column(j)[r] * factor;
    for (int32_t i = r + 1; i < block.rows; ++i) block.column(r)[i] = block.column(r)[i] * factor;
    block.log -= static_cast<double>(power) * std::numbers::ln2;
  }

  Block select(const Block& block, const std::vector<int32_t>& rows, int32_t others) {
    Block chosen(static_cast<int32_t>(rows.size()), others, block.log);
    for (int32_t j = 0; j < chosen.rows; ++j) {
      for (int32_t i = j + 1; i < chosen.rows; ++i) {
        chosen.column(j)[i] = block.entry(rows[i], rows[j]);
      }
    }
    return chosen;
  }

  // The first half of the edges with the second summed over, then the second given the first.
  void draw(const Block& block, std::span<const Edge> edges) {
    if (edges.size() == 1) return decide(block, edges[0]);
    const auto half = static_cast<int32_t>(edges.size() / 2), others = block.others;
    const int32_t middle = others + 2 * half;
    std::vector<int32_t> rows;
    for (int32_t k = 0; k < others; ++k) rows.push_back(k);
    for (int32_t k = middle; k < block.rows; ++k) rows.push_back(k);
    const auto candidates = static_cast<int32_t>(rows.size());
    for (int32_t k = others; k < middle; ++k) rows.push_back(k);
    Block first = select(block, rows, others);
    for (size_t k = half; k < edges.size(); ++k) {
      const auto at = static_cast<int32_t>(others + 2 * (k - half));
      first.column(at)[at + 1] += -edges[k].join();
    }
    draw(reduce(std::move(first), candidates), edges.first(half));
    rows.resize(others);
    double stayed = 0.0;
    for (int32_t k = 0; k < half; ++k) {
      if (!cut_[edges[k].edge]) {
        stayed += edges[k].log_join;
        continue;
      }
      rows.push_back(others + 2 * k);
      rows.push_back(others + 2 * k + 1);
    }
    const auto known = static_cast<int32_t>(rows.size());
    for (int32_t k = middle; k < block.rows; ++k) rows.push_back(k);
    Block second = select(block, rows, known);
    second.log += stayed;
    draw(reduce(std::move(second), known), edges.subspan(half));
  }

  // Logarithm of the Pfaffian of the first rows; -inf if it vanishes.
  double log_pfaffian(const Block& block, int32_t rows) {
    if (rows % 2 == 1) return -INFINITY;
    std::vector<T> a(size_t(rows) * rows);
    for (int32_t j = 0; j < rows; ++j) {
      std::copy(block.column(j) + j, block.column(j) + rows, a.data() + size_t(j) * rows + j);
    }
    perm_.resize(rows);
    FrontElimination<T> front(a.data(), rows, rows, perm_.data(), packing_, pivot_rows_, alone_);
    if (front.run(0.1, true) < rows) return -INFINITY;
    double sum = 0.0;
    for (int32_t k = 0; k < rows; k += 2) sum += log_magnitude(a[size_t(k) * rows + k + 1]);
    return sum;
  }

  void decide(const Block& block, const Edge& edge) {
    const double stay = edge.log_join + log_pfaffian(block, block.others);
    const double part = log_pfaffian(block, block.rows);
    if (!(stay > -INFINITY) && !(part > -INFINITY)) ++outcome_.undecided;
    uint8_t& cut = cut_[edge.edge];
    cut = !(uniform_[edge.edge] * (1.0 + std::exp(std::min(part - stay, 700.0))) < 1.0);
    if (!(stay > -INFINITY)) {
      cut = 1;
    } else if (part > -INFINITY) {
      outcome_.log_probability -= log_sum(cut ? stay - part : part - stay);
    }
    const double chosen = cut ? part : stay,
                 both = chosen + log_sum(cut ? stay - part : part - stay);
    if (!std::isnan(drawn_)) outcome_.mismatch += std::fabs(both + block.log - drawn_);
    drawn_ = chosen + block.log;
  }

  // log(1 + e^x)
  static double log_sum(double x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }

  std::span<const double> uniform_;
  std::span<uint8_t> cut_;
  Outcome outcome_;
  double drawn_ = NAN;  // logarithm of the weight of what was drawn so far
  Packing packing_;
  std::vector<T> pivot_rows_;
  std::vector<int32_t> perm_;
  ParallelFor alone_;
};

}  // namespace planaris
