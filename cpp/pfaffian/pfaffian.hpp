// log |Pf K| of the Kasteleyn matrix of a rotation system, by elimination along a FrontTree.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/control.hpp"
#include "base/double_double.hpp"
#include "fronts/front_tree.hpp"
#include "moats/moat_clusters.hpp"

namespace planaris {

// Entries, in logarithms so that no product over- or underflows on the way: two legs i, j of a
// face are joined by exp(face[i] + face[j]), the two of an edge by sign * exp(join + join).
// Double-doubles are products of exponentials, so that a sum of logarithms rounds nothing.
struct KasteleynEntries {
  std::span<const double> face, join;  // one per leg
  std::span<const int8_t> sign;        // one per edge
  // One per edge, or empty; see MoatOrder. With them edges are eliminated in that order without
  // a search for pivots; every pivot then has the sign of its join and is no smaller.
  std::span<const int32_t> earliest = {}, rank = {};
  // With these, doubles have exponents block by block, see MoatClusters; wide numbers have their
  // own. Not where fronts are kept.
  const MoatClusters* clusters = nullptr;
  // Whether, in order, numbers that are too small for doubles are nothing beside what they are
  // added to: wide ones are then eliminated as pairs of doubles, and doubles count them as zeros.
  bool underflow = false;

  // Whether doubles that are too small count as zeros: with clusters there is always room for what
  // matters.
  bool flush() const { return underflow || clusters != nullptr; }
};

struct EliminationOptions {
  double threshold = 0.1;
  int threads = 1;
};

struct EliminationStats {
  int64_t pivots = 0;     // 2×2 pivots taken
  int64_t delayed = 0;    // rows handed on to a parent, each time they were
  int64_t left_over = 0;  // rows without any pivot at the root: the matrix looks singular
  int32_t largest_front = 0;
  double worst_ratio = 1.0;  // of a pivot to the largest entry of its rows; in order: to its join
  int64_t smallest_exponent = 0;  // of the largest entry of a refused row
  double multiplications = 0.0;

  void add(const EliminationStats& other);
};

struct LogPfaffian {
  double log_magnitude = 0.0;
  DoubleDouble magnitude;  // the same, not as a logarithm: double-double with pivoting; else 0
  int sign = 1;            // relative to the term that joins every edge, if all signs are +1
  EliminationStats stats;
};

// A front after elimination: what marginals and samples need of it.
template <class T>
struct FrontFactor {
  int32_t rows = 0, eliminated = 0, delayed_left = 0, delayed_right = 0;
  std::vector<T> lower;            // rows × eliminated, column-major: L, and pivots at (k + 1, k)
  std::vector<int32_t> place;      // where every row of the front, as assembled, went
  std::vector<int32_t> exponents;  // powers of two that the refused rows were scaled by
  // With clusters: by row, its place. In several clusters also, by pivot row, the place once it had
  // climbed, and where each panel of pivots ended.
  std::vector<LegPlace> places, climbed;
  std::vector<int32_t> panels;
};

template <class T>
using Factors = std::vector<FrontFactor<T>>;

// A front as assembled, refused rows rescaled, its own edges not yet joined.
template <class T>
struct FrontMatrix {
  int32_t rows = 0;
  std::vector<T> lower;            // strict lower triangle, column after column
  int32_t delayed_left = 0;        // refused rows come after the front's own, left ones first
  std::vector<int32_t> exponents;  // powers of two that they were scaled by
  double log_pivots = 0.0;         // of what was eliminated then
  int sign = 1;

  T entry(int32_t i, int32_t j) const {
    const auto at = [this](int64_t r, int64_t c) {
      return lower[c * (2 * int64_t(rows) - c - 1) / 2 + r - c - 1];
    };
    return i > j ? at(i, j) : -at(j, i);
  }
};

template <class T>
using Fronts = std::vector<FrontMatrix<T>>;

// With `keep`, the factors of all fronts are stored there, by node; with `fronts`, the matrices.
template <class T>
LogPfaffian eliminate(const FrontTree& tree, const KasteleynEntries& entries,
                      const EliminationOptions& options, Control& control,
                      Factors<T>* keep = nullptr, Fronts<T>* fronts = nullptr);

// Two eliminations with one order and clusters, by one thread, front by front: what does not depend
// on the numbers is done once. Both results have the stats of both.
std::pair<LogPfaffian, LogPfaffian> eliminate_at_once(const FrontTree& tree,
                                                      const KasteleynEntries& first,
                                                      const KasteleynEntries& second,
                                                      Control& control);

// Two eliminations by the same threads: where one has little to share, they work on the other.
std::pair<LogPfaffian, LogPfaffian> eliminate_both(
    const FrontTree& tree, const KasteleynEntries& first, const EliminationOptions& first_options,
    const KasteleynEntries& second, const EliminationOptions& second_options, Control& control);

}  // namespace planaris
