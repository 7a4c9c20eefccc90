// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_generation.h"

#include <utility>

#include "halftone/base/error.h"

namespace halftone {
namespace {

void add_ends(lm::StopRules& stops, const LanguageModel& model) {
  const auto& ends = model.texts().end_tokens;
  stops.tokens.insert(stops.tokens.end(), ends.begin(), ends.end());
}

}  // namespace

lm::Generation generate_text(LanguageModel& model, std::string_view prompt,
                             const TextGenerationOptions& options) {
  lm::GenerateOptions generate = options.generate;
  add_ends(generate.stops, model);
  const auto tokens = model.tokenizer().encode(prompt, {.control = options.reads_control});
  std::vector<lm::TokenId> known;
  return lm::generate(model.model(), model.tokenizer(), tokens, known, generate);
}

Chat::Chat(LanguageModel& model, ChatOptions options)
    : model_(model),
      options_(std::move(options)),
      template_(model.chat_template(options_.template_name)) {
  if (!options_.system.empty()) messages_.push_back({lm::Role::kSystem, options_.system});
  lm::GenerateOptions& generate = options_.generate;
  if (generate.max_tokens == 0) generate.max_tokens = model.model().context();
  generate.is_begin = true;
  add_ends(generate.stops, model);
  const lm::TokenId end = model.tokenizer().vocabulary().control(template_.end_of_turn());
  if (end != lm::kNoToken) generate.stops.tokens.push_back(end);
}

lm::Generation Chat::answer(std::string_view message) {
  messages_.push_back({lm::Role::kUser, std::string(message)});
  try {
    const lm::ChatText text = template_.render(messages_, model_.texts().marks);
    lm::GenerateOptions generate = options_.generate;
    generate.sampling.seed += num_answers_;
    lm::Generation answer = lm::generate(model_.model(), model_.tokenizer(),
                                         lm::encode(model_.tokenizer(), text), known_, generate);
    messages_.push_back({lm::Role::kAssistant, answer.text});
    ++num_answers_;
    return answer;
  } catch (...) {
    messages_.pop_back();
    throw;
  }
}

}  // namespace halftone
