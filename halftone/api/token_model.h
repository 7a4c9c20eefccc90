// SPDX-License-Identifier: Apache-2.0
// Opens what runs a language model.
#pragma once

#include <filesystem>
#include <memory>

#include "halftone/api/language_model.h"
#include "halftone/lm/generate/token_model.h"

namespace halftone {

/// @param path  as in LanguageModel::open()
/// @throws Error kUnsupported if models of this kind are not run
std::unique_ptr<lm::TokenModel> open_token_model(const std::filesystem::path& path,
                                                 const LanguageModelOptions& options);

}  // namespace halftone
