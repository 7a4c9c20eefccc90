// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "halftone/base/parallel.h"

namespace halftone {
namespace {

TEST(Team, RunsOnTheCallerAndItsHelpersAndWaitsForAll) {
  internal::Team team;
  for (const int helpers : {0, 1, 3, 2}) {
    std::atomic<int> calls = 0;
    team.run(helpers, [&] { ++calls; });
    EXPECT_EQ(calls, helpers + 1);
  }
}

TEST(Team, KeepsItsHelpers) {
  internal::Team team;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int repeat = 0; repeat < 50; ++repeat) {
    team.run(2, [&] {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(Team, WakesHelpersThatSleep) {
  internal::Team team;
  std::atomic<int> calls = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    team.run(1, [&] { ++calls; });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(calls, 10);
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
