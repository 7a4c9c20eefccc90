// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/nested_encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "halftone/numerics/system_encoding.h"

namespace halftone::numerics {
namespace {

constexpr std::size_t kGroup = 64;
constexpr int kFirstLevels = 8;  // of 3 bits

const SystemEncoding& first_bits() {
  static const SystemEncoding& encoding = *system_encoding("int3/64");
  return encoding;
}

constexpr std::array<std::int8_t, 16> nested_levels() {
  std::array<std::int8_t, 16> levels{};
  int centre = -2 * kFirstLevels;
  for (std::size_t k = 0; k < levels.size(); k += 2, centre += 4) {
    levels[k] = static_cast<std::int8_t>(centre - 1);
    levels[k + 1] = static_cast<std::int8_t>(centre + 1);
  }
  return levels;
}

void unpack_nested(const BlockEncoding& /*encoding*/, const std::byte* bytes,
                   const CodeBlock& block) {
  const BlockEncoding& first = first_bits();
  first.unpack(first, bytes, block);
  const std::byte* fourth = bytes + first.block_bytes;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const unsigned bit = std::to_integer<unsigned>(fourth[i / 8]) >> (i % 8) & 1;
    block.codes[i] = static_cast<std::int8_t>(4 * block.codes[i] + (bit == 1 ? 1 : -1));
  }
  block.scales[0] /= 4;
}

void pack_nested(const BlockEncoding& /*encoding*/, const BlockNumbers& numbers, std::byte* bytes) {
  std::array<std::uint16_t, kGroup> codes{};
  std::byte* fourth = bytes + first_bits().block_bytes;
  std::fill_n(fourth, kFourthBitsBytes, std::byte{0});
  for (std::size_t i = 0; i < kGroup; ++i) {
    const int code = (numbers.codes[i] - nested_levels()[0]) / 2;
    codes[i] = static_cast<std::uint16_t>(code / 2);
    fourth[i / 8] |= static_cast<std::byte>(code % 2 << (i % 8));
  }
  const float scale = 4 * numbers.scales[0];
  first_bits().pack_codes({codes, std::span(&scale, 1), {}}, bytes);
}

BlockEncoding make_nested() {
  BlockEncoding encoding;
  encoding.levels = {4, 0, nested_levels()};
  encoding.group = kGroup;
  encoding.name = kNestedName;
  encoding.block = kGroup;
  encoding.block_bytes = first_bits().block_bytes + kFourthBitsBytes;
  encoding.unpack = unpack_nested;
  encoding.pack = pack_nested;
  return encoding;
}

}  // namespace

const BlockEncoding& nested_encoding() {
  static const BlockEncoding encoding = make_nested();
  return encoding;
}

const BlockEncoding& first_bits_encoding() { return first_bits(); }

void join_nested(std::span<const std::byte> first, std::span<const std::byte> fourth,
                 std::span<std::byte> blocks) {
  const std::size_t first_bytes = first_bits().block_bytes;
  std::byte* to = blocks.data();
  for (std::size_t b = 0; b < first.size() / first_bytes; ++b) {
    to = std::copy_n(first.data() + b * first_bytes, first_bytes, to);
    to = std::copy_n(fourth.data() + b * kFourthBitsBytes, kFourthBitsBytes, to);
  }
}

void split_nested(std::span<const std::byte> blocks, std::span<std::byte> first,
                  std::span<std::byte> fourth) {
  const std::size_t first_bytes = first_bits().block_bytes;
  const std::byte* from = blocks.data();
  for (std::size_t b = 0; b < first.size() / first_bytes; ++b) {
    std::copy_n(from, first_bytes, first.data() + b * first_bytes);
    std::copy_n(from + first_bytes, kFourthBitsBytes, fourth.data() + b * kFourthBitsBytes);
    from += first_bytes + kFourthBitsBytes;
  }
}

}  // namespace halftone::numerics
