#include "tensor/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/lanes.hpp"

namespace planaris::tensor {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double exp_or_zero(double x) { return x == kNever ? 0.0 : std::exp(x); }
double minus(double x, double y) { return x == kNever ? kNever : x - y; }

// Splits k (first × second) into row(s) + column(t) + k'(s, t) with k' <= 0, as balanced as
// one pass makes it.
void balance(std::vector<double>& k, int first, int second, std::vector<double>& row,
             std::vector<double>& column) {
  row.assign(first, kNever);
  column.assign(second, kNever);
  for (int s = 0; s < first; ++s) {
    for (int t = 0; t < second; ++t) row[s] = std::max(row[s], k[s * second + t]);
    for (int t = 0; t < second; ++t) {
      k[s * second + t] = minus(k[s * second + t], row[s]);
      column[t] = std::max(column[t], k[s * second + t]);
    }
  }
  for (int s = 0; s < first; ++s) {
    for (int t = 0; t < second; ++t) k[s * second + t] = minus(k[s * second + t], column[t]);
  }
}

// The largest |entry|; with weights, of the products with them.
template <int W>
PLANARIS_INLINE double top_of(const double* row, const double* weights, int count) {
  using P = Lanes<W>;
  typename P::Type top{};
  for (int j = 0; j < count; j += W) {
    const int width = std::min(W, count - j);
    top = P::larger(top, P::get(row + j, width) * P::get(weights + j, width));
  }
  return P::largest(top);
}
template <int W, class T>
PLANARIS_INLINE double top_of(const T* row, const double* weights, int count) {
  double top = 0;
  for (int j = 0; j < count; ++j) top = std::max(top, size_of(row[j]) * weights[j]);
  return top;
}

// tops = max(tops, |row| · weight)
PLANARIS_INLINE void raise(double* tops, const double* row, double weight, int count) {
  for (int j = 0; j < count; ++j) {
    const double x = std::fabs(row[j]) * weight;
    tops[j] = tops[j] < x ? x : tops[j];
  }
}
template <class T>
PLANARIS_INLINE void raise(double* tops, const T* row, double weight, int count) {
  for (int j = 0; j < count; ++j) tops[j] = std::max(tops[j], size_of(row[j]) * weight);
}

// Largest |entry| of every row and column, after they are divided by each other's three times.
// `inverse` is scratch, one per column.
template <int W, class T>
PLANARIS_INLINE void equilibrate_any(const T* m, int rows, int columns, double* row_scale,
                                     double* column_scale, double* inverse) {
  std::fill(row_scale, row_scale + rows, 1.0);
  std::fill(column_scale, column_scale + columns, 1.0);
  std::fill(inverse, inverse + columns, 1.0);
  std::vector<double> tops(columns);
  for (int round = 0; round < 3; ++round) {
    std::fill(tops.begin(), tops.end(), 0.0);
    for (int i = 0; i < rows; ++i) {
      const T* row = m + static_cast<size_t>(i) * columns;
      if (const double top = top_of<W>(row, inverse, columns); top > 0) row_scale[i] = top;
      raise(tops.data(), row, 1 / row_scale[i], columns);
    }
    for (int j = 0; j < columns; ++j) {
      if (!(tops[j] > 0)) continue;
      column_scale[j] = tops[j];
      inverse[j] = 1 / tops[j];
    }
  }
}

template <class T>
inline __attribute__((always_inline)) void scale_any(T* m, int rows, int columns,
                                                     const double* row_scale,
                                                     const double* column_scale) {
  for (int i = 0; i < rows; ++i) {
    T* row = m + static_cast<size_t>(i) * columns;
    for (int j = 0; j < columns; ++j) row[j] *= row_scale[i] * column_scale[j];
  }
}

struct Equilibration {
  template <int W>
  static PLANARIS_INLINE void run(const double* m, int rows, int columns, double* row_scale,
                                  double* column_scale, double* top) {
    equilibrate_any<W>(m, rows, columns, row_scale, column_scale, top);
  }
};

void equilibrate(const double* m, int rows, int columns, double* row_scale, double* column_scale,
                 double* top) {
  run_widest<Equilibration>(m, rows, columns, row_scale, column_scale, top);
}

PLANARIS_TENSOR_CLONES
void scale(double* m, int rows, int columns, const double* row_scale, const double* column_scale) {
  scale_any(m, rows, columns, row_scale, column_scale);
}

PLANARIS_TENSOR_CLONES
void equilibrate(const Pair* m, int rows, int columns, double* row_scale, double* column_scale,
                 double* top) {
  equilibrate_any<1>(m, rows, columns, row_scale, column_scale, top);
}

PLANARIS_TENSOR_CLONES
void equilibrate(const Quad* m, int rows, int columns, double* row_scale, double* column_scale,
                 double* top) {
  equilibrate_any<1>(m, rows, columns, row_scale, column_scale, top);
}

PLANARIS_TENSOR_CLONES
void scale(Pair* m, int rows, int columns, const double* row_scale, const double* column_scale) {
  scale_any(m, rows, columns, row_scale, column_scale);
}

PLANARIS_TENSOR_CLONES
void scale(Quad* m, int rows, int columns, const double* row_scale, const double* column_scale) {
  scale_any(m, rows, columns, row_scale, column_scale);
}

double power(double x, double exponent) {
  return exponent == 0.5 ? std::sqrt(x) : exponent == 1.0 ? x : std::pow(x, exponent);
}

struct LargestEntry {
  template <int W>
  static PLANARIS_INLINE double run(const double* values, size_t count) {
    using P = Lanes<W>;
    typename P::Type top{};
    size_t k = 0;
    for (; k + W <= count; k += W) top = P::larger(top, P::get(values + k));
    return P::largest(P::larger(top, P::get(values + k, static_cast<int>(count - k))));
  }
};

double largest_entry(const double* values, size_t count) {
  return run_widest<LargestEntry>(values, count);
}

template <class T>
double largest_entry(const T* values, size_t count) {
  double top = 0;
  for (size_t k = 0; k < count; ++k) top = std::max(top, size_of(values[k]));
  return top;
}

// Pivots that the numbers still resolve.
template <class T>
constexpr double kSmallest = 1e-16;
template <>
constexpr double kSmallest<Pair> = 1e-31;
template <>
constexpr double kSmallest<Quad> = 1e-62;

}  // namespace

template <class T>
SiteOf<T>::SiteOf(Slabs& slabs, int left, int labels, int right) {
  const size_t count = static_cast<size_t>(left) * labels * right;
  const size_t logs_at = sizeof(Cell), values_at = logs_at + labels * sizeof(double);
  auto* memory = static_cast<std::byte*>(slabs.take(values_at + count * sizeof(T)));
  auto* logs = reinterpret_cast<double*>(memory + logs_at);
  auto* values = reinterpret_cast<T*>(memory + values_at);
  cell_ = new (memory) Cell{
      {left, labels, right, {values, count}, {logs, static_cast<size_t>(labels)}}, &slabs, {1}};
}

template <class T>
void ChainOf<T>::touch(int left, int right) {
  untouched_left_ = std::min(untouched_left_, left);
  untouched_right_ = std::min(untouched_right_, right);
}

template <class T>
void ChainOf<T>::set(int place, Site tensor, bool known_before) {
  largest_bond_ = std::max({largest_bond_, tensor->left, tensor->right});
  if (history_ != nullptr) {
    history_->push_back({Change::Kind::kSet, place, known_before ? sites_[place] : Site()});
  }
  sites_[place] = std::move(tensor);
  touch(place, size() - 1 - place);
}

template <class T>
void ChainOf<T>::unwind(History& history, size_t count) {
  while (history.size() > count) {
    Change& change = history.back();
    if (change.kind == Change::Kind::kSet) {
      sites_[change.place] = std::move(change.before);
      touch(change.place, size() - 1 - change.place);
    } else if (change.kind == Change::Kind::kInsert) {
      sites_.erase(sites_.begin() + change.place);
      touch(change.place, size() - change.place);
    } else {
      sites_.insert(sites_.begin() + change.place, std::move(change.before));
      touch(change.place, size() - 1 - change.place);
    }
    history.pop_back();
  }
}

// Moves the size of every label into `logs`, and that of the largest into log_scale_.
template <class T>
void ChainOf<T>::normalise(Tensor& tensor) {
  double highest = kNever;
  for (int s = 0; s < tensor.labels; ++s) {
    double top = 0;
    for (int a = 0; a < tensor.left; ++a) {
      const T* row =
          tensor.values.data() + (static_cast<size_t>(a) * tensor.labels + s) * tensor.right;
      top = std::max(top, largest_entry(row, tensor.right));
    }
    if (!(top > 0) || tensor.logs[s] == kNever) {
      tensor.logs[s] = kNever;
      continue;
    }
    if (!std::isfinite(top)) throw LostAccuracy();
    top = divisor<T>(top);
    tensor.logs[s] += std::log(top);
    highest = std::max(highest, tensor.logs[s]);
    const double inverse = 1 / top;
    for (int a = 0; a < tensor.left; ++a) {
      T* row = tensor.values.data() + (static_cast<size_t>(a) * tensor.labels + s) * tensor.right;
      for (int b = 0; b < tensor.right; ++b) row[b] *= inverse;
    }
  }
  if (highest == kNever) throw ZeroFunction();
  log_scale_ += highest;
  for (double& x : tensor.logs) x = minus(x, highest);
}

template <class T>
void ChainOf<T>::insert(int place, std::span<const double> logs) {
  const int labels = static_cast<int>(logs.size());
  const int bond = size() == 0 ? 1 : place > 0 ? sites_[place - 1]->right : 1;
  Site tensor(*slabs_, bond, labels, bond);
  std::copy(logs.begin(), logs.end(), tensor->logs.begin());
  std::fill(tensor->values.begin(), tensor->values.end(), T(0.0));
  for (int a = 0; a < bond; ++a) {
    for (int s = 0; s < labels; ++s) {
      tensor->values[(static_cast<size_t>(a) * labels + s) * bond + a] = T(1.0);
    }
  }
  normalise(*tensor);
  if (history_ != nullptr) history_->push_back({Change::Kind::kInsert, place, nullptr});
  sites_.insert(sites_.begin() + place, std::move(tensor));
  touch(place, size() - 1 - place);
  if (size() == 1) {
    low_ = high_ = 0;
  } else {
    if (place <= low_) ++low_;
    if (place <= high_) ++high_;
  }
  fresh_ = -1;
}

template <class T>
void ChainOf<T>::transfer(int place, std::span<const double> before, const Table& table, int labels,
                          std::span<const double> after) {
  const Tensor& old = *sites_[place];
  Site tensor(*slabs_, old.left, labels, old.right);
  std::fill(tensor->logs.begin(), tensor->logs.end(), kNever);
  std::fill(tensor->values.begin(), tensor->values.end(), T(0.0));
  std::vector<double> k(static_cast<size_t>(old.labels) * labels);
  for (int s = 0; s < old.labels; ++s) {
    for (int t = 0; t < labels; ++t) {
      double& x = k[s * labels + t];
      x = old.logs[s] + table.at(s, t) + (before.empty() ? 0.0 : before[s]);
      tensor->logs[t] = std::max(tensor->logs[t], x);
    }
  }
  for (int s = 0; s < old.labels; ++s) {
    for (int t = 0; t < labels; ++t) {
      const double w = exp_or_zero(minus(k[s * labels + t], tensor->logs[t]));
      if (w == 0) continue;
      for (int a = 0; a < old.left; ++a) {
        const T* from = old.values.data() + (static_cast<size_t>(a) * old.labels + s) * old.right;
        T* to = tensor->values.data() + (static_cast<size_t>(a) * labels + t) * old.right;
        for (int b = 0; b < old.right; ++b) to[b] += w * from[b];
      }
    }
  }
  if (!after.empty()) {
    for (int t = 0; t < labels; ++t) tensor->logs[t] += after[t];
  }
  normalise(*tensor);
  set(place, std::move(tensor));
  fresh_ = place;
}

// sites_[place] = matrix · sites_[place] (from the left) or sites_[place] · matrix.
template <class T>
void ChainOf<T>::absorb(const std::vector<T>& matrix, int rows, int columns, int place,
                        bool from_left) {
  const Tensor& old = *sites_[place];
  Site tensor(*slabs_, from_left ? rows : old.left, old.labels, from_left ? old.right : columns);
  std::copy(old.logs.begin(), old.logs.end(), tensor->logs.begin());
  if (from_left) {
    multiply(matrix.data(), old.values.data(), tensor->values.data(), rows, columns,
             old.labels * old.right);
  } else {
    multiply(old.values.data(), matrix.data(), tensor->values.data(), old.left * old.labels, rows,
             columns);
  }
  normalise(*tensor);
  set(place, std::move(tensor));
}

template <class T>
void ChainOf<T>::sum_out(int place, std::span<const double> logs) {
  const Tensor& old = *sites_[place];
  std::vector<T> sum(static_cast<size_t>(old.left) * old.right, T(0.0));
  double highest = kNever;
  for (int s = 0; s < old.labels; ++s) {
    highest = std::max(highest, old.logs[s] + (logs.empty() ? 0.0 : logs[s]));
  }
  if (highest == kNever) throw ZeroFunction();
  for (int s = 0; s < old.labels; ++s) {
    const double w = exp_or_zero(minus(old.logs[s] + (logs.empty() ? 0.0 : logs[s]), highest));
    for (int a = 0; a < old.left; ++a) {
      const T* from = old.values.data() + (static_cast<size_t>(a) * old.labels + s) * old.right;
      for (int b = 0; b < old.right; ++b)
        sum[static_cast<size_t>(a) * old.right + b] += w * from[b];
    }
  }
  log_scale_ += highest;
  if (size() == 1) {
    if (!(nearest(sum[0]) > 0)) throw LostAccuracy();
    log_scale_ += log_of(sum[0]);
  } else {
    const int rows = old.left, columns = old.right;
    const bool right = place + 1 < size();
    absorb(sum, rows, columns, right ? place + 1 : place - 1, right);
  }
  if (history_ != nullptr) history_->push_back({Change::Kind::kErase, place, sites_[place]});
  sites_.erase(sites_.begin() + place);
  touch(place, size() - place);
  const int last = size() - 1;
  if (low_ > place) --low_;
  if (high_ >= place) --high_;
  low_ = std::clamp(low_, 0, std::max(last, 0));
  high_ = std::clamp(high_, low_, std::max(last, low_));
  fresh_ = -1;
}

template <class T>
void ChainOf<T>::push_right(int place) {
  const Tensor& old = *sites_[place];
  const int rows = old.left * old.labels, columns = old.right;
  skeleton(old.values.data(), rows, columns, Cut{columns, kSmallest<T>}, Side::kLeft, skeleton_,
           work_);
  const int rank = skeleton_.rank;
  std::vector<T> rest(static_cast<size_t>(rank) * columns);
  for (int k = 0; k < rank; ++k) {
    const T* row = old.values.data() + static_cast<size_t>(skeleton_.rows[k]) * columns;
    std::copy(row, row + columns, rest.data() + static_cast<size_t>(k) * columns);
  }
  Site tensor(*slabs_, old.left, old.labels, rank);
  std::copy(old.logs.begin(), old.logs.end(), tensor->logs.begin());
  std::copy(skeleton_.left.begin(), skeleton_.left.end(), tensor->values.begin());
  normalise(*tensor);
  set(place, std::move(tensor));
  absorb(rest, rank, columns, place + 1, true);
  ++low_;
  high_ = std::max(high_, low_);
}

template <class T>
void ChainOf<T>::push_left(int place) {
  const Tensor& old = *sites_[place];
  const int rows = old.left, columns = old.labels * old.right;
  skeleton(old.values.data(), rows, columns, Cut{rows, kSmallest<T>}, Side::kRight, skeleton_,
           work_);
  const int rank = skeleton_.rank;
  std::vector<T> rest(static_cast<size_t>(rows) * rank);
  for (int a = 0; a < rows; ++a) {
    const T* row = old.values.data() + static_cast<size_t>(a) * columns;
    for (int k = 0; k < rank; ++k)
      rest[static_cast<size_t>(a) * rank + k] = row[skeleton_.columns[k]];
  }
  Site tensor(*slabs_, rank, old.labels, old.right);
  std::copy(old.logs.begin(), old.logs.end(), tensor->logs.begin());
  std::copy(skeleton_.right.begin(), skeleton_.right.end(), tensor->values.begin());
  normalise(*tensor);
  set(place, std::move(tensor));
  absorb(rest, rows, rank, place - 1, false);
  --high_;
  low_ = std::min(low_, high_);
}

// Brings all sites but place and place + 1 into skeleton form.
template <class T>
void ChainOf<T>::focus(int place) {
  while (low_ < place) push_right(low_);
  while (high_ > place + 1) push_left(high_);
}

template <class T>
void ChainOf<T>::pair(int place, const Table& table, bool swap, Side centre) {
  const bool moves = low_ < place || high_ > place + 1;
  if (moves) {
    fresh_ = -1;
    focus(place);
  }
  const Tensor& a = *sites_[place];
  const Tensor& b = *sites_[place + 1];
  const int first = a.labels, second = b.labels;
  std::vector<double> k(static_cast<size_t>(first) * second), first_logs, second_logs;
  for (int s = 0; s < first; ++s) {
    for (int t = 0; t < second; ++t) {
      k[s * second + t] = table.at(s, t) + a.logs[s] + b.logs[t];
    }
  }
  balance(k, first, second, first_logs, second_logs);
  const int rows = a.left * first, columns = second * b.right;
  const size_t size = static_cast<size_t>(rows) * columns;
  std::vector<T>& out = block_;
  out.resize(swap ? 2 * size : size);
  multiply(a.values.data(), b.values.data(), out.data(), rows, a.right, columns);
  for (double& x : k) x = exp_or_zero(x);
  for (int i = 0; i < rows; ++i) {
    for (int t = 0; t < second; ++t) {
      const double w = k[(i % first) * second + t];
      T* cell = out.data() + static_cast<size_t>(i) * columns + static_cast<size_t>(t) * b.right;
      for (int r = 0; r < b.right; ++r) cell[r] *= w;
    }
  }
  const int left = a.left, right = b.right;
  if (swap) {  // (a, s, t, b) -> (a, t, s, b)
    T* turned = out.data() + size;
    for (int i = 0; i < left; ++i) {
      for (int s = 0; s < first; ++s) {
        for (int t = 0; t < second; ++t) {
          const T* from = out.data() + ((static_cast<size_t>(i) * first + s) * second + t) * right;
          std::copy(from, from + right,
                    turned + ((static_cast<size_t>(i) * second + t) * first + s) * right);
        }
      }
    }
    std::copy(turned, turned + size, out.data());
    out.resize(size);
    compress(out, left, second, first, right, second_logs, first_logs, place, centre);
  } else {
    compress(out, left, first, second, right, first_logs, second_logs, place, centre);
  }
  fresh_ = -1;
}

template <class T>
void ChainOf<T>::compress(std::vector<T>& m, int left, int first, int second, int right,
                          std::span<const double> first_logs, std::span<const double> second_logs,
                          int place, Side centre) {
  const int rows = left * first, columns = second * right;
  rows_.resize(2 * rows);
  columns_.resize(3 * columns);
  double* row_scale = rows_.data();
  double* column_scale = columns_.data();
  equilibrate(m.data(), rows, columns, row_scale, column_scale, column_scale + 2 * columns);
  for (int i = 0; i < rows; ++i) {
    row_scale[i] = divisor<T>(power(row_scale[i], options_.relative));
    row_scale[rows + i] = 1 / row_scale[i];
  }
  for (int j = 0; j < columns; ++j) {
    column_scale[j] = divisor<T>(power(column_scale[j], options_.relative));
    column_scale[columns + j] = 1 / column_scale[j];
  }
  scale(m.data(), rows, columns, row_scale + rows, column_scale + columns);
  const Side side = centre == Side::kRight ? Side::kLeft : Side::kRight;
  skeleton(m.data(), rows, columns, options_.cut, side, skeleton_, work_);
  const int rank = skeleton_.rank;
  if (rank == 0) throw ZeroFunction();
  largest_residual_ = std::max(largest_residual_, skeleton_.residual);
  component_error_ = std::max(component_error_, skeleton_.component_error);
  Site a(*slabs_, left, first, rank), b(*slabs_, rank, second, right);
  std::copy(first_logs.begin(), first_logs.end(), a->logs.begin());
  std::copy(second_logs.begin(), second_logs.end(), b->logs.begin());
  if (centre == Side::kRight) {  // rows of the block go on, the left site interpolates them
    std::copy(skeleton_.left.begin(), skeleton_.left.end(), a->values.begin());
    std::vector<double> size(rank);
    for (int k = 0; k < rank; ++k) {
      const T* from = m.data() + static_cast<size_t>(skeleton_.rows[k]) * columns;
      T* to = b->values.data() + static_cast<size_t>(k) * columns;
      for (int j = 0; j < columns; ++j) to[j] = from[j] * column_scale[j];
      size[k] = divisor<T>(largest_entry(to, columns));
      const double inverse = 1 / size[k];
      for (int j = 0; j < columns; ++j) to[j] *= inverse;
    }
    scale(a->values.data(), rows, rank, row_scale, size.data());
  } else {
    std::copy(skeleton_.right.begin(), skeleton_.right.end(), b->values.begin());
    std::vector<double> size(rank, 0.0);
    for (int i = 0; i < rows; ++i) {
      const T* from = m.data() + static_cast<size_t>(i) * columns;
      T* to = a->values.data() + static_cast<size_t>(i) * rank;
      for (int k = 0; k < rank; ++k) {
        to[k] = from[skeleton_.columns[k]] * row_scale[i];
        size[k] = std::max(size[k], size_of(to[k]));
      }
    }
    std::vector<double> inverse(rank);
    for (int k = 0; k < rank; ++k) {
      size[k] = divisor<T>(size[k]);
      inverse[k] = 1 / size[k];
    }
    std::vector<double> ones(rows, 1.0);
    scale(a->values.data(), rows, rank, ones.data(), inverse.data());
    scale(b->values.data(), rank, columns, size.data(), column_scale);
  }
  normalise(*a);
  normalise(*b);
  set(place, std::move(a), fresh_ != place);
  set(place + 1, std::move(b), fresh_ != place + 1);
  low_ = high_ = centre == Side::kRight ? place + 1 : place;
}

template <class T>
double log_overlap(const ChainOf<T>& f, const ChainOf<T>& g) {
  Pair total = f.log_scale() + g.log_scale();
  std::vector<T> environment{T(1.0)}, half, next;
  for (int i = 0; i < f.size(); ++i) {
    const TensorOf<T>& a = f[i];
    const TensorOf<T>& b = g[i];
    next.assign(static_cast<size_t>(a.right) * b.right, T(0.0));
    std::vector<T> one_a(static_cast<size_t>(a.left) * a.right),
        one_b(static_cast<size_t>(b.left) * b.right), part(next.size());
    half.resize(static_cast<size_t>(a.left) * b.right);
    for (int s = 0; s < a.labels; ++s) {
      const double w = exp_or_zero(a.logs[s] + b.logs[s]);
      if (w == 0) continue;
      for (int l = 0; l < a.left; ++l) {
        const T* from = a.values.data() + (static_cast<size_t>(l) * a.labels + s) * a.right;
        std::copy(from, from + a.right, one_a.data() + static_cast<size_t>(l) * a.right);
      }
      for (int l = 0; l < b.left; ++l) {
        const T* from = b.values.data() + (static_cast<size_t>(l) * b.labels + s) * b.right;
        std::copy(from, from + b.right, one_b.data() + static_cast<size_t>(l) * b.right);
      }
      multiply(environment.data(), one_b.data(), half.data(), a.left, b.left, b.right);
      multiply_transposed(one_a.data(), half.data(), part.data(), a.left, a.right, b.right);
      for (size_t k = 0; k < next.size(); ++k) next[k] += w * part[k];
    }
    const double top = largest_entry(next.data(), next.size());
    if (!(top > 0)) throw ZeroFunction();
    const double inverse = 1 / divisor<T>(top);
    for (T& x : next) x *= inverse;
    total -= std::log(inverse);
    environment.swap(next);
  }
  if (!(nearest(environment[0]) > 0)) throw LostAccuracy();
  return nearest(total + Pair(log_of(environment[0])));
}

template class SiteOf<double>;
template class SiteOf<Pair>;
template class SiteOf<Quad>;
template class ChainOf<double>;
template class ChainOf<Pair>;
template class ChainOf<Quad>;
template double log_overlap(const ChainOf<double>&, const ChainOf<double>&);
template double log_overlap(const ChainOf<Pair>&, const ChainOf<Pair>&);
template double log_overlap(const ChainOf<Quad>&, const ChainOf<Quad>&);

}  // namespace planaris::tensor
