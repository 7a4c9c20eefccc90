// SPDX-License-Identifier: Apache-2.0
// Opens the files of a language model.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include "halftone/lm/model/description.h"
#include "halftone/lm/model/weights.h"

namespace halftone::lm {

/// What a model is made of, and its tensors.
struct ModelParts {
  Description description;
  Weights weights;
};

/// Opens a GGUF file, a checkpoint of llama2.c, Halftone's own file (NAME.safetensors), or a folder
/// of Hugging Face: config.json beside model.safetensors or model.safetensors.index.json.
/// @param bits  of the codes of a file of two precisions, 3 or 4; nullopt: 4, or any other file
/// @throws Error kIo if a file is missing; kUsage for bits that a file does not have; as
///         describe_gguf(), describe_config(), parse_llama2c(), ModelFile and Weights; messages
///         start with the path
ModelParts open_model(const std::filesystem::path& path,
                      std::optional<std::size_t> bits = std::nullopt);

/// Where the weights of a folder of Hugging Face are, as the package transformers looks for them:
/// model.safetensors, or else the index of several files.
/// @throws Error kUnsupported if there are files of PyTorch only
std::filesystem::path weights_file_of(const std::filesystem::path& folder);

}  // namespace halftone::lm
