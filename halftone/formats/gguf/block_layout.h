// SPDX-License-Identifier: Apache-2.0
// Where the numbers of a block lie: one description, known when this is compiled, so that loops
// become vectors, unpacks and packs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "halftone/base/half.h"
#include "halftone/numerics/block_encoding.h"

namespace halftone::formats {

/// The first bytes of the float16 numbers that a block of GGUF holds: of its scale and then its
/// offset, or of their factors. What the block represents is linear in them. None for types without
/// such numbers, of which MXFP4 and NVFP4 are two.
std::span<const std::size_t> halves_of(const numerics::BlockEncoding& encoding);

/// Bits of unsigned numbers. Of every `chunk` bytes, the `bits` bits from bit `from` on belong to
/// the first `chunk` numbers, one of each byte; the next bits to the numbers after them, and so on
/// for `planes` numbers of a byte. In the numbers they are the bits from `shift` on.
///
///     chunk = 16, bits = 4: n0 | n16 << 4, n1 | n17 << 4, ...
///     chunk = 1, bits = 2:  n0 | n1 << 2 | n2 << 4 | n3 << 6, ...
struct BitFields {
  std::size_t at = 0;  ///< the first byte in the block
  std::size_t bytes = 0;
  std::size_t chunk = 1;
  unsigned bits = 1;
  unsigned shift = 0;
  unsigned from = 0;
  unsigned planes = 8;
  std::size_t first = 0;  ///< index of the first number
  unsigned flip = 0;      ///< bits that are stored as their opposite

  [[nodiscard]] constexpr unsigned mask() const { return (1U << bits) - 1; }
};

/// Planes that fill their bytes.
constexpr BitFields planes(std::size_t at, std::size_t bytes, std::size_t chunk, unsigned bits,
                           unsigned shift = 0) {
  return {
      .at = at, .bytes = bytes, .chunk = chunk, .bits = bits, .shift = shift, .planes = 8 / bits};
}

/// Numbers from -128 to 127 as bytes; 128 is added to them.
constexpr BitFields signed_bytes(std::size_t at, std::size_t bytes) {
  return {.at = at, .bytes = bytes, .bits = 8, .planes = 1, .flip = 128};
}

/// The numbers of a block. A float16 is the scale of its only group. Where there are `integers`, it
/// is a factor: they are the scales of all groups, less min_scale, and then their offsets, whose
/// factor is the opposite of the other float16.
struct BlockLayout {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  numerics::GroupCodes codes{};
  std::size_t block = 32;
  std::size_t bytes = 0;
  std::size_t scale_at = 0;                ///< the first byte of a float16
  std::size_t offset_at = kNone;           ///< likewise
  std::array<BitFields, 2> code_planes{};  ///< of indices of levels; of 1 bit: of twice the index
  std::array<BitFields, 6> integers{};

  [[nodiscard]] constexpr std::size_t groups() const { return block / codes.group; }
  [[nodiscard]] constexpr bool has_integers() const { return integers[0].bytes != 0; }
};

/// Calls use(byte, bit, number): where the lowest bit of the field of each number lies.
template <BitFields kHow, typename Use>
void for_each_field(const Use& use) {
  for (std::size_t begin = 0; begin < kHow.bytes; begin += kHow.chunk) {
#pragma GCC unroll 8
    for (unsigned plane = 0; plane < kHow.planes; ++plane) {
      const std::size_t number = kHow.first + begin * kHow.planes + plane * kHow.chunk;
      for (std::size_t i = 0; i < kHow.chunk; ++i) {
        use(kHow.at + begin + i, kHow.from + plane * kHow.bits, number + i);
      }
    }
  }
}

/// Calls set(number, bits) with the bits of each number in a block.
template <BitFields kHow, typename Set>
void read_bits(const std::byte* block, const Set& set) {
  for_each_field<kHow>([&](std::size_t byte, unsigned bit, std::size_t number) {
    const unsigned bits = (std::to_integer<unsigned>(block[byte]) >> bit & kHow.mask()) ^ kHow.flip;
    set(number, static_cast<int>(bits << kHow.shift));
  });
}

/// Sets the bits of numbers in a block, where they are 0.
template <BitFields kHow>
void set_bits(const std::uint8_t* numbers, std::byte* block) {
  for_each_field<kHow>([&](std::size_t byte, unsigned bit, std::size_t i) {
    const unsigned bits = (numbers[i] >> kHow.shift & kHow.mask()) ^ kHow.flip;
    block[byte] |= static_cast<std::byte>(bits << bit);
  });
}

/// The float16 at these bytes.
inline float half_at(const std::byte* bytes) {
  const auto low = std::to_integer<unsigned>(bytes[0]);
  return float_from_half(
      static_cast<std::uint16_t>(low | std::to_integer<unsigned>(bytes[1]) << 8));
}

template <const BlockLayout& kLayout>
void unpack_codes(const std::byte* bytes, std::int8_t* codes) {
  constexpr const auto& kTable = kLayout.codes.levels.table;
  read_bits<kLayout.code_planes[0]>(bytes, [codes](std::size_t i, int bits) {
    codes[i] = static_cast<std::int8_t>(kLayout.codes.levels.first + bits);
  });
  read_bits<kLayout.code_planes[1]>(bytes, [codes](std::size_t i, int bits) {
    codes[i] = static_cast<std::int8_t>(codes[i] + bits);
  });
  if constexpr (kTable.has_value()) {
    for (std::size_t i = 0; i < kLayout.block; ++i) {
      codes[i] = (*kTable)[static_cast<std::size_t>(codes[i])];
    }
  }
}

/// Scales and then offsets. There is room for both of the most groups.
using BlockIntegers = std::array<std::uint8_t, 2 * numerics::kMaxBlock / 16>;

template <const BlockLayout& kLayout>
BlockIntegers integers_of(const std::byte* bytes) {
  BlockIntegers integers{};
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (read_bits<kLayout.integers[kIndex]>(
         bytes, [&](std::size_t i,
                    int bits) { integers[i] = static_cast<std::uint8_t>(integers[i] | bits); }),
     ...);
  }
  (std::make_index_sequence<kLayout.integers.size()>());
  return integers;
}

/// A value of numerics::BlockEncoding::unpack.
template <const BlockLayout& kLayout>
void unpack_block(const numerics::BlockEncoding& /*encoding*/, const std::byte* bytes,
                  const numerics::CodeBlock& block) {
  const float scale = half_at(bytes + kLayout.scale_at);
  const float offset = kLayout.codes.has_offsets ? half_at(bytes + kLayout.offset_at) : 0;
  if constexpr (kLayout.has_integers()) {
    const BlockIntegers integers = integers_of<kLayout>(bytes);
    for (std::size_t g = 0; g < kLayout.groups(); ++g) {
      block.scales[g] = scale * static_cast<float>(integers[g] + kLayout.codes.min_scale);
      if constexpr (kLayout.codes.has_offsets) {
        block.offsets[g] = -offset * static_cast<float>(integers[kLayout.groups() + g]);
      }
    }
  } else {
    block.scales[0] = scale;
    if constexpr (kLayout.codes.has_offsets) block.offsets[0] = offset;
  }
  unpack_codes<kLayout>(bytes, block.codes);
}

/// The indices of levels; of 1 bit: twice the index.
/// @throws Error kInternal if a code is not a level
void index_codes(const numerics::BlockEncoding& encoding, const std::int8_t* codes,
                 std::uint8_t* indices);
/// Scales, less the least one, and offsets of all groups.
/// @throws Error kInternal if one is not an integer within the range of the encoding
BlockIntegers checked_integers(const numerics::BlockEncoding& encoding,
                               const numerics::BlockNumbers& numbers);
/// @throws Error kInternal if the number is no finite float16
void put_half(const numerics::BlockEncoding& encoding, float number, std::byte* bytes);

/// A value of numerics::BlockEncoding::pack.
template <const BlockLayout& kLayout>
void pack_block(const numerics::BlockEncoding& encoding, const numerics::BlockNumbers& numbers,
                std::byte* bytes) {
  constexpr bool kIntegers = kLayout.has_integers();
  std::fill_n(bytes, kLayout.bytes, std::byte{});
  put_half(encoding, kIntegers ? numbers.scale_factor : numbers.scales[0],
           bytes + kLayout.scale_at);
  if constexpr (kLayout.codes.has_offsets) {
    put_half(encoding, kIntegers ? -numbers.offset_factor : numbers.offsets[0],
             bytes + kLayout.offset_at);
  }
  if constexpr (kIntegers) {
    const BlockIntegers integers = checked_integers(encoding, numbers);
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (set_bits<kLayout.integers[kIndex]>(integers.data(), bytes), ...);
    }
    (std::make_index_sequence<kLayout.integers.size()>());
  }
  std::array<std::uint8_t, kLayout.block> indices;
  index_codes(encoding, numbers.codes, indices.data());
  set_bits<kLayout.code_planes[0]>(indices.data(), bytes);
  set_bits<kLayout.code_planes[1]>(indices.data(), bytes);
}

}  // namespace halftone::formats
