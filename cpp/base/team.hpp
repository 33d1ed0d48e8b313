// Threads that share work: a graph of tasks, in which idle threads help inside a task when there
// is no other to start, or short loops. All threading of the core goes through this class. The
// caller is worker 0 and the only one that polls Control. Threads start when there is something
// for a second one to do (a call for a small model starts none), wait, for little, until the team
// goes, and then for another team.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/control.hpp"
#include "base/helpers.hpp"

namespace planaris {

class Team {
 public:
  // run(worker, task): worker is in [0, threads).
  using Run = std::function<void(int worker, int task)>;

  Team(int threads, Control& control) : threads_(threads < 1 ? 1 : threads), control_(control) {}
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return threads_; }

  // successors[t] are the tasks that wait for t; waits[t] says for how many a task waits.
  void work(std::vector<std::vector<int32_t>> successors, std::vector<int32_t> waits,
            const Run& run);
  // Tasks 0 … count - 1, none of which waits for another.
  void work(size_t count, const Run& run) {
    work(std::vector<std::vector<int32_t>>(count), std::vector<int32_t>(count, 0), run);
  }

  // Inside a task of `worker`: runs body(worker, 0 … count - 1) with the help of idle threads, and
  // with their numbers; throws when the work has to stop.
  void parallel_for(int worker, int count, const Run& body);
  void parallel_for(int count, const std::function<void(int)>& body) {
    parallel_for(0, count, [&body](int, int k) { body(k); });
  }

  // Inside a task, from any thread: throws when the work has to stop.
  void check(int worker, double fraction = -1.0) {
    if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
    if (worker == 0) control_.poll_now(fraction);  // the clock is nothing beside a front
  }
  void check();

  // Into how many parts to split a loop of about so many nanoseconds: one where waking others
  // would not pay. Threads do not count, so that partial sums are the same for any number.
  static int parts(double nanoseconds) {
    const double most = std::clamp(nanoseconds / 5e6, 64.0, 4096.0);  // a look every 5 ms
    return static_cast<int>(std::clamp(nanoseconds / 1e4, 1.0, most));
  }
  // Outside of tasks: body(begin, end, part) over equal parts of [0, count). It must not throw.
  // The caller looks at the clock between parts.
  template <class Body>
  void split(int64_t count, int parts, Body&& body) {
    const auto share = [&](int worker, int workers) {
      for (int k = parts * worker / workers; k < parts * (worker + 1) / workers; ++k) {
        if (stop_.load(std::memory_order_relaxed)) return;
        body(count * k / parts, count * (k + 1) / parts, k);
        if (worker == 0 && parts > 1) look();
      }
    };
    if (parts == 1 || threads_ == 1) {
      share(0, 1);
    } else {
      start();
      const int workers = 1 + static_cast<int>(others_.size());
      on_all([&](int worker) { share(worker, workers); });
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Job {
    const Run* body;
    int count;
    std::atomic<int> next{0}, helpers{0};  // the latter changes under mutex_
  };

  void start();
  void join_in(int worker);
  void wake_two(int worker);
  void call_others(const std::function<void(int)>& body);
  void wait_for_others();
  void on_all(const std::function<void(int)>& body);
  void worker_loop(int worker, const Run& run);
  void announce();
  void wait_for_work(std::unique_lock<std::mutex>& lock, int worker);
  void help(Job& job, int worker);
  void look();
  void fail(std::exception_ptr error);

  int threads_;
  Control& control_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::vector<Helper*> others_;
  const std::function<void(int)>* body_ = nullptr;
  const std::function<void(int)>* standby_ = nullptr;  // for the others, once one of them can help
  std::atomic<int> pending_{0};

  std::mutex mutex_;
  std::condition_variable changed_, helped_;  // there is something to do; a job has no helpers left
  std::atomic<uint32_t> changes_{0};          // grows under mutex_
  std::vector<int32_t> ready_, waits_;
  std::vector<std::vector<int32_t>> successors_;
  std::vector<Job*> jobs_;
  size_t remaining_ = 0;
  std::atomic<bool> stop_{false};
  std::exception_ptr error_;
};

}  // namespace planaris
