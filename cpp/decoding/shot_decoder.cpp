#include "decoding/shot_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "base/team.hpp"

namespace planaris {

namespace {

constexpr int64_t kChunk = 64;        // shots of a task
constexpr int64_t kShotsPerLook = 8;  // at the clock

// Eight bytes, or the `count` that are left of a row.
uint64_t word_of(const uint8_t* bytes, int64_t count) {
  uint64_t word = 0;
  if (count >= 8) {
    std::memcpy(&word, bytes, 8);
  } else {
    for (int64_t k = 0; k < count; ++k) word |= uint64_t(bytes[k]) << (8 * k);
  }
  return word;
}

template <class Visit>
void each_bit(const uint8_t* bits, int64_t bytes, Visit&& visit) {
  for (int64_t at = 0; at < bytes; at += 8) {
    for (uint64_t word = word_of(bits + at, bytes - at); word != 0; word &= word - 1) {
      visit(int32_t(8 * at + std::countr_zero(word)));
    }
  }
}

bool parity_of(const uint8_t* a, const uint8_t* b, int64_t bytes) {
  uint64_t folded = 0;
  for (int64_t at = 0; at < bytes; at += 8) {
    folded ^= word_of(a + at, bytes - at) & word_of(b + at, bytes - at);
  }
  return std::popcount(folded) & 1;
}

}  // namespace

class ShotMatcher::Worker {
 public:
  Worker(const DecodingEdges& edges, const TJoinWeights& weights)
      : edges_(edges), weights_(weights), solver_(prepare_tjoins(problem(weights))) {}

  // The lightest error of a shot, in `join`; returns -1, or a vertex that cannot be joined.
  int32_t find(const ShotRows& shots, int64_t shot, int observable) {
    const uint8_t* row = shots.bits + shot * shots.bytes;
    odd_.clear();
    each_bit(row, shots.bytes, [this](int32_t v) { odd_.push_back(v); });
    potential_ = !edges_.potential.empty() && parity_of(row, edges_.potential.data(), shots.bytes);
    if (observable >= 0 && (observable != 0) != potential_) odd_.push_back(edges_.parity_vertex);
    join.clear();
    const std::span<const int32_t> erased = shots.erased(shot);
    if (erased.empty()) {
      digits_.clear();
      return solver_->solve(odd_, quiet_, join, digits_);
    }
    TJoinWeights changed = weights_;
    for (const int32_t e : erased) changed.mantissas[e] = 0;
    TJoinProblem p = problem(changed);
    p.odd = odd_;
    TJoinSolution found = minimum_tjoin(p, nullptr, quiet_);
    join = std::move(found.join);
    return found.infeasible;
  }

  double weight(std::span<const int32_t> erased) const {
    double sum = 0.0;
    for (const int32_t e : join) {
      if (!std::binary_search(erased.begin(), erased.end(), e)) sum += edges_.weight[e];
    }
    return sum;
  }

  void flips(uint8_t* to) const {
    const int32_t width = edges_.mask_bytes;
    std::fill(to, to + width, uint8_t(0));
    for (const int32_t e : join) {
      for (int32_t b = 0; b < width; ++b) to[b] ^= edges_.mask[size_t(e) * width + b];
    }
    if (potential_) to[0] ^= 1;
  }

  std::vector<int32_t> join;
  std::vector<JoinChange> changes;
  std::function<void()> look;  // for bodies that take long; it may throw

 private:
  TJoinProblem problem(const TJoinWeights& weights) const {
    return {edges_.num_vertices, edges_.ends, &weights, {}, edges_.boundary};
  }

  const DecodingEdges& edges_;
  const TJoinWeights& weights_;
  std::unique_ptr<TJoinSolver> solver_;
  Control quiet_;
  std::vector<int32_t> odd_;
  std::vector<int64_t> digits_;
  bool potential_ = false;
};

ShotMatcher::ShotMatcher(DecodingEdges edges)
    : edges_(std::move(edges)), weights_(rounded_weights(edges_.weight)) {
  flipped_.reserve(edges_.weight.size());
  for (const double w : edges_.weight) {
    const double rest = -std::expm1(-2 * w);
    flipped_.push_back({std::exp(-2 * w) / rest, std::log(rest) + w});
  }
  give(take());  // broken graphs are refused here
}
ShotMatcher::~ShotMatcher() = default;

std::unique_ptr<ShotMatcher::Worker> ShotMatcher::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>(edges_, weights_);
}

void ShotMatcher::give(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

namespace {

// Runs body(worker, matcher's worker, shot) over all shots. A body returns a vertex that cannot
// be joined, or -1; the first shot with one is returned.
template <class Body>
Impossible for_shots(ShotMatcher& matcher, int64_t count, int threads, Control& control,
                     Body&& body) {
  const int64_t chunks = (count + kChunk - 1) / kChunk;
  Team team(int(std::min<int64_t>(threads, std::max<int64_t>(chunks, 1))), control);
  std::vector<Impossible> found(chunks);
  std::vector<std::unique_ptr<ShotMatcher::Worker>> workers(team.threads());
  for (int k = 0; k < team.threads(); ++k) {
    workers[k] = matcher.take();
    workers[k]->look = [&team, k] { team.check(k); };
  }
  team.work(size_t(chunks), [&](int worker, int chunk) {
    team.check(worker, double(chunk) / double(chunks));
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    for (int64_t shot = chunk * kChunk; shot < end; ++shot) {
      if (shot % kShotsPerLook == kShotsPerLook - 1) team.check(worker);
      const int32_t vertex = body(worker, *workers[worker], shot);
      if (vertex < 0) continue;
      found[chunk] = {shot, vertex};
      break;
    }
  });
  for (auto& worker : workers) matcher.give(std::move(worker));
  for (const Impossible& each : found) {
    if (each.shot >= 0) return each;
  }
  return {};
}

// Edges of the reference error and erased ones as changes of joins; what they multiply P with.
double list_changes(const ShotMatcher& matcher, const CosetEdges& coset,
                    std::span<const int32_t> join, std::span<const int32_t> erased,
                    std::vector<JoinChange>& changes) {
  const DecodingEdges& edges = matcher.edges();
  double log_factor = 0.0;
  changes.clear();
  const auto is_erased = [&](int32_t e) {
    return std::binary_search(erased.begin(), erased.end(), e);
  };
  for (const int32_t e : join) {
    const double w = edges.weight[e];
    if (w == 0.0 || (!erased.empty() && is_erased(e))) continue;  // flipping changes nothing
    if (coset.place[e] < 0) {
      log_factor -= w;
      continue;
    }
    const FlippedEdge& flipped = matcher.flipped(e);
    log_factor += flipped.log_factor;
    changes.push_back({coset.place[e], flipped.ratio, -2 * w});
  }
  for (const int32_t e : erased) {
    const double w = edges.weight[e];
    // Of P = Π (1 - p) …, 1 - p became ½.
    log_factor += std::log1p(std::exp(-w)) - 0.6931471805599453;
    if (w == 0.0 || coset.place[e] < 0) continue;
    const double rest = -std::expm1(-w);  // t = exp(-w)
    log_factor += std::log(rest) + w;
    changes.push_back({coset.place[e], std::exp(-w) / rest, -w});
  }
  return log_factor;
}

void sort_changes(std::vector<JoinChange>& changes) {
  const auto before = [](const JoinChange& a, const JoinChange& b) { return a.edge < b.edge; };
  if (!std::is_sorted(changes.begin(), changes.end(), before)) {
    std::sort(changes.begin(), changes.end(), before);
  }
}

}  // namespace

Matches ShotMatcher::match(const ShotRows& shots, int observable, bool keep_edges, int threads,
                           Control& control) {
  Matches result;
  const int32_t width = edges_.mask_bytes;
  result.flips.resize(size_t(shots.count) * width);
  result.weight.resize(shots.count);
  std::vector<std::vector<int32_t>> kept(keep_edges ? shots.count : 0);
  result.impossible =
      for_shots(*this, shots.count, threads, control, [&](int, Worker& worker, int64_t shot) {
        const int32_t vertex = worker.find(shots, shot, observable);
        if (vertex >= 0) return vertex;
        worker.flips(&result.flips[size_t(shot) * width]);
        result.weight[shot] = worker.weight(shots.erased(shot));
        if (keep_edges) kept[shot] = worker.join;
        return -1;
      });
  if (keep_edges) {
    result.offsets.push_back(0);
    for (const auto& join : kept) {
      result.edges.insert(result.edges.end(), join.begin(), join.end());
      result.offsets.push_back(int64_t(result.edges.size()));
    }
  }
  return result;
}

namespace {

// Shots of one worker that wait until a group is full.
class LaneQueue {
 public:
  LaneQueue(const DecodingEdges& edges, const CosetEdges& coset, const CosetKernels& kernels,
            ClassWeights& result)
      : edges_(edges), coset_(coset), kernels_(kernels), result_(result) {}

  void add(int64_t shot, std::span<const int32_t> join, std::span<const int32_t> erased) {
    std::vector<LaneChange> changes;
    double factor = 0.0;
    for (const int32_t e : join) {
      if (std::binary_search(erased.begin(), erased.end(), e)) continue;
      factor -= edges_.weight[e];
      if (coset_.place[e] >= 0) changes.push_back(kernels_.lanes->flipped(coset_.place[e]));
    }
    for (const int32_t e : erased) {
      factor += std::log1p(std::exp(-edges_.weight[e])) - 0.6931471805599453;  // 1 - p became ½
      if (coset_.place[e] >= 0) changes.push_back(kernels_.lanes->erased(coset_.place[e]));
    }
    shots_.push_back({shot, factor});
    changes_.push_back(std::move(changes));
  }

  bool is_full() const { return int64_t(shots_.size()) >= kGroups * kernels_.lanes->most(); }

  void take_over(LaneQueue& other) {
    shots_.insert(shots_.end(), other.shots_.begin(), other.shots_.end());
    for (auto& changes : other.changes_) changes_.push_back(std::move(changes));
    other.shots_.clear();
    other.changes_.clear();
  }

  int64_t groups() const {
    const int64_t most = kernels_.lanes->most();
    return (int64_t(shots_.size()) + most - 1) / most;
  }

  void run_group(int64_t group, LaneMemory& memory, const std::function<void()>& look) {
    const size_t most = size_t(kernels_.lanes->most()), first = size_t(group) * most;
    const size_t count = std::min(most, shots_.size() - first);
    std::vector<LaneCosets::Weight> found(count);
    kernels_.lanes->weigh(std::span(changes_).subspan(first, count), found, memory, look);
    for (size_t k = 0; k < count; ++k) {
      const auto [shot, factor] = shots_[first + k];
      result_.other[shot] = found[k].other;
      result_.log_weight[shot] = factor + found[k].log_sum - kernels_.log_pfaffian();
      result_.doubt[shot] = found[k].trusted ? 0.0 : std::numeric_limits<double>::quiet_NaN();
      result_.other_error[shot] = 0.0;
    }
  }

  void run_all(LaneMemory& memory, const std::function<void()>& look) {
    for (int64_t group = 0; group < groups(); ++group) run_group(group, memory, look);
    shots_.clear();
    changes_.clear();
  }

 private:
  // Matching and elimination take turns after so many groups: each has a cache to fill.
  static constexpr int64_t kGroups = 4;

  struct Waiting {
    int64_t shot;
    double factor;  // log of what the sum relative to the reference is multiplied by
  };

  const DecodingEdges& edges_;
  const CosetEdges& coset_;
  const CosetKernels& kernels_;
  ClassWeights& result_;
  std::vector<Waiting> shots_;
  std::vector<std::vector<LaneChange>> changes_;
};

// Runs what is left in the queues.
void run_queues(std::vector<LaneQueue>& queues, std::vector<LaneMemory>& memory, int threads,
                Control& control) {
  LaneQueue& all = queues.front();
  for (size_t k = 1; k < queues.size(); ++k) all.take_over(queues[k]);
  const int64_t groups = all.groups();
  Team team(int(std::min<int64_t>(threads, std::max<int64_t>(groups, 1))), control);
  team.work(size_t(groups), [&](int worker, int group) {
    all.run_group(group, memory[worker], [&team, worker] { team.check(worker); });
  });
}

}  // namespace

ClassWeights weigh_classes(ShotMatcher& matcher, const CosetKernels& kernels,
                           const CosetEdges& coset, const ShotRows& shots, int threads,
                           Control& control) {
  ClassWeights result;
  const DecodingEdges& edges = matcher.edges();
  result.flips.resize(size_t(shots.count) * edges.mask_bytes);
  for (auto* numbers : {&result.other, &result.log_weight, &result.doubt, &result.other_error}) {
    numbers->resize(shots.count);
  }
  result.num_changes.resize(shots.count);
  const auto workers = size_t(std::max(threads, 1));
  std::vector<CosetUpdate> updates;
  if (kernels.inverse != nullptr) updates.assign(workers, CosetUpdate(*kernels.inverse));
  std::vector<LaneQueue> queues(kernels.lanes == nullptr ? 0 : workers,
                                LaneQueue(edges, coset, kernels, result));
  std::vector<LaneMemory> memory(kernels.lanes == nullptr ? 0 : workers);
  for (LaneMemory& each : memory) each = kernels.lanes->take_memory();
  const int32_t most_changes = kernels.inverse == nullptr ? -1
                               : kernels.lanes == nullptr
                                   ? coset.most_changes
                                   : std::min(coset.most_changes, kernels.lanes->worth_from());
  result.impossible =
      for_shots(matcher, shots.count, threads, control,
                [&](int number, ShotMatcher::Worker& worker, int64_t shot) {
                  const int32_t vertex = worker.find(shots, shot, -1);
                  if (vertex >= 0) return vertex;
                  worker.flips(&result.flips[size_t(shot) * edges.mask_bytes]);
                  const double factor =
                      list_changes(matcher, coset, worker.join, shots.erased(shot), worker.changes);
                  result.num_changes[shot] = int32_t(worker.changes.size());
                  if (result.num_changes[shot] > most_changes) {
                    result.doubt[shot] = std::numeric_limits<double>::quiet_NaN();
                    if (queues.empty()) return -1;
                    LaneQueue& queue = queues[number];
                    queue.add(shot, worker.join, shots.erased(shot));
                    if (queue.is_full()) queue.run_all(memory[number], worker.look);
                    return -1;
                  }
                  sort_changes(worker.changes);
                  const CosetWeight found =
                      updates[number].weigh(worker.changes, coset.logical, coset.careful);
                  result.other[shot] = found.other;
                  result.log_weight[shot] = factor + found.log_pivots;
                  result.doubt[shot] = found.doubt;
                  result.other_error[shot] = found.other_error;
                  return -1;
                });
  if (!queues.empty() && result.impossible.shot < 0) {
    run_queues(queues, memory, int(workers), control);
  }
  for (LaneMemory& each : memory) kernels.lanes->give_memory(std::move(each));
  return result;
}

ClassWeights weigh_classes_wide(ShotMatcher& matcher, const WideInverse& inverse,
                                const CosetEdges& coset, const ShotRows& shots, int threads,
                                Control& control) {
  ClassWeights result;
  const DecodingEdges& edges = matcher.edges();
  result.flips.resize(size_t(shots.count) * edges.mask_bytes);
  result.log_ratio.resize(shots.count);
  result.log_weight.resize(shots.count);
  result.doubt.resize(shots.count);
  result.impossible = for_shots(
      matcher, shots.count, threads, control, [&](int, ShotMatcher::Worker& worker, int64_t shot) {
        const int32_t vertex = worker.find(shots, shot, -1);
        if (vertex >= 0) return vertex;
        worker.flips(&result.flips[size_t(shot) * edges.mask_bytes]);
        const double factor =
            list_changes(matcher, coset, worker.join, shots.erased(shot), worker.changes);
        sort_changes(worker.changes);
        const WideWeight found = weigh_wide(inverse, worker.changes, coset.logical);
        result.log_ratio[shot] = found.log_same - found.log_other;
        result.log_weight[shot] = factor + found.log_pivots;
        result.doubt[shot] = found.doubt;
        return -1;
      });
  return result;
}

namespace {

// For a changed edge: P(part of the error), and what the sum over `pairs` takes it for.
struct ChangedEdge {
  double probability, counted;
};

ChangedEdge changed_edge(const EdgeInverse& inverse, const JoinChange& change, double alpha) {
  const double q = inverse.diagonal[change.edge];
  const double beta = 1.0 + change.ratio;  // 1 / (1 - t)
  const double a = change.ratio + q;
  return {-change.ratio * (1.0 + beta * alpha), q - a + 2 * beta + beta * beta * alpha};
}

}  // namespace

MechanismSums sum_mechanisms(ShotMatcher& matcher, const EdgeInverse& inverse,
                             const CosetEdges& coset, const ShotRows& shots,
                             std::span<const double> counts, int threads, Control& control,
                             Impossible& impossible) {
  const DecodingEdges& edges = matcher.edges();
  const size_t m = size_t(inverse.num_edges), legs = 2 * m;
  MechanismSums result;
  result.direct.assign(m, 0.0);
  result.pairs.assign(legs * legs, 0.0);
  result.bridges.assign(edges.weight.size(), 0.0);
  constexpr int64_t kRound = 1024;
  struct Inverted {
    std::vector<JoinChange> changes;
    std::vector<double> inverse;
    std::vector<int32_t> bridges;
    double log_weight = 0.0;
    bool sound = true;
  };
  std::vector<Inverted> round(size_t(std::min(kRound, shots.count)));
  std::vector<CosetUpdate> updates(size_t(std::max(threads, 1)), CosetUpdate(inverse));
  for (int64_t begin = 0; begin < shots.count; begin += kRound) {
    const int64_t size = std::min(kRound, shots.count - begin);
    impossible = for_shots(
        matcher, size, threads, control, [&](int number, ShotMatcher::Worker& worker, int64_t at) {
          Inverted& to = round[at];
          const int32_t vertex = worker.find(shots, begin + at, -1);
          if (vertex >= 0) return vertex;
          const double factor = list_changes(matcher, coset, worker.join, {}, to.changes);
          sort_changes(to.changes);
          to.bridges.clear();
          for (const int32_t e : worker.join) {
            if (coset.place[e] < 0) to.bridges.push_back(e);
          }
          const CosetWeight found = updates[number].weigh(to.changes, -1);
          to.log_weight = factor + found.log_pivots;
          to.sound = std::isfinite(found.doubt) && updates[number].invert(to.changes, to.inverse);
          return -1;
        });
    if (impossible.shot >= 0) {
      impossible.shot += begin;
      return result;
    }
    for (int64_t at = 0; at < size; ++at) {  // in order, whoever inverted them
      const Inverted& from = round[at];
      const double count = counts[begin + at];
      if (!from.sound) {
        ++result.failed;
        continue;
      }
      result.log_weight += count * from.log_weight;
      for (const int32_t e : from.bridges) result.bridges[e] += count;
      const size_t k = from.changes.size();
      for (size_t i = 0; i < k; ++i) {
        const size_t leg = 2 * size_t(from.changes[i].edge);
        const double* rows = &from.inverse[2 * i * 2 * k];
        for (size_t j = 0; j < k; ++j) {
          double* to = &result.pairs[leg * legs + 2 * size_t(from.changes[j].edge)];
          to[0] += count * rows[2 * j];
          to[1] += count * rows[2 * j + 1];
          to[legs] += count * rows[2 * k + 2 * j];
          to[legs + 1] += count * rows[2 * k + 2 * j + 1];
        }
        const ChangedEdge own = changed_edge(inverse, from.changes[i], rows[2 * i + 1]);
        result.direct[from.changes[i].edge] += count * (own.probability - own.counted);
      }
    }
  }
  return result;
}

std::vector<double> mechanism_probabilities(ShotMatcher& matcher, const EdgeInverse& inverse,
                                            const CosetEdges& coset, const ShotRows& shots,
                                            int threads, Control& control, Impossible& impossible) {
  const DecodingEdges& edges = matcher.edges();
  const size_t m = size_t(inverse.num_edges);
  std::vector<double> result(size_t(shots.count) * m);
  struct Scratch {
    CosetUpdate update;
    std::vector<double> inverse, even, odd, product;
  };
  std::vector<Scratch> scratch(size_t(std::max(threads, 1)),
                               Scratch{CosetUpdate(inverse), {}, {}, {}, {}});
  impossible = for_shots(
      matcher, shots.count, threads, control,
      [&](int number, ShotMatcher::Worker& worker, int64_t shot) {
        Scratch& s = scratch[number];
        const int32_t vertex = worker.find(shots, shot, -1);
        if (vertex >= 0) return vertex;
        list_changes(matcher, coset, worker.join, {}, worker.changes);
        sort_changes(worker.changes);
        double* row = &result[size_t(shot) * m];
        const size_t k = worker.changes.size(), n = 2 * k;
        if (!s.update.invert(worker.changes, s.inverse)) {
          std::fill(row, row + m, std::numeric_limits<double>::quiet_NaN());
          return -1;
        }
        // Columns S_R,2e and S_R,2e+1 of all edges, side by side.
        s.even.assign(n * m, 0.0);
        s.odd.assign(n * m, 0.0);
        for (size_t i = 0; i < k; ++i) {
          const int32_t r = worker.changes[i].edge;
          double *e0 = &s.even[2 * i * m], *e1 = e0 + m, *o0 = &s.odd[2 * i * m], *o1 = o0 + m;
          for (int32_t f = 0; f < int32_t(m); ++f) {
            if (f == r) continue;
            const double* b = inverse.block(std::min(r, f), std::max(r, f));
            e0[f] = r < f ? b[0] : -b[0];
            e1[f] = r < f ? b[2] : -b[1];
            o0[f] = r < f ? b[1] : -b[2];
            o1[f] = r < f ? b[3] : -b[3];
          }
        }
        std::copy(inverse.diagonal.begin(), inverse.diagonal.end(), row);
        s.product.resize(m);
        for (size_t i = 0; i < n; ++i) {
          std::fill(s.product.begin(), s.product.end(), 0.0);
          for (size_t j = 0; j < n; ++j) {
            const double c = s.inverse[i * n + j];
            const double* from = &s.odd[j * m];
            for (size_t f = 0; f < m; ++f) s.product[f] += c * from[f];
          }
          // S_2e,i = -S_i,2e
          const double* even = &s.even[i * m];
          for (size_t f = 0; f < m; ++f) row[f] += even[f] * s.product[f];
        }
        for (size_t i = 0; i < k; ++i) {
          row[worker.changes[i].edge] =
              changed_edge(inverse, worker.changes[i], s.inverse[2 * i * n + 2 * i + 1])
                  .probability;
        }
        for (const int32_t e : worker.join) {  // odds one: flipped, but no change of the matrix
          const int32_t at = coset.place[e];
          if (at >= 0 && edges.weight[e] == 0.0) row[at] = 1.0 - row[at];
        }
        return -1;
      });
  return result;
}

}  // namespace planaris
