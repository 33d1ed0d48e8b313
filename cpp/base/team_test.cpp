#include "base/team.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "third_party/doctest/doctest.h"

using namespace planaris;

// A binary tree in which every task adds up its children, with loops inside some of them.
TEST_CASE("tasks wait for those before them") {
  constexpr int32_t kTasks = 127;
  for (const int threads : {1, 2, 5}) {
    Control control;
    Team team(threads, control);
    for (int round = 0; round < 20; ++round) {
      std::vector<std::vector<int32_t>> successors(kTasks);
      std::vector<int32_t> waits(kTasks, 0);
      for (int32_t t = 1; t < kTasks; ++t) {
        successors[t] = {(t - 1) / 2};
        ++waits[(t - 1) / 2];
      }
      std::vector<int64_t> sum(kTasks, 0);
      team.work(successors, waits, [&](int worker, int t) {
        team.check(worker);
        std::vector<int64_t> parts(8, 0);
        if (t % 3 == 0) team.parallel_for(8, [&](int k) { parts[k] = k; });
        sum[t] = 1 + std::accumulate(parts.begin(), parts.end(), int64_t{0});
        for (const int32_t child : {2 * t + 1, 2 * t + 2}) {
          if (child < kTasks) sum[t] += sum[child];
        }
      });
      CHECK(sum[0] == kTasks + 28 * 43);
    }
  }
}

TEST_CASE("a task alone is the caller's, and its loops are shared") {
  for (const int threads : {1, 2, 5}) {
    Control control;
    Team team(threads, control);
    for (int round = 0; round < 50; ++round) {
      std::vector<int> parts(64, 0);
      std::thread::id by;
      team.work(1, [&](int worker, int) {
        CHECK(worker == 0);
        by = std::this_thread::get_id();
        for (int loop = 0; loop < round % 3; ++loop) {
          team.parallel_for(64, [&](int k) { ++parts[k]; });
        }
      });
      CHECK(by == std::this_thread::get_id());
      CHECK(parts == std::vector<int>(64, round % 3));
    }
    const auto bad = [&](int, int) {
      team.parallel_for(64, [](int k) {
        if (k == 40) throw std::length_error("bad");
      });
    };
    CHECK_THROWS_AS(team.work(1, bad), std::length_error);
  }
}

TEST_CASE("parts of a loop know who runs them, and no two run by one at a time") {
  for (const int threads : {1, 2, 5}) {
    Control control;
    Team team(threads, control);
    std::vector<std::atomic<int>> busy(threads);
    std::vector<int> parts(3 * 16, 0);
    std::atomic<int> clashes{0};
    team.work(3, [&](int worker, int task) {
      team.parallel_for(worker, 16, [&](int by, int k) {
        if (busy[by]++ > 0) ++clashes;
        ++parts[16 * task + k];
        --busy[by];
      });
    });
    CHECK(clashes == 0);
    CHECK(parts == std::vector<int>(3 * 16, 1));
  }
}

TEST_CASE("what has to be finished looks at no clock and heeds signals") {
  int looks = 0, signals = 0;
  Control control([&](double) { return ++looks > 0; }, 0.0, {1, 0.0});
  control.set_signals([&] { return ++signals < 3; });
  CHECK_THROWS_AS(control.poll_now(), DeadlinePassed);
  control.set_finishing(true);
  Team team(3, control);
  const auto endless = [&](int worker, int) {
    while (true) team.check(worker);
  };
  CHECK_THROWS_AS(team.work(3, endless), Interrupted);
  CHECK(looks == 0);
  CHECK(signals == 3);
}

TEST_CASE("what follows a search has a little time") {
  int told = 0;
  Control control({}, 0.0);
  control.set_extend([&] { ++told; });
  CHECK_THROWS_AS(control.poll_now(), DeadlinePassed);
  control.extend();
  CHECK(told == 1);
  control.poll_now();
}

TEST_CASE("parts of loops do not depend on threads") {
  std::vector<double> sums;
  for (const int threads : {1, 2, 3, 7}) {
    Control control;
    Team team(threads, control);
    for (int round = 0; round < 100; ++round) {
      std::vector<double> parts(Team::parts(3e5), 0.0);
      team.split(1000, static_cast<int>(parts.size()), [&](int64_t begin, int64_t end, int part) {
        for (int64_t i = begin; i < end; ++i) parts[part] += 1.0 / static_cast<double>(i + 1);
      });
      sums.push_back(std::accumulate(parts.begin(), parts.end(), 0.0));
    }
  }
  CHECK(sums == std::vector<double>(sums.size(), sums[0]));
  CHECK(Team::parts(1.9e4) == 1);
  CHECK(Team::parts(1e8) == 64);
  CHECK(Team::parts(1e9) == 200);
  CHECK(Team::parts(1e300) == 4096);
}

TEST_CASE("loops stop between their parts") {
  for (const int threads : {1, 3}) {
    int looks = 0;
    Control control([&](double) { return ++looks < 5; }, std::numeric_limits<double>::infinity(),
                    {1, 0.0});
    Team team(threads, control);
    std::atomic<int> parts = 0;
    const auto body = [&](int64_t, int64_t, int) { ++parts; };
    CHECK_THROWS_AS(team.split(1000, 1000, body), Interrupted);
    CHECK(looks == 5);
    CHECK(parts < 1000);
  }
}

TEST_CASE("an exception of any thread stops all and reaches the caller") {
  for (const int bad : {0, 50, 99}) {
    Control control;
    Team team(4, control);
    const auto run = [&](int worker, int t) {
      team.check(worker);
      if (t == bad) throw std::length_error("bad");
    };
    CHECK_THROWS_AS(team.work(100, run), std::length_error);
  }
  Control over([](double) { return true; }, 0.0);
  Team team(3, over);
  const auto run = [&](int worker, int) {
    do {
      team.check(worker);
    } while (worker != 0);  // the others go on until the caller has seen the clock
  };
  CHECK_THROWS_AS(team.work(100, run), DeadlinePassed);
}

TEST_CASE("threads are kept from team to team") {
  const auto helpers = [] {
    Control control;
    Team team(4, control);
    std::vector<std::thread::id> seen(4);
    team.split(4, 4, [&](int64_t, int64_t, int part) { seen[part] = std::this_thread::get_id(); });
    std::sort(seen.begin(), seen.end());
    return seen;
  };
  const std::vector<std::thread::id> first = helpers();
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
  CHECK(helpers() == first);
}

TEST_CASE("threads started by one that rounds up round to nearest") {
  std::fesetround(FE_UPWARD);
  std::vector<int> modes(200, -1);
  {
    Control control;
    Team team(9, control);
    team.work(modes.size(), [&](int worker, int task) {
      modes[task] = worker == 0 ? FE_TONEAREST : std::fegetround();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
  }
  std::fesetround(FE_TONEAREST);
  for (const int mode : modes) CHECK(mode == FE_TONEAREST);
}
