// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_generation.h"

#include <utility>

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

struct Chat::State {
  LanguageModel& model;
  lm::GenerateOptions options;
  lm::ChatTemplate chat_template;
  std::vector<lm::Message> messages{};
  std::vector<lm::TokenId> known{};  ///< what the model has read
  std::size_t num_answers = 0;
};

Chat::Chat(LanguageModel& model, const ChatOptions& options)
    : state_(std::make_unique<State>(
          State{model, options.generate, model.chat_template(options.template_name)})) {
  if (!options.system.empty()) state_->messages.push_back({lm::ChatRole::kSystem, options.system});
  lm::GenerateOptions& generate = state_->options;
  if (generate.max_tokens == 0) generate.max_tokens = model.model().context();
  generate.is_begin = true;
  add_ends(generate.stops, model);
  const lm::TokenId end =
      model.tokenizer().vocabulary().control(state_->chat_template.end_of_turn());
  if (end != lm::kNoToken) generate.stops.tokens.push_back(end);
}

Chat::~Chat() = default;

const std::vector<lm::Message>& Chat::messages() const { return state_->messages; }

lm::Generation Chat::answer(std::string_view message) {
  State& state = *state_;
  const lm::Tokenizer& tokenizer = state.model.tokenizer();
  state.messages.push_back({lm::ChatRole::kUser, std::string(message)});
  try {
    const lm::ChatText text = state.chat_template.render(state.messages, state.model.texts().marks);
    lm::GenerateOptions generate = state.options;
    generate.sampling.seed += state.num_answers;
    lm::Generation answer = lm::generate(state.model.model(), tokenizer,
                                         lm::encode(tokenizer, text), state.known, generate);
    state.messages.push_back({lm::ChatRole::kAssistant, answer.text});
    ++state.num_answers;
    return answer;
  } catch (...) {
    state.messages.pop_back();
    throw;
  }
}

}  // namespace halftone
