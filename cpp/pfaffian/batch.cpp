#include "pfaffian/batch.hpp"

#include <algorithm>

#include "base/team.hpp"
#include "pfaffian/sweep.hpp"

namespace planaris {

PfaffianBatch eliminate_batch(const FrontTree& tree, std::span<const double> face,
                              const KasteleynEntries& shared, const EliminationOptions& options,
                              bool marginals, Control& control) {
  const size_t legs = shared.join.size(), edges = shared.sign.size();
  const size_t count = legs == 0 ? 0 : face.size() / legs;
  PfaffianBatch result;
  result.log_pfaffian.resize(count);
  if (marginals) {
    result.uncut.resize(count * edges);
    result.residual.resize(count);
  }
  const auto solve = [&](size_t k, int threads, Control& inner) {
    KasteleynEntries entries = shared;
    entries.face = face.subspan(k * legs, legs);
    const EliminationOptions own{options.threshold, threads};
    Factors<double> factors;
    result.log_pfaffian[k] =
        eliminate<double>(tree, entries, own, inner, marginals ? &factors : nullptr);
    if (!marginals || result.log_pfaffian[k].stats.left_over > 0) return;
    const UncutProbabilities p = uncut_probabilities(tree, entries, factors, threads, inner);
    std::copy(p.uncut.begin(), p.uncut.end(), result.uncut.begin() + k * edges);
    result.residual[k] = p.residual;
  };
  // Where one matrix takes long, threads share it, and it can be interrupted.
  constexpr double kLong = 2e8;
  if (options.threads <= 1 || tree.num_nodes() == 0 || tree.work.back() > kLong) {
    for (size_t k = 0; k < count; ++k) solve(k, options.threads, control);
    return result;
  }
  Team team(std::min<int>(options.threads, static_cast<int>(count)), control);
  team.work(count, [&](int worker, int k) {
    team.check(worker);
    Control quiet;
    solve(static_cast<size_t>(k), 1, quiet);
  });
  return result;
}

}  // namespace planaris
