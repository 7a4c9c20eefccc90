// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "halftone/base/parallel.h"

namespace halftone {
namespace {

/// Runs a team, of which each thread waits for all others. @return the threads
std::set<std::thread::id> threads_that_meet(internal::Team& team, int helpers) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> seen;
  team.run(helpers, [&] {
    std::unique_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait_for(lock, std::chrono::minutes(1),
                     [&] { return seen.size() == static_cast<std::size_t>(helpers) + 1; });
  });
  return seen;
}

TEST(Team, RunsOnTheCallerAndItsHelpers) {
  internal::Team team;
  for (const int helpers : {0, 1, 3, 2}) {
    const auto seen = threads_that_meet(team, helpers);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(helpers) + 1);
    EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
  }
}

TEST(Team, WaitsForWhatHasBegun) {
  internal::Team team;
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    team.run(3, [&] {
      ++begun;
      for (int i = 0; i < 100; ++i) static_cast<void>(begun.load());
      ++ended;
    });
    ASSERT_EQ(begun, ended);
    ASSERT_GE(begun, 1);
    ASSERT_LE(begun, 4);
  }
}

TEST(Team, KeepsItsHelpers) {
  internal::Team team;
  const auto seen = threads_that_meet(team, 2);
  for (int repeat = 0; repeat < 50; ++repeat) EXPECT_EQ(threads_that_meet(team, 2), seen);
}

TEST(Team, WakesHelpersThatSleep) {
  internal::Team team;
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_EQ(threads_that_meet(team, 1).size(), 2U);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// A process that computes and then forks, as multiprocessing of Python does.
TEST(Team, StartsAgainInAChildOfFork) {
#ifdef __aarch64__
  GTEST_SKIP() << "QEMU 7.2, where this is tested, fails an assertion of its own";
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer ends a child that starts threads";
#endif
#endif
  const auto sum = [] {
    std::atomic<int> calls = 0;
    parallel_for(100, [&](std::size_t) { ++calls; });
    return calls.load();
  };
  set_num_threads(3);
  EXPECT_EQ(sum(), 100);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(sum() == 100 ? 7 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(sum(), 100);
  set_num_threads(0);
}

}  // namespace
}  // namespace halftone
