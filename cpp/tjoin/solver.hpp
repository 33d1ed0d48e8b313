// Many T-joins of one graph: everything but the odd vertices is prepared once, and a solve
// touches only what its regions and paths reach.
#pragma once

#include "tjoin/solve.hpp"

namespace planaris::tjoin {

template <typename Int>
class TypedSolver final : public TJoinSolver {
 public:
  TypedSolver(const TJoinProblem& problem, Layout&& layout, Team& team)
      : base_(problem, std::move(layout), team),
        engine_(base_.store_, *base_.graph_, 0, base_.graph_->n, {}, 0), opener_(base_.store_),
        paths_(*base_.graph_), flag_(problem.num_vertices, 0),
        parity_(base_.layout_->bounded.size(), 0), is_odd_(base_.weight_->size(), 0) {
    num_digits = kBits<Int> / 32;
    exponent = base_.exponent_;
    paths_.prepare();
    for (const int32_t v : *base_.edges_) ends_.push_back(base_.layout_->index[v]);
  }

  bool set_weights(const TJoinWeights& weights) override {
    if (weights.mantissas.size() != base_.weight_->size() ||
        width_for(bits_needed(weights, 0)) != kBits<Int>) {
      return false;
    }
    base_.replace_weights(weights);
    exponent = base_.exponent_;
    paths_.forget();
    return true;
  }

  int32_t solve(std::span<const int32_t> odd, Control& control, std::vector<int32_t>& join,
                std::vector<int64_t>& objective, TJoinSolution* proof) override {
    for (const int32_t v : odd) {
      if (v < 0 || size_t(v) >= flag_.size()) {
        throw std::invalid_argument("odd names a vertex that does not exist");
      }
    }
    const int32_t infeasible = mark_odd(odd);
    try {
      if (infeasible < 0) {
        roots_ = odd_;
        for (const int32_t v : roots_) {
          if (base_.store_.is_free(v)) engine_.grow_alone(v);
        }
        match_roots(
            engine_, base_.store_, base_.graph_->n, roots_, [&] { control.poll(); }, kGrowth);
        read_off(join, objective, control);
        if (proof != nullptr) write_proof(*proof);
      }
    } catch (...) {
      clear();
      throw;
    }
    clear();
    return infeasible;
  }

 private:
  static constexpr int64_t kGrowth = 3;  // of budgets: measured on lattices of 21² and 50²

  // Returns a vertex of a component that cannot be joined, or -1.
  int32_t mark_odd(std::span<const int32_t> odd) {
    const Layout& layout = *base_.layout_;
    for (const int32_t v : odd) flag_[v] ^= 1;
    int32_t open = 0;  // components without boundary and with an odd number so far
    for (const int32_t v : odd) {
      if (!flag_[v]) continue;
      flag_[v] = 0;
      const int32_t c = layout.component[v];
      if (!layout.bounded[c]) open += (parity_[c] ^= 1) ? 1 : -1;
      if (layout.index[v] == base_.graph_->n) continue;
      base_.store_.make_odd(layout.index[v]);
      odd_.push_back(layout.index[v]);
    }
    int32_t infeasible = -1;
    for (const int32_t v : odd) {
      uint8_t& parity = parity_[layout.component[v]];
      if (parity && open > 0) infeasible = v;
      parity = 0;
    }
    return infeasible;
  }

  void read_off(std::vector<int32_t>& join, std::vector<int64_t>& objective, Control& control) {
    const size_t begin = join.size();
    opener_.open_all(pairs_);
    const Store<Int>& store = base_.store_;
    const auto end = [this](int32_t e, int side) { return ends_[2 * e + side]; };
    for (const Contact& pair : pairs_.matched) {
      append_matched(store, opener_.parents(), pair, true, end, paths_, join);
      control.poll_now();  // a long path takes milliseconds
    }
    cancel_pairs(join, begin);
    Int total = 0;
    for (size_t i = begin; i < join.size(); ++i) total += (*base_.weight_)[join[i]];
    Int duals = 0;
    for (size_t r = 0; r < base_.store_.region.size(); ++r) duals += base_.store_.dual(r);
    if (total + total != duals) {
      throw std::logic_error("T-join: primal and dual differ");
    }
    append_digits(total, num_digits, objective);
  }

  // Sorts edges from `begin` on; those on two paths cancel.
  void cancel_pairs(std::vector<int32_t>& join, size_t begin) {
    size_t end = begin;
    if (join.size() - begin > is_odd_.size() / 16) {  // a table is faster
      for (size_t i = begin; i < join.size(); ++i) is_odd_[join[i]] ^= 1;
      join.resize(begin + is_odd_.size());
      for (size_t e = 0; e < is_odd_.size(); ++e) {
        join[end] = static_cast<int32_t>(e);
        end += std::exchange(is_odd_[e], 0);
      }
    } else {
      std::sort(join.begin() + begin, join.end());
      for (size_t i = begin; i < join.size(); ++i) {
        if (end > begin && join[end - 1] == join[i]) {
          --end;
        } else {
          join[end++] = join[i];
        }
      }
    }
    join.resize(end);
  }

  void write_proof(TJoinSolution& out) {
    const Store<Int>& store = base_.store_;
    for (auto* list : {&out.order, &out.start, &out.stop, &out.parent}) list->resize(store.n);
    out.values.clear();
    if (CertificateWriter<Int>::kPlain) out.values.resize(store.n);
    out.exponent = exponent;
    out.num_digits = CertificateWriter<Int>::kPlain ? 0 : num_digits;
    place_.resize(store.n);
    CertificateWriter<Int> writer(store, base_.layout_->order, place_, out);
    for (size_t r = 0; r < store.region.size(); ++r) {
      if (store.is_outermost(r)) writer.append(r);
    }
    writer.finish();
  }

  void clear() {
    Store<Int>& store = base_.store_;
    for (size_t r = 0; r < store.region.size(); ++r) {
      if (!store.is_outermost(r)) continue;
      const int32_t last = store.region[r].last;
      for (int32_t v = store.region[r].first;;) {
        const int32_t next = store.v[v].next;
        store.v[v] = {};
        if (v == last) break;
        v = next;
      }
    }
    for (const int32_t v : odd_) store.base[v] = -1;
    odd_.clear();
    store.region.resize(size_t(store.boundary) + 1);  // the boundary's was the first one
    store.spare.clear();
    engine_.take_spare();
  }

  TypedState<Int> base_;
  Engine<Int> engine_;
  BlossomOpener<Int> opener_;
  Pairs pairs_;
  Paths<Int> paths_;
  std::vector<uint8_t> flag_, parity_, is_odd_;
  std::vector<int32_t> odd_, roots_;
  UnwrittenVector<int32_t> place_;
  std::vector<int32_t> ends_;  // of edges, by place in the sweep
};

template <typename Int>
std::unique_ptr<TJoinSolver> make_solver(const TJoinProblem& problem, Layout&& layout, Team& team) {
  return std::make_unique<TypedSolver<Int>>(problem, std::move(layout), team);
}

}  // namespace planaris::tjoin
