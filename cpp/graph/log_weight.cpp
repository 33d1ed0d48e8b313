#include "graph/log_weight.hpp"

namespace planaris {

ExactSum log_weight(std::span<const int32_t> edges, std::span<const double> couplings,
                    std::span<const double> fields, std::span<const int8_t> spins, Team& team) {
  ExactSum sum;
  const auto add_all = [&](size_t count, auto&& term) {
    const int parts = Team::parts(4.0 * double(count));
    std::vector<ExactSum> sums(parts);
    team.split(int64_t(count), parts, [&](int64_t low, int64_t high, int part) {
      ExactSum own;
      for (int64_t k = low; k < high; ++k) own.add(term(k));
      sums[part] = own;
    });
    for (const ExactSum& part : sums) sum.add(part);
  };
  add_all(couplings.size(), [&](int64_t e) {
    return couplings[e] * double(spins[edges[2 * e]] * spins[edges[2 * e + 1]]);
  });
  add_all(fields.size(), [&](int64_t v) { return fields[v] * double(spins[v]); });
  return sum;
}

}  // namespace planaris
