#include "batches/model_batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "base/scaled.hpp"
#include "base/team.hpp"
#include "batches/moat_gauge.hpp"
#include "graph/breadth_first.hpp"
#include "lanes/batch_limits.hpp"
#include "pfaffian/leg_logarithms.hpp"
#include "pfaffian/pfaffian.hpp"
#include "pfaffian/sweep.hpp"

namespace planaris {

namespace {

constexpr double kEpsilon = 0x1p-52;
static_assert(kLimits.draws <= kMostDraws);
static_assert(2 * std::max(kLimits.first_draws, kLimits.draws - kLimits.first_draws) <=
              kMostDraws);     // in doubles
constexpr double kCalm = 1.0;  // deviation, in units of one rounding per pivot, seen once
constexpr double kOrderedMarginal = 256.0;  // roundings that no residual shows, see eliminate_twice
constexpr double kMostByFlips = 7e4;        // edges times c⁵: see Batch::needs_ground_state
constexpr double kMostInOrder = 64.0, kMeanInOrder = 16.0;  // see Batch::has_range
constexpr double kCold = 1.4e5, kTooCold = 1.1e6;           // edges times c²: see Batch::is_cold
constexpr double kMoatSlack = 1.0, kLaneSlack = 2.0;
constexpr double kLargestLogarithm = 640.0;  // of entries divided by a pivot, in order
constexpr double kClusteredCap = 12.0;       // of values, where entries have exponents
constexpr double kFelt = 16.0;               // roundings per pivot; what caps add must be below
constexpr double kMostAdded = 1e-11;         // by caps, to marginals
constexpr double kLowerForMarginals =
    2.0;                                 // by how much a cap is lowered to see what it adds to them
constexpr double kLargestCapped = 5e17;  // couplings from here on say nothing of weights
constexpr double kOrderedLoss = 1e-6;
constexpr int64_t kMeasured = 1 << 14;  // couplings that are looked at in one task

double exact_sum(std::span<const double> terms) {
  double sum = 0.0, lost = 0.0;
  for (const double x : terms) {
    const double next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  return sum + lost;
}

// Rows of a group, at most, so that no thread waits for another that has a full one.
size_t equal_share(size_t rows, size_t threads, size_t most) {
  const auto round_up = [](size_t a, size_t b) { return (a + b - 1) / b; };
  const size_t rounds = std::max<size_t>(round_up(rows, threads * most), 1);
  return std::max<size_t>(1, round_up(rows, threads * rounds));
}

class Batch {
 public:
  Batch(const PlaneGraph& plane, std::span<const double> couplings, const BatchOptions& options,
        Control& control)
      : plane_(plane), couplings_(couplings), options_(options),
        program_(plane.program != nullptr ? nullptr : new LaneProgram(plane.tree)),
        vertices_(program_ ? plane.vertices_by_distance() : std::vector<int32_t>{}),
        lanes_{plane.tree,
               plane.graph,
               plane.signs,
               program_ ? *program_ : *plane.program,
               plane.num_couplings(),
               program_ ? vertices_ : plane.vertices},
        team_(options.threads, control), m_(plane.num_couplings()), pieces_(plane),
        places_(plane.tree, plane.faces) {}

  ModelBatch run(size_t count) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    result_.route.assign(count, 0);
    for (auto* numbers : {&result_.log_sum, &result_.constant, &result_.size, &result_.error,
                          &result_.equal_error}) {
      numbers->assign(count, none);
    }
    if (options_.marginals) result_.equal.assign(count * m_, none);
    memory_.resize(team_.threads());
    finders_.resize(team_.threads());
    orders_.resize(team_.threads());
    pivots_.resize(team_.threads());
    gauges_.resize(count);
    try {
      measure(count);
      climb(count);
    } catch (const DeadlinePassed&) {
      result_.complete = false;
    }
    return std::move(result_);
  }

 private:
  void measure(size_t count) {
    const size_t share = std::max<int64_t>(1, kMeasured / m_);
    sizes_.resize(count);
    team_.work((count + share - 1) / share, [&](int, int task) {
      for (size_t k = task * share; k < std::min(count, (task + 1) * share); ++k) {
        sizes_[k] = RowSize(row(k));
      }
    });
  }

  void climb(size_t count) {
    std::vector<int64_t> rows;
    for (size_t k = 0; k < count; ++k) {
      if (largest(k) > kLimits.most_flipped || needs_ground_state(k) || is_tied(k)) continue;
      rows.push_back(static_cast<int64_t>(k));
    }
    run_lanes(rows, Route::flips);
    rows = open([](double most) { return most <= kLimits.most_in_lanes; });
    team_.work(rows.size(), [&](int worker, int task) {
      team_.check(worker, double(task) / double(rows.size()));
      finder(worker).find_gauge(row(rows[task]), gauges_[rows[task]]);
    });
    const double most =
        options_.marginals ? kLimits.most_unsatisfied : kLimits.most_unsatisfied_in_doubles;
    std::erase_if(rows, [&](int64_t k) { return is_tied(k) || has_large_entries(k, most); });
    if (options_.marginals) {
      run_lanes(rows, Route::ground);
    } else {
      std::erase_if(rows, [this](int64_t k) { return is_cold(k); });
      run_lanes(rows, Route::ground);
      rows = open([](double most) { return most <= kMostInOrder; });
      std::erase_if(rows, [this](int64_t k) { return !has_range(k); });
      run_in_orders(rows);
    }
    rows = open([](double most) { return most < 5e17; });
    team_.work(rows.size(), [&](int worker, int task) {
      team_.check(worker, double(task) / double(rows.size()));
      run_in_order(worker, rows[task]);
    });
  }

  GroundStateFinder& finder(int worker) {
    if (!finders_[worker]) finders_[worker].emplace(plane_);
    return *finders_[worker];
  }

  std::span<const double> row(int64_t k) const { return couplings_.subspan(k * m_, m_); }

  double largest(int64_t k) const { return sizes_[k].largest; }
  double mean(int64_t k) const { return sizes_[k].mean; }

  // Whether single precision has the range to tell what rounding does in the order of the packing.
  bool has_range(int64_t k) const { return largest(k) <= kMostInOrder && mean(k) <= kMeanInOrder; }

  // Whether log Z relative to a state by flips will hardly be calm: measured on square lattices of
  // 11² to 100², Gaussian and ±J, where half of the rows are at 2e4 to 6e4 edges times c⁵, c the
  // mean size of a coupling.
  bool needs_ground_state(int64_t k) const {
    return !options_.marginals && std::pow(mean(k), 5) * static_cast<double>(m_) > kMostByFlips;
  }

  // Whether the order of the tree will hardly do, and that of the packing is at hand: measured on
  // square lattices, where about 5e-6 c² of the edges spoil it, c the mean size of a coupling.
  // Without the range of lanes that order takes longer, so more is tried: of models at eight times
  // as much a tenth come out.
  bool is_cold(int64_t k) const {
    return mean(k) * mean(k) * static_cast<double>(m_) > (has_range(k) ? kCold : kTooCold);
  }

  bool is_tied(int64_t k) const { return sizes_[k].is_tied(); }

  // Whether weights above one, those of the edges that a ground state leaves unsatisfied, are so
  // large that they may raise what single precision has lost: products below 1e-38 (`most`:
  // BatchLimits::most_unsatisfied). A deviation does not show that. Doubles lose products below
  // 1e-308.
  bool has_large_entries(int64_t k, double most) const {
    const std::span<const double> couplings = row(k);
    const auto& unsatisfied = gauges_[k].tjoin.join;
    return std::any_of(unsatisfied.begin(), unsatisfied.end(),
                       [&](int32_t e) { return std::fabs(couplings[e]) > most; });
  }

  // Rows without an answer so far.
  template <class Fits>
  std::vector<int64_t> open(Fits fits) const {
    std::vector<int64_t> rows;
    for (size_t k = 0; k < result_.route.size(); ++k) {
      if (result_.route[k] == 0 && fits(largest(k))) rows.push_back(static_cast<int64_t>(k));
    }
    return rows;
  }

  // How often a row is eliminated once more, and in what precision, whatever that shows.
  LaneDraws draws_of(int64_t k, Route route) const {
    return {0, first_draws(k, route),
            route == Route::ground && has_large_entries(k, kLimits.most_unsatisfied)};
  }

  int first_draws(int64_t k, Route route) const {
    const bool ground = route == Route::ground;
    if (!options_.marginals) return ground || largest(k) > kLimits.weak ? kLimits.first_draws : 1;
    if (ground || largest(k) > kLimits.strong) return kLimits.draws;
    if (largest(k) <= kLimits.calm) return 0;
    return sizes_[k].has_ties() ? kLimits.draws : kLimits.first_draws;
  }

  void run_lanes(std::vector<int64_t>& rows, Route route) {
    // Those that take longest come first.
    const auto time = [](const LaneDraws& of) { return of.end + of.in_doubles * kMostDraws; };
    std::vector<std::pair<int64_t, LaneDraws>> sorted;
    for (const int64_t k : rows) sorted.emplace_back(k, draws_of(k, route));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto& a, const auto& b) { return time(a.second) > time(b.second); });
    std::vector<LaneDraws> draws;
    for (size_t k = 0; k < rows.size(); ++k) {
      rows[k] = sorted[k].first;
      draws.push_back(sorted[k].second);
    }
    std::vector<std::vector<double>> pivots(rows.size());
    std::vector<LaneOutcome> found = run_groups(rows, route, draws, pivots);
    if (options_.marginals) {
      for (size_t k = 0; k < rows.size(); ++k) take(rows[k], found[k], route);
      return;
    }
    // Where rounding is felt, one elimination in single precision may hide it by luck. What is
    // not good enough at the first will not be so after several.
    std::vector<int64_t> felt;
    std::vector<double> before;
    for (size_t k = 0; k < rows.size(); ++k) {
      if (is_calm(found[k])) take(rows[k], found[k], route);
      if (!is_felt(found[k])) continue;
      std::swap(pivots[felt.size()], pivots[k]);
      draws[felt.size()] = {draws[k].end, kLimits.draws, draws[k].in_doubles};
      felt.push_back(rows[k]);
      before.push_back(found[k].deviation);
    }
    found = run_groups(felt, route, draws, pivots);
    for (size_t k = 0; k < felt.size(); ++k) {
      if (found[k].deviation < before[k]) found[k].deviation = before[k];
      take(felt[k], found[k], route);
    }
  }

  // Solves rows in groups, one task each, that have draws in common; `solve` takes the worker, the
  // rows of a group, and their arrays. Idle threads take over parts of a group.
  template <class Solve>
  std::vector<LaneOutcome> in_groups(const std::vector<int64_t>& rows, size_t most, bool gauged,
                                     const std::vector<LaneDraws>& draws, Solve solve) {
    const std::vector<size_t> begin = group_rows(rows.size(), most, draws);
    const size_t groups = begin.size() - 1;
    std::vector<LaneOutcome> found(rows.size());
    const std::function<void()> look = [this] { team_.check(); };
    team_.work(groups, [&](int worker, int task) {
      team_.check(worker, double(task) / double(groups));
      const size_t first = begin[task], count = begin[task + 1] - first;
      const std::span<const int64_t> members(rows.data() + first, count);
      const std::function<void(int, const LanePart&)> share = [this, worker](int parts,
                                                                             const LanePart& run) {
        team_.parallel_for(worker, parts, [&](int by, int part) { run(part, memory_[by]); });
      };
      std::vector<const double*> couplings;
      std::vector<const int8_t*> spins;
      for (const int64_t k : members) {
        couplings.push_back(row(k).data());
        if (gauged) spins.push_back(gauges_[k].spins.data());
      }
      solve(worker, members,
            LaneRows{static_cast<int>(count), couplings.data(), gauged ? spins.data() : nullptr,
                     found.data() + first, nullptr, draws[first], &look, nullptr, &share});
    });
    return found;
  }

  // Where groups of rows begin, and the end: rows of equal draws, in equal shares.
  std::vector<size_t> group_rows(size_t rows, size_t most,
                                 const std::vector<LaneDraws>& draws) const {
    const size_t share = equal_share(rows, team_.threads(), most);
    std::vector<size_t> begin{0};
    for (size_t k = 1; k < rows; ++k) {
      if (draws[k] != draws[k - 1] || k - begin.back() == share) begin.push_back(k);
    }
    if (rows > 0) begin.push_back(rows);
    return begin;
  }

  // `pivots` receive those of rows that need more draws, from the first ones, and have them for the
  // others.
  std::vector<LaneOutcome> run_groups(const std::vector<int64_t>& rows, Route route,
                                      const std::vector<LaneDraws>& draws,
                                      std::vector<std::vector<double>>& pivots) {
    const LaneKernels& kernels = lane_kernels();
    const auto solve = [&](int worker, std::span<const int64_t> members, LaneRows group) {
      std::vector<double*> equal, found;
      const size_t first = members.data() - rows.data(), edges = plane_.signs.size();
      const bool anew = group.draws.first == 0;
      if (options_.marginals) {
        for (const int64_t k : members) equal.push_back(result_.equal.data() + k * m_);
        group.equal = equal.data();
        return kernels.run(lanes_, group, memory_[worker]);
      }
      pivots_[worker].resize(kernels.most * edges);
      for (size_t k = 0; k < members.size(); ++k) {
        found.push_back(anew ? pivots_[worker].data() + k * edges : pivots[first + k].data());
      }
      group.pivots = found.data();
      kernels.run(lanes_, group, memory_[worker]);
      for (size_t k = 0; anew && k < members.size(); ++k) {
        if (is_felt(group.found[k])) pivots[first + k].assign(found[k], found[k] + edges);
      }
    };
    return in_groups(rows, kernels.most, route == Route::ground, draws, solve);
  }

  // Rows of a group in orders of their own: one, where that is faster than a few in lanes.
  size_t most_in_order(size_t rows) const {
    const auto most = static_cast<size_t>(lane_kernels().most), lanes = most / 2;
    const size_t live = std::min({rows / team_.threads(), lanes});
    const bool worth = 4 * live > lanes && 384 * live > size_t(lanes_.program.sizes.rows) * lanes;
    return worth ? most : 1;
  }

  bool is_calm(const LaneOutcome& found) const {
    return kSingleToDouble * found.deviation <= kCalm * rounding();
  }

  // Whether rounding is felt, but not so much that the row is lost.
  bool is_felt(const LaneOutcome& found) const {
    return !is_calm(found) && found.sound &&
           error_of(found) <= most_error(log_sum_of(found) + found.total);
  }

  // One rounding per pivot.
  double rounding() const { return kEpsilon * static_cast<double>(plane_.signs.size()); }

  void take(int64_t k, const LaneOutcome& found, Route route) {
    if (!found.sound) return;
    const double least =
        options_.marginals
            ? kEpsilon * std::exp(kLimits.marginal_growth * std::min(largest(k), kLimits.strong))
            : 0.0;
    const double equal_error =
        kLimits.change_safety * (found.residual + kSingleToDouble * found.change) + least +
        kEpsilon * largest(k);  // of exponentiated numbers
    accept(k, route, log_sum_of(found), found.total, 2 * found.size, error_of(found) + least,
           equal_error);
  }

  static double log_sum_of(const LaneOutcome& found) {
    return Scaled{found.mantissa, static_cast<int64_t>(found.exponent)}.log();
  }

  // Of log Z, estimated.
  double error_of(const LaneOutcome& found) const {
    return kSingleToDouble * found.deviation + rounding();
  }

  // The largest error that log Z may have.
  double most_error(double log_z) const {
    const double most = 1e-13 * (std::fabs(log_z) + static_cast<double>(m_)) + 1e-12;
    return options_.marginals ? std::max(most, kLimits.marginal_error) : most;
  }

  // `equal_error`: the largest error of a marginal.
  void accept(int64_t k, Route route, double log_sum, double constant, double size, double error,
              double equal_error) {
    const double edges = m_;
    // The gauge state itself has weight one, so the sum is at least one.
    const bool possible = std::isfinite(log_sum) && log_sum >= -error - 1e-9 * edges;
    if (!possible || !(error <= most_error(log_sum + constant))) return;
    if (options_.marginals && !(equal_error <= kLimits.marginal_error)) return;
    result_.equal_error[k] = equal_error;
    result_.route[k] = static_cast<int8_t>(route);
    result_.log_sum[k] = log_sum;
    result_.constant[k] = constant;
    result_.size[k] = size;
    result_.error[k] = error;
  }

  // Rows with ground states in lanes, each in its own order.
  void run_in_orders(const std::vector<int64_t>& rows) {
    const auto solve = [&](int worker, std::span<const int64_t> members, const LaneRows& group) {
      auto& [waits, order] = orders_[worker];
      std::vector<RowOrder> views;
      waits.resize(std::max(waits.size(), members.size()));
      for (size_t k = 0; k < members.size(); ++k) {
        waits_by_gauge(plane_, pieces_, places_, gauges_[members[k]], kLaneSlack, waits[k]);
        views.push_back({waits[k].earliest, waits[k].rank});
      }
      order.assign(plane_.tree, views);
      lane_kernels().run_ordered(lanes_, group, order, memory_[worker]);
    };
    const std::vector<LaneOutcome> found = in_groups(rows, most_in_order(rows.size()), true,
                                                     std::vector<LaneDraws>(rows.size()), solve);
    for (size_t k = 0; k < rows.size(); ++k) {
      if (is_calm(found[k])) take(rows[k], found[k], Route::moats);
    }
  }

  void run_in_order(int worker, int64_t k) {
    if (gauges_[k].spins.empty() && plane_.num_vertices() > 0) {
      finder(worker).find_gauge(row(k), gauges_[k]);
    }
    // With deeper sets, entries divided by a pivot leave the range of doubles in any case.
    if (4 * deepest_by_gauge(gauges_[k]) < kLargestLogarithm && run_in_range(k)) return;
    if (largest(k) < kLargestCapped) {
      const CappedOrder found = capped_order_by_gauge(plane_, pieces_, places_, gauges_[k], row(k),
                                                      kMoatSlack, kClusteredCap);
      eliminate_twice(k, found.gauged, found.capped, found.clustered.order,
                      &found.clustered.clusters, &found);
    }
  }

  // Eliminates in plain doubles where these have the range for it; returns whether they have.
  bool run_in_range(int64_t k) {
    const auto [gauged, order] =
        order_by_gauge(plane_, pieces_, places_, gauges_[k], row(k), kMoatSlack);
    double pivots = 2 * order.deepest;
    for (size_t e = 0; e < plane_.signs.size(); ++e) {
      pivots = std::max(pivots, std::fabs(order.scale[2 * e] + order.scale[2 * e + 1]));
    }
    if (2 * order.deepest + pivots >= kLargestLogarithm) return false;
    eliminate_twice(k, gauged, gauged, order, nullptr, nullptr);
    return true;
  }

  // `gauged` are the couplings of the model, `used` those that it is replaced by. The second time,
  // those of a capped model are lower, which shows what caps add as well. Rows where that is felt
  // are left to larger caps.
  void eliminate_twice(int64_t k, std::span<const double> gauged, std::span<const double> used,
                       const MoatOrder& order, const MoatClusters* clusters,
                       const CappedOrder* capped) {
    double size = 0.0;
    for (size_t leg = 0; leg < order.scale.size(); ++leg) {
      size += std::fabs(order.scale[leg] - used[leg / 2]) / 2;
    }
    for (const double g : used) size += std::fabs(g);
    const bool has_caps = capped != nullptr && capped->step > 0.0;
    double step = has_caps ? capped->step : 0.0;
    const LegNumbers plain(used, order, false),
        shaken(has_caps ? capped->lowered : used, order, true);
    const KasteleynEntries entries = plain.entries(plane_, order, clusters);
    LogPfaffian first, second;
    Control quiet;
    double residual = 0.0;
    if (options_.marginals) {
      first = eliminate_with_marginals(k, entries, residual);
      if (!is_sound(first)) return;
      if (has_caps) {
        step = kLowerForMarginals;
        second = eliminate_lower(k, kClusteredCap - step);
      } else {
        second = eliminate<double>(plane_.tree, shaken.entries(plane_, order, clusters), {0.1, 1},
                                   quiet);
      }
    } else {
      std::tie(first, second) =
          eliminate_at_once(plane_.tree, entries, shaken.entries(plane_, order, clusters), quiet);
    }
    if (!is_sound(first) || !is_sound(second) || second.sign != first.sign) return;
    const double each = kEpsilon * static_cast<double>(used.size());
    double error = std::fabs(second.log_magnitude - first.log_magnitude) + each, added = 0.0;
    if (has_caps) {
      double ratio = error;
      if (error > kFelt * each) {
        const LegNumbers same(used, order, true);
        const LogPfaffian third =
            eliminate<double>(plane_.tree, same.entries(plane_, order, clusters), {0.1, 1}, quiet);
        if (!is_sound(third) || third.sign != first.sign) return;
        error = std::fabs(third.log_magnitude - first.log_magnitude) + each;
        ratio = std::max(second.log_magnitude - first.log_magnitude + error, error);
      }
      added = cap_loss(ratio, step);
      if (added > std::max(error, kFelt * each) || (options_.marginals && added > kMostAdded))
        return;
      added = -std::log1p(-added);
    }
    // One of some 30,000 models, small lattices of nearly equal couplings, had lost 120 roundings
    // of a residual of 3; others up to three residuals.
    const double lost = kLimits.change_safety * residual + kOrderedMarginal * kEpsilon;
    accept(k, Route::moats, first.log_magnitude, exact_sum(gauged), size, error + added,
           lost + added);
  }

  // Of the model with a lower cap, with clusters of its own.
  LogPfaffian eliminate_lower(int64_t k, double cap) {
    const CappedOrder lower =
        capped_order_by_gauge(plane_, pieces_, places_, gauges_[k], row(k), kMoatSlack, cap);
    const MoatOrder& order = lower.clustered.order;
    const LegNumbers shaken(lower.capped, order, true);
    Control quiet;
    return eliminate<double>(plane_.tree, shaken.entries(plane_, order, &lower.clustered.clusters),
                             {0.1, 1}, quiet);
  }

  // How probable the states are whose weights caps have raised, at most: log Z is larger by `ratio`
  // where the caps are lower by a step.
  static double cap_loss(double ratio, double step) {
    return std::min(std::expm1(std::min(ratio, 700.0)) / std::expm1(4 * step), 1.0);
  }

  static bool is_sound(const LogPfaffian& found) {
    return found.stats.left_over == 0 && found.stats.worst_ratio > 1.0 - kOrderedLoss &&
           std::isfinite(found.log_magnitude);
  }

  // Logarithms of what legs bring to entries; shaken: of rows that are scaled at random.
  struct LegNumbers {
    std::vector<double> face, join;

    LegNumbers(std::span<const double> gauged, const MoatOrder& order, bool shaken)
        : face(2 * gauged.size()), join(face.size()) {
      for (size_t leg = 0; leg < face.size(); ++leg) {
        join[leg] = order.scale[leg] + (shaken ? leg_shift(leg) : 0.0);
        face[leg] = join[leg] - gauged[leg / 2];
      }
    }
    // Of models that have the range for it, what is too small for doubles is nothing.
    KasteleynEntries entries(const PlaneGraph& plane, const MoatOrder& order,
                             const MoatClusters* clusters) const {
      return {face, join, plane.signs, order.earliest, order.rank, clusters, clusters == nullptr};
    }
  };

  LogPfaffian eliminate_with_marginals(int64_t k, const KasteleynEntries& entries,
                                       double& residual) {
    Control quiet;
    Factors<double> factors;
    const LogPfaffian found = eliminate<double>(plane_.tree, entries, {0.1, 1}, quiet, &factors);
    if (!is_sound(found)) return found;
    const UncutProbabilities p = uncut_probabilities(plane_.tree, entries, factors, 1, quiet);
    double largest = 0.0;
    for (const auto& logarithms : {entries.face, entries.join}) {
      for (const double x : logarithms) largest = std::max(largest, std::fabs(x));
    }
    residual = p.residual + kEpsilon * largest;
    for (int64_t e = 0; e < m_; ++e) {
      const double uncut = std::clamp(p.uncut[e], 0.0, 1.0);
      const bool agree = gauges_[k].spins[plane_.graph.edges[2 * e]] ==
                         gauges_[k].spins[plane_.graph.edges[2 * e + 1]];
      result_.equal[k * m_ + e] = agree ? uncut : 1.0 - uncut;
    }
    return found;
  }

  // The orders of a group of rows, in memory that is kept from group to group.
  struct GroupOrder {
    std::vector<MoatWaits> waits;
    LaneOrder order;
  };

  const PlaneGraph& plane_;
  std::span<const double> couplings_;
  BatchOptions options_;
  std::unique_ptr<const LaneProgram> program_;
  std::vector<int32_t> vertices_;
  LaneProblem lanes_;
  Team team_;
  int64_t m_;
  FacePieces pieces_;
  MoatPlaces places_;
  ModelBatch result_;
  std::vector<LaneMemory> memory_;
  std::vector<std::optional<GroundStateFinder>> finders_;  // by worker
  std::vector<GroupOrder> orders_;                         // by worker
  std::vector<std::vector<double>> pivots_;                // of a group, by worker
  std::vector<GaugeState> gauges_;
  std::vector<RowSize> sizes_;
};

size_t num_rows(const PlaneGraph& plane, std::span<const double> couplings) {
  const auto m = static_cast<size_t>(plane.num_couplings());
  if (m == 0 || couplings.size() % m != 0) {
    throw std::invalid_argument("couplings must hold one number per edge and row");
  }
  return couplings.size() / m;
}

}  // namespace

std::vector<int32_t> PlaneGraph::vertices_by_distance() const {
  const auto real = std::span(graph.edges).first(2 * size_t(num_couplings()));
  return breadth_first_order(neighbours_of(num_vertices(), real));
}

ModelBatch evaluate_batch(const PlaneGraph& plane, std::span<const double> couplings,
                          const BatchOptions& options, Control& control) {
  return Batch(plane, couplings, options, control).run(num_rows(plane, couplings));
}

size_t batch_bytes(const PlaneGraph& plane, bool marginals) {
  return lane_bytes(lane_sizes(plane.tree), plane.signs.size(), plane.num_vertices(), marginals);
}

GroundStateBatch ground_state_batch(const PlaneGraph& plane, std::span<const double> couplings,
                                    int threads, Control& control) {
  const size_t rows = num_rows(plane, couplings);
  const auto m = static_cast<size_t>(plane.num_couplings());
  const auto n = static_cast<size_t>(plane.num_vertices());
  GroundStateBatch result;
  result.spins.resize(rows * n);
  result.energy.resize(rows);
  Team team(threads, control);
  struct Worker {
    explicit Worker(const PlaneGraph& plane) : finder(plane) {}
    GroundStateFinder finder;
    GaugeState found;
    std::vector<double> terms;
  };
  std::vector<std::optional<Worker>> workers(team.threads());
  team.work(rows, [&](int worker, int task) {
    team.check(worker, double(task) / double(rows));
    if (!workers[worker]) workers[worker].emplace(plane);
    auto& [finder, found, terms] = *workers[worker];
    const std::span<const double> row = couplings.subspan(size_t(task) * m, m);
    finder.find_exactly(row, found);
    std::copy(found.spins.begin(), found.spins.end(), result.spins.begin() + size_t(task) * n);
    terms.resize(m);
    for (size_t e = 0; e < m; ++e) {
      const bool agree =
          found.spins[plane.graph.edges[2 * e]] == found.spins[plane.graph.edges[2 * e + 1]];
      terms[e] = agree ? -row[e] : row[e];
    }
    result.energy[task] = exact_sum(terms);
  });
  return result;
}

}  // namespace planaris
