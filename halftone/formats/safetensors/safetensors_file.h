// SPDX-License-Identifier: Apache-2.0
// Tensors of safetensors files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/shared_bytes.h"

namespace halftone::formats {

/// Types of elements, by their names in files.
enum class SafetensorsType {
  kBool,
  kU8,
  kI8,
  kF8E5M2,  ///< the upper half of a binary16
  kF8E4M3,  ///< OCP's E4M3: no infinity
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};

std::string_view to_string(SafetensorsType type);  ///< "BF16", "F8_E4M3", ...
std::size_t size_bytes(SafetensorsType type);      ///< of an element

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  SharedBytes bytes;               ///< row-major, little-endian

  [[nodiscard]] std::size_t num_elements() const;
};

/// The tensors of one or several files, which are views of them, in the order of their names.
class SafetensorsFile {
 public:
  /// @throws Error kFormat if the file is malformed; kUnsupported for an unknown type of elements
  static SafetensorsFile parse(const SharedBytes& file);
  /// Maps a file, or all files that an index (`model.safetensors.index.json`) names.
  /// @throws Error as parse(); kIo if a file is missing; kFormat if a tensor is in no file or in
  ///         several; messages start with the path
  static SafetensorsFile open(const std::filesystem::path& path);

  /// Texts about the file, by key.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  [[nodiscard]] std::span<const SafetensorsTensor> tensors() const { return tensors_; }
  [[nodiscard]] std::size_t file_bytes() const { return file_bytes_; }
  /// The tensor of this name; null if there is none.
  [[nodiscard]] const SafetensorsTensor* tensor(std::string_view name) const;

 private:
  void add_part(SafetensorsFile part);
  /// Fills by_name_.
  void index();

  std::map<std::string, std::string> metadata_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::size_t file_bytes_ = 0;
};

/// The elements as float32: exact up to 24 bits, else the nearest.
/// @param values  [tensor.num_elements()]
/// @throws Error kShape if the sizes differ
void decode_safetensors(const SafetensorsTensor& tensor, std::span<float> values);

}  // namespace halftone::formats
