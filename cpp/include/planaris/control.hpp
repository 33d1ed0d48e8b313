// Lets a long kernel be watched and stopped: progress out, interrupts and deadlines in.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace planaris {

// Thrown by Control::poll; bindings turn it into the pending Python exception.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Thrown by Control::poll once the deadline has passed.
struct DeadlinePassed : std::runtime_error {
  DeadlinePassed() : std::runtime_error("time limit reached") {}
};

// poll() is cheap enough for inner loops: it looks at the clock every `stride` calls and
// calls back at most every 50 ms. Call it from the thread that entered the kernel only.
class Control {
 public:
  using Clock = std::chrono::steady_clock;
  // Receives the fraction done in [0, 1] (or a negative number when unknown); false stops.
  using Callback = std::function<bool(double)>;

  Control() = default;
  explicit Control(Callback callback,
                   double seconds = std::numeric_limits<double>::infinity())
      : callback_(std::move(callback)) {
    if (seconds < 1e9) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds));
    }
  }

  void poll(double fraction = -1.0) {
    if (++calls_ < kStride) return;
    calls_ = 0;
    poll_now(fraction);
  }

  void poll_now(double fraction = -1.0) {
    const auto now = Clock::now();
    if (now > deadline_) throw DeadlinePassed();
    if (!callback_ || now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    if (!callback_(fraction)) throw Interrupted();
  }

  // Moves the deadline earlier by `factor` times the time since this was made: for what has to be
  // done after the deadline, in proportion to what was done so far.
  void reserve(double factor) {
    if (deadline_ == Clock::time_point::max()) return;
    deadline_ -= std::chrono::duration_cast<Clock::duration>(factor * (Clock::now() - started_));
  }
  // Returns the old one.
  Clock::time_point set_deadline(Clock::time_point when) { return std::exchange(deadline_, when); }

 private:
  static constexpr int kStride = 256;
  int calls_ = 0;
  Callback callback_;
  Clock::time_point started_ = Clock::now(), last_ = started_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace planaris
