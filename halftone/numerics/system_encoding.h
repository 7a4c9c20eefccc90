// SPDX-License-Identifier: Apache-2.0
// The blocks in which files store weights of any number system, by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/numerics/block_encoding.h"
#include "halftone/numerics/systems.h"

namespace halftone::numerics {

/// The stored numbers of a block that is to be written: see BlockNumbers for the factors.
struct CodedBlock {
  std::span<const std::uint16_t> codes;  ///< [block] indices of GroupCodes::numbers
  std::span<const float> scales;         ///< [groups]
  std::span<const float> offsets;        ///< [groups], or none
  float scale_factor = 1;
  float offset_factor = 1;
};

/// Rows in blocks of codes of a number system. An element of group g is
///
///     fl(scale[g] * number(code)) + offset[g]
///
/// in float32. The numbers are the levels of the system in other units:
///  - times the least power of two that makes all of them integers of int8, if there is one;
///  - else, of up to 4 bits, times 127 / largest and rounded, if none moves by more than an eighth
///    of the distance to its neighbours: nf4. Kernels multiply both as codes;
///  - else times the power of two that brings the largest magnitude into [1, 2): e4m3. Layers
///    multiply these as float32.
/// The levels of 8 bits of a system with offsets are 128 less, and the offsets make up for it.
///
/// Scales and offsets are stored as the system says: powers of two, e4m3 times a float32 of the
/// tensor, or integers times a float16 of 256 elements; all others as float16. A block is a group,
/// or those 256 elements. It has the factors of scales and of offsets, scales, offsets, and codes,
/// packed one after another, the lowest bits of a byte first; codes are those of the system.
class SystemEncoding : public BlockEncoding {
 public:
  /// @param group_size  16, 32, 64, 128 or 256; with factors of 256 elements at most that
  /// @param factor      of all scales of a tensor, if they have one
  /// @throws Error kUsage for another group, for systems of more than 8 bits, with learned levels,
  ///         zero points or levels above zero alone; kFormat for a factor that is not a finite
  ///         number above 0
  SystemEncoding(const NumberSystem& system, int bits, std::size_t group_size, float factor = 1);
  SystemEncoding(const SystemEncoding&) = delete;
  SystemEncoding& operator=(const SystemEncoding&) = delete;
  SystemEncoding(SystemEncoding&&) = delete;
  SystemEncoding& operator=(SystemEncoding&&) = delete;
  ~SystemEncoding() = default;

  /// The same with another factor.
  [[nodiscard]] SharedBlockEncoding with_factor(float factor) const;
  /// Writes a block.
  /// @param bytes  [block_bytes]
  void pack_codes(const CodedBlock& numbers, std::byte* bytes) const;
  /// The numbers of a block as they are stored: indices of `numbers` in place of codes.
  /// @throws Error kFormat for a code without a number
  void unpack_block(const std::byte* bytes, std::span<std::uint16_t> codes, std::span<float> scales,
                    std::span<float> offsets) const;
  /// The int8 of index i. @pre unpack is not null
  [[nodiscard]] std::int8_t level(std::size_t i) const { return levels_[i]; }

 private:
  void choose_numbers();
  void choose_levels();
  void choose_layout();

  const NumberSystem& system_;
  std::shared_ptr<const Codebook> codebook_;
  int bits_;
  std::string name_;
  std::vector<float> numbers_;        ///< ascending
  std::vector<Code> codes_;           ///< of them
  std::vector<std::int8_t> levels_;   ///< the same as integers; empty if they are none
  std::vector<std::uint16_t> index_;  ///< [2^bits] of a code's number, or kNoNumber
  int scale_bits_ = 16;
};

/// The encoding of a text for named_system(): "nf4", "int3", "int4/64", "nvfp4". Groups are those
/// of the text, else those of the system, else of 32 weights.
/// Encodings of a text live as long as the program; their factors are 1.
/// @return  null if the text names no system
/// @throws Error kUsage as named_system() and SystemEncoding, or without bits
const SystemEncoding* system_encoding(std::string_view text);

}  // namespace halftone::numerics
