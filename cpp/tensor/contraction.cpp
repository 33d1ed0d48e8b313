#include "tensor/contraction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace planaris::tensor {

template <class T>
TapeOf<T>::TapeOf(const NetworkView& network, const Program& program, Direction direction,
                  ChainOptions options, double history_bytes)
    : network_(&network), program_(&program), direction_(direction), history_bytes_(history_bytes),
      time_(direction == Direction::kForward ? 0 : static_cast<int64_t>(program.steps.size())),
      chain_(options) {}

template <class T>
TapeOf<T> TapeOf<T>::onward() const {
  TapeOf copy(*network_, *program_, direction_, {}, 0);
  copy.time_ = time_;
  copy.chain_ = chain_;
  copy.chain_.record(nullptr);
  return copy;
}

template <class T>
void TapeOf<T>::begin_segment() {
  chain_.record(nullptr);
  segments_.push_back({chain_, time_, static_cast<double>(chain_.bytes()), {}, {}});
  chain_.record(&segments_.back().history);
}

template <class T>
void TapeOf<T>::step(bool record) {
  if (record) {
    record_step();
    return;
  }
  apply(chain_, *network_, *program_, next(), direction_);
  time_ += direction_ == Direction::kForward ? 1 : -1;
}

template <class T>
void TapeOf<T>::record_step() {
  constexpr double kSegments = 16;    // so many fit into the memory, if not fewer
  constexpr double kCheckpoints = 6;  // a history is at least so many times its checkpoint
  const auto is_full = [&](const Segment& x) {
    return x.bytes > std::max(history_bytes_ / kSegments, kCheckpoints * x.checkpoint_bytes);
  };
  if (segments_.empty() || is_full(segments_.back())) begin_segment();
  Segment& segment = segments_.back();
  const size_t known = segment.history.size();
  segment.marks.push_back(known);
  step(false);
  double bytes = 0;
  for (size_t k = known; k < segment.history.size(); ++k) {
    if (segment.history[k].before != nullptr)
      bytes += static_cast<double>(segment.history[k].before->bytes());
  }
  segment.bytes += bytes;
  bytes_ += bytes;
  make_room();
}

template <class T>
void TapeOf<T>::make_room() {
  while (bytes_ > history_bytes_ && (drop_history() || drop_checkpoints())) {
  }
  most_bytes_ = std::max(most_bytes_, bytes_);
}

// Of the oldest segment that has one, but not of the last.
template <class T>
bool TapeOf<T>::drop_history() {
  for (size_t k = 0; k + 1 < segments_.size(); ++k) {
    Segment& segment = segments_[k];
    if (segment.dropped) continue;
    bytes_ += segment.checkpoint_bytes - segment.bytes;  // its tensors were those of the history
    segment.history = {};
    segment.marks = {};
    segment.bytes = 0;
    segment.dropped = true;
    return true;
  }
  return false;
}

// Every second one of dropped segments: each becomes a part of the one before it.
template <class T>
bool TapeOf<T>::drop_checkpoints() {
  size_t kept = 0, dropped = 0;
  for (size_t k = 0; k < segments_.size(); ++k) {
    if (segments_[k].dropped && k % 2 == 1) {
      bytes_ -= segments_[k].checkpoint_bytes;
      ++dropped;
    } else {
      if (kept != k) segments_[kept] = std::move(segments_[k]);
      ++kept;
    }
  }
  if (dropped == 0) return false;
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(kept), segments_.end());
  chain_.record(&segments_.back().history);
  return true;
}

// The last segment is all undone: the steps of the one before it are made again if they were
// dropped.
template <class T>
void TapeOf<T>::end_segment(const std::function<void()>& look) {
  bytes_ -= segments_.back().bytes;
  segments_.pop_back();
  if (!segments_.back().dropped) return;
  const int64_t until = time_;
  bytes_ -= segments_.back().checkpoint_bytes;
  segments_.back().dropped = false;
  chain_ = segments_.back().chain;
  time_ = segments_.back().time;
  chain_.record(&segments_.back().history);
  while (time_ != until) {
    look();
    record_step();
  }
}

template <class T>
void TapeOf<T>::step_back(const std::function<void()>& look) {
  if (segments_.back().marks.empty()) end_segment(look);
  Segment& segment = segments_.back();
  chain_.record(nullptr);
  chain_.unwind(segment.history, segment.marks.back());
  segment.marks.pop_back();
  time_ -= direction_ == Direction::kForward ? 1 : -1;
}

template <class T>
void TapeOf<T>::forget() {
  for (Segment& segment : segments_) {
    segment.chain.forget();
    for (ChangeOf<T>& change : segment.history) change.before.forget();
  }
  segments_.clear();
  chain_.record(nullptr);
  chain_.forget();
}

template class TapeOf<double>;
template class TapeOf<Pair>;
template class TapeOf<Quad>;

namespace {

using Check = std::function<void(double)>;

// Runs both jobs, on two threads if there are.
void both(int threads, Control& control, const std::function<void(int, const Check&)>& job) {
  Team team(std::min(threads, 2), control);
  team.work(2, [&](int worker, int task) {
    job(task, [&team, worker](double fraction) { team.check(worker, fraction); });
  });
}

template <class T>
Contraction summary(const ChainOf<T>& f, const ChainOf<T>& g) {
  Contraction out;
  out.log_partition = log_overlap(f, g);
  out.largest_bond = std::max(f.largest_bond(), g.largest_bond());
  out.largest_residual = std::max(f.largest_residual(), g.largest_residual());
  out.component_error = std::max(f.component_error(), g.component_error());
  return out;
}

template <class T>
Contraction contract_any(const NetworkView& network, const Program& program,
                         const Settings& settings, Control& control) {
  const auto total = static_cast<int64_t>(program.steps.size());
  const int64_t middle = total / 2;
  TapeOf<T> forward(network, program, Direction::kForward, settings.chain, 0);
  TapeOf<T> backward(network, program, Direction::kBackward, settings.chain, 0);
  try {
    both(settings.threads, control, [&](int task, const Check& check) {
      TapeOf<T>& tape = task == 0 ? forward : backward;
      while (tape.time() != middle) {
        tape.step(false);
        check(static_cast<double>(std::abs(tape.time() - (task == 0 ? 0 : total))) /
              static_cast<double>(total));
      }
    });
    return summary(forward.chain(), backward.chain());
  } catch (const ZeroFunction&) {
    return {-std::numeric_limits<double>::infinity(), 1, 0};
  } catch (const LostAccuracy&) {
    return {std::numeric_limits<double>::quiet_NaN(), 1, 0};
  }
}

}  // namespace

Contraction contract(const NetworkView& network, const Program& program, const Settings& settings,
                     Control& control) {
  const double least = settings.chain.cut.tolerance;
  if (least >= kSmallestPivot) return contract_any<double>(network, program, settings, control);
  if (least >= kSmallestOfPairs) return contract_any<Pair>(network, program, settings, control);
  return contract_any<Quad>(network, program, settings, control);
}

// -- marginals ------------------------------------------------------------------------------

namespace {

template <class T>
T inner(const T* a, const T* b, size_t count) {
  constexpr size_t kSums = 8;
  T sums[kSums] = {}, sum(0.0);
  size_t k = 0;
  for (; k + kSums <= count; k += kSums) {
    for (size_t l = 0; l < kSums; ++l) sums[l] += a[k + l] * b[k + l];
  }
  for (; k < count; ++k) sum += a[k] * b[k];
  for (const T& x : sums) sum += x;
  return sum;
}

// Contracts the first sites of two chains, and the last.
template <class T>
class Environments {
 public:
  using Chain = ChainOf<T>;
  using Tensor = TensorOf<T>;

  void update(Chain& f, Chain& g) {
    valid_left_ = std::min({valid_left_, f.untouched_left(), g.untouched_left()});
    valid_right_ = std::min({valid_right_, f.untouched_right(), g.untouched_right()});
    f.reset_touched();
    g.reset_touched();
  }
  // Of the first `count` sites: (f bond × g bond).
  const std::vector<T>& left(const Chain& f, const Chain& g, int count) {
    if (static_cast<int>(left_.size()) <= count) left_.resize(count + 1);
    left_[0] = {T(1.0)};
    for (; valid_left_ < count; ++valid_left_) {
      const int i = valid_left_;
      blocks_left(left_[i], f[i], g[i], left_blocks_);
      left_blocks_of_ = i + 1;
      add_up(f[i], g[i], left_blocks_, left_[i + 1]);
    }
    return left_[count];
  }
  // Of the last `count` sites.
  const std::vector<T>& right(const Chain& f, const Chain& g, int count) {
    if (static_cast<int>(right_.size()) <= count) right_.resize(count + 1);
    right_[0] = {T(1.0)};
    for (; valid_right_ < count; ++valid_right_) {
      const int i = f.size() - 1 - valid_right_;
      blocks_right(right_[valid_right_], f[i], g[i], right_blocks_);
      right_blocks_of_ = valid_right_ + 1;
      add_up(f[i], g[i], right_blocks_, right_[valid_right_ + 1]);
    }
    return right_[count];
  }

  // Joint weights of the labels at place (slow axis) and place + 1, up to a factor.
  void pair(const Chain& f, const Chain& g, int place, std::vector<double>& weights) {
    const Tensor &a = f[place], &b = f[place + 1], &c = g[place], &d = g[place + 1];
    // One side has been added up for the variable that came last, next to it.
    const int from_left = place + 1, from_right = f.size() - 1 - place;
    if (left_blocks_of_ != from_left || valid_left_ < from_left) {
      blocks_left(left(f, g, place), a, c, left_blocks_);
      left_blocks_of_ = 0;
    }
    if (right_blocks_of_ != from_right || valid_right_ < from_right) {
      blocks_right(right(f, g, from_right - 1), b, d, right_blocks_);
      right_blocks_of_ = 0;
    }
    weights.assign(static_cast<size_t>(a.labels) * b.labels, 0.0);
    std::vector<double> logs(weights.size());
    for (int s = 0; s < a.labels; ++s) {
      for (int t = 0; t < b.labels; ++t) {
        weights[s * b.labels + t] =
            nearest(inner(left_blocks_[s].data(), right_blocks_[t].data(), left_blocks_[s].size()));
        logs[s * b.labels + t] = a.logs[s] + c.logs[s] + b.logs[t] + d.logs[t];
      }
    }
    normalise(weights, logs);
  }

  // Weights of label u of `a` and label v of `b` (tensors of the two chains at one place, between
  // these environments), times exp(extra(u, v)); with `diagonal`, of u = v only.
  template <typename Extra>
  void site(const std::vector<T>& l, const std::vector<T>& r, const Tensor& a, const Tensor& b,
            bool diagonal, const Extra& extra, std::vector<double>& weights) {
    const size_t count = diagonal ? a.labels : static_cast<size_t>(a.labels) * b.labels;
    std::vector<double> logs(count);
    weights.assign(count, 0.0);
    half_.resize(static_cast<size_t>(a.left) * a.labels * b.right);
    both_.resize(static_cast<size_t>(b.left) * b.right);
    multiply(a.values.data(), r.data(), half_.data(), a.left * a.labels, a.right, b.right);
    for (int u = 0; u < a.labels; ++u) {
      multiply_parts(l.data(), 1, b.left, half_.data() + static_cast<size_t>(u) * b.right,
                     a.labels * b.right, both_.data(), b.left, a.left, b.right);
      for (int v = diagonal ? u : 0; v < (diagonal ? u + 1 : b.labels); ++v) {
        T sum(0.0);
        for (int k = 0; k < b.left; ++k) {
          sum += inner(both_.data() + static_cast<size_t>(k) * b.right,
                       b.values.data() + (static_cast<size_t>(k) * b.labels + v) * b.right,
                       static_cast<size_t>(b.right));
        }
        const size_t at = diagonal ? u : static_cast<size_t>(u) * b.labels + v;
        weights[at] = nearest(sum);
        logs[at] = a.logs[u] + b.logs[v] + extra(u, v);
      }
    }
    normalise(weights, logs);
  }

 private:
  using Blocks = std::vector<std::vector<T>>;

  // blocks[s](b, b') = Σ a(α, s, b) e(α, α') c(α', s, b')
  void blocks_left(const std::vector<T>& e, const Tensor& a, const Tensor& c, Blocks& blocks) {
    blocks.resize(a.labels);
    const int wide = c.labels * c.right;
    half_.resize(static_cast<size_t>(a.left) * wide);
    multiply(e.data(), c.values.data(), half_.data(), a.left, c.left, wide);
    for (int s = 0; s < a.labels; ++s) {
      blocks[s].resize(static_cast<size_t>(a.right) * c.right);
      multiply_parts(a.values.data() + static_cast<size_t>(s) * a.right, 1, a.labels * a.right,
                     half_.data() + static_cast<size_t>(s) * c.right, wide, blocks[s].data(),
                     a.right, a.left, c.right);
    }
  }
  // blocks[s](α, α') = Σ a(α, s, b) e(b, b') c(α', s, b')
  void blocks_right(const std::vector<T>& e, const Tensor& a, const Tensor& c, Blocks& blocks) {
    blocks.resize(a.labels);
    half_.resize(static_cast<size_t>(a.left) * a.labels * c.right);
    turned_.resize(c.values.size());
    multiply(a.values.data(), e.data(), half_.data(), a.left * a.labels, a.right, c.right);
    transpose(c.values.data(), turned_.data(), c.left, c.labels * c.right);
    for (int s = 0; s < a.labels; ++s) {
      blocks[s].resize(static_cast<size_t>(a.left) * c.left);
      multiply_parts(half_.data() + static_cast<size_t>(s) * c.right, a.labels * c.right, 1,
                     turned_.data() + static_cast<size_t>(s) * c.right * c.left, c.left,
                     blocks[s].data(), a.left, c.right, c.left);
    }
  }
  void add_up(const Tensor& a, const Tensor& c, const Blocks& blocks, std::vector<T>& out) {
    double highest = -std::numeric_limits<double>::infinity();
    for (int s = 0; s < a.labels; ++s) highest = std::max(highest, a.logs[s] + c.logs[s]);
    out.assign(blocks[0].size(), T(0.0));
    for (int s = 0; s < a.labels; ++s) {
      const double w = std::exp(a.logs[s] + c.logs[s] - highest);
      if (!(w > 0)) continue;
      for (size_t k = 0; k < out.size(); ++k) out[k] += w * blocks[s][k];
    }
    double top = 0;
    for (const T& x : out) top = std::max(top, size_of(x));
    if (!(top > 0)) throw LostAccuracy();
    const double inverse = 1 / divisor<T>(top);
    for (T& x : out) x *= inverse;
  }
  static void normalise(std::vector<double>& weights, const std::vector<double>& logs) {
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      weights[k] = weights[k] > 0 ? std::log(weights[k]) + logs[k]
                                  : -std::numeric_limits<double>::infinity();
      highest = std::max(highest, weights[k]);
    }
    if (!(highest > -std::numeric_limits<double>::infinity())) throw LostAccuracy();
    for (double& x : weights) sum += x = std::exp(x - highest);
    for (double& x : weights) x /= sum;
  }

  Blocks left_, right_;  // by the number of sites
  int valid_left_ = 0, valid_right_ = 0;
  // Of the site that was added last, and the number of sites with it (0: of no use). They hold as
  // long as so many are valid.
  Blocks left_blocks_, right_blocks_;
  int left_blocks_of_ = 0, right_blocks_of_ = 0;
  std::vector<T> half_, turned_, both_;
};

template <class T>
class Meeting {
 public:
  using Chain = ChainOf<T>;
  using Tensor = TensorOf<T>;
  using Tape = TapeOf<T>;

  Meeting(const NetworkView& network, const Program& program, NetworkMarginals& out)
      : network_(network), program_(program), out_(out) {}

  // `running` goes on through the steps that `other` has made, which goes back beside it.
  void run(Tape& running, Direction direction, Tape& other, int64_t until, const Check& check) {
    using Kind = Step::Kind;
    const bool forward = direction == Direction::kForward;
    const auto total = static_cast<double>(program_.steps.size());
    std::vector<double> weights;
    while (running.time() != until) {
      const Step& step = program_.steps[forward ? running.time() : running.time() - 1];
      Chain &f = running.chain(), &g = other.chain();
      environments_.update(f, g);
      if (step.kind == Kind::kPair && step.edge >= 0) {
        environments_.pair(f, g, step.place, weights);
        const bool turned = !forward && step.swap;
        store_pair(step.edge, turned ? step.second : step.first, weights);
      } else if (step.kind == Kind::kInsert && !forward) {
        lone(f, g, step, weights);
      }
      const std::vector<T>*l = nullptr, *r = nullptr;
      SiteOf<T> before;
      if (step.kind == Kind::kTransfer) {
        l = &environments_.left(f, g, step.place);
        r = &environments_.right(f, g, f.size() - 1 - step.place);
        before = f.site(step.place);
      }
      running.step(false);
      const double done = 0.5 + 0.5 * std::abs(static_cast<double>(until - running.time())) / total;
      other.step_back([&] { check(done); });
      if (step.kind == Kind::kTransfer) {
        transferred(*l, *r, *before, g[step.place], step, forward, weights);
      } else if (step.kind == Kind::kInsert && forward) {
        environments_.update(f, g);
        lone(f, g, step, weights);
      }
      check(done);
    }
  }

 private:
  void lone(const Chain& f, const Chain& g, const Step& step, std::vector<double>& weights) {
    const auto& l = environments_.left(f, g, step.place);
    const auto& r = environments_.right(f, g, f.size() - 1 - step.place);
    environments_.site(
        l, r, f[step.place], g[step.place], true, [](int, int) { return 0.0; }, weights);
    store_node(step.first, weights);
  }

  void transferred(const std::vector<T>& l, const std::vector<T>& r, const Tensor& a,
                   const Tensor& b, const Step& step, bool forward, std::vector<double>& weights) {
    const int32_t first = forward ? step.first : step.second;
    const Table table = network_.table(step.edge, first);
    const auto node = network_.node(step.second);
    environments_.site(
        l, r, a, b, false, [&](int u, int v) { return table.at(u, v) + node[forward ? v : u]; },
        weights);
    store_pair(step.edge, first, weights);
    std::vector<double> sums(node.size(), 0.0);
    for (size_t k = 0; k < weights.size(); ++k) {
      sums[forward ? k % node.size() : k / b.labels] += weights[k];
    }
    store_node(step.second, sums);
  }

  void store_node(int32_t v, const std::vector<double>& weights) {
    std::copy(weights.begin(), weights.end(), out_.nodes.begin() + network_.node_offsets[v]);
  }
  void store_pair(int64_t edge, int32_t first, const std::vector<double>& weights) {
    if (edge < 0) return;
    const int32_t u = network_.edges[2 * edge], v = network_.edges[2 * edge + 1];
    double* to = out_.edges.data() + network_.edge_offsets[edge];
    if (u == first) {
      std::copy(weights.begin(), weights.end(), to);
    } else {
      transpose(weights.data(), to, network_.cardinalities[v], network_.cardinalities[u]);
    }
  }

  const NetworkView& network_;
  const Program& program_;
  NetworkMarginals& out_;
  Environments<T> environments_;
};

template <class T>
NetworkMarginals marginals_any(const NetworkView& network, const Program& program,
                               const Settings& settings, Control& control) {
  using Tape = TapeOf<T>;
  NetworkMarginals out;
  out.nodes.resize(network.node_logs.size());
  out.edges.resize(network.edge_logs.size());
  const auto total = static_cast<int64_t>(program.steps.size());
  const int64_t middle = total / 2;
  const double bytes = settings.history_bytes / 2;
  Tape forward(network, program, Direction::kForward, settings.chain, bytes);
  Tape backward(network, program, Direction::kBackward, settings.chain, bytes);
  const ForgetAtEnd<T> first{forward}, second{backward};
  try {
    both(settings.threads, control, [&](int task, const Check& check) {
      Tape& tape = task == 0 ? forward : backward;
      while (tape.time() != middle) {
        tape.step(true);
        check(0.5 * static_cast<double>(std::abs(tape.time() - (task == 0 ? 0 : total))) /
              static_cast<double>(total));
      }
    });
    out.contraction = summary(forward.chain(), backward.chain());
    Tape ahead = forward.onward(), behind = backward.onward();
    both(settings.threads, control, [&](int task, const Check& check) {
      Meeting<T> meeting(network, program, out);
      if (task == 0) {
        meeting.run(ahead, Direction::kForward, backward, total, check);
      } else {
        meeting.run(behind, Direction::kBackward, forward, 0, check);
      }
    });
  } catch (const ZeroFunction&) {
    out.contraction.log_partition = -std::numeric_limits<double>::infinity();
  } catch (const LostAccuracy&) {
    out.contraction.log_partition = std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

}  // namespace

NetworkMarginals contract_marginals(const NetworkView& network, const Program& program,
                                    const Settings& settings, Control& control) {
  const double least = settings.chain.cut.tolerance;
  if (least >= kSmallestPivot) return marginals_any<double>(network, program, settings, control);
  if (least >= kSmallestOfPairs) return marginals_any<Pair>(network, program, settings, control);
  return marginals_any<Quad>(network, program, settings, control);
}

}  // namespace planaris::tensor
