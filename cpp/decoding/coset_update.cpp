#include "decoding/coset_update.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/intrinsics.hpp"

namespace planaris {

namespace {

constexpr int kWidth = 8;  // doubles of a vector
constexpr int kBlock = 4;  // pairs of rows that are eliminated together

constexpr double kShake = 0x1p-46;  // relative change of entries that shows what cancels

constexpr double kMuchDoubt = 1e3;

// Strict upper triangle, row-major; entries below it hold anything.
struct Rows {
  double* a;
  int64_t stride;
  int32_t pairs;  // all
  double* mass;   // by pair: sum of the sizes of all that was added to its diagonal entry
};

#define SIMD_FILE "decoding/eliminate_pairs.inl"
#include "base/each_instruction_set.inl"

using Eliminate = void (*)(const Rows&, int32_t);

Eliminate choose_eliminate() {
  static const Eliminate chosen = PLANARIS_CHOOSE(eliminate);
  return chosen;
}

}  // namespace

void CosetUpdate::gather(std::span<const JoinChange> changes, int32_t logical, bool reverse,
                         double shake) {
  const auto k = static_cast<int32_t>(changes.size());
  pairs_ = k + (logical >= 0);
  stride_ = (2 * int64_t(pairs_) + kWidth - 1) / kWidth * kWidth;
  const size_t size = size_t(2 * pairs_ * stride_) + kWidth;
  if (a_.size() < size) a_.resize(size);
  // Vectors lie in one cache line each.
  rows_ = a_.data() + (-(reinterpret_cast<uintptr_t>(a_.data()) / sizeof(double))) % kWidth;
  if (mass_.size() < size_t(pairs_)) mass_.resize(pairs_);
  // Blocks of e < f lie one after the other; f counts from the first edge of all.
  const auto blocks_of = [this](int32_t e) {
    return inverse_->blocks.data() + 4 * (int64_t(inverse_->place(e, e + 1)) - e - 1);
  };
  uint64_t random = 88172645463325252u;
  for (int32_t i = 0; i < pairs_; ++i) {
    const bool last = i == k;
    const int32_t at = reverse ? k - 1 - i : i, e = last ? logical : changes[at].edge;
    double *row0 = rows_ + 2 * i * stride_, *row1 = row0 + stride_;
    mass_[i] = row0[2 * i + 1] = (last ? 0.0 : changes[at].ratio) + inverse_->diagonal[e];
    if (reverse) {
      const auto shaken = [&random, shake](double value) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return value * (1.0 + shake * (double(int64_t(random) >> 11) * 0x1p-52));
      };
      row0[2 * i + 1] = shaken(row0[2 * i + 1]);
      for (int32_t j = i + 1; j < pairs_; ++j) {
        // Pairs come in falling order, the logical edge after all.
        const double* block =
            j == k ? inverse_->block(e, logical) : inverse_->block(changes[k - 1 - j].edge, e);
        const double turn = j == k ? 1.0 : -1.0;
        row0[2 * j] = shaken(turn * block[0]);
        row0[2 * j + 1] = shaken(turn * block[j == k ? 1 : 2]);
        row1[2 * j] = shaken(turn * block[j == k ? 2 : 1]);
        row1[2 * j + 1] = shaken(turn * block[3]);
      }
    }
    // Nearly every block is far from the processor: those of the row after the next are called for.
    const double* blocks = blocks_of(e);
    const double* ahead = i + 2 < k ? blocks_of(changes[i + 2].edge) : blocks;
    for (int32_t j = reverse ? pairs_ : i + 1; j < pairs_; ++j) {
      const int64_t at = 4 * int64_t(j < k ? changes[j].edge : logical);
      if (j > i + 2) __builtin_prefetch(ahead + at);
      std::memcpy(row0 + 2 * j, blocks + at, 2 * sizeof(double));
      std::memcpy(row1 + 2 * j, blocks + at + 2, 2 * sizeof(double));
    }
    std::fill(row0 + 2 * pairs_, row0 + stride_, 0.0);
    std::fill(row1 + 2 * pairs_, row1 + stride_, 0.0);
    const int64_t below = 2 * i / kWidth * kWidth;
    std::fill(row0 + below, row0 + 2 * i + 1, 0.0);
    std::fill(row1 + below, row1 + 2 * i + 2, 0.0);
  }
}

CosetWeight CosetUpdate::eliminate(std::span<const JoinChange> changes, int32_t logical,
                                   bool reverse, double shake) {
  CosetWeight result;
  const auto k = static_cast<int32_t>(changes.size());
  gather(changes, logical, reverse, shake);
  choose_eliminate()({rows_, stride_, pairs_, mass_.data()}, k);
  double product = 1.0;
  for (int32_t i = 0; i < pairs_; ++i) {
    const double pivot = rows_[2 * i * stride_ + 2 * i + 1];
    if (i < k) {
      product *= pivot;
      if (product < 1e-150) {
        result.log_pivots += std::log(product);
        product = 1.0;
      }
    } else {
      result.other = pivot;
      result.other_error = mass_[i];
      break;
    }
    result.doubt += pivot > 0.0 ? mass_[i] / pivot : std::numeric_limits<double>::infinity();
  }
  result.log_pivots += std::log(product);
  return result;
}

CosetWeight CosetUpdate::weigh(std::span<const JoinChange> changes, int32_t logical, bool careful) {
  CosetWeight result = eliminate(changes, logical, false, 0.0);
  const auto doubt = [&](const CosetWeight& w) { return std::max(w.doubt, w.other_error); };
  if (changes.size() >= 2 && !(doubt(result) < kMuchDoubt)) {  // another order may lose less
    const CosetWeight other = eliminate(changes, logical, true, 0.0);
    if (doubt(other) < doubt(result)) result = other;
  }
  if (!careful || changes.size() < 2 || !std::isfinite(result.doubt)) return result;
  const CosetWeight again = eliminate(changes, logical, true, kShake);
  result.doubt = std::max(result.doubt, again.doubt);
  result.doubt += std::fabs(again.log_pivots - result.log_pivots) / kShake;
  result.other_error = std::max(result.other_error, again.other_error);
  result.other_error += std::fabs(again.other - result.other) / kShake;
  return result;
}

bool CosetUpdate::invert(std::span<const JoinChange> changes, std::vector<double>& inverse) {
  gather(changes, -1, false, 0.0);
  const int64_t n = 2 * int64_t(pairs_);
  inverse.resize(n * n);
  for (int64_t r = 0; r < n; ++r) {
    inverse[r * n + r] = 0.0;
    for (int64_t c = r + 1; c < n; ++c) {
      inverse[r * n + c] = rows_[r * stride_ + c];
      inverse[c * n + r] = -rows_[r * stride_ + c];
    }
  }
  // Gauss and Jordan with pivots of two rows, in place.
  for (int64_t p = 0; p < n; p += 2) {
    const double d = inverse[p * n + p + 1];
    if (!(d > 0.0)) return false;
    double *u = &inverse[p * n], *v = u + n;
    for (int64_t c = 0; c < n; ++c) {  // [[0, -1/d], [1/d, 0]] times the two rows
      const double x = u[c], y = v[c];
      u[c] = -y / d;
      v[c] = x / d;
    }
    u[p] = v[p + 1] = 0.0;
    u[p + 1] = -1.0 / d;
    v[p] = 1.0 / d;
    for (int64_t r = 0; r < n; ++r) {
      if (r == p || r == p + 1) continue;
      double* row = &inverse[r * n];
      const double cu = row[p], cv = row[p + 1];
      row[p] = row[p + 1] = 0.0;
      for (int64_t c = 0; c < n; ++c) row[c] -= cu * u[c] + cv * v[c];
    }
  }
  return true;
}

}  // namespace planaris
