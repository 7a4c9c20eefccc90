// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/token_model.h"

#include "halftone/base/error.h"

namespace halftone {

std::unique_ptr<lm::TokenModel> open_token_model(const std::filesystem::path& path,
                                                 const LanguageModelOptions& /*options*/) {
  fail(ErrorKind::kUnsupported, path.string() + ": this version runs no language models");
}

}  // namespace halftone
