// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/score_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace halftone::train {
namespace {

TEST(ScoreMemory, GivesWhatItWasGivenInAnyOrder) {
  constexpr std::int64_t kTeachers = 2;
  constexpr std::int64_t kClasses = 3;
  ScoreMemory memory(5, kTeachers, kClasses);
  EXPECT_TRUE(memory.has({}));
  const std::vector<std::size_t> first{3, 0};
  const std::vector<std::size_t> second{1, 4};
  EXPECT_FALSE(memory.has(first));
  const at::Tensor x = at::arange(12, at::kFloat).reshape({kTeachers, 2, kClasses});
  memory.keep(first, x);
  memory.keep(second, x + 100);
  EXPECT_TRUE(memory.has(first));
  EXPECT_FALSE(memory.has(std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(memory.scores(first).equal(x));
  const at::Tensor mixed = memory.scores(std::vector<std::size_t>{4, 3, 1});
  const at::Tensor expected =
      at::stack({x.select(1, 1) + 100, x.select(1, 0), x.select(1, 0) + 100}, 1);
  EXPECT_TRUE(mixed.equal(expected));
  EXPECT_TRUE(mixed.is_contiguous());
}

}  // namespace
}  // namespace halftone::train
