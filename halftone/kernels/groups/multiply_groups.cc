// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/groups/multiply_groups.cc"
#include "halftone/kernels/groups/multiply_groups.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/groups/group_block-inl.h"
#include "halftone/kernels/groups/group_codes-inl.h"
#include "halftone/kernels/groups/group_scales-inl.h"
#include "halftone/kernels/groups/group_sums-inl.h"
#include "halftone/kernels/groups/group_tile-inl.h"
#include "halftone/kernels/groups/group_vectors-inl.h"

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
      sum += w.levels[p * piece + i] * x.codes(row)[x.extents().place(at * piece + i)];
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
    for (std::size_t b = 0; b < w.num_blocks(); ++b) {
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
/// From so many rows on, a block of codes is decoded to bytes.
constexpr std::size_t kMinTileRows = 4;
/// Whether scales are decoded where one row uses them: those of groups of 16 inputs of up to 3
/// bits. Elsewhere memory is the limit, and reading scales beside codes costs more than it saves.
template <class Codes, std::size_t kPiece>
constexpr bool kReadsStored =
    HWY_TARGET == HWY_AVX3_DL&& kPiece == 16 && Codes::kUnitBytes <= 3 * kPlaneVector;
constexpr std::size_t kMaxBlockScales = kGroupBlockInputs / 16 * kStripRows;

/// Scales of a block and strip, and its bytes.
struct DecodedBlock {
  alignas(64) float scales[kMaxBlockScales];
  alignas(64) float offsets[kMaxBlockScales];
  alignas(64) std::uint8_t bytes[kGroupBlockInputs * kStripRows];
};

/// Decodes the scales of block `b` of a strip.
/// @param block  its first byte
/// @param ahead  the first of as many bytes to prefetch while it is read
template <std::size_t kPiece>
HWY_INLINE StripBlock DecodeBlockScales(const PackedGroups& w, std::size_t b,
                                        const std::uint8_t* block, const std::uint8_t* ahead,
                                        DecodedBlock& decoded) {
  const GroupBlockLayout& layout = w.layout(b);
  const bool has_offsets = w.format().has_offsets;
  const std::size_t all = (has_offsets ? 2 : 1) * layout.scale_bytes;
  PrefetchFar(ahead, all);
  DecodeGroupScales(w.scale_storage(), block, layout.groups, decoded.scales);
  if (has_offsets) {
    DecodeGroupScales(w.scale_storage(), block + layout.scale_bytes, layout.groups,
                      decoded.offsets);
  }
  return {block + all,
          ahead + all,
          decoded.scales,
          has_offsets ? decoded.offsets : nullptr,
          layout.inputs / kPiece,
          b * (kGroupBlockInputs / kPiece),
          static_cast<unsigned>(std::countr_zero(w.format().group / kPiece))};
}

/// sums += the products of a block, whose scales are decoded, with one row.
template <class Codes, std::size_t kPiece>
HWY_INLINE void AddDecodedBlock(const Codes& codes, const StripBlock& w, const PieceInputs& x,
                                float* sums) {
  const DecodedScales scales{w.scales};
  const DecodedScales offsets{w.offsets};
  const GroupOf<DecodedScales> first{&scales, w.offsets == nullptr ? nullptr : &offsets, 0};
  AddStripBlock<Codes, kPiece>(codes, w, first, x, sums);
}

/// The same of block `b`, with scales as they are stored.
/// @param block  its first byte
template <class Codes, std::size_t kPiece>
HWY_INLINE void AddStoredBlock(const PackedGroups& w, std::size_t b, const std::uint8_t* block,
                               const PieceInputs& x, float* sums) {
  const GroupBlockLayout& layout = w.layout(b);
  const bool has_offsets = w.format().has_offsets;
  const std::size_t all = (has_offsets ? 2 : 1) * layout.scale_bytes;
  PrefetchFar(block + kGroupsAhead, all);
  const StripBlock strip{block + all,
                         block + all + kGroupsAhead,
                         nullptr,
                         nullptr,
                         layout.inputs / kPiece,
                         0,
                         static_cast<unsigned>(std::countr_zero(w.format().group / kPiece))};
  const StoredScales scales(w.scale_storage(), block);
  const StoredScales offsets(w.scale_storage(), has_offsets ? block + layout.scale_bytes : block);
  const GroupOf<StoredScales> first{&scales, has_offsets ? &offsets : nullptr, 0};
  AddStripBlock<Codes, kPiece>(Codes(w), strip, first, x, sums);
}

/// From so many rows on, and up to so many, codes become bytes in registers, again for each tile:
/// the next block is then read from memory while products are computed. Of more rows, decoding once
/// to the first-level cache costs less.
constexpr std::size_t kMinCodeRows = 3;
static_assert(kMinTileRows >= LeastTileRows(kTileRows));
static_assert(kMinCodeRows >= LeastTileRows(kCodeTileRows));
template <class Codes>
constexpr std::size_t kMaxCodeRows = 0;
#if HWY_TARGET <= HWY_AVX2
template <>
constexpr std::size_t kMaxCodeRows<EvenCodes<4, 0> > = 16;
template <>
constexpr std::size_t kMaxCodeRows<ByteCodes> = 16;
#endif
#if HWY_TARGET == HWY_AVX2
template <>
constexpr std::size_t kMaxCodeRows<EvenCodes<2, 0> > = 8;
template <>
constexpr std::size_t kMaxCodeRows<EvenCodes<4, 1> > = 8;
template <>
constexpr std::size_t kMaxCodeRows<EvenCodes<4, 2> > = 8;
#elif HWY_TARGET <= HWY_AVX3
template <>
constexpr std::size_t kMaxCodeRows<EvenCodes<4, 1> > = kCodeTileRows;
#endif

/// Rows of activations that are multiplied together.
struct RowBand {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// sums += the products of a block with the rows of a band, of which kRows at most share the bytes
/// of codes in registers.
/// @param planes  of the block
/// @param band    of at least LeastTileRows(kRows) rows
/// @param sums    [count, 64]
template <class Codes, std::size_t kPiece, std::size_t kRows, std::size_t kVectors>
void AddTiles(const Codes& codes, StripBlock w, const std::uint8_t* planes, const EncodedRows& x,
              RowBand band, float* sums) {
  const std::size_t parts = (band.count + kRows - 1) / kRows;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * band.count / parts;
    const std::size_t rows = (part + 1) * band.count / parts - first;
    PieceInputs inputs[kRows];
    for (std::size_t i = 0; i < rows; ++i) {
      inputs[i] = InputsOf(x, band.first + first + i, w.first_piece);
    }
    AddTileTail<Codes, kPiece, kVectors, LeastTileRows(kRows), kRows>(
        rows, codes, w, planes, inputs, sums + first * kStripRows);
    w.ahead = nullptr;
  }
}

/// sums += the products of a block with the rows of a band.
/// @param sums  [count, 64]
template <class Codes, std::size_t kPiece>
void AddBandBlock(const Codes& codes, const StripBlock& w, const EncodedRows& x, RowBand band,
                  std::uint8_t* bytes, float* sums) {
  if constexpr (kMaxCodeRows < Codes >> 0) {
    if (band.count >= kMinCodeRows && band.count <= kMaxCodeRows<Codes>) {
      return AddTiles<Codes, kPiece, kCodeTileRows, kCodeTileVectors>(codes, w, w.planes, x, band,
                                                                      sums);
    }
  }
  if (band.count < kMinTileRows) {
    for (std::size_t r = 0; r < band.count; ++r) {
      AddDecodedBlock<Codes, kPiece>(codes, w, InputsOf(x, band.first + r, w.first_piece),
                                     sums + r * kStripRows);
    }
    return;
  }
  using Bytes = TileBytesOf<Codes>;
  DecodeTile(codes, w, w.pieces * kPiece / kGroupUnitInputs, bytes);
  StripBlock decoded = w;
  decoded.ahead = nullptr;
  AddTiles<Bytes, kPiece, kTileRows, kTileVectors>(Bytes{codes.bias}, decoded, bytes, x, band,
                                                   sums);
}

/// The products of a strip with a row, without those of rows that the weights do not have.
HWY_INLINE std::span<float> StripOutputs(const PackedGroups& w, std::size_t strip,
                                         std::span<float> y) {
  const std::size_t first = strip * kStripRows;
  return y.subspan(first, std::min(kStripRows, w.rows() - first));
}

template <class Codes, std::size_t kPiece>
void MultiplyBand(const PackedGroups& w, const EncodedRows& x, std::size_t strip, RowBand band,
                  const MatrixView<float>& y) {
  const Codes codes(w);
  DecodedBlock decoded;
  alignas(64) float sums[kBandRows * kStripRows];
  std::fill_n(sums, band.count * kStripRows, 0.0F);
  const std::uint8_t* block = w.strip(strip);
  for (std::size_t b = 0; b < w.num_blocks(); ++b) {
    if constexpr (kReadsStored<Codes, kPiece>) {
      if (band.count == 1) {
        const std::size_t piece = b * (kGroupBlockInputs / kPiece);
        AddStoredBlock<Codes, kPiece>(w, b, block, InputsOf(x, band.first, piece), sums);
        block += w.layout(b).bytes;
        continue;
      }
    }
    const StripBlock scaled = DecodeBlockScales<kPiece>(w, b, block, block + kGroupsAhead, decoded);
    AddBandBlock<Codes, kPiece>(codes, scaled, x, band, decoded.bytes, sums);
    block += w.layout(b).bytes;
  }
  for (std::size_t r = 0; r < band.count; ++r) {
    const std::span<float> outputs = StripOutputs(w, strip, y.row(band.first + r));
    std::copy_n(sums + r * kStripRows, outputs.size(), outputs.data());
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

#if HWY_TARGET == HWY_AVX3_DL

/// Bytes of the tables of a row at a time: these stay in the second-level cache.
constexpr std::size_t kTableBytes = std::size_t{1} << 17;
/// Strips from which on tables of codewords pay.
constexpr std::size_t kMinTableStrips = 6;

/// sums += the products of blocks of a strip with a row.
/// @param x  from the first of them on, with tables for codes
template <class Codes>
HALFTONE_VNNI void AddTableBlocks(const Codes& codes, const PackedGroups& w, std::size_t strip,
                                  BlockRange blocks, PieceInputs x, float* sums) {
  constexpr std::size_t kPiece = 64;
  constexpr std::size_t kBlockPieces = kGroupBlockInputs / kPiece;
  DecodedBlock decoded;
  const std::uint8_t* from = w.strip(strip) + blocks.begin * w.layout(0).bytes;
  for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
    const StripBlock block = DecodeBlockScales<kPiece>(w, b, from, from + kGroupsAhead, decoded);
    AddDecodedBlock<Codes, kPiece>(codes, block, x, sums);
    x = {x.codes + kGroupBlockInputs * Codes::kInputBytes, x.scales + kBlockPieces,
         x.shares + kBlockPieces, x.sums + kBlockPieces};
    from += w.layout(b).bytes;
  }
}

/// y = the products of strips with a row, for pieces of 64 inputs.
template <class Codes>
void MultiplyByTables(const PackedGroups& w, const EncodedRows& x, std::size_t row,
                      BlockRange strips, std::span<float> y) {
  constexpr std::size_t kBlockBytes = kGroupBlockInputs * Codes::kInputBytes;
  constexpr std::size_t kBlocks = kTableBytes / kBlockBytes;
  alignas(64) std::int8_t tables[kTableBytes];
  const Codes codes(w);
  for (std::size_t first = 0; first < w.num_blocks(); first += kBlocks) {
    const BlockRange blocks{first, std::min(first + kBlocks, w.num_blocks())};
    for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
      codes.MakeTables(x.codes(row) + b * kGroupBlockInputs, w.layout(b).inputs,
                       reinterpret_cast<std::uint8_t*>(tables + (b - first) * kBlockBytes));
    }
    PieceInputs inputs = InputsOf(x, row, first * (kGroupBlockInputs / 64));
    inputs.codes = tables;
    for (std::size_t s = strips.begin; s < strips.end; ++s) {
      alignas(64) float sums[kStripRows] = {};
      const std::span<float> outputs = StripOutputs(w, s, y);
      if (first > 0) std::ranges::copy(outputs, sums);
      AddTableBlocks(codes, w, s, blocks, inputs, sums);
      std::copy_n(sums, outputs.size(), outputs.data());
    }
  }
}

/// MultiplyByTables() of each row.
template <class Codes>
void MultiplyRowsByTables(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                          const MatrixView<float>& y) {
  for (std::size_t row = 0; row < x.rows(); ++row) {
    MultiplyByTables<Codes>(w, x, row, strips, y.row(row));
  }
}

#endif

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

/// The same of weights with a basis.
void MultiplyVectors(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                     const MatrixView<float>& y) {
#if HWY_TARGET == HWY_AVX3_DL
  if (w.tables().halves_fit && x.rows() < kMinTileRows &&
      strips.end - strips.begin >= kMinTableStrips) {
    return MultiplyRowsByTables<CodewordSums>(w, x, strips, y);
  }
#endif
  const int signs = w.format().code_bits();
  if (w.format().vector() == 4) {
    if (signs == 8) return MultiplyPieces<VectorCodes<4, 8>, 64>(w, x, strips, y);
    if (signs == 9) return MultiplyPieces<VectorCodes<4, 9>, 64>(w, x, strips, y);
    return MultiplyPieces<VectorCodes<4, 10>, 64>(w, x, strips, y);
  }
  switch (signs) {
    case 6:
      return MultiplyPieces<VectorCodes<2, 6>, 64>(w, x, strips, y);
    case 7:
      return MultiplyPieces<VectorCodes<2, 7>, 64>(w, x, strips, y);
    case 8:
      return MultiplyPieces<VectorCodes<2, 8>, 64>(w, x, strips, y);
    default:
      return MultiplyPieces<VectorCodes<2, 10>, 64>(w, x, strips, y);
  }
}

void MultiplyGroups(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                    MatrixView<float> y) {
  if (w.format().basis != nullptr) return MultiplyVectors(w, x, strips, y);
#if HWY_TARGET == HWY_AVX3_DL
  if (w.format().levels.bits == 1 && w.extents().piece() == 64 && x.rows() < kMinTileRows) {
    return MultiplyRowsByTables<SignCodes>(w, x, strips, y);
  }
#endif
  if (w.format().levels.table) return MultiplyCodes<TableCodes>(w, x, strips, y);
  switch (w.format().levels.bits) {
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

#include "halftone/kernels/dot_pass-inl.h"

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(MultiplyGroups);

void multiply_groups(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                     MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.extents().cols == w.cols() && x.extents().group == w.format().group);
  HALFTONE_ASSERT(x.extents().vector == w.format().vector());
  HALFTONE_ASSERT(y.rows() == x.rows() && y.cols() == w.rows());
  HALFTONE_ASSERT(strips.end <= w.num_strips());
  HALFTONE_DISPATCH_DOT(MultiplyGroups)(w, x, strips, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
