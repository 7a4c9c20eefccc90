// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/groups/packed_groups.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/kernels/groups/group_scales.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kVectorBytes = 4 * kStripRows;
constexpr std::uint8_t kNoCode = 255;

/// Planes of a code: the bits of the low one, and of the one above it or 0.
struct PlaneBits {
  unsigned low = 0;
  unsigned high = 0;
};

constexpr PlaneBits plane_bits(int bits) {
  switch (bits) {
    case 3:
      return {2, 1};
    case 5:
      return {4, 1};
    case 6:
      return {4, 2};
    default:
      return {static_cast<unsigned>(bits), 0};
  }
}

/// A field of a plane: the byte of it for input `input` of a unit in row 0, and its lowest bit.
struct Field {
  std::size_t byte;
  unsigned shift;
};

Field field_of(std::size_t input, unsigned bits) {
  const std::size_t quad = input / 4;
  const std::size_t fields = 8 / bits;
  return {quad / fields * kVectorBytes + input % 4, static_cast<unsigned>(quad % fields) * bits};
}

/// Stores `kBits` bits of the codes of a unit, from bit `shift` on, in a plane of one row: four
/// codes at a time, none of whose bits leave their byte.
template <unsigned kBits>
void store_bits(std::span<const std::uint8_t> codes, unsigned shift, std::uint8_t* plane) {
  constexpr std::size_t kFields = 8 / kBits;
  constexpr std::uint32_t kMask = ((1U << kBits) - 1) * 0x01010101U;
  for (std::size_t v = 0; v < kGroupUnitInputs / 4 / kFields; ++v) {
    std::uint32_t lane = 0;
    for (std::size_t field = 0; field < kFields; ++field) {
      std::uint32_t four = 0;
      std::memcpy(&four, codes.data() + 4 * (v * kFields + field), sizeof four);
      lane |= (four >> shift & kMask) << (field * kBits);
    }
    std::memcpy(plane + v * kVectorBytes, &lane, sizeof lane);
  }
}

void store_plane(std::span<const std::uint8_t> codes, unsigned shift, unsigned bits,
                 std::uint8_t* plane) {
  switch (bits) {
    case 1:
      return store_bits<1>(codes, shift, plane);
    case 2:
      return store_bits<2>(codes, shift, plane);
    case 4:
      return store_bits<4>(codes, shift, plane);
    default:
      return store_bits<8>(codes, shift, plane);
  }
}

unsigned load_field(const std::uint8_t* plane, std::size_t input, unsigned bits) {
  const Field field = field_of(input, bits);
  return unsigned{plane[field.byte]} >> field.shift & ((1U << bits) - 1);
}

/// Of each level, as an unsigned byte, the code; kNoCode where there is none. Of codes with equal
/// levels the lowest.
std::array<std::uint8_t, 256> codes_of_levels(const GroupFormat& format) {
  std::array<std::uint8_t, 256> codes;
  codes.fill(kNoCode);
  for (std::size_t code = std::size_t{1} << format.bits; code-- > 0;) {
    codes[static_cast<std::uint8_t>(format.level(code))] = static_cast<std::uint8_t>(code);
  }
  return codes;
}

/// The codes of levels one apart. @return whether all are levels
bool code_even_levels(std::span<const std::int8_t> levels, const GroupFormat& format,
                      std::span<std::uint8_t> codes) {
  const auto first = static_cast<std::uint8_t>(format.first_level);
  std::uint8_t bits = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(levels[i]) - first);
    bits |= codes[i];
  }
  return bits >> format.bits == 0;
}

void code_row(std::span<const std::int8_t> levels, const GroupFormat& format, std::size_t row,
              std::span<std::uint8_t> codes) {
  const bool is_even = !format.levels && format.level_step() == 1;
  if (is_even && code_even_levels(levels, format, codes)) return;
  const auto table = codes_of_levels(format);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    codes[i] = table[static_cast<std::uint8_t>(levels[i])];
    if (codes[i] == kNoCode) {
      fail(ErrorKind::kFormat, "packed weights: row " + std::to_string(row) + ", input " +
                                   std::to_string(i) + ": expected a level of a code of " +
                                   std::to_string(format.bits) + " bits, found " +
                                   std::to_string(levels[i]));
    }
  }
}

}  // namespace

void GroupFormat::check() const {
  const bool has_bits = bits >= 1 && bits <= 8 && bits != 7;
  const bool has_group = group == 16 || group == 32 || group == 64 || group == 128 || group == 256;
  if (!has_bits || !has_group) {
    fail(ErrorKind::kUnsupported,
         "weights in groups: expected codes of 1 to 6 or 8 bits and groups of 16, 32, 64, 128 or "
         "256 inputs, found " +
             std::to_string(bits) + " bits and groups of " + std::to_string(group));
  }
  const int last = first_level + ((1 << bits) - 1) * level_step();
  if (levels ? bits != 4 : first_level < -128 || last > 127) {
    fail(ErrorKind::kUnsupported,
         "weights in groups: expected levels of int8, in a table only for 4 bits, found " +
             std::to_string(bits) + " bits from level " + std::to_string(first_level));
  }
}

PackedGroups::PackedGroups(std::size_t rows, std::size_t cols, const GroupFormat& format)
    : rows_(rows), format_(format), extents_{cols, format.group} {
  format.check();
  num_blocks_ = extents_.num_blocks();
  full_ = layout_of(kGroupBlockInputs);
  if (num_blocks_ > 0) {
    last_ = layout_of(extents_.block_inputs(num_blocks_ - 1));
    strip_bytes_ = (num_blocks_ - 1) * full_.bytes + last_.bytes;
  }
  bytes_ = AlignedBuffer(num_strips() * strip_bytes_);
}

GroupBlockLayout PackedGroups::layout_of(std::size_t inputs) const {
  GroupBlockLayout layout;
  layout.inputs = inputs;
  layout.groups = inputs / format_.group;
  layout.scale_bytes = group_scale_bytes(format_.scales, layout.groups);
  layout.plane_bytes = inputs / kGroupUnitInputs * unit_bytes();
  layout.bytes = (format_.has_offsets ? 2 : 1) * layout.scale_bytes + layout.plane_bytes;
  return layout;
}

std::uint8_t* PackedGroups::block(std::size_t strip, std::size_t block) {
  return bytes_.as<std::uint8_t>().data() + strip * strip_bytes_ + block * full_.bytes;
}

bool PackedGroups::pack_scales(std::size_t row, std::span<const float> values, bool offsets) {
  constexpr std::size_t kMaxGroups = kGroupBlockInputs / 16;
  for (std::size_t b = 0; b < num_blocks_; ++b) {
    const std::size_t groups = layout(b).groups;
    const std::size_t first = b * kGroupBlockInputs / format_.group;
    std::array<float, kMaxGroups> scales = {};
    std::ranges::copy(values.subspan(first, std::min(groups, values.size() - first)),
                      scales.begin());
    std::uint8_t* to = block(row / kStripRows, b) + (offsets ? layout(b).scale_bytes : 0);
    if (!store_group_scales(format_.scales, std::span(scales).first(groups), row % kStripRows,
                            to)) {
      return false;
    }
  }
  return true;
}

void PackedGroups::pack_codes(std::size_t row, std::span<const std::uint8_t> codes) {
  const PlaneBits bits = plane_bits(format_.bits);
  for (std::size_t b = 0; b < num_blocks_; ++b) {
    const std::size_t units = layout(b).inputs / kGroupUnitInputs;
    std::uint8_t* planes =
        block(row / kStripRows, b) + layout(b).bytes - layout(b).plane_bytes + row % kStripRows * 4;
    for (std::size_t unit = 0; unit < units; ++unit, planes += unit_bytes()) {
      const auto of_unit =
          codes.subspan(b * kGroupBlockInputs + unit * kGroupUnitInputs, kGroupUnitInputs);
      store_plane(of_unit, 0, bits.low, planes);
      if (bits.high != 0) {
        store_plane(of_unit, bits.low, bits.high, planes + bits.low * kVectorBytes);
      }
    }
  }
}

bool PackedGroups::pack_strips(BlockRange strips, const Unpack& unpack) {
  std::vector<std::int8_t> levels(extents_.cols);
  std::vector<std::uint8_t> codes(extents_.padded_cols());
  std::vector<float> scales(extents_.num_groups());
  std::vector<float> offsets(format_.has_offsets ? extents_.num_groups() : 0);
  const std::size_t end = std::min(strips.end * kStripRows, rows_);
  for (std::size_t row = strips.begin * kStripRows; row < end; ++row) {
    unpack(row, levels, scales, offsets);
    if (!pack_scales(row, scales, false)) return false;
    if (format_.has_offsets && !pack_scales(row, offsets, true)) return false;
    code_row(levels, format_, row, codes);
    pack_codes(row, codes);
  }
  return true;
}

PackedGroups PackedGroups::pack(std::size_t rows, std::size_t cols, const GroupFormat& format,
                                const Unpack& unpack) {
  PackedGroups packed(rows, cols, format);
  const BlockRange all{0, packed.num_strips()};
  if (packed.pack_strips(all, unpack)) return packed;
  GroupFormat exact = format;
  exact.scales = GroupScales::kFloat;
  packed = PackedGroups(rows, cols, exact);
  if (!packed.pack_strips(all, unpack)) fail(ErrorKind::kInternal, "float32 scales are not exact");
  return packed;
}

void PackedGroups::unpack_block(std::size_t row, std::size_t block, GroupBlock& to) const noexcept {
  const GroupBlockLayout& how = layout(block);
  to.inputs = how.inputs;
  to.groups = how.groups;
  const std::size_t in_strip = row % kStripRows;
  const std::uint8_t* from = strip(row / kStripRows) + block * full_.bytes;
  load_group_scales(format_.scales, from, in_strip, std::span(to.scales).first(to.groups));
  from += how.scale_bytes;
  to.offsets.fill(0);
  if (format_.has_offsets) {
    load_group_scales(format_.scales, from, in_strip, std::span(to.offsets).first(to.groups));
    from += how.scale_bytes;
  }
  const PlaneBits bits = plane_bits(format_.bits);
  for (std::size_t i = 0; i < to.inputs; ++i) {
    const std::uint8_t* planes = from + i / kGroupUnitInputs * unit_bytes() + in_strip * 4;
    unsigned code = load_field(planes, i % kGroupUnitInputs, bits.low);
    if (bits.high != 0) {
      const std::uint8_t* high = planes + bits.low * kVectorBytes;
      code |= load_field(high, i % kGroupUnitInputs, bits.high) << bits.low;
    }
    to.levels[i] = static_cast<std::int8_t>(format_.level(code));
  }
}

void PackedGroups::unpack(std::size_t row, std::span<std::int8_t> codes, std::span<float> scales,
                          std::span<float> offsets) const {
  GroupBlock block;
  for (std::size_t b = 0; b < num_blocks_; ++b) {
    unpack_block(row, b, block);
    const std::size_t input = b * kGroupBlockInputs;
    const std::size_t group = input / format_.group;
    std::copy_n(block.levels.begin(), std::min(block.inputs, extents_.cols - input),
                codes.begin() + static_cast<std::ptrdiff_t>(input));
    const std::size_t groups = std::min(block.groups, extents_.num_groups() - group);
    const auto at = static_cast<std::ptrdiff_t>(group);
    std::copy_n(block.scales.begin(), groups, scales.begin() + at);
    if (format_.has_offsets) std::copy_n(block.offsets.begin(), groups, offsets.begin() + at);
  }
}

}  // namespace halftone::kernels
