// Small skew-symmetric matrices that are eliminated in part, with what was taken out so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/scaled.hpp"
#include "fronts/front_elimination.hpp"

namespace planaris {

// A number by its logarithm: products of many pivots leave every range. Logarithms of a million
// spins are so large that a double would leave ten digits of the number.
struct SignedLog {
  TwoDoubles log;
  int sign = 1;

  SignedLog& operator*=(const SignedLog& other) {
    log += other.log;
    sign *= other.sign;
    return *this;
  }
  friend SignedLog operator*(SignedLog a, const SignedLog& b) { return a *= b; }
  bool is_zero() const { return !(log.high > -INFINITY); }
};

// Lower triangle, column-major. The first `pending` rows are yet to be eliminated, whatever
// comes later; the Pfaffian of the whole is `factor` times that of what is left.
template <class T>
struct SkewBlock {
  int32_t rows = 0, pending = 0;
  std::vector<T> entries;
  SignedLog factor;

  SkewBlock() = default;
  SkewBlock(int32_t count, int32_t first) : rows(count), pending(first) {
    entries.assign(size_t(count) * count, T(0.0));
  }
  T* column(int32_t j) { return entries.data() + size_t(j) * rows; }
  const T* column(int32_t j) const { return entries.data() + size_t(j) * rows; }
  T entry(int32_t i, int32_t j) const {
    return i > j ? entries[size_t(j) * rows + i] : -entries[size_t(i) * rows + j];
  }
  void set(int32_t i, int32_t j, const T& value) {
    if (i > j) {
      column(j)[i] = value;
    } else {
      column(i)[j] = -value;
    }
  }
  // Adds the join of two legs: `first` is the row of the edge's even leg.
  void join(int32_t first, int32_t second, const T& value) {
    if (first < second) {
      column(first)[second] += -value;
    } else {
      column(second)[first] += value;
    }
  }
  // The rows listed, in that order.
  SkewBlock select(const std::vector<int32_t>& chosen, int32_t first) const {
    SkewBlock part(static_cast<int32_t>(chosen.size()), first);
    part.factor = factor;
    for (int32_t j = 0; j < part.rows; ++j) {
      for (int32_t i = j + 1; i < part.rows; ++i) {
        part.column(j)[i] = entry(chosen[i], chosen[j]);
      }
    }
    return part;
  }
};

template <class T>
class BlockElimination {
 public:
  // Eliminates as many of the first `candidates` rows as have pivots; the others stay pending,
  // brought to size one.
  SkewBlock<T> reduce(SkewBlock<T>&& block, int32_t candidates) {
    if (candidates == 0) return std::move(block);
    const int32_t done = run(block, candidates, false);
    SkewBlock<T> rest(block.rows - done, candidates - done);
    rest.factor = block.factor;
    for (int32_t j = 0; j < rest.rows; ++j) {
      const T* from = block.column(done + j) + done;
      std::copy(from + j + 1, from + rest.rows, rest.column(j) + j + 1);
    }
    for (int32_t r = 0; r < rest.pending; ++r) rescale(rest, r);
    return rest;
  }

  // The Pfaffian of the first rows, times the block's factor.
  SignedLog pfaffian(const SkewBlock<T>& block, int32_t rows) {
    if (rows % 2 == 1) return {{-INFINITY, 0.0}, 1};
    whole_.rows = rows;
    whole_.factor = block.factor;
    whole_.entries.resize(size_t(rows) * rows);
    for (int32_t j = 0; j < rows; ++j) {
      std::copy(block.column(j) + j, block.column(j) + rows, whole_.column(j) + j);
    }
    if (run(whole_, rows, true) < rows) return {{-INFINITY, 0.0}, 1};
    return whole_.factor;
  }

 private:
  int32_t run(SkewBlock<T>& block, int32_t candidates, bool last) {
    perm_.resize(block.rows);
    for (int32_t k = 0; k < block.rows; ++k) perm_[k] = k;
    FrontElimination<T> front(block.entries.data(), block.rows, candidates, perm_.data(), packing_,
                              pivot_rows_, alone_);
    const int32_t done = front.run(0.1, last);
    for (int32_t k = 0; k < done; k += 2) {
      const T& d = block.column(k)[k + 1];
      block.factor *= {{log_magnitude(d), 0.0}, is_negative(d) ? -1 : 1};
    }
    if (front.swaps() & 1) block.factor.sign = -block.factor.sign;
    return done;
  }

  void rescale(SkewBlock<T>& block, int32_t r) {
    T largest = T(0.0);
    for (int32_t i = 0; i < block.rows; ++i) {
      if (i != r) largest = std::max(largest, magnitude(block.entry(i, r)));
    }
    if (is_zero(largest)) return;
    const int64_t exponent = std::clamp<int64_t>(-binary_exponent(largest), -1000, 1000);
    const T power = power_of_two<T>(exponent);
    for (int32_t j = 0; j < r; ++j) block.column(j)[r] = block.column(j)[r] * power;
    for (int32_t i = r + 1; i < block.rows; ++i) block.column(r)[i] = block.column(r)[i] * power;
    block.factor.log -= multiple_of_ln2(exponent);
  }

  Packing packing_;
  std::vector<T> pivot_rows_;
  std::vector<int32_t> perm_;
  SkewBlock<T> whole_;
  ParallelFor alone_;
};

}  // namespace planaris
