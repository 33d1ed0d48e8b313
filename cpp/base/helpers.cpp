#include "base/helpers.hpp"

#include <cfenv>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace planaris {

namespace {

// Helpers outlive everything: nobody waits for them at the end of the process.
struct IdleHelpers {
  std::mutex mutex;
  std::vector<Helper*> helpers;
};

IdleHelpers& idle_helpers() {
  static IdleHelpers* const idle = [] {
#if defined(__unix__) || defined(__APPLE__)
    // A child process has no threads but the one that forked.
    pthread_atfork([] { idle_helpers().mutex.lock(); }, [] { idle_helpers().mutex.unlock(); },
                   [] {
                     idle_helpers().helpers.clear();
                     idle_helpers().mutex.unlock();
                   });
#endif
    return new IdleHelpers;
  }();
  return *idle;
}

}  // namespace

Helper& Helper::take(std::function<void()> work) {
  IdleHelpers& idle = idle_helpers();
  Helper* found = nullptr;
  {
    std::lock_guard lock(idle.mutex);
    idle.helpers.reserve(idle.helpers.size() + 1);
    if (!idle.helpers.empty()) {
      found = idle.helpers.back();
      idle.helpers.pop_back();
    }
  }
  if (found == nullptr) {
    auto made = std::make_unique<Helper>();
    std::thread([helper = made.get()] { helper->run(); }).detach();
    found = made.release();
  }
  found->work_ = std::move(work);
  return *found;
}

void Helper::run() {
  // A thread inherits how the one that starts it rounds; this one works for others later.
  std::fesetenv(FE_DFL_ENV);
  for (;;) {
    spin_until([this] { return busy_ != 0; });
    busy_.wait(0);
    work_();
    busy_ = 0;
    busy_.notify_all();
  }
}

void Helper::wait_until_idle() {
  spin_until([this] { return busy_ == 0; });
  busy_.wait(1);
}

void Helper::begin() {
  wait_until_idle();  // it may be about to return from the work before
  busy_ = 1;
}

void Helper::dismiss() {
  wait_until_idle();
  work_ = nullptr;
  IdleHelpers& idle = idle_helpers();
  std::lock_guard lock(idle.mutex);
  idle.helpers.push_back(this);
}

}  // namespace planaris
