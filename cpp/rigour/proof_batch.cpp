#include "rigour/proof_batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/constants.hpp"
#include "base/team.hpp"
#include "batches/flipped_state.hpp"
#include "batches/moat_gauge.hpp"
#include "pfaffian/leg_logarithms.hpp"
#include "rigour/enclosed_sum.hpp"
#include "rigour/enclosure.hpp"

namespace planaris {

namespace {

// Sums of moats around a face up to which errors are swept down the tree rather than carried up:
// the sweep's bound grows exponentially with that depth, radii with the size of what is warm.
constexpr double kWarmDepth = 16.0;
// Depths up to which sizes alone are swept down small fronts, of models of at least so many spins
// down all of so many rows, if that adds no more than so much per spin. Of larger fronts large
// updates are split.
constexpr double kSizesDepth = 14.0, kSizesError = 3e-14;
constexpr int32_t kManySpins = 1 << 13, kSizesRows = 960;
// Up to so many spins a ground state but for rounding is the gauge; those of more are found by
// several threads.
constexpr int32_t kFewSpins = 1 << 15;
// Mean size of couplings from which radii in doubles are tried first, up to so many spins: of
// warmer models they are often too wide in the last front.
constexpr double kFrozenMean = 16.0;
constexpr double kNarrowPerSpin = 1e-12;
constexpr double kWarmCoupling =
    1.25;  // mean size of couplings up to which no ground state is needed
// Models so weak are eliminated once without a proof. Sizes alone are swept down all of their
// fronts, unless that adds more than so much per spin to the bound. What splitting does to small
// fronts, which are deep down, would be most of it: only those with so large a share of the rows of
// the largest front have updates split.
constexpr double kCalmCoupling = 3.0, kCalmMean = 0.5, kCalmError = 2.5e-13;
constexpr int32_t kAllRows = 4000;
constexpr double kSplitRows = 9.0 / 32;
// Where the sweep of a model and of its ground state is too wide, so many models nearby are tried,
// couplings moved by no more than this share.
constexpr int kDraws = 4;
constexpr double kDrawDepth = 25.0;  // deeper ones are rarely narrower
constexpr double kMoved = 0.05;
constexpr double kProofSlack = 0.1;  // sets of faces are not waited for while entries grow by less
constexpr double kMostCoupling = 345.0;  // larger ones have exponentials past the range of doubles
constexpr double kProofShare = 0x1p-14;

constexpr Bounding kSwept{.wide = true, .coarse_rows = 0}, kSplit{.wide = true, .split = true},
    kRadii{.radii = true}, kWideRadii{.radii = true, .wide = true};

// Entries of one row; see ExactEntries.
struct RowEntries {
  std::vector<double> gauged, scale;
  std::vector<int32_t> earliest, rank;
  double deepest = 0.0;
  std::vector<double>
      ground;            // `gauged` relative to a ground state, if one is known and it is another
  bool ordered = false;  // by the moats of a ground state, or of one of a model nearby
};

// Scales such that no scale - gauged is rounded, where that can be.
void unround(RowEntries& row) {
  for (size_t leg = 0; leg < row.scale.size(); ++leg) {
    const double g = row.gauged[leg / 2];
    const double face = std::nearbyint(256 * (row.scale[leg] - g)) / 256;
    const double scale = face + g, taken = scale - face;
    const bool exact = face - (scale - taken) == 0.0 && g - taken == 0.0;
    row.scale[leg] = exact ? scale : 0.0;
  }
}

class ProofRows {
 public:
  ProofRows(const PlaneGraph& plane, std::span<const double> couplings, const ProofOptions& options,
            Control& control)
      : plane_(plane), couplings_(couplings), options_(options), control_(control),
        m_(plane.num_couplings()), pieces_(plane), places_(plane.tree, plane.faces) {
    for (int32_t node = 0; node < plane.tree.num_nodes(); ++node) {
      largest_front_ = std::max(largest_front_, plane.tree.rows(node));
    }
  }

  ProofBatch run(size_t count) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    result_.way.assign(count, 0);
    result_.tried.assign(count, 0);
    result_.largest_front.assign(count, 0);
    for (auto* numbers : {&result_.lower, &result_.upper, &result_.value, &result_.excess,
                          &result_.error, &result_.entries, &result_.elimination}) {
      numbers->assign(count, none);
    }
    try {
      if (options_.share_rows) {
        one_each(count);
      } else {
        finders_.resize(1);
        for (size_t k = 0; k < count; ++k) {
          control_.poll_now();
          prove(0, k, options_.threads, control_);
        }
      }
    } catch (const DeadlinePassed&) {  // the rows that are left were not tried
    }
    return std::move(result_);
  }

 private:
  void one_each(size_t count) {
    Team team(options_.threads, control_);
    finders_.resize(team.threads());
    team.work(count, [&](int worker, int task) {
      team.check(worker, double(task) / double(count));
      Control quiet;
      prove(worker, task, 1, quiet);
    });
  }

  std::span<const double> row(size_t k) const { return couplings_.subspan(k * m_, m_); }

  void prove(int worker, size_t k, int threads, Control& control) {
    double sum = 0.0, most = 0.0;
    for (const double x : row(k)) {
      sum += std::fabs(x);
      most = std::max(most, std::fabs(x));
    }
    Bounding warm = kSplit;
    if (most <= kCalmCoupling && sum <= kCalmMean * double(m_)) {
      warm.coarse_rows = kAllRows;
      warm.split_rows = static_cast<int32_t>(kSplitRows * largest_front_);
      warm.coarse_error = kCalmError * double(plane_.num_vertices());
    }
    if (most <= kMostCoupling) climb(worker, k, sum / double(m_), warm, threads, control);
    result_.tried[k] = 1;
  }

  // Likely bounds first, until an interval is narrow.
  void climb(int worker, size_t k, double mean, const Bounding& warm, int threads,
             Control& control) {
    const auto is_narrow = [&](const RowEntries& entries, const Bounding& way) {
      return attempt(k, entries, way, threads, control);
    };
    if (mean <= kWarmCoupling && (is_narrow(flipped(k, control), warm) || narrow_per_spin(k)))
      return;
    const RowEntries entries = ordered(worker, k, threads, control);
    const bool shallow = entries.deepest <= kWarmDepth;
    const Bounding swept = entries.deepest <= kSizesDepth ? with_sizes() : kSwept;
    if (shallow) {
      if (is_narrow(entries, swept)) return;
    } else {
      const bool frozen = mean >= kFrozenMean && plane_.num_vertices() <= kFewSpins;
      if (frozen && is_narrow(entries, kRadii)) return;
      if (is_narrow(entries, kWideRadii) || is_narrow(entries, kSwept)) return;
    }
    if (narrow_per_spin(k)) return;
    for (int draw = 1; entries.deepest <= kDrawDepth && draw <= kDraws; ++draw) {
      if (is_narrow(moved(worker, k, draw, entries, threads, control), swept)) return;
    }
    if (shallow) is_narrow(entries, kWideRadii);
  }

  // Whether the interval of a large model is so narrow that no more is tried.
  bool narrow_per_spin(size_t k) const {
    return plane_.num_vertices() >= kManySpins && result_.way[k] != 0 &&
           width(k) <= kNarrowPerSpin * plane_.num_vertices();
  }

  Bounding with_sizes() const {
    Bounding way{.wide = true, .coarse_error = kSizesError * plane_.num_vertices()};
    if (plane_.num_vertices() >= kManySpins) {
      way.coarse_rows = kSizesRows;
      way.split = true;
      way.split_rows = kSizesRows + 1;
    }
    return way;
  }

  // Relative to a state of low energy, in the order of the tree.
  RowEntries flipped(size_t k, Control& control) const {
    const size_t edges = plane_.signs.size();
    RowEntries made;
    made.gauged.assign(edges, 0.0);
    made.scale.assign(2 * edges, 0.0);
    made.earliest.assign(edges, 0);
    made.rank.assign(edges, 0);
    const std::vector<int8_t> spins = flipped_state(plane_.graph, row(k), 1, control);
    for (size_t e = 0; e < m_; ++e) {
      const bool agree = spins[plane_.graph.edges[2 * e]] == spins[plane_.graph.edges[2 * e + 1]];
      made.gauged[e] = agree ? row(k)[e] : -row(k)[e];
    }
    return made;
  }

  // Relative to a ground state, in the order of its moats.
  RowEntries ordered(int worker, size_t k, int threads, Control& control) {
    RowEntries made = ordered_by(worker, row(k), threads, control);
    unround(made);
    return made;
  }

  // Relative to a ground state of couplings that differ a little, in the order of its moats: where
  // many states and moats are as good as the others, some have far smaller bounds.
  RowEntries moved(int worker, size_t k, int draw, const RowEntries& ground, int threads,
                   Control& control) {
    std::vector<double> nearby(m_);
    for (size_t e = 0; e < m_; ++e) {
      nearby[e] = row(k)[e] * (1 + kMoved * leg_shift(uint64_t(draw) << 32 ^ e));
    }
    RowEntries made = ordered_by(worker, nearby, threads, control);
    for (size_t e = 0; e < m_; ++e) {
      made.gauged[e] = made.gauged[e] == nearby[e] ? row(k)[e] : -row(k)[e];
    }
    made.ground = ground.gauged;
    unround(made);
    return made;
  }

  RowEntries ordered_by(int worker, std::span<const double> couplings, int threads,
                        Control& control) {
    if (!finders_[worker]) finders_[worker].emplace(plane_);
    GaugeState gauge;
    if (plane_.num_vertices() <= kFewSpins) {
      finders_[worker]->find_gauge(couplings, gauge);
    } else {
      finders_[worker]->find_proved(couplings, gauge, threads, control);
    }
    auto [gauged, order] = order_by_gauge(plane_, pieces_, places_, gauge, couplings, kProofSlack);
    return {std::move(gauged),
            std::move(order.scale),
            std::move(order.earliest),
            std::move(order.rank),
            order.deepest,
            {},
            true};
  }

  // Keeps the narrowest interval; says whether it is narrow.
  bool attempt(size_t k, const RowEntries& entries, const Bounding& way, int threads,
               Control& control) {
    const ExactEntries exact{entries.gauged, entries.scale, plane_.signs, entries.earliest,
                             entries.rank};
    const Enclosure found =
        enclose_log_pfaffian(plane_.tree, exact, way, kProofShare, {}, threads, control);
    const double error = found.error();
    if (found.sound && std::isfinite(error)) {
      PairSum relative;  // to the gauge state
      relative.add_log(found.mantissa, found.exponent + options_.components);
      if (entries.ordered) relative.add(entries.scale, -1.0);  // else all are zero
      PairSum sum = relative;
      sum.add(entries.gauged);
      if (!entries.ground.empty()) {
        relative = sum;
        relative.add(entries.ground, -1.0);
      }
      const EnclosedSum ends = sum.enclosed(error);
      if (result_.way[k] == 0 || ends.upper - ends.lower < width(k)) {
        result_.way[k] = static_cast<int8_t>(!way.radii ? ProofWay::sweep_pairs
                                             : way.wide ? ProofWay::radii_pairs
                                                        : ProofWay::radii);
        result_.lower[k] = ends.lower;
        result_.upper[k] = ends.upper;
        result_.value[k] = std::clamp(ends.middle, ends.lower, ends.upper);
        result_.excess[k] = entries.ordered ? relative.enclosed(0.0).middle
                                            : std::numeric_limits<double>::quiet_NaN();
        result_.error[k] = error;
        result_.entries[k] = found.entries;
        result_.elimination[k] = found.elimination;
        result_.largest_front[k] = found.largest_front;
      }
    }
    if (result_.way[k] == 0) return false;
    const double value = std::fabs(result_.value[k]);
    const double narrow = std::max(options_.narrow, 4 * way.coarse_error);
    return width(k) <= narrow + 4 * (std::nextafter(value, kInfinity) - value);
  }

  double width(size_t k) const { return result_.upper[k] - result_.lower[k]; }

  const PlaneGraph& plane_;
  std::span<const double> couplings_;
  ProofOptions options_;
  Control& control_;
  size_t m_;
  FacePieces pieces_;
  MoatPlaces places_;
  std::vector<std::optional<GroundStateFinder>> finders_;  // by worker
  int32_t largest_front_ = 0;
  ProofBatch result_;
};

}  // namespace

ProofBatch prove_batch(const PlaneGraph& plane, std::span<const double> couplings,
                       const ProofOptions& options, Control& control) {
  const auto m = static_cast<size_t>(plane.num_couplings());
  if (m == 0 || couplings.size() % m != 0) {
    throw std::invalid_argument("couplings must hold one number per edge and row");
  }
  return ProofRows(plane, couplings, options, control).run(couplings.size() / m);
}

}  // namespace planaris
