// SPDX-License-Identifier: Apache-2.0
// The container of language models: keys and tensors of a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/gguf/block_types.h"

namespace halftone::formats {

/// Where a file does not say general.alignment.
inline constexpr std::int64_t kGgufAlignment = 32;

/// Types of values, by their numbers in files.
enum class GgufValueType : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

struct GgufArray;

/// The value of a key. Integers of all widths are int64, except those beyond it.
using GgufValue =
    std::variant<std::int64_t, std::uint64_t, double, bool, std::string_view, GgufArray>;

/// A list of values of one type: exactly one of the vectors is used.
struct GgufArray {
  std::vector<std::int64_t> integers{};  ///< booleans too
  std::vector<double> numbers{};
  std::vector<std::string_view> texts{};

  [[nodiscard]] std::size_t size() const { return integers.size() + numbers.size() + texts.size(); }
};

/// A key as a file stores it.
struct GgufStoredKey {
  std::string_view name;
  std::span<const std::byte> value;  ///< its type, then the value
};

struct GgufTensor {
  std::string name;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  const GgufType* type = nullptr;
  SharedBytes bytes;  ///< blocks, row-major

  [[nodiscard]] std::size_t num_elements() const;
};

/// Keys and tensors, which are views of a file.
class GgufFile {
 public:
  /// Reads the head of a file, version 2 or 3.
  /// @throws Error kFormat if it is malformed; kUnsupported for another version or byte order, a
  /// type
  ///         of tensors that is not known, or one part of a split file
  static GgufFile parse(const SharedBytes& file);
  /// Maps a file, or all parts of a split one: NAME-00001-of-00003.gguf and so on.
  /// @throws Error as parse(); kIo if a part is missing; messages start with its path
  static GgufFile open(const std::filesystem::path& path);

  [[nodiscard]] const std::map<std::string, GgufValue, std::less<>>& keys() const { return keys_; }
  /// The same keys in the order of the file.
  [[nodiscard]] std::span<const GgufStoredKey> stored_keys() const { return stored_keys_; }
  [[nodiscard]] std::span<const GgufTensor> tensors() const { return tensors_; }
  [[nodiscard]] std::size_t file_bytes() const { return file_bytes_; }
  /// The tensor of this name; null if there is none.
  [[nodiscard]] const GgufTensor* tensor(std::string_view name) const;

  /// The value of a key; null if there is none.
  [[nodiscard]] const GgufValue* find(std::string_view key) const;
  /// @return  nullopt if there is no such key. @throws Error kFormat if it has another type
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;

 private:
  friend class GgufParser;
  void add_part(GgufFile part);

  std::map<std::string, GgufValue, std::less<>> keys_;
  std::vector<GgufStoredKey> stored_keys_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<std::shared_ptr<const void>> files_;  ///< which keys and tensors are views of
  std::size_t file_bytes_ = 0;
};

/// Checks the shape of a tensor.
/// @throws Error of this kind unless it has up to 4 axes, 1 to 2^40 elements and rows of whole
///         blocks
void check_gguf_shape(const std::vector<std::size_t>& shape, const GgufType& type, ErrorKind kind);

/// Checks a value of general.alignment. @throws Error kFormat unless it is a power of two to 2^20
std::size_t checked_gguf_alignment(std::int64_t alignment);

}  // namespace halftone::formats
