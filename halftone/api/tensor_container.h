// SPDX-License-Identifier: Apache-2.0
// What is in files that hold tensors without a graph: GGUF and safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
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

/// What a language model is made of.
struct LanguageModelSummary {
  std::size_t blocks = 0;
  std::size_t width = 0;  ///< of the hidden rows
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t inner = 0;    ///< width of the feed-forward network, or of one expert
  std::size_t experts = 0;  ///< 0: none
  std::size_t active_experts = 0;
  std::size_t idle_parameters = 0;  ///< weights of the experts that a token does not choose
  std::size_t vocabulary = 0;
  std::size_t context = 0;      ///< tokens that it was trained for
  std::size_t cache_bytes = 0;  ///< of the keys and values of a token, as float16
};

struct ContainerInspection {
  std::string format;        ///< "gguf" or "safetensors"
  std::string architecture;  ///< "llama"; empty if the file does not say
  std::string name;          ///< likewise
  std::uintmax_t file_bytes = 0;
  std::size_t parameters = 0;        ///< elements of all tensors
  double bits_per_weight = 0;        ///< of all tensors, with scales
  std::vector<TensorTypeUse> types;  ///< the largest first
  /// Keys and their values as text; of lists their number of elements: "32000 texts".
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<StoredTensor> tensors;
  std::optional<LanguageModelSummary> model{};  ///< if it is one that Halftone describes
  std::string why_not_run{};  ///< if Halftone does not, where the file says what it is
  std::vector<std::string> unread_tensors{};  ///< of a model that is run
};

/// Whether a file name ends in .gguf, .safetensors or .safetensors.index.json, or it is a folder of
/// Hugging Face, with config.json.
bool is_tensor_container(const std::filesystem::path& path);

/// @throws Error as formats::GgufFile::open() and formats::SafetensorsFile::open()
ContainerInspection inspect_container(const std::filesystem::path& path);

/// Writes a tensor, decoded to float32, to a .npy file.
/// @throws Error kUsage if there is no such tensor; as inspect_container(),
///         numerics::decode_blocks() and data::write_npy()
StoredTensor decode_tensor(const std::filesystem::path& path, std::string_view tensor,
                           const std::filesystem::path& output);

}  // namespace halftone
