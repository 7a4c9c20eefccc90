// SPDX-License-Identifier: Apache-2.0
// Blocks by hand, from the definitions of their types; tests/gguf_blocks_test.py compares all types
// with another implementation.
#include "halftone/formats/gguf/block_types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "halftone/base/half.h"
#include "halftone/base/testing.h"
#include "halftone/formats/gguf/block_layout.h"

namespace halftone::formats {
namespace {

const GgufType& type_named(std::string_view name) {
  for (const GgufType& type : gguf_types()) {
    if (type.name == name) return type;
  }
  throw std::logic_error("no such type");
}

/// A block of `type` whose bytes are zero, except those given.
class Block {
 public:
  explicit Block(std::string_view type) : type_(type_named(type)), bytes_(type_.block_bytes) {}
  Block& byte(std::size_t at, unsigned value) {
    bytes_[at] = static_cast<std::byte>(value);
    return *this;
  }
  Block& half(std::size_t at, float value) {
    const std::uint16_t bits = half_from_float(value);
    return byte(at, bits & 255).byte(at + 1, bits >> 8);
  }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> values(type_.block);
    numerics::decode_blocks(type_, bytes_, values);
    return values;
  }

 private:
  const GgufType& type_;
  std::vector<std::byte> bytes_;
};

TEST(GgufBlocks, HaveTheBitsOfTheirTypes) {
  std::set<std::uint32_t> ids;
  for (const GgufType& type : gguf_types()) {
    EXPECT_EQ(gguf_type(type.id), &type);
    EXPECT_EQ(gguf_type(type.name), &type);
    EXPECT_TRUE(ids.insert(type.id).second) << type.name;
    EXPECT_EQ(type.group == 0, type.unpack == nullptr) << type.name;
    EXPECT_EQ(type.block % std::max<std::size_t>(type.group, 1), 0U) << type.name;
    EXPECT_LE(type.block, numerics::kMaxBlock);
  }
  EXPECT_EQ(gguf_type(4), nullptr);
  EXPECT_EQ(gguf_type("Q3"), nullptr);
  EXPECT_EQ(&gguf_float32(), gguf_type("F32"));
  EXPECT_EQ(type_named("Q4_0").bits(), 4.5);
  EXPECT_EQ(type_named("Q1_0").bits(), 1.125);
  EXPECT_EQ(type_named("Q4_K").bits(), 4.5);
}

TEST(GgufBlocks, AreLinearInTheirHalves) {
  std::size_t num_types = 0;
  for (const GgufType& type : gguf_types()) {
    const std::span<const std::size_t> halves = halves_of(type);
    if (halves.empty()) continue;
    ++num_types;
    EXPECT_EQ(halves.size(), type.has_offsets ? 2U : 1U) << type.name;
    const auto values = [&](std::array<float, 2> factors) {
      Block block(type.name);
      for (std::size_t i = 0; i < type.block_bytes; ++i) {
        block.byte(i, static_cast<unsigned>(i * 37 + 11) & 255);
      }
      for (std::size_t k = 0; k < halves.size(); ++k) block.half(halves[k], factors[k]);
      return block.values();
    };
    const std::vector<float> scale = values({1, 0});
    const std::vector<float> offset = values({0, 1});
    const std::vector<float> both = values({0.5F, -4});
    for (std::size_t i = 0; i < type.block; ++i) {
      const float rest = halves.size() == 2 ? offset[i] : 0;
      EXPECT_EQ(both[i], 0.5F * scale[i] - 4 * rest) << type.name << " " << i;
    }
    EXPECT_GT(*std::ranges::max_element(scale), *std::ranges::min_element(scale)) << type.name;
  }
  EXPECT_EQ(num_types, 22U);
}

TEST(GgufBlocks, OfFourBitsHaveLowNibblesFirst) {
  const std::vector<float> values =
      Block("Q4_0").half(0, 0.5F).byte(2, 0x9F).byte(17, 0x30).values();
  EXPECT_EQ(values[0], 0.5F * 7);    // 15 - 8
  EXPECT_EQ(values[16], 0.5F * 1);   // 9 - 8
  EXPECT_EQ(values[15], 0.5F * -8);  // 0 - 8
  EXPECT_EQ(values[31], 0.5F * -5);  // 3 - 8
  const std::vector<float> offset = Block("Q4_1").half(0, 2).half(2, -1).byte(4, 0x05).values();
  EXPECT_EQ(offset[0], 9);
  EXPECT_EQ(offset[1], -1);
}

TEST(GgufBlocks, OfFiveBitsHaveTheFifthApart) {
  const std::vector<float> values = Block("Q5_0").half(0, 1).byte(2, 1).byte(6, 0x02).values();
  EXPECT_EQ(values[0], 2);    // 2 + 16 - 16
  EXPECT_EQ(values[1], -16);  // 0 - 16
  EXPECT_EQ(Block("Q5_1").half(0, 1).half(2, 3).byte(7, 0x80).values()[31], 19);
}

TEST(GgufBlocks, OfOneAndTwoBitsAreInOrder) {
  const std::vector<float> signs = Block("Q1_0").half(0, 3).byte(2, 0x05).values();
  EXPECT_EQ(signs[0], 3);
  EXPECT_EQ(signs[1], -3);
  EXPECT_EQ(signs[2], 3);
  const std::vector<float> two = Block("Q2_0").half(0, 3).byte(2, 0xE4).values();
  EXPECT_THAT(std::vector<float>(two.begin(), two.begin() + 5),
              testing::ElementsAre(-3, 0, 3, 6, -3));
}

TEST(GgufBlocks, OfThirdsHaveTheDigitsOfBaseThree) {
  // 2 x 81 + 0 x 27 + 1 x 9 + 2 x 3 + 1 = 178 of 243; files have ceil(178 x 256 / 243) = 188.
  const std::vector<float> values = Block("TQ1_0").half(52, 2).byte(0, 188).values();
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(values[32], -2);
  EXPECT_EQ(values[64], 0);
  EXPECT_EQ(values[96], 2);
  EXPECT_EQ(values[128], 0);
}

TEST(GgufBlocks, OfStandardFloatsHaveTheirLevels) {
  // Scale 2^(127 - 127) = 1; levels are E2M1.
  const std::vector<float> mx = Block("MXFP4").byte(0, 127).byte(1, 0xF7).values();
  EXPECT_EQ(mx[0], 6);
  EXPECT_EQ(mx[16], -6);
  // Scale 1 in E4M3: exponent 7, fraction 0.
  const std::vector<float> nv = Block("NVFP4").byte(1, 0x38).byte(12, 0xA3).values();
  EXPECT_EQ(nv[16], 1.5F);
  EXPECT_EQ(nv[24], -1);
}

/// The bits of float32, with one pattern for all NaN, as a number: FNV-1a of their bytes.
std::uint64_t hash_of(const std::vector<float>& values) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const float value : values) {
    const auto bits = std::isnan(value) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 255)) * 0x100000001B3;
    }
  }
  return hash;
}

/// Of the numbers in 16 blocks of random bytes, as the package gguf 0.19 of PyPI decodes them:
/// printed by `tests/gguf_blocks_test.py --hashes`.
constexpr std::pair<std::string_view, std::uint64_t> kHashes[] = {
    {"F32", 0x29129F78A4FE3C76},   {"F16", 0xAA750517CB6F6277},     {"BF16", 0x836EBA85C53FCCA4},
    {"Q4_0", 0xA87AAFBFE891C14C},  {"Q4_1", 0x9A775AC0192A95B7},    {"Q5_0", 0x0D57612D17E9A738},
    {"Q5_1", 0xEC606497CF182FA3},  {"Q8_0", 0x1BA991D095CCAAF6},    {"Q2_K", 0x8C9C9CEFAC812290},
    {"Q3_K", 0x7B9459072E1BF7AF},  {"Q4_K", 0x21EAF6E1DDBCEFFC},    {"Q5_K", 0xD353B525816D971C},
    {"Q6_K", 0x6FEBD8B33B9C9B81},  {"IQ4_NL", 0x8C888025D3AE4E62},  {"IQ4_XS", 0xBF78110354BE2D69},
    {"TQ1_0", 0xA4613955D569BEDC}, {"TQ2_0", 0xDD2528891D795074},   {"MXFP4", 0xD4EE067177C40FB1},
    {"NVFP4", 0x19002E32E0FC10BD}, {"IQ2_XXS", 0xFE51AA9BBA305F32}, {"IQ2_XS", 0x90F15B5326D950C1},
    {"IQ2_S", 0x1A770B0DA0D111A5}, {"IQ3_XXS", 0x9596AE21A415F42C}, {"IQ3_S", 0x3B2F6029CE9D8F81},
    {"IQ1_S", 0xCE92541E0A6D5DE4}, {"IQ1_M", 0xB92B000DF7F9A5DE},
};

TEST(GgufBlocks, OfRandomBytesAreThoseOfAnotherImplementation) {
  for (const auto& [name, expected] : kHashes) {
    const GgufType& type = type_named(name);
    std::uint64_t state = type.id;
    std::vector<std::byte> bytes(16 * type.block_bytes);
    for (std::byte& byte : bytes) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = static_cast<std::byte>(state >> 56);
    }
    std::vector<float> values(16 * type.block);
    numerics::decode_blocks(type, bytes, values);
    EXPECT_EQ(hash_of(values), expected) << name;
  }
}

TEST(GgufBlocks, AreRefusedWhereTheyAreNotKnown) {
  std::vector<float> values(256);
  expect_error(ErrorKind::kUnsupported, "tensor type I16: not decoded yet", [&] {
    numerics::decode_blocks(type_named("I16"), std::vector<std::byte>(512), values);
  });
  expect_error(
      ErrorKind::kShape, "expected blocks of 34 bytes for 256 elements, found 66 bytes",
      [&] { numerics::decode_blocks(type_named("Q8_0"), std::vector<std::byte>(66), values); });
}

}  // namespace
}  // namespace halftone::formats
