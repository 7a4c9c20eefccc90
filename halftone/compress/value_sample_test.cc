// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/value_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace halftone::compress {
namespace {

std::vector<float> numbers(std::size_t count) {
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 0.0F);
  return x;
}

TEST(ValueSample, DoesNotDependOnHowTheStreamIsCut) {
  const std::vector<float> x = numbers(1000);
  ValueSample whole(1000, 64, 3);
  whole.add(x, x);
  ValueSample pieces(1000, 64, 3);
  for (std::size_t at = 0; at < 1000;) {
    const std::size_t count = std::min<std::size_t>(1 + at % 37, 1000 - at);
    pieces.add(std::span(x).subspan(at, count), std::span(x).subspan(at, count));
    at += count;
  }
  EXPECT_THAT(pieces.actual(), testing::ElementsAreArray(whole.actual()));
}

TEST(ValueSample, KeepsOneOfEachStratum) {
  const std::vector<float> x = numbers(1000);
  ValueSample sample(1000, 100, 1);
  sample.add(x, x);
  ASSERT_EQ(sample.actual().size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_GE(sample.actual()[i], static_cast<float>(10 * i));
    EXPECT_LT(sample.actual()[i], static_cast<float>(10 * i + 10));
  }
}

TEST(ValueSample, KeepsEverythingThatFitsAndThePairsTogether) {
  const std::vector<float> x = numbers(50);
  std::vector<float> y = x;
  for (float& value : y) value *= 2;
  ValueSample sample(50, 100, 0);
  sample.add(x, y);
  EXPECT_THAT(sample.actual(), testing::ElementsAreArray(x));
  EXPECT_THAT(sample.original(), testing::ElementsAreArray(y));
}

TEST(ValueSample, DependsOnTheSeed) {
  const std::vector<float> x = numbers(1000);
  ValueSample a(1000, 10, 0);
  ValueSample b(1000, 10, 1);
  a.add(x, x);
  b.add(x, x);
  EXPECT_THAT(a.actual(), testing::Not(testing::ElementsAreArray(b.actual())));
}

}  // namespace
}  // namespace halftone::compress
