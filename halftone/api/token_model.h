// SPDX-License-Identifier: Apache-2.0
// Opens what runs a language model.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "halftone/api/language_model.h"
#include "halftone/gpu/choose.h"
#include "halftone/lm/generate/token_model.h"

namespace halftone {

struct OpenedTokenModel {
  std::unique_ptr<lm::TokenModel> model{};
  std::size_t trained_context = 0;  ///< tokens that it was trained for; 0: not known
  std::string device{};             ///< "cpu", or as asked for; never "auto"
  std::function<std::unique_ptr<TextEmbedder>()> open_embedder{};  ///< shares the weights
};

/// A model that runs on a device; "" is the processor.
using OpenOnDevice = std::function<std::unique_ptr<lm::TokenModel>(const std::string& device)>;

/// A model on the chosen device, or on the processor if that device lacks kernels or memory for it.
/// @param say  gets the device and why; may be empty
/// @throws Error as `open`
OpenedTokenModel open_on_chosen(const gpu::ChosenDevice& choice, const OpenOnDevice& open,
                                const std::function<void(const std::string&)>& say);

/// @param path  as in TextModel::open()
/// @throws Error kUnsupported if models of this kind are not run; kMemory if there is too little
///         for the context
OpenedTokenModel open_token_model(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace halftone
