#include "polytope/sparse_cholesky.hpp"

#include <cmath>
#include <stdexcept>

#include "base/table_too_large.hpp"

namespace planaris {

namespace {

constexpr int64_t kMany = 1 << 17;  // steps of one row

// The upper triangle of a matrix, and the rows of its factor as paths in the elimination tree.
class UpperTriangle {
 public:
  UpperTriangle(std::span<const int64_t> offsets, std::span<const int32_t> rows, Control& control)
      : offsets_(offsets), rows_(rows), n_(static_cast<int32_t>(offsets.size()) - 1) {
    check();
    parent_.assign(n_, -1);
    flag_.assign(n_, -1);
    first_.assign(size_t(n_) + 1, 0);
    for (int32_t k = 0; k < n_; ++k) {
      flag_[k] = k;
      int64_t steps = 1;
      for (int64_t p = offsets[k]; p < offsets[k + 1]; ++p) {
        for (int32_t i = rows[p]; flag_[i] != k; i = parent_[i]) {
          if (parent_[i] < 0) parent_[i] = k;
          ++first_[i + 1];
          flag_[i] = k;
          ++steps;
        }
      }
      control.spend(steps);
    }
    for (int32_t k = 0; k < n_; ++k) first_[k + 1] += first_[k];
    flag_.assign(n_, -1);
  }

  int32_t size() const { return n_; }
  int64_t first(int32_t column) const { return first_[column]; }  // in L
  int64_t num_entries() const { return first_[n_]; }              // of L, without its diagonal

  // The columns of row k of L, each before its parent, from pattern[top] on; `visit` sees the
  // entries of A.
  template <class Visit>
  int32_t row(int32_t k, std::vector<int32_t>& pattern, const Visit& visit) {
    int32_t top = n_;
    flag_[k] = k;
    for (int64_t p = offsets_[k]; p < offsets_[k + 1]; ++p) {
      visit(rows_[p], p);
      int32_t length = 0;
      for (int32_t i = rows_[p]; flag_[i] != k; i = parent_[i]) {
        pattern[length++] = i;
        flag_[i] = k;
      }
      while (length > 0) pattern[--top] = pattern[--length];
    }
    return top;
  }

 private:
  void check() const {
    const auto refuse = [](const char* why) { throw std::invalid_argument(why); };
    if (n_ < 0 || offsets_[0] != 0 || offsets_[n_] != int64_t(rows_.size())) refuse("bad offsets");
    for (int32_t k = 0; k < n_; ++k) {
      if (offsets_[k] > offsets_[k + 1] || offsets_[k + 1] > int64_t(rows_.size())) {
        refuse("bad offsets");
      }
      for (int64_t p = offsets_[k]; p < offsets_[k + 1]; ++p) {
        if (rows_[p] < 0 || rows_[p] > k) refuse("a row lies below the diagonal");
      }
    }
  }

  std::span<const int64_t> offsets_;
  std::span<const int32_t> rows_;
  int32_t n_;
  std::vector<int32_t> parent_, flag_;
  std::vector<int64_t> first_;
};

}  // namespace

SparseFactor::SparseFactor(std::span<const int64_t> offsets, std::span<const int32_t> rows,
                           std::span<const double> values, int64_t max_entries, Control& control) {
  if (offsets.empty() || rows.size() != values.size()) {
    throw std::invalid_argument("rows and values differ in length");
  }
  UpperTriangle upper(offsets, rows, control);
  if (upper.num_entries() > max_entries) {
    throw TableTooLarge("the factor of a sparse matrix has too many entries");
  }
  const int32_t n = upper.size();
  std::vector<int32_t> pattern(n);
  row_of_.resize(size_t(upper.num_entries()));
  entry_.resize(row_of_.size());
  pivot_.resize(n);
  std::vector<double> y(n, 0.0);
  for (int32_t k = 0; k <= n; ++k) first_.push_back(upper.first(k));
  std::vector<int64_t> filled(first_.begin(), first_.end() - 1);
  for (int32_t k = 0; k < n; ++k) {
    const int32_t top = upper.row(k, pattern, [&](int32_t i, int64_t p) { y[i] += values[p]; });
    double diagonal = y[k];
    y[k] = 0.0;
    int64_t steps = 1;
    for (int32_t at = top; at < n; ++at) {
      const int32_t i = pattern[at];
      const double above = y[i], scaled = above / pivot_[i];
      y[i] = 0.0;
      const int64_t begin = first_[i], end = filled[i];
      for (int64_t p = begin; p < end; ++p) y[row_of_[p]] -= entry_[p] * above;
      diagonal -= scaled * above;
      row_of_[end] = k;
      entry_[end] = scaled;
      ++filled[i];
      steps += end - begin + 4;
      if (steps < kMany) continue;
      control.spend(steps);
      steps = 0;
    }
    control.spend(steps);
    if (!std::isfinite(diagonal) || diagonal == 0.0) throw std::range_error("a pivot is zero");
    pivot_[k] = diagonal;
  }
}

std::vector<double> SparseFactor::solve(std::span<const double> side, Control& control) const {
  if (side.size() != pivot_.size()) throw std::invalid_argument("side: wrong length");
  const auto n = static_cast<int32_t>(pivot_.size());
  std::vector<double> x(side.begin(), side.end());
  for (int32_t k = 0; k < n; ++k) {
    for (int64_t p = first_[k]; p < first_[k + 1]; ++p) x[row_of_[p]] -= entry_[p] * x[k];
    control.spend(first_[k + 1] - first_[k]);
  }
  for (int32_t k = n - 1; k >= 0; --k) {
    x[k] /= pivot_[k];
    for (int64_t p = first_[k]; p < first_[k + 1]; ++p) x[k] -= entry_[p] * x[row_of_[p]];
    control.spend(first_[k + 1] - first_[k]);
  }
  return x;
}

}  // namespace planaris
