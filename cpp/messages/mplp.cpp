#include "messages/mplp.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/constants.hpp"
#include "base/min_plus.hpp"

namespace planaris {

namespace {

void turn(std::span<const double> table, int32_t rows, int32_t columns, std::span<double> out) {
  for (int32_t a = 0; a < rows; ++a) {
    for (int32_t b = 0; b < columns; ++b) out[b * rows + a] = table[a * columns + b];
  }
}

}  // namespace

MessagePassing::MessagePassing(std::vector<int32_t> cardinalities,
                               std::span<const double> node_energies,
                               std::span<const int32_t> edges,
                               std::span<const double> edge_energies, Control& control)
    : cards_(std::move(cardinalities)) {
  offsets_.push_back(0);
  for (int32_t k : cards_) {
    if (k < 1) throw std::invalid_argument("cardinalities must be positive");
    offsets_.push_back(offsets_.back() + k);
  }
  if (static_cast<int64_t>(node_energies.size()) != offsets_.back()) {
    throw std::invalid_argument("one energy per label");
  }
  energy_.assign(node_energies.begin(), node_energies.end());
  belief_ = energy_;
  incident_.resize(cards_.size());
  behind_.resize(cards_.size());
  ahead_.resize(cards_.size());
  std::vector<std::array<int32_t, 2>> degree(cards_.size());
  int64_t room = 0;
  size_t entries = 0;
  for (size_t k = 0; k + 1 < edges.size(); k += 2) {
    const int32_t u = edges[k], v = edges[k + 1];
    if (u < 0 || u >= v || v >= num_variables()) throw std::invalid_argument("edges must be u < v");
    ++degree[u][0];
    ++degree[v][1];
    room += room_of(u, v);
    entries += static_cast<size_t>(cards_[u]) * cards_[v];
    if (entries > edge_energies.size()) throw std::invalid_argument("edge tables are too short");
  }
  if (entries < edge_energies.size()) throw std::invalid_argument("edge tables are too long");
  for (size_t i = 0; i < cards_.size(); ++i) {
    control.spend(32);
    incident_[i].reserve(degree[i][0] + degree[i][1]);
    ahead_[i].reserve(degree[i][0]);
    behind_[i].reserve(degree[i][1]);
  }
  numbers_.reserve(room);
  edges_.reserve(edges.size() / 2);
  size_t at = 0;
  for (size_t k = 0; k + 1 < edges.size(); k += 2) {
    const int32_t u = edges[k], v = edges[k + 1];
    const size_t size = static_cast<size_t>(cards_[u]) * cards_[v], from = numbers_.size();
    control.spend(static_cast<int64_t>(4 * size) + 32);
    numbers_.resize(from + room_of(u, v));  // there is room: nothing moves
    add_edge(u, v, edge_energies.subspan(at, size), std::span(numbers_).subspan(from));
    at += size;
  }
  set_alive(std::vector<uint8_t>(num_labels(), 1));
}

int64_t MessagePassing::room_of(int32_t u, int32_t v) const {
  return 3 * static_cast<int64_t>(cards_[u]) * cards_[v] + cards_[u] + cards_[v];
}

int32_t MessagePassing::add_edge(int32_t u, int32_t v, std::span<const double> energies,
                                 std::span<double> room) {
  const size_t rows = cards_[u], columns = cards_[v], size = rows * columns;
  Edge edge;
  edge.ends = {u, v};
  if (room.empty()) {
    edge.own.assign(room_of(u, v), 0.0);
    room = edge.own;
  }
  edge.table = room.subspan(size, size);
  edge.turned = room.subspan(2 * size, size);
  edge.message[0] = room.subspan(3 * size, rows);
  edge.message[1] = room.subspan(3 * size + rows, columns);
  if (!energies.empty()) {
    edge.given = room.first(size);
    std::copy(energies.begin(), energies.end(), edge.given.begin());
    std::copy(energies.begin(), energies.end(), edge.table.begin());
    turn(edge.table, cards_[u], cards_[v], edge.turned);
  }
  const int32_t e = num_edges();
  edges_.push_back(std::move(edge));
  incident_[u].push_back(e);
  incident_[v].push_back(e);
  ahead_[u].push_back(e);
  behind_[v].push_back(e);
  return e;
}

int32_t MessagePassing::find_edge(int32_t u, int32_t v) const {
  const auto& list = incident_[u].size() < incident_[v].size() ? incident_[u] : incident_[v];
  for (int32_t e : list) {
    if (edges_[e].ends[0] == u && edges_[e].ends[1] == v) return e;
  }
  return -1;
}

void MessagePassing::set_alive(std::span<const uint8_t> alive) {
  if (static_cast<int64_t>(alive.size()) != num_labels()) throw std::invalid_argument("alive");
  alive_.assign(alive.begin(), alive.end());
  for (int64_t k = 0; k < num_labels(); ++k) {
    if (energy_[k] == kInfinity) alive_[k] = 0;
  }
  // Beliefs from scratch: no drift, and labels that were dead may be back.
  belief_ = energy_;
  for (Edge& edge : edges_) {
    for (int side : {0, 1}) {
      for (int32_t a = 0; a < cards_[edge.ends[side]]; ++a) {
        double& m = edge.message[side][a];
        if (!std::isfinite(m)) m = 0;
        belief_[offsets_[edge.ends[side]] + a] += m;
      }
    }
  }
  feasible_ = true;
  for (int32_t i = 0; i < num_variables(); ++i) {
    bool any = false;
    for (int64_t k = offsets_[i]; k < offsets_[i + 1]; ++k) {
      if (!alive_[k]) belief_[k] = kInfinity;
      any |= alive_[k] != 0;
    }
    feasible_ &= any;
  }
}

// Takes all energy that edges can give to the variable. False when no label is left.
bool MessagePassing::pull(int32_t i, const std::vector<int32_t>& edges) {
  double* belief = &belief_[offsets_[i]];
  uint8_t* alive = &alive_[offsets_[i]];
  fresh_.resize(std::max<size_t>(fresh_.size(), cards_[i]));
  double* fresh = fresh_.data();
  for (int32_t e : edges) {
    Edge& edge = edges_[e];
    const int side = edge.ends[1] == i, other = edge.ends[1 - side];
    const double* table = side ? edge.table.data() : edge.turned.data();
    const uint8_t* other_alive = &alive_[offsets_[other]];
    std::fill(fresh, fresh + cards_[i], kInfinity);
    for (int32_t b = 0; b < cards_[other]; ++b) {
      if (!other_alive[b]) continue;
      lower_by_row(fresh, table + static_cast<int64_t>(b) * cards_[i], edge.message[1 - side][b],
                   cards_[i]);
    }
    for (int32_t a = 0; a < cards_[i]; ++a) {
      if (!alive[a]) continue;
      if (fresh[a] == kInfinity) {  // no partner: the label is impossible
        alive[a] = 0;
        belief[a] = kInfinity;
        continue;
      }
      belief[a] += fresh[a] - edge.message[side][a];
      edge.message[side][a] = fresh[a];
    }
  }
  return std::any_of(alive, alive + cards_[i], [](uint8_t x) { return x != 0; });
}

// Gives a share of the variable's energy to each of the edges.
void MessagePassing::push(int32_t i, const std::vector<int32_t>& edges, double share) {
  double* belief = &belief_[offsets_[i]];
  const double rest = 1 - share * static_cast<double>(edges.size());
  for (int32_t e : edges) {
    Edge& edge = edges_[e];
    const auto message = edge.message[edge.ends[1] == i];
    for (int32_t a = 0; a < cards_[i]; ++a) {
      if (belief[a] < kInfinity) message[a] -= share * belief[a];
    }
  }
  for (int32_t a = 0; a < cards_[i]; ++a) {
    if (belief[a] < kInfinity) belief[a] *= std::max(rest, 0.0);
  }
}

void MessagePassing::spread(int32_t i) {
  if (!incident_[i].empty()) push(i, incident_[i], 1.0 / static_cast<double>(incident_[i].size()));
}

double MessagePassing::edge_minimum(const Edge& edge) const {
  const int32_t u = edge.ends[0], v = edge.ends[1];
  double best = kInfinity;
  for (int32_t a = 0; a < cards_[u]; ++a) {
    if (!alive_[offsets_[u] + a]) continue;
    const double* row = &edge.table[static_cast<int64_t>(a) * cards_[v]];
    for (int32_t b = 0; b < cards_[v]; ++b) {
      if (!alive_[offsets_[v] + b]) continue;
      best = std::min(best, row[b] - edge.message[0][a] - edge.message[1][b]);
    }
  }
  return best;
}

double MessagePassing::plain_bound(Control& control) const {
  if (!feasible_) return kInfinity;
  double total = 0;
  for (int32_t i = 0; i < num_variables(); ++i) {
    total += *std::min_element(&belief_[offsets_[i]], &belief_[0] + offsets_[i + 1]);
  }
  for (const Edge& edge : edges_) {
    control.spend(static_cast<int64_t>(edge.table.size()));
    total += edge_minimum(edge);
  }
  return total;
}

double MessagePassing::run(int32_t rounds, double tolerance, Control& control) {
  if (!feasible_) return kInfinity;
  double before = -kInfinity;
  for (int32_t round = 0; round < rounds; ++round) {
    for (Triplet& triplet : triplets_) {
      control.spend(steps(triplet));
      update_triplet(triplet);
    }
    // Before triplets, leave the energy in the edges, where they can use it.
    if (!sweep(0, false, control) || !sweep(1, !triplets_.empty(), control)) return kInfinity;
    const double now = plain_bound(control);
    if (now - before < tolerance) break;
    before = now;
  }
  // decode() reads messages as a plain backward sweep leaves them.
  if (!triplets_.empty() && !(sweep(0, false, control) && sweep(1, false, control))) {
    return kInfinity;
  }
  return plain_bound(control);
}

// To go through all labels of a variable, with its edges.
int64_t MessagePassing::steps(int32_t variable) const {
  return 4 + 2 * cards_[variable] * static_cast<int64_t>(incident_[variable].size() + 1);
}

int64_t MessagePassing::steps(const Triplet& triplet) const {
  int64_t product = 3;
  for (const int32_t i : triplet.variable) product *= cards_[i];
  return product;
}

// One sweep over all variables, forward (0) or backward (1). False when no state is left.
bool MessagePassing::sweep(int direction, bool spread_all, Control& control) {
  const auto& take = direction ? ahead_ : behind_;
  const auto& give = direction ? behind_ : ahead_;
  for (int32_t k = 0; k < num_variables(); ++k) {
    const int32_t i = direction ? num_variables() - 1 - k : k;
    int64_t work = 1 + static_cast<int64_t>(take[i].size() + give[i].size()) * cards_[i];
    for (const int32_t e : take[i]) work += static_cast<int64_t>(edges_[e].table.size());
    control.spend(work);
    if (!pull(i, take[i])) return feasible_ = false;
    if (spread_all) {
      spread(i);
    } else if (!give[i].empty()) {
      push(i, give[i], 1.0 / static_cast<double>(std::max(take[i].size(), give[i].size())));
    }
  }
  return true;
}

// f_e + triplets - messages, +infinity where a label is dead.
void MessagePassing::fill_residual(const Edge& edge, std::vector<double>& out) const {
  const int32_t u = edge.ends[0], v = edge.ends[1], columns = cards_[v];
  out.resize(edge.table.size());
  for (int32_t a = 0; a < cards_[u]; ++a) {
    for (int32_t b = 0; b < columns; ++b) {
      const bool live = alive_[offsets_[u] + a] && alive_[offsets_[v] + b];
      const int64_t k = static_cast<int64_t>(a) * columns + b;
      out[k] = live ? edge.table[k] - edge.message[0][a] - edge.message[1][b] : kInfinity;
    }
  }
}

namespace {

// out[x][y] = min over z of left[x][z] + right[z][y].
void min_plus(const std::vector<double>& left, const std::vector<double>& right, int32_t rows,
              int32_t inner, int32_t columns, std::vector<double>& out) {
  out.assign(static_cast<size_t>(rows) * columns, kInfinity);
  for (int32_t x = 0; x < rows; ++x) {
    for (int32_t z = 0; z < inner; ++z) {
      const double value = left[static_cast<int64_t>(x) * inner + z];
      if (value == kInfinity) continue;
      lower_by_row(&out[static_cast<int64_t>(x) * columns],
                   &right[static_cast<int64_t>(z) * columns], -value, columns);
    }
  }
}

}  // namespace

// Min-marginals of all the energy of the triplet and its edges, a third to each edge.
void MessagePassing::update_triplet(Triplet& t) {
  const int32_t n[3] = {cards_[t.variable[0]], cards_[t.variable[1]], cards_[t.variable[2]]};
  auto& own = own_;
  auto& turned = turned_;
  auto& through = through_;
  for (int k = 0; k < 3; ++k) {
    fill_residual(edges_[t.edge[k]], own[k]);
    for (size_t p = 0; p < own[k].size(); ++p) own[k][p] -= t.given[k][p];
    turned[k].resize(own[k].size());
  }
  turn(own[0], n[0], n[1], turned[0]);  // [1][0]
  turn(own[2], n[1], n[2], turned[2]);  // [2][1]
  for (int k = 0; k < 3; ++k) {
    if (k == 0) min_plus(own[1], turned[2], n[0], n[2], n[1], through);
    if (k == 1) min_plus(own[0], own[2], n[0], n[1], n[2], through);
    if (k == 2) min_plus(turned[0], own[1], n[1], n[0], n[2], through);
    double largest = 0;
    for (size_t p = 0; p < through.size(); ++p) {
      through[p] += own[k][p];
      if (through[p] < kInfinity) largest = std::max(largest, through[p]);
    }
    Edge& edge = edges_[t.edge[k]];
    const int32_t rows = cards_[edge.ends[0]], columns = cards_[edge.ends[1]];
    for (int32_t a = 0; a < rows; ++a) {
      for (int32_t b = 0; b < columns; ++b) {
        const int64_t p = static_cast<int64_t>(a) * columns + b;
        if (own[k][p] == kInfinity) continue;
        // Pairs without a third partner are as bad as the worst possible one.
        const double share = std::min(through[p], largest) / 3;
        const double fresh = share - own[k][p];
        const double change = fresh - t.given[k][p];
        t.given[k][p] = fresh;
        edge.table[p] += change;
        edge.turned[static_cast<int64_t>(b) * rows + a] += change;
      }
    }
  }
}

bool MessagePassing::add_triplet(int32_t a, int32_t b, int32_t c) {
  std::array<int32_t, 3> v{a, b, c};
  std::sort(v.begin(), v.end());
  if (v[0] < 0 || v[0] == v[1] || v[1] == v[2] || v[2] >= num_variables()) {
    throw std::invalid_argument("a triplet needs three variables");
  }
  if (!known_.insert(v).second) return false;
  Triplet t;
  std::copy(v.begin(), v.end(), t.variable);
  constexpr int kEnds[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  for (int k = 0; k < 3; ++k) {
    const int32_t u = v[kEnds[k][0]], w = v[kEnds[k][1]];
    const size_t size = static_cast<size_t>(cards_[u]) * cards_[w];
    t.edge[k] = find_edge(u, w);
    if (t.edge[k] < 0) t.edge[k] = add_edge(u, w, {}, {});
    t.given[k].assign(size, 0.0);
  }
  triplets_.push_back(std::move(t));
  return true;
}

}  // namespace planaris
