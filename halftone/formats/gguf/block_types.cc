// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/block_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "halftone/base/half.h"

namespace halftone::formats {
namespace {

using numerics::BlockEncoding;
using numerics::BlockScales;
using numerics::CodeBlock;
using Bytes = const std::byte*;

unsigned byte_at(Bytes bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

std::int8_t signed_byte(Bytes bytes, std::size_t i) {
  return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(bytes[i]));
}

template <typename T>
T little(Bytes bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(static_cast<T>(value << 8) | static_cast<T>(byte_at(bytes, i)));
  }
  return value;
}

float half_at(Bytes bytes) { return float_from_half(little<std::uint16_t>(bytes)); }
float bfloat_at(Bytes bytes) { return float_from_bfloat16(little<std::uint16_t>(bytes)); }
float float_at(Bytes bytes) { return std::bit_cast<float>(little<std::uint32_t>(bytes)); }

/// How codes of `bits` bits lie in `bytes` bytes: of every `chunk` bytes the lowest bits of all are
/// the first `chunk` codes, the next bits the codes after them, and so on. Known when this is
/// compiled, so that loops become vectors.
struct Planes {
  std::size_t bytes = 0;
  std::size_t chunk = 0;
  unsigned bits = 0;
  int first = 0;  ///< the value of code 0
};

template <Planes kHow>
void unpack_planes(Bytes bytes, std::int8_t* codes) {
  constexpr unsigned kPlanes = 8 / kHow.bits;
  constexpr unsigned kMask = (1U << kHow.bits) - 1;
  for (std::size_t begin = 0; begin < kHow.bytes; begin += kHow.chunk) {
    for (unsigned plane = 0; plane < kPlanes; ++plane) {
      for (std::size_t i = 0; i < kHow.chunk; ++i) {
        const unsigned code = byte_at(bytes, begin + i) >> (plane * kHow.bits) & kMask;
        *codes++ = static_cast<std::int8_t>(static_cast<int>(code) + kHow.first);
      }
    }
  }
}

/// Adds `value` where the bit of an element is `set`: bit k of byte j is that of element
/// `chunk` k + j.
template <std::size_t kChunk>
void add_bits(Bytes bytes, bool set, int value, std::int8_t* codes) {
  for (unsigned k = 0; k < 8; ++k) {
    for (std::size_t j = 0; j < kChunk; ++j, ++codes) {
      const bool bit = (byte_at(bytes, j) >> k & 1) != 0;
      *codes = static_cast<std::int8_t>(*codes + (bit == set ? value : 0));
    }
  }
}

/// Adds 16 where bit i of a little-endian number of 32 bits is set.
void add_fifth_bits(Bytes bytes, std::int8_t* codes) {
  const auto bits = little<std::uint32_t>(bytes);
  for (std::size_t i = 0; i < 32; ++i) {
    codes[i] = static_cast<std::int8_t>(codes[i] + static_cast<int>((bits >> i & 1) << 4));
  }
}

void unpack_q4_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  unpack_planes<Planes{16, 16, 4, -8}>(b + 2, block.codes);
}

void unpack_q4_1(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  block.offsets[0] = half_at(b + 2);
  unpack_planes<Planes{16, 16, 4, 0}>(b + 4, block.codes);
}

void unpack_q5_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  unpack_planes<Planes{16, 16, 4, -16}>(b + 6, block.codes);
  add_fifth_bits(b + 2, block.codes);
}

void unpack_q5_1(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  block.offsets[0] = half_at(b + 2);
  unpack_planes<Planes{16, 16, 4, 0}>(b + 8, block.codes);
  add_fifth_bits(b + 4, block.codes);
}

void unpack_q8_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  for (std::size_t i = 0; i < 32; ++i) block.codes[i] = signed_byte(b, 2 + i);
}

/// Codes of `kBits` bits one after another, the lowest bits of a byte first.
template <unsigned kBits>
void unpack_in_order(Bytes bytes, std::size_t count, int first, std::int8_t* codes) {
  constexpr unsigned kFields = 8 / kBits;
  constexpr unsigned kMask = (1U << kBits) - 1;
  constexpr int kStep = kBits == 1 ? 2 : 1;
  for (std::size_t i = 0; i < count / kFields; ++i) {
    for (unsigned field = 0; field < kFields; ++field) {
      const auto code = static_cast<int>(byte_at(bytes, i) >> (field * kBits) & kMask);
      *codes++ = static_cast<std::int8_t>(code * kStep + first);
    }
  }
}

void unpack_q1_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  unpack_in_order<1>(b + 2, 128, -1, block.codes);
}

void unpack_q2_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  unpack_in_order<2>(b + 2, 64, -1, block.codes);
}

void unpack_q2_k(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const float scale = half_at(b + 80);
  const float offset = half_at(b + 82);
  for (std::size_t g = 0; g < 16; ++g) {
    block.scales[g] = scale * static_cast<float>(byte_at(b, g) & 15);
    block.offsets[g] = -(offset * static_cast<float>(byte_at(b, g) >> 4));
  }
  unpack_planes<Planes{64, 32, 2, 0}>(b + 16, block.codes);
}

void unpack_q3_k(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const float scale = half_at(b + 108);
  const Bytes packed = b + 96;  // 16 numbers of 6 bits: the low four, then the high two
  for (std::size_t g = 0; g < 16; ++g) {
    const unsigned low = (byte_at(packed, g % 8) >> (4 * (g / 8))) & 15;
    const unsigned high = (byte_at(packed, 8 + g % 4) >> (2 * (g / 4))) & 3;
    block.scales[g] = scale * static_cast<float>(static_cast<int>(low | (high << 4)) - 32);
  }
  unpack_planes<Planes{64, 32, 2, 0}>(b + 32, block.codes);
  add_bits<32>(b, false, -4, block.codes);
}

/// The scales and offsets of Q4_K and Q5_K: 8 pairs of numbers of 6 bits in 12 bytes.
void unpack_six_bit_pairs(Bytes b, const CodeBlock& block) {
  const float scale = half_at(b);
  const float offset = half_at(b + 2);
  const Bytes packed = b + 4;
  for (std::size_t g = 0; g < 8; ++g) {
    unsigned s = byte_at(packed, g % 4);
    unsigned o = byte_at(packed, 4 + g % 4);
    if (g < 4) {
      s &= 63;
      o &= 63;
    } else {
      s = (byte_at(packed, 4 + g) & 15) | ((s >> 2) & 48);
      o = (byte_at(packed, 4 + g) >> 4) | ((o >> 2) & 48);
    }
    block.scales[g] = scale * static_cast<float>(s);
    block.offsets[g] = -(offset * static_cast<float>(o));
  }
}

void unpack_q4_k(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  unpack_six_bit_pairs(b, block);
  unpack_planes<Planes{128, 32, 4, 0}>(b + 16, block.codes);
}

void unpack_q5_k(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  unpack_six_bit_pairs(b, block);
  unpack_planes<Planes{128, 32, 4, 0}>(b + 48, block.codes);
  add_bits<32>(b + 16, true, 16, block.codes);
}

void unpack_q6_k(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const float scale = half_at(b + 208);
  for (std::size_t g = 0; g < 16; ++g) {
    block.scales[g] = scale * static_cast<float>(signed_byte(b, 192 + g));
  }
  std::array<std::int8_t, 256> high;
  unpack_planes<Planes{64, 32, 2, 0}>(b + 128, high.data());
  unpack_planes<Planes{128, 64, 4, 0}>(b, block.codes);
  for (std::size_t i = 0; i < 256; ++i) {
    block.codes[i] = static_cast<std::int8_t>((block.codes[i] | (high[i] << 4)) - 32);
  }
}

/// The levels of IQ4_NL and IQ4_XS.
constexpr std::array<std::int8_t, 16> kCurvedLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                       1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the numbers of E2M1.
constexpr std::array<std::int8_t, 16> kE2m1Levels = {0, 1,  2,  3,  4,  6,  8,  12,
                                                     0, -1, -2, -3, -4, -6, -8, -12};

void take_levels(const std::array<std::int8_t, 16>& levels, std::size_t count,
                 const CodeBlock& block) {
  for (std::size_t i = 0; i < count; ++i) {
    block.codes[i] = levels[static_cast<std::size_t>(block.codes[i])];
  }
}

void unpack_iq4_nl(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b);
  unpack_planes<Planes{16, 16, 4, 0}>(b + 2, block.codes);
  take_levels(kCurvedLevels, 32, block);
}

void unpack_iq4_xs(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const float scale = half_at(b);
  const unsigned high = little<std::uint16_t>(b + 2);
  for (std::size_t g = 0; g < 8; ++g) {
    const unsigned low = (byte_at(b, 4 + g / 2) >> (4 * (g % 2))) & 15;
    const unsigned bits = low | (((high >> (2 * g)) & 3) << 4);
    block.scales[g] = scale * static_cast<float>(static_cast<int>(bits) - 32);
  }
  unpack_planes<Planes{128, 16, 4, 0}>(b + 8, block.codes);
  take_levels(kCurvedLevels, 256, block);
}

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

void unpack_tq2_0(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = half_at(b + 64);
  unpack_planes<Planes{64, 32, 2, -1}>(b, block.codes);
}

void unpack_mxfp4(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  block.scales[0] = std::ldexp(1.0F, static_cast<int>(byte_at(b, 0)) - 128);
  unpack_planes<Planes{16, 16, 4, 0}>(b + 1, block.codes);
  take_levels(kE2m1Levels, 32, block);
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
  unpack_planes<Planes{32, 8, 4, 0}>(b + 4, block.codes);
  take_levels(kE2m1Levels, 64, block);
}

// Those without a group are numbers, or codes that need grids which are not here.
constexpr std::array kTypes = {
    GgufType{{"F32", 1, 4, 0, false, nullptr, {}, {}, float_at}, 0},
    GgufType{{"F16", 1, 2, 0, false, nullptr, {}, {}, half_at}, 1},
    GgufType{{"Q4_0", 32, 18, 32, false, unpack_q4_0, {4, -8}}, 2},
    GgufType{{"Q4_1", 32, 20, 32, true, unpack_q4_1, {4, 0}}, 3},
    GgufType{{"Q5_0", 32, 22, 32, false, unpack_q5_0, {5, -16}}, 6},
    GgufType{{"Q5_1", 32, 24, 32, true, unpack_q5_1, {5, 0}}, 7},
    GgufType{{"Q8_0", 32, 34, 32, false, unpack_q8_0, {8, -128}}, 8},
    GgufType{{"Q2_K", 256, 84, 16, true, unpack_q2_k, {2, 0}, BlockScales::kHalfTimesByte}, 10},
    GgufType{{"Q3_K", 256, 110, 16, false, unpack_q3_k, {3, -4}, BlockScales::kHalfTimesByte}, 11},
    GgufType{{"Q4_K", 256, 144, 32, true, unpack_q4_k, {4, 0}, BlockScales::kHalfTimesByte}, 12},
    GgufType{{"Q5_K", 256, 176, 32, true, unpack_q5_k, {5, 0}, BlockScales::kHalfTimesByte}, 13},
    GgufType{{"Q6_K", 256, 210, 16, false, unpack_q6_k, {6, -32}, BlockScales::kHalfTimesByte}, 14},
    GgufType{{"IQ2_XXS", 256, 66}, 16},
    GgufType{{"IQ2_XS", 256, 74}, 17},
    GgufType{{"IQ3_XXS", 256, 98}, 18},
    GgufType{{"IQ1_S", 256, 50}, 19},
    GgufType{{"IQ4_NL", 32, 18, 32, false, unpack_iq4_nl, {4, 0, &kCurvedLevels}}, 20},
    GgufType{{"IQ3_S", 256, 110}, 21},
    GgufType{{"IQ2_S", 256, 82}, 22},
    GgufType{{"IQ4_XS",
              256,
              136,
              32,
              false,
              unpack_iq4_xs,
              {4, 0, &kCurvedLevels},
              BlockScales::kHalfTimesByte},
             23},
    GgufType{{"I8", 1, 1}, 24},
    GgufType{{"I16", 1, 2}, 25},
    GgufType{{"I32", 1, 4}, 26},
    GgufType{{"I64", 1, 8}, 27},
    GgufType{{"F64", 1, 8}, 28},
    GgufType{{"IQ1_M", 256, 56}, 29},
    GgufType{{"BF16", 1, 2, 0, false, nullptr, {}, {}, bfloat_at}, 30},
    GgufType{{"TQ1_0", 256, 54, 256, false, unpack_tq1_0, {2, -1}}, 34},
    GgufType{{"TQ2_0", 256, 66, 256, false, unpack_tq2_0, {2, -1}}, 35},
    GgufType{
        {"MXFP4", 32, 17, 32, false, unpack_mxfp4, {4, 0, &kE2m1Levels}, BlockScales::kPowerOfTwo},
        39},
    GgufType{{"NVFP4", 64, 36, 16, false, unpack_nvfp4, {4, 0, &kE2m1Levels}}, 40},
    GgufType{{"Q1_0", 128, 18, 128, false, unpack_q1_0, {1, -1}}, 41},
    GgufType{{"Q2_0", 64, 18, 64, false, unpack_q2_0, {2, -1}}, 42},
};

}  // namespace

std::span<const GgufType> gguf_types() { return kTypes; }

const GgufType* gguf_type(std::uint32_t id) {
  const auto found = std::ranges::find(kTypes, id, &GgufType::id);
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace halftone::formats
