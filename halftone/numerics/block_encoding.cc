// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/block_encoding.h"

#include <string>

#include "halftone/base/error.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::numerics {
namespace {

/// Whether both are null, or point to equal objects.
template <typename T>
bool same_contents(const T& a, const T& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a == b || *a == *b;
}

}  // namespace

bool CodeLevels::operator==(const CodeLevels& other) const {
  return bits == other.bits && first == other.first && same_contents(table, other.table);
}

bool BlockEncoding::operator==(const BlockEncoding& other) const {
  return name == other.name && block == other.block && block_bytes == other.block_bytes &&
         group == other.group && has_offsets == other.has_offsets && unpack == other.unpack &&
         levels == other.levels && scales == other.scales && number == other.number &&
         same_contents(basis, other.basis) && factor == other.factor;
}

bool are_equal(const SharedBlockEncoding& a, const SharedBlockEncoding& b) {
  return same_contents(a, b);
}

void decode_blocks(const BlockEncoding& encoding, std::span<const std::byte> bytes,
                   std::span<float> values) {
  if (values.size() % encoding.block != 0 || bytes.size() != encoding.bytes_of(values.size())) {
    fail(ErrorKind::kShape, "tensor of " + std::string(encoding.name) + ": expected blocks of " +
                                std::to_string(encoding.block_bytes) + " bytes for " +
                                std::to_string(values.size()) + " elements, found " +
                                std::to_string(bytes.size()) + " bytes");
  }
  if (!encoding.can_decode()) {
    fail(ErrorKind::kUnsupported,
         "tensor type " + std::string(encoding.name) + ": not decoded yet");
  }
  const std::byte* from = bytes.data();
  std::array<std::int8_t, kMaxBlock> codes;
  std::array<float, kMaxBlock / 16> scales;
  std::array<float, kMaxBlock / 16> offsets;
  for (std::size_t first = 0; first < values.size(); first += encoding.block) {
    if (encoding.number != nullptr) {
      values[first] = encoding.number(from);
    } else {
      encoding.unpack(encoding, from, {codes.data(), scales.data(), offsets.data()});
      for (std::size_t i = 0; i < encoding.block; ++i) {
        const std::size_t g = i / encoding.group;
        float value = scales[g] * static_cast<float>(codes[i]);
        if (encoding.has_offsets) value += offsets[g];
        values[first + i] = value;
      }
    }
    from += encoding.block_bytes;
  }
}

}  // namespace halftone::numerics
