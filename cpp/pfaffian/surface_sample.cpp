#include "pfaffian/surface_sample.hpp"

#include <algorithm>
#include <cmath>

#include "base/double_double.hpp"
#include "fronts/skew_block.hpp"

namespace planaris {

namespace {

// A share of the terms that a signed sum must keep, or rounding decides. On average over samples
// it keeps Z over the sum of all terms, whatever was drawn before.
constexpr double kLeastShare = 1e-9;

template <class T>
class SurfaceSampler {
 public:
  SurfaceSampler(const FrontTree& tree, std::span<const double> join,
                 const std::vector<SignStructure<T>>& structures, Control& control)
      : tree_(tree), join_(join), structures_(structures), control_(control) {
    below_.resize(structures_.size());
    for (size_t k = 0; k < structures_.size(); ++k) sum_factors(k);
  }

  void draw(std::span<const double> uniform, CutRow& row) {
    uniform_ = uniform;
    result_ = row;
    std::vector<SignedLog> prefix(structures_.size());
    for (size_t k = 0; k < structures_.size(); ++k) {
      for (const int8_t sign : structures_[k].sign) prefix[k].sign *= sign;
    }
    if (tree_.num_nodes() > 0) sample(tree_.num_nodes() - 1, prefix);
    row = result_;
  }

 private:
  using Factors = std::vector<SignedLog>;    // one per sign structure
  using Blocks = std::vector<SkewBlock<T>>;  // too

  void sum_factors(size_t k) {
    below_[k].resize(tree_.num_nodes());
    for (int32_t node = 0; node < tree_.num_nodes(); ++node) {
      const FrontMatrix<T>& front = (*structures_[k].fronts)[node];
      below_[k][node] = SignedLog{{front.log_pivots, 0.0}, front.sign} * base(k, node);
    }
  }

  // What was eliminated below a node.
  SignedLog base(size_t k, int32_t node) const {
    SignedLog factor;
    if (tree_.is_leaf(node)) return factor;
    factor = below_[k][tree_.left[node]] * below_[k][tree_.right[node]];
    for (const int32_t exponent : (*structures_[k].fronts)[node].exponents) {
      factor.log -= multiple_of_ln2(exponent);
    }
    return factor;
  }

  // At the clock, before the elimination of a block.
  void look(int32_t rows) {
    constexpr int64_t kSize = sizeof(T) / sizeof(double);
    control_.spend(64 + kSize * kSize * kSize * int64_t{rows} * rows * (rows + 8) / 4);
  }

  SignedLog joined(size_t k, int32_t edge) const {
    return {{join_[2 * edge] + join_[2 * edge + 1], 0.0}, structures_[k].sign[edge]};
  }
  T join_entry(size_t k, int32_t edge) const {
    const T value = exponential<T>(join_[2 * edge] + join_[2 * edge + 1]);
    return structures_[k].sign[edge] > 0 ? value : -value;
  }

  // The front of a node given the edges across its boundary: rows refused below, legs of cut
  // edges, then the node's own legs.
  SkewBlock<T> conditioned(size_t k, int32_t node) const {
    const FrontMatrix<T>& front = (*structures_[k].fronts)[node];
    const int32_t own = tree_.own_rows(node), boundary = tree_.boundary_rows(node);
    std::vector<int32_t> rows;
    for (int32_t r = own; r < front.rows - boundary; ++r) rows.push_back(r);
    const int32_t* legs = tree_.boundary_legs.data() + tree_.boundary[node];
    for (int32_t r = 0; r < boundary; ++r) {
      if (result_.cut[legs[r] >> 1]) rows.push_back(front.rows - boundary + r);
    }
    const auto others = static_cast<int32_t>(rows.size());
    for (int32_t r = 0; r < own; ++r) rows.push_back(r);
    SkewBlock<T> block(static_cast<int32_t>(rows.size()), others);
    block.factor = base(k, node);
    for (int32_t j = 0; j < block.rows; ++j) {
      for (int32_t i = j + 1; i < block.rows; ++i) {
        block.column(j)[i] = front.entry(rows[i], rows[j]);
      }
    }
    return block;
  }

  std::span<const int32_t> own_edges(int32_t node) const {
    return {tree_.edge_order.data() + tree_.own[node],
            static_cast<size_t>(tree_.own[node + 1] - tree_.own[node])};
  }

  // Weight of everything in a node, given the edges across its boundary.
  Factors weigh(int32_t node) {
    Factors result;
    for (size_t k = 0; k < structures_.size(); ++k) {
      SkewBlock<T> block = conditioned(k, node);
      int32_t at = block.pending;
      for (const int32_t edge : own_edges(node)) {
        block.join(at, at + 1, join_entry(k, edge));
        at += 2;
      }
      look(block.rows);
      result.push_back(elimination_.pfaffian(block, block.rows));
    }
    return result;
  }

  // Draws all edges of a subtree; `prefix` is the weight of everything else, by structure, up to
  // a common factor. Returns the weight of what was drawn: signs, up to a common factor.
  Factors sample(int32_t node, const Factors& prefix) {
    Factors drawn(structures_.size());
    const auto edges = own_edges(node);
    if (!edges.empty()) {
      Blocks blocks;
      for (size_t k = 0; k < structures_.size(); ++k) {
        SkewBlock<T> block = conditioned(k, node);
        const int32_t others = block.pending;
        look(block.rows);
        blocks.push_back(elimination_.reduce(std::move(block), others));
        blocks.back().factor *= prefix[k];
      }
      draw(std::move(blocks), edges);
      for (size_t k = 0; k < structures_.size(); ++k) {
        for (const int32_t edge : edges) {
          if (!result_.cut[edge]) drawn[k].sign *= structures_[k].sign[edge];
        }
      }
    }
    if (tree_.is_leaf(node)) return drawn;
    // The right child while the left one is summed over, then the left given the right.
    const Factors left = weigh(tree_.left[node]);
    Factors here(structures_.size());
    for (size_t k = 0; k < here.size(); ++k) here[k] = prefix[k] * drawn[k] * left[k];
    const Factors right = sample(tree_.right[node], normalised(here));
    for (size_t k = 0; k < here.size(); ++k) {
      drawn[k] *= right[k];
      here[k] = prefix[k] * drawn[k];
    }
    const Factors rest = sample(tree_.left[node], normalised(here));
    for (size_t k = 0; k < here.size(); ++k) drawn[k] *= rest[k];
    return drawn;
  }

  static Factors normalised(Factors factors) {
    TwoDoubles top{-INFINITY, 0.0};
    for (const SignedLog& f : factors) top = std::max(top, f.log);
    if (top.high > -INFINITY) {
      for (SignedLog& f : factors) f.log -= top;
    }
    return factors;
  }

  // The first half of the edges with the second summed over, then the second given the first.
  void draw(Blocks blocks, std::span<const int32_t> edges) {
    if (edges.size() == 1) return decide(blocks, edges[0]);
    const auto half = static_cast<int32_t>(edges.size() / 2);
    Blocks parts;
    for (size_t k = 0; k < blocks.size(); ++k) {
      const SkewBlock<T>& block = blocks[k];
      const int32_t others = block.pending, middle = others + 2 * half;
      std::vector<int32_t> rows;
      for (int32_t r = 0; r < others; ++r) rows.push_back(r);
      for (int32_t r = middle; r < block.rows; ++r) rows.push_back(r);
      const auto candidates = static_cast<int32_t>(rows.size());
      for (int32_t r = others; r < middle; ++r) rows.push_back(r);
      SkewBlock<T> part = block.select(rows, others);
      for (size_t e = half; e < edges.size(); ++e) {
        const auto at = static_cast<int32_t>(others + 2 * (e - half));
        part.join(at, at + 1, join_entry(k, edges[e]));
      }
      look(part.rows);
      parts.push_back(elimination_.reduce(std::move(part), candidates));
    }
    draw(std::move(parts), edges.first(half));
    parts.clear();
    for (size_t k = 0; k < blocks.size(); ++k) {
      const SkewBlock<T>& block = blocks[k];
      const int32_t others = block.pending;
      SignedLog factor = block.factor;
      std::vector<int32_t> rows;
      for (int32_t r = 0; r < others; ++r) rows.push_back(r);
      for (int32_t e = 0; e < half; ++e) {
        if (result_.cut[edges[e]]) {
          rows.push_back(others + 2 * e);
          rows.push_back(others + 2 * e + 1);
        } else {
          factor *= joined(k, edges[e]);
        }
      }
      const auto known = static_cast<int32_t>(rows.size());
      for (int32_t r = others + 2 * half; r < block.rows; ++r) rows.push_back(r);
      SkewBlock<T> part = block.select(rows, known);
      part.factor = factor;
      look(part.rows);
      parts.push_back(elimination_.reduce(std::move(part), known));
    }
    draw(std::move(parts), edges.subspan(half));
  }

  void decide(const Blocks& blocks, int32_t edge) {
    Factors stay, part;
    TwoDoubles top{-INFINITY, 0.0};
    for (size_t k = 0; k < blocks.size(); ++k) {
      look(blocks[k].rows);
      stay.push_back(elimination_.pfaffian(blocks[k], blocks[k].pending) * joined(k, edge));
      part.push_back(elimination_.pfaffian(blocks[k], blocks[k].rows));
      top = std::max({top, stay.back().log, part.back().log});
    }
    double stay_sum = 0.0, part_sum = 0.0, all = 0.0;
    for (size_t k = 0; k < blocks.size(); ++k) {
      const double a = std::exp((stay[k].log - top).high);
      const double b = std::exp((part[k].log - top).high);
      stay_sum += stay[k].sign * a;
      part_sum += part[k].sign * b;
      all += a + b;
    }
    // Either sum is a sum of weights, up to a sign that all structures share.
    stay_sum = std::fabs(stay_sum);
    part_sum = std::fabs(part_sum);
    if (!(stay_sum + part_sum > kLeastShare * all)) ++result_.undecided;
    result_.cut[edge] = !(uniform_[edge] * (stay_sum + part_sum) < stay_sum);
    const double chosen = result_.cut[edge] ? part_sum : stay_sum;
    result_.log_probability += std::log(chosen / (stay_sum + part_sum));
  }

  const FrontTree& tree_;
  std::span<const double> join_;
  const std::vector<SignStructure<T>>& structures_;
  std::span<const double> uniform_;
  Control& control_;
  BlockElimination<T> elimination_;
  std::vector<Factors> below_;  // by structure and node: pivots of the subtree
  CutRow result_;
};

}  // namespace

template <class T>
void sample_surface_cuts(const FrontTree& tree, std::span<const double> join,
                         const std::vector<SignStructure<T>>& structures,
                         std::span<const double> uniform, Control& control,
                         std::vector<CutRow>& rows) {
  SurfaceSampler<T> sampler(tree, join, structures, control);
  for (size_t r = 0; r < rows.size(); ++r) {
    const size_t edges = rows[r].cut.size();
    sampler.draw(uniform.subspan(r * edges, edges), rows[r]);
  }
}

template void sample_surface_cuts<double>(const FrontTree&, std::span<const double>,
                                          const std::vector<SignStructure<double>>&,
                                          std::span<const double>, Control&, std::vector<CutRow>&);
template void sample_surface_cuts<DoubleDouble>(const FrontTree&, std::span<const double>,
                                                const std::vector<SignStructure<DoubleDouble>>&,
                                                std::span<const double>, Control&,
                                                std::vector<CutRow>&);

}  // namespace planaris
