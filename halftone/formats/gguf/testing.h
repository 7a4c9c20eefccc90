// SPDX-License-Identifier: Apache-2.0
// Makes GGUF files for tests, broken ones too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/byte_reader.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/gguf/gguf_writer.h"

namespace halftone::formats {

/// The bytes of a file.
inline std::vector<std::byte> gguf_bytes(const GgufKeys& keys,
                                         std::span<const NewGgufTensor> tensors = {}) {
  return collect([&](const ByteSink& sink) { write_gguf(sink, keys, tensors); });
}

inline GgufFile gguf_of(const GgufKeys& keys, std::span<const NewGgufTensor> tensors = {}) {
  return GgufFile::parse(own_bytes(gguf_bytes(keys, tensors)));
}

/// Numbers in little-endian order and texts with their lengths, whatever they say.
class GgufBytes {
 public:
  template <typename T>
  GgufBytes& number(T value) {
    bytes_.little_endian(value);
    return *this;
  }
  GgufBytes& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    return raw(value);
  }
  GgufBytes& raw(std::string_view value) {
    bytes_.append(value);
    return *this;
  }
  GgufBytes& align(std::size_t step) {
    bytes_.align(step);
    return *this;
  }
  /// The head of a file. @param version  of GGUF
  GgufBytes& head(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    return raw("GGUF").number(version).number(tensors).number(keys);
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
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_.bytes(); }
  [[nodiscard]] SharedBytes file() const { return own_bytes(bytes()); }

 private:
  ByteWriter bytes_;
};

}  // namespace halftone::formats
