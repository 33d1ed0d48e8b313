#include "labels/problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "base/constants.hpp"

namespace planaris::labels {

namespace {

// The most by which sum_below() rounds sums that came out as these.
double rounding_of(std::span<const double> sums) {
  double largest = 0;
  for (double value : sums) {
    if (std::abs(value) < kInfinity) largest = std::max(largest, std::abs(value));
  }
  return 2.1 * kUnit * largest;
}

// A sum that is certainly no larger than the true one, nor by more than a few units smaller.
// Zeros are exact.
inline double sum_below(double x, double y) {
  if (x == 0 || y == 0) return x + y;
  const double sum = x + y;
  return std::abs(sum) < kInfinity ? sum - 1.01 * kUnit * std::abs(sum) : sum;
}

}  // namespace

Sizes sizes_of(const Factors& factors) {
  Sizes found;
  for (size_t f = 0; f + 1 < factors.scope_offsets.size(); ++f) {
    if (factors.scope_offsets[f] == factors.scope_offsets[f + 1]) continue;
    double best = -kInfinity;
    for (int64_t k = factors.table_offsets[f]; k < factors.table_offsets[f + 1]; ++k) {
      const double log = factors.log_values[k];
      best = std::max(best, log);
      if (log > -kInfinity) found.largest = std::max(found.largest, std::abs(log));
    }
    if (best > -kInfinity) found.least -= best;
  }
  return found;
}

Problem::Problem(const Factors& factors, Control& control) {
  for (int32_t k : factors.cardinalities) {
    if (k < 1) throw std::invalid_argument("cardinalities must be positive");
    variable.push_back(size());
    label.emplace_back(k);
    for (int32_t a = 0; a < k; ++a) label.back()[a] = a;
    energy.emplace_back(k, 0.0);
    error.push_back(0);
    incident.emplace_back();
  }
  std::unordered_map<int64_t, int32_t> edge_of;
  const auto count = static_cast<int64_t>(factors.scope_offsets.size()) - 1;
  for (int64_t f = 0; f < count; ++f) {
    const auto scope = factors.scopes.subspan(
        factors.scope_offsets[f], factors.scope_offsets[f + 1] - factors.scope_offsets[f]);
    const auto logs = factors.log_values.subspan(
        factors.table_offsets[f], factors.table_offsets[f + 1] - factors.table_offsets[f]);
    control.spend(static_cast<int64_t>(logs.size()) + 8);
    if (scope.empty()) continue;  // constants are left to the caller
    if (scope.size() == 1) {
      auto& node = energy[scope[0]];
      const bool first = std::all_of(node.begin(), node.end(), [](double x) { return x == 0; });
      for (size_t a = 0; a < node.size(); ++a) node[a] = sum_below(node[a], 0.0 - logs[a]);
      if (!first) error[scope[0]] += rounding_of(node);
    } else if (scope.size() == 2) {
      const int32_t u = std::min(scope[0], scope[1]), v = std::max(scope[0], scope[1]);
      const int32_t rows = labels_of(u), columns = labels_of(v);
      std::vector<double> table(logs.size());
      for (int32_t a = 0; a < rows; ++a) {
        for (int32_t b = 0; b < columns; ++b) {
          const auto at = scope[0] == u ? static_cast<int64_t>(a) * columns + b
                                        : static_cast<int64_t>(b) * rows + a;
          table[static_cast<int64_t>(a) * columns + b] = 0.0 - logs[at];
        }
      }
      const auto [place, fresh] = edge_of.try_emplace(static_cast<int64_t>(u) * size() + v,
                                                      static_cast<int32_t>(edges.size()));
      if (fresh) {
        add_edge(u, v, std::move(table));
      } else {
        auto& sum = edges[place->second].table;
        for (size_t k = 0; k < sum.size(); ++k) sum[k] = sum_below(sum[k], table[k]);
        edges[place->second].error += rounding_of(sum);
      }
    }
  }
  for (int64_t f = 0; f < count; ++f) {
    const auto scope = factors.scopes.subspan(
        factors.scope_offsets[f], factors.scope_offsets[f + 1] - factors.scope_offsets[f]);
    if (scope.size() < 3) continue;
    add_cluster(
        scope, factors.log_values.subspan(factors.table_offsets[f],
                                          factors.table_offsets[f + 1] - factors.table_offsets[f]));
    control.spend(static_cast<int64_t>(edges.back().table.size()) * 3);
  }
  num_inputs = size();
  for (Edge& edge : edges) turn(edge);
  gone_.assign(size(), 0);
  edge_gone_.assign(edges.size(), 0);
}

void Problem::add_cluster(std::span<const int32_t> scope, std::span<const double> logs) {
  std::vector<int64_t> states;
  for (size_t k = 0; k < logs.size(); ++k) {
    if (logs[k] > -kInfinity) states.push_back(static_cast<int64_t>(k));
  }
  if (states.empty()) states.push_back(0);  // all zero: so is Z
  const int32_t cluster = size();
  variable.push_back(cluster);
  incident.emplace_back();
  error.push_back(0);
  label.emplace_back(states.size());
  energy.emplace_back(states.size());
  for (size_t k = 0; k < states.size(); ++k) {
    label.back()[k] = static_cast<int32_t>(k);
    energy.back()[k] = 0.0 - logs[states[k]];
  }
  int64_t stride = 1;
  for (size_t axis = scope.size(); axis-- > 0;) {
    const int32_t v = scope[axis], rows = labels_of(v);
    std::vector<double> table(states.size() * rows, kInfinity);
    for (size_t k = 0; k < states.size(); ++k) {
      table[(states[k] / stride % rows) * states.size() + k] = 0.0;
    }
    add_edge(v, cluster, std::move(table));
    stride *= rows;
  }
}

int64_t Problem::bytes() const {
  int64_t total = 256;
  for (const Edge& edge : edges) {
    total += 8 * static_cast<int64_t>(2 * edge.table.size() + edge.message[0].size() +
                                      edge.message[1].size()) +
             160;
  }
  for (const auto& node : energy) total += 12 * static_cast<int64_t>(node.size()) + 160;
  return total;
}

void Problem::turn(Edge& edge) const {
  const int64_t rows = labels_of(edge.ends[0]), columns = labels_of(edge.ends[1]);
  edge.turned.resize(edge.table.size());
  for (int64_t a = 0; a < rows; ++a) {
    for (int64_t b = 0; b < columns; ++b) edge.turned[b * rows + a] = edge.table[a * columns + b];
  }
}

int32_t Problem::find_edge(int32_t u, int32_t v) const {
  const auto& list = incident[u].size() < incident[v].size() ? incident[u] : incident[v];
  for (int32_t e : list) {
    if (edges[e].ends[0] == u && edges[e].ends[1] == v) return e;
  }
  return -1;
}

int32_t Problem::add_edge(int32_t u, int32_t v, std::vector<double> table) {
  Edge edge;
  edge.ends[0] = u, edge.ends[1] = v;
  edge.table = std::move(table);
  edge.message[0].assign(labels_of(u), 0.0);
  edge.message[1].assign(labels_of(v), 0.0);
  const auto e = static_cast<int32_t>(edges.size());
  edges.push_back(std::move(edge));
  edge_gone_.push_back(0);
  incident[u].push_back(e);
  incident[v].push_back(e);
  return e;
}

void Problem::remove_edge(int32_t e) {
  edge_gone_[e] = 1;
  for (int32_t i : edges[e].ends) std::erase(incident[i], e);
}

void Problem::add_base(double value) {
  const double sum = base + value, part = sum - base;
  base_low += (base - (sum - part)) + (value - part);
  base = sum;
}

void Problem::keep_labels(int32_t i, const std::vector<uint8_t>& keep) {
  const int32_t before = labels_of(i);
  int32_t after = 0;
  for (int32_t a = 0; a < before; ++a) {
    if (!keep[a]) continue;
    label[i][after] = label[i][a];
    energy[i][after] = energy[i][a];
    ++after;
  }
  label[i].resize(after);
  energy[i].resize(after);
  for (int32_t e : incident[i]) {
    Edge& edge = edges[e];
    const int side = edge.ends[1] == i;
    const int64_t others = labels_of(edge.ends[1 - side]);
    auto& rows = side ? edge.turned : edge.table;  // labels of i are the rows
    auto& columns = side ? edge.table : edge.turned;
    int64_t kept = 0;
    for (int32_t a = 0; a < before; ++a) {
      if (!keep[a]) continue;
      edge.message[side][kept] = edge.message[side][a];
      if (kept != a) std::copy_n(&rows[a * others], others, &rows[kept * others]);
      ++kept;
    }
    edge.message[side].resize(kept);
    rows.resize(kept * others);
    int64_t at = 0;
    for (int64_t c = 0; c < others; ++c) {
      for (int32_t a = 0; a < before; ++a) {
        if (keep[a]) columns[at++] = columns[c * before + a];
      }
    }
    columns.resize(at);
  }
  if (static_cast<int32_t>(favourite_.size()) == size()) find_favourite(i);
}

void Problem::restrict_to(int32_t i, int32_t a, bool equal) {
  std::vector<uint8_t> keep(labels_of(i), !equal);
  keep[a] = equal;
  keep_labels(i, keep);
}

std::vector<double> Problem::belief(int32_t i) const {
  std::vector<double> out(energy[i]);
  for (int32_t e : incident[i]) {
    const auto& message = edges[e].message[edges[e].ends[1] == i];
    for (size_t a = 0; a < out.size(); ++a) out[a] += message[a];
  }
  return out;
}

void Problem::find_favourite(int32_t i) {
  const auto values = belief(i);
  favourite_[i] =
      static_cast<int32_t>(std::min_element(values.begin(), values.end()) - values.begin());
}

// Drops labels that are excluded or have no partner. False when none is left.
bool Problem::drop_impossible(int32_t i, bool& changed, Record* record) {
  const int32_t count = labels_of(i);
  std::vector<uint8_t> keep(count, 1);
  bool all = true;
  for (int32_t a = 0; a < count; ++a) {
    bool possible = energy[i][a] < kInfinity;
    for (size_t k = 0; possible && k < incident[i].size(); ++k) {
      const Edge& edge = edges[incident[i][k]];
      const int side = edge.ends[1] == i;
      const int64_t others = labels_of(edge.ends[1 - side]);
      const double* row = (side ? edge.turned : edge.table).data() + a * others;
      possible = std::any_of(row, row + others, [](double x) { return x < kInfinity; });
    }
    keep[a] = possible;
    all &= possible;
    if (!possible && record) record->add(Record::kImpossible, variable[i], label[i][a]);
  }
  if (all) return true;
  changed = true;
  keep_labels(i, keep);
  return labels_of(i) > 0;
}

// Goldstein's criterion: where there is no deficit, label a is not needed.
double Problem::deficit(int32_t i, int32_t b, int32_t a) const {
  double sum = energy[i][a] - energy[i][b];
  double scale = std::abs(energy[i][a]) + std::abs(energy[i][b]);
  double rounded = error[i];  // of entries, since they were given
  bool signs = sum >= 0;      // differences have the right sign even where they are rounded
  for (int32_t e : incident[i]) {
    const Edge& edge = edges[e];
    const int side = edge.ends[1] == i;
    const int64_t others = labels_of(edge.ends[1 - side]);
    const auto& rows = side ? edge.turned : edge.table;
    const double* row_a = &rows[a * others];
    const double* row_b = &rows[b * others];
    double least = kInfinity, at_a = 0, at_b = 0;
    for (int64_t c = 0; c < others; ++c) {
      if (row_a[c] == kInfinity) continue;
      const double step = row_a[c] - row_b[c];
      if (step < least) least = step, at_a = row_a[c], at_b = row_b[c];
    }
    if (least == -kInfinity) return kInfinity;
    if (least == kInfinity) return 0;
    signs &= least >= 0;
    sum += least;
    rounded += edge.error;
    scale += std::abs(at_a) + std::abs(at_b);
  }
  const double terms = 2.0 * static_cast<double>(incident[i].size()) + 4;
  if (signs && rounded == 0) return 0;
  return std::max(0.0, 4 * kUnit * terms * scale + 2 * rounded - sum);
}

bool Problem::drop_dominated(int32_t i, Record* record, Control& control) {
  constexpr int32_t kAll = 6, kBest = 3;  // rivals that are tried: of few labels all
  const int32_t count = labels_of(i);
  if (count < 2) return false;
  // Energies beside the favourites of the neighbours: a label that is better there is not
  // dominated, so most pairs need no more than this.
  std::vector<double> local(energy[i]);
  int64_t width = 1;
  for (int32_t e : incident[i]) {
    const int32_t j = other_end(edges[e], i);
    const double* row = columns_of(edges[e], i) + static_cast<int64_t>(favourite_[j]) * count;
    for (int32_t a = 0; a < count; ++a) local[a] += row[a];
    width += labels_of(j);
  }
  std::vector<int32_t> order(count);
  for (int32_t a = 0; a < count; ++a) order[a] = a;
  const int32_t rivals = count <= kAll ? count : kBest;
  control.spend(width * count);  // before anything is written down
  std::partial_sort(order.begin(), order.begin() + rivals, order.end(),
                    [&](int32_t a, int32_t b) { return local[a] < local[b]; });
  std::vector<uint8_t> keep(count, 1);
  bool changed = false;
  for (int32_t a = 0; a < count; ++a) {
    for (int32_t k = 0; k < rivals && keep[a]; ++k) {
      const int32_t b = order[k];
      if (a == b || !keep[b] || local[b] > local[a]) continue;
      const double loss = deficit(i, b, a);
      if (!(loss <= charge)) continue;
      add_base(-loss);
      keep[a] = 0;
      changed = true;
      if (record) record->add(Record::kDominated, variable[i], label[i][a], label[i][b]);
    }
  }
  if (changed) keep_labels(i, keep);
  return changed;
}

void Problem::put_on_tape(int32_t i, std::initializer_list<int32_t> others,
                          std::vector<int32_t> best) {
  auto step = std::make_shared<Eliminated>();
  step->variable = variable[i];
  int k = 0;
  for (int32_t j : others) {
    step->others[k] = variable[j];
    step->labels[k++] = label[j];
  }
  step->best = std::move(best);
  step->before = std::move(tape);
  tape = std::move(step);
  gone_[i] = 1;
}

// Adds to the other end what a variable of one edge costs at best.
void Problem::eliminate_leaf(int32_t i, int32_t e) {
  const int32_t j = other_end(edges[e], i), own = labels_of(i), others = labels_of(j);
  std::vector<int32_t> best(others);
  double largest = 0;
  for (int32_t c = 0; c < others; ++c) {
    double least = kInfinity;
    for (int32_t a = 0; a < own; ++a) {
      const double value = sum_below(energy[i][a], entry(edges[e], i, a, c));
      if (value < least) least = value, best[c] = label[i][a];
    }
    energy[j][c] = sum_below(energy[j][c], least);
    if (least < kInfinity) largest = std::max(largest, std::abs(least));
  }
  error[j] += error[i] + edges[e].error + 2.1 * kUnit * largest + rounding_of(energy[j]);
  put_on_tape(i, {j}, std::move(best));
  remove_edge(e);
}

// Joins two neighbours by what the variable between them costs at best. The messages it sent
// them go along, so that the bound does not fall.
void Problem::eliminate_between(int32_t i, int32_t first, int32_t second) {
  int32_t e = incident[i][0], f = incident[i][1];
  if (first != other_end(edges[e], i)) std::swap(e, f);
  const int64_t own = labels_of(i), rows = labels_of(first), columns = labels_of(second);
  std::vector<double> table(rows * columns, kInfinity);
  std::vector<int32_t> best(rows * columns, label[i][0]);
  // Rows over the labels of i, one per label of a neighbour.
  const double* left = columns_of(edges[e], i);
  const double* right = columns_of(edges[f], i);
  std::vector<double> partial(own);
  double largest = 0;
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t a = 0; a < own; ++a) partial[a] = energy[i][a] + left[p * own + a];
    for (int64_t q = 0; q < columns; ++q) {
      const double* row = right + q * own;
      double least = kInfinity;
      int64_t chosen = 0;
      for (int64_t a = 0; a < own; ++a) {
        const double value = partial[a] + row[a];
        if (value < least) least = value, chosen = a;
      }
      // Two sums of three terms, each rounded by half a unit of numbers up to `size`.
      const double size =
          std::abs(energy[i][chosen]) + std::abs(left[p * own + chosen]) + std::abs(row[chosen]);
      table[p * columns + q] = least < kInfinity ? least - 2.1 * kUnit * size : kInfinity;
      if (least < kInfinity) largest = std::max(largest, size);
      best[p * columns + q] = label[i][chosen];
    }
  }
  const std::vector<double> to_first = edges[e].message[edges[e].ends[0] == i];
  const std::vector<double> to_second = edges[f].message[edges[f].ends[0] == i];
  const double rounded = error[i] + edges[e].error + edges[f].error + 4.2 * kUnit * largest;
  put_on_tape(i, {first, second}, std::move(best));
  remove_edge(e);
  remove_edge(f);
  int32_t joined = find_edge(first, second);
  if (joined < 0) {
    joined = add_edge(first, second, std::move(table));
  } else {
    auto& sum = edges[joined].table;
    for (size_t k = 0; k < sum.size(); ++k) sum[k] = sum_below(sum[k], table[k]);
    edges[joined].error += rounding_of(sum);
  }
  Edge& edge = edges[joined];
  edge.error += rounded;
  turn(edge);
  for (int64_t a = 0; a < rows; ++a) edge.message[0][a] += to_first[a];
  for (int64_t a = 0; a < columns; ++a) edge.message[1][a] += to_second[a];
}

bool Problem::eliminate(int32_t i, int max_degree, std::vector<int32_t>& touched, Record* record,
                        Control& control) {
  constexpr int64_t kMost = 200'000;  // entries looked at to eliminate between two others
  const auto degree = static_cast<int>(incident[i].size());
  touched.clear();
  for (int32_t e : incident[i]) touched.push_back(other_end(edges[e], i));
  if (labels_of(i) == 1) {
    if (record) record->add(Record::kEliminated, variable[i]);
    const std::vector<int32_t> around = incident[i];
    for (int32_t e : around) {
      const int32_t j = other_end(edges[e], i);
      for (int32_t c = 0; c < labels_of(j); ++c) {
        energy[j][c] = sum_below(energy[j][c], entry(edges[e], i, 0, c));
      }
      error[j] += edges[e].error + rounding_of(energy[j]);
      remove_edge(e);
    }
    add_base(energy[i][0]);
    put_on_tape(i, {}, {label[i][0]});
    return true;
  }
  if (degree > max_degree || degree > 2) return false;
  if (degree == 0) {
    if (record) record->add(Record::kEliminated, variable[i]);
    const auto best = std::min_element(energy[i].begin(), energy[i].end()) - energy[i].begin();
    add_base(energy[i][best]);
    put_on_tape(i, {}, {label[i][best]});
    return true;
  }
  if (degree == 1) {
    if (record) record->add(Record::kEliminated, variable[i]);
    eliminate_leaf(i, incident[i][0]);
    return true;
  }
  const int32_t first = std::min(touched[0], touched[1]), second = std::max(touched[0], touched[1]);
  const int64_t work = static_cast<int64_t>(labels_of(i)) * labels_of(first) * labels_of(second);
  if (work > kMost) return false;
  control.spend(work);
  if (record) record->add(Record::kEliminated, variable[i]);
  eliminate_between(i, first, second);
  return true;
}

bool Problem::reduce(int max_degree, Record* record, Control& control) {
  favourite_.resize(size());
  for (int32_t i = 0; i < size(); ++i) find_favourite(i);
  bool possible = true;
  try {
    possible = reduce_all(max_degree, record, control);
  } catch (...) {
    compact();  // what was done stays
    throw;
  }
  compact();
  return possible;
}

bool Problem::reduce_all(int max_degree, Record* record, Control& control) {
  std::vector<int32_t> queue(size()), touched;
  std::vector<uint8_t> queued(size(), 1);
  std::iota(queue.begin(), queue.end(), 0);
  for (size_t at = 0; at < queue.size(); ++at) {
    const int32_t i = queue[at];
    control.poll();
    queued[i] = 0;
    if (gone_[i]) continue;
    bool changed = false;
    if (!drop_impossible(i, changed, record)) return false;
    while (drop_dominated(i, record, control)) changed = true;
    if (!eliminate(i, max_degree, touched, record, control) && !changed) continue;
    for (int32_t j : touched) {
      if (!queued[j] && !gone_[j]) queued[j] = 1, queue.push_back(j);
    }
  }
  return true;
}

void Problem::compact() {
  favourite_.clear();
  std::vector<int32_t> place(size(), -1), edge_place(edges.size(), -1);
  int32_t count = 0;
  for (int32_t i = 0; i < size(); ++i) {
    if (gone_[i]) continue;
    place[i] = count;
    if (count != i) {
      variable[count] = variable[i];
      label[count] = std::move(label[i]);
      energy[count] = std::move(energy[i]);
      error[count] = error[i];
      incident[count] = std::move(incident[i]);
    }
    ++count;
  }
  variable.resize(count);
  label.resize(count);
  energy.resize(count);
  error.resize(count);
  incident.resize(count);
  int32_t kept = 0;
  for (size_t e = 0; e < edges.size(); ++e) {
    if (edge_gone_[e]) continue;
    edge_place[e] = kept;
    if (static_cast<size_t>(kept) != e) edges[kept] = std::move(edges[e]);
    for (int32_t& i : edges[kept].ends) i = place[i];
    ++kept;
  }
  edges.resize(kept);
  for (auto& list : incident) {
    for (int32_t& e : list) e = edge_place[e];
  }
  gone_.assign(count, 0);
  edge_gone_.assign(kept, 0);
}

std::vector<int32_t> Problem::lift(std::span<const int32_t> state) const {
  std::vector<int32_t> full(num_inputs, 0);
  for (int32_t i = 0; i < size(); ++i) full[variable[i]] = label[i][state[i]];
  for (const Eliminated* step = tape.get(); step; step = step->before.get()) {
    size_t at = 0;
    for (int k = 0; k < 2 && step->others[k] >= 0; ++k) {
      const auto& labels = step->labels[k];
      const auto here = std::find(labels.begin(), labels.end(), full[step->others[k]]);
      at = at * labels.size() + static_cast<size_t>(here - labels.begin());
    }
    full[step->variable] = step->best[std::min(at, step->best.size() - 1)];
  }
  return full;
}

}  // namespace planaris::labels
