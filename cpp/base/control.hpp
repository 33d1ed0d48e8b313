// Lets a long kernel be watched and stopped: progress out, interrupts and deadlines in.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/rounding.hpp"
#include "base/simd.hpp"

namespace planaris {

// Thrown by Control::poll; bindings turn it into the pending Python exception.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Thrown by Control::poll once the deadline has passed.
struct DeadlinePassed : std::runtime_error {
  DeadlinePassed() : std::runtime_error("time limit reached") {}
};

// While this lives, arithmetic of this thread is as whatever is called back expects it to be, and
// threads that it starts: rounded to nearest, with numbers of any size.
struct UsualArithmetic {
  RoundNearest nearest;
  PlainArithmetic any_size;
};

// How often a Control looks at the clock, in calls of poll(), and calls back, in seconds.
struct Pace {
  int stride = 256;
  double interval = 0.05;
};

// poll() is cheap enough for inner loops: it looks at the clock every `stride` calls and
// calls back at most every `interval`. Call it from the thread that entered the kernel only.
class Control {
 public:
  using Clock = std::chrono::steady_clock;
  // Receives the fraction done in [0, 1] (or a negative number when unknown); false stops, and
  // so does DeadlinePassed.
  using Callback = std::function<bool(double)>;
  // Says whether to go on, by signals alone: it looks at no clock.
  using Signals = std::function<bool()>;

  Control() = default;
  explicit Control(Callback callback, double seconds = std::numeric_limits<double>::infinity(),
                   Pace pace = {})
      : callback_(std::move(callback)), pace_(pace) {
    if (seconds < 1e9) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds));
      limit_ = deadline_;
    }
  }

  void poll(double fraction = -1.0) {
    if (++calls_ < pace_.stride) return;
    calls_ = 0;
    poll_now(fraction);
  }

  // As poll(), after a piece of work of about so many steps of a few nanoseconds.
  void spend(int64_t steps) {
    spent_ += steps;
    if (spent_ < kSteps && pace_.stride > 1) return;
    spent_ = 0;
    poll_now();
  }

  void poll_now(double fraction = -1.0) {
    const auto now = Clock::now();
    if (finishing_) return heed_signals(now);
    if (now > deadline_) throw DeadlinePassed();
    if (!callback_ || now - last_ < std::chrono::duration<double>(pace_.interval)) return;
    last_ = now;
    [[maybe_unused]] const UsualArithmetic usual;
    if (!callback_(fraction)) throw Interrupted();
  }

  // Moves the deadline earlier by `factor` times the time since this was made: for what has to be
  // done after the deadline, in proportion to what was done so far.
  void reserve(double factor) {
    if (deadline_ == Clock::time_point::max()) return;
    deadline_ -= std::chrono::duration_cast<Clock::duration>(factor * (Clock::now() - started_));
  }
  // For what follows a search, where the caller can do without an answer: the time that was
  // reserved may be spent, and kGrace from now in any case.
  void extend() {
    if (extend_) extend_();
    deadline_ =
        limit_ == Clock::time_point::max() ? limit_ : std::max(limit_, Clock::now() + kGrace);
  }
  // Called by extend(), for callbacks that keep the time themselves.
  void set_extend(std::function<void()> extend) { extend_ = std::move(extend); }

  // Threads that the kernel may use.
  int threads() const { return threads_; }
  void set_threads(int threads) { threads_ = threads < 1 ? 1 : threads; }

  // Whether to go on whatever the time, for what has to be finished. Nobody is asked for the time
  // or told of progress then, so that looks at the clock do not depend on the number of threads
  // or on who waits for whom; signals are still heeded.
  void set_finishing(bool finishing) { finishing_ = finishing; }
  void set_signals(Signals signals) { signals_ = std::move(signals); }

 private:
  void heed_signals(Clock::time_point now) {
    if (!signals_ || now - last_ < kSignals) return;
    last_ = now;
    [[maybe_unused]] const UsualArithmetic usual;
    if (!signals_()) throw Interrupted();
  }

  static constexpr int64_t kSteps = 1 << 18;
  static constexpr std::chrono::milliseconds kSignals{50}, kGrace{400};  // budget.GRACE
  int calls_ = 0, threads_ = 1;
  int64_t spent_ = 0;
  bool finishing_ = false;
  Callback callback_;
  Signals signals_;
  std::function<void()> extend_;
  Pace pace_;
  Clock::time_point started_ = Clock::now(), last_ = started_;
  Clock::time_point deadline_ = Clock::time_point::max(), limit_ = deadline_;
};

}  // namespace planaris
