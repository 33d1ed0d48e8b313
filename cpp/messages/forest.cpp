#include "messages/forest.hpp"

#include <cmath>
#include <stdexcept>

#include "messages/log_2cosh.hpp"
#include "messages/rooted_forest.hpp"

namespace planaris {

Forest::Forest(int32_t num_vertices, std::span<const int32_t> edges)
    : num_edges_(static_cast<int32_t>(edges.size() / 2)),
      parent_(num_vertices, -1),
      parent_edge_(num_vertices, -1) {
  RootedForest rooted(num_vertices, edges);
  for (const int32_t v : rooted.order) {
    const int32_t h = rooted.to_parent[v];
    if (h < 0) continue;
    parent_[v] = edges[h ^ 1];
    parent_edge_[v] = h / 2;
  }
  order_ = std::move(rooted.order);
}

ForestMoments Forest::evaluate(std::span<const double> couplings,
                               std::span<const double> fields) const {
  const size_t n = order_.size();
  if (couplings.size() != static_cast<size_t>(num_edges_) || fields.size() != n) {
    throw std::invalid_argument("one coupling per edge and one field per vertex");
  }
  ForestMoments out;
  out.logs.resize(n);
  out.spins.resize(n);
  out.pairs.resize(num_edges_);
  // Summing a leaf with field h out over coupling J leaves √(2cosh(J+h) 2cosh(J-h)) exp(u s)
  // with u = ½ log(cosh(J+h) / cosh(J-h)).
  std::vector<double> field(fields.begin(), fields.end());  // with the messages of children
  std::vector<double> message(n, 0.0);                      // to the parent
  for (size_t k = n; k-- > 0;) {
    const int32_t v = order_[k];
    if (parent_[v] < 0) {
      out.logs[v] = log_2cosh(field[v]);
      continue;
    }
    const double J = couplings[parent_edge_[v]];
    const double plus = log_2cosh(J + field[v]);
    const double minus = log_2cosh(J - field[v]);
    out.logs[v] = 0.5 * plus + 0.5 * minus;
    message[v] = 0.5 * (plus - minus);
    field[parent_[v]] += message[v];
  }
  // Downwards, field becomes the whole field; the pair sees both ends without each other.
  for (const int32_t v : order_) {
    const int32_t p = parent_[v];
    if (p >= 0) {
      const double J = couplings[parent_edge_[v]];
      const double a = field[p] - message[v];
      const double b = field[v];
      out.pairs[parent_edge_[v]] =
          std::tanh(J + 0.5 * (log_2cosh(a + b) - log_2cosh(a - b)));
      field[v] += 0.5 * (log_2cosh(J + a) - log_2cosh(J - a));
    }
    out.spins[v] = std::tanh(field[v]);
  }
  return out;
}

}  // namespace planaris
