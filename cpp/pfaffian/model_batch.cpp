#include "pfaffian/model_batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "base/scaled.hpp"
#include "base/team.hpp"
#include "graph/spins.hpp"
#include "pfaffian/moat_order.hpp"
#include "pfaffian/pfaffian.hpp"
#include "pfaffian/sweep.hpp"
#include "tjoin/matching.hpp"

namespace planaris {

namespace {

constexpr double kEpsilon = 0x1p-52;
constexpr double kSingleToDouble = 0x1p-29;  // of the rounding of single and double precision
constexpr double kCalm = 1.0;  // deviation, in units of one rounding per pivot, seen once
constexpr int kDraws = 4;      // eliminations in single precision of what is not as calm
constexpr double kMostFlipped = 8.0;    // larger couplings need a ground state for a gauge
constexpr double kMostInLanes = 300.0;  // exponentials of larger couplings leave the range
constexpr double kMoatSlack = 1.0;
constexpr double kLargestLogarithm = 640.0;  // of entries divided by a pivot, in order
constexpr double kOrderedLoss = 1e-6;
constexpr double kMarginalError = 1e-9;

struct GaugeState {
  TJoinSolution tjoin;
  std::vector<int8_t> spins;
};

GaugeState solve_ground_state(const PlaneGraph& plane, std::span<const double> couplings) {
  const int32_t m = plane.num_couplings();
  std::vector<double> weights(m);
  std::vector<uint8_t> differ(m), parity(plane.num_faces, 0);
  for (int32_t e = 0; e < m; ++e) {
    weights[e] = std::fabs(couplings[e]);
    differ[e] = couplings[e] < 0.0;
    parity[plane.dual_edges[2 * e]] ^= differ[e];
    parity[plane.dual_edges[2 * e + 1]] ^= differ[e];
  }
  for (const int32_t face : plane.absorbing) parity[face] = 0;
  std::vector<int32_t> odd;
  for (int32_t f = 0; f < plane.num_faces; ++f) {
    if (parity[f]) odd.push_back(f);
  }
  const TJoinWeights exact = dyadic_weights(weights);
  Control quiet;
  GaugeState found;
  found.tjoin = minimum_tjoin({plane.num_faces, plane.dual_edges, &exact, odd, plane.absorbing},
                              nullptr, quiet);
  found.tjoin.state.reset();
  if (found.tjoin.infeasible >= 0) throw std::logic_error("a component of the dual has odd parity");
  for (const int32_t e : found.tjoin.join) differ[e] ^= 1;
  found.spins = spins_from_disagreements(plane.num_vertices(),
                                         plane.graph.edges.first(2 * size_t(m)), differ)
                    .spins;
  return found;
}

std::vector<double> moat_values(const TJoinSolution& s) {
  std::vector<double> values(s.start.size(), 0.0);
  const int32_t digits = std::max(s.num_digits, 1);
  for (size_t k = 0; k < values.size(); ++k) {
    for (int32_t c = digits; c-- > 0;) {
      values[k] += std::ldexp(static_cast<double>(s.values[k * digits + c]),
                              s.exponent - 1 + 32 * c);
    }
  }
  return values;
}

// A packing of faces as one of the pieces that chords split them into.
struct PieceMoats {
  std::vector<int32_t> order, start, stop;

  PieceMoats(const PlaneGraph& plane, const TJoinSolution& s) {
    std::vector<int32_t> begin(plane.num_faces + 1, 0);
    for (const int32_t f : plane.face_of_piece) ++begin[f + 1];
    for (int32_t f = 0; f < plane.num_faces; ++f) begin[f + 1] += begin[f];
    std::vector<int32_t> pieces(plane.face_of_piece.size()), next(begin.begin(), begin.end() - 1);
    for (size_t k = 0; k < pieces.size(); ++k) {
      pieces[next[plane.face_of_piece[k]]++] = static_cast<int32_t>(k);
    }
    std::vector<int32_t> place{0};
    for (const int32_t f : s.order) {
      order.insert(order.end(), pieces.begin() + begin[f], pieces.begin() + begin[f + 1]);
      place.push_back(static_cast<int32_t>(order.size()));
    }
    for (const int32_t at : s.start) start.push_back(place[at]);
    for (const int32_t at : s.stop) stop.push_back(place[at]);
  }
};

// Numbers in [-1, 1), the same for every row: rows of the matrix are scaled by their exponentials
// to see what rounding does.
double shake(uint64_t k) {
  uint64_t z = (k + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

double exact_sum(std::span<const double> terms) {
  double sum = 0.0, lost = 0.0;
  for (const double x : terms) {
    const double next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  return sum + lost;
}

class Batch {
 public:
  Batch(const PlaneGraph& plane, std::span<const double> couplings, const BatchOptions& options,
        Control& control)
      : plane_(plane), couplings_(couplings), options_(options),
        program_(plane.program != nullptr ? nullptr : new LaneProgram(plane.tree)),
        lanes_{plane.tree, plane.graph, plane.signs, program_ ? *program_ : *plane.program,
               plane.num_couplings()},
        team_(options.threads, control), m_(plane.num_couplings()) {}

  ModelBatch run(size_t count) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    result_.route.assign(count, 0);
    for (auto* numbers : {&result_.log_sum, &result_.constant, &result_.size, &result_.error}) {
      numbers->assign(count, none);
    }
    if (options_.marginals) result_.equal.assign(count * m_, none);
    memory_.resize(team_.threads());
    gauges_.resize(count);
    try {
      climb(count);
    } catch (const DeadlinePassed&) {
      result_.complete = false;
    }
    return std::move(result_);
  }

 private:
  void climb(size_t count) {
    std::vector<int64_t> rows;
    for (size_t k = 0; k < count; ++k) {
      if (largest(k) <= kMostFlipped) rows.push_back(static_cast<int64_t>(k));
    }
    run_lanes(rows, Route::flips);
    rows = open([](double most) { return most <= kMostInLanes; });
    team_.work(rows.size(), [&](int worker, int task) {
      team_.check(worker, double(task) / double(rows.size()));
      gauges_[rows[task]] = solve_ground_state(plane_, row(rows[task]));
    });
    run_lanes(rows, Route::ground);
    rows = open([](double most) { return most < 5e17; });
    team_.work(rows.size(), [&](int worker, int task) {
      team_.check(worker, double(task) / double(rows.size()));
      run_in_order(rows[task]);
    });
  }

  std::span<const double> row(int64_t k) const { return couplings_.subspan(k * m_, m_); }

  double largest(int64_t k) const {
    double most = 0.0;
    for (const double x : row(k)) most = std::max(most, std::fabs(x));
    return most;
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

  void run_lanes(const std::vector<int64_t>& rows, Route route) {
    std::vector<LaneOutcome> found = run_groups(rows, route, 1);
    if (options_.marginals) {
      for (size_t k = 0; k < rows.size(); ++k) take(rows[k], found[k], route);
      return;
    }
    // Where rounding is felt, one elimination in single precision may hide it by luck.
    std::vector<int64_t> felt;
    for (size_t k = 0; k < rows.size(); ++k) {
      if (kSingleToDouble * found[k].deviation <= kCalm * rounding()) {
        take(rows[k], found[k], route);
      } else if (found[k].sound && found[k].deviation < 1e3) {
        felt.push_back(rows[k]);
      }
    }
    found = run_groups(felt, route, kDraws);
    for (size_t k = 0; k < felt.size(); ++k) take(felt[k], found[k], route);
  }

  std::vector<LaneOutcome> run_groups(const std::vector<int64_t>& rows, Route route, int draws) {
    const LaneKernels& kernels = lane_kernels();
    // Equal shares: no thread waits for another that has a full group.
    const auto round_up = [](size_t a, size_t b) { return (a + b - 1) / b; };
    const auto threads = static_cast<size_t>(team_.threads());
    const size_t rounds = round_up(rows.size(), threads * kernels.most);
    const size_t most = std::max<size_t>(1, round_up(rows.size(), threads * std::max<size_t>(rounds, 1)));
    const size_t groups = round_up(rows.size(), most);
    std::vector<LaneOutcome> found(rows.size());
    team_.work(groups, [&](int worker, int task) {
      team_.check(worker, double(task) / double(groups));
      const size_t first = task * most, count = std::min(most, rows.size() - first);
      const std::function<void()> look = [this, worker] { team_.check(worker); };
      std::vector<const double*> couplings;
      std::vector<const int8_t*> spins;
      std::vector<double*> equal;
      for (size_t k = first; k < first + count; ++k) {
        couplings.push_back(row(rows[k]).data());
        if (route == Route::ground) spins.push_back(gauges_[rows[k]].spins.data());
        if (options_.marginals) equal.push_back(result_.equal.data() + rows[k] * m_);
      }
      kernels.run(lanes_,
                  {static_cast<int>(count), couplings.data(),
                   route == Route::ground ? spins.data() : nullptr, found.data() + first,
                   options_.marginals ? equal.data() : nullptr, draws, &look},
                  memory_[worker]);
    });
    return found;
  }

  // One rounding per pivot.
  double rounding() const { return kEpsilon * static_cast<double>(plane_.signs.size()); }

  void take(int64_t k, const LaneOutcome& found, Route route) {
    if (!found.sound) return;
    const double log_sum = Scaled{found.mantissa, static_cast<int64_t>(found.exponent)}.log();
    const double error =
        options_.marginals ? found.residual + kEpsilon * largest(k)  // of exponentiated numbers
                           : kSingleToDouble * found.deviation + rounding();
    accept(k, route, log_sum, found.total, 2 * found.size, error);
  }

  void accept(int64_t k, Route route, double log_sum, double constant, double size, double error) {
    const double edges = m_;
    // The gauge state itself has weight one, so the sum is at least one.
    const bool possible = std::isfinite(log_sum) && log_sum >= -error - 1e-9 * edges;
    const double most = options_.marginals
                            ? kMarginalError
                            : 1e-13 * (std::fabs(log_sum + constant) + edges) + 1e-12;
    if (!possible || !(error <= most)) return;
    result_.route[k] = static_cast<int8_t>(route);
    result_.log_sum[k] = log_sum;
    result_.constant[k] = constant;
    result_.size[k] = size;
    result_.error[k] = error;
  }

  void run_in_order(int64_t k) {
    GaugeState& gauge = gauges_[k];
    if (gauge.spins.empty() && plane_.num_vertices() > 0) {
      gauge = solve_ground_state(plane_, row(k));
    }
    const size_t edges = plane_.signs.size();
    std::vector<double> gauged(edges, 0.0);
    std::vector<int32_t> unsatisfied = gauge.tjoin.join;
    const auto agree = [&](size_t e) {
      return gauge.spins[plane_.graph.edges[2 * e]] == gauge.spins[plane_.graph.edges[2 * e + 1]];
    };
    for (int64_t e = 0; e < m_; ++e) gauged[e] = agree(e) ? row(k)[e] : -row(k)[e];
    // Chords are satisfied where their ends agree; no set of the packing parts a face.
    for (size_t e = m_; e < edges; ++e) {
      if (!agree(e)) unsatisfied.push_back(static_cast<int32_t>(e));
    }
    const PieceMoats pieces(plane_, gauge.tjoin);
    const std::vector<double> values = moat_values(gauge.tjoin);
    const MoatOrder order =
        moat_order(plane_.tree, plane_.faces,
                   {pieces.order, pieces.start, pieces.stop, gauge.tjoin.parent, values}, gauged,
                   unsatisfied, kMoatSlack);
    double pivots = 2 * order.deepest;
    for (size_t e = 0; e < edges; ++e) {
      pivots = std::max(pivots, std::fabs(order.scale[2 * e] + order.scale[2 * e + 1]));
    }
    if (!(2 * order.deepest + pivots < kLargestLogarithm)) return;
    double size = 0.0;
    for (size_t leg = 0; leg < 2 * edges; ++leg) {
      size += std::fabs(order.scale[leg] - gauged[leg / 2]) / 2;
    }
    for (const double g : gauged) size += std::fabs(g);
    double error = 0.0;
    const LogPfaffian first = eliminate_in_order(k, gauged, order, false, error);
    if (!is_sound(first)) return;
    if (!options_.marginals) {
      const LogPfaffian second = eliminate_in_order(k, gauged, order, true, error);
      if (!is_sound(second) || second.sign != first.sign) return;
      error = std::fabs(second.log_magnitude - first.log_magnitude) +
              kEpsilon * static_cast<double>(edges);
    }
    accept(k, Route::moats, first.log_magnitude, exact_sum(gauged), size, error);
  }

  static bool is_sound(const LogPfaffian& found) {
    return found.stats.left_over == 0 && found.stats.worst_ratio > 1.0 - kOrderedLoss &&
           std::isfinite(found.log_magnitude);
  }

  LogPfaffian eliminate_in_order(int64_t k, std::span<const double> gauged, const MoatOrder& order,
                                 bool shaken, double& residual) {
    const size_t legs = 2 * gauged.size();
    std::vector<double> face(legs), join(legs);
    for (size_t leg = 0; leg < legs; ++leg) {
      join[leg] = order.scale[leg] + (shaken ? shake(leg) : 0.0);
      face[leg] = join[leg] - gauged[leg / 2];
    }
    const KasteleynEntries entries{face, join, plane_.signs, order.earliest, order.rank};
    Control quiet;
    Factors<double> factors;
    const LogPfaffian found = eliminate<double>(plane_.tree, entries, {0.1, 1}, quiet,
                                                options_.marginals ? &factors : nullptr);
    if (!options_.marginals || !is_sound(found)) return found;
    const UncutProbabilities p = uncut_probabilities(plane_.tree, entries, factors, 1, quiet);
    double largest = 0.0;
    for (const auto* logarithms : {&face, &join}) {
      for (const double x : *logarithms) largest = std::max(largest, std::fabs(x));
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

  const PlaneGraph& plane_;
  std::span<const double> couplings_;
  BatchOptions options_;
  std::unique_ptr<const LaneProgram> program_;
  LaneProblem lanes_;
  Team team_;
  int64_t m_;
  ModelBatch result_;
  std::vector<LaneMemory> memory_;
  std::vector<GaugeState> gauges_;
};

size_t num_rows(const PlaneGraph& plane, std::span<const double> couplings) {
  const auto m = static_cast<size_t>(plane.num_couplings());
  if (m == 0 || couplings.size() % m != 0) {
    throw std::invalid_argument("couplings must hold one number per edge and row");
  }
  return couplings.size() / m;
}

}  // namespace

ModelBatch evaluate_batch(const PlaneGraph& plane, std::span<const double> couplings,
                          const BatchOptions& options, Control& control) {
  return Batch(plane, couplings, options, control).run(num_rows(plane, couplings));
}

std::vector<int8_t> flipped_state(const RotationView& graph, std::span<const double> couplings,
                                  Control& control) {
  constexpr int kSweeps = 8, kSingleSweeps = 2;
  const int32_t n = graph.num_vertices();
  const auto edges = static_cast<int32_t>(couplings.size());
  std::vector<int8_t> spins(n, 1);
  std::vector<double> field(n, 0.0);  // Σ J s of the neighbours
  for (int32_t e = 0; e < edges; ++e) {
    field[graph.edges[2 * e]] += couplings[e];
    field[graph.edges[2 * e + 1]] += couplings[e];
  }
  const auto flip = [&](int32_t v) {
    spins[v] = static_cast<int8_t>(-spins[v]);
    for (int32_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
      const int32_t h = graph.rotation[k], w = graph.head(h);
      if (w != v && h >> 1 < edges) field[w] += 2.0 * couplings[h >> 1] * spins[v];
    }
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool changed = false;
    for (int32_t v = 0; v < n; ++v) {
      control.poll();
      if (!(field[v] * spins[v] < 0.0)) continue;
      flip(v);
      changed = true;
    }
    if (changed && sweep < kSingleSweeps) continue;
    for (int32_t e = 0; e < edges; ++e) {
      control.poll();
      const int32_t u = graph.edges[2 * e], v = graph.edges[2 * e + 1];
      const double joined = 2.0 * couplings[e] * spins[u] * spins[v];
      if (u == v || !(field[u] * spins[u] + field[v] * spins[v] < joined)) continue;
      flip(u);
      flip(v);
      changed = true;
    }
    if (!changed) break;
  }
  return spins;
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
  team.work(rows, [&](int worker, int task) {
    team.check(worker, double(task) / double(rows));
    const std::span<const double> row = couplings.subspan(size_t(task) * m, m);
    const GaugeState found = solve_ground_state(plane, row);
    std::copy(found.spins.begin(), found.spins.end(), result.spins.begin() + size_t(task) * n);
    std::vector<double> terms(m);
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
