// SPDX-License-Identifier: Apache-2.0
// Opens what runs a language model.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "halftone/api/language_model.h"
#include "halftone/lm/generate/token_model.h"

namespace halftone {

struct OpenedTokenModel {
  std::unique_ptr<lm::TokenModel> model;
  std::size_t trained_context = 0;  ///< tokens that it was trained for; 0: not known
};

/// @param path  as in LanguageModel::open()
/// @throws Error kUnsupported if models of this kind are not run; kMemory if there is too little
///         for the context
OpenedTokenModel open_token_model(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace halftone
