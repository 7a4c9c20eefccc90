// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/block_encoding.h"

#include <string>

#include "halftone/base/error.h"

namespace halftone::numerics {
bool BlockEncoding::operator==(const BlockEncoding& other) const {
  return GroupCodes::operator==(other) && name == other.name && block == other.block &&
         block_bytes == other.block_bytes && unpack == other.unpack && number == other.number &&
         decode == other.decode;
}

bool are_equal(const SharedBlockEncoding& a, const SharedBlockEncoding& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
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
    } else if (encoding.decode != nullptr) {
      encoding.decode(encoding, from, values.data() + first);
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
