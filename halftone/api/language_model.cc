// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_model.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "halftone/api/token_model.h"
#include "halftone/base/error.h"
#include "halftone/base/paths.h"
#include "halftone/base/shared_bytes.h"

namespace halftone {

TextModel TextModel::open(const std::filesystem::path& path, const OpenOptions& options) {
  lm::ModelTexts texts = lm::read_model_texts(path, options.tokenizer);
  OpenedTokenModel opened = open_token_model(path, options);
  return {path.string(), std::move(texts), std::move(opened.model), opened.trained_context,
          std::move(opened.device)};
}

std::vector<lm::TokenId> TextModel::tokenize(std::string_view text,
                                             const lm::EncodeOptions& options) const {
  std::vector<lm::TokenId> tokens = tokenizer().encode(text, options);
  check_tokens(tokens);
  return tokens;
}

std::vector<std::string> TextModel::warnings() const {
  std::vector<std::string> warnings;
  if (!tokenizer().warning().empty()) warnings.push_back(name_ + ": " + tokenizer().warning());
  const std::size_t context = model().context();
  if (trained_context_ != 0 && context > trained_context_) {
    warnings.push_back(name_ + ": was trained for " + std::to_string(trained_context_) +
                       " tokens; behind them, of a context of " + std::to_string(context) +
                       ", it may write nonsense");
  }
  return warnings;
}

void TextModel::check_tokens(std::span<const lm::TokenId> tokens) const {
  const std::size_t size = model().vocabulary();
  for (const lm::TokenId token : tokens) {
    if (static_cast<std::size_t>(token) < size) continue;
    fail(ErrorKind::kFormat, name_ + ": the tokenizer has more tokens (" +
                                 std::to_string(tokenizer().vocabulary().size()) +
                                 ") than the model (" + std::to_string(size) +
                                 "), and the text has token " + std::to_string(token));
  }
}

namespace {

/// A family, a template in Jinja, or a file with one.
lm::ChatTemplate chosen_template(std::string_view choice) {
  const auto has = [&](std::string_view mark) { return choice.find(mark) != choice.npos; };
  if (has("{{") || has("{%")) return lm::ChatTemplate::parsed(choice);
  const std::filesystem::path file(choice);
  const std::vector<std::string_view> names = lm::ChatTemplate::names();
  if (std::ranges::find(names, choice) != names.end() || !path_exists(file)) {
    return lm::ChatTemplate::named(choice);
  }
  const SharedBytes bytes = map_file(file);
  const std::string_view text(reinterpret_cast<const char*>(bytes.bytes.data()),
                              bytes.bytes.size());
  return with_context(file.string(), [&] { return lm::ChatTemplate::parsed(text); });
}

}  // namespace

std::string TextModel::detokenize(std::span<const lm::TokenId> tokens) const {
  return tokenizer().decode(tokens);
}

std::string TextModel::token_text(lm::TokenId token) const { return tokenizer().text(token); }

lm::TokenId TextModel::begin_token() const { return tokenizer().begin(); }

lm::ChatTemplate TextModel::chat_template(std::string_view choice) const {
  if (!choice.empty()) return chosen_template(choice);
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
