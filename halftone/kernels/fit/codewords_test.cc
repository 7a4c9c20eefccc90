// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/fit/codewords.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/kernels/fit/fit_testing.h"

namespace halftone::kernels {
namespace {

TEST(Codewords, HaveAStepOnlyIfItIsTheSameEverywhere) {
  EXPECT_EQ(Codewords(stepped_levels(-8, 1, 16), 1).step(), 1);
  EXPECT_EQ(Codewords(stepped_levels(-3, 2, 4), 1).step(), 2);
  EXPECT_EQ(Codewords(std::vector<float>{-1, 1}, 1).step(), 2);
  EXPECT_EQ(Codewords(std::vector<float>{-1, 0, 2}, 1).step(), 0);
  EXPECT_EQ(Codewords(std::vector<float>{2, 1, 0}, 1).step(), 0);  // the code falls
  EXPECT_EQ(Codewords(std::vector<float>{5}, 1).step(), 0);
  EXPECT_EQ(Codewords(stepped_levels(0, 1, 4), 2).step(), 0);
}

TEST(Codewords, KnowTheirNumbers) {
  const Codewords words(std::vector<float>{3, -4, 0, 1, 5, 2}, 2);
  EXPECT_EQ(words.count(), 3U);
  EXPECT_EQ(words.least(), -4);
  EXPECT_EQ(words.largest(), 5);
  EXPECT_EQ(words.half_squares(), (std::vector<float>{12.5F, 0.5F, 14.5F}));
}

TEST(CodeMetric, HasHalfTheSquaredLengthOfCodewords) {
  const Codewords words(std::vector<float>{1, 2, -1, 0}, 2);
  const CodeMetric metric({2, 1, 1, 3, 1, 0, 0, 1}, words);
  // (1, 2): 2 + 2 * 2 + 12 = 18; (-1, 0): 2. Then with the identity.
  EXPECT_EQ(metric.norms, (std::vector<float>{9, 1, 2.5F, 0.5F}));
  const Codewords stepped(stepped_levels(0, 1, 4), 1);
  EXPECT_TRUE(CodeMetric({1, 1}, stepped).norms.empty());
}

}  // namespace
}  // namespace halftone::kernels
