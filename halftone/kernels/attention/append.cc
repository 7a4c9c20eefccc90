// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/attention/append.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "halftone/kernels/attention/cache.h"
#include "halftone/kernels/attention/stored-inl.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/quantize_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Numbers of a row that are converted at a time.
constexpr std::size_t kPiece = 256;

/// The stored numbers of a part of a row.
/// @param steps  for integers: as QuantizeRow()'s
HWY_INLINE void StorePiece(const float* x, std::size_t count, float /*steps*/, float* to) {
  std::memcpy(to, x, count * sizeof(float));
}
HWY_INLINE void StorePiece(const float* x, std::size_t count, float /*steps*/, std::uint16_t* to) {
  StoreHalves(x, count, to);
}
HWY_INLINE void StorePiece(const float* x, std::size_t count, float steps, std::int8_t* to) {
  QuantizeRow(x, count, steps, to);
}

/// Stores the scale of a row, if it has one; returns its steps per unit.
HWY_INLINE float StoreScale(const CacheShape& shape, const float* x, std::size_t token,
                            std::byte* head) {
  if (shape.type != CacheType::kInt8) return 1;
  const RowSteps row = StepsOfRow(x, shape.size);
  reinterpret_cast<float*>(head + shape.scales_offset())[token] = row.scale;
  return row.steps;
}

template <class T>
void AppendKey(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  const float steps = StoreScale(shape, x, token, head);
  T* const numbers = reinterpret_cast<T*>(head);
  T piece[kPiece];
  for (std::size_t i = 0; i < shape.size; i += kPiece) {
    const std::size_t count = std::min(kPiece, shape.size - i);
    StorePiece(x + i, count, steps, piece);
    T* to = numbers + shape.key_index(token, i);
    if constexpr (sizeof(T) == 1) {
      // In pairs, the last of which may have one number.
      if (count % 2 != 0) piece[count] = 0;
      for (std::size_t j = 0; j < count; j += 2, to += 2 * CacheShape::kPanelTokens) {
        std::memcpy(to, piece + j, 2);
      }
    } else {
      for (std::size_t j = 0; j < count; ++j, to += CacheShape::kPanelTokens) *to = piece[j];
    }
  }
}

template <class T>
void AppendValue(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  const float steps = StoreScale(shape, x, token, head);
  T* const to = reinterpret_cast<T*>(head) + shape.value_index(token, 0);
  if constexpr (sizeof(T) == 1) {
    T piece[kPiece];
    for (std::size_t i = 0; i < shape.size; i += kPiece) {
      const std::size_t count = std::min(kPiece, shape.size - i);
      StorePiece(x + i, count, steps, piece);
      for (std::size_t j = 0; j < count; ++j) to[2 * (i + j)] = piece[j];
    }
    for (std::size_t i = shape.size; i < shape.row_size(); ++i) to[2 * i] = 0;
  } else {
    StorePiece(x, shape.size, steps, to);
    std::fill(to + shape.size, to + shape.row_size(), T{});
  }
}

void AppendFloatKey(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendKey<float>(shape, x, token, head);
}
void AppendHalfKey(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendKey<std::uint16_t>(shape, x, token, head);
}
void AppendInt8Key(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendKey<std::int8_t>(shape, x, token, head);
}
void AppendFloatValue(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendValue<float>(shape, x, token, head);
}
void AppendHalfValue(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendValue<std::uint16_t>(shape, x, token, head);
}
void AppendInt8Value(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendValue<std::int8_t>(shape, x, token, head);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {
namespace {

HALFTONE_EXPORT(AppendFloatKey);
HALFTONE_EXPORT(AppendHalfKey);
HALFTONE_EXPORT(AppendInt8Key);
HALFTONE_EXPORT(AppendFloatValue);
HALFTONE_EXPORT(AppendHalfValue);
HALFTONE_EXPORT(AppendInt8Value);

/// Stores a row in 4 bits.
/// @param nibble  CacheShape::key_nibble or value_nibble
void append_nibbles(const CacheShape& shape, const float* x, std::size_t token, std::byte* head,
                    CacheShape::Nibble (CacheShape::*nibble)(std::size_t, std::size_t) const) {
  using numerics::NibbleGroup;
  for (std::size_t begin = 0; begin < shape.size; begin += NibbleGroup::kNumbers) {
    const std::size_t count = std::min(NibbleGroup::kNumbers, shape.size - begin);
    std::array<std::uint8_t, NibbleGroup::kNumbers> codes{};
    const NibbleGroup group =
        numerics::encode_nibbles({x + begin, count}, std::span(codes).first(count));
    std::byte* const marks = head + shape.group_offset(token, begin);
    marks[0] = std::byte{group.unit_code};
    marks[CacheShape::kPanelTokens] = static_cast<std::byte>(group.offset);
    const std::size_t end = std::min(begin + NibbleGroup::kNumbers, shape.row_size());
    for (std::size_t i = begin; i < end; ++i) {
      const CacheShape::Nibble at = (shape.*nibble)(token, i);
      const std::byte code{codes[i - begin]};
      std::byte& byte = head[at.byte];
      byte = at.is_upper ? (byte & std::byte{15}) | code << 4 : (byte & std::byte{0xf0}) | code;
    }
  }
}
void append_int4_key(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  append_nibbles(shape, x, token, head, &CacheShape::key_nibble);
}
void append_int4_value(const CacheShape& shape, const float* x, std::size_t token,
                       std::byte* head) {
  append_nibbles(shape, x, token, head, &CacheShape::value_nibble);
}

/// Stores one row of a head of one sequence.
using AppendRow = void (*)(const CacheShape&, const float*, std::size_t, std::byte*);

struct AppendedRows {
  MatrixView<const float> values;
  const CacheRows& rows;
  BlockRange heads;
};

void append_rows(const CacheShape& shape, const AppendedRows& appended, AppendRow append,
                 std::span<std::byte> cache) {
  HALFTONE_ASSERT(appended.values.rows() == appended.rows.count());
  HALFTONE_ASSERT(appended.values.cols() == shape.heads * shape.size);
  HALFTONE_ASSERT(appended.heads.end <= shape.heads && cache.size() >= shape.bytes());
  std::vector<float> rotated(is_rotated(shape.type) ? shape.size : 0);
  for (std::size_t r = 0; r < appended.rows.count(); ++r) {
    const auto slot = static_cast<std::size_t>(appended.rows.slots[r]);
    const auto position = static_cast<std::size_t>(appended.rows.positions[r]);
    for (std::size_t h = appended.heads.begin; h < appended.heads.end; ++h) {
      const float* x = appended.values.row(r).data() + h * shape.size;
      if (is_rotated(shape.type)) {
        rotated.assign(x, x + shape.size);
        numerics::rotate_blocks(rotated);
        x = rotated.data();
      }
      append(shape, x, position, cache.data() + shape.head_offset(slot, h));
    }
  }
}

}  // namespace

void append_keys(const CacheShape& shape, MatrixView<const float> values, const CacheRows& rows,
                 BlockRange heads, std::span<std::byte> cache) noexcept {
  const AppendRow append = shape.type == CacheType::kFloat32   ? HALFTONE_DISPATCH(AppendFloatKey)
                           : shape.type == CacheType::kFloat16 ? HALFTONE_DISPATCH(AppendHalfKey)
                           : shape.type == CacheType::kInt8    ? HALFTONE_DISPATCH(AppendInt8Key)
                                                               : append_int4_key;
  append_rows(shape, {values, rows, heads}, append, cache);
}

void append_values(const CacheShape& shape, MatrixView<const float> values, const CacheRows& rows,
                   BlockRange heads, std::span<std::byte> cache) noexcept {
  const AppendRow append = shape.type == CacheType::kFloat32   ? HALFTONE_DISPATCH(AppendFloatValue)
                           : shape.type == CacheType::kFloat16 ? HALFTONE_DISPATCH(AppendHalfValue)
                           : shape.type == CacheType::kInt8    ? HALFTONE_DISPATCH(AppendInt8Value)
                                                               : append_int4_value;
  append_rows(shape, {values, rows, heads}, append, cache);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
