// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_generation.h"

#include <utility>

namespace halftone {
namespace {

void add_ends(lm::StopRules& stops, const LanguageModel& model) {
  const auto& ends = model.texts().end_tokens;
  stops.tokens.insert(stops.tokens.end(), ends.begin(), ends.end());
}

lm::ChatText chat_text(const LanguageModel& model, const lm::ChatTemplate& chat_template,
                       std::span<const lm::Message> conversation) {
  return chat_template.render(conversation, model.texts().marks);
}

/// The special token that the template writes behind an answer; kNoToken if it writes none.
lm::TokenId end_of_turn(const LanguageModel& model, const lm::ChatTemplate& chat_template) {
  const lm::Vocabulary& vocabulary = model.tokenizer().vocabulary();
  return vocabulary.special(chat_template.end_of_turn(model.texts().marks), true);
}

}  // namespace

lm::Generation generate_from_tokens(LanguageModel& model,
                                    std::optional<std::vector<lm::TokenId>> prompt,
                                    lm::GenerateOptions options) {
  add_ends(options.stops, model);
  if (!prompt && options.sequence < model.model().sequences()) {
    const std::span<const lm::TokenId> tokens = model.model().tokens(options.sequence);
    prompt.emplace(tokens.begin(), tokens.end());
  }
  const std::vector<lm::TokenId> tokens = std::move(prompt).value_or(std::vector<lm::TokenId>{});
  return lm::generate(model.model(), model.tokenizer(), tokens, options);
}

lm::Generation generate_text(LanguageModel& model, std::string_view prompt,
                             const TextGenerationOptions& options) {
  return generate_from_tokens(model, model.tokenize(prompt, {.control = options.reads_control}),
                              options.generate);
}

lm::Generation answer(LanguageModel& model, std::span<const lm::Message> conversation,
                      const AnswerOptions& options) {
  const lm::ChatTemplate chat_template = model.chat_template(options.template_name);
  lm::GenerateOptions generate = options.generate;
  if (generate.max_tokens == 0) generate.max_tokens = model.model().context();
  generate.is_begin = true;
  const auto& ends = model.texts().answer_end_tokens;
  generate.stops.tokens.insert(generate.stops.tokens.end(), ends.begin(), ends.end());
  const lm::TokenId end = end_of_turn(model, chat_template);
  if (end != lm::kNoToken) generate.stops.tokens.push_back(end);
  std::vector<lm::TokenId> prompt =
      lm::encode(model.tokenizer(), chat_text(model, chat_template, conversation));
  model.check_tokens(prompt);
  return generate_from_tokens(model, std::move(prompt), std::move(generate));
}

std::string chat_prompt(const LanguageModel& model, std::span<const lm::Message> conversation,
                        std::string_view template_name) {
  return chat_text(model, model.chat_template(template_name), conversation).text;
}

Chat::Chat(LanguageModel& model, const ChatOptions& options)
    : model_(model), options_(options.answer) {
  (void)model.chat_template(options_.template_name);  // whether there is one
  if (!options.system.empty()) messages_.push_back({lm::ChatRole::kSystem, options.system});
}

lm::Generation Chat::answer(std::string_view message) {
  messages_.push_back({lm::ChatRole::kUser, std::string(message)});
  try {
    lm::Generation found = halftone::answer(model_, messages_, options_);
    messages_.push_back({lm::ChatRole::kAssistant, found.text});
    ++options_.generate.sampling.seed;
    return found;
  } catch (...) {
    messages_.pop_back();
    throw;
  }
}

}  // namespace halftone
