// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/svg/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halftone::report::svg {
namespace {

using testing::ElementsAre;

TEST(Ticks, CoverTheRangeInRoundSteps) {
  EXPECT_THAT(ticks(0, 1, 5), ElementsAre(0, 0.2, 0.4, testing::DoubleEq(0.6), 0.8, 1));
  EXPECT_THAT(ticks(0, 97, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(ticks(-3, 4, 5), ElementsAre(-4, -2, 0, 2, 4));
  EXPECT_THAT(ticks(0, 1, 1), ElementsAre(0, 1));
  for (const double high : {1e-30, 3e-5, 0.7, 12.0, 99999.0, 1e30}) {
    const std::vector<double> found = ticks(0, high, 5);
    EXPECT_GE(found.back(), high);
    EXPECT_GE(found.size(), 2U);
    EXPECT_LE(found.size(), 6U);
  }
}

TEST(Escaped, HasNoMarkup) { EXPECT_EQ(escaped("a<b>&\"\n"), "a&lt;b&gt;&amp;&quot;\\x0A"); }

}  // namespace
}  // namespace halftone::report::svg
