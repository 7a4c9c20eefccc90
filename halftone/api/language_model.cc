// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_model.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/api/token_model.h"
#include "halftone/base/error.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/lm/model/open_model.h"

namespace halftone {

namespace {

/// @throws Error kUsage unless both have the same tokens
void check_same_tokens(const TextModel& model, const lm::Tokenizer& draft,
                       const std::string& name) {
  const lm::Vocabulary& wanted = model.tokenizer().vocabulary();
  const lm::Vocabulary& found = draft.vocabulary();
  const std::string expected =
      name + ": a draft has the tokens of its model: expected those of " + model.name() + ", ";
  if (found.size() != wanted.size()) {
    fail(ErrorKind::kUsage,
         expected + std::to_string(wanted.size()) + ", found " + std::to_string(found.size()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto id = static_cast<lm::TokenId>(i);
    if (found.token(id).text == wanted.token(id).text) continue;
    fail(ErrorKind::kUsage, expected + "found another token " + std::to_string(i) + ": " +
                                printable(found.token(id).text) + " instead of " +
                                printable(wanted.token(id).text));
  }
}

/// Opens the draft of a model, where that runs.
std::unique_ptr<lm::TokenModel> open_draft(const TextModel& model, OpenOptions options) {
  const std::filesystem::path path = std::exchange(options.draft, {});
  const std::string name = path.string();
  check_same_tokens(model, lm::read_model_texts(path, options.tokenizer).tokenizer, name);
  options.lora.clear();
  options.bits.reset();
  options.ranks = nullptr;  // the first rank guesses alone
  options.device = model.device();
  options.context = std::min(model.model().context(), lm::open_model(path).description.context);
  std::unique_ptr<lm::TokenModel> draft = open_token_model(path, options).model;
  if (!draft->truncates_freely() || !model.model().truncates_freely()) {
    fail(ErrorKind::kUnsupported,
         name +
             ": a draft and its model have to take tokens back, and models with recurrences "
             "cannot");
  }
  if (draft->vocabulary() < model.tokenizer().vocabulary().size()) {
    fail(ErrorKind::kUsage, name + ": expected logits of " +
                                std::to_string(model.tokenizer().vocabulary().size()) +
                                " tokens, found " + std::to_string(draft->vocabulary()));
  }
  return draft;
}

/// Of a token of the draft, as a share of a token of the model: the bytes that each reads.
double draft_cost(const lm::TokenModel& model, const lm::TokenModel& draft) {
  constexpr double kUsualCost = 0.2;  // of a device, which tells no bytes
  const auto bytes = static_cast<double>(model.bytes_per_token(0));
  const auto draft_bytes = static_cast<double>(draft.bytes_per_token(0));
  return bytes > 0 && draft_bytes > 0 ? draft_bytes / bytes : kUsualCost;
}

}  // namespace

TextModel TextModel::open(const std::filesystem::path& path, const OpenOptions& options) {
  lm::ModelTexts texts = lm::read_model_texts(path, options.tokenizer);
  OpenedTokenModel opened = open_token_model(path, options);
  TextModel model(path.string(), std::move(texts), std::move(opened.model), opened.trained_context,
                  std::move(opened.device));
  if (!options.draft.empty()) {
    std::unique_ptr<lm::TokenModel> draft = open_draft(model, options);
    const double cost = draft_cost(model.model(), *draft);
    model.model().set_draft(std::move(draft), cost);
  }
  model.set_embedder(std::move(opened.open_embedder));
  return model;
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
    if (static_cast<std::size_t>(token) >= tokenizer().vocabulary().size()) {
      fail(ErrorKind::kFormat,
           "token: expected 0 to " + std::to_string(size - 1) + ", found " + std::to_string(token));
    }
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
