// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/shared_bytes.h"

namespace halftone::formats {

/// Numbers in little-endian order and texts with their lengths.
class GgufBytes {
 public:
  template <typename T>
  GgufBytes& number(T value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
    return *this;
  }
  GgufBytes& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    return raw(value);
  }
  GgufBytes& raw(std::string_view value) {
    const auto* first = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), first, first + value.size());
    return *this;
  }
  GgufBytes& raw(const std::vector<std::byte>& value) {
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  GgufBytes& align(std::size_t step) {
    bytes_.resize((bytes_.size() + step - 1) / step * step);
    return *this;
  }
  /// The head of a file. @param version  of GGUF
  GgufBytes& head(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    return raw("GGUF").number(version).number(tensors).number(keys);
  }
  GgufBytes& text_key(std::string_view key, std::string_view value) {
    return text(key).number<std::uint32_t>(8).text(value);
  }
  GgufBytes& int_key(std::string_view key, std::uint32_t value) {
    return text(key).number<std::uint32_t>(4).number(value);
  }
  /// @param sizes  the innermost extent first, as files have them
  GgufBytes& tensor(std::string_view name, const std::vector<std::uint64_t>& sizes,
                    std::uint32_t type, std::uint64_t offset) {
    text(name).number(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) number(size);
    return number(type).number(offset);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] SharedBytes file() const { return own_bytes(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace halftone::formats
