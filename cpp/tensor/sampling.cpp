#include <algorithm>
#include <cmath>
#include <random>

#include "base/constants.hpp"
#include "base/splitmix64.hpp"
#include "tensor/contraction.hpp"

namespace planaris::tensor {

namespace {

// A batch of samples that goes back through the program.
class Batch {
 public:
  Batch(const NetworkView& network, const Program& program, int64_t count, uint64_t seed,
        int64_t number, int32_t* states, double* log_probabilities)
      : network_(network), program_(program), count_(static_cast<int>(count)),
        random_(seed ^ (kGoldenGamma * static_cast<uint64_t>(number + 1))), states_(states),
        logs_(log_probabilities) {
    std::fill(logs_, logs_ + count_, 0.0);
  }

  int64_t clipped() const { return clipped_; }

  void back(Tape& tape, const std::function<void(double)>& check) {
    using Kind = Step::Kind;
    const auto total = static_cast<double>(program_.steps.size());
    while (tape.time() > 0) {
      const Step& step = program_.steps[tape.time() - 1];
      const double done = 0.5 + 0.5 * (total - static_cast<double>(tape.time() - 1)) / total;
      tape.step_back([&] { check(done); });
      Chain& chain = tape.chain();
      valid_left_ = std::min(valid_left_, chain.untouched_left());
      valid_right_ = std::min(valid_right_, chain.untouched_right());
      chain.reset_touched();
      if (step.kind == Kind::kInsert) {
        line_.erase(line_.begin() + step.place);
      } else if (step.kind == Kind::kPair) {
        if (step.swap) std::swap(line_[step.place], line_[step.place + 1]);
      } else {
        if (step.kind == Kind::kEliminate) {
          line_.insert(line_.begin() + step.place, step.first);
        } else {
          line_[step.place] = step.first;
        }
        choose(chain, step);
      }
      check(done);
    }
  }

 private:
  int32_t& label(int sample, int32_t v) {
    return states_[static_cast<size_t>(sample) * network_.num_variables() + v];
  }

  // Draws the variable at step.place, given all others on the line and the one that replaced it.
  void choose(const Chain& chain, const Step& step) {
    const Tensor& a = chain[step.place];
    const auto& l = left(chain, step.place);
    const auto& r = right(chain, chain.size() - 1 - step.place);
    const Table table = network_.table(step.edge, step.first);
    product_.resize(static_cast<size_t>(count_) * a.labels * a.right);
    multiply(l.data(), a.values.data(), product_.data(), count_, a.left, a.labels * a.right);
    std::vector<double> weights(a.labels);
    for (int i = 0; i < count_; ++i) {
      double highest = -kInfinity, sum = 0;
      for (int s = 0; s < a.labels; ++s) {
        const double* x = product_.data() + (static_cast<size_t>(i) * a.labels + s) * a.right;
        const double* y = r.data() + static_cast<size_t>(i) * a.right;
        double w = 0;
        for (int b = 0; b < a.right; ++b) w += x[b] * y[b];
        if (w < 0) ++clipped_;
        weights[s] = w > 0 ? std::log(w) + a.logs[s] : -kInfinity;
        if (step.kind == Step::Kind::kTransfer) {
          weights[s] += table.at(s, label(i, step.second));
        }
        highest = std::max(highest, weights[s]);
      }
      if (highest == -kInfinity) throw LostAccuracy();
      for (double& w : weights) sum += w = std::exp(w - highest);
      double u = sum * std::generate_canonical<double, 53>(random_);
      int s = 0;
      while (s + 1 < a.labels && (u -= weights[s]) >= 0) ++s;
      while (weights[s] == 0) --s;  // u was rounded to the end
      label(i, step.first) = s;
      logs_[i] += std::log(weights[s] / sum);
    }
  }

  // Row i: product of the matrices of the first sites at the labels of sample i, scaled.
  const std::vector<double>& left(const Chain& chain, int count) {
    if (static_cast<int>(left_.size()) <= count) left_.resize(count + 1);
    left_[0].assign(count_, 1.0);
    for (; valid_left_ < count; ++valid_left_) {
      const Tensor& a = chain[valid_left_];
      product_.resize(static_cast<size_t>(count_) * a.labels * a.right);
      multiply(left_[valid_left_].data(), a.values.data(), product_.data(), count_, a.left,
               a.labels * a.right);
      std::vector<double>& out = left_[valid_left_ + 1];
      out.resize(static_cast<size_t>(count_) * a.right);
      for (int i = 0; i < count_; ++i) {
        const int s = label(i, line_[valid_left_]);
        const double* from = product_.data() + (static_cast<size_t>(i) * a.labels + s) * a.right;
        rescale(from, out.data() + static_cast<size_t>(i) * a.right, a.right);
      }
    }
    return left_[count];
  }

  const std::vector<double>& right(const Chain& chain, int count) {
    if (static_cast<int>(right_.size()) <= count) right_.resize(count + 1);
    right_[0].assign(count_, 1.0);
    for (; valid_right_ < count; ++valid_right_) {
      const int place = chain.size() - 1 - valid_right_;
      const Tensor& a = chain[place];
      turned_.resize(a.values.size());
      transpose(a.values.data(), turned_.data(), a.left * a.labels, a.right);
      product_.resize(static_cast<size_t>(count_) * a.left * a.labels);
      multiply(right_[valid_right_].data(), turned_.data(), product_.data(), count_, a.right,
               a.left * a.labels);
      std::vector<double>& out = right_[valid_right_ + 1];
      out.resize(static_cast<size_t>(count_) * a.left);
      std::vector<double> row(a.left);
      for (int i = 0; i < count_; ++i) {
        const int s = label(i, line_[place]);
        const double* from = product_.data() + static_cast<size_t>(i) * a.left * a.labels;
        for (int k = 0; k < a.left; ++k) row[k] = from[k * a.labels + s];
        rescale(row.data(), out.data() + static_cast<size_t>(i) * a.left, a.left);
      }
    }
    return right_[count];
  }

  static void rescale(const double* from, double* to, int size) {
    double top = 0;
    for (int k = 0; k < size; ++k) top = std::max(top, std::abs(from[k]));
    if (!(top > 0)) throw LostAccuracy();
    for (int k = 0; k < size; ++k) to[k] = from[k] / top;
  }

  const NetworkView& network_;
  const Program& program_;
  int count_;
  std::mt19937_64 random_;
  int32_t* states_;
  double* logs_;
  int64_t clipped_ = 0;
  std::vector<int32_t> line_;
  std::vector<std::vector<double>> left_, right_;
  int valid_left_ = 0, valid_right_ = 0;
  std::vector<double> product_, turned_;
};

void draw_all(const NetworkView& network, const Program& program, const Settings& settings,
              uint64_t seed, Control& control, NetworkSamples& out) {
  constexpr int64_t kBatch = 64;  // independent of the number of threads, as the samples are
  const auto total = static_cast<int64_t>(program.steps.size());
  const auto num_samples = static_cast<int64_t>(out.log_probabilities.size());
  const int64_t num_batches = (num_samples + kBatch - 1) / kBatch;
  Tape tape(network, program, Direction::kForward, settings.chain, settings.history_bytes);
  const ForgetAtEnd<double> at_end{tape};
  while (tape.time() < total) {
    tape.step(true);
    control.poll_now(0.5 * static_cast<double>(tape.time()) / static_cast<double>(total));
  }
  tape.chain().record(nullptr);
  std::vector<int64_t> clipped(num_batches, 0);
  Team team(settings.threads, control);
  team.work(static_cast<size_t>(num_batches), [&](int worker, int task) {
    const int64_t begin = task * kBatch, end = std::min(begin + kBatch, num_samples);
    Batch batch(network, program, end - begin, seed, task,
                out.states.data() + begin * network.num_variables(),
                out.log_probabilities.data() + begin);
    Tape own = tape;
    batch.back(own, [&](double fraction) { team.check(worker, fraction); });
    clipped[task] = batch.clipped();
  });
  for (const int64_t k : clipped) out.clipped += k;
}

}  // namespace

NetworkSamples draw(const NetworkView& network, const Program& program, const Settings& settings,
                    int64_t num_samples, uint64_t seed, Control& control) {
  NetworkSamples out;
  out.states.resize(static_cast<size_t>(num_samples) * network.num_variables());
  out.log_probabilities.resize(num_samples);
  try {
    draw_all(network, program, settings, seed, control, out);
  } catch (const LostAccuracy&) {
    out = {};
  } catch (const ZeroFunction&) {
    out = {};
  }
  return out;
}

}  // namespace planaris::tensor
