// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/random.h"

namespace halftone {
namespace {

BitMatrix random_bits(std::size_t rows, std::size_t cols) {
  Random random(rows * 1000 + cols);
  BitMatrix bits(rows, cols);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) bits.set(r, c, random.below(2) == 1);
  }
  return bits;
}

TEST(WordsForBits, RoundsUpWithoutOverflow) {
  EXPECT_EQ(words_for_bits(0), 0u);
  EXPECT_EQ(words_for_bits(1), 1u);
  EXPECT_EQ(words_for_bits(64), 1u);
  EXPECT_EQ(words_for_bits(65), 2u);
  EXPECT_EQ(words_for_bits(std::numeric_limits<std::size_t>::max()), std::size_t{1} << 58);
}

TEST(BitsBetween, AreThoseOfTheRowWhereverTheyLie) {
  const std::vector<std::uint64_t> row = {0x8000000000000001U, 0x123456789abcdef0U};
  for (std::size_t first = 0; first <= 128; ++first) {
    for (std::size_t last = first; last <= std::min<std::size_t>(first + 64, 128); ++last) {
      std::uint64_t expected = 0;
      for (std::size_t i = first; i < last; ++i) {
        expected |= (row[i / 64] >> (i % 64) & 1) << (i - first);
      }
      EXPECT_EQ(bits_between(row, first, last), expected) << first << " to " << last;
    }
  }
}

TEST(SpreadBits, MakesAByteOfEachBit) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::uint64_t expected = 0;
    for (unsigned i = 0; i < 8; ++i) expected |= std::uint64_t{bits >> i & 1} << (8 * i);
    EXPECT_EQ(spread_bits(static_cast<std::uint8_t>(bits)), expected) << bits;
  }
}

TEST(BitMatrix, ColumnIsBitOfWordLeastSignificantFirst) {
  BitMatrix bits(2, 70);
  bits.set(1, 3, true);
  bits.set(1, 69, true);
  EXPECT_EQ(bits.row_words(), 2u);
  EXPECT_THAT(bits.words(), testing::ElementsAre(0u, 0u, 8u, 32u));
  bits.set(1, 3, false);
  EXPECT_FALSE(bits.test(1, 3));
  EXPECT_TRUE(bits.test(1, 69));
}

TEST(BitMatrix, CountAgreesWithTestForEveryTail) {
  for (std::size_t cols = 0; cols <= 130; ++cols) {
    const BitMatrix bits = random_bits(2, cols);
    std::size_t expected = 0;
    for (std::size_t c = 0; c < cols; ++c) expected += bits.test(1, c) ? 1U : 0U;
    EXPECT_EQ(bits.count(1), expected) << cols << " columns";
  }
}

TEST(BitMatrix, ClearTailsRestoresTheInvariantForEveryTail) {
  for (std::size_t cols = 0; cols <= 130; ++cols) {
    BitMatrix bits(3, cols);
    for (std::uint64_t& word : bits.words()) word = ~std::uint64_t{0};
    bits.clear_tails();
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(bits.count(r), cols);
  }
}

TEST(BitBytes, RoundTripForEveryTailAndPadding) {
  for (std::size_t cols = 0; cols <= 130; ++cols) {
    const BitMatrix bits = random_bits(3, cols);
    for (const unsigned padding : {0U, 1U, 4U}) {
      const std::size_t row_bytes = (cols + 7) / 8 + padding;
      const std::vector<std::uint8_t> bytes = to_bytes(bits, row_bytes);
      ASSERT_EQ(bytes.size(), 3 * row_bytes);
      EXPECT_EQ(bits_from_bytes(bytes, 3, cols, row_bytes), bits) << cols << " columns";
    }
  }
}

TEST(BitBytes, ColumnIsBitOfByteAndTheRestOfTheRowIsZero) {
  BitMatrix bits(2, 11);
  bits.set(0, 10, true);
  bits.set(1, 0, true);
  EXPECT_THAT(to_bytes(bits, 4), testing::ElementsAre(0, 4, 0, 0, 1, 0, 0, 0));
}

TEST(BitBytes, BitsPastTheLastColumnAreIgnored) {
  const std::vector<std::uint8_t> bytes = {0xff, 0xff, 0xff, 0xff};
  const BitMatrix bits = bits_from_bytes(bytes, 1, 11, 4);
  EXPECT_EQ(bits.count(0), 11u);
}

TEST(BitBytes, RefusesSizesThatDoNotFit) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  struct Case {
    std::size_t bytes, rows, cols, row_bytes;
  };
  for (const Case& c : {Case{3, 2, 9, 2}, Case{5, 2, 9, 2}, Case{2, 2, 9, 1}, Case{1, 0, 9, 2},
                        Case{0, kMax, 8, 1}, Case{0, 1, kMax, 0}, Case{4, kMax / 2, 8, kMax / 2}}) {
    const std::vector<std::uint8_t> bytes(c.bytes);
    try {
      bits_from_bytes(bytes, c.rows, c.cols, c.row_bytes);
      FAIL() << c.rows << " x " << c.cols << " accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kFormat);
      EXPECT_THAT(error.what(), testing::HasSubstr("found " + std::to_string(c.bytes) + " bytes"));
    }
  }
}

}  // namespace
}  // namespace halftone
