// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/block_layout.h"

#include <bit>
#include <cmath>
#include <string>

#include "halftone/base/error.h"

namespace halftone::formats {
namespace {

using numerics::BlockEncoding;

[[noreturn]] void fail_block(const BlockEncoding& encoding, const std::string& expected,
                             float found) {
  fail(ErrorKind::kInternal, "block of " + std::string(encoding.name) + ": expected " + expected +
                                 ", found " + std::to_string(found));
}

/// A number from `least` to `most`, less `least`.
std::uint8_t integer_above(const BlockEncoding& encoding, float number, int least, int most) {
  const bool is_within = number >= static_cast<float>(least) && number <= static_cast<float>(most);
  if (!is_within || number != std::trunc(number)) {
    fail_block(encoding, "an integer from " + std::to_string(least) + " to " + std::to_string(most),
               number);
  }
  return static_cast<std::uint8_t>(static_cast<int>(number) - least);
}

}  // namespace

void index_codes(const BlockEncoding& encoding, const std::int8_t* codes, std::uint8_t* indices) {
  const numerics::CodeLevels& levels = encoding.levels;
  std::array<std::int16_t, 256> index_of;  // by code + 128
  index_of.fill(-1);
  // Of equal levels the lowest index.
  for (int index = 1 << levels.bits; index-- > 0;) {
    const int value = levels.step() * index;
    const int level = levels.level(static_cast<std::size_t>(index));
    index_of[128 + static_cast<std::size_t>(level)] = static_cast<std::int16_t>(value);
  }
  for (std::size_t i = 0; i < encoding.block; ++i) {
    const std::int16_t index = index_of[128 + static_cast<std::size_t>(codes[i])];
    if (index < 0) fail_block(encoding, "levels of the type as codes", codes[i]);
    indices[i] = static_cast<std::uint8_t>(index);
  }
}

BlockIntegers checked_integers(const BlockEncoding& encoding,
                               const numerics::BlockNumbers& numbers) {
  BlockIntegers integers{};
  const std::size_t groups = encoding.block / encoding.group;
  for (std::size_t g = 0; g < groups; ++g) {
    integers[g] =
        integer_above(encoding, numbers.scales[g], encoding.min_scale, encoding.max_scale);
    if (encoding.has_offsets) {
      integers[groups + g] = integer_above(encoding, numbers.offsets[g], 0, encoding.max_offset);
    }
  }
  return integers;
}

void put_half(const BlockEncoding& encoding, float number, std::byte* bytes) {
  const std::uint16_t half = half_from_float(number);
  const bool is_same =
      std::bit_cast<std::uint32_t>(float_from_half(half)) == std::bit_cast<std::uint32_t>(number);
  if (!std::isfinite(number) || !is_same) fail_block(encoding, "a finite float16", number);
  bytes[0] = static_cast<std::byte>(half & 255);
  bytes[1] = static_cast<std::byte>(half >> 8);
}

}  // namespace halftone::formats
