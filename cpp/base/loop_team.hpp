// A few threads that wait for loops: run(f) calls f(thread) on each of them and returns when
// all are done. The caller is thread 0, so Control may be polled between loops.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace planaris {

class LoopTeam {
 public:
  explicit LoopTeam(int size = 0) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    size_ = size > 0 ? size : std::clamp(cores, 1, 64);
    for (int id = 1; id < size_; ++id) {
      workers_.emplace_back([this, id] { work(id); });
    }
  }
  ~LoopTeam() {
    stop_ = true;
    ++round_;
    round_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  LoopTeam(const LoopTeam&) = delete;
  LoopTeam& operator=(const LoopTeam&) = delete;

  int size() const { return size_; }

  // The task must not throw.
  void run(const std::function<void(int)>& task) {
    task_ = &task;
    pending_ = size_ - 1;
    ++round_;
    round_.notify_all();
    task(0);
    for (int left = pending_; left > 0; left = pending_) pending_.wait(left);
  }

  // f(begin, end, thread) over equal parts of [0, count); on this thread alone when the
  // work, in about nanoseconds, would not pay for waking the others.
  template <class Body>
  void split(int64_t count, double nanoseconds, Body&& body) {
    if (size_ == 1 || nanoseconds < 2e4) {
      body(int64_t{0}, count, 0);
      return;
    }
    run([&](int id) { body(count * id / size_, count * (id + 1) / size_, id); });
  }

 private:
  void work(int id) {
    for (int seen = 0;;) {
      round_.wait(seen);
      seen = round_;
      if (stop_) return;
      (*task_)(id);
      if (--pending_ == 0) pending_.notify_all();
    }
  }

  int size_ = 1;
  std::vector<std::thread> workers_;
  const std::function<void(int)>* task_ = nullptr;
  std::atomic<int> round_{0}, pending_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace planaris
