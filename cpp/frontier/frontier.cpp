#include "frontier/frontier.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/constants.hpp"
#include "base/simd.hpp"
#include "base/team.hpp"
#include "frontier/engine.hpp"

namespace planaris {
namespace {

using namespace frontier;

constexpr double kSmallestLog = -700.0;  // weights below would be subnormal or zero
constexpr double kTolerated = -56.0;     // log2 of the share of Z that underflow may take

struct NeedExponents {};  // plain doubles may have lost something that counts

const Weights kOnes[2] = {{{1, 1, 1, 1}, {0, 0, 0, 0}}, {{0, 0, 0, 0}, {0, 0, 0, 0}}};

template <class N>
struct Forward {
  template <int W>
  static PLANARIS_INLINE void run(Table& t, const Blocks& b, const Prepared* ops, int32_t n,
                                  double f, int64_t begin, int64_t end, double* top) {
    forward_blocks<N, kLanes, W>(t, b, ops, n, f, begin, end, *top);
  }
};

template <class N>
void forward_lanes(Table& t, const Blocks& b, const Prepared* ops, int32_t n, double f,
                   int64_t begin, int64_t end, double* top) {
  if (b.lanes == 1) {
    forward_blocks<N, 1, 1>(t, b, ops, n, f, begin, end, *top);
  } else {
    run_widest<Forward<N>>(t, b, ops, n, f, begin, end, top);
  }
}

template <class N>
struct Backward {
  template <int W>
  static PLANARIS_INLINE void run(const Table& a, Table& t, const Blocks& b, const Prepared* ops,
                                  int32_t n, double fa, double fb, double ref, int64_t begin,
                                  int64_t end, JointSums sums, double* top) {
    backward_blocks<N, kLanes, W>(a, t, b, ops, n, fa, fb, ref, begin, end, sums, *top);
  }
};

template <class N>
void backward_lanes(const Table& a, Table& t, const Blocks& b, const Prepared* ops, int32_t n,
                    double fa, double fb, double ref, int64_t begin, int64_t end, JointSums sums,
                    double* top) {
  if (b.lanes == 1) {
    backward_blocks<N, 1, 1>(a, t, b, ops, n, fa, fb, ref, begin, end, sums, *top);
  } else {
    run_widest<Backward<N>>(a, t, b, ops, n, fa, fb, ref, begin, end, sums, top);
  }
}

template <class N>
class Engine {
 public:
  Engine(const PairwiseView& model, const FrontierProgram& program, Control& control)
      : model_(model), program_(program), control_(control), team_(control.threads(), control) {}

  Table start() {
    Table table = make_table();
    table.data[0] = N::kSum ? 1.0 : 0.0;
    if (N::kPlanes == 2) table.data[table.capacity] = 0.0;
    return table;
  }

  void forward(Table& table, const FrontierStep& step) {
    const double factor = rescale(table);
    const FrontierOp& op = program_.ops[step.first_op];
    if (step.kind == FrontierStep::kPush) {
      push(table, op, factor);
    } else if (step.kind == FrontierStep::kPop) {
      pop(table, op.slot, factor);
    } else {
      group(table, step, factor);
    }
    table.bits = step.bits_after;
    if constexpr (std::is_same_v<N, Plain>) {
      note_loss(table, step, step.growth_after);
    }
    control_.poll_now();
  }

  // Turns beta after the step into beta before it; adds what alpha tells about the step.
  void backward(const Table& alpha, Table& beta, const FrontierStep& step, double reference,
                FrontierSum& result);

  // Undoes the step for one state: sets the labels of spins that entered in it.
  template <class Pick>
  void descend(const Table& alpha, const FrontierStep& step, uint64_t& index, int8_t* labels,
               Pick&& pick);

  // Calls visit(t, table before step t) for t = number of steps, ..., 1, 0, keeping at most
  // `spare` checkpoints (Griewank's binomial schedule).
  template <class Visit>
  void reverse(int32_t spare, Visit&& visit);

  // The most roundings of a probability: additions of joint weights, one after another, and its
  // division.
  double additions() const { return additions_; }

  Table copy(const Table& from) {
    Table to = make_table();
    assign(to, from);
    return to;
  }

 private:
  Table make_table() {
    Table table;
    if (!pool_.empty()) {
      table = std::move(pool_.back());
      pool_.pop_back();
      const size_t capacity = table.capacity;
      Array data = std::move(table.data);
      table = Table{};
      table.data = std::move(data);
      table.capacity = capacity;
      return table;
    }
    table.capacity = size_t{1} << program_.max_bits;
    table.data = make_array(N::kPlanes * table.capacity);
    return table;
  }

  void assign(Table& to, const Table& from) {
    const int64_t size = int64_t{1} << from.bits;
    for (int plane = 0; plane < N::kPlanes; ++plane) {
      const size_t shift = plane * from.capacity;
      team_.split(size, Team::parts(0.3 * size), [&](int64_t begin, int64_t end, int) {
        std::copy(from.data.get() + shift + begin, from.data.get() + shift + end,
                  to.data.get() + shift + begin);
      });
    }
    to.bits = from.bits;
    to.exponent = from.exponent;
    to.top = from.top;
    to.lost = from.lost;
  }

  // Factor that brings a plain table's largest entry to about 2^kTop.
  static double rescale(Table& table) {
    if constexpr (!std::is_same_v<N, Plain>) return 1.0;
    if (table.top == 0.0) return 1.0;
    const int log = std::ilogb(table.top);
    if (std::abs(log - kTop) <= 40) return 1.0;
    const double shift = std::clamp(kTop - log, -1000.0, 1000.0);
    table.exponent -= shift;
    return std::exp2(shift);
  }

  // Every product may lose 2^-1075, which grows at most as the sum of all entries does.
  void note_loss(Table& table, const FrontierStep& step, double growth) {
    const auto ops = static_cast<double>(step.last_op - step.first_op);
    const double bits = std::max(step.bits_before, step.bits_after);
    table.lost =
        log2_add(table.lost, bits + ops + std::log2(6 * ops + 6) - 1074 + table.exponent + growth);
  }

  template <class Body>
  void over_lanes(int64_t entries, bool lanes, double& top, Body&& body) {
    const int parts = Team::parts(static_cast<double>(entries));
    std::vector<double> tops(parts, 0.0);
    const int64_t count = lanes ? entries / kLanes : entries;
    team_.split(count, parts, [&](int64_t begin, int64_t end, int id) {
      double own[kLanes] = {};
      for (int64_t q = begin; q < end; ++q) body(q, own);
      tops[id] = *std::max_element(own, own + kLanes);
    });
    top = *std::max_element(tops.begin(), tops.end());
  }

  void push(Table& table, const FrontierOp& op, double factor) {
    const int64_t half = int64_t{1} << table.bits;
    double m[2], e[2];
    for (int b = 0; b < 2; ++b) {
      N::set(op.logs[b], m[b], e[b]);
      if (N::kSum) m[b] *= factor;
    }
    double* data = table.data.get();
    const size_t plane = table.capacity;
    over_lanes(half, half >= kLanes, table.top, [&](int64_t q, double* top) {
      const auto run = [&]<int L>() {
        double *x0 = data + q * L, *x1 = x0 + half;
        for (int p = 0; p < N::kPlanes; ++p) {
          std::copy(x0 + p * plane, x0 + p * plane + L, x1 + p * plane);
        }
        N::template scale<L>(x0, plane, m[0], e[0]);
        N::template scale<L>(x1, plane, m[1], e[1]);
        N::template settle<L>(x0, plane, top);
        N::template settle<L>(x1, plane, top);
      };
      half >= kLanes ? run.template operator()<kLanes>() : run.template operator()<1>();
    });
  }

  void pop(Table& table, int32_t slot, double factor) {
    const int32_t last = table.bits - 1;
    const int64_t half = int64_t{1} << last;
    Weights ones = N::kSum ? kOnes[0] : kOnes[1];
    if (N::kSum) std::fill(ones.m, ones.m + 4, factor);
    double* data = table.data.get();
    const size_t plane = table.capacity;
    if (slot == last) {
      over_lanes(half, half >= kLanes, table.top, [&](int64_t q, double* top) {
        const auto run = [&]<int L>() {
          N::template replace<L>(data + q * L, data + q * L + half, plane, ones);
          N::template settle<L>(data + q * L, plane, top);
        };
        half >= kLanes ? run.template operator()<kLanes>() : run.template operator()<1>();
      });
      return;
    }
    const bool lanes = slot >= 4;
    const int64_t bit = int64_t{1} << slot;
    over_lanes(half / 2, lanes, table.top, [&](int64_t q, double* top) {
      const auto run = [&]<int L>() {
        const int64_t j = q * L;
        double* x = data + (((j >> slot) << (slot + 1)) | (j & (bit - 1)));
        N::template replace<L>(x, x + bit, plane, ones);
        N::template replace<L>(x + half, x + half + bit, plane, ones);
        for (int p = 0; p < N::kPlanes; ++p) {
          std::copy(x + half + p * plane, x + half + p * plane + L, x + bit + p * plane);
        }
        N::template settle<L>(x, plane, top);
        N::template settle<L>(x + bit, plane, top);
      };
      lanes ? run.template operator()<kLanes>() : run.template operator()<1>();
    });
  }

  std::vector<Prepared> prepared(const FrontierStep& step, const Blocks& blocks) const {
    std::vector<Prepared> ops;
    for (int32_t i = step.first_op; i < step.last_op; ++i) {
      ops.push_back(prepare<N>(program_.ops[i], blocks.place));
    }
    return ops;
  }

  void group(Table& table, const FrontierStep& step, double factor) {
    const Blocks blocks(step);
    const auto ops = prepared(step, blocks);
    const auto num_ops = static_cast<int32_t>(ops.size());
    const int parts = Team::parts(std::exp2(step.bits_before) * num_ops * 0.3);
    std::vector<double> tops(parts, 0.0);
    team_.split(blocks.count, parts, [&](int64_t begin, int64_t end, int id) {
      forward_lanes<N>(table, blocks, ops.data(), num_ops, factor, begin, end, &tops[id]);
    });
    table.top = *std::max_element(tops.begin(), tops.end());
  }

  double tell_group(const Table& alpha, Table& beta, const FrontierStep& step, double fa, double fb,
                    double reference, FrontierSum& result);
  double tell_push(const Table& alpha, Table& beta, const FrontierOp& op, double fb,
                   double reference, FrontierSum& result);
  void unpop(Table& beta, int32_t slot, double factor);
  // Of a sum in parts, and the few of joint weights, of their total and of a division.
  void note_additions(int64_t within, int parts) {
    additions_ = std::max(additions_, static_cast<double>(within + parts) + 16.0);
  }
  void tell(const FrontierOp& op, const double* sums, double total, FrontierSum& result) const;
  void tell_pair(int32_t edge, int32_t spin, const double (&table)[2][2],
                 FrontierSum& result) const;

  const PairwiseView& model_;
  const FrontierProgram& program_;
  Control& control_;
  Team team_;
  std::vector<Table> pool_;
  double additions_ = 0.0;
};

template <class N>
void Engine<N>::tell_pair(int32_t edge, int32_t spin, const double (&table)[2][2],
                          FrontierSum& result) const {
  const bool first = model_.edges[2 * edge] == spin;
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 2; ++b) {
      result.pairs[4 * edge + (first ? 2 * a + b : 2 * b + a)] = table[a][b];
    }
  }
}

// Sums [control][old][new] of one op as marginals.
template <class N>
void Engine<N>::tell(const FrontierOp& op, const double* sums, double total,
                     FrontierSum& result) const {
  double old_new[2][2] = {}, new_control[2][2] = {};
  for (int c = 0; c < 2; ++c) {
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 2; ++b) {
        old_new[a][b] += sums[4 * c + 2 * a + b] / total;
        new_control[b][c] += sums[4 * c + 2 * a + b] / total;
      }
    }
  }
  if (op.new_spin < 0) {
    tell_pair(op.edge, op.spin, new_control, result);
    return;
  }
  for (int b = 0; b < 2; ++b) {
    result.singles[2 * op.new_spin + b] = new_control[b][0] + new_control[b][1];
  }
  if (op.edge >= 0) tell_pair(op.edge, op.old_spin, old_new, result);
  if (op.control_edge >= 0) tell_pair(op.control_edge, op.new_spin, new_control, result);
}

template <class N>
double Engine<N>::tell_group(const Table& alpha, Table& beta, const FrontierStep& step, double fa,
                             double fb, double reference, FrontierSum& result) {
  const Blocks blocks(step);
  const auto ops = prepared(step, blocks);
  const auto num_ops = static_cast<int32_t>(ops.size());
  const int parts = Team::parts(std::exp2(step.bits_before) * num_ops);
  std::vector<double> tops(parts, 0.0);
  std::vector<double> sums(size_t{kHistory} * 8 * parts, 0.0);
  team_.split(blocks.count, parts, [&](int64_t begin, int64_t end, int id) {
    auto* own = reinterpret_cast<double (*)[8]>(sums.data() + size_t{kHistory} * 8 * id);
    backward_lanes<N>(alpha, beta, blocks, ops.data(), num_ops, fa, fb, reference, begin, end, own,
                      &tops[id]);
  });
  beta.top = *std::max_element(tops.begin(), tops.end());
  note_additions((blocks.count / parts + 1) * (int64_t{1} << blocks.locals) + blocks.lanes, parts);
  double least = kInfinity;
  for (int32_t i = 0; i < num_ops; ++i) {
    double total = 0.0;
    for (int k = 0; k < 8; ++k) {
      double& sum = sums[8 * i + k];
      for (int id = 1; id < parts; ++id) sum += sums[(size_t{kHistory} * id + i) * 8 + k];
      total += sum;
    }
    least = std::min(least, total);
    tell(program_.ops[step.first_op + i], &sums[8 * i], total, result);
  }
  return least;
}

constexpr int64_t kPushed = 1024;  // joint weights that are added up before their sum is added

template <class N>
double Engine<N>::tell_push(const Table& alpha, Table& beta, const FrontierOp& op, double fb,
                            double reference, FrontierSum& result) {
  const int64_t half = int64_t{1} << alpha.bits;
  double m[2], e[2], sums[8] = {};
  for (int b = 0; b < 2; ++b) N::set(op.logs[b], m[b], e[b]);
  double* data = beta.data.get();
  const double* before = alpha.data.get();
  const size_t plane = beta.capacity;
  Weights w = kOnes[0];
  for (int k = 0; k < 4; ++k) {
    w.m[k] = fb * m[k % 2];
    w.e[k] = e[k % 2];
  }
  const int parts = Team::parts(static_cast<double>(half));
  std::vector<double> own(2 * size_t(parts), 0.0), tops(parts, 0.0);
  team_.split(half, parts, [&](int64_t begin, int64_t end, int id) {
    for (int64_t first = begin; first < end; first += kPushed) {
      double some[2] = {};
      for (int64_t i = first; i < std::min(first + kPushed, end); ++i) {
        N::template joint<1>(before + i, data + i, plane, m[0] * fb, e[0], reference, &some[0]);
        N::template joint<1>(before + i, data + i + half, plane, m[1] * fb, e[1], reference,
                             &some[1]);
        N::template replace_back<1>(data + i, data + i + half, plane, w);
        N::template settle<1>(data + i, plane, &tops[id]);
      }
      own[2 * id] += some[0];
      own[2 * id + 1] += some[1];
    }
  });
  for (int id = 0; id < parts; ++id) {
    sums[0] += own[2 * id];
    sums[1] += own[2 * id + 1];
  }
  beta.top = *std::max_element(tops.begin(), tops.end());
  note_additions(kPushed + half / parts / kPushed + 2, parts);
  tell(op, sums, sums[0] + sums[1], result);
  return sums[0] + sums[1];
}

template <class N>
void Engine<N>::unpop(Table& beta, int32_t slot, double factor) {
  const int32_t last = beta.bits;
  const int64_t half = int64_t{1} << last, bit = int64_t{1} << slot;
  for (int p = 0; p < N::kPlanes; ++p) {
    double* data = beta.data.get() + p * beta.capacity;
    const double f = p == 0 ? factor : 1.0;
    const int64_t count = slot == last ? half : half / 2;
    team_.split(count, Team::parts(double(half)), [&](int64_t begin, int64_t end, int) {
      for (int64_t j = begin; j < end; ++j) {
        if (slot == last) {
          data[j] *= f;
          data[j + half] = data[j];
          continue;
        }
        double* x = data + (((j >> slot) << (slot + 1)) | (j & (bit - 1)));
        const double a = x[0] * f, b = x[bit] * f;
        x[0] = x[bit] = a;
        x[half] = x[half + bit] = b;
      }
    });
  }
  beta.top *= factor;
}

template <class N>
void Engine<N>::backward(const Table& alpha, Table& beta, const FrontierStep& step,
                         double reference, FrontierSum& result) {
  const double fb = rescale(beta);
  const FrontierOp& op = program_.ops[step.first_op];
  const double beta_top = beta.top * fb;
  double total = kInfinity;
  if (step.kind == FrontierStep::kPush) {
    total = tell_push(alpha, beta, op, fb, reference, result);
  } else if (step.kind == FrontierStep::kPop) {
    unpop(beta, op.slot, fb);
  } else {
    total = tell_group(alpha, beta, step, 1.0, fb, reference, result);
  }
  beta.bits = step.bits_before;
  if constexpr (std::is_same_v<N, Plain>) {
    note_loss(beta, step, step.growth_before);
    // Error of the joint sums: what alpha lost times the largest beta, and vice versa.
    const auto ops = static_cast<double>(step.last_op - step.first_op);
    const double of_alpha = alpha.lost - alpha.exponent - step.growth_after;
    const double of_beta = beta.lost - beta.exponent - step.growth_before;
    const double lost = log2_add(of_alpha + std::log2(std::max(beta_top, beta.top)),
                                 of_beta + std::log2(alpha.top));
    const double share = lost + 2 * ops + 4 - std::log2(total);
    if (total < kInfinity && !(share < kTolerated)) throw NeedExponents{};
  }
  control_.poll_now();
}

template <class N>
template <class Pick>
void Engine<N>::descend(const Table& alpha, const FrontierStep& step, uint64_t& index,
                        int8_t* labels, Pick&& pick) {
  const FrontierOp& op = program_.ops[step.first_op];
  const double* data = alpha.data.get();
  const size_t plane = alpha.capacity;
  if (step.kind == FrontierStep::kPush) {
    labels[op.new_spin] = static_cast<int8_t>(index >> op.slot & 1);
    index &= ~(1ULL << op.slot);
    return;
  }
  if (step.kind == FrontierStep::kPop) {
    const int32_t last = step.bits_before - 1;
    uint64_t rest = index;
    if (op.slot != last) {  // the last slot's spin had moved into this one
      rest = (index & ~(1ULL << op.slot)) | (index >> op.slot & 1) << last;
    }
    const double* x0 = data + rest;
    const double* x1 = data + (rest | 1ULL << op.slot);
    index = rest | static_cast<uint64_t>(pick(x0, x1, plane, kOnes[N::kSum ? 0 : 1], 0)) << op.slot;
    return;
  }
  const Blocks blocks(step);
  const auto ops = prepared(step, blocks);
  uint64_t row = 0, base = index;
  for (int32_t k = 0; k < blocks.locals; ++k) {
    row |= (index >> step.locals[k] & 1) << k;
    base &= ~(1ULL << step.locals[k]);
  }
  constexpr size_t size = size_t{N::kPlanes} * kRows;
  std::vector<double> history(size * ops.size());
  load<N, 1>(alpha, blocks, base, 1.0, history.data());
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    std::copy_n(history.begin() + size * i, size, history.begin() + size * (i + 1));
    apply<N, 1, 1>(ops[i], blocks.locals, history.data() + size * (i + 1));
  }
  for (size_t i = ops.size(); i-- > 0;) {
    if (!ops[i].replaces) continue;
    const uint64_t bit = 1ULL << ops[i].bit;
    const int label = (row & bit) != 0;
    const int c = ops[i].control_bit < 0 ? 0 : static_cast<int>(row >> ops[i].control_bit & 1);
    labels[program_.ops[step.first_op + i].new_spin] = static_cast<int8_t>(label);
    const double* a = history.data() + size * i;
    const int old = pick(a + (row & ~bit), a + (row | bit), size_t{kRows}, ops[i].w[c], label);
    row = old ? row | bit : row & ~bit;
  }
  for (int32_t k = 0; k < blocks.locals; ++k) base |= (row >> k & 1) << step.locals[k];
  index = base;
}

// Steps that can be undone from `tables` stored tables with `sweeps` forward sweeps each.
double reach(int64_t tables, int64_t sweeps) {
  double result = 1.0;
  for (int64_t i = 1; i <= sweeps; ++i) {
    result *= static_cast<double>(tables + i) / static_cast<double>(i);
  }
  return result;
}

double work_of(const FrontierStep& step) {
  return std::exp2(std::max(step.bits_before, step.bits_after)) * (step.last_op - step.first_op);
}

template <class N>
template <class Visit>
void Engine<N>::reverse(int32_t spare, Visit&& visit) {
  // Steps are counted by their work, in units of a mean step: checkpoints go where tables are
  // large.
  const auto num_steps = static_cast<int32_t>(program_.steps.size());
  std::vector<double> work(num_steps + 1, 0.0);
  for (int32_t t = 0; t < num_steps; ++t) work[t + 1] = work[t] + work_of(program_.steps[t]);
  for (double& w : work) w *= num_steps / std::max(work[num_steps], 1.0);
  std::vector<std::pair<int32_t, Table>> stored;
  stored.emplace_back(0, start());
  const auto advance = [&](Table& table, int32_t from, int32_t to) {
    for (int32_t t = from; t < to; ++t) forward(table, program_.steps[t]);
  };
  for (int32_t t = num_steps; t >= 0; --t) {
    while (stored.back().first < t) {
      const int32_t from = stored.back().first;
      const double distance = std::ceil(work[t] - work[from]);
      const auto free = static_cast<int64_t>(spare) - static_cast<int64_t>(stored.size()) + 1;
      if (free <= 0) break;
      int64_t sweeps = 1;
      while (reach(free + 1, sweeps) < distance + 1) ++sweeps;
      const double right = reach(free, sweeps);
      const double ahead = work[from] + std::max(distance + 1 - right, 1.0);
      const auto to = static_cast<int32_t>(
          std::lower_bound(work.begin() + from + 1, work.begin() + t, ahead) - work.begin());
      Table next = copy(stored.back().second);
      advance(next, from, to);
      stored.emplace_back(to, std::move(next));
    }
    if (stored.back().first == t) {
      visit(t, stored.back().second);
      pool_.push_back(std::move(stored.back().second));
      stored.pop_back();
    } else {
      Table again = copy(stored.back().second);
      advance(again, stored.back().first, t);
      visit(t, again);
      pool_.push_back(std::move(again));
    }
  }
}

double smallest_log(const FrontierProgram& program, double& sum_of_sizes) {
  double least = 0.0;
  sum_of_sizes = 0.0;
  for (const FrontierOp& op : program.ops) {
    double size = 0.0;
    for (const double log : op.logs) {
      if (log > -kInfinity) size = std::max(size, -log);
    }
    least = std::min(least, -size);
    sum_of_sizes += size;
  }
  return least;
}

// Relative error of Z: three roundings per update, and those of the weights' logarithms.
double sum_error(const FrontierProgram& program) {
  double sizes;
  smallest_log(program, sizes);
  return kEps * (4.0 * static_cast<double>(program.ops.size()) + 2.0 * sizes);
}

template <class N>
double log_of(const Table& last, const FrontierProgram& program) {
  const double ln2 = 0.6931471805599453;
  const double e = N::kPlanes == 2 ? last.data[last.capacity] : last.exponent;
  if (last.data[0] == 0.0) return -kInfinity;
  int shift;  // joined with e before the logarithm, so that the two do not cancel
  const double m = std::frexp(last.data[0], &shift);
  return std::log(m) + (e + shift) * ln2 + program.log_constant;
}

// Throws NeedExponents when underflow may have taken a share of Z.
template <class N>
double checked_log(const Table& last, const FrontierProgram& program) {
  if constexpr (std::is_same_v<N, Plain>) {
    const double log2_z = std::log2(last.data[0]) + last.exponent;
    if (!(last.lost - log2_z < kTolerated)) throw NeedExponents{};
  }
  return log_of<N>(last, program);
}

template <class N>
FrontierSum sum_with(const PairwiseView& model, const FrontierProgram& program, bool want_marginals,
                     int32_t spare, Control& control) {
  FrontierSum result;
  result.wide_exponents = N::kPlanes == 2;
  Engine<N> engine(model, program, control);
  if (!want_marginals) {
    Table table = engine.start();
    for (const FrontierStep& step : program.steps) engine.forward(table, step);
    result.log_partition = checked_log<N>(table, program);
  } else {
    result.singles.assign(model.single_logs.size(), 0.0);
    result.pairs.assign(model.pair_logs.size(), 0.0);
    const auto num_steps = static_cast<int32_t>(program.steps.size());
    Table beta;
    double reference = 0.0;
    engine.reverse(spare, [&](int32_t t, const Table& alpha) {
      if (t == num_steps) {
        result.log_partition = checked_log<N>(alpha, program);
        if (N::kPlanes == 2) reference = alpha.data[alpha.capacity];
        beta = engine.start();
      } else if (result.log_partition > -kInfinity) {
        engine.backward(alpha, beta, program.steps[t], reference, result);
      }
    });
  }
  result.error = sum_error(program) + kUnit * engine.additions() + std::exp2(kTolerated) +
                 program.constant_error +
                 4 * kEps * std::abs(result.log_partition - program.log_constant) +
                 kEps * std::abs(result.log_partition);
  if (result.log_partition == -kInfinity) result.error = 0.0;
  return result;
}

bool must_be_wide(const FrontierProgram& program) {
  double sizes;
  return smallest_log(program, sizes) < kSmallestLog;
}

template <class N, class Pick>
std::vector<int8_t> states_with(const PairwiseView& model, const FrontierProgram& program,
                                int64_t count, int32_t spare, Control& control, double& value,
                                Pick&& pick) {
  const int32_t n = model.num_spins();
  std::vector<int8_t> labels;
  std::vector<uint64_t> index(count, 0);
  Engine<N> engine(model, program, control);
  const auto num_steps = static_cast<int32_t>(program.steps.size());
  engine.reverse(spare, [&](int32_t t, const Table& alpha) {
    if (t == num_steps) {
      if constexpr (N::kSum) {
        value = checked_log<N>(alpha, program);
      } else {
        value = alpha.data[0];
      }
      if (value > -kInfinity) labels.assign(static_cast<size_t>(count) * n, 0);
    } else if (value > -kInfinity) {
      for (int64_t s = 0; s < count; ++s) {
        engine.descend(alpha, program.steps[t], index[s], labels.data() + s * n, pick);
      }
      control.poll_now();
    }
  });
  return labels;
}

template <class N>
std::vector<int8_t> sample_with(const PairwiseView& model, const FrontierProgram& program,
                                int64_t count, uint64_t seed, int32_t spare, Control& control) {
  std::mt19937_64 random(seed);
  double value = 0.0;
  const auto pick = [&](const double* x0, const double* x1, size_t plane, const Weights& w,
                        int label) {
    double a = x0[0] * w.m[label], b = x1[0] * w.m[2 + label];
    if constexpr (N::kPlanes == 2) {
      const double d = (x0[plane] + w.e[label]) - (x1[plane] + w.e[2 + label]);
      (d >= 0 ? b : a) *= OwnExponent::down<1>(std::abs(d));
    }
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<int>(a == 0.0 || u * (a + b) >= a);
  };
  return states_with<N>(model, program, count, spare, control, value, pick);
}

}  // namespace

int32_t frontier_spare_tables(const FrontierProgram& program) {
  int32_t spare = 1;
  while (reach(spare + 1, 2) < static_cast<double>(program.steps.size()) + 1) ++spare;
  return spare;
}

FrontierSum frontier_sum(const PairwiseView& model, const FrontierProgram& program,
                         bool want_marginals, Exponents exponents, int32_t spare_tables,
                         Control& control) {
  FrontierSum failed;
  failed.log_partition = -kInfinity;
  if (!program.feasible) return failed;
  if (exponents != Exponents::kOwn && !must_be_wide(program)) {
    try {
      return sum_with<Plain>(model, program, want_marginals, spare_tables, control);
    } catch (const NeedExponents&) {  // at low temperature: the same with an exponent per entry
    }
  }
  if (exponents == Exponents::kShared) {
    failed.underflowed = true;
    return failed;
  }
  return sum_with<OwnExponent>(model, program, want_marginals, std::max(1, spare_tables / 2),
                               control);
}

FrontierMax frontier_max(const PairwiseView& model, const FrontierProgram& program,
                         int32_t spare_tables, Control& control) {
  FrontierMax result;
  result.value = -kInfinity;
  if (!program.feasible) return result;
  const auto pick = [](const double* x0, const double* x1, size_t, const Weights& w, int label) {
    return static_cast<int>(x1[0] + w.m[2 + label] > x0[0] + w.m[label]);
  };
  result.labels = states_with<Best>(model, program, 1, spare_tables, control, result.value, pick);
  // All terms are <= 0, so no partial sum exceeds the whole: one rounding of that size for
  // each of three additions per update.
  result.error = kEps * 4.0 * static_cast<double>(program.ops.size()) * std::abs(result.value) +
                 program.constant_error;
  result.value += program.log_constant;
  return result;
}

std::vector<int8_t> frontier_sample(const PairwiseView& model, const FrontierProgram& program,
                                    int64_t num_samples, uint64_t seed, bool wide_exponents,
                                    int32_t spare_tables, Control& control) {
  if (!program.feasible) return {};
  if (!wide_exponents && !must_be_wide(program)) {
    try {
      return sample_with<Plain>(model, program, num_samples, seed, spare_tables, control);
    } catch (const NeedExponents&) {
    }
  }
  return sample_with<OwnExponent>(model, program, num_samples, seed, std::max(1, spare_tables / 2),
                                  control);
}

}  // namespace planaris
