// Threads that work through a tree of tasks, children before parents (or parents first), and
// help each other inside a task when there is no other task to start.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/control.hpp"

namespace planaris {

class Team {
 public:
  // run(worker, task): worker is in [0, threads).
  using Run = std::function<void(int worker, int task)>;

  Team(int threads, Control& control) : threads_(threads < 1 ? 1 : threads), control_(control) {}

  int threads() const { return threads_; }

  // next[t] is the task that waits for t (-1: none); waits[t] says for how many a task waits.
  // Several tasks may wait for the same one when `successors` lists them instead.
  void work(std::vector<std::vector<int32_t>> successors, std::vector<int32_t> waits,
            const Run& run);

  // Inside a task: runs body(0 … count - 1) with the help of idle threads; throws when the work
  // has to stop.
  void parallel_for(int count, const std::function<void(int)>& body);

  // Inside a task, from any thread: throws when the work has to stop.
  void check(int worker, double fraction = -1.0) {
    if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
    if (worker == 0) control_.poll_now(fraction);  // the clock is nothing beside a front
  }

 private:
  struct Job {
    const std::function<void(int)>* body;
    int count;
    std::atomic<int> next{0};
    int helpers = 0;  // guarded by mutex_
  };

  void worker_loop(int worker, const Run& run);
  void help(Job& job);
  void check_here();
  void fail(std::exception_ptr error);

  int threads_;
  Control& control_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int32_t> ready_, waits_;
  std::vector<std::vector<int32_t>> successors_;
  std::vector<Job*> jobs_;
  size_t remaining_ = 0;
  std::atomic<bool> stop_{false};
  std::exception_ptr error_;
};

}  // namespace planaris
