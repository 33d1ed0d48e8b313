#include "messages/forest.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "messages/log_2cosh.hpp"
#include "messages/rooted_forest.hpp"

namespace planaris {

Forest::Forest(int32_t num_vertices, std::span<const int32_t> edges, Control& control)
    : num_edges_(static_cast<int32_t>(edges.size() / 2)), parent_(num_vertices, -1),
      parent_edge_(num_vertices, -1) {
  RootedForest rooted(num_vertices, edges, control);
  for (const int32_t v : rooted.order) {
    const int32_t h = rooted.to_parent[v];
    if (h < 0) continue;
    parent_[v] = edges[h ^ 1];
    parent_edge_[v] = h / 2;
  }
  order_ = std::move(rooted.order);
}

// Summing a leaf with field h out over coupling J leaves √(2cosh(J+h) 2cosh(J-h)) exp(u s)
// with u = ½ log(cosh(J+h) / cosh(J-h)).
Forest::Upwards Forest::sum_upwards(std::span<const double> couplings,
                                    std::span<const double> fields, Control& control) const {
  const size_t n = order_.size();
  if (couplings.size() != static_cast<size_t>(num_edges_) || fields.size() != n) {
    throw std::invalid_argument("one coupling per edge and one field per vertex");
  }
  Upwards out{std::vector<double>(n), {fields.begin(), fields.end()}, std::vector<double>(n, 0.0)};
  std::vector<double>& field = out.field;
  for (size_t k = n; k-- > 0;) {
    control.spend(16);
    const int32_t v = order_[k];
    if (parent_[v] < 0) {
      out.logs[v] = log_2cosh(field[v]);
      continue;
    }
    const double J = couplings[parent_edge_[v]];
    const double plus = log_2cosh(J + field[v]);
    const double minus = log_2cosh(J - field[v]);
    out.logs[v] = 0.5 * plus + 0.5 * minus;
    out.message[v] = 0.5 * (plus - minus);
    field[parent_[v]] += out.message[v];
  }
  return out;
}

std::vector<double> Forest::log_values(std::span<const double> couplings,
                                       std::span<const double> fields, Control& control) const {
  return std::move(sum_upwards(couplings, fields, control).logs);
}

ForestMoments Forest::evaluate(std::span<const double> couplings, std::span<const double> fields,
                               Control& control) const {
  auto [logs, field, message] = sum_upwards(couplings, fields, control);
  ForestMoments out;
  out.logs = std::move(logs);
  out.spins.resize(order_.size());
  out.pairs.resize(num_edges_);
  // Downwards, field becomes the whole field; the pair sees both ends without each other.
  for (const int32_t v : order_) {
    control.spend(32);
    const int32_t p = parent_[v];
    if (p >= 0) {
      const double J = couplings[parent_edge_[v]];
      const double a = field[p] - message[v];
      const double b = field[v];
      out.pairs[parent_edge_[v]] = std::tanh(J + 0.5 * (log_2cosh(a + b) - log_2cosh(a - b)));
      field[v] += 0.5 * (log_2cosh(J + a) - log_2cosh(J - a));
    }
    out.spins[v] = std::tanh(field[v]);
  }
  return out;
}

}  // namespace planaris
