// Threads that wait to help a Team, kept from one team to the next: to start sixteen takes longer than
// to evaluate a batch of small models.
#pragma once

#include <atomic>
#include <functional>

namespace planaris {

class Helper {
 public:
  // An idle helper, or a new one, which calls `work` once. Throws std::system_error where no
  // thread can be started.
  static Helper& call(std::function<void()> work);

  // Waits until `work` has returned; the helper belongs to others then.
  void dismiss();

 private:
  void run();

  std::function<void()> work_;
  std::atomic<int> busy_{0};
};

}  // namespace planaris
