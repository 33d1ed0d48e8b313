#include "elimination/binary_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/constants.hpp"
#include "base/kept_memory.hpp"
#include "base/simd.hpp"
#include "elimination/semirings.hpp"

namespace planaris {
namespace {

constexpr int kPieceBits = 10;             // entries of a table that are formed at a time
constexpr int64_t kPiecesPerLook = 128;    // at the clock
constexpr double kLeastEntry = 0x1p-800;   // of a message
constexpr double kLeastWeight = 0x1p-500;  // of the factors of a cluster together
constexpr int kMostShift = 400;            // by which messages of a cluster are scaled together
constexpr size_t kMostChildren = 200;
constexpr double kLost =
    0x1p-150;  // what underflow may cost a sum that is no less than kLeastEntry

// Numbers that are not set before they are written, in memory that is kept between calls.
class Numbers {
 public:
  explicit Numbers(int64_t count)
      : block_(take_block(sizeof(double) * static_cast<size_t>(count))) {}
  ~Numbers() { return_block(block_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  double* data() { return reinterpret_cast<double*>(block_.bytes); }

 private:
  LargeBlock block_;
};

// The bits of a number at the places of a mask, side by side.
uint64_t bits_at(uint64_t number, uint64_t mask) {
  uint64_t result = 0;
  for (int k = 0; mask != 0; mask &= mask - 1, ++k) {
    result |= (number >> std::countr_zero(mask) & 1) << k;
  }
  return result;
}

PLANARIS_CLONES void take(const double* data, const int32_t* at, int64_t count, double* table) {
  for (int64_t i = 0; i < count; ++i) table[i] = data[at[i]];
}

PLANARIS_CLONES void multiply(const double* data, const int32_t* at, int64_t count, double* table) {
  for (int64_t i = 0; i < count; ++i) table[i] *= data[at[i]];
}

PLANARIS_CLONES void multiply_along(const double* data, int64_t count, double* table) {
  for (int64_t i = 0; i < count; ++i) table[i] *= data[i];
}

// Sums over the lowest variable of a table.
PLANARIS_CLONES void add_pairs(const double* table, int64_t rows, double* sums) {
  for (int64_t r = 0; r < rows; ++r) sums[r] = table[2 * r] + table[2 * r + 1];
}

PLANARIS_CLONES void divide(const double* above, int64_t count, double* below) {
  for (int64_t i = 0; i < count; ++i) below[i] = above[i] / below[i];
}

PLANARIS_CLONES void multiply_pairs(const double* by, int64_t rows, double* table) {
  for (int64_t r = 0; r < rows; ++r) {
    table[2 * r] *= by[r];
    table[2 * r + 1] *= by[r];
  }
}

PLANARIS_CLONES void find_extent(const double* data, int64_t count, double& least, double& most) {
  double low = least, high = most;
  for (int64_t i = 0; i < count; ++i) {
    low = data[i] < low ? data[i] : low;
    high = data[i] > high ? data[i] : high;
  }
  least = low;
  most = high;
}

// Sums over the variable of bit `log2(step)`; `to` may be `from`.
PLANARIS_CLONES void fold(const double* from, int64_t blocks, int64_t step, double* to) {
  for (int64_t k = 0; k < blocks; ++k) {
    const double* a = from + 2 * step * k;
    double* out = to + step * k;
#ifndef __clang__  // blocks are the same or lie apart
#pragma GCC ivdep
#endif
    for (int64_t j = 0; j < step; ++j) out[j] = a[j] + a[step + j];
  }
}

PLANARIS_CLONES void add(const double* from, int64_t count, double* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// What the table of a cluster is multiplied by: weights over those of its variables in `mask`.
struct Operand {
  const double* data = nullptr;
  uint64_t mask = 0;
  std::vector<int32_t> within;  // where the entries of a piece lie, from that of its first on
  bool along = false;           // one after the other

  void set(const double* weights, uint64_t variables, int piece_bits) {
    data = weights;
    mask = variables;
    const int64_t count = int64_t{1} << piece_bits;
    within.resize(count);
    within[0] = 0;
    int32_t step = 1;
    for (int t = 0; t < piece_bits; ++t) {
      const int64_t half = int64_t{1} << t;
      const int32_t more = mask >> t & 1 ? step : 0;
      for (int64_t i = 0; i < half; ++i) within[half + i] = within[i] + more;
      step += more;
    }
    along = step == count;
  }
};

class BinaryEliminator {
 public:
  BinaryEliminator(const FactorGraphView& graph, const EliminationTree& tree, Control& control)
      : graph_(graph), tree_(tree), control_(control), size_(graph.num_variables()) {}

  std::optional<SumResult> run() {
    if (!set_up() || !collect()) return std::nullopt;
    SumResult result;
    distribute(result);
    WideSum total = log_sum_;
    total.add(multiple_of_ln2(exponent_));
    result.log_partition = total.sum.high;
    result.rest = total.sum.low;
    // A relative error d of Z is one of less than d + d^2 of its logarithm, for d < 1/2.
    if (!(error_ < 0.25)) return std::nullopt;
    result.error = error_ * (1.0 + error_) + total.error();
    return result;
  }

 private:
  std::span<const int32_t> axes(int32_t p) const {
    return {tree_.axes.data() + tree_.axis_offsets[p],
            static_cast<size_t>(tree_.axis_offsets[p + 1] - tree_.axis_offsets[p])};
  }
  int num_bits(int32_t p) const { return static_cast<int>(axes(p).size()); }
  int64_t rows(int32_t p) const { return int64_t{1} << (num_bits(p) - 1); }
  double* message(int32_t p) { return messages_->data() + message_offset_[p]; }
  int64_t first_factor(int32_t p) const { return factor_offsets_[p]; }

  bool set_up();
  bool weigh_factors();
  bool collect();
  void distribute(SumResult& result);
  bool gather(int32_t p);
  template <class Body>
  void for_entries(int64_t f, uint64_t mask, Body&& body) const;
  bool join_factors(int32_t p);
  void form_piece(uint64_t first);
  // Adds a piece, summed over the variables that an operand does not have, to sums of its size.
  void add_to(const Operand& operand, uint64_t first, double* sums);
  void read_off(int32_t p, SumResult& result);
  double adding_up(const Operand& operand, int32_t p) const;
  template <class Body>
  bool in_pieces(int32_t p, Body&& body);

  const FactorGraphView& graph_;
  const EliminationTree& tree_;
  Control& control_;
  const int32_t size_;
  std::vector<int64_t> factor_offsets_, factors_;  // factors of each position
  std::vector<int64_t> child_offsets_;
  std::vector<int32_t> children_;
  std::vector<int64_t> message_offset_;
  std::optional<Numbers> messages_;
  std::vector<int> shift_;                  // a message times 2^-shift is at most 1
  std::vector<double> weights_;             // of all factors, the largest of each 1
  std::vector<double> rounding_;            // of weights, by factor, in units of the last place
  std::vector<int32_t> bit_;                // of each variable in the cluster at hand
  std::vector<double> joint_, joint_sums_;  // the factors of the cluster together
  std::vector<Operand> operands_;           // they first, then messages of children
  size_t num_operands_ = 0;
  std::vector<double> piece_, row_sums_, folded_, passed_on_;
  int piece_bits_ = 0;
  WideSum log_sum_;
  int64_t exponent_ = 0;
  double error_ = 0.0;
};

bool BinaryEliminator::set_up() {
  if (!std::ranges::all_of(graph_.cardinalities, [](int32_t k) { return k == 2; })) return false;
  if (!weigh_factors()) return false;
  std::vector<int32_t> position(size_);
  for (int32_t p = 0; p < size_; ++p) position[tree_.order[p]] = p;
  const auto sort_by = [&](int64_t count, auto&& place, auto& offsets, auto& sorted) {
    offsets.assign(static_cast<size_t>(size_) + 1, 0);
    for (int64_t i = 0; i < count; ++i) {
      if (place(i) >= 0) ++offsets[place(i) + 1];
    }
    for (int32_t p = 0; p < size_; ++p) offsets[p + 1] += offsets[p];
    sorted.resize(offsets[size_]);
    std::vector<int64_t> at(offsets.begin(), offsets.end() - 1);
    for (int64_t i = 0; i < count; ++i) {
      if (place(i) >= 0) sorted[at[place(i)]++] = static_cast<int32_t>(i);
    }
  };
  const auto first = [&](int64_t f) {
    int32_t p = size_;
    for (int64_t i = graph_.scope_offsets[f]; i < graph_.scope_offsets[f + 1]; ++i) {
      p = std::min(p, position[graph_.scopes[i]]);
    }
    return p;
  };
  sort_by(graph_.num_factors(), first, factor_offsets_, factors_);
  sort_by(size_, [&](int64_t p) { return tree_.parent[p]; }, child_offsets_, children_);
  message_offset_.resize(size_);
  int64_t entries = 0;
  for (int32_t p = 0; p < size_; ++p) {
    message_offset_[p] = entries;
    entries += rows(p);
  }
  messages_.emplace(entries);
  shift_.assign(size_, 0);
  bit_.assign(size_, -1);
  piece_.resize(size_t{1} << kPieceBits);
  row_sums_.resize(piece_.size() / 2);
  folded_.resize(piece_.size() / 2);
  return true;
}

bool BinaryEliminator::weigh_factors() {
  weights_.resize(graph_.log_values.size());
  rounding_.resize(graph_.num_factors());
  for (int64_t f = 0; f < graph_.num_factors(); ++f) {
    if (graph_.scope_offsets[f] == graph_.scope_offsets[f + 1]) return false;
    const auto begin = graph_.log_values.begin() + graph_.table_offsets[f];
    const auto end = graph_.log_values.begin() + graph_.table_offsets[f + 1];
    const auto [least, most] = std::minmax_element(begin, end);
    if (!(*most - *least < 500.0)) return false;  // infinite ones too
    std::transform(begin, end, weights_.begin() + graph_.table_offsets[f],
                   [top = *most](double x) { return std::exp(x - top); });
    rounding_[f] = *most - *least + 4.0;  // of the difference, of exp, of a product
    log_sum_.add(*most);
  }
  return true;
}

// Calls body(entry, at) for all entries of a table over the variables in `mask`, and where a factor
// has them.
template <class Body>
void BinaryEliminator::for_entries(int64_t f, uint64_t mask, Body&& body) const {
  const uint64_t entries = uint64_t{1} << std::popcount(mask);
  for (uint64_t entry = 0; entry < entries; ++entry) {
    int64_t at = 0;
    for (int64_t k = graph_.scope_offsets[f]; k < graph_.scope_offsets[f + 1]; ++k) {
      const uint64_t below = (uint64_t{1} << bit_[graph_.scopes[k]]) - 1;
      at = 2 * at + static_cast<int64_t>(entry >> std::popcount(mask & below) & 1);
    }
    body(entry, graph_.table_offsets[f] + at);
  }
}

// Multiplies the factors of a cluster, and the scales of its messages.
bool BinaryEliminator::join_factors(int32_t p) {
  uint64_t mask = 1;
  for (int64_t i = first_factor(p); i < first_factor(p + 1); ++i) {
    const int64_t f = factors_[i];
    for (int64_t k = graph_.scope_offsets[f]; k < graph_.scope_offsets[f + 1]; ++k) {
      mask |= uint64_t{1} << bit_[graph_.scopes[k]];
    }
  }
  if (std::popcount(mask) > kPieceBits) return false;
  int shift = 0;
  for (int64_t c = child_offsets_[p]; c < child_offsets_[p + 1]; ++c) shift += shift_[children_[c]];
  if (std::abs(shift) > kMostShift) return false;
  joint_.assign(size_t{1} << std::popcount(mask), 1.0);
  for (int64_t i = first_factor(p); i < first_factor(p + 1); ++i) {
    for_entries(factors_[i], mask,
                [&](uint64_t entry, int64_t at) { joint_[entry] *= weights_[at]; });
  }
  for (double& weight : joint_) {
    if (!(weight >= kLeastWeight)) return false;
    weight = std::ldexp(weight, -shift);
  }
  operands_[0].set(joint_.data(), mask, piece_bits_);
  return true;
}

// Collects what the table of a cluster is the product of. Bit 0 of its entries is the variable of
// the cluster itself, higher ones are eliminated later. Messages of children have the same order.
bool BinaryEliminator::gather(int32_t p) {
  const auto own = axes(p);
  const int bits = num_bits(p);
  for (int a = 0; a < bits; ++a) bit_[own[a]] = bits - 1 - a;
  num_operands_ = 1 + static_cast<size_t>(child_offsets_[p + 1] - child_offsets_[p]);
  if (num_operands_ > kMostChildren) return false;
  if (operands_.size() < num_operands_) operands_.resize(num_operands_);
  piece_bits_ = std::min(bits, kPieceBits);
  if (!join_factors(p)) return false;
  for (size_t k = 1; k < num_operands_; ++k) {
    const int32_t child = children_[child_offsets_[p] + static_cast<int64_t>(k) - 1];
    uint64_t mask = 0;
    for (const int32_t v : axes(child).first(axes(child).size() - 1)) {
      mask |= uint64_t{1} << bit_[v];
    }
    operands_[k].set(message(child), mask, piece_bits_);
  }
  return true;
}

void BinaryEliminator::form_piece(uint64_t first) {
  const int64_t count = int64_t{1} << piece_bits_;
  const auto begin = [&](const Operand& operand) {
    return operand.data + bits_at(first, operand.mask);
  };
  take(begin(operands_[0]), operands_[0].within.data(), count, piece_.data());
  for (size_t k = 1; k < num_operands_; ++k) {
    const Operand& operand = operands_[k];
    if (operand.along)
      multiply_along(begin(operand), count, piece_.data());
    else
      multiply(begin(operand), operand.within.data(), count, piece_.data());
  }
}

// Calls body(first entry) for all pieces of a table, until it returns false.
template <class Body>
bool BinaryEliminator::in_pieces(int32_t p, Body&& body) {
  const int64_t pieces = int64_t{1} << (num_bits(p) - piece_bits_);
  for (int64_t k = 0; k < pieces; ++k) {
    if (k % kPiecesPerLook == kPiecesPerLook - 1) control_.poll_now();
    if (!body(static_cast<uint64_t>(k) << piece_bits_)) return false;
  }
  return true;
}

// Leaves to root.
bool BinaryEliminator::collect() {
  for (int32_t p = 0; p < size_; ++p) {
    control_.poll(static_cast<double>(p) / size_);
    if (!gather(p)) return false;
    double* own = message(p);
    double least = kInfinity, most = 0.0;
    const int64_t count = int64_t{1} << (piece_bits_ - 1);
    const bool in_range = in_pieces(p, [&](uint64_t first) {
      form_piece(first);
      double* sums = own + first / 2;
      add_pairs(piece_.data(), count, sums);
      find_extent(sums, count, least, most);
      return least >= kLeastEntry;
    });
    if (!in_range || !(most < kInfinity)) return false;
    // One rounding for every product and the sum.
    error_ += kUnit * static_cast<double>(num_operands_ + 1) + kLost;
    for (int64_t i = first_factor(p); i < first_factor(p + 1); ++i) {
      error_ += kUnit * rounding_[factors_[i]];
    }
    if (tree_.parent[p] < 0) {
      log_sum_.add(std::log(own[0]));
      error_ += kEps;
      continue;
    }
    shift_[p] = std::ilogb(most) + 1;
    exponent_ += shift_[p];
  }
  return true;
}

void BinaryEliminator::add_to(const Operand& operand, uint64_t first, double* sums) {
  const double* from = piece_.data();
  int64_t blocks = 1;
  for (int t = piece_bits_ - 1; t >= 0; --t) {
    if (operand.mask >> t & 1) {
      blocks *= 2;
      continue;
    }
    fold(from, blocks, int64_t{1} << t, folded_.data());
    from = folded_.data();
  }
  add(from, blocks, sums + bits_at(first, operand.mask));
}

// Roundings of a sum by `add_to` over all pieces.
double BinaryEliminator::adding_up(const Operand& operand, int32_t p) const {
  const uint64_t within = (uint64_t{1} << piece_bits_) - 1;
  const int kept = std::popcount(operand.mask), kept_within = std::popcount(operand.mask & within);
  const int others = num_bits(p) - piece_bits_ - (kept - kept_within);
  return kUnit * (piece_bits_ - kept_within + std::ldexp(1.0, others));
}

// Root to leaves. P(cluster) = P(separator) P(v | separator): the parent has left P(separator) in
// the place of the message. The sums that are divided by are those that were passed on, so that
// their errors cancel: what is left are the errors of log Z, of the messages from elsewhere, and
// the roundings along the path from the root.
void BinaryEliminator::distribute(SumResult& result) {
  result.nodes.assign(2 * static_cast<size_t>(size_), 0.0);
  result.factors.assign(graph_.log_values.size(), 0.0);
  std::vector<double> path(size_, 0.0);
  double worst = 0.0;
  for (int32_t p = size_ - 1; p >= 0; --p) {
    control_.poll(static_cast<double>(size_ - p) / size_);
    gather(p);
    int64_t children = 0;
    for (size_t k = 1; k < num_operands_; ++k) {
      children += int64_t{1} << std::popcount(operands_[k].mask);
    }
    passed_on_.assign(children, 0.0);
    joint_sums_.assign(joint_.size(), 0.0);
    if (tree_.parent[p] < 0) message(p)[0] = 1.0;
    const double* separator = message(p);
    const int64_t count = int64_t{1} << (piece_bits_ - 1);
    in_pieces(p, [&](uint64_t first) {
      form_piece(first);
      add_pairs(piece_.data(), count, row_sums_.data());
      divide(separator + first / 2, count, row_sums_.data());
      multiply_pairs(row_sums_.data(), count, piece_.data());
      add_to(operands_[0], first, joint_sums_.data());
      double* sums = passed_on_.data();
      for (size_t k = 1; k < num_operands_; ++k) {
        add_to(operands_[k], first, sums);
        sums += int64_t{1} << std::popcount(operands_[k].mask);
      }
      return true;
    });
    const double here = path[p] + 3 * kUnit;
    // Joint sums are added up twice more, and divided; what underflows is far below the last place.
    const double read = kUnit * (2.0 * static_cast<double>(joint_sums_.size()) + 8.0);
    worst = std::max(worst, here + adding_up(operands_[0], p) + read);
    const double* sums = passed_on_.data();
    for (size_t k = 1; k < num_operands_; ++k) {
      const int32_t child = children_[child_offsets_[p] + static_cast<int64_t>(k) - 1];
      std::copy_n(sums, rows(child), message(child));
      sums += rows(child);
      path[child] = here + adding_up(operands_[k], p);
    }
    read_off(p, result);
  }
  error_ += worst;
}

void BinaryEliminator::read_off(int32_t p, SumResult& result) {
  const uint64_t mask = operands_[0].mask;
  // Their sum is 1 but for the error of all: divided by it, equal ones are 1/2.
  const double total = std::accumulate(joint_sums_.begin(), joint_sums_.end(), 0.0);
  for (double& sum : joint_sums_) sum /= total;
  double* own = result.nodes.data() + 2 * static_cast<int64_t>(tree_.order[p]);
  for (size_t entry = 0; entry < joint_sums_.size(); ++entry) own[entry % 2] += joint_sums_[entry];
  for (int64_t i = first_factor(p); i < first_factor(p + 1); ++i) {
    for_entries(factors_[i], mask,
                [&](uint64_t entry, int64_t at) { result.factors[at] += joint_sums_[entry]; });
  }
}

}  // namespace

std::optional<SumResult> eliminate_binary(const FactorGraphView& graph, const EliminationTree& tree,
                                          Control& control) {
  return BinaryEliminator(graph, tree, control).run();
}

}  // namespace planaris
