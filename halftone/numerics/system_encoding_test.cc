// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/system_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/base/random.h"
#include "halftone/numerics/named_system.h"

namespace halftone::numerics {
namespace {

/// All encodings there are, with their own groups.
std::vector<const SystemEncoding*> all_encodings() {
  std::vector<const SystemEncoding*> all;
  for (const NumberSystem& system : number_systems()) {
    for (int bits = system.min_bits; bits <= std::min(system.max_bits, kMaxBits); ++bits) {
      std::string name(system.name);
      if (system.min_bits != system.max_bits) name += std::to_string(bits);
      try {
        all.push_back(system_encoding(name));
      } catch (const Error&) {  // NamesWhatBlocksCannotHold knows them
      }
    }
  }
  return all;
}

std::string error_of(const std::string& text) {
  try {
    (void)system_encoding(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

/// A block of random codes and scales that the encoding stores exactly.
struct RandomBlock {
  RandomBlock(const SystemEncoding& encoding, Random& random)
      : codes(encoding.block), scales(encoding.block / encoding.group) {
    for (auto& code : codes) {
      code = static_cast<std::uint16_t>(random.below(encoding.numbers.size()));
    }
    for (float& scale : scales) scale = stored_scale(encoding, random);
    if (!encoding.has_offsets) return;
    offsets.resize(scales.size());
    for (float& offset : offsets) offset = stored_scale(encoding, random);
  }
  static float stored_scale(const SystemEncoding& encoding, Random& random) {
    if (encoding.scales == GroupScales::kPowerOfTwo) {
      return std::ldexp(1.0F, static_cast<int>(random.below(40)) - 20);
    }
    if (encoding.scales == GroupScales::kE4m3) {
      return round_to(NumberType::kE4m3, std::abs(random.normal()) * 100);
    }
    if (encoding.scales == GroupScales::kHalfTimesByte) {
      const int count = encoding.max_scale - encoding.min_scale + 1;
      const auto index = static_cast<int>(random.below(static_cast<std::uint64_t>(count)));
      return static_cast<float>(encoding.min_scale + index);
    }
    return float_from_half(half_from_float(static_cast<float>(random.normal()) / 8));
  }

  std::vector<std::uint16_t> codes;
  std::vector<float> scales;
  std::vector<float> offsets;
};

TEST(SystemEncoding, UnpacksWhatItPacked) {
  Random random(7);
  for (const SystemEncoding* encoding : all_encodings()) {
    SCOPED_TRACE(std::string(encoding->name));
    const RandomBlock block(*encoding, random);
    std::vector<std::byte> bytes(encoding->block_bytes + 1, std::byte{0xA5});
    encoding->pack_codes({block.codes, block.scales, block.offsets, 0.25F, -0.5F}, bytes.data());
    EXPECT_EQ(bytes.back(), std::byte{0xA5}) << "wrote behind the block";
    std::vector<std::uint16_t> codes(block.codes.size());
    std::vector<float> scales(block.scales.size());
    std::vector<float> offsets(block.offsets.size());
    encoding->unpack_block(bytes.data(), codes, scales, offsets);
    EXPECT_EQ(codes, block.codes);
    const bool has_factors = encoding->scales == GroupScales::kHalfTimesByte;
    for (std::size_t g = 0; g < scales.size(); ++g) {
      EXPECT_EQ(scales[g], (has_factors ? 0.25F : 1) * block.scales[g]);
    }
    for (std::size_t g = 0; g < offsets.size(); ++g) {
      EXPECT_EQ(offsets[g], (has_factors ? -0.5F : 1) * block.offsets[g]);
    }
  }
}

// The numbers are the levels in other units: exactly, or of tables of 4 bits rounded by at most an
// eighth of the distance to the next.
TEST(SystemEncoding, HasTheLevelsOfTheSystemInOtherUnits) {
  std::size_t rounded = 0;
  for (const SystemEncoding* encoding : all_encodings()) {
    SCOPED_TRACE(std::string(encoding->name));
    const std::string own(encoding->name);
    const auto codebook = codebook_of(*named_system(own).system,
                                      named_system(own).bits.value_or(encoding->code_bits()));
    const bool is_narrow = own.starts_with("int_narrow");  // rounds nothing to its lowest level
    const auto sorted = codebook->sorted().subspan(is_narrow ? 1 : 0);
    ASSERT_EQ(encoding->numbers.size(), sorted.size());
    const float first = encoding->numbers.front();
    const float unit = (encoding->numbers.back() - first) / (sorted.back() - sorted.front());
    bool is_exact = true;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const float level = (sorted[i] - sorted.front()) * unit + first;
      const float number = encoding->numbers[i];
      is_exact = is_exact && std::abs(number - level) <= 1e-6F * std::abs(first);
      const float gap = i + 1 < sorted.size() ? (sorted[i + 1] - sorted[i]) * unit
                                              : (sorted[i] - sorted[i - 1]) * unit;
      EXPECT_NEAR(number, level, gap / 8 + 1e-6F * std::abs(first));
    }
    if (is_exact) continue;  // but for the rounding of `unit`
    ++rounded;
    EXPECT_LE(encoding->code_bits(), 4);
    EXPECT_NE(encoding->unpack, nullptr);
  }
  EXPECT_GT(rounded, 0U);
  EXPECT_LT(rounded, 8U);
}

TEST(SystemEncoding, KernelsHaveTheLevelsOfInt8) {
  std::size_t with_levels = 0;
  for (const SystemEncoding* encoding : all_encodings()) {
    SCOPED_TRACE(std::string(encoding->name));
    ASSERT_NE(encoding->unpack == nullptr, encoding->decode == nullptr);
    if (encoding->unpack == nullptr) continue;
    ++with_levels;
    std::set<int> kernel;
    for (std::size_t code = 0; code < std::size_t{1} << encoding->levels.bits; ++code) {
      kernel.insert(encoding->levels.level(code));
    }
    for (const float number : encoding->numbers) {
      EXPECT_TRUE(kernel.contains(static_cast<int>(number))) << number;
    }
  }
  EXPECT_GT(with_levels, 40U);
}

TEST(SystemEncoding, DecodesWhatItsFormulaSays) {
  Random random(11);
  for (const SystemEncoding* encoding : all_encodings()) {
    SCOPED_TRACE(std::string(encoding->name));
    const RandomBlock block(*encoding, random);
    std::vector<std::byte> bytes(encoding->block_bytes);
    encoding->pack_codes({block.codes, block.scales, block.offsets, 1, 1}, bytes.data());
    std::vector<float> values(encoding->block);
    decode_blocks(*encoding, bytes, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t g = i / encoding->group;
      const float product = block.scales[g] * encoding->numbers[block.codes[i]];
      EXPECT_EQ(values[i], encoding->has_offsets ? product + block.offsets[g] : product);
    }
  }
}

TEST(SystemEncoding, MultipliesTheFactorOfATensor) {
  const auto half = system_encoding("nvfp4")->with_factor(0.5F);
  std::vector<std::byte> bytes(half->block_bytes);
  const std::vector<std::uint16_t> codes(half->block, 0);
  const std::vector<float> scales = {2};
  static_cast<const SystemEncoding&>(*half).pack_codes({codes, scales, {}, 1, 1}, bytes.data());
  std::vector<float> values(half->block);
  decode_blocks(*half, bytes, values);
  EXPECT_THAT(values, testing::Each(-12.0F));  // 0.5 x 2 x the lowest number
  EXPECT_FALSE(*half == *system_encoding("nvfp4"));
  EXPECT_TRUE(*half == *system_encoding("nvfp4")->with_factor(0.5F));
}

TEST(SystemEncoding, NamesGroups) {
  EXPECT_EQ(system_encoding("nf4")->group, 64U);
  EXPECT_EQ(system_encoding("nf4/64"), system_encoding("NF4"));
  EXPECT_EQ(system_encoding("int3")->group, 32U);
  EXPECT_EQ(system_encoding("int3/128")->name, "int3/128");
  EXPECT_EQ(system_encoding("fp8"), system_encoding("e4m3"));
  EXPECT_EQ(system_encoding("no such system"), nullptr);
  EXPECT_DOUBLE_EQ(system_encoding("nvfp4")->bits(), 4.5);
  EXPECT_DOUBLE_EQ(system_encoding("mxfp4")->bits(), 4.25);
  EXPECT_DOUBLE_EQ(system_encoding("int_k6")->bits(), 6 + 8.0 / 16 + 16.0 / 256);
}

TEST(SystemEncoding, NamesWhatBlocksCannotHold) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("basis2"), HasSubstr("vector bases such as 2x6"));
  EXPECT_THAT(error_of("int12"), HasSubstr("up to 8 bits, found 12"));
  EXPECT_THAT(error_of("bf16"), HasSubstr("found 16"));
  EXPECT_THAT(error_of("e8m0"), HasSubstr("numbers with scales"));
  EXPECT_THAT(error_of("uint4"), HasSubstr("found zero points"));
  EXPECT_THAT(error_of("int"), HasSubstr("as in int4"));
  EXPECT_THAT(error_of("int4/48"), HasSubstr("found 48"));
  EXPECT_THAT(error_of("int4/x"), HasSubstr("behind the slash"));
  EXPECT_THROW((void)system_encoding("nvfp4")->with_factor(0), Error);
}

TEST(SystemEncoding, RejectsCodesWithoutANumber) {
  const SystemEncoding& floats = *system_encoding("e4m3");
  const std::vector<std::byte> bytes(floats.block_bytes, std::byte{0x7F});  // NaN
  std::vector<float> values(floats.block);
  EXPECT_THROW(decode_blocks(floats, bytes, values), Error);
}

}  // namespace
}  // namespace halftone::numerics
