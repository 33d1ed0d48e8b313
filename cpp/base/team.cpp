#include "base/team.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/simd.hpp"

namespace planaris {

void Team::start() {
  if (!others_.empty()) return;
  try {
    others_.reserve(threads_);
    for (int k = 1; k < threads_; ++k) {
      others_.push_back(&Helper::take([this, k] { join_in(k); }));
    }
  } catch (...) {  // fewer threads than wished for: go on with those there are
  }
}

void Team::join_in(int worker) {
  wake_two(worker);
  (*body_)(worker);
  if (--pending_ == 0) pending_.notify_all();
}

// Every thread wakes two others: the caller alone would take longer for fifteen than a small batch
// does.
void Team::wake_two(int worker) {
  const int end = std::min(2 * worker + 2, static_cast<int>(others_.size()));
  for (int k = 2 * worker; k < end; ++k) others_[k]->wake();
}

void Team::call_others(const std::function<void(int)>& body) {
  start();
  body_ = &body;
  pending_ = static_cast<int>(others_.size());
  // The last ones first: whoever is awake begins at once, and wakes those after it.
  for (size_t k = others_.size(); k-- > 0;) others_[k]->begin();
  wake_two(0);
}

void Team::wait_for_others() {
  spin_until([&] { return pending_ <= 0; });
  for (int left = pending_; left > 0; left = pending_) pending_.wait(left);
}

void Team::on_all(const std::function<void(int)>& body) {
  call_others(body);
  body(0);
  wait_for_others();
}

Team::~Team() {
  for (Helper* const helper : others_) helper->dismiss();
}

void Team::work(std::vector<std::vector<int32_t>> successors, std::vector<int32_t> waits,
                const Run& run) {
  successors_ = std::move(successors);
  waits_ = std::move(waits);
  remaining_ = waits_.size();
  ready_.clear();
  for (size_t t = waits_.size(); t-- > 0;) {
    if (waits_[t] == 0) ready_.push_back(static_cast<int32_t>(t));
  }
  const std::function<void(int)> body = [&](int worker) { worker_loop(worker, run); };
  if (waits_.size() > 1) {
    on_all(body);
  } else {  // the others are called by the first loop that can be shared
    standby_ = &body;
    body(0);
    standby_ = nullptr;
    wait_for_others();
  }
  if (error_) std::rethrow_exception(error_);
}

void Team::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  stop_ = true;
  announce();
  helped_.notify_all();
}

// Under mutex_: what idle threads wait for has changed.
void Team::announce() {
  ++changes_;
  changed_.notify_all();
}

void Team::wait_for_work(std::unique_lock<std::mutex>& lock, int worker) {
  const uint32_t seen = changes_;
  const auto changed = [&] { return changes_ != seen; };
  lock.unlock();
  spin_until(changed);
  lock.lock();
  if (worker > 0) {
    changed_.wait(lock, changed);
    return;
  }
  changed_.wait_for(lock, std::chrono::milliseconds(10), changed);
  lock.unlock();
  look();
  lock.lock();
}

void Team::worker_loop(int worker, const Run& run) {
  std::unique_lock lock(mutex_);
  while (remaining_ > 0 && !stop_) {
    if (!ready_.empty()) {
      const int32_t task = ready_.back();
      ready_.pop_back();
      lock.unlock();
      try {
        run(worker, task);
      } catch (...) {
        fail(std::current_exception());
        return;
      }
      lock.lock();
      const bool last = --remaining_ == 0;
      size_t freed = 0;
      for (const int32_t next : successors_[task]) {
        if (--waits_[next] > 0) continue;
        ready_.push_back(next);
        ++freed;
      }
      if (last || freed > 1) announce();  // this thread takes one of them itself
      continue;
    }
    const auto open = std::find_if(jobs_.begin(), jobs_.end(),
                                   [](const Job* job) { return job->next < job->count; });
    if (open != jobs_.end()) {
      Job& job = **open;
      ++job.helpers;
      lock.unlock();
      help(job, worker);
      lock.lock();
      if (--job.helpers == 0) helped_.notify_all();
      continue;
    }
    wait_for_work(lock, worker);
  }
}

// Polls, and has all stop where that throws.
void Team::look() {
  try {
    control_.poll_now();
  } catch (...) {
    fail(std::current_exception());
  }
}

// A large front keeps a thread busy for long: between its parts it looks whether to stop.
void Team::check() {
  if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
  if (std::this_thread::get_id() == caller_) control_.poll_now();
}

void Team::help(Job& job, int worker) {
  try {
    for (int k = job.next++; k < job.count; k = job.next++) {
      check();
      (*job.body)(worker, k);
    }
  } catch (...) {
    job.next = job.count;  // what is left is not done, and nobody will look at it
    fail(std::current_exception());
  }
}

void Team::parallel_for(int worker, int count, const Run& body) {
  if (threads_ == 1 || count < 2) {
    for (int k = 0; k < count; ++k) {
      check();
      body(worker, k);
    }
    return;
  }
  Job job{&body, count};
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    announce();
  }
  if (standby_ != nullptr && std::this_thread::get_id() == caller_) {
    call_others(*std::exchange(standby_, nullptr));
  }
  help(job, worker);
  std::unique_lock lock(mutex_);
  jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
  lock.unlock();
  spin_until([&job] { return job.helpers == 0; });
  lock.lock();
  helped_.wait(lock, [&job] { return job.helpers == 0; });
  if (stop_) throw Interrupted();
}

}  // namespace planaris
