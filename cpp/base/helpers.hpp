// Threads that wait to help a Team, kept from one team to the next: to start sixteen takes longer
// than to evaluate a batch of small models.
#pragma once

#include <atomic>
#include <functional>

#include "base/simd.hpp"

namespace planaris {

// Looks for a while whether something is done. To wake a thread takes tens of microseconds, about
// as long as the next piece of work is away.
template <class Done>
bool spin_until(Done done) {
  constexpr int kSpins = 1000;
  for (int k = 0; k < kSpins; ++k) {
    if (done()) return true;
    pause_briefly();
  }
  return false;
}

class Helper {
 public:
  // An idle helper, or a new one, for `work`. Throws std::system_error where no thread can be
  // started.
  static Helper& take(std::function<void()> work);

  // Has it call `work` once. It may be asleep: somebody has to wake it after that.
  void begin();
  void wake() { busy_.notify_all(); }

  // Waits until `work` has returned; the helper belongs to others then.
  void dismiss();

 private:
  void run();
  void wait_until_idle();

  std::function<void()> work_;
  std::atomic<int> busy_{0};
};

}  // namespace planaris
