// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "halftone/base/error.h"

namespace halftone {
namespace {

class ParallelFor : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(0); }
};

TEST_P(ParallelFor, CallsEveryIndexOnce) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 5u, 1000u}) {
    std::vector<std::atomic<int>> calls(count);
    parallel_for(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& number : calls) EXPECT_EQ(number, 1);
  }
}

TEST_P(ParallelFor, UsesAtMostTheConfiguredThreads) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel_for(64, [&](std::size_t) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_LE(seen.size(), static_cast<std::size_t>(GetParam()));
}

// Index 3 fails late, so that threads that fail at higher indices are recorded before it.
TEST_P(ParallelFor, RethrowsTheFailureWithTheSmallestIndex) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    try {
      parallel_for(100, [](std::size_t i) {
        if (i < 3) return;
        if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        fail(ErrorKind::kShape, std::to_string(i));
      });
      FAIL() << "no exception";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

TEST_P(ParallelFor, WorksAgainAfterAFailure) {
  EXPECT_THROW(parallel_for(10, [](std::size_t) { throw std::bad_alloc(); }), std::bad_alloc);
  std::atomic<int> calls = 0;
  parallel_for(10, [&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST_P(ParallelFor, NestedCallsRunOnTheCallingThread) {
  std::vector<std::vector<int>> sums(8, std::vector<int>(8));
  std::atomic<int> elsewhere = 0;
  parallel_for(8, [&](std::size_t i) {
    const auto caller = std::this_thread::get_id();
    parallel_for(8, [&](std::size_t j) {
      sums[i][j] = static_cast<int>(10 * i + j);
      if (GetParam() > 1 && std::this_thread::get_id() != caller) ++elsewhere;
    });
  });
  EXPECT_EQ(elsewhere, 0);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(sums[i][j], static_cast<int>(10 * i + j));
  }
}

TEST_P(ParallelFor, GivesTheSameResultForAnyNumberOfThreads) {
  std::vector<double> result(500);
  parallel_for(result.size(), [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 1; k <= i; ++k) sum += 1.0 / static_cast<double>(k);
    result[i] = sum;
  });
  double sum = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i > 0) sum += 1.0 / static_cast<double>(i);
    EXPECT_EQ(result[i], sum);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelFor, testing::Values(1, 2, 4));

TEST(NumThreads, ZeroMeansEveryCore) {
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
}

TEST(ThreadLimit, HoldsForItsThreadWhileItLives) {
  set_num_threads(4);
  {
    const ThreadLimit two(2);
    EXPECT_EQ(num_threads(), 2);
    {
      const ThreadLimit three(3);
      EXPECT_EQ(num_threads(), 2);
    }
    std::thread([] { EXPECT_EQ(num_threads(), 4); }).join();
    std::mutex mutex;
    std::set<std::thread::id> seen;
    parallel_for(64, [&](std::size_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    EXPECT_LE(seen.size(), 2u);
  }
  EXPECT_EQ(num_threads(), 4);
  set_num_threads(0);
}

TEST(NumThreads, RefusesWhatIsOutOfRange) {
  for (const int count : {-1, 1025}) {
    try {
      set_num_threads(count);
      FAIL() << count << " accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), testing::HasSubstr("found " + std::to_string(count)));
    }
  }
}

}  // namespace
}  // namespace halftone
