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
  if (!has_integers(shape.type)) return 1;
  const auto range = static_cast<float>(integer_steps(shape.type));
  const RowSteps row = StepsOfRow(x, shape.size, range);
  reinterpret_cast<float*>(head + shape.scales_offset())[token] = row.scale;
  return row.steps;
}

template <class T>
void AppendKeyAs(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
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
void AppendValueAs(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
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

/// Stores a row in 6 bits.
template <const NumberPlaces& kPlaces>
void AppendSixBits(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  const float steps = StoreScale(shape, x, token, head);
  std::int8_t piece[kPiece];
  for (std::size_t i = 0; i < shape.size; i += kPiece) {
    const std::size_t count = std::min(kPiece, shape.size - i);
    StorePiece(x + i, count, steps, piece);
    for (std::size_t j = 0; j < count; ++j) {
      const auto code = static_cast<unsigned>(piece[j] + kInt6Offset);
      (shape.*kPlaces.nibble)(token, i + j).store(head, code);
      (shape.*kPlaces.top)(token, i + j).store(head, code >> 4U);
    }
  }
}

template <bool kIsKey, class T>
void AppendAs(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  if constexpr (kIsKey) {
    AppendKeyAs<T>(shape, x, token, head);
  } else {
    AppendValueAs<T>(shape, x, token, head);
  }
}

/// Not for kInt4.
template <bool kIsKey>
void AppendNumbers(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  switch (shape.type) {
    case CacheType::kFloat32:
      return AppendAs<kIsKey, float>(shape, x, token, head);
    case CacheType::kFloat16:
      return AppendAs<kIsKey, std::uint16_t>(shape, x, token, head);
    case CacheType::kInt8:
      return AppendAs<kIsKey, std::int8_t>(shape, x, token, head);
    case CacheType::kInt6:
      return AppendSixBits<(kIsKey ? kKeyPlaces : kValuePlaces)>(shape, x, token, head);
    case CacheType::kInt4:
      return;
  }
}
void AppendKey(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendNumbers<true>(shape, x, token, head);
}
void AppendValue(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  AppendNumbers<false>(shape, x, token, head);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {
namespace {

HALFTONE_EXPORT(AppendKey);
HALFTONE_EXPORT(AppendValue);

/// Stores a row in 4 bits.
void append_nibbles(const CacheShape& shape, const float* x, std::size_t token, std::byte* head,
                    const NumberPlaces& places) {
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
      (shape.*places.nibble)(token, i).store(head, codes[i - begin]);
    }
  }
}
void append_int4_key(const CacheShape& shape, const float* x, std::size_t token, std::byte* head) {
  append_nibbles(shape, x, token, head, kKeyPlaces);
}
void append_int4_value(const CacheShape& shape, const float* x, std::size_t token,
                       std::byte* head) {
  append_nibbles(shape, x, token, head, kValuePlaces);
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
  const bool nibbles = shape.type == CacheType::kInt4;
  append_rows(shape, {values, rows, heads},
              nibbles ? append_int4_key : HALFTONE_DISPATCH(AppendKey), cache);
}

void append_values(const CacheShape& shape, MatrixView<const float> values, const CacheRows& rows,
                   BlockRange heads, std::span<std::byte> cache) noexcept {
  const bool nibbles = shape.type == CacheType::kInt4;
  append_rows(shape, {values, rows, heads},
              nibbles ? append_int4_value : HALFTONE_DISPATCH(AppendValue), cache);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
