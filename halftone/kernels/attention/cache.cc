// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/cache.h"

#include <cstring>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/kernels/attention/attention.h"

namespace halftone::kernels {
namespace {

/// @throws Error kUsage if a number is not in [0, end)
void require_below(std::span<const std::int32_t> numbers, std::size_t end, const char* name) {
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    if (numbers[r] >= 0 && static_cast<std::size_t>(numbers[r]) < end) continue;
    fail(ErrorKind::kUsage, std::string(name) + " of row " + std::to_string(r) +
                                ": expected 0 to " + std::to_string(end) + " exclusive, found " +
                                std::to_string(numbers[r]));
  }
}

template <typename T>
T number_at(const std::byte* numbers, std::size_t index) {
  T number;
  std::memcpy(&number, numbers + index * sizeof(T), sizeof(T));
  return number;
}

float stored_scale(const CacheShape& shape, const std::byte* head, std::size_t position) {
  if (!has_integers(shape.type)) return 1;
  return number_at<float>(head + shape.scales_offset(), position);
}

numerics::NibbleGroup group_of(const CacheShape& shape, const std::byte* head, std::size_t position,
                               std::size_t i) {
  const std::byte* marks = head + shape.group_offset(position, i);
  return {std::to_integer<std::uint8_t>(marks[0]),
          static_cast<std::int8_t>(marks[CacheShape::kPanelTokens])};
}

/// Number `i` of a token, without the scale of stored_scale().
float stored_number(const CacheShape& shape, const std::byte* head, std::size_t position,
                    std::size_t i, const NumberPlaces& places) {
  const auto bits = [&](CacheShape::Bits (CacheShape::*where)(std::size_t, std::size_t) const) {
    return static_cast<int>((shape.*where)(position, i).load(head));
  };
  switch (shape.type) {
    case CacheType::kFloat32:
      return number_at<float>(head, (shape.*places.index)(position, i));
    case CacheType::kFloat16:
      return float_from_half(number_at<std::uint16_t>(head, (shape.*places.index)(position, i)));
    case CacheType::kInt8:
      return number_at<std::int8_t>(head, (shape.*places.index)(position, i));
    case CacheType::kInt6:
      return static_cast<float>(bits(places.nibble) + 16 * bits(places.top) - kInt6Offset);
    case CacheType::kInt4: {
      const numerics::NibbleGroup group = group_of(shape, head, position, i);
      return static_cast<float>(bits(places.nibble)) * group.unit() + group.first();
    }
  }
  return 0;
}

float read_numbers(const CacheView& cache, const CachePosition& at, const NumberPlaces& places,
                   std::span<float> numbers) {
  const std::byte* head = cache.bytes.data() + cache.shape.head_offset(at.sequence, at.head);
  for (std::size_t i = 0; i < cache.shape.size; ++i) {
    numbers[i] = stored_number(cache.shape, head, at.position, i, places);
  }
  return stored_scale(cache.shape, head, at.position);
}

}  // namespace

void require_rows(const CacheShape& shape, const CacheRows& rows) {
  if (rows.slots.size() != rows.positions.size()) {
    fail(ErrorKind::kShape, "rows of a cache: expected as many positions as slots, found " +
                                std::to_string(rows.positions.size()) + " and " +
                                std::to_string(rows.slots.size()));
  }
  require_below(rows.slots, shape.sequences, "slot");
  require_below(rows.positions, shape.context, "position");
}

void require_positions(std::span<const std::int32_t> positions, std::size_t context) {
  require_below(positions, context, "position");
}

float read_key(const CacheShape& shape, std::span<const std::byte> cache, const CachePosition& at,
               std::span<float> key) noexcept {
  return read_numbers({shape, cache}, at, kKeyPlaces, key);
}

float read_value(const CacheShape& shape, std::span<const std::byte> cache, const CachePosition& at,
                 std::span<float> value) noexcept {
  return read_numbers({shape, cache}, at, kValuePlaces, value);
}

}  // namespace halftone::kernels
