// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/nested_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "halftone/base/random.h"

namespace halftone::numerics {
namespace {

/// Random blocks: any codes, and scales that are numbers.
std::vector<std::byte> random_blocks(std::size_t count) {
  Random random(3);
  std::vector<std::byte> bytes(count * nested_encoding().block_bytes);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random.below(256));
  for (std::size_t b = 0; b < count; ++b) {
    std::byte& high = bytes[b * nested_encoding().block_bytes + 1];
    high &= std::byte{0xBF};  // below 2
  }
  return bytes;
}

struct Parts {
  std::vector<std::byte> first;
  std::vector<std::byte> fourth;
};

Parts parts_of(const std::vector<std::byte>& blocks) {
  const std::size_t count = blocks.size() / nested_encoding().block_bytes;
  Parts parts{std::vector<std::byte>(count * first_bits_encoding().block_bytes),
              std::vector<std::byte>(count * kFourthBitsBytes)};
  split_nested(blocks, parts.first, parts.fourth);
  return parts;
}

TEST(NestedEncoding, TakesAQuarterOfABitBesideTheCodes) {
  EXPECT_EQ(nested_encoding().bits(), 4.25);
  EXPECT_EQ(first_bits_encoding().bits(), 3.25);
}

TEST(NestedEncoding, JoinsWhatItSplits) {
  const std::vector<std::byte> blocks = random_blocks(5);
  const Parts parts = parts_of(blocks);
  std::vector<std::byte> joined(blocks.size());
  join_nested(parts.first, parts.fourth, joined);
  EXPECT_EQ(joined, blocks);
}

TEST(NestedEncoding, FourBitsLieAQuarterOfAStepBesideThree) {
  const std::vector<std::byte> blocks = random_blocks(5);
  const Parts parts = parts_of(blocks);
  std::vector<float> fine(5 * 64);
  std::vector<float> coarse(5 * 64);
  decode_blocks(nested_encoding(), blocks, fine);
  decode_blocks(first_bits_encoding(), parts.first, coarse);
  for (std::size_t i = 0; i < fine.size(); ++i) {
    std::array<std::int8_t, 64> codes{};
    float scale = 0;
    first_bits_encoding().unpack(first_bits_encoding(), parts.first.data() + i / 64 * 26,
                                 {codes.data(), &scale, nullptr});
    const bool is_up = (std::to_integer<int>(parts.fourth[i / 8]) >> (i % 8) & 1) == 1;
    // Exact: numbers of float16 times integers of 5 bits.
    EXPECT_EQ(coarse[i], scale * static_cast<float>(codes[i % 64]));
    EXPECT_EQ(fine[i] - coarse[i], (is_up ? scale : -scale) / 4) << i;
  }
}

TEST(NestedEncoding, PacksWhatItUnpacks) {
  const std::vector<std::byte> blocks = random_blocks(7);
  const BlockEncoding& encoding = nested_encoding();
  for (std::size_t at = 0; at < blocks.size(); at += encoding.block_bytes) {
    std::array<std::int8_t, 64> levels{};
    float scale = 0;
    encoding.unpack(encoding, blocks.data() + at, {levels.data(), &scale, nullptr});
    EXPECT_THAT(levels, testing::Each(testing::AllOf(testing::Ge(-17), testing::Le(13))));
    std::vector<std::byte> packed(encoding.block_bytes, std::byte{0xFF});
    encoding.pack(encoding, {levels.data(), &scale, nullptr}, packed.data());
    const auto from = blocks.begin() + static_cast<std::ptrdiff_t>(at);
    EXPECT_TRUE(std::equal(packed.begin(), packed.end(), from)) << at;
  }
}

TEST(NestedEncoding, NamesItsLevelsByAscendingCodes) {
  const CodeLevels& levels = nested_encoding().levels;
  for (std::size_t code = 0; code < 16; ++code) {
    EXPECT_EQ(levels.level(code), static_cast<int>(2 * code) - 17);
  }
}

}  // namespace
}  // namespace halftone::numerics
