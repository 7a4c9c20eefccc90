// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/grid_blocks.h"

#include <bit>
#include <cstdint>

#include "halftone/base/half.h"
#include "halftone/formats/gguf/block_layout.h"
#include "halftone/formats/gguf/code_grids.h"

namespace halftone::formats {
namespace {

using numerics::BlockEncoding;
using numerics::CodeBlock;
using Bytes = const std::byte*;

constexpr std::size_t kBlock = 256;

unsigned byte_of(Bytes bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

unsigned word_of(Bytes bytes, std::size_t i) {
  return byte_of(bytes, 2 * i) | byte_of(bytes, 2 * i + 1) << 8;
}

/// Bits [count i, count (i + 1)) of bytes, for a count that divides 8.
unsigned bits_of(Bytes bytes, std::size_t i, unsigned count) {
  const std::size_t per_byte = 8 / count;
  return byte_of(bytes, i / per_byte) >> (i % per_byte * count) & ((1U << count) - 1);
}

/// Eight signs of which seven bits are stored: an even number of them is set.
unsigned even_signs(unsigned bits) {
  return bits | (static_cast<unsigned>(std::popcount(bits)) & 1U) << 7;
}

/// Writes a word of magnitudes with signs, whose lowest bit belongs to the first.
void put_signed(std::span<const std::int8_t> word, unsigned signs, std::int8_t* codes) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    codes[i] = static_cast<std::int8_t>((signs >> i & 1) != 0 ? -word[i] : word[i]);
  }
}

/// d (2 s + 1) / parts.
float odd_scale(float d, unsigned s, float parts) {
  return d * static_cast<float>(2 * s + 1) / parts;
}

/// Scales of 4 bits, one for each group.
void put_scales(float d, Bytes bytes, std::size_t groups, float parts, float* scales) {
  for (std::size_t g = 0; g < groups; ++g) scales[g] = odd_scale(d, bits_of(bytes, g, 4), parts);
}

/// What follows the indices of 32 weights in IQ2_XXS and IQ3_XXS: signs of 8 weights, and a scale.
struct SignsAndScale {
  explicit SignsAndScale(Bytes bytes) : bits(word_of(bytes, 0) | word_of(bytes, 1) << 16) {}
  [[nodiscard]] unsigned signs(std::size_t i) const { return even_signs(bits >> (7 * i) & 127); }
  [[nodiscard]] unsigned scale() const { return bits >> 28; }
  unsigned bits;
};

/// Eight times a word of -1, 0 and 1, plus or minus one.
void put_shifted(std::span<const std::int8_t> word, bool is_below, std::int8_t* codes) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(8 * word[i] + (is_below ? -1 : 1));
  }
}

}  // namespace

void unpack_iq2_xxs(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq2Xxs);
  for (std::size_t g = 0; g < kBlock / 32; ++g) {
    const Bytes from = b + 2 + 8 * g;
    const SignsAndScale rest(from + 4);
    block.scales[g] = odd_scale(half_at(b), rest.scale(), 8);
    for (std::size_t i = 0; i < 4; ++i) {
      put_signed(grid.word(byte_of(from, i)), rest.signs(i), block.codes + 32 * g + 8 * i);
    }
  }
}

void unpack_iq2_xs(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq2Xs);
  put_scales(half_at(b), b + 66, kBlock / 16, 8, block.scales);
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    const unsigned code = word_of(b + 2, i);
    put_signed(grid.word(code & 511), even_signs(code >> 9), block.codes + 8 * i);
  }
}

void unpack_iq2_s(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq2S);
  put_scales(half_at(b), b + 74, kBlock / 16, 8, block.scales);
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    const unsigned code = byte_of(b + 2, i) | bits_of(b + 66, i, 2) << 8;
    put_signed(grid.word(code), byte_of(b + 34, i), block.codes + 8 * i);
  }
}

void unpack_iq3_xxs(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq3Xxs);
  for (std::size_t g = 0; g < kBlock / 32; ++g) {
    const SignsAndScale rest(b + 66 + 4 * g);
    block.scales[g] = odd_scale(half_at(b), rest.scale(), 4);
    for (std::size_t i = 8 * g; i < 8 * (g + 1); ++i) {
      put_signed(grid.word(byte_of(b + 2, i)), rest.signs(i % 8 / 2) >> (i % 2 * 4),
                 block.codes + 4 * i);
    }
  }
}

void unpack_iq3_s(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq3S);
  put_scales(half_at(b), b + 106, kBlock / 32, 1, block.scales);
  for (std::size_t i = 0; i < kBlock / 4; ++i) {
    const unsigned code = byte_of(b + 2, i) | bits_of(b + 66, i, 1) << 8;
    put_signed(grid.word(code), bits_of(b + 74, i, 4), block.codes + 4 * i);
  }
}

void unpack_iq1_s(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq1);
  for (std::size_t g = 0; g < kBlock / 32; ++g) {
    const unsigned high = word_of(b + 34, g);
    block.scales[g] = odd_scale(half_at(b), high >> 12 & 7, 8);
    for (std::size_t i = 0; i < 4; ++i) {
      const unsigned code = byte_of(b + 2, 4 * g + i) | (high >> (3 * i) & 7) << 8;
      put_shifted(grid.word(code), high >> 15 != 0, block.codes + 32 * g + 8 * i);
    }
  }
}

void unpack_iq1_m(const BlockEncoding& /*how*/, Bytes b, const CodeBlock& block) {
  const CodeGrid& grid = code_grid(GridName::kIq1);
  const Bytes words = b + 48;  // of 16 bits: four scales, then four bits of d
  unsigned bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits |= word_of(words, i) >> 12 << (4 * i);
  const float d = float_from_half(static_cast<std::uint16_t>(bits));
  for (std::size_t g = 0; g < kBlock / 16; ++g) {
    block.scales[g] = odd_scale(d, word_of(words, g / 4) >> (g % 4 * 3) & 7, 8);
  }
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    const unsigned high = bits_of(b + 32, i, 4);
    put_shifted(grid.word(byte_of(b, i) | (high & 7) << 8), high >> 3 != 0, block.codes + 8 * i);
  }
}

}  // namespace halftone::formats
