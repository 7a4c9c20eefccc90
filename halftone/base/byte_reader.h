// SPDX-License-Identifier: Apache-2.0
// Bounds-checked reader of little-endian and big-endian numbers from untrusted bytes, and the
// writer of such bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/error.h"

namespace halftone {

/// Reads a byte sequence from front to back.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }

  /// The next `count` bytes.
  /// @throws Error kFormat if fewer are left
  std::span<const std::byte> take(std::size_t count) {
    if (count > remaining()) {
      fail(ErrorKind::kFormat, "truncated: expected " + std::to_string(count) +
                                   " more bytes at offset " + std::to_string(position_) +
                                   ", found " + std::to_string(remaining()));
    }
    position_ += count;
    return bytes_.subspan(position_ - count, count);
  }

  template <typename T>
  T little_endian() {
    return read<T>(std::endian::native != std::endian::little);
  }
  template <typename T>
  T big_endian() {
    return read<T>(std::endian::native != std::endian::big);
  }

 private:
  template <typename T>
  T read(bool swap) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, take(sizeof(T)).data(), sizeof(T));
    if (swap) {
      for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(raw[i], raw[sizeof(T) - 1 - i]);
    }
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return value;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

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
