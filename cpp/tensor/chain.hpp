// Matrix product states: a function of many discrete variables as a product of small matrices.
//
// The function is Π_i exp(logs_i(s_i)) · A_1(s_1) A_2(s_2) … A_n(s_n) · exp(log_scale). Bonds are
// kept in skeleton form (Oseledets & Tyrtyshnikov 2010; Núñez Fernández et al. 2025): left of the
// centre, an index of a bond stands for one configuration of everything to its left, and what the
// centre holds are values of the function itself. Small weights thus keep their relative
// accuracy, which orthogonal bases lose at low temperatures. What is left out of a bond is found
// by LU with complete pivoting on the values scaled by the square roots of their rows' and
// columns' largest: halfway between absolute and relative errors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/slabs.hpp"
#include "tensor/dense.hpp"

namespace planaris::tensor {

// Thrown when the function is zero everywhere.
struct ZeroFunction : std::runtime_error {
  ZeroFunction() : std::runtime_error("every state has weight zero") {}
};

// Thrown when rounding or truncation has left a sum of weights without a sign.
struct LostAccuracy : std::runtime_error {
  LostAccuracy() : std::runtime_error("a sum of weights is not positive") {}
};

// One site: values (left × labels × right), and a logarithm per label beside them. T is double, or
// Pair or Quad at temperatures so low that doubles cannot hold all weights that matter side by
// side.
template <class T>
struct TensorOf {
  int left = 1, labels = 1, right = 1;
  std::span<T> values;
  std::span<double> logs;

  size_t bytes() const { return values.size_bytes() + logs.size_bytes(); }
};
using Tensor = TensorOf<double>;

// Shares a tensor, which lies in one piece of memory with its values.
template <class T>
class SiteOf {
 public:
  SiteOf() = default;
  SiteOf(std::nullptr_t) {}  // NOLINT: no tensor
  // A tensor whose values and logarithms are still to be set.
  SiteOf(Slabs& slabs, int left, int labels, int right);
  SiteOf(const SiteOf& other) : cell_(other.cell_) {
    if (cell_ != nullptr) cell_->sharers.fetch_add(1, std::memory_order_relaxed);
  }
  SiteOf(SiteOf&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  SiteOf& operator=(SiteOf other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~SiteOf() {
    if (cell_ == nullptr || cell_->sharers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    cell_->slabs->give_back(cell_);
  }

  TensorOf<T>& operator*() const { return cell_->tensor; }
  TensorOf<T>* operator->() const { return &cell_->tensor; }
  bool operator==(std::nullptr_t) const { return cell_ == nullptr; }
  // Without a look at the tensor: its memory is freed with its slabs.
  void forget() { cell_ = nullptr; }

 private:
  struct Cell {
    TensorOf<T> tensor;
    Slabs* slabs;
    std::atomic<int32_t> sharers;
  };
  Cell* cell_ = nullptr;
};

// Logarithms of a table of two variables; `flipped`: the first variable is the fast axis.
struct Table {
  const double* logs = nullptr;  // null: all zero
  bool flipped = false;
  int fast = 1;  // size of the fast axis

  double at(int first, int second) const {
    if (logs == nullptr) return 0.0;
    return flipped ? logs[second * fast + first] : logs[first * fast + second];
  }
};

// What undoes changes of a chain, in their order.
template <class T>
struct ChangeOf {
  enum class Kind : uint8_t { kSet, kInsert, kErase } kind;
  int32_t place;
  SiteOf<T> before;  // null: the change before this one sets it again
};
template <class T>
using HistoryOf = std::vector<ChangeOf<T>>;

struct ChainOptions {
  Cut cut;
  double relative = 0.5;  // power of the scales of rows and columns: 0 absolute, 1 relative
};

template <class T>
class ChainOf {
 public:
  using Tensor = TensorOf<T>;
  using Site = SiteOf<T>;
  using Change = ChangeOf<T>;
  using History = HistoryOf<T>;
  using Options = ChainOptions;

  explicit ChainOf(Options options) : options_(options), slabs_(std::make_shared<Slabs>()) {}

  int size() const { return static_cast<int>(sites_.size()); }
  const Tensor& operator[](int place) const { return *sites_[place]; }
  const Site& site(int place) const { return sites_[place]; }
  Pair log_scale() const { return log_scale_; }
  size_t bytes() const {
    size_t sum = 0;
    for (const Site& site : sites_) sum += site->bytes();
    return sum;
  }
  int largest_bond() const { return largest_bond_; }
  double largest_residual() const { return largest_residual_; }
  double component_error() const { return component_error_; }

  // A new variable with these log weights, between the sites place - 1 and place.
  void insert(int place, std::span<const double> logs);
  // Sums over a variable, weighted by exp(logs) when there are any.
  void sum_out(int place, std::span<const double> logs);
  // Replaces variable u by v: sums exp(before(u) + table(u, v)) over u, times exp(after(v)).
  void transfer(int place, std::span<const double> before, const Table& table, int labels,
                std::span<const double> after);
  // Multiplies by exp(table) of the variables at place and place + 1, swaps them if asked, and
  // compresses the bond between; the centre goes to the left or the right of them.
  void pair(int place, const Table& table, bool swap, Side centre);

  // Changes are kept while this is set.
  void record(History* history) {
    history_ = history;
    fresh_ = -1;
  }
  // Undoes changes until `count` are left.
  void unwind(History& history, size_t count);

  // Lets go of all tensors without a look at them. Their memory is freed when the last chain that
  // was copied from this one, or from which this one was, dies.
  void forget() {
    for (Site& site : sites_) site.forget();
    sites_.clear();
  }
  const Slabs& slabs() const { return *slabs_; }

  // What has changed since reset_touched(): the first `untouched_left` sites have not, nor the
  // last `untouched_right`.
  int untouched_left() const { return untouched_left_; }
  int untouched_right() const { return untouched_right_; }
  void reset_touched() { untouched_left_ = untouched_right_ = size(); }

 private:
  void set(int place, Site tensor, bool known_before = true);
  void touch(int left, int right);
  void normalise(Tensor& tensor);
  void absorb(const std::vector<T>& matrix, int rows, int columns, int place, bool from_left);
  void push_right(int place);
  void push_left(int place);
  void focus(int place);
  void compress(std::vector<T>& m, int left, int first, int second, int right,
                std::span<const double> first_logs, std::span<const double> second_logs, int place,
                Side centre);

  Options options_;
  std::shared_ptr<Slabs> slabs_;  // of the tensors of this chain and its copies
  std::vector<Site> sites_;
  Pair log_scale_;           // a sum of many terms, some of which cancel
  int low_ = 0, high_ = -1;  // sites before low_ and after high_ are in skeleton form
  int fresh_ = -1;           // site that the last operation, a transfer, has set
  int untouched_left_ = 0, untouched_right_ = 0;
  int largest_bond_ = 1;
  double largest_residual_ = 0, component_error_ = 0;
  History* history_ = nullptr;
  std::vector<T> block_, work_;
  std::vector<double> rows_, columns_;
  SkeletonOf<T> skeleton_;
};
using Chain = ChainOf<double>;

// log Σ f g over all configurations of two chains of the same variables.
template <class T>
double log_overlap(const ChainOf<T>& f, const ChainOf<T>& g);

}  // namespace planaris::tensor
