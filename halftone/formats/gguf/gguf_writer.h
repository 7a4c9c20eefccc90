// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files, tensor after tensor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "halftone/base/byte_reader.h"
#include "halftone/base/byte_stream.h"
#include "halftone/formats/gguf/gguf_file.h"

namespace halftone::formats {

/// The type of a value in files.
template <typename T>
requires std::is_arithmetic_v<T>
constexpr GgufValueType gguf_value_type() {
  using enum GgufValueType;
  if constexpr (std::same_as<T, bool>) return kBool;
  if constexpr (std::floating_point<T>) return sizeof(T) == 4 ? kFloat32 : kFloat64;
  constexpr bool kSigned = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return kSigned ? kInt8 : kUint8;
  if constexpr (sizeof(T) == 2) return kSigned ? kInt16 : kUint16;
  if constexpr (sizeof(T) == 4) return kSigned ? kInt32 : kUint32;
  return kSigned ? kInt64 : kUint64;
}

/// Keys for a new file, in their order there. A key has the type of the number that it is set to.
class GgufKeys {
 public:
  GgufKeys() = default;
  /// The keys of a file in its order, byte for byte; without split.*, which number its parts.
  explicit GgufKeys(const GgufFile& file);

  /// Sets a key where it is, or adds it behind the others.
  GgufKeys& set(std::string_view key, std::string_view text);
  template <typename T>
  requires std::is_arithmetic_v<T> GgufKeys& set(std::string_view key, T number) {
    ByteWriter value = value_of(gguf_value_type<T>());
    value.little_endian(number);
    return put(key, value.bytes());
  }
  /// Sets a key to a list of texts or numbers.
  GgufKeys& set(std::string_view key, const std::vector<std::string>& texts);
  template <typename T>
  GgufKeys& set(std::string_view key, const std::vector<T>& numbers) {
    ByteWriter value = list_of(gguf_value_type<T>(), numbers.size());
    for (const T number : numbers) value.little_endian(number);
    return put(key, value.bytes());
  }
  /// Does nothing if there is no such key.
  void erase(std::string_view key);

  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  friend class GgufHead;
  struct Key {
    std::string name;
    std::vector<std::byte> value;  ///< its type, then the value
  };

  static ByteWriter value_of(GgufValueType type);
  static ByteWriter list_of(GgufValueType type, std::size_t size);
  GgufKeys& put(std::string_view key, std::vector<std::byte> value);

  std::vector<Key> keys_;
};

/// A tensor for a new file.
struct NewGgufTensor {
  std::string name;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  const GgufType* type = nullptr;
  ByteSource bytes;  ///< blocks, row-major; asked for once, after those of the tensors before it
};

/// Writes a file of version 3. Tensors begin at multiples of general.alignment, 32 unless the keys
/// say otherwise, in the order given, and the file ends at one. So the keys and tensors of a file
/// of version 3 without other gaps give its bytes.
/// @throws Error kUsage if a name is there twice or longer than 64 bytes, which GGUF does not
///         allow; kShape if a shape does not fit its type (check_gguf_shape()) or a source gives
///         another number of bytes; kFormat for a wrong general.alignment; as the sources
void write_gguf(const ByteSink& sink, const GgufKeys& keys, std::span<const NewGgufTensor> tensors);
/// The same to a file, which is complete or unchanged. @throws Error kIo as write_file()
void write_gguf(const std::filesystem::path& path, const GgufKeys& keys,
                std::span<const NewGgufTensor> tensors);

}  // namespace halftone::formats
