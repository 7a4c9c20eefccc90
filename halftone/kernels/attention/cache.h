// SPDX-License-Identifier: Apache-2.0
// Keys and values of past tokens, which attention reads: one row of numbers per token and head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/block_range.h"
#include "halftone/numerics/rotated_codes.h"

namespace halftone::kernels {

/// How a cache stores its numbers.
enum class CacheType {
  kFloat32,
  kFloat16,  ///< rounded to nearest, ties to even; see base/half.h
  kInt8,     ///< rotated, with a float32 scale per token and head, as quantize_rows() rounds
  kInt6,     ///< the same with 31 steps on either side of zero
  kInt4,     ///< rotated, in groups of 32 numbers, as numerics::encode_nibbles() rounds
};

/// Steps on either side of zero of integers that share a scale per token and head; 0 for others.
constexpr int integer_steps(CacheType type) {
  return type == CacheType::kInt8 ? 127 : type == CacheType::kInt6 ? 31 : 0;
}
/// Whether products with what is stored are sums of integers.
constexpr bool has_integers(CacheType type) { return integer_steps(type) != 0; }

/// Whether a cache stores each head after numerics::rotate_blocks(). Queries are rotated as keys
/// are, and the sums of values are rotated back.
constexpr bool is_rotated(CacheType type) { return has_integers(type) || type == CacheType::kInt4; }

/// Extents of a cache of keys or of values, for `sequences` sequences of up to `context` tokens.
///
/// A sequence's head begins at a multiple of bytes_of_head(). There the numbers lie first. Keys are
/// in panels of 16 tokens, values in rows, both padded to row_size() numbers per token:
///
///     keys     panel 0:  number 0 [token 0 ... 15]  number 1 [token 0 ... 15]  ...  panel 1: ...
///     values   token 0:  [number 0 ... row_size() - 1]  token 1: ...
///
/// so neither a product with a key nor a sum of values adds numbers within a vector. kInt8 has
/// pairs of integers in the place of each number, two numbers of a token in a key, a number of two
/// tokens in a value. The scales come after all integers, one per token:
///
///     keys     panel 0:  numbers 0, 1 [token 0, 0, 1, 1 ... 15, 15]  numbers 2, 3 ...
///     values   tokens 0, 1:  [number 0, 0, 1, 1 ... row_size() - 1]  tokens 2, 3: ...
///
/// kInt4 has two codes in a byte, the first one in the lower bits: in a key those of numbers 2 i
/// and 2 i + 1, in a value those 8 apart. The groups come after all codes, as bytes:
///
///     keys     panel 0:  numbers 0, 1 [token 0 ... 15]  numbers 2, 3 ...
///     values   token 0:  numbers 0, 8  1, 9 ... 7, 15  16, 24 ...   token 1: ...
///     groups   panel 0:  group 0: unit codes [token 0 ... 15]  offsets [token 0 ... 15]  group 1
///     ...
///
/// kInt6 has codes q + 32 of 6 bits. The lower 4 bits lie as codes of kInt4 do, but with the bytes
/// of two values next to each other. Behind those of a panel or of two values come the upper 2
/// bits, of four codes in a byte: in a key those of numbers 4 i to 4 i + 3, in a value those 4
/// apart. So the codes of two tokens never share a byte. Scales are as for kInt8:
///
///     keys     panel 0:  numbers 0, 1 [token 0 ... 15]  2, 3 [token 0 ... 15] ...
///                        numbers 0, 1, 2, 3 [token 0 ... 15]  4, 5, 6, 7 ...   panel 1: ...
///     values   tokens 0, 1:  numbers 0, 8 [token 0, 1]  1, 9 ... 7, 15  16, 24 ...
///                            numbers 0, 4, 8, 12 [token 0, 1]  1, 5, 9, 13 ...   tokens 2, 3: ...
struct CacheShape {
  static constexpr std::size_t kPanelTokens = 16;

  std::size_t sequences = 0;
  std::size_t context = 0;
  std::size_t heads = 0;  ///< of keys and values
  std::size_t size = 0;   ///< numbers of a head
  CacheType type = CacheType::kFloat32;

  /// Numbers of a row of one head with its padding.
  [[nodiscard]] constexpr std::size_t row_size() const { return rounded_up(size); }
  /// Tokens that a head has memory for.
  [[nodiscard]] constexpr std::size_t tokens() const { return rounded_up(context); }
  /// Of the numbers of one token, without scales.
  [[nodiscard]] constexpr std::size_t bytes_of_row() const {
    return row_size() * number_bits() / 8;
  }
  /// Of the scales of one token.
  [[nodiscard]] constexpr std::size_t scale_bytes() const {
    return has_integers(type) ? sizeof(float) : type == CacheType::kInt4 ? 2 * groups() : 0;
  }
  /// Groups of a row of kInt4.
  [[nodiscard]] constexpr std::size_t groups() const {
    constexpr std::size_t kNumbers = numerics::NibbleGroup::kNumbers;
    return (size + kNumbers - 1) / kNumbers;
  }
  /// Of one head of one sequence; a multiple of 64.
  [[nodiscard]] constexpr std::size_t bytes_of_head() const {
    constexpr std::size_t kLine = 64;
    return (scales_offset() + tokens() * scale_bytes() + kLine - 1) / kLine * kLine;
  }
  /// From the start of a head to its scales.
  [[nodiscard]] constexpr std::size_t scales_offset() const { return tokens() * bytes_of_row(); }
  /// From the start of a head's numbers to number `i` of the key of a token, in numbers. Not for
  /// codes of less than a byte.
  [[nodiscard]] constexpr std::size_t key_index(std::size_t token, std::size_t i) const {
    const std::size_t panel = token / kPanelTokens * kPanelTokens * row_size();
    const std::size_t lane = token % kPanelTokens;
    if (type != CacheType::kInt8) return panel + i * kPanelTokens + lane;
    return panel + (i / 2 * kPanelTokens + lane) * 2 + i % 2;
  }
  /// The same for number `i` of the value of a token.
  [[nodiscard]] constexpr std::size_t value_index(std::size_t token, std::size_t i) const {
    if (type != CacheType::kInt8) return token * row_size() + i;
    return token / 2 * 2 * row_size() + 2 * i + token % 2;
  }
  /// Where some bits of a code lie.
  struct Bits {
    std::size_t byte = 0;  ///< from the start of a head
    std::size_t shift = 0;
    unsigned mask = 0;

    [[nodiscard]] constexpr unsigned load(const std::byte* head) const {
      return std::to_integer<unsigned>(head[byte] >> shift) & mask;
    }
    constexpr void store(std::byte* head, unsigned bits) const {
      const auto others = static_cast<std::uint8_t>(~(mask << shift));
      head[byte] = (head[byte] & std::byte{others}) | static_cast<std::byte>(bits & mask) << shift;
    }
  };
  /// The code of number `i` of the key of a token of kInt4, or its lower 4 bits of kInt6.
  [[nodiscard]] constexpr Bits key_nibble(std::size_t token, std::size_t i) const {
    const std::size_t panel = token / kPanelTokens * kPanelTokens * bytes_of_row();
    return {panel + i / 2 * kPanelTokens + token % kPanelTokens, i % 2 * 4, 15};
  }
  /// The same of the value of a token.
  [[nodiscard]] constexpr Bits value_nibble(std::size_t token, std::size_t i) const {
    const std::size_t together = type == CacheType::kInt6 ? 2 : 1;
    const std::size_t first = token / together * together * bytes_of_row();
    return {first + (i / 16 * 8 + i % 8) * together + token % together, i % 16 / 8 * 4, 15};
  }
  /// The upper 2 bits of the code of number `i` of the key of a token of kInt6.
  [[nodiscard]] constexpr Bits key_top(std::size_t token, std::size_t i) const {
    const std::size_t first = key_nibble(token, row_size()).byte;
    return {first + i / 4 * kPanelTokens, i % 4 * 2, 3};
  }
  /// The same of the value of a token.
  [[nodiscard]] constexpr Bits value_top(std::size_t token, std::size_t i) const {
    const std::size_t first = value_nibble(token, row_size()).byte;
    return {first + (i / 16 * 4 + i % 4) * 2, i % 16 / 4 * 2, 3};
  }
  /// From the start of a head to the unit code of number `i` of a token; its offset is kPanelTokens
  /// bytes behind.
  [[nodiscard]] constexpr std::size_t group_offset(std::size_t token, std::size_t i) const {
    const std::size_t panel = token / kPanelTokens * kPanelTokens * scale_bytes();
    const std::size_t group = i / numerics::NibbleGroup::kNumbers * 2 * kPanelTokens;
    return scales_offset() + panel + group + token % kPanelTokens;
  }
  /// From the start of the cache to a head of a sequence.
  [[nodiscard]] constexpr std::size_t head_offset(std::size_t sequence, std::size_t head) const {
    return (sequence * heads + head) * bytes_of_head();
  }
  /// Of the whole cache.
  [[nodiscard]] constexpr std::size_t bytes() const { return sequences * heads * bytes_of_head(); }

 private:
  [[nodiscard]] constexpr std::size_t number_bits() const {
    switch (type) {
      case CacheType::kFloat32:
        return 32;
      case CacheType::kFloat16:
        return 16;
      case CacheType::kInt8:
        return 8;
      case CacheType::kInt6:
        return 6;
      case CacheType::kInt4:
        return 4;
    }
    return 0;
  }
  static constexpr std::size_t rounded_up(std::size_t count) {
    return (count + kPanelTokens - 1) / kPanelTokens * kPanelTokens;
  }
};

/// Where a cache of keys or of values has its numbers.
struct NumberPlaces {
  std::size_t (CacheShape::*index)(std::size_t token, std::size_t i) const;
  CacheShape::Bits (CacheShape::*nibble)(std::size_t token, std::size_t i) const;
  CacheShape::Bits (CacheShape::*top)(std::size_t token, std::size_t i) const;
};
/// Codes of kInt6 are integers and this.
inline constexpr int kInt6Offset = 32;
inline constexpr NumberPlaces kKeyPlaces = {&CacheShape::key_index, &CacheShape::key_nibble,
                                            &CacheShape::key_top};
inline constexpr NumberPlaces kValuePlaces = {&CacheShape::value_index, &CacheShape::value_nibble,
                                              &CacheShape::value_top};

/// Where the rows of a run belong: row i is the token at positions[i] of sequence slots[i].
struct CacheRows {
  std::span<const std::int32_t> slots;
  std::span<const std::int32_t> positions;

  [[nodiscard]] std::size_t count() const { return slots.size(); }
};

/// Checks what the functions below and attend() rely on.
/// @throws Error kShape if there are not as many slots as positions; kUsage if a slot is not in
///         [0, sequences) or a position not in [0, context): the message names the row
void require_rows(const CacheShape& shape, const CacheRows& rows);

/// Stores the keys of tokens. Of several rows with one slot and position the last one stays.
/// @param values  [N, heads * size], in the order of heads
/// @param rows    N rows; see require_rows()
/// @param heads   which heads to store
/// @param cache   [shape.bytes()], aligned to 4 bytes; best to 64
void append_keys(const CacheShape& shape, MatrixView<const float> values, const CacheRows& rows,
                 BlockRange heads, std::span<std::byte> cache) noexcept;
/// The same for values.
void append_values(const CacheShape& shape, MatrixView<const float> values, const CacheRows& rows,
                   BlockRange heads, std::span<std::byte> cache) noexcept;

/// A token's head in a cache.
struct CachePosition {
  std::size_t sequence = 0;
  std::size_t position = 0;
  std::size_t head = 0;
};

/// Reads the stored numbers of a key, rotated where is_rotated().
/// @param key  [shape.size]
/// @return the scale, which the numbers are still to be multiplied by; 1 without integer_steps()
float read_key(const CacheShape& shape, std::span<const std::byte> cache, const CachePosition& at,
               std::span<float> key) noexcept;
/// The same for a value.
float read_value(const CacheShape& shape, std::span<const std::byte> cache, const CachePosition& at,
                 std::span<float> value) noexcept;

}  // namespace halftone::kernels
