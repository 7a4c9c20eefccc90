// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/polling.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

int vain_tries = 0;

TEST(SpinUntil, TriesAgainUntilItIsDone) {
  if (num_cores() < 2) GTEST_SKIP() << "a single core does not spin";
  vain_tries = 0;
  const auto count = [] { ++vain_tries; };
  EXPECT_TRUE(spin_until([] { return vain_tries == 3; }, std::chrono::minutes(1), count));
  EXPECT_EQ(vain_tries, 3);
}

TEST(SpinUntil, GivesUpWhenItsTimeIsOver) {
  const auto limit = std::chrono::microseconds(20);
  EXPECT_FALSE(spin_until([] { return false; }, limit));
  EXPECT_FALSE(spin_until([] { return false; }, limit, relax));
}

}  // namespace
}  // namespace halftone
