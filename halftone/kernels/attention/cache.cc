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

/// Of a head. Not kInt4.
float stored_number(const CacheShape& shape, const std::byte* head, std::size_t index) {
  if (shape.type == CacheType::kFloat32) return number_at<float>(head, index);
  if (shape.type == CacheType::kInt8) return number_at<std::int8_t>(head, index);
  return float_from_half(number_at<std::uint16_t>(head, index));
}

float stored_scale(const CacheShape& shape, const std::byte* head, std::size_t position) {
  if (shape.type != CacheType::kInt8) return 1;
  return number_at<float>(head + shape.scales_offset(), position);
}

/// Number `i` of a token of kInt4.
float number_of(const CacheShape& shape, const std::byte* head, std::size_t position, std::size_t i,
                const CacheShape::Nibble& at) {
  const std::byte* marks = head + shape.group_offset(position, i);
  const numerics::NibbleGroup group{std::to_integer<std::uint8_t>(marks[0]),
                                    static_cast<std::int8_t>(marks[CacheShape::kPanelTokens])};
  const auto byte = std::to_integer<unsigned>(head[at.byte]);
  const unsigned code = at.is_upper ? byte >> 4U : byte & 15U;
  return static_cast<float>(code) * group.unit() + group.first();
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
  const std::byte* head = cache.data() + shape.head_offset(at.sequence, at.head);
  for (std::size_t i = 0; i < shape.size; ++i) {
    key[i] = shape.type == CacheType::kInt4
                 ? number_of(shape, head, at.position, i, shape.key_nibble(at.position, i))
                 : stored_number(shape, head, shape.key_index(at.position, i));
  }
  return stored_scale(shape, head, at.position);
}

float read_value(const CacheShape& shape, std::span<const std::byte> cache, const CachePosition& at,
                 std::span<float> value) noexcept {
  const std::byte* head = cache.data() + shape.head_offset(at.sequence, at.head);
  for (std::size_t i = 0; i < shape.size; ++i) {
    value[i] = shape.type == CacheType::kInt4
                   ? number_of(shape, head, at.position, i, shape.value_nibble(at.position, i))
                   : stored_number(shape, head, shape.value_index(at.position, i));
  }
  return stored_scale(shape, head, at.position);
}

}  // namespace halftone::kernels
