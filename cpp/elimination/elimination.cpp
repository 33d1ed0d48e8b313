#include "elimination/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <type_traits>
#include <utility>

#include "base/constants.hpp"
#include "base/scaled.hpp"
#include "elimination/binary_sum.hpp"
#include "elimination/semirings.hpp"

namespace planaris {
namespace {

constexpr int64_t kInnerEntries = 2048;     // offsets of the inner axes stay in the L1 cache
constexpr int64_t kPieceEntries = 1 << 17;  // between two looks at the clock

// Offsets into an operand for all joint labels of some axes; last axis fastest.
void expand_offsets(std::span<const int32_t> cards, std::span<const int64_t> strides,
                    std::vector<int64_t>& offsets) {
  offsets.assign(1, 0);
  for (size_t a = 0; a < cards.size(); ++a) {
    const size_t old = offsets.size();
    const auto k = static_cast<size_t>(cards[a]);
    if (k == 1) continue;
    offsets.resize(old * k);
    for (size_t i = old; i-- > 0;) {  // from the end: in place
      const int64_t base = offsets[i];
      for (size_t x = k; x-- > 0;) offsets[i * k + x] = base + static_cast<int64_t>(x) * strides[a];
    }
  }
}

// Numbers that are not set before they are written: zeroing gigabytes takes seconds in which
// nothing can be stopped.
template <class T>
class Buffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  void resize(size_t size) {
    data_.reset(static_cast<T*>(std::malloc(std::max<size_t>(size, 1) * sizeof(T))));
    if (!data_) throw std::bad_alloc();
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T[], Free> data_;
};

// A sum of probabilities that is off by a few roundings, however many they are.
struct CarriedSum {
  double high = 0.0, low = 0.0;
  void add(double x) {
    const TwoDoubles sum = TwoDoubles::sum(high, x);
    high = sum.high;
    low += sum.low;
  }
  double value() const { return high + low; }
};

template <class Semiring>
class Eliminator {
 public:
  using Number = typename Semiring::Number;

  Eliminator(const FactorGraphView& graph, const EliminationTree& tree, bool keep_messages,
             Control& control)
      : graph_(graph), tree_(tree), control_(control) {
    assign_factors();
    place_messages(keep_messages);
    table_.resize(tree.largest_table);
    convert_factors();
  }

  // Leaves to root. Returns false when every state has weight zero.
  bool collect() {
    const int32_t n = size();
    for (int32_t p = 0; p < n; ++p) {
      control_.poll(static_cast<double>(p) / n);
      build_table(p);
      const int64_t rows = message_size(p);
      const int32_t labels = own_cardinality(p);
      Number* message = messages_.data() + message_offset_[p];
      in_pieces(rows, labels, [&](int64_t r) {
        message[r] = Semiring::reduce(table_.data() + r * labels, labels);
      });
      if (!finish_message(p, message, rows, labels)) return false;
    }
    return true;
  }

  // One table per cluster from root to leaves, as probabilities; twice error() then bounds theirs,
  // too.
  void distribute(std::vector<double>& nodes, std::vector<double>& factors);

  // Draws (or maximises) every variable given the later ones it meets.
  template <class Pick>
  void descend(int64_t num_states, std::vector<int32_t>& states, Pick&& pick);

  WideSum log_total() const {
    WideSum total = log_sum_;
    total.add(multiple_of_ln2(exponent_));
    return total;
  }
  double error() const { return error_; }

 private:
  struct Operand {
    const Number* data;
    std::vector<int64_t> strides;  // per axis of the cluster
  };

  // The axes of a table: those from `split` on are inner ones, whose offsets are kept in a list.
  struct Shape {
    std::vector<int32_t> cards;
    size_t split = 0;
  };

  int32_t size() const { return static_cast<int32_t>(tree_.order.size()); }
  std::span<const int32_t> axes(int32_t p) const {
    return {tree_.axes.data() + tree_.axis_offsets[p],
            static_cast<size_t>(tree_.axis_offsets[p + 1] - tree_.axis_offsets[p])};
  }
  int32_t own_cardinality(int32_t p) const { return graph_.cardinalities[tree_.order[p]]; }
  int64_t message_size(int32_t p) const { return message_size_[p]; }

  void assign_factors();
  void place_messages(bool keep);
  void convert_factors();
  const Number* factor_data(int64_t f) const;
  void set_strides(std::span<const int32_t> cluster, std::span<const int32_t> scope,
                   std::vector<int64_t>& strides);
  size_t gather_operands(int32_t p);
  void split_axes(int32_t p);
  void build_table(int32_t p);
  bool join_factors(int32_t p);
  void multiply_operands(const Shape& shape, std::span<const Operand> operands, int64_t entries,
                         double done, Number* table);
  int64_t num_factors(int32_t p) const { return factor_offsets_[p + 1] - factor_offsets_[p]; }
  static Number negative(const TwoDoubles& x) {
    if constexpr (std::is_same_v<Number, double>) {
      return -x.high;
    } else {
      return Number{-x.high, -x.low};
    }
  }
  bool finish_message(int32_t p, Number* message, int64_t rows, int32_t labels);

  // Calls body(row) for all rows of so many entries, with looks at the clock in between.
  template <class Body>
  void in_pieces(int64_t rows, int64_t entries, Body&& body) {
    const int64_t piece = std::max<int64_t>(kPieceEntries / entries, 1);
    for (int64_t begin = 0; begin < rows; begin += piece) {
      const int64_t end = std::min(begin + piece, rows);
      for (int64_t r = begin; r < end; ++r) body(r);
      if (end < rows) control_.poll_now();
    }
  }

  // Where the entries of an operand lie for the entries of a table: outer[k] + inner[i] for entry i
  // of block k.
  struct Offsets {
    std::vector<int64_t> outer, inner;
    bool along;  // inner[i] == i
  };
  static void set_offsets(const Shape& shape, std::span<const int64_t> strides, Offsets& offsets) {
    const std::span<const int32_t> cards(shape.cards);
    expand_offsets(cards.first(shape.split), strides.first(shape.split), offsets.outer);
    expand_offsets(cards.subspan(shape.split), strides.subspan(shape.split), offsets.inner);
    int64_t step = 1;
    offsets.along = true;
    for (size_t a = strides.size(); a-- > shape.split; step *= cards[a]) {
      offsets.along = offsets.along && strides[a] == step;
    }
  }

  // Calls visit(entry of the table, entry of the operand) for all entries of a table.
  template <class Visit>
  void sweep(const Shape& shape, std::span<const int64_t> strides, Visit&& visit) {
    set_offsets(shape, strides, first_);
    const auto block = static_cast<int64_t>(first_.inner.size());
    int64_t entry = 0;
    for (const int64_t base : first_.outer) {
      control_.poll();
      if (first_.along) {
        for (int64_t i = 0; i < block; ++i) visit(entry + i, base + i);
      } else {
        for (int64_t i = 0; i < block; ++i) visit(entry + i, base + first_.inner[i]);
      }
      entry += block;
    }
  }

  // The same for two operands, side by side.
  template <class Visit>
  void sweep(const Shape& shape, std::span<const int64_t> one, std::span<const int64_t> other,
             Visit&& visit) {
    set_offsets(shape, one, first_);
    set_offsets(shape, other, second_);
    const int64_t *x = first_.inner.data(), *y = second_.inner.data();
    const auto block = static_cast<int64_t>(first_.inner.size());
    for (size_t k = 0; k < first_.outer.size(); ++k) {
      control_.poll();
      const int64_t entry = static_cast<int64_t>(k) * block;
      const int64_t a = first_.outer[k], b = second_.outer[k];
      for (int64_t i = 0; i < block; ++i) visit(entry + i, a + x[i], b + y[i]);
    }
  }

  const FactorGraphView& graph_;
  const EliminationTree& tree_;
  Control& control_;
  std::vector<int64_t> factor_offsets_, factors_;  // factors of each position
  std::vector<int64_t> child_offsets_;             // children of each position
  std::vector<int32_t> children_;
  std::vector<int64_t> message_offset_, message_size_;
  Buffer<Number> messages_, table_;
  std::vector<Number> converted_;
  std::vector<double> magnitude_;  // of each message (MaxPlus)
  std::vector<double> factor_magnitude_;
  std::vector<Operand> operands_;
  std::vector<int32_t> place_;
  Shape whole_, joint_shape_;           // of the cluster, and of the factors it begins with
  std::vector<Operand> parts_;          // those factors, over the axes of `joint_shape_`
  std::vector<Number> joint_;           // their product
  std::vector<int64_t> joint_strides_;  // and its strides along the axes of the cluster
  bool joined_ = false;                 // whether the last table was built from it
  std::vector<Operand> used_;           // what the table of a cluster is the product of
  Offsets first_, second_;
  WideSum log_sum_;
  int64_t exponent_ = 0;
  double error_ = 0.0;
};

template <class Semiring>
void Eliminator<Semiring>::assign_factors() {
  const int32_t n = size();
  std::vector<int32_t> position(n);
  for (int32_t p = 0; p < n; ++p) position[tree_.order[p]] = p;
  place_.assign(n, -1);
  const auto first = [&](int64_t f) {
    int32_t p = n;
    for (int64_t i = graph_.scope_offsets[f]; i < graph_.scope_offsets[f + 1]; ++i) {
      p = std::min(p, position[graph_.scopes[i]]);
    }
    return p;
  };
  factor_offsets_.assign(static_cast<size_t>(n) + 2, 0);
  for (int64_t f = 0; f < graph_.num_factors(); ++f) ++factor_offsets_[first(f) + 1];
  for (int32_t p = 0; p <= n; ++p) factor_offsets_[p + 1] += factor_offsets_[p];
  factors_.resize(graph_.num_factors());
  std::vector<int64_t> at(factor_offsets_.begin(), factor_offsets_.end() - 1);
  for (int64_t f = 0; f < graph_.num_factors(); ++f) factors_[at[first(f)]++] = f;

  child_offsets_.assign(static_cast<size_t>(n) + 1, 0);
  for (int32_t p = 0; p < n; ++p) {
    if (tree_.parent[p] >= 0) ++child_offsets_[tree_.parent[p] + 1];
  }
  for (int32_t p = 0; p < n; ++p) child_offsets_[p + 1] += child_offsets_[p];
  children_.resize(child_offsets_[n]);
  at.assign(child_offsets_.begin(), child_offsets_.end() - 1);
  for (int32_t p = 0; p < n; ++p) {
    if (tree_.parent[p] >= 0) children_[at[tree_.parent[p]]++] = p;
  }
}

template <class Semiring>
void Eliminator<Semiring>::place_messages(bool keep) {
  const int32_t n = size();
  message_offset_.resize(n);
  message_size_.resize(n);
  magnitude_.assign(n, 0.0);
  int64_t top = 0, most = 0;
  for (int32_t p = 0; p < n; ++p) {
    int64_t entries = 1, children = 0;
    for (const int32_t v : axes(p).first(axes(p).size() - 1)) entries *= graph_.cardinalities[v];
    message_size_[p] = entries;
    if (!keep) {
      for (int64_t c = child_offsets_[p]; c < child_offsets_[p + 1]; ++c) {
        children += message_size_[children_[c]];
      }
    }
    message_offset_[p] = top - children;  // over its children, which the table has consumed
    top = message_offset_[p] + entries;
    most = std::max(most, top);
    if (!keep && tree_.parent[p] < 0) top -= entries;
  }
  messages_.resize(most);
}

// The largest finite logarithm of every factor, in size.
std::vector<double> factor_sizes(const FactorGraphView& graph) {
  std::vector<double> sizes(graph.num_factors(), 0.0);
  for (int64_t f = 0; f < graph.num_factors(); ++f) {
    for (int64_t i = graph.table_offsets[f]; i < graph.table_offsets[f + 1]; ++i) {
      const double x = std::abs(graph.log_values[i]);
      if (x < kInfinity) sizes[f] = std::max(sizes[f], x);
    }
  }
  return sizes;
}

template <>
void Eliminator<SumProduct>::convert_factors() {
  // Past what exponents hold, logarithms are cut off: marginals are then those of a model with
  // weaker constraints, and there is no bound on the error of log Z.
  double size = 0.0;
  for (const double x : factor_sizes(graph_)) size += x;
  double most = Scaled::kLargestLog;
  if (size > most) {
    most /= static_cast<double>(graph_.num_factors());
    error_ = kInfinity;
  }
  converted_.resize(graph_.log_values.size());
  for (size_t i = 0; i < converted_.size(); ++i) {
    const double x = graph_.log_values[i];
    converted_[i] = Scaled::from_log(x == -kInfinity ? x : std::clamp(x, -most, most));
  }
}

template <>
void Eliminator<MaxPlus>::convert_factors() {
  factor_magnitude_ = factor_sizes(graph_);
}

template <>
void Eliminator<WideMaxPlus>::convert_factors() {
  factor_magnitude_ = factor_sizes(graph_);
  converted_.resize(graph_.log_values.size());
  std::transform(graph_.log_values.begin(), graph_.log_values.end(), converted_.begin(),
                 [](double x) { return TwoDoubles{x, 0.0}; });
}

template <class Semiring>
const typename Semiring::Number* Eliminator<Semiring>::factor_data(int64_t f) const {
  return converted_.data() + graph_.table_offsets[f];
}

template <>
const double* Eliminator<MaxPlus>::factor_data(int64_t f) const {
  return graph_.log_values.data() + graph_.table_offsets[f];
}

template <class Semiring>
void Eliminator<Semiring>::set_strides(std::span<const int32_t> cluster,
                                       std::span<const int32_t> scope,
                                       std::vector<int64_t>& strides) {
  for (size_t a = 0; a < cluster.size(); ++a) place_[cluster[a]] = static_cast<int32_t>(a);
  strides.assign(cluster.size(), 0);
  int64_t stride = 1;
  for (size_t i = scope.size(); i-- > 0;) {
    strides[place_[scope[i]]] = stride;
    stride *= graph_.cardinalities[scope[i]];
  }
}

template <class Semiring>
size_t Eliminator<Semiring>::gather_operands(int32_t p) {
  size_t count = 0;
  const auto next = [&]() -> Operand& {
    if (count == operands_.size()) operands_.emplace_back();
    return operands_[count++];
  };
  for (int64_t i = factor_offsets_[p]; i < factor_offsets_[p + 1]; ++i) {
    const int64_t f = factors_[i];
    const int64_t begin = graph_.scope_offsets[f], end = graph_.scope_offsets[f + 1];
    Operand& operand = next();
    operand.data = factor_data(f);
    set_strides(axes(p), graph_.scopes.subspan(begin, end - begin), operand.strides);
  }
  for (int64_t i = child_offsets_[p]; i < child_offsets_[p + 1]; ++i) {
    const int32_t child = children_[i];
    Operand& operand = next();
    operand.data = messages_.data() + message_offset_[child];
    set_strides(axes(p), axes(child).first(axes(child).size() - 1), operand.strides);
  }
  return count;
}

template <class Semiring>
void Eliminator<Semiring>::split_axes(int32_t p) {
  auto& [cards, split] = whole_;
  cards.clear();
  for (const int32_t v : axes(p)) cards.push_back(graph_.cardinalities[v]);
  split = cards.size();
  const double entries = static_cast<double>(message_size(p)) * own_cardinality(p);
  const double least = std::min(std::sqrt(entries), static_cast<double>(kInnerEntries));
  for (int64_t inner = 1; split > 0 && static_cast<double>(inner) < least;) {
    if (inner > 1 && inner * cards[split - 1] > kInnerEntries) break;
    inner *= cards[--split];
  }
}

// Multiplies the factors of a cluster over the few axes they have: the large table is then swept
// once for all of them. Products are formed in the same order, so no digit changes. Returns false
// where that would save nothing.
template <class Semiring>
bool Eliminator<Semiring>::join_factors(int32_t p) {
  const auto count = static_cast<size_t>(num_factors(p));
  if (count < 2) return false;
  const size_t axes = whole_.cards.size();
  joint_strides_.assign(axes, 0);
  joint_shape_.cards.clear();
  parts_.resize(count);
  for (size_t k = 0; k < count; ++k) {
    parts_[k].data = operands_[k].data;
    parts_[k].strides.clear();
  }
  for (size_t a = 0; a < axes; ++a) {
    const auto has_axis = [&](size_t k) { return operands_[k].strides[a] != 0; };
    bool any = false;
    for (size_t k = 0; k < count && !any; ++k) any = has_axis(k);
    if (!any) continue;
    joint_shape_.cards.push_back(whole_.cards[a]);
    joint_strides_[a] = 1;
    for (size_t k = 0; k < count; ++k) parts_[k].strides.push_back(operands_[k].strides[a]);
  }
  int64_t entries = 1;
  for (size_t a = axes; a-- > 0;) {
    if (joint_strides_[a] == 0) continue;
    joint_strides_[a] = entries;
    entries *= whole_.cards[a];
  }
  if (2 * entries > message_size(p) * own_cardinality(p) || entries > kInnerEntries) return false;
  joint_shape_.split = 0;
  joint_.resize(entries);
  multiply_operands(joint_shape_, parts_, entries, static_cast<double>(p) / size(), joint_.data());
  return true;
}

template <class Semiring>
void Eliminator<Semiring>::build_table(int32_t p) {
  const size_t count = gather_operands(p);
  split_axes(p);
  std::span<const Operand> operands(operands_.data(), count);
  joined_ = join_factors(p);
  if (joined_) {
    used_.assign(1, {joint_.data(), joint_strides_});
    const auto messages = operands.subspan(num_factors(p));
    used_.insert(used_.end(), messages.begin(), messages.end());
    operands = used_;
  }
  multiply_operands(whole_, operands, message_size(p) * own_cardinality(p),
                    static_cast<double>(p) / size(), table_.data());
}

template <class Semiring>
void Eliminator<Semiring>::multiply_operands(const Shape& shape, std::span<const Operand> operands,
                                             int64_t entries, double done, Number* table) {
  const size_t count = operands.size();
  if (count == 0) in_pieces(entries, 1, [&](int64_t i) { table[i] = Semiring::one(); });
  for (size_t k = count > 1 ? 1 : 0; k < count; ++k) {
    const Number *first = operands[0].data, *data = operands[k].data;
    const auto& strides = operands[k].strides;
    if (k == 0) {
      sweep(shape, strides, [&](int64_t i, int64_t j) { table[i] = data[j]; });
    } else if (k == 1) {
      sweep(shape, operands[0].strides, strides, [&](int64_t i, int64_t j, int64_t l) {
        Number product = first[j];
        Semiring::multiply(product, data[l]);
        table[i] = product;
      });
    } else {
      sweep(shape, strides, [&](int64_t i, int64_t j) { Semiring::multiply(table[i], data[j]); });
    }
    if (k % 64 == 63) {
      in_pieces(entries, 1, [&](int64_t i) { Semiring::tidy(table[i]); });
    }
    if (entries > 4096) control_.poll_now(done);
  }
}

template <>
bool Eliminator<SumProduct>::finish_message(int32_t p, Scaled* message, int64_t, int32_t labels) {
  // Relative error of every product of sums: one rounding per factor, two where it was
  // exponentiated, one per addition.
  const auto factors = static_cast<double>(factor_offsets_[p + 1] - factor_offsets_[p]);
  const auto children = static_cast<double>(child_offsets_[p + 1] - child_offsets_[p]);
  error_ += kEps / 2 * (4.0 * factors + children + labels + 1.0);
  if (tree_.parent[p] >= 0) return true;
  if (message[0].m == 0.0) return false;
  log_sum_.add(std::log(message[0].m));
  error_ += kEps;  // of the logarithm
  exponent_ += message[0].e;
  return true;
}

template <class Semiring>
bool Eliminator<Semiring>::finish_message(int32_t p, Number* message, int64_t rows, int32_t) {
  Number most = message[0];
  in_pieces(rows, 1, [&](int64_t r) { most = std::max(most, message[r]); });
  const TwoDoubles top = wide(most);
  if (top.high == -kInfinity) return false;
  log_sum_.add(top);
  double size = 0.0;
  for (int64_t i = factor_offsets_[p]; i < factor_offsets_[p + 1]; ++i) {
    size += factor_magnitude_[factors_[i]];
  }
  for (int64_t i = child_offsets_[p]; i < child_offsets_[p + 1]; ++i) {
    size += magnitude_[children_[i]];
  }
  const Number down = negative(top);
  double deepest = 0.0;
  in_pieces(rows, 1, [&](int64_t r) {
    Semiring::multiply(message[r], down);
    const double below = -wide(message[r]).high;
    deepest = std::max(deepest, below < kInfinity ? below : 0.0);
  });
  magnitude_[p] = deepest;
  const auto operands = static_cast<double>(factor_offsets_[p + 1] - factor_offsets_[p] +
                                            child_offsets_[p + 1] - child_offsets_[p]);
  error_ += Semiring::kRounding * (operands + 1.0) * size;
  return true;
}

template <class Semiring>
void Eliminator<Semiring>::distribute(std::vector<double>& nodes, std::vector<double>& factors) {
  const int32_t n = size();
  std::vector<int64_t> node_offset(static_cast<size_t>(n) + 1, 0);
  for (int32_t v = 0; v < n; ++v) node_offset[v + 1] = node_offset[v] + graph_.cardinalities[v];
  nodes.assign(node_offset[n], 0.0);
  factors.assign(graph_.log_values.size(), 0.0);
  // A factor without variables is a constant: its only entry is certain.
  for (int64_t i = factor_offsets_[n]; i < factor_offsets_[n + 1]; ++i) {
    factors[graph_.table_offsets[factors_[i]]] = 1.0;
  }
  Buffer<double> beliefs;
  beliefs.resize(tree_.largest_table);
  double* belief = beliefs.data();
  std::vector<CarriedSum> own, joint_belief, factor_belief;
  std::vector<double> path(n, 0.0);  // roundings of P(separator), in units of the last place
  double worst = 0.0;
  for (int32_t p = n - 1; p >= 0; --p) {
    control_.poll(static_cast<double>(n - p) / n);
    build_table(p);
    const int64_t rows = message_size(p);
    const int32_t labels = own_cardinality(p);
    // P(cluster) = P(separator) P(v | separator); the parent has left P(separator) in the
    // place of this cluster's message. No division of tables, hence no cancellation.
    const Scaled* separator = messages_.data() + message_offset_[p];
    CarriedSum total;
    in_pieces(rows, labels, [&](int64_t r) {
      const Scaled* row = table_.data() + r * labels;
      const Scaled sum = SumProduct::reduce(row, labels);
      const double outer = tree_.parent[p] < 0 ? 1.0 : separator[r].m;
      for (int32_t x = 0; x < labels; ++x) {
        const bool live = row[x].m != 0.0 && outer != 0.0;
        // The row's largest exponent may exceed the sum's by the rounding of mantissas.
        const double share =
            live ? std::ldexp(row[x].m / sum.m,
                              static_cast<int>(std::clamp<int64_t>(row[x].e - sum.e, -4000, 4000)))
                 : 0.0;
        belief[r * labels + x] = outer * share;
        total.add(outer * share);
      }
    });
    const double scale =
        1.0 / total.value();  // 1 but for rounding, which must not add up downwards
    own.assign(labels, {});
    in_pieces(rows * labels, 1, [&](int64_t i) {
      belief[i] *= scale;
      own[i % labels].add(belief[i]);
    });
    for (int32_t x = 0; x < labels; ++x) nodes[node_offset[tree_.order[p]] + x] = own[x].value();
    size_t k = 0;
    if (joined_) {  // over the axes of the factors first, which are few
      joint_belief.assign(joint_.size(), {});
      CarriedSum* out = joint_belief.data();
      sweep(whole_, joint_strides_, [&](int64_t a, int64_t b) { out[b].add(belief[a]); });
    }
    for (int64_t i = factor_offsets_[p]; i < factor_offsets_[p + 1]; ++i, ++k) {
      const int64_t first = graph_.table_offsets[factors_[i]];
      factor_belief.assign(graph_.table_offsets[factors_[i] + 1] - first, {});
      CarriedSum* out = factor_belief.data();
      if (joined_) {
        sweep(joint_shape_, parts_[k].strides,
              [&](int64_t a, int64_t b) { out[b].add(joint_belief[a].value()); });
      } else {
        sweep(whole_, operands_[k].strides, [&](int64_t a, int64_t b) { out[b].add(belief[a]); });
      }
      for (size_t b = 0; b < factor_belief.size(); ++b) factors[first + b] = out[b].value();
    }
    // Of a share, two products, the total and its inverse, and once more by the scale; then of two
    // sums.
    const double here = path[p] + 2.0 * labels + 16.0;
    worst = std::max(worst, here + 4.0);
    for (int64_t i = child_offsets_[p]; i < child_offsets_[p + 1]; ++i, ++k) {
      const int64_t entries = message_size(children_[i]);
      Scaled* out = messages_.data() + message_offset_[children_[i]];
      in_pieces(entries, 1, [&](int64_t j) { out[j] = Scaled{}; });
      sweep(whole_, operands_[k].strides, [&](int64_t a, int64_t b) { out[b].m += belief[a]; });
      path[children_[i]] = here + 2.0 * static_cast<double>(rows * labels / entries);
    }
  }
  error_ += kUnit * worst;
}

template <class Semiring>
template <class Pick>
void Eliminator<Semiring>::descend(int64_t num_states, std::vector<int32_t>& states, Pick&& pick) {
  const int32_t n = size();
  states.assign(static_cast<size_t>(num_states) * n, 0);
  std::vector<Number> row;
  for (int32_t p = n - 1; p >= 0; --p) {
    const size_t count = gather_operands(p);
    const auto cluster = axes(p);
    const int32_t labels = own_cardinality(p);
    row.resize(labels);
    for (int64_t s = 0; s < num_states; ++s) {
      control_.poll(static_cast<double>(n - p) / n);
      int32_t* state = states.data() + s * n;
      std::fill(row.begin(), row.end(), Semiring::one());
      for (size_t k = 0; k < count; ++k) {
        int64_t base = 0;
        const auto& strides = operands_[k].strides;
        for (size_t a = 0; a + 1 < cluster.size(); ++a) base += state[cluster[a]] * strides[a];
        for (int32_t x = 0; x < labels; ++x) {
          Semiring::multiply(row[x], operands_[k].data[base + x * strides.back()]);
          if (k % 64 == 63) Semiring::tidy(row[x]);
        }
      }
      state[tree_.order[p]] = pick(row);
    }
  }
}

// Factors without variables multiply every state; false if one of them is zero.
bool add_constants(const FactorGraphView& graph, WideSum& sum) {
  for (int64_t f = 0; f < graph.num_factors(); ++f) {
    if (graph.scope_offsets[f] < graph.scope_offsets[f + 1]) continue;
    const double constant = graph.log_values[graph.table_offsets[f]];
    if (constant == -kInfinity) return false;
    sum.add(constant);
  }
  return true;
}

template <class Semiring>
MaxResult maximize(const FactorGraphView& graph, const EliminationTree& tree, Control& control) {
  MaxResult result;
  WideSum constant;
  Eliminator<Semiring> eliminator(graph, tree, true, control);
  if (!add_constants(graph, constant) || !eliminator.collect()) {
    result.value = -kInfinity;
    return result;
  }
  WideSum total = eliminator.log_total();
  total.add(constant.sum);
  result.value = total.sum.high;
  result.rest = total.sum.low;
  result.error = eliminator.error() + total.error() + constant.error();
  eliminator.descend(1, result.assignment, [](const auto& row) {
    return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  });
  return result;
}

}  // namespace

SumResult eliminate_sum(const FactorGraphView& graph, const EliminationTree& tree,
                        bool want_marginals, Control& control) {
  if (want_marginals) {
    if (auto found = eliminate_binary(graph, tree, control)) return std::move(*found);
  }
  SumResult result;
  WideSum constant;
  Eliminator<SumProduct> eliminator(graph, tree, want_marginals, control);
  if (!add_constants(graph, constant) || !eliminator.collect()) {
    result.log_partition = -kInfinity;
    return result;
  }
  WideSum total = eliminator.log_total();
  total.add(constant.sum);
  result.log_partition = total.sum.high;
  result.rest = total.sum.low;
  if (want_marginals) eliminator.distribute(result.nodes, result.factors);
  // A relative error d of Z is one of less than d + d^2 of its logarithm, for d < 1/2.
  const double relative = eliminator.error();
  result.error =
      (relative < 0.5 ? relative * (1.0 + relative) : kInfinity) + total.error() + constant.error();
  return result;
}

MaxResult eliminate_max(const FactorGraphView& graph, const EliminationTree& tree, bool wide,
                        Control& control) {
  return wide ? maximize<WideMaxPlus>(graph, tree, control)
              : maximize<MaxPlus>(graph, tree, control);
}

std::vector<int32_t> eliminate_sample(const FactorGraphView& graph, const EliminationTree& tree,
                                      int64_t num_samples, uint64_t seed, Control& control) {
  std::vector<int32_t> states;
  Eliminator<SumProduct> eliminator(graph, tree, true, control);
  if (WideSum constant; !add_constants(graph, constant) || !eliminator.collect()) return states;
  std::mt19937_64 random(seed);
  std::vector<double> share;
  eliminator.descend(num_samples, states, [&](const std::vector<Scaled>& row) {
    int64_t top = kNowhere;
    for (const Scaled& x : row) {
      if (x.m != 0.0) top = std::max(top, x.e);
    }
    share.assign(row.size(), 0.0);
    double total = 0.0;
    int32_t last = 0;
    for (size_t x = 0; x < row.size(); ++x) {
      if (row[x].m == 0.0) continue;
      share[x] = relative_to(row[x], top);
      total += share[x];
      last = static_cast<int32_t>(x);
    }
    double left = static_cast<double>(random() >> 11) * 0x1p-53 * total;
    for (size_t x = 0; x < row.size(); ++x) {
      if (share[x] > 0.0 && left < share[x]) return static_cast<int32_t>(x);
      left -= share[x];
    }
    return last;
  });
  return states;
}

}  // namespace planaris
