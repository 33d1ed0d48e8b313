#include "frontier/piece_bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/constants.hpp"
#include "base/large_memory.hpp"
#include "base/simd.hpp"
#include "base/table_too_large.hpp"
#include "base/team.hpp"
#include "frontier/engine.hpp"

namespace planaris {
namespace {

using frontier::Array;
using frontier::make_array;

constexpr int kWide = 8;              // entries handled at once: the lowest three bits
constexpr int kMostControls = 10;     // neighbours to come of one spin, in the table
constexpr double kSmallest = 1e-280;  // below, terms of a sum may underflow
constexpr double kFewEntries = 3e5;   // sums too short for several threads
constexpr double kLeast = 1e-15;      // probabilities of shared spins are kept away from 0 and 1

// log x for positive normal x: x = 2^e m, m in [sqrt(1/2), sqrt(2)), by the series of atanh.
PLANARIS_INLINE double fast_log(double x) {
  const auto word = std::bit_cast<uint64_t>(x);
  const uint64_t shifted = word - 0x3fe6a09e667f3bcdULL;
  const auto e = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(shifted) >> 52));
  const double m = std::bit_cast<double>(word - (shifted & 0xfff0000000000000ULL));
  const double t = (m - 1) / (m + 1), z = t * t;
  double sum = 1.0 / 23;
  for (int k = 21; k >= 3; k -= 2) sum = sum * z + 1.0 / k;
  return e * 0x1.62e42fefa39efp-1 + 2 * (t + t * z * sum);
}

// exp x for |x| <= 690.
PLANARIS_INLINE double fast_exp(double x) {
  constexpr double kHigh = 0x1.62e42fee00000p-1, kLow = 0x1.a39ef35793c76p-33;
  constexpr double kShift = 0x1.8p52;
  const double moved = x * 1.4426950408889634 + kShift;
  const double k = moved - kShift;
  const double r = (x - k * kHigh) - k * kLow;
  double q = 1;
  for (int j = 14; j >= 1; --j) q = 1 + q * (r * (1.0 / j));
  return q * std::bit_cast<double>((std::bit_cast<uint64_t>(moved) + 1023) << 52);
}

// The elimination of one spin s from a table: out[v] = f(w[v][-1] in[-1], w[v][+1] in[+1]) for
// either value v of the bit, which a new spin takes over. f is the sum, a power sum or, from
// below, a weighted geometric mean. Factors w are arrays over the lowest bits, and depend on the
// pattern of the other controls.
struct Kernel {
  int32_t bits = 0, slot = 0;
  int32_t num_high = 0;
  int32_t high[kMostControls];
  enum Kind { kSum, kRoot, kPower, kMean } kind = kSum;
  double power = 1;
  bool fresh = false;           // the two values of the bit differ afterwards
  std::vector<double> factors;  // [pattern][v][s][lane]
  std::vector<double> up;       // kMean: [pattern][v][lane], the probability of s = +1

  const double* factor(size_t pattern, int v, int s) const {
    return factors.data() + ((pattern * 2 + v) * 2 + s) * kWide;
  }
  const double* probability(size_t pattern, int v) const {
    return up.data() + (pattern * 2 + v) * kWide;
  }
  PLANARIS_INLINE size_t pattern_of(int64_t base) const {
    size_t pattern = 0;
    for (int32_t t = 0; t < num_high; ++t) {
      pattern |= static_cast<size_t>(base >> high[t] & 1) << t;
    }
    return pattern;
  }
};

template <Kernel::Kind kKind>
PLANARIS_INLINE double combine(double a, double b, double up, double power) {
  if constexpr (kKind == Kernel::kSum) {
    return a + b;
  } else if constexpr (kKind == Kernel::kMean) {
    return a * fast_exp(up * fast_log(b / a));
  } else {
    const double most = std::max(a, b), ratio = std::min(a, b) / most;
    if constexpr (kKind == Kernel::kRoot) return most * std::sqrt(1 + ratio * ratio);
    return most * std::pow(1 + std::pow(ratio, power), 1 / power);
  }
}

PLANARIS_INLINE int64_t next_base(int64_t base, int64_t skip) {
  return ((base | skip) + kWide) & ~skip;
}

// The largest and the smallest entry that a step saw.
struct Extent {
  double most = 0, least = std::numeric_limits<double>::infinity();
};

template <Kernel::Kind kKind>
PLANARIS_INLINE Extent forward_kind(const Kernel& kernel, double* __restrict table) {
  const int64_t size = int64_t{1} << kernel.bits;
  const bool apart = kernel.slot >= 3;  // the two values lie in different blocks
  const int64_t bit = int64_t{1} << kernel.slot;
  const double power = kernel.power;
  alignas(64) double most[kWide] = {}, least[kWide], x0[kWide], x1[kWide], y[2][kWide];
  std::fill(least, least + kWide, std::numeric_limits<double>::infinity());
  for (int64_t base = 0; base < size; base = apart ? next_base(base, bit) : base + kWide) {
    const size_t pattern = kernel.pattern_of(base);
    double* __restrict to = table + base;
    if (apart) {
      for (int l = 0; l < kWide; ++l) x0[l] = to[l], x1[l] = to[l + bit];
    } else {
      for (int l = 0; l < kWide; ++l) x0[l] = to[l & ~bit], x1[l] = to[l | bit];
    }
    for (int v = 0; v < 2; ++v) {
      if (v && !kernel.fresh) {
        for (int l = 0; l < kWide; ++l) y[1][l] = y[0][l];
        break;
      }
      const double* __restrict f = kernel.factor(pattern, v, 0);
      if constexpr (kKind == Kernel::kMean) {
        const double* __restrict q = kernel.probability(pattern, v);
        for (int l = 0; l < kWide; ++l) {
          const double a = f[l] * x0[l], b = f[kWide + l] * x1[l];
          least[l] = std::min(least[l], std::min(a, b));
          most[l] = std::max(most[l], std::max(a, b));
          y[v][l] = combine<kKind>(a, b, q[l], power);
        }
      } else {
        for (int l = 0; l < kWide; ++l) {
          y[v][l] = combine<kKind>(f[l] * x0[l], f[kWide + l] * x1[l], 0, power);
        }
      }
    }
    for (int l = 0; l < kWide; ++l) {
      most[l] = std::max(most[l], std::max(y[0][l], y[1][l]));
      least[l] = std::min(least[l], std::min(y[0][l], y[1][l]));
    }
    if (apart) {
      for (int l = 0; l < kWide; ++l) to[l] = y[0][l], to[l + bit] = y[1][l];
    } else {
      for (int l = 0; l < kWide; ++l) to[l] = l & bit ? y[1][l] : y[0][l];
    }
  }
  return {*std::max_element(most, most + kWide), *std::min_element(least, least + kWide)};
}

struct ForwardStep {
  template <int>
  static PLANARIS_INLINE Extent run(const Kernel& kernel, double* table) {
    switch (kernel.kind) {
      case Kernel::kSum: return forward_kind<Kernel::kSum>(kernel, table);
      case Kernel::kRoot: return forward_kind<Kernel::kRoot>(kernel, table);
      case Kernel::kPower: return forward_kind<Kernel::kPower>(kernel, table);
      default: return forward_kind<Kernel::kMean>(kernel, table);
    }
  }
};

// Shares of entries in the whole (entry times derivative) before a shared spin is eliminated, by
// [pattern][value of the new spin][spin][lane], and what comes with them.
struct Shares {
  std::vector<double> of, gain;  // gain: share times log of the ratio of the two terms
  double entropy = 0;
};

// Turns derivatives after the step into derivatives before it. `kept` is the table before it.
template <Kernel::Kind kKind>
PLANARIS_INLINE void backward_kind(const Kernel& kernel, double* __restrict back,
                                   const double* __restrict kept, Shares& shares) {
  const int64_t size = int64_t{1} << kernel.bits;
  const bool apart = kernel.slot >= 3;
  const int64_t bit = int64_t{1} << kernel.slot;
  const double power = kernel.power;
  alignas(64) double x[2][kWide], d[2][kWide], b0[kWide], b1[kWide], once[kWide];
  alignas(64) double entropy[kWide] = {};
  for (int l = 0; l < kWide; ++l) once[l] = !apart && (l & bit) ? 0.0 : 1.0;
  for (int64_t base = 0; base < size; base = apart ? next_base(base, bit) : base + kWide) {
    const size_t pattern = kernel.pattern_of(base);
    double* __restrict at = back + base;
    for (int l = 0; l < kWide; ++l) {
      const int64_t low = apart ? l : l & ~bit, high = apart ? l + bit : l | bit;
      d[0][l] = at[low], d[1][l] = at[high];
      if constexpr (kKind != Kernel::kSum) x[0][l] = kept[base + low], x[1][l] = kept[base + high];
    }
    if (!kernel.fresh) {
      for (int l = 0; l < kWide; ++l) d[0][l] += d[1][l];
    }
    for (int l = 0; l < kWide; ++l) b0[l] = b1[l] = 0;
    for (int v = 0; v < (kernel.fresh ? 2 : 1); ++v) {
      const double* __restrict f = kernel.factor(pattern, v, 0);
      if constexpr (kKind == Kernel::kSum) {
        for (int l = 0; l < kWide; ++l) {
          b0[l] += d[v][l] * f[l];
          b1[l] += d[v][l] * f[kWide + l];
        }
      } else {
        const double* __restrict q =
            kKind == Kernel::kMean ? kernel.probability(pattern, v) : kernel.factor(0, 0, 0);
        double* __restrict of = shares.of.data() + (pattern * 2 + v) * 2 * kWide;
        double* __restrict gain = shares.gain.data() + (pattern * 2 + v) * kWide;
        for (int l = 0; l < kWide; ++l) {
          const double a = f[l] * x[0][l], b = f[kWide + l] * x[1][l];
          const double out = combine<kKind>(a, b, q[l], power);
          double by_a, by_b;  // derivatives of the logarithm, times the term
          if constexpr (kKind == Kernel::kMean) {
            by_a = 1 - q[l], by_b = q[l];
          } else if constexpr (kKind == Kernel::kRoot) {
            by_a = (a / out) * (a / out), by_b = (b / out) * (b / out);
          } else {
            by_a = std::pow(a / out, power), by_b = std::pow(b / out, power);
          }
          const double share = d[v][l] * out;
          b0[l] += share * by_a / x[0][l];
          b1[l] += share * by_b / x[1][l];
          of[l] += once[l] * share * by_a;
          of[kWide + l] += once[l] * share * by_b;
          if constexpr (kKind == Kernel::kMean) {
            gain[l] += once[l] * share * fast_log(b / a);
          } else {
            entropy[l] -=
                once[l] * share *
                (by_a * fast_log(std::max(by_a, 1e-290)) + by_b * fast_log(std::max(by_b, 1e-290)));
          }
        }
      }
    }
    if (apart) {
      for (int l = 0; l < kWide; ++l) at[l] = b0[l], at[l + bit] = b1[l];
    } else {
      for (int l = 0; l < kWide; ++l) at[l] = l & bit ? b1[l] : b0[l];
    }
  }
  for (const double e : entropy) shares.entropy += e;
}

struct BackwardStep {
  template <int>
  static PLANARIS_INLINE void run(const Kernel& kernel, double* back, const double* kept,
                                  Shares& shares) {
    switch (kernel.kind) {
      case Kernel::kSum: return backward_kind<Kernel::kSum>(kernel, back, kept, shares);
      case Kernel::kRoot: return backward_kind<Kernel::kRoot>(kernel, back, kept, shares);
      case Kernel::kPower: return backward_kind<Kernel::kPower>(kernel, back, kept, shares);
      default: return backward_kind<Kernel::kMean>(kernel, back, kept, shares);
    }
  }
};

void backward(const Kernel& kernel, double* back, const double* kept, Shares& shares) {
  if (kernel.kind != Kernel::kSum) {
    const size_t patterns = size_t{1} << kernel.num_high;
    shares.of.assign(patterns * 4 * kWide, 0.0);
    shares.gain.assign(patterns * 2 * kWide, 0.0);
    shares.entropy = 0;
  }
  run_widest<BackwardStep>(kernel, back, kept, shares);
}

}  // namespace

PieceSweep::PieceSweep(std::vector<Piece> pieces, int32_t max_bits) {
  for (const Piece& piece : pieces) {
    const auto n = static_cast<int32_t>(piece.shared.size());
    const auto m = static_cast<int32_t>(piece.edges.size() / 2);
    if (piece.context.size() != piece.shared.size()) {
      throw std::invalid_argument("one context per spin");
    }
    std::vector<std::vector<int32_t>> later(n);
    for (int32_t e = 0; e < m; ++e) {
      const int32_t u = piece.edges[2 * e], v = piece.edges[2 * e + 1];
      if (u < 0 || v < 0 || u >= n || v >= n || u == v) {
        throw std::invalid_argument("edges must join two spins of the piece");
      }
      later[std::min(u, v)].push_back(e);
    }
    Program program;
    program.first_spin = num_spins_;
    program.first_edge = num_edges_;
    std::vector<int32_t> slot(n, -1);
    std::vector<uint8_t> taken;  // by slot
    const auto take = [&](int32_t spin) {
      const auto free = std::find(taken.begin(), taken.end(), 0);
      slot[spin] = static_cast<int32_t>(free - taken.begin());
      if (free == taken.end()) taken.push_back(0);
      taken[slot[spin]] = 1;
    };
    for (int32_t i = 0; i < n; ++i) {
      if (slot[i] < 0) take(i);
      Step step;
      step.spin = i;
      step.slot = slot[i];
      step.shared = piece.shared[i] != 0;
      const int32_t context = step.shared ? piece.context[i] : -1;
      if (context >= 0 && (context <= i || context >= n || !piece.shared[context])) {
        throw std::invalid_argument("a context must be a shared spin that comes later");
      }
      bool given = false;  // whether the slot has a new spin
      for (const int32_t e : later[i]) {
        const int32_t other = piece.edges[2 * e] == i ? piece.edges[2 * e + 1] : piece.edges[2 * e];
        if (slot[other] < 0 && !given) {
          given = true;
          step.fresh = e;
          step.fresh_is_context = other == context;
          slot[other] = step.slot;
          continue;
        }
        if (slot[other] < 0) take(other);
        step.slots.push_back(slot[other]);
        step.edges.push_back(e);
      }
      if (context >= 0 && !step.fresh_is_context) {
        if (slot[context] < 0) take(context);
        step.context_slot = slot[context];
      }
      if (step.slots.size() + 1 > kMostControls) {
        throw TableTooLarge("a spin has too many neighbours to come");
      }
      step.bits = static_cast<int32_t>(taken.size());
      while (step.bits > 3 && !taken[step.bits - 1]) --step.bits;
      step.bits = std::max(step.bits, 3);
      if (!given) taken[step.slot] = 0;
      program.bits = std::max(program.bits, static_cast<int32_t>(taken.size()));
      if (program.bits > max_bits) {
        throw TableTooLarge("the table of a piece would be too large");
      }
      program.steps.push_back(std::move(step));
    }
    bits_.push_back(program.bits);
    program.bits = std::max(program.bits, 3);
    num_spins_ += n;
    num_edges_ += m;
    programs_.push_back(std::move(program));
  }
}

double PieceSweep::entries() const {
  double total = 0;
  for (const Program& program : programs_) {
    for (const Step& step : program.steps) total += std::exp2(step.bits);
  }
  return total;
}

double PieceSweep::kept_bytes() const {
  double most = 0;
  for (const Program& program : programs_) {
    double kept = 2 * std::exp2(program.bits);
    for (const Step& step : program.steps) kept += step.shared ? std::exp2(step.bits) : 0;
    most = std::max(most, kept * sizeof(double));
  }
  return most;
}

// One piece, forwards and backwards.
class PieceSweep::Run {
 public:
  Run(const Program& program, const PieceNumbers& numbers, std::span<const double> up, bool above)
      : program_(program), numbers_(numbers), up_(up), above_(above),
        table_(make_array(size_t{1} << program.bits)) {}

  template <class Look>
  void forwards(double& log, double& error, Look&& look);
  template <class Look>
  void backwards(PieceSums& sums, Look&& look);

 private:
  double coupling(int32_t edge) const { return numbers_.couplings[program_.first_edge + edge]; }
  // Fills the kernel of a step; returns the logarithm of the constant taken out of its factors.
  double prepare(const Step& step, double by);
  void tell(const Step& step, PieceSums& sums) const;

  const Program& program_;
  const PieceNumbers& numbers_;
  std::span<const double> up_;
  bool above_;
  Array table_;
  std::vector<Array> kept_;    // tables before shared spins were eliminated
  std::vector<double> scale_;  // powers of two by which tables were multiplied, by step
  double last_ = 1;
  Kernel kernel_;
  std::vector<int32_t> slots_;  // of the kernel's controls
  std::vector<int32_t> place_;  // of those, in the pattern
  double size_of_logs_ = 0;
  Shares shares_;
};

double PieceSweep::Run::prepare(const Step& step, double by) {
  const int64_t i = program_.first_spin + step.spin;
  kernel_.bits = step.bits;
  kernel_.slot = step.slot;
  kernel_.fresh = step.fresh >= 0;
  const double weight = numbers_.weights[i];
  kernel_.kind = !step.shared    ? Kernel::kSum
                 : !above_       ? Kernel::kMean
                 : weight == 0.5 ? Kernel::kRoot
                                 : Kernel::kPower;
  kernel_.power = 1 / weight;
  slots_ = step.slots;
  std::vector<double> J;
  for (const int32_t e : step.edges) J.push_back(coupling(e));
  const bool mean = kernel_.kind == Kernel::kMean;
  if (mean && step.context_slot >= 0 &&
      std::find(slots_.begin(), slots_.end(), step.context_slot) == slots_.end()) {
    slots_.push_back(step.context_slot);
    J.push_back(0.0);
  }
  kernel_.num_high = 0;
  place_.assign(slots_.size(), -1);
  for (size_t k = 0; k < slots_.size(); ++k) {
    if (slots_[k] < 3) continue;
    place_[k] = kernel_.num_high;
    kernel_.high[kernel_.num_high++] = slots_[k];
  }
  const double h = numbers_.fields[i], fresh = step.fresh >= 0 ? coupling(step.fresh) : 0;
  size_of_logs_ = std::abs(h) + std::abs(fresh);
  for (const double j : J) size_of_logs_ += std::abs(j);
  const size_t patterns = size_t{1} << kernel_.num_high;
  kernel_.factors.resize(patterns * 4 * kWide);
  if (mean) kernel_.up.resize(patterns * 2 * kWide);
  for (size_t pattern = 0; pattern < patterns; ++pattern) {
    for (int v = 0; v < 2; ++v) {
      for (int l = 0; l < kWide; ++l) {
        double field = h + (v ? fresh : -fresh);
        int context = step.fresh_is_context ? v : 0;
        for (size_t k = 0; k < slots_.size(); ++k) {
          const bool value = place_[k] < 0 ? l >> slots_[k] & 1 : pattern >> place_[k] & 1;
          field += value ? J[k] : -J[k];
          if (slots_[k] == step.context_slot) context = value;
        }
        double* to = kernel_.factors.data() + (pattern * 2 + v) * 2 * kWide + l;
        to[0] = -field;
        to[kWide] = field;
        if (!mean) continue;
        const double q = std::clamp(up_[2 * i + context], kLeast, 1 - kLeast);
        kernel_.up[(pattern * 2 + v) * kWide + l] = q;
        to[0] -= weight * std::log1p(-q);
        to[kWide] -= weight * std::log(q);
      }
    }
  }
  const double most = *std::max_element(kernel_.factors.begin(), kernel_.factors.end());
  for (double& f : kernel_.factors) f = std::exp(f - most) * by;
  return most;
}

template <class Look>
void PieceSweep::Run::forwards(double& log, double& error, Look&& look) {
  int32_t bits = 3;
  std::fill(table_.get(), table_.get() + (size_t{1} << bits), 1.0);
  scale_.assign(program_.steps.size(), 1.0);
  double factor = 1;
  log = error = 0;
  for (size_t t = 0; t < program_.steps.size(); ++t) {
    look();
    const Step& step = program_.steps[t];
    scale_[t] = factor;
    log += prepare(step, factor);
    double* table = table_.get();
    // Entries do not depend on free slots: these are left out, and come back as copies.
    for (; bits < step.bits; ++bits) {
      const size_t half = size_t{1} << bits;
      std::copy(table, table + half, table + half);
    }
    bits = step.bits;
    const size_t size = size_t{1} << bits;
    if (step.shared) {
      kept_.push_back(make_array(size));
      std::copy(table, table + size, kept_.back().get());
    }
    const Extent extent = run_widest<ForwardStep>(kernel_, table);
    if (!(extent.most < 1e60) || !(extent.least > kSmallest)) {
      throw std::range_error("the entries of a table differ too much");
    }
    const int exponent = std::ilogb(extent.most);
    factor = std::abs(exponent) > 20 ? std::ldexp(1.0, -exponent) : 1.0;
    if (factor != 1.0) log += exponent * 0.6931471805599453;
    error += kEps * (32 + 4 * size_of_logs_ + 4 * static_cast<double>(step.slots.size()));
    // The logarithm of a ratio is rounded, and so is its product with a probability.
    if (kernel_.kind == Kernel::kMean)
      error += 16 * kEps * (std::log(extent.most / extent.least) + 64);
  }
  last_ = table_[0];
  log += std::log(last_ * factor);
  error += kEps * (8 * std::abs(log) + 2 * static_cast<double>(program_.steps.size()));
}

template <class Look>
void PieceSweep::Run::backwards(PieceSums& sums, Look&& look) {
  int32_t bits = 3;
  double* table = table_.get();
  std::fill(table, table + (size_t{1} << bits), 0.0);
  table[0] = 1 / last_;
  for (size_t t = program_.steps.size(); t-- > 0;) {
    look();
    const Step& step = program_.steps[t];
    if (step.bits > bits) {
      std::fill(table + (size_t{1} << bits), table + (size_t{1} << step.bits), 0.0);
    }
    for (; bits > step.bits; --bits) {
      const size_t half = size_t{1} << (bits - 1);
      for (size_t k = 0; k < half; ++k) table[k] += table[half + k];
    }
    bits = step.bits;
    prepare(step, scale_[t]);
    backward(kernel_, table, step.shared ? kept_.back().get() : nullptr, shares_);
    if (!step.shared) continue;
    kept_.pop_back();
    tell(step, sums);
  }
}

void PieceSweep::Run::tell(const Step& step, PieceSums& sums) const {
  const int64_t i = program_.first_spin + step.spin;
  double spin = 0, fresh = 0, reached[2] = {}, gain[2] = {};
  std::vector<double> pairs(step.slots.size(), 0.0);
  for (size_t pattern = 0; pattern < (size_t{1} << kernel_.num_high); ++pattern) {
    for (int v = 0; v < (kernel_.fresh ? 2 : 1); ++v) {
      for (int l = 0; l < kWide; ++l) {
        const double* of = shares_.of.data() + (pattern * 2 + v) * 2 * kWide + l;
        const double up = of[kWide] - of[0];
        int context = step.fresh_is_context ? v : 0;
        spin += up;
        fresh += v ? up : -up;
        for (size_t k = 0; k < slots_.size(); ++k) {
          const bool value = place_[k] < 0 ? l >> slots_[k] & 1 : pattern >> place_[k] & 1;
          if (k < pairs.size()) pairs[k] += value ? up : -up;
          if (slots_[k] == step.context_slot) context = value;
        }
        reached[context] += of[0] + of[kWide];
        gain[context] += shares_.gain[(pattern * 2 + v) * kWide + l];
      }
    }
  }
  if (above_) {
    sums.by_field[i] = spin;
    sums.by_weight[i] = shares_.entropy;
    for (size_t k = 0; k < pairs.size(); ++k) {
      sums.by_coupling[program_.first_edge + step.edges[k]] = pairs[k];
    }
    if (step.fresh >= 0) sums.by_coupling[program_.first_edge + step.fresh] = fresh;
    return;
  }
  for (int c = 0; c < 2; ++c) {
    sums.reached[2 * i + c] = reached[c];
    sums.gain[2 * i + c] = reached[c] > 0 ? gain[c] / reached[c] : 0.0;
  }
}

PieceSums PieceSweep::sweep(const PieceNumbers& numbers, std::span<const double> up, bool above,
                            Control& control) const {
  const auto n = static_cast<size_t>(num_spins_), m = static_cast<size_t>(num_edges_);
  if (numbers.fields.size() != n || numbers.weights.size() != n || numbers.couplings.size() != m ||
      (!above && up.size() != 2 * n)) {
    throw std::invalid_argument("numbers must be those of all spins and edges of the pieces");
  }
  PieceSums sums;
  sums.logs.assign(programs_.size(), 0.0);
  sums.errors.assign(programs_.size(), 0.0);
  if (above) {
    sums.by_field.assign(n, 0.0);
    sums.by_weight.assign(n, 0.0);
    sums.by_coupling.assign(m, 0.0);
  } else {
    sums.reached.assign(2 * n, 0.0);
    sums.gain.assign(2 * n, 0.0);
  }
  Team team(entries() < kFewEntries ? 1 : control.threads(), control);
  team.work(programs_.size(), [&](int worker, int task) {
    const auto look = [&] { team.check(worker); };
    Run run(programs_[task], numbers, up, above);
    run.forwards(sums.logs[task], sums.errors[task], look);
    run.backwards(sums, look);
  });
  return sums;
}

PieceSums PieceSweep::above(const PieceNumbers& numbers, Control& control) const {
  return sweep(numbers, {}, true, control);
}

PieceSums PieceSweep::below(const PieceNumbers& numbers, std::span<const double> up,
                            Control& control) const {
  return sweep(numbers, up, false, control);
}

}  // namespace planaris
