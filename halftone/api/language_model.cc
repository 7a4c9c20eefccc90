// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_model.h"

#include "halftone/api/token_model.h"
#include "halftone/base/error.h"

namespace halftone {

LanguageModel LanguageModel::open(const std::filesystem::path& path,
                                  const LanguageModelOptions& options) {
  lm::ModelTexts texts = lm::read_model_texts(path, options.tokenizer);
  return {path.string(), std::move(texts), open_token_model(path, options)};
}

std::vector<lm::TokenId> LanguageModel::tokenize(std::string_view text,
                                                 const lm::EncodeOptions& options) const {
  return tokenizer().encode(text, options);
}

std::string LanguageModel::detokenize(std::span<const lm::TokenId> tokens) const {
  return tokenizer().decode(tokens);
}

std::string LanguageModel::token_text(lm::TokenId token) const { return tokenizer().text(token); }

lm::TokenId LanguageModel::begin_token() const { return tokenizer().begin(); }

lm::ChatTemplate LanguageModel::chat_template(std::string_view name) const {
  if (!name.empty()) return lm::ChatTemplate::named(name);
  if (texts_.chat_template.empty()) {
    fail(ErrorKind::kUnsupported,
         name_ +
             ": has no chat template: it may be made to continue texts only; name one of a "
             "model like it",
         Hint::kTemplate);
  }
  return with_context(name_, [&] { return lm::ChatTemplate::parsed(texts_.chat_template); });
}

}  // namespace halftone
