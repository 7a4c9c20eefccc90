// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/samples/validation_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "halftone/base/testing.h"

namespace halftone::train {
namespace {

TEST(Split, HasEverySampleOnce) {
  for (const double share : {0.0, 0.1, 0.5, 0.999}) {
    const Split split = split_samples(103, share, 5);
    EXPECT_EQ(split.validation.size(), static_cast<std::size_t>(share * 103));
    std::vector<std::size_t> all = split.training;
    all.insert(all.end(), split.validation.begin(), split.validation.end());
    std::vector<std::size_t> wanted(103);
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    EXPECT_THAT(all, testing::UnorderedElementsAreArray(wanted));
    EXPECT_TRUE(std::ranges::is_sorted(split.training));
    EXPECT_TRUE(std::ranges::is_sorted(split.validation));
  }
}

TEST(Split, IsTheSeedsOwn) {
  const std::vector<std::size_t> validation = split_samples(1000, 0.2, 5).validation;
  EXPECT_EQ(validation, split_samples(1000, 0.2, 5).validation);
  EXPECT_NE(validation, split_samples(1000, 0.2, 6).validation);
}

TEST(Split, RefusesToHoldAllOut) {
  for (const double share : {-0.1, 1.0}) {
    expect_error(ErrorKind::kUsage, "validation split: expected a share of at least 0 and below 1",
                 [&] { (void)split_samples(10, share, 0); });
  }
}

}  // namespace
}  // namespace halftone::train
