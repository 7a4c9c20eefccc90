// SPDX-License-Identifier: Apache-2.0
// Packing is the inverse of unpacking; tests/gguf_writer_test.py compares with another
// implementation.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "halftone/base/half.h"
#include "halftone/base/testing.h"
#include "halftone/formats/gguf/block_types.h"

namespace halftone::formats {
namespace {

using numerics::GroupScales;

/// What a block holds, in memory of its own.
struct OwnedNumbers {
  std::vector<std::int8_t> codes = std::vector<std::int8_t>(numerics::kMaxBlock);
  std::vector<float> scales = std::vector<float>(numerics::kMaxBlock / 16);
  std::vector<float> offsets = std::vector<float>(numerics::kMaxBlock / 16);
  float scale_factor = 1;
  float offset_factor = 1;

  [[nodiscard]] numerics::BlockNumbers view() const {
    return {codes.data(), scales.data(), offsets.data(), scale_factor, offset_factor};
  }
};

std::vector<std::byte> packed(const GgufType& type, const OwnedNumbers& numbers) {
  std::vector<std::byte> bytes(type.block_bytes, std::byte{0xA5});
  type.pack(type, numbers.view(), bytes.data());
  return bytes;
}

OwnedNumbers unpacked(const GgufType& type, const std::vector<std::byte>& bytes) {
  OwnedNumbers numbers;
  type.unpack(type, bytes.data(),
              {numbers.codes.data(), numbers.scales.data(), numbers.offsets.data()});
  return numbers;
}

std::vector<const GgufType*> packed_types() {
  std::vector<const GgufType*> types;
  for (const GgufType& type : gguf_types()) {
    if (type.pack != nullptr) types.push_back(&type);
  }
  return types;
}

std::size_t groups_of(const GgufType& type) { return type.block / type.group; }

std::vector<std::int8_t> levels_of(const GgufType& type) {
  std::vector<std::int8_t> levels;
  for (int i = 0; i < 1 << type.levels.bits; ++i) {
    levels.push_back(static_cast<std::int8_t>(type.levels.level(static_cast<std::size_t>(i))));
  }
  return levels;
}

/// Levels by turns, from one that differs from block to block; scales and offsets by turns the
/// least, the greatest and others.
OwnedNumbers numbers_of(const GgufType& type, int block) {
  std::mt19937 random(static_cast<unsigned>(block));
  const auto half = [&] {
    return float_from_half(half_from_float(std::ldexp(static_cast<float>(random() % 2001) - 1000,
                                                      static_cast<int>(random() % 12) - 12)));
  };
  const auto integer = [&](int least, int most) {
    const auto range = static_cast<unsigned>(most - least + 1);
    const int choice = static_cast<int>(random() % 4);
    if (choice < 2) return static_cast<float>(choice == 0 ? least : most);
    return static_cast<float>(least + static_cast<int>(random() % range));
  };
  OwnedNumbers numbers;
  const std::vector<std::int8_t> levels = levels_of(type);
  for (std::size_t i = 0; i < type.block; ++i) {
    numbers.codes[i] =
        levels[(i * 7 + random() % 2 + static_cast<std::size_t>(block)) % levels.size()];
  }
  const bool integers = type.scales == GroupScales::kHalfTimesByte;
  const bool powers = type.scales == GroupScales::kPowerOfTwo;
  for (std::size_t g = 0; g < groups_of(type); ++g) {
    if (powers) numbers.scales[g] = std::ldexp(1.0F, static_cast<int>(random() % 256) - 128);
    if (powers) continue;
    numbers.scales[g] = integers ? integer(type.min_scale, type.max_scale) : half();
    numbers.offsets[g] = integers ? integer(0, type.max_offset) : half();
  }
  numbers.scale_factor = half();
  numbers.offset_factor = half();
  return numbers;
}

TEST(GgufPack, KnowsTheTypes) {
  std::vector<std::string_view> names;
  for (const GgufType* type : packed_types()) names.push_back(type->name);
  EXPECT_THAT(names, testing::ElementsAre("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K",
                                          "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ2_0",
                                          "MXFP4", "Q1_0", "Q2_0"));
}

TEST(GgufPack, KeepsEveryNumber) {
  for (const GgufType* type : packed_types()) {
    SCOPED_TRACE(type->name);
    std::map<int, int> uses;
    const bool integers = type->scales == GroupScales::kHalfTimesByte;
    for (int block = 0; block < 300; ++block) {
      const OwnedNumbers numbers = numbers_of(*type, block);
      const OwnedNumbers found = unpacked(*type, packed(*type, numbers));
      for (std::size_t i = 0; i < type->block; ++i) ++uses[numbers.codes[i]];
      ASSERT_EQ(found.codes, numbers.codes);
      for (std::size_t g = 0; g < groups_of(*type); ++g) {
        ASSERT_EQ(found.scales[g], (integers ? numbers.scale_factor : 1) * numbers.scales[g]);
        if (!type->has_offsets) continue;
        ASSERT_EQ(found.offsets[g], (integers ? numbers.offset_factor : 1) * numbers.offsets[g]);
      }
    }
    const std::vector<std::int8_t> levels = levels_of(*type);
    EXPECT_EQ(uses.size(), std::set(levels.begin(), levels.end()).size());
  }
}

/// The first bytes of the factors of scales and offsets, which are float16.
const std::map<std::string_view, std::pair<std::size_t, std::size_t>> kFactors = {
    {"Q2_K", {80, 82}}, {"Q3_K", {108, 108}}, {"Q4_K", {0, 2}},
    {"Q5_K", {0, 2}},   {"Q6_K", {208, 208}}, {"IQ4_XS", {0, 0}}};

/// The numbers of a block whose integers are not 0 because their factors are not.
OwnedNumbers taken_apart(const GgufType& type, const std::vector<std::byte>& bytes) {
  OwnedNumbers numbers = unpacked(type, bytes);
  const auto factor = kFactors.find(type.name);
  if (factor == kFactors.end()) return numbers;
  const auto half = [&](std::size_t at) {
    const auto low = std::to_integer<unsigned>(bytes[at]);
    return float_from_half(
        static_cast<std::uint16_t>(low | std::to_integer<unsigned>(bytes[at + 1]) << 8));
  };
  numbers.scale_factor = half(factor->second.first);
  numbers.offset_factor = -half(factor->second.second);
  // Products of 11 and 8 bits are exact, and so are their quotients.
  for (float& scale : numbers.scales) scale /= numbers.scale_factor;
  for (float& offset : numbers.offsets) offset /= numbers.offset_factor;
  return numbers;
}

TEST(GgufPack, GivesTheBytesThatWereUnpacked) {
  std::mt19937 random(1);
  for (const GgufType* type : packed_types()) {
    SCOPED_TRACE(type->name);
    int same = 0;
    for (int block = 0; block < 400; ++block) {
      std::vector<std::byte> bytes(type->block_bytes);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
      const OwnedNumbers numbers = taken_apart(*type, bytes);
      const auto is_finite = [](float x) { return std::isfinite(x); };
      if (!std::ranges::all_of(numbers.scales, is_finite)) continue;
      if (!std::ranges::all_of(numbers.offsets, is_finite)) continue;
      if (type->name == "MXFP4") {  // which has two zeros
        const OwnedNumbers again = unpacked(*type, packed(*type, numbers));
        ASSERT_EQ(again.codes, numbers.codes) << block;
        ASSERT_EQ(again.scales, numbers.scales) << block;
      } else {
        ASSERT_EQ(packed(*type, numbers), bytes) << block;
      }
      ++same;
    }
    EXPECT_GT(same, 300);  // 1 of 32 random halves is not finite
  }
}

TEST(GgufPack, RefusesWhatATypeDoesNotHold) {
  const auto refuses = [](std::string_view name, const std::string& text, const auto& change) {
    const auto types = gguf_types();
    const auto type = std::ranges::find(types, name, &GgufType::name);
    OwnedNumbers numbers = numbers_of(*type, 1);
    change(numbers);
    expect_error(ErrorKind::kInternal, "block of " + std::string(name) + ": expected " + text,
                 [&] { (void)packed(*type, numbers); });
  };
  refuses("Q4_0", "levels of the type as codes, found 8", [](auto& n) { n.codes[31] = 8; });
  refuses("Q4_1", "levels of the type as codes, found -1", [](auto& n) { n.codes[0] = -1; });
  refuses("Q1_0", "levels of the type as codes, found 0", [](auto& n) { n.codes[0] = 0; });
  refuses("IQ4_NL", "levels of the type as codes, found 2", [](auto& n) { n.codes[0] = 2; });
  refuses("Q8_0", "a finite float16, found 0.1", [](auto& n) { n.scales[0] = 0.1F; });
  refuses("Q8_0", "a finite float16, found inf", [](auto& n) { n.scales[0] = kInfinity; });
  refuses("Q5_1", "a finite float16, found", [](auto& n) { n.offsets[0] = kNan; });
  refuses("Q6_K", "a finite float16, found 1000000", [](auto& n) { n.scale_factor = 1e6F; });
  refuses("Q2_K", "a finite float16, found", [](auto& n) { n.offset_factor = kNan; });
  refuses("Q6_K", "an integer from -128 to 127, found 128", [](auto& n) { n.scales[15] = 128; });
  refuses("Q3_K", "an integer from -32 to 31, found -33", [](auto& n) { n.scales[3] = -33; });
  refuses("Q4_K", "an integer from 0 to 63, found 0.5", [](auto& n) { n.scales[0] = 0.5F; });
  refuses("Q5_K", "an integer from 0 to 63, found 64", [](auto& n) { n.offsets[7] = 64; });
  refuses("MXFP4", "a power of two as its scale, found 3", [](auto& n) { n.scales[0] = 3; });
  refuses("Q2_K", "an integer from 0 to 15, found nan", [](auto& n) { n.offsets[7] = kNan; });
}

}  // namespace
}  // namespace halftone::formats
