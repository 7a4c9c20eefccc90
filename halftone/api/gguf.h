// SPDX-License-Identifier: Apache-2.0
// What is in files of language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone {

/// How a type of tensors is used.
struct TensorTypeUse {
  std::string type;
  std::size_t tensors = 0;
  std::size_t elements = 0;
  std::size_t bytes = 0;  ///< with scales
};

struct StoredTensor {
  std::string name;
  std::string type;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  std::size_t bytes = 0;
};

struct GgufInspection {
  std::string architecture;  ///< "llama"; empty if the file does not say
  std::string name;          ///< likewise
  std::uintmax_t file_bytes = 0;
  std::size_t parameters = 0;        ///< elements of all tensors
  double bits_per_weight = 0;        ///< of all tensors, with scales
  std::vector<TensorTypeUse> types;  ///< the largest first
  /// Keys and their values as text; of lists their number of elements: "32000 texts".
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<StoredTensor> tensors;  ///< in the order of the file
};

/// Whether a file name is that of a GGUF file.
bool is_gguf(const std::filesystem::path& path);

/// @throws Error as formats::GgufFile::open()
GgufInspection inspect_gguf(const std::filesystem::path& path);

/// Writes a tensor, decoded to float32, to a .npy file.
/// @throws Error kUsage if there is no such tensor; as formats::GgufFile::open(),
///         formats::decode_gguf() and data::write_npy()
StoredTensor decode_tensor(const std::filesystem::path& path, std::string_view tensor,
                           const std::filesystem::path& output);

}  // namespace halftone
