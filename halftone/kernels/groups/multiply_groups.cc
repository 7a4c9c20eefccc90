// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/groups/multiply_groups.cc"
#include "halftone/kernels/groups/multiply_groups.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/groups/group_block-inl.h"
#include "halftone/kernels/groups/group_codes-inl.h"
#include "halftone/kernels/groups/group_scales-inl.h"
#include "halftone/kernels/groups/group_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

/// acc + the products of a block of one weight row.
/// @param first_piece  of the block
float AddPlainBlock(const GroupBlock& w, bool has_offsets, const EncodedRows& x, std::size_t row,
                    std::size_t first_piece, float acc) {
  const std::size_t piece = x.extents().piece();
  for (std::size_t p = 0; p < w.inputs / piece; ++p) {
    const std::size_t at = first_piece + p;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < piece; ++i) {
      sum += w.levels[p * piece + i] * x.codes(row)[at * piece + i];
    }
    const std::size_t g = p * piece / x.extents().group;
    acc += w.scales[g] * x.scales(row)[at] * static_cast<float>(sum);
    if (has_offsets) acc += w.offsets[g] * x.shares(row)[at];
  }
  return acc;
}

void MultiplyGroups(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                    MatrixView<float> y) {
  const std::size_t end = std::min(strips.end * kStripRows, w.rows());
  for (std::size_t o = strips.begin * kStripRows; o < end; ++o) {
    for (std::size_t row = 0; row < x.rows(); ++row) y(row, o) = 0;
    for (std::size_t b = 0; b < w.extents().num_blocks(); ++b) {
      GroupBlock block;
      w.unpack_block(o, b, block);
      const std::size_t piece = b * kGroupBlockInputs / w.extents().piece();
      for (std::size_t row = 0; row < x.rows(); ++row) {
        y(row, o) = AddPlainBlock(block, w.format().has_offsets, x, row, piece, y(row, o));
      }
    }
  }
}

#else

/// Rows of activations whose sums with a strip are kept at a time.
constexpr std::size_t kBandRows = 64;
/// From so many rows on, codes are decoded to bytes.
constexpr std::size_t kMinTileRows = 4;
constexpr std::size_t kMaxBlockScales = kGroupBlockInputs / 16 * kStripRows;

/// Scales of a block and strip, and its bytes.
struct DecodedBlock {
  alignas(64) float scales[kMaxBlockScales];
  alignas(64) float offsets[kMaxBlockScales];
  alignas(64) std::uint8_t bytes[kGroupBlockInputs * kStripRows];
};

/// Decodes the scales of block `b` of a strip.
/// @param block  its first byte
HWY_INLINE StripBlock DecodeBlockScales(const PackedGroups& w, std::size_t b,
                                        const std::uint8_t* block, DecodedBlock& decoded) {
  const GroupExtents& extents = w.extents();
  const std::size_t inputs = extents.block_inputs(b);
  const std::size_t groups = inputs / extents.group;
  const std::size_t scale_bytes = w.scale_bytes(groups);
  const bool has_offsets = w.format().has_offsets;
  const std::size_t all = (has_offsets ? 2 : 1) * scale_bytes;
  PrefetchFar(block + kGroupsAhead, all);
  DecodeGroupScales(w.format().scales, block, groups, decoded.scales);
  if (has_offsets) {
    DecodeGroupScales(w.format().scales, block + scale_bytes, groups, decoded.offsets);
  }
  return {block + all,
          decoded.scales,
          has_offsets ? decoded.offsets : nullptr,
          inputs / extents.piece(),
          b * kGroupBlockInputs / extents.piece(),
          extents.group / extents.piece()};
}

/// Rows of activations that are multiplied together.
struct RowBand {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// sums += the products of a block with the rows of a band.
/// @param sums  [count, 64]
template <class Codes, std::size_t kPiece>
void AddBandBlock(const Codes& codes, const StripBlock& w, const EncodedRows& x, RowBand band,
                  std::uint8_t* bytes, float* sums) {
  if (band.count < kMinTileRows) {
    for (std::size_t r = 0; r < band.count; ++r) {
      AddStripBlock<Codes, kPiece>(codes, w, InputsOf(x, band.first + r, w.first_piece),
                                   sums + r * kStripRows);
    }
    return;
  }
  using Bytes = TileBytes<Codes::kSigned, Codes::kStepShift>;
  DecodeTile(codes, w.planes, w.pieces * kPiece / kGroupUnitInputs, bytes);
  for (std::size_t r = 0; r < band.count; r += kTileRows) {
    const std::size_t rows = std::min(kTileRows, band.count - r);
    PieceInputs inputs[kTileRows];
    for (std::size_t i = 0; i < rows; ++i) {
      inputs[i] = InputsOf(x, band.first + r + i, w.first_piece);
    }
    AddTileTail<Bytes, kPiece>(rows, w, bytes, codes.bias, inputs, sums + r * kStripRows);
  }
}

template <class Codes, std::size_t kPiece>
void MultiplyBand(const PackedGroups& w, const EncodedRows& x, std::size_t strip, RowBand band,
                  const MatrixView<float>& y) {
  const Codes codes(w.format());
  DecodedBlock decoded;
  alignas(64) float sums[kBandRows * kStripRows];
  std::fill_n(sums, band.count * kStripRows, 0.0F);
  const std::uint8_t* block = w.strip(strip);
  for (std::size_t b = 0; b < w.extents().num_blocks(); ++b) {
    const StripBlock scaled = DecodeBlockScales(w, b, block, decoded);
    AddBandBlock<Codes, kPiece>(codes, scaled, x, band, decoded.bytes, sums);
    block += w.block_bytes(b);
  }
  const std::size_t first = strip * kStripRows;
  const std::size_t count = std::min(kStripRows, w.rows() - first);
  for (std::size_t r = 0; r < band.count; ++r) {
    std::copy_n(sums + r * kStripRows, count, y.row(band.first + r).data() + first);
  }
}

template <class Codes, std::size_t kPiece>
void MultiplyPieces(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                    const MatrixView<float>& y) {
  const std::size_t bands = (x.rows() + kBandRows - 1) / kBandRows;
  for (std::size_t strip = strips.begin; strip < strips.end; ++strip) {
    for (std::size_t band = 0; band < bands; ++band) {
      const std::size_t first = band * x.rows() / bands;
      const std::size_t last = (band + 1) * x.rows() / bands;
      MultiplyBand<Codes, kPiece>(w, x, strip, {first, last - first}, y);
    }
  }
}

template <class Codes>
void MultiplyCodes(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                   const MatrixView<float>& y) {
  switch (w.extents().piece()) {
    case 16:
      return MultiplyPieces<Codes, 16>(w, x, strips, y);
    case 32:
      return MultiplyPieces<Codes, 32>(w, x, strips, y);
    default:
      return MultiplyPieces<Codes, 64>(w, x, strips, y);
  }
}

void MultiplyGroups(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                    MatrixView<float> y) {
  if (w.format().levels) return MultiplyCodes<TableCodes>(w, x, strips, y);
  switch (w.format().bits) {
    case 1:
      return MultiplyCodes<EvenCodes<1, 0> >(w, x, strips, y);
    case 2:
      return MultiplyCodes<EvenCodes<2, 0> >(w, x, strips, y);
    case 3:
      return MultiplyCodes<EvenCodes<2, 1> >(w, x, strips, y);
    case 4:
      return MultiplyCodes<EvenCodes<4, 0> >(w, x, strips, y);
    case 5:
      return MultiplyCodes<EvenCodes<4, 1> >(w, x, strips, y);
    case 6:
      return MultiplyCodes<EvenCodes<4, 2> >(w, x, strips, y);
    default:
      return MultiplyCodes<ByteCodes>(w, x, strips, y);
  }
}

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/neon_dot_pass.h"

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(MultiplyGroups);

void multiply_groups(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                     MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.extents().cols == w.cols() && x.extents().group == w.format().group);
  HALFTONE_ASSERT(y.rows() == x.rows() && y.cols() == w.rows());
  HALFTONE_ASSERT(strips.end <= w.num_strips());
  HALFTONE_DISPATCH_DOT(MultiplyGroups)(w, x, strips, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
