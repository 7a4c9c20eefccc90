// SPDX-License-Identifier: Apache-2.0
// Writer of numbers in little-endian order; ByteReader reads them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace halftone {

/// Appends to a byte sequence.
class ByteWriter {
 public:
  template <typename T>
  void little_endian(T value) {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), &value, sizeof(T));
    if constexpr (std::endian::native != std::endian::little) std::ranges::reverse(raw);
    append(raw);
  }
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Appends bytes of 0 up to a multiple of `step`.
  void align(std::size_t step) { bytes_.resize((bytes_.size() + step - 1) / step * step); }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace halftone
