// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/workers.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "halftone/base/testing.h"

namespace halftone::spmd::internal {
namespace {

TEST(Workers, RunTasksThatWaitForEachOther) {
  std::mutex mutex;
  std::condition_variable changed;
  int num_here = 0;
  const auto meet = [&] {
    std::unique_lock lock(mutex);
    ++num_here;
    changed.notify_all();
    changed.wait(lock, [&] { return num_here == 5; });
  };
  {
    Workers workers;
    for (int i = 0; i < 5; ++i) workers.start(meet);
  }
  EXPECT_EQ(num_here, 5);
}

// A task may not have started when the workers are destroyed, as at the end of a process.
TEST(Workers, FinishWhatWasStarted) {
  for (int repetition = 0; repetition < 50; ++repetition) {
    std::atomic<int> num_done{0};
    {
      Workers workers;
      for (int i = 0; i < 3; ++i) workers.start([&] { ++num_done; });
    }
    ASSERT_EQ(num_done, 3);
  }
}

}  // namespace
}  // namespace halftone::spmd::internal
