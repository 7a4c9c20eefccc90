// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/block_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/gguf/block_layout.h"
#include "halftone/formats/gguf/grid_blocks.h"

namespace halftone::formats {
namespace {

using numerics::BlockEncoding;
using numerics::CodeBlock;
using numerics::CodeLevels;
using numerics::GroupCodes;
using numerics::GroupScales;
using Bytes = const std::byte*;

unsigned byte_at(Bytes bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

unsigned two_bytes(Bytes bytes) { return byte_at(bytes, 0) | byte_at(bytes, 1) << 8; }

float bfloat_at(Bytes bytes) {
  return float_from_bfloat16(static_cast<std::uint16_t>(two_bytes(bytes)));
}

float float_at(Bytes bytes) {
  return std::bit_cast<float>(two_bytes(bytes) | two_bytes(bytes + 2) << 16);
}

/// The levels of IQ4_NL and IQ4_XS.
constexpr std::array<std::int8_t, 16> kCurvedLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                       1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the numbers of E2M1.
constexpr std::array<std::int8_t, 16> kE2m1Levels = {0, 1,  2,  3,  4,  6,  8,  12,
                                                     0, -1, -2, -3, -4, -6, -8, -12};

/// What the words of grids have, IQ2, IQ3_XXS, IQ3_S and IQ1 in turn.
constexpr std::array<std::int8_t, 16> kTwoBitLevels = {-43, -25, -8, 8,  25, 43, 43, 43,
                                                       43,  43,  43, 43, 43, 43, 43, 43};
constexpr std::array<std::int8_t, 16> kThreeBitLevels = {-62, -52, -44, -36, -28, -20, -12, -4,
                                                         4,   12,  20,  28,  36,  44,  52,  62};
constexpr std::array<std::int8_t, 16> kOddLevels = {-15, -13, -11, -9, -7, -5, -3, -1,
                                                    1,   3,   5,   7,  9,  11, 13, 15};
constexpr std::array<std::int8_t, 16> kShiftedLevels = {-9, -7, -1, 1, 7, 9, 9, 9,
                                                        9,  9,  9,  9, 9, 9, 9, 9};

/// The integers of Q4_K and Q5_K: 8 scales and 8 offsets of 6 bits in 12 bytes.
constexpr std::array<BitFields, 6> kSixBitPairs = {
    BitFields{.at = 4, .bytes = 4, .chunk = 4, .bits = 6, .planes = 1, .first = 0},
    {.at = 8, .bytes = 4, .chunk = 4, .bits = 6, .planes = 1, .first = 8},
    {.at = 12, .bytes = 4, .chunk = 4, .bits = 4, .planes = 1, .first = 4},
    {.at = 12, .bytes = 4, .chunk = 4, .bits = 4, .from = 4, .planes = 1, .first = 12},
    {.at = 4, .bytes = 4, .chunk = 4, .bits = 2, .shift = 4, .from = 6, .planes = 1, .first = 4},
    {.at = 8, .bytes = 4, .chunk = 4, .bits = 2, .shift = 4, .from = 6, .planes = 1, .first = 12}};

/// Codes whose groups have a float16 each.
constexpr GroupCodes halves_of_groups(CodeLevels levels, std::size_t group,
                                      bool has_offsets = false) {
  return {.levels = levels, .group = group, .has_offsets = has_offsets};
}

/// Codes whose groups have integers, which a float16 of the block of 256 multiplies.
constexpr GroupCodes integers_of_groups(CodeLevels levels, std::size_t group, int min_scale,
                                        int max_scale, int max_offset = 0) {
  return {.levels = levels,
          .group = group,
          .has_offsets = max_offset != 0,
          .scales = GroupScales::kHalfTimesByte,
          .share = 256,
          .min_scale = min_scale,
          .max_scale = max_scale,
          .max_offset = max_offset};
}

constexpr BlockLayout kQ40 = {
    .codes = halves_of_groups({4, -8}, 32), .bytes = 18, .code_planes = {planes(2, 16, 16, 4)}};
constexpr BlockLayout kQ41 = {.codes = halves_of_groups({4, 0}, 32, true),
                              .bytes = 20,
                              .offset_at = 2,
                              .code_planes = {planes(4, 16, 16, 4)}};
constexpr BlockLayout kQ50 = {.codes = halves_of_groups({5, -16}, 32),
                              .bytes = 22,
                              .code_planes = {planes(6, 16, 16, 4), planes(2, 4, 1, 1, 4)}};
constexpr BlockLayout kQ51 = {.codes = halves_of_groups({5, 0}, 32, true),
                              .bytes = 24,
                              .offset_at = 2,
                              .code_planes = {planes(8, 16, 16, 4), planes(4, 4, 1, 1, 4)}};
constexpr BlockLayout kQ80 = {
    .codes = halves_of_groups({8, -128}, 32), .bytes = 34, .code_planes = {signed_bytes(2, 32)}};
constexpr BlockLayout kQ10 = {.codes = halves_of_groups({1, -1}, 128),
                              .block = 128,
                              .bytes = 18,
                              .code_planes = {planes(2, 16, 1, 1, 1)}};
constexpr BlockLayout kQ20 = {.codes = halves_of_groups({2, -1}, 64),
                              .block = 64,
                              .bytes = 18,
                              .code_planes = {planes(2, 16, 1, 2)}};
constexpr BlockLayout kQ2K = {.codes = integers_of_groups({2, 0}, 16, 0, 15, 15),
                              .block = 256,
                              .bytes = 84,
                              .scale_at = 80,
                              .offset_at = 82,
                              .code_planes = {planes(16, 64, 32, 2)},
                              .integers = {planes(0, 16, 16, 4)}};
constexpr BlockLayout kQ3K = {.codes = integers_of_groups({3, -4}, 16, -32, 31),
                              .block = 256,
                              .bytes = 110,
                              .scale_at = 108,
                              .code_planes = {planes(32, 64, 32, 2), planes(0, 32, 32, 1, 2)},
                              .integers = {planes(96, 8, 8, 4), planes(104, 4, 4, 2, 4)}};
constexpr BlockLayout kQ4K = {.codes = integers_of_groups({4, 0}, 32, 0, 63, 63),
                              .block = 256,
                              .bytes = 144,
                              .offset_at = 2,
                              .code_planes = {planes(16, 128, 32, 4)},
                              .integers = kSixBitPairs};
constexpr BlockLayout kQ5K = {.codes = integers_of_groups({5, 0}, 32, 0, 63, 63),
                              .block = 256,
                              .bytes = 176,
                              .offset_at = 2,
                              .code_planes = {planes(48, 128, 32, 4), planes(16, 32, 32, 1, 4)},
                              .integers = kSixBitPairs};
constexpr BlockLayout kQ6K = {.codes = integers_of_groups({6, -32}, 16, -128, 127),
                              .block = 256,
                              .bytes = 210,
                              .scale_at = 208,
                              .code_planes = {planes(0, 128, 64, 4), planes(128, 64, 32, 2, 4)},
                              .integers = {signed_bytes(192, 16)}};
constexpr BlockLayout kIq4Nl = {.codes = halves_of_groups({4, 0, kCurvedLevels}, 32),
                                .bytes = 18,
                                .code_planes = {planes(2, 16, 16, 4)}};
constexpr BlockLayout kIq4Xs = {.codes = integers_of_groups({4, 0, kCurvedLevels}, 32, -32, 31),
                                .block = 256,
                                .bytes = 136,
                                .code_planes = {planes(8, 128, 16, 4)},
                                .integers = {planes(4, 4, 1, 4), planes(2, 2, 1, 2, 4)}};
constexpr BlockLayout kTq20 = {.codes = halves_of_groups({2, -1}, 256),
                               .block = 256,
                               .bytes = 66,
                               .scale_at = 64,
                               .code_planes = {planes(0, 64, 32, 2)}};
// Of these the codes only: their scales are other numbers.
constexpr BlockLayout kMxfp4 = {
    .codes = {.levels = {4, 0, kE2m1Levels}, .group = 32, .scales = GroupScales::kPowerOfTwo},
    .bytes = 17,
    .code_planes = {planes(1, 16, 16, 4)}};
constexpr BlockLayout kNvfp4 = {.codes = halves_of_groups({4, 0, kE2m1Levels}, 16),
                                .block = 64,
                                .bytes = 36,
                                .code_planes = {planes(4, 32, 8, 4)}};

/// Digits to base 3, the highest first: plane k of a byte q is floor(3 (q 3^k mod 256) / 256).
void unpack_thirds(Bytes bytes, std::size_t chunk, std::size_t planes, std::int8_t* codes) {
  unsigned factor = 1;
  for (std::size_t plane = 0; plane < planes; ++plane, factor *= 3) {
    for (std::size_t i = 0; i < chunk; ++i) {
      const unsigned digit = (((byte_at(bytes, i) * factor) & 255) * 3) >> 8;
      codes[plane * chunk + i] = static_cast<std::int8_t>(static_cast<int>(digit) - 1);
    }
  }
}

void unpack_tq1_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b + 52);
  unpack_thirds(b, 32, 5, block.codes);
  unpack_thirds(b + 32, 16, 5, block.codes + 160);
  unpack_thirds(b + 48, 4, 4, block.codes + 240);
}

void unpack_mxfp4(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = std::ldexp(1.0F, static_cast<int>(byte_at(b, 0)) - 128);
  unpack_codes<kMxfp4>(b, block.codes);
}

void pack_mxfp4(const BlockEncoding& encoding, const numerics::BlockNumbers& numbers,
                std::byte* bytes) {
  std::fill_n(bytes, kMxfp4.bytes, std::byte{});
  int exponent = 0;
  if (!(numbers.scales[0] > 0) || std::frexp(numbers.scales[0], &exponent) != 0.5F) {
    fail(ErrorKind::kInternal, "block of MXFP4: expected a power of two as its scale, found " +
                                   std::to_string(numbers.scales[0]));
  }
  bytes[0] = static_cast<std::byte>(exponent - 1 + 128);
  std::array<std::uint8_t, kMxfp4.block> indices;
  index_codes(encoding, numbers.codes, indices.data());
  set_bits<kMxfp4.code_planes[0]>(indices.data(), bytes);
}

/// Half of an unsigned E4M3, whose NaN counts as 0.
float half_of_e4m3(unsigned bits) {
  if (bits == 0x7F) return 0;
  const int exponent = static_cast<int>((bits >> 3) & 15);
  const auto fraction = static_cast<float>(bits & 7);
  return exponent == 0 ? std::ldexp(fraction, -10) : std::ldexp(1 + fraction / 8, exponent - 8);
}

void unpack_nvfp4(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  for (std::size_t g = 0; g < 4; ++g) block.scales[g] = half_of_e4m3(byte_at(b, g));
  unpack_codes<kNvfp4>(b, block.codes);
}

using Unpack = decltype(BlockEncoding::unpack);
using Number = decltype(BlockEncoding::number);

constexpr GgufType number_type(std::string_view name, std::uint32_t id, std::size_t bytes,
                               Number number = nullptr) {
  return {{{}, name, 1, bytes, nullptr, number}, id};
}

constexpr GgufType read_type(std::string_view name, std::uint32_t id, const GroupCodes& codes,
                             std::size_t block, std::size_t bytes, Unpack unpack) {
  return {{codes, name, block, bytes, unpack}, id};
}

template <const BlockLayout& kLayout>
constexpr GgufType packed_type(std::string_view name, std::uint32_t id) {
  GgufType type =
      read_type(name, id, kLayout.codes, kLayout.block, kLayout.bytes, unpack_block<kLayout>);
  type.pack = pack_block<kLayout>;
  return type;
}

/// Levels that the words of a grid have; the scales are those of unpack_iq2_xxs() and so on.
constexpr GroupCodes grid_codes(const std::array<std::int8_t, 16>& levels, std::size_t group) {
  return integers_of_groups({4, 0, levels}, group, 1, 31);
}

constexpr GgufType mxfp4_type() {
  GgufType type = read_type("MXFP4", 39, kMxfp4.codes, kMxfp4.block, kMxfp4.bytes, unpack_mxfp4);
  type.pack = pack_mxfp4;
  return type;
}

constexpr std::array kTypes = {
    number_type("F32", 0, 4, float_at),
    number_type("F16", 1, 2, half_at),
    packed_type<kQ40>("Q4_0", 2),
    packed_type<kQ41>("Q4_1", 3),
    packed_type<kQ50>("Q5_0", 6),
    packed_type<kQ51>("Q5_1", 7),
    packed_type<kQ80>("Q8_0", 8),
    packed_type<kQ2K>("Q2_K", 10),
    packed_type<kQ3K>("Q3_K", 11),
    packed_type<kQ4K>("Q4_K", 12),
    packed_type<kQ5K>("Q5_K", 13),
    packed_type<kQ6K>("Q6_K", 14),
    read_type("IQ2_XXS", 16, grid_codes(kTwoBitLevels, 32), 256, 66, unpack_iq2_xxs),
    read_type("IQ2_XS", 17, grid_codes(kTwoBitLevels, 16), 256, 74, unpack_iq2_xs),
    read_type("IQ3_XXS", 18, grid_codes(kThreeBitLevels, 32), 256, 98, unpack_iq3_xxs),
    read_type("IQ1_S", 19, grid_codes(kShiftedLevels, 32), 256, 50, unpack_iq1_s),
    packed_type<kIq4Nl>("IQ4_NL", 20),
    read_type("IQ3_S", 21, grid_codes(kOddLevels, 32), 256, 110, unpack_iq3_s),
    read_type("IQ2_S", 22, grid_codes(kTwoBitLevels, 16), 256, 82, unpack_iq2_s),
    packed_type<kIq4Xs>("IQ4_XS", 23),
    number_type("I8", 24, 1),
    number_type("I16", 25, 2),
    number_type("I32", 26, 4),
    number_type("I64", 27, 8),
    number_type("F64", 28, 8),
    read_type("IQ1_M", 29, grid_codes(kShiftedLevels, 16), 256, 56, unpack_iq1_m),
    number_type("BF16", 30, 2, bfloat_at),
    read_type("TQ1_0", 34, halves_of_groups({2, -1}, 256), 256, 54, unpack_tq1_0),
    packed_type<kTq20>("TQ2_0", 35),
    mxfp4_type(),
    read_type("NVFP4", 40, kNvfp4.codes, kNvfp4.block, kNvfp4.bytes, unpack_nvfp4),
    packed_type<kQ10>("Q1_0", 41),
    packed_type<kQ20>("Q2_0", 42),
};

/// The float16 numbers of a type.
struct TypeHalves {
  std::string_view name;
  std::array<std::size_t, 2> at{};
  std::size_t count = 1;
};

template <const BlockLayout& kLayout>
constexpr TypeHalves halves(std::string_view name) {
  if (!kLayout.codes.has_offsets) return {name, {kLayout.scale_at}};
  return {name, {kLayout.scale_at, kLayout.offset_at}, 2};
}

constexpr std::array kHalves = {
    halves<kQ40>("Q4_0"),       halves<kQ41>("Q4_1"),      halves<kQ50>("Q5_0"),
    halves<kQ51>("Q5_1"),       halves<kQ80>("Q8_0"),      halves<kQ2K>("Q2_K"),
    halves<kQ3K>("Q3_K"),       halves<kQ4K>("Q4_K"),      halves<kQ5K>("Q5_K"),
    halves<kQ6K>("Q6_K"),       halves<kIq4Nl>("IQ4_NL"),  halves<kIq4Xs>("IQ4_XS"),
    TypeHalves{"IQ2_XXS", {0}}, TypeHalves{"IQ2_XS", {0}}, TypeHalves{"IQ2_S", {0}},
    TypeHalves{"IQ3_XXS", {0}}, TypeHalves{"IQ3_S", {0}},  TypeHalves{"IQ1_S", {0}},
    TypeHalves{"TQ1_0", {52}},  halves<kTq20>("TQ2_0"),    halves<kQ10>("Q1_0"),
    halves<kQ20>("Q2_0"),
};

}  // namespace

std::span<const std::size_t> halves_of(const BlockEncoding& encoding) {
  const auto* const found = std::ranges::find(kHalves, encoding.name, &TypeHalves::name);
  if (found == kHalves.end()) return {};
  return std::span(found->at).first(found->count);
}

std::span<const GgufType> gguf_types() { return kTypes; }

const GgufType& gguf_float32() { return kTypes[0]; }

const GgufType* gguf_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &GgufType::name);
  return found == std::end(kTypes) ? nullptr : &*found;
}

std::string_view former_gguf_type(std::uint32_t id) {
  constexpr std::pair<std::uint32_t, std::string_view> kFormer[] = {
      {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
      {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};
  for (const auto& [number, name] : kFormer) {
    if (number == id) return name;
  }
  return "";
}

const GgufType* gguf_type(std::uint32_t id) {
  const auto found = std::ranges::find(kTypes, id, &GgufType::id);
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace halftone::formats
