#include "rigour/enclosure.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>

#include "base/bounded_exp.hpp"
#include "base/constants.hpp"
#include "base/scaled.hpp"
#include "base/simd.hpp"
#include "rigour/proof_sweep.hpp"

namespace planaris {

namespace {

constexpr double kErrorRoom = 1 + 0x1p-20;  // for the roundings of error bounds
// What a sweep of sizes alone may add to the error in any case, relative to all else.
constexpr double kCoarseShare = 0x1p-5;
constexpr double kLargestLog = 345.0;  // of a factor: no product of two leaves the range

// Entries as doubles, with bounds on the errors of their logarithms.
struct Rounded {
  std::vector<double> leg, join;
  double error = 0.0;  // of the logarithm of any term of the Pfaffian
  bool sound = true;
};

PLANARIS_CLONES void close_exps(size_t count, const double* x, double* to) {
  for (size_t i = 0; i < count; ++i) to[i] = close_exp(x[i]);
}

// The weight of an even set has, for every edge, the join or the two legs; with the join it has one
// error, with the legs two. As all of these weights have one sign, the logarithm of their sum is
// off by no more than that of one of them may be. Products of two legs are charged by face, below.
Rounded round_entries(const ExactEntries& exact, const ProofWeights& weights) {
  Rounded r;
  const size_t edges = exact.gauged.size(), legs = 2 * edges;
  std::vector<double> logs(legs), lost(legs);
  double most = 0.0;
  for (size_t i = 0; i < legs; ++i) {
    const TwoDoubles f = TwoDoubles::sum(exact.scale[i], -exact.gauged[i / 2]);
    logs[i] = f.high;
    lost[i] = std::fabs(f.low);
    r.sound &= std::fabs(f.high) < kLargestLog && std::fabs(exact.scale[i]) < kLargestLog;
    most = std::max(most, std::fabs(exact.scale[i]));
  }
  if (!r.sound) return r;
  r.leg.resize(legs);
  r.join.assign(edges, 1.0);
  close_exps(legs, logs.data(), r.leg.data());
  std::vector<double>& scales = logs;
  if (most > 0.0) close_exps(legs, exact.scale.data(), scales.data());
  double total = 0.0;
  for (size_t e = 0; e < edges; ++e) {
    double cut = 0.0;
    for (size_t i = 2 * e; i < 2 * e + 2; ++i) {
      const double error = (kCloseExpError + lost[i]) * kErrorRoom;
      cut += error;
      r.leg[i] *= 1 + weights.inject_entries * error;
    }
    const bool plain = exact.scale[2 * e] == 0.0 && exact.scale[2 * e + 1] == 0.0;
    const double uncut = plain ? 0.0 : 2 * kCloseExpError * kErrorRoom + kUnit;
    if (!plain)
      r.join[e] = scales[2 * e] * scales[2 * e + 1] * (1 + weights.inject_entries * uncut);
    total += std::max(cut, uncut);
  }
  r.error = weights.entries * total * kErrorRoom;
  return r;
}

// A face joins the d of its legs that an even set has by the Pfaffian of a matrix of ones, which is
// one; with entries 1 + θ it is the sum over all sets of disjoint pairs of the products of their θ,
// times the Pfaffian of ones of the other legs, ±1. That is off by at most x + x² + …, x the number
// of pairs times the largest θ.
double product_error(const FrontTree& tree, const ProofWeights& weights) {
  double total = 0.0;
  for (size_t f = 0; f + 1 < tree.face_begin.size(); ++f) {
    const auto legs = double((tree.face_begin[f + 1] - tree.face_begin[f]) / 2 * 2);
    const double x = weights.products * legs * (legs - 1) / 2 * kUnit * kErrorRoom;
    total += x < 0.25 ? x / (1 - 2 * x) : INFINITY;
  }
  return total * kErrorRoom;
}

// P(not cut) is join · G, times what the errors of entries may do to a ratio of two sums; G is off
// by the share of the sweep and by what the backward errors do to an inverse.
void bound_probabilities(Enclosure& found, const SweepBound& bound, const Rounded& entries,
                         const ExactEntries& exact, double share) {
  const size_t edges = entries.join.size();
  found.uncut.resize(edges);
  found.uncut_error.resize(edges);
  const double moved = found.eta < 0.25 ? found.eta / (1 - found.eta) : INFINITY;
  const double ratio = std::expm1(2 * found.entries * kErrorRoom) * kErrorRoom;
  for (size_t e = 0; e < edges; ++e) {
    const double value = entries.join[e] * bound.inverse[e];
    found.uncut[e] = exact.sign[e] > 0 ? value : -value;
    const double doubt = entries.join[e] * bound.area[e] * (share + moved) + 4 * kUnit;
    found.uncut_error[e] =
        (doubt + ratio * (1 + doubt) + 4 * kUnit * std::fabs(value)) * kErrorRoom;
  }
}

}  // namespace

Enclosure enclose_log_pfaffian(const FrontTree& tree, const ExactEntries& exact, Bounding bounding,
                               double share, const ProofWeights& weights, int threads,
                               Control& control) {
  Enclosure found;
  if (std::fegetround() != FE_TONEAREST || !keeps_subnormals()) return found;
  const Rounded entries = round_entries(exact, weights);
  if (!entries.sound) return found;
  const ProofEntries numbers{entries.leg, entries.join, exact.sign, exact.earliest, exact.rank};
  ProofElimination done = eliminate_for_proof(tree, numbers, bounding, weights, threads, control);
  found.sound = done.sound;
  found.negative = done.negative;
  found.mantissa = done.pivots.m;
  found.exponent = done.pivots.e;
  found.largest_front = done.largest_front;
  found.entries = entries.error + product_error(tree, weights);
  found.product = weights.product * double(done.multiplications) * kUnit * kErrorRoom;
  const bool high_parts = bounding.wide && !bounding.radii;
  found.elimination = (high_parts ? weights.high : 1.0) * done.log_error * kErrorRoom;
  if (!found.sound || bounding.radii) return found;
  // Sizes of as many fronts as may be, then those of small ones, then none.
  SweepBound bound;
  constexpr int32_t kSmall = Bounding{}.coarse_rows;
  for (int32_t rows = bounding.wide ? bounding.coarse_rows : 0;;
       rows = rows > kSmall ? kSmall : 0) {
    bound =
        sweep_for_proof(tree, done.factors, bounding.wide, rows, weights, share, threads, control);
    const double others = found.entries + found.product + (bound.eta - bound.coarse);
    const double most = std::max(kCoarseShare * others, bounding.coarse_error);
    if (rows == 0 || (bound.sound && bound.coarse <= weights.coarse * most)) break;
  }
  found.eta = bound.eta;
  found.first = bound.first;
  found.inflation = bound.inflation;
  found.elimination += bound.log_error(weights.second);
  found.sound = std::isfinite(found.elimination);
  if (found.sound && !bounding.wide) bound_probabilities(found, bound, entries, exact, share);
  return found;
}

}  // namespace planaris
