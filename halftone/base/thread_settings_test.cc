// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/thread_settings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "halftone/base/memory.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

TEST(ThreadSettings, HoldForTheirThreadAndEndInReverseOrder) {
  {
    const UseThreadSettings three({.threads = 3});
    EXPECT_EQ(num_threads(), 3);
    {
      const UseThreadSettings two({.threads = 2, .simd = 1});
      EXPECT_EQ(num_threads(), 2);
    }
    EXPECT_EQ(num_threads(), 3);
    std::thread([] { EXPECT_EQ(thread_settings(), ThreadSettings{}); }).join();
  }
  EXPECT_EQ(thread_settings(), ThreadSettings{});
}

TEST(ThreadSettings, AreThoseOfTheCallerInALoop) {
  constexpr ThreadSettings kWanted{.threads = 4, .simd = 7, .memory_bytes = 99};
  const UseThreadSettings use(kWanted);
  std::atomic<int> others = 0;
  parallel_for(64, [&](std::size_t) {
    if (thread_settings() != kWanted) ++others;
  });
  EXPECT_EQ(others, 0);
}

TEST(ThreadSettings, OfTwoThreadsDoNotDisturbEachOther) {
  std::atomic<int> others = 0;
  const auto loop = [&](int threads) {
    const UseThreadSettings use({.threads = threads});
    for (int i = 0; i < 200; ++i) {
      parallel_for(8, [&](std::size_t) {
        if (thread_settings().threads != threads) ++others;
      });
      if (num_threads() != threads) ++others;
    }
  };
  std::thread two(loop, 2);
  std::thread three(loop, 3);
  two.join();
  three.join();
  EXPECT_EQ(others, 0);
}

TEST(ThreadSettings, LimitAPieceOfMemory) {
  require_memory(1000, "values");
  const UseThreadSettings use({.memory_bytes = 999});
  require_memory(999, "values");
  expect_error(ErrorKind::kMemory,
               "values: 1000 bytes of memory are needed, the limit of the context is 999",
               [] { require_memory(1000, "values"); });
}

}  // namespace
}  // namespace halftone
