// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/block_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "halftone/formats/gguf/block_halves.h"
#include "halftone/formats/gguf/block_layout.h"

namespace halftone::formats {
namespace {

using numerics::BlockEncoding;
using numerics::BlockScales;
using numerics::CodeBlock;
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

/// The integers of Q4_K and Q5_K: 8 scales and 8 offsets of 6 bits in 12 bytes.
constexpr std::array<BitPlanes, 6> kSixBitPairs = {
    BitPlanes{.at = 4, .bytes = 4, .chunk = 4, .bits = 6, .planes = 1, .first = 0},
    {.at = 8, .bytes = 4, .chunk = 4, .bits = 6, .planes = 1, .first = 8},
    {.at = 12, .bytes = 4, .chunk = 4, .bits = 4, .planes = 1, .first = 4},
    {.at = 12, .bytes = 4, .chunk = 4, .bits = 4, .from = 4, .planes = 1, .first = 12},
    {.at = 4, .bytes = 4, .chunk = 4, .bits = 2, .shift = 4, .from = 6, .planes = 1, .first = 4},
    {.at = 8, .bytes = 4, .chunk = 4, .bits = 2, .shift = 4, .from = 6, .planes = 1, .first = 12}};

constexpr BlockLayout kQ40 = {.bytes = 18, .levels = {4, -8}, .codes = {planes(2, 16, 16, 4)}};
constexpr BlockLayout kQ41 = {
    .bytes = 20, .levels = {4, 0}, .offset_at = 2, .codes = {planes(4, 16, 16, 4)}};
constexpr BlockLayout kQ50 = {
    .bytes = 22, .levels = {5, -16}, .codes = {planes(6, 16, 16, 4), planes(2, 4, 1, 1, 4)}};
constexpr BlockLayout kQ51 = {.bytes = 24,
                              .levels = {5, 0},
                              .offset_at = 2,
                              .codes = {planes(8, 16, 16, 4), planes(4, 4, 1, 1, 4)}};
constexpr BlockLayout kQ80 = {.bytes = 34, .levels = {8, -128}, .codes = {signed_bytes(2, 32)}};
constexpr BlockLayout kQ10 = {
    .block = 128, .bytes = 18, .levels = {1, -1}, .codes = {planes(2, 16, 1, 1, 1)}};
constexpr BlockLayout kQ20 = {
    .block = 64, .bytes = 18, .levels = {2, -1}, .codes = {planes(2, 16, 1, 2)}};
constexpr BlockLayout kQ2K = {.block = 256,
                              .group = 16,
                              .bytes = 84,
                              .levels = {2, 0},
                              .scale_at = 80,
                              .offset_at = 82,
                              .codes = {planes(16, 64, 32, 2)},
                              .integers = {planes(0, 16, 16, 4)},
                              .max_scale = 15,
                              .max_offset = 15};
constexpr BlockLayout kQ3K = {.block = 256,
                              .group = 16,
                              .bytes = 110,
                              .levels = {3, -4},
                              .scale_at = 108,
                              .codes = {planes(32, 64, 32, 2), planes(0, 32, 32, 1, 2)},
                              .integers = {planes(96, 8, 8, 4), planes(104, 4, 4, 2, 4)},
                              .min_scale = -32,
                              .max_scale = 31};
constexpr BlockLayout kQ4K = {.block = 256,
                              .group = 32,
                              .bytes = 144,
                              .levels = {4, 0},
                              .offset_at = 2,
                              .codes = {planes(16, 128, 32, 4)},
                              .integers = kSixBitPairs,
                              .max_scale = 63,
                              .max_offset = 63};
constexpr BlockLayout kQ5K = {.block = 256,
                              .group = 32,
                              .bytes = 176,
                              .levels = {5, 0},
                              .offset_at = 2,
                              .codes = {planes(48, 128, 32, 4), planes(16, 32, 32, 1, 4)},
                              .integers = kSixBitPairs,
                              .max_scale = 63,
                              .max_offset = 63};
constexpr BlockLayout kQ6K = {.block = 256,
                              .group = 16,
                              .bytes = 210,
                              .levels = {6, -32},
                              .scale_at = 208,
                              .codes = {planes(0, 128, 64, 4), planes(128, 64, 32, 2, 4)},
                              .integers = {signed_bytes(192, 16)},
                              .min_scale = -128,
                              .max_scale = 127};
constexpr BlockLayout kIq4Nl = {
    .bytes = 18, .levels = {4, 0, &kCurvedLevels}, .codes = {planes(2, 16, 16, 4)}};
constexpr BlockLayout kIq4Xs = {.block = 256,
                                .group = 32,
                                .bytes = 136,
                                .levels = {4, 0, &kCurvedLevels},
                                .codes = {planes(8, 128, 16, 4)},
                                .integers = {planes(4, 4, 1, 4), planes(2, 2, 1, 2, 4)},
                                .min_scale = -32,
                                .max_scale = 31};
constexpr BlockLayout kTq20 = {
    .block = 256, .bytes = 66, .levels = {2, -1}, .scale_at = 64, .codes = {planes(0, 64, 32, 2)}};
// Of these the codes only: their scales are other numbers.
constexpr BlockLayout kMxfp4 = {.levels = {4, 0, &kE2m1Levels}, .codes = {planes(1, 16, 16, 4)}};
constexpr BlockLayout kNvfp4 = {
    .block = 64, .levels = {4, 0, &kE2m1Levels}, .codes = {planes(4, 32, 8, 4)}};

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

template <const BlockLayout& kLayout>
constexpr GgufType packed_type(std::string_view name, std::uint32_t id) {
  GgufType type{{name, kLayout.block, kLayout.bytes, kLayout.group, kLayout.has_offsets(),
                 unpack_block<kLayout>, kLayout.levels},
                id};
  if (kLayout.has_integers()) type.scales = BlockScales::kHalfTimesByte;
  type.pack = pack_block<kLayout>;
  type.min_scale = kLayout.min_scale;
  type.max_scale = kLayout.max_scale;
  type.max_offset = kLayout.max_offset;
  return type;
}

// Those without a group are numbers, or codes that need grids which are not here.
constexpr std::array kTypes = {
    GgufType{{"F32", 1, 4, 0, false, nullptr, {}, {}, float_at}, 0},
    GgufType{{"F16", 1, 2, 0, false, nullptr, {}, {}, half_at}, 1},
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
    GgufType{{"IQ2_XXS", 256, 66}, 16},
    GgufType{{"IQ2_XS", 256, 74}, 17},
    GgufType{{"IQ3_XXS", 256, 98}, 18},
    GgufType{{"IQ1_S", 256, 50}, 19},
    packed_type<kIq4Nl>("IQ4_NL", 20),
    GgufType{{"IQ3_S", 256, 110}, 21},
    GgufType{{"IQ2_S", 256, 82}, 22},
    packed_type<kIq4Xs>("IQ4_XS", 23),
    GgufType{{"I8", 1, 1}, 24},
    GgufType{{"I16", 1, 2}, 25},
    GgufType{{"I32", 1, 4}, 26},
    GgufType{{"I64", 1, 8}, 27},
    GgufType{{"F64", 1, 8}, 28},
    GgufType{{"IQ1_M", 256, 56}, 29},
    GgufType{{"BF16", 1, 2, 0, false, nullptr, {}, {}, bfloat_at}, 30},
    GgufType{{"TQ1_0", 256, 54, 256, false, unpack_tq1_0, {2, -1}}, 34},
    packed_type<kTq20>("TQ2_0", 35),
    GgufType{
        {"MXFP4", 32, 17, 32, false, unpack_mxfp4, {4, 0, &kE2m1Levels}, BlockScales::kPowerOfTwo},
        39},
    GgufType{{"NVFP4", 64, 36, 16, false, unpack_nvfp4, {4, 0, &kE2m1Levels}}, 40},
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
  if (!kLayout.has_offsets()) return {name, {kLayout.scale_at}};
  return {name, {kLayout.scale_at, kLayout.offset_at}, 2};
}

constexpr std::array kHalves = {
    halves<kQ40>("Q4_0"),      halves<kQ41>("Q4_1"),     halves<kQ50>("Q5_0"),
    halves<kQ51>("Q5_1"),      halves<kQ80>("Q8_0"),     halves<kQ2K>("Q2_K"),
    halves<kQ3K>("Q3_K"),      halves<kQ4K>("Q4_K"),     halves<kQ5K>("Q5_K"),
    halves<kQ6K>("Q6_K"),      halves<kIq4Nl>("IQ4_NL"), halves<kIq4Xs>("IQ4_XS"),
    TypeHalves{"TQ1_0", {52}}, halves<kTq20>("TQ2_0"),   halves<kQ10>("Q1_0"),
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
