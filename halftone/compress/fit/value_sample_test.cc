// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/value_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace halftone::compress {
namespace {

using Picks = ValueSample::Picks;

std::vector<std::size_t> all(const Picks& picks, std::size_t stream_size) {
  const auto places = picks.within(0, stream_size);
  return {places.begin(), places.end()};
}

TEST(ValueSample, DoesNotDependOnHowTheStreamIsCut) {
  const Picks picks(1000, 64, 3);
  std::vector<std::size_t> pieces;
  for (std::size_t at = 0; at < 1000;) {
    const std::size_t count = std::min<std::size_t>(1 + at % 37, 1000 - at);
    const auto part = picks.within(at, at + count);
    EXPECT_LE(part.size(), picks.max_within(count));
    pieces.insert(pieces.end(), part.begin(), part.end());
    at += count;
  }
  EXPECT_EQ(pieces, all(picks, 1000));
}

TEST(ValueSample, KeepsOneOfEachStratum) {
  const auto places = all(Picks(1000, 100, 1), 1000);
  ASSERT_EQ(places.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(places[i] / 10, i);
}

TEST(ValueSample, KeepsEverythingThatFits) {
  std::vector<std::size_t> expected(50);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(all(Picks(50, 100, 0), 50), expected);
}

TEST(ValueSample, KeepsNothingBeyondTheEnd) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::size_t place : all(Picks(95, 10, seed), 1000)) EXPECT_LT(place, 95U);
  }
}

TEST(ValueSample, DependsOnTheSeed) {
  EXPECT_NE(all(Picks(1000, 10, 0), 1000), all(Picks(1000, 10, 1), 1000));
}

}  // namespace
}  // namespace halftone::compress
