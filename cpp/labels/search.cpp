#include "labels/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/constants.hpp"
#include "base/splitmix64.hpp"

namespace planaris::labels {

namespace {

// Sweeps between two bounds, and what a bound has to gain of the gap to go on, at the root and
// below it; how often it may gain less.
constexpr int kRootSweeps = 5, kNodeSweeps = 3;
constexpr double kRootGain = 0.01, kNodeGain = 0.05;
constexpr int kRootPatience = 3, kNodePatience = 0;

constexpr int64_t kManyLabels = 50;  // one label in so many dropped counts as a gain

constexpr double kRounding = 1e-12;  // of the size of energies, blurs them
constexpr double kRounded = 1e-5;    // part of a constant that counts as the size of energies

constexpr double kCharge = 1e-5;  // part of the tolerance that a dominated label may cost

constexpr int64_t kManyNodes = 1000;

// Parts of a model that are solved given the rest: how many variables, how many nodes.
constexpr size_t kLeastPart = 50, kMostPart = 1600;
constexpr int64_t kPartNodes = 20;
constexpr size_t kPartPatience = 20;
constexpr double kLeastShare = 0.1, kMostShare = 1.0;

constexpr int kMaxDegree = 2;  // of variables that are eliminated

}  // namespace

Search::Search(const Factors& factors, const SearchOptions& options, Control& control)
    : options_(options), sizes_(sizes_of(factors)), graph_(factors) {
  Problem problem(factors, control);
  problem.charge = kCharge * options.tolerance;
  hand_.emplace(Node{std::move(problem), -kInfinity, new_record(), 0, 0});
}

int32_t Search::new_record() {
  if (!options_.prove) return -1;
  records_.emplace_back();
  return static_cast<int32_t>(records_.size()) - 1;
}

double Search::lower() const {
  double least = finished_;
  if (hand_) least = std::min(least, hand_->bound);
  if (!open_.empty()) least = std::min(least, open_.begin()->first.first);
  return std::min(least, upper_);
}

void Search::note() {
  const double low = lower();
  if (!trace_.empty() && trace_.back().lower == low && trace_.back().upper == upper_) return;
  const std::chrono::duration<double> spent = Control::Clock::now() - started_;
  trace_.push_back({spent.count(), low, upper_});
}

// How close to the best energy bounds count as equal to it. In a better state no factor lies
// further above its least energy than the best state does in all: penalties beyond that do not
// blur what is compared, but for the rounding of messages, which a long search does not resolve.
double Search::closing() const {
  double size = std::abs(upper_) + std::min(sizes_.largest, std::max(upper_ - sizes_.least, 0.0));
  size += kRounded * (std::abs(options_.constant) + (nodes_ > kManyNodes ? sizes_.largest : 0.0));
  return std::max(options_.tolerance, kRounding * size);
}

bool Search::closed(double bound) const {
  return bound == kInfinity || (upper_ < kInfinity && upper_ - bound <= closing());
}

void Search::offer(std::span<const int32_t> state, double energy) {
  if (!(energy < upper_)) return;
  upper_ = energy;
  state_.assign(state.begin(), state.end());
  note();
}

// Takes a state of a problem, improved by single variables. Labels of clusters are tied to those
// of their variables: where there are any, the variables move at the root, all labels given.
void Search::offer_of(const Problem& problem, std::vector<int32_t> state, bool root,
                      Control& control) {
  if (!root || graph_.clusters().empty()) {
    problem.descend(state, control);
    const double energy = problem.energy_of(state);
    if (energy < upper_) offer(problem.lift(state), energy);
    return;
  }
  std::vector<int32_t> labels = problem.lift(state);
  labels.resize(graph_.size());
  std::vector<int32_t> all(graph_.size());
  std::iota(all.begin(), all.end(), 0);
  graph_.descend(labels, all, control);
  offer(labels, graph_.energy_of(labels));
}

// Solves the model around a variable given the rest. True: that was an improvement.
bool Search::improve_part(int32_t centre, size_t count, Control& control) {
  const auto inside = graph_.ball(centre, count, draws_++);
  const Part part = graph_.condition(inside, state_);
  SearchOptions options;
  options.tolerance = options_.tolerance;
  options.max_nodes = kPartNodes;
  options.by_parts = false;
  Search search(part.factors(), options, control);
  std::vector<int32_t> labels;
  for (int32_t i : part.variables) labels.push_back(state_[i]);
  const double before = search.graph_.energy_of(labels);
  search.offer(labels, before);
  search.run(control);
  credit_ -= static_cast<double>(search.work_ + 64 * static_cast<int64_t>(part.log_values.size()));
  if (!(search.upper() < before - closing())) return false;
  std::vector<int32_t> state(state_.begin(), state_.begin() + graph_.size());
  for (size_t k = 0; k < part.variables.size(); ++k) state[part.variables[k]] = search.state()[k];
  graph_.descend(state, part.variables, control);
  offer(state, graph_.energy_of(state));
  return true;
}

// Large neighbourhoods: parts around variables that the reductions left undecided, for a share of
// the work that grows while that helps.
void Search::improve_by_parts(const Problem& problem, Control& control) {
  if (!(upper_ < kInfinity) || problem.size() == 0) return;
  const double before = upper_;
  bool tried = false;
  while (credit_ > 0 && !closed(hand_->bound)) {
    tried = true;
    int32_t centre = problem.variable[splitmix64(draws_) % problem.variable.size()];
    if (centre >= graph_.size()) {
      const auto scope = graph_.scope(graph_.clusters()[centre - graph_.size()]);
      centre = scope[splitmix64(draws_ + 1) % scope.size()];
    }
    if (improve_part(centre, part_size_, control)) {
      part_failures_ = 0;
    } else if (++part_failures_ > kPartPatience) {
      part_failures_ = 0;
      part_size_ = part_size_ * 2 > kMostPart ? kLeastPart : part_size_ * 2;
    }
  }
  if (tried)
    share_ =
        upper_ < before ? std::min(1.5 * share_, kMostShare) : std::max(0.7 * share_, kLeastShare);
}

Status Search::run(Control& control) {
  try {
    while (true) {
      if (!hand_) {
        if (open_.empty()) return Status::kFinished;
        if (upper_ - lower() <= options_.gap) return Status::kGap;
        hand_.emplace(pop());
      }
      if (closed(hand_->bound)) {
        close_hand();
        continue;
      }
      const bool root = hand_->depth == 0;
      if (hand_->stalled == 0) ++nodes_;
      if (bound(*hand_, control)) {
        close_hand();
        continue;
      }
      if (root) {
        reduced_variables_ = hand_->problem.size();
        reduced_edges_ = static_cast<int32_t>(hand_->problem.edges.size());
      }
      if (upper_ - lower() <= options_.gap) return Status::kGap;
      if (nodes_ >= options_.max_nodes) return Status::kNodes;
      if (bytes_ + hand_->problem.bytes() > options_.max_bytes) return Status::kMemory;
      branch();
    }
  } catch (const DeadlinePassed&) {
    note();
    return Status::kTime;
  }
}

void Search::close_hand() {
  if (Record* record = record_of(*hand_); record && hand_->bound < kInfinity) {
    hand_->problem.write_messages(*record);
    hand_->bound = hand_->problem.evaluate().bound;  // what these messages prove
  }
  finished_ = std::min(finished_, hand_->bound);
  hand_.reset();
  note();
}

const std::vector<Record>& Search::finish_records() {
  const auto finish = [&](const Node& node) {
    if (node.record < 0) return;
    node.problem.write_messages(records_[node.record]);
    finished_ = std::min(finished_, node.problem.evaluate().bound);
  };
  if (hand_) finish(*hand_);
  for (const auto& [key, node] : open_) finish(node.unpacked());
  return records_;
}

Search::Node Search::OpenNode::unpacked() const {
  Node node{Problem(problem), bound, record, depth, 0};
  node.problem.restrict_to(without_variable, without_label, false);
  return node;
}

void Search::push(OpenNode node) {
  bytes_ += node.problem.bytes();
  const Key key{node.bound, order_++};
  open_.emplace(key, std::move(node));
}

Search::Node Search::pop() {
  Node node = open_.begin()->second.unpacked();
  bytes_ -= open_.begin()->second.problem.bytes();
  open_.erase(open_.begin());
  return node;
}

// One round of sweeps with what follows from it. True: nothing better is here.
bool Search::improve_bound(Node& node, int64_t& dropped, double& gain, Control& control) {
  Problem& problem = node.problem;
  const int rounds = node.depth == 0 ? kRootSweeps : kNodeSweeps;
  dropped = 0, gain = 0;
  const int64_t before = problem.work;
  if (!problem.sweep(rounds, control)) return false;  // the next reduction finds out why
  work_ += problem.work - before;
  credit_ = std::min(credit_, 0.0) + share_ * static_cast<double>(problem.work - before);
  sweeps_ += rounds;
  const Evaluation found = problem.evaluate();
  offer_of(problem, problem.decode(), node.depth == 0, control);
  gain = found.bound - node.bound;
  node.bound = std::max(node.bound, found.bound);
  if (node.depth == 0) note();
  if (closed(node.bound)) return true;
  const double room = upper_ - found.bound;
  if (std::none_of(found.slack.begin(), found.slack.end(), [&](double x) { return x >= room; })) {
    return false;
  }
  Record* record = record_of(node);
  if (record) problem.write_messages(*record);
  double least = kInfinity;
  dropped = problem.drop_beyond(found, room, least, record);
  finished_ = std::min(finished_, found.bound + least);
  return false;
}

// Sweeps, looks for states and drops labels until that stalls. True: nothing better is here.
// What a deadline interrupts is gone on with by the next call.
bool Search::bound(Node& node, Control& control) {
  Problem& problem = node.problem;
  const bool root = node.depth == 0;
  const int patience = root ? kRootPatience : kNodePatience;
  while (true) {
    if (!problem.reduce(kMaxDegree, record_of(node), control)) return node.bound = kInfinity, true;
    if (problem.size() == 0) {
      offer_of(problem, {}, false, control);
      node.bound = std::max(node.bound, problem.evaluate().bound);
      return true;
    }
    if (node.stalled > patience) return false;
    int64_t dropped = 0, labels = 0;
    for (const auto& list : problem.label) labels += static_cast<int64_t>(list.size());
    double gain = 0;
    do {
      if (improve_bound(node, dropped, gain, control)) return true;
      const bool little = gain < (root ? kRootGain : kNodeGain) * (upper_ - node.bound);
      node.stalled = little && dropped * kManyLabels < labels ? node.stalled + 1 : 0;
      if (options_.by_parts) improve_by_parts(problem, control);
      if (closed(node.bound)) return true;
    } while (dropped == 0 && node.stalled <= patience);
  }
}

// Splits the part at hand: the likelier label first.
void Search::branch() {
  Node& node = *hand_;
  const std::vector<int32_t> state = node.problem.decode();
  const auto score = node.problem.contest(state);
  const auto i = static_cast<int32_t>(std::max_element(score.begin(), score.end()) - score.begin());
  const int32_t a = state[i];
  const int32_t first = new_record(), second = new_record();
  if (Record* record = record_of(node)) {
    record->variable = node.problem.variable[i];
    record->label = node.problem.label[i][a];
    record->children[0] = first;
    record->children[1] = second;
  }
  push({node.problem.pack(), i, a, node.bound, second, node.depth + 1});
  node.problem.restrict_to(i, a, true);
  node.record = first;
  node.depth += 1;
  node.stalled = 0;
}

}  // namespace planaris::labels
