// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/groups/encoded_rows.cc"
#include "halftone/kernels/groups/encoded_rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// At most the inputs of the smallest piece.
using DGroupFloat = hn::CappedTag<float, 16>;
using DGroupInt = hn::RebindToSigned<DGroupFloat>;

constexpr float kGroupRange = 127;
constexpr std::size_t kMaxEncoding = 64;

/// max |x_i| of whole vectors; infinite or NaN if any x_i is: the bits of magnitudes, as integers,
/// have the order of the magnitudes.
HWY_INLINE float LargestOfEncoding(const float* HWY_RESTRICT x, std::size_t count) {
  const DGroupFloat d;
  const DGroupInt di;
  auto largest = hn::Zero(di);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + i))));
  }
  return std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(di, largest)));
}

/// Codes of a piece; returns their sum.
HWY_INLINE std::int32_t EncodePiece(const float* HWY_RESTRICT x, std::size_t count, float factor,
                                    std::int8_t* HWY_RESTRICT codes) {
  const DGroupFloat d;
  const DGroupInt di;
  const hn::Rebind<std::int8_t, DGroupFloat> d8;
  const auto factors = hn::Set(d, factor);
  const auto shift = hn::Set(d, 12582912.0F);  // 1.5 2^23: leaves no bits for a fraction
  auto sum = hn::Zero(di);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), factors);
    const auto rounded = hn::ConvertTo(di, hn::Sub(hn::Add(scaled, shift), shift));
    sum = hn::Add(sum, rounded);
    hn::StoreU(hn::DemoteTo(d8, rounded), d8, codes + i);
  }
  return hn::GetLane(hn::SumOfLanes(di, sum));
}

/// Puts the codes of inputs that start a piece into the order of GroupExtents::place().
HWY_INLINE void OrderCodes(const GroupExtents& extents, std::size_t count,
                           std::int8_t* HWY_RESTRICT codes) {
  constexpr std::size_t kTurned = 16;  // a multiple of 4 d
  alignas(16) std::int8_t from[kTurned];
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<std::int8_t, kTurned> d;
  for (std::size_t i = 0; i < kTurned; ++i) from[extents.place(i)] = static_cast<std::int8_t>(i);
  const auto order = hn::Load(d, from);
  for (std::size_t i = 0; i < count; i += kTurned) {
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, codes + i), order), d, codes + i);
  }
#else
  for (std::size_t first = 0; first < count; first += kTurned) {
    std::copy_n(codes + first, kTurned, from);
    for (std::size_t i = 0; i < kTurned; ++i) codes[first + extents.place(i)] = from[i];
  }
#endif
}

/// Encodes the inputs with one scale: those of `pieces` pieces from piece `first` on.
HWY_INLINE void EncodeInputs(const float* HWY_RESTRICT x, const EncodedRows& to, std::size_t row,
                             std::size_t first, std::size_t pieces) {
  const std::size_t piece = to.extents().piece();
  const float largest = LargestOfEncoding(x, pieces * piece);
  const float factor = kGroupRange / largest;
  const bool finite = std::isfinite(largest);
  const bool zero = !finite || std::isinf(factor);
  const float scale = !finite ? std::numeric_limits<float>::quiet_NaN()
                      : zero  ? 0
                              : largest / kGroupRange;
  std::int8_t* codes = to.codes(row) + first * piece;
  if (zero) std::fill_n(codes, pieces * piece, std::int8_t{0});
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::int32_t sum =
        zero ? 0 : EncodePiece(x + p * piece, piece, factor, codes + p * piece);
    to.scales(row)[first + p] = scale;
    to.sums(row)[first + p] = sum;
    to.shares(row)[first + p] = scale * static_cast<float>(sum);
  }
  if (to.extents().vector > 1) OrderCodes(to.extents(), pieces * piece, codes);
}

void EncodeGroupRows(MatrixView<const float> values, BlockRange rows, const EncodedRows& to) {
  const GroupExtents& extents = to.extents();
  const std::size_t piece = extents.piece();
  const std::size_t inputs = extents.encoding();
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    const float* x = values.row(row).data();
    for (std::size_t begin = 0; begin < extents.padded_cols(); begin += inputs) {
      const std::size_t count = std::min(inputs, extents.padded_cols() - begin);
      const std::size_t present = begin < extents.cols ? extents.cols - begin : 0;
      if (present >= count) {
        EncodeInputs(x + begin, to, row, begin / piece, count / piece);
        continue;
      }
      alignas(64) float rest[kMaxEncoding] = {};
      std::copy_n(x + std::min(begin, extents.cols), present, rest);
      EncodeInputs(rest, to, row, begin / piece, count / piece);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(EncodeGroupRows);

std::size_t EncodedRows::size_bytes(std::size_t rows, const GroupExtents& extents) {
  return rows * (AlignedBuffer::rounded_up(extents.padded_cols()) +
                 3 * AlignedBuffer::rounded_up(extents.num_pieces() * sizeof(float)));
}

EncodedRows::EncodedRows(std::span<std::byte> memory, std::size_t rows, const GroupExtents& extents)
    : memory_(memory.data()),
      rows_(rows),
      extents_(extents),
      codes_bytes_(AlignedBuffer::rounded_up(extents.padded_cols())),
      piece_bytes_(AlignedBuffer::rounded_up(extents.num_pieces() * sizeof(float))) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(memory_) % AlignedBuffer::kAlignment == 0;
  if (!aligned || memory.size() < size_bytes(rows, extents)) {
    fail(ErrorKind::kShape, "memory for encoded rows: expected " +
                                std::to_string(size_bytes(rows, extents)) +
                                " bytes, aligned to 64, found " + std::to_string(memory.size()) +
                                (aligned ? "" : ", not aligned"));
  }
}

void encode_group_rows(MatrixView<const float> values, BlockRange rows,
                       const EncodedRows& to) noexcept {
  HALFTONE_ASSERT(rows.end <= values.rows() && rows.end <= to.rows());
  HALFTONE_ASSERT(values.cols() == to.extents().cols);
  HALFTONE_DISPATCH(EncodeGroupRows)(values, rows, to);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
