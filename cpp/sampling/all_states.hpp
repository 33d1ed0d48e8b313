// Probabilities of all states of a small model, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace planaris {

// By code: bit v says whether spin v is up.
inline std::vector<double> state_probabilities(const std::vector<int32_t>& edges,
                                               const std::vector<double>& couplings,
                                               const std::vector<double>& fields) {
  std::vector<double> weights(size_t{1} << fields.size());
  double total = 0;
  for (size_t code = 0; code < weights.size(); ++code) {
    const auto spin = [&](int32_t v) { return code >> v & 1 ? 1.0 : -1.0; };
    double log = 0;
    for (size_t e = 0; e < couplings.size(); ++e) {
      log += couplings[e] * spin(edges[2 * e]) * spin(edges[2 * e + 1]);
    }
    for (size_t v = 0; v < fields.size(); ++v) log += fields[v] * spin(static_cast<int32_t>(v));
    total += weights[code] = std::exp(log);
  }
  for (double& w : weights) w /= total;
  return weights;
}

}  // namespace planaris
