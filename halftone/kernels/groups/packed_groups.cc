// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/groups/packed_groups.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/kernels/groups/group_layout.h"
#include "halftone/kernels/groups/vector_tables.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kVectorBytes = 4 * kStripRows;
constexpr std::uint8_t kNoCode = 255;

/// Bytes of a plane of `bits` bits of so many codes per row, for the rows of a strip.
constexpr std::size_t plane_bytes(std::size_t codes, unsigned bits) {
  return codes * kStripRows * bits / 8;
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
  for (std::size_t v = 0; v < codes.size() / 4 / kFields; ++v) {
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

/// Of four codes of a vector and row, their bits in a sign plane.
struct SignNibble {
  std::size_t byte;
  unsigned shift;
};

SignNibble sign_nibble(std::size_t vector, std::size_t row_in_strip) {
  return {vector * kVectorBytes / 8 + row_in_strip / 2,
          static_cast<unsigned>(row_in_strip % 2 * 4)};
}

/// Stores sign `sign` of the codes of a unit and row.
void store_signs(std::span<const std::uint8_t> signs, unsigned sign, std::size_t row_in_strip,
                 std::uint8_t* plane) {
  for (std::size_t v = 0; v < signs.size() / 4; ++v) {
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; ++i) bits |= (unsigned{signs[4 * v + i]} >> sign & 1) << i;
    const SignNibble to = sign_nibble(v, row_in_strip);
    plane[to.byte] =
        static_cast<std::uint8_t>((plane[to.byte] & (0xF0 >> to.shift)) | (bits << to.shift));
  }
}

unsigned load_sign(const std::uint8_t* plane, std::size_t index, std::size_t row_in_strip) {
  const SignNibble from = sign_nibble(index / 4, row_in_strip);
  return unsigned{plane[from.byte]} >> (from.shift + index % 4) & 1;
}

unsigned load_field(const std::uint8_t* plane, std::size_t input, unsigned bits) {
  const Field field = field_of(input, bits);
  return unsigned{plane[field.byte]} >> field.shift & ((1U << bits) - 1);
}

/// Of each level, as an unsigned byte, the code; kNoCode where there is none. Of codes with equal
/// levels the lowest.
std::array<std::uint8_t, 256> codes_of_levels(const GroupCodes& format) {
  std::array<std::uint8_t, 256> codes;
  codes.fill(kNoCode);
  for (std::size_t code = std::size_t{1} << format.levels.bits; code-- > 0;) {
    codes[static_cast<std::uint8_t>(format.levels.level(code))] = static_cast<std::uint8_t>(code);
  }
  return codes;
}

/// The codes of levels one apart. @return whether all are levels
bool code_even_levels(std::span<const std::int8_t> levels, const GroupCodes& format,
                      std::span<std::uint8_t> codes) {
  const auto first = static_cast<std::uint8_t>(format.levels.first);
  std::uint8_t bits = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(levels[i]) - first);
    bits |= codes[i];
  }
  return bits >> format.levels.bits == 0;
}

/// The codes of codewords: their fields, and the signs above.
void code_vectors(std::span<const std::int8_t> levels, const numerics::VectorBasis& basis,
                  std::size_t row, std::span<std::uint8_t> fields, std::span<std::uint8_t> signs) {
  const auto d = static_cast<std::size_t>(basis.numbers());
  const int bits = CodePlanes{basis.signs()}.field_bits();
  for (std::size_t i = 0; i < levels.size() / d; ++i) {
    const auto code = basis.code_of(levels.subspan(i * d, d));
    if (!code) {
      fail(ErrorKind::kFormat, "packed weights: row " + std::to_string(row) + ", input " +
                                   std::to_string(i * d) + ": expected a codeword of a basis " +
                                   basis.rate());
    }
    fields[i] = static_cast<std::uint8_t>(*code & ((1 << bits) - 1));
    signs[i] = static_cast<std::uint8_t>(*code >> bits);
  }
}

void code_row(std::span<const std::int8_t> levels, const GroupCodes& format, std::size_t row,
              std::span<std::uint8_t> codes) {
  const bool is_even = !format.levels.table && format.levels.step() == 1;
  if (is_even && code_even_levels(levels, format, codes)) return;
  const auto table = codes_of_levels(format);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    codes[i] = table[static_cast<std::uint8_t>(levels[i])];
    if (codes[i] == kNoCode) {
      fail(ErrorKind::kFormat, "packed weights: row " + std::to_string(row) + ", input " +
                                   std::to_string(i) + ": expected a level of a code of " +
                                   std::to_string(format.levels.bits) + " bits, found " +
                                   std::to_string(levels[i]));
    }
  }
}

}  // namespace

/// Codes of a row: the bits of their fields, and the signs above.
struct PackedGroups::RowCodes {
  std::vector<std::uint8_t> fields;
  std::vector<std::uint8_t> signs;  ///< empty without a basis
};

void check_groups(const GroupCodes& codes) {
  if (codes.basis != nullptr) {
    if (codes.group == 64 && !codes.has_offsets) return;
    fail(ErrorKind::kUnsupported,
         "weights of a vector basis: expected groups of 64 inputs without "
         "offsets, found groups of " +
             std::to_string(codes.group));
  }
  const std::size_t group = codes.group;
  const auto& [bits, first_level, table] = codes.levels;
  const bool has_bits = bits >= 1 && bits <= 8 && bits != 7;
  const bool has_group = group == 16 || group == 32 || group == 64 || group == 128 || group == 256;
  if (!has_bits || !has_group) {
    fail(ErrorKind::kUnsupported,
         "weights in groups: expected codes of 1 to 6 or 8 bits and groups of 16, 32, 64, 128 or "
         "256 inputs, found " +
             std::to_string(bits) + " bits and groups of " + std::to_string(codes.group));
  }
  const int last = first_level + ((1 << bits) - 1) * codes.levels.step();
  if (table ? bits != 4 : first_level < -128 || last > 127) {
    fail(ErrorKind::kUnsupported,
         "weights in groups: expected levels of int8, in a table only for 4 bits, found " +
             std::to_string(bits) + " bits from level " + std::to_string(first_level));
  }
}

PackedGroups::PackedGroups(std::size_t rows, std::size_t cols, const GroupCodes& format)
    : rows_(rows), format_(format), extents_{cols, format.group, format.vector()} {
  check_groups(format);
  if (format.basis != nullptr) {
    if (cols % format.group != 0) {
      fail(ErrorKind::kShape,
           "weights of a vector basis: expected inputs in whole groups of 64, "
           "found " +
               std::to_string(cols));
    }
    basis_ = format.basis->shared_from_this();
    tables_ = VectorTables(*basis_);
  }
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
    if (!store_group_scales(scale_storage(), std::span(scales).first(groups), row % kStripRows,
                            to)) {
      return false;
    }
  }
  return true;
}

void PackedGroups::pack_codes(std::size_t row, const RowCodes& codes) {
  const PlaneBits bits = plane_bits(format_);
  const std::size_t row_in_strip = row % kStripRows;
  const std::size_t unit_codes = kGroupUnitInputs / format_.vector();
  std::size_t at = 0;
  for (std::size_t b = 0; b < num_blocks_; ++b) {
    std::uint8_t* unit = block(row / kStripRows, b) + layout(b).bytes - layout(b).plane_bytes;
    for (std::size_t u = 0; u < layout(b).inputs / kGroupUnitInputs; ++u, unit += unit_bytes()) {
      const auto fields = std::span(codes.fields).subspan(at, unit_codes);
      std::uint8_t* plane = unit;
      store_plane(fields, 0, bits.low, plane + row_in_strip * 4);
      plane += plane_bytes(unit_codes, bits.low);
      if (bits.high != 0) store_plane(fields, bits.low, bits.high, plane + row_in_strip * 4);
      plane += plane_bytes(unit_codes, bits.high);
      for (unsigned sign = 0; sign < bits.signs; ++sign) {
        store_signs(std::span(codes.signs).subspan(at, unit_codes), sign, row_in_strip, plane);
        plane += plane_bytes(unit_codes, 1);
      }
      at += unit_codes;
    }
  }
}

bool PackedGroups::pack_strips(BlockRange strips, const Unpack& unpack) {
  std::vector<std::int8_t> levels(extents_.cols);
  RowCodes codes{std::vector<std::uint8_t>(extents_.padded_cols() / format_.vector()), {}};
  if (format_.basis != nullptr) codes.signs.resize(codes.fields.size());
  std::vector<float> scales(extents_.num_groups());
  std::vector<float> offsets(format_.has_offsets ? extents_.num_groups() : 0);
  const std::size_t end = std::min(strips.end * kStripRows, rows_);
  for (std::size_t row = strips.begin * kStripRows; row < end; ++row) {
    unpack(row, levels, scales, offsets);
    if (!pack_scales(row, scales, false)) return false;
    if (format_.has_offsets && !pack_scales(row, offsets, true)) return false;
    if (format_.basis != nullptr) {
      code_vectors(levels, *format_.basis, row, codes.fields, codes.signs);
    } else {
      code_row(levels, format_, row, codes.fields);
    }
    pack_codes(row, codes);
  }
  return true;
}

PackedGroups PackedGroups::pack(std::size_t rows, std::size_t cols, const GroupCodes& format,
                                const Unpack& unpack) {
  PackedGroups packed(rows, cols, format);
  const BlockRange all{0, packed.num_strips()};
  if (packed.pack_strips(all, unpack)) return packed;
  GroupCodes exact = format;
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
  load_group_scales(scale_storage(), from, in_strip, std::span(to.scales).first(to.groups));
  from += how.scale_bytes;
  to.offsets.fill(0);
  if (format_.has_offsets) {
    load_group_scales(scale_storage(), from, in_strip, std::span(to.offsets).first(to.groups));
    from += how.scale_bytes;
  }
  const PlaneBits bits = plane_bits(format_);
  const std::size_t d = format_.vector();
  const std::size_t unit_codes = kGroupUnitInputs / d;
  for (std::size_t i = 0; i < to.inputs / d; ++i) {
    const std::size_t index = i % unit_codes;
    const std::uint8_t* plane = from + i / unit_codes * unit_bytes();
    unsigned code = load_field(plane + in_strip * 4, index, bits.low);
    plane += plane_bytes(unit_codes, bits.low);
    if (bits.high != 0) code |= load_field(plane + in_strip * 4, index, bits.high) << bits.low;
    plane += plane_bytes(unit_codes, bits.high);
    if (format_.basis == nullptr) {
      to.levels[i] = static_cast<std::int8_t>(format_.levels.level(code));
      continue;
    }
    for (unsigned sign = 0; sign < bits.signs; ++sign) {
      code |= load_sign(plane, index, in_strip) << (bits.low + bits.high + sign);
      plane += plane_bytes(unit_codes, 1);
    }
    std::ranges::copy(format_.basis->codeword(code), to.levels.data() + i * d);
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
