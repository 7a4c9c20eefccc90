// SPDX-License-Identifier: Apache-2.0
// A matrix of weights in groups, as kernels read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/groups/group_layout.h"
#include "halftone/kernels/groups/vector_tables.h"

namespace halftone::kernels {

/// How a block of a strip is laid out.
struct GroupBlockLayout {
  std::size_t inputs = 0;  ///< with those of missing columns
  std::size_t groups = 0;
  std::size_t scale_bytes = 0;  ///< of the scales; the offsets take as many, if there are any
  std::size_t plane_bytes = 0;  ///< of all units
  std::size_t bytes = 0;        ///< of the block
};

/// A block of one row of weights, with all inputs of its groups and units.
struct GroupBlock {
  std::size_t inputs = 0;
  std::size_t groups = 0;
  std::array<std::int8_t, kGroupBlockInputs> levels;
  std::array<float, kGroupBlockInputs / 16> scales;
  std::array<float, kGroupBlockInputs / 16> offsets;  ///< 0 if the format has none
};

/// Weights [rows, cols] in about the bits that a file takes:
///
///     strip of 64 rows: block of 256 inputs | block | ...   (the last block may be shorter)
///     block:            scales | offsets, if there are any | units of 32 inputs
///     scales, offsets:  [groups][64 rows], with kHalfTimesByte after [64 rows] float16
///     unit:             planes, the one of the lowest bits first
///     plane:            vectors of 256 bytes, as many as a code has bits in it
///     vector:           row 0: byte 0, 1, 2, 3 | row 1: ... | row 63: ...
///
/// Codes of 1, 2, 4 and 8 bits are one plane; 3 bits are planes of 2 and 1, 5 bits of 4 and 1,
/// 6 bits of 4 and 2. A byte of a plane of w bits has 8 / w fields, the first in its lowest bits:
/// field f of byte i in vector v is the code of input 4 (v 8 / w + f) + i of the unit. So a lane of
/// 32 bits belongs to one row, and inputs need no permutation. Codes of 8 bits are levels + 128.
/// Rows that are missing have scale 0 (or any, where there is no zero), groups scale 0.
///
/// With a basis of d numbers and D signs a unit has 32 / d codes of a row in place of 32, as in
/// CodePlanes: codes of 6 or 7 bits have planes of 4 and 2 bits, others of 8. After them come sign
/// planes, in which bit 4 r + i of the 32 bytes of vector v is that of code 4 v + i in row r.
class PackedGroups {
 public:
  /// Gives row `row` of the weights.
  /// @param codes    [cols] levels
  /// @param scales   [num_groups]
  /// @param offsets  [num_groups], empty if the format has none
  using Unpack = std::function<void(std::size_t row, std::span<std::int8_t> codes,
                                    std::span<float> scales, std::span<float> offsets)>;

  PackedGroups() = default;
  /// Weights whose strips are packed next, all scales 0 until then.
  /// @throws Error kUnsupported as check_groups(); kShape unless a basis has whole groups;
  ///         kMemory as AlignedBuffer
  PackedGroups(std::size_t rows, std::size_t cols, const GroupCodes& format);
  /// Packs strips that are not packed yet. Threads may pack different strips at the same time.
  /// @return false if a scale or offset is not exact as the format stores them: then all strips
  ///         must be packed anew, in weights with GroupScales::kFloat
  /// @throws Error kFormat if a level is none of the format's
  [[nodiscard]] bool pack_strips(BlockRange strips, const Unpack& unpack);
  /// Packs all rows. Where a scale or offset is not exact as the format stores them, all are stored
  /// as float32.
  /// @throws Error kUnsupported as check_groups(); kFormat if a level is none of the
  ///         format's; kMemory as AlignedBuffer
  static PackedGroups pack(std::size_t rows, std::size_t cols, const GroupCodes& format,
                           const Unpack& unpack);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return extents_.cols; }
  [[nodiscard]] const GroupExtents& extents() const { return extents_; }
  /// As given, except that `scales` is how they are stored.
  [[nodiscard]] const GroupCodes& format() const { return format_; }
  [[nodiscard]] std::size_t num_strips() const { return (rows_ + kStripRows - 1) / kStripRows; }
  [[nodiscard]] std::size_t size_bytes() const { return bytes_.size_bytes(); }

  /// The first block of a strip.
  [[nodiscard]] const std::uint8_t* strip(std::size_t s) const {
    return bytes_.as<std::uint8_t>().data() + s * strip_bytes_;
  }
  /// Bytes of the planes of a unit.
  [[nodiscard]] std::size_t unit_bytes() const {
    return kStripRows * kGroupUnitInputs / format_.vector() / 8 *
           static_cast<std::size_t>(format_.code_bits());
  }
  /// Of the basis, if there is one.
  [[nodiscard]] const VectorTables& tables() const { return tables_; }
  [[nodiscard]] ScaleForm scale_storage() const { return {format_.scales, format_.factor}; }
  [[nodiscard]] std::size_t num_blocks() const { return num_blocks_; }
  [[nodiscard]] const GroupBlockLayout& layout(std::size_t block) const {
    return block + 1 == num_blocks_ ? last_ : full_;
  }

  /// The inverse of pack(): row `row` as an Unpack gives it.
  void unpack(std::size_t row, std::span<std::int8_t> codes, std::span<float> scales,
              std::span<float> offsets) const;
  void unpack_block(std::size_t row, std::size_t block, GroupBlock& to) const noexcept;

 private:
  struct RowCodes;
  [[nodiscard]] GroupBlockLayout layout_of(std::size_t inputs) const;
  std::uint8_t* block(std::size_t strip, std::size_t block);
  bool pack_scales(std::size_t row, std::span<const float> values, bool offsets);
  void pack_codes(std::size_t row, const RowCodes& codes);

  std::size_t rows_ = 0;
  GroupCodes format_;
  std::shared_ptr<const numerics::VectorBasis> basis_;  ///< keeps that of the format
  GroupExtents extents_;
  std::size_t num_blocks_ = 0;
  GroupBlockLayout full_;
  GroupBlockLayout last_;
  std::size_t strip_bytes_ = 0;
  AlignedBuffer bytes_;
  VectorTables tables_;
};

}  // namespace halftone::kernels
