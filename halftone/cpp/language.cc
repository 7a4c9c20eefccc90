// SPDX-License-Identifier: Apache-2.0
#include "halftone/language.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "halftone/api/language_model.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/text_embedding.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/thread_settings.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

struct LanguageModel::State {
  State(const ThreadSettings& the_settings, halftone::TextModel the_model)
      : settings(the_settings), model(std::move(the_model)) {}

  /// Runs `body` on the model: by this thread alone, with the resources of the model.
  template <typename Body>
  auto use_alone(Body&& body, std::initializer_list<CallerException*> raised = {}) {
    return at_border(
        [&] {
          const ExclusiveUse alone(used, "model");
          const UseThreadSettings use(settings);
          return body(model);
        },
        raised);
  }

  ThreadSettings settings;
  halftone::TextModel model;
  std::atomic<bool> used{false};
};

namespace {

/// Refers to both.
OnToken inside(const OnToken& on_token, CallerException& raised) {
  if (!on_token) return {};
  return [&](Token token, std::string_view text) {
    return raised.run([&] { return on_token(token, text); });
  };
}

void check_sequence(const halftone::TextModel& model, std::size_t sequence) {
  const std::size_t count = model.model().sequences();
  if (sequence < count) return;
  fail(halftone::ErrorKind::kUsage, "sequence: expected 0 to " + std::to_string(count - 1) +
                                        ", found " + std::to_string(sequence));
}

}  // namespace

LanguageModel::LanguageModel(std::shared_ptr<State> state) : state_(std::move(state)) {}

LanguageModel LanguageModel::open(const std::filesystem::path& path,
                                  const LanguageModelOptions& options) {
  return at_border([&] {
    const ThreadSettings settings = settings_for(options.resources);
    const UseThreadSettings use(settings);
    return LanguageModel(
        std::make_shared<State>(settings, halftone::TextModel::open(path, {options})));
  });
}

const std::string& LanguageModel::name() const { return state_->model.name(); }
const std::string& LanguageModel::device() const { return state_->model.device(); }
std::size_t LanguageModel::vocabulary() const { return state_->model.model().vocabulary(); }
std::size_t LanguageModel::context() const { return state_->model.model().context(); }
std::size_t LanguageModel::sequences() const { return state_->model.model().sequences(); }
Token LanguageModel::begin_token() const { return state_->model.begin_token(); }
bool LanguageModel::is_end_token(Token token) const { return state_->model.is_end_token(token); }

std::vector<Token> LanguageModel::tokenize(std::string_view text,
                                           const TokenizeOptions& options) const {
  return at_border([&] { return state_->model.tokenize(text, {options.begin, options.control}); });
}

std::string LanguageModel::detokenize(std::span<const Token> tokens) const {
  return at_border([&] { return state_->model.detokenize(tokens); });
}

std::string LanguageModel::token_text(Token token) const {
  return at_border([&] { return state_->model.token_text(token); });
}

std::string LanguageModel::chat_prompt(std::span<const Message> conversation,
                                       std::string_view chat_template) const {
  return at_border([&] {
    return halftone::chat_prompt(state_->model, chat_request_of(conversation), chat_template);
  });
}

std::string LanguageModel::chat_prompt_json(std::string_view request,
                                            std::string_view chat_template) const {
  return at_border([&] {
    return halftone::chat_prompt(state_->model, chat_request_of_json(request), chat_template);
  });
}

std::vector<float> LanguageModel::append(std::span<const Token> tokens, std::size_t sequence) {
  return state_->use_alone(
      [&](halftone::TextModel& model) { return model.model().append(sequence, tokens, false); });
}

std::vector<float> LanguageModel::append_for_all(std::span<const Token> tokens,
                                                 std::size_t sequence) {
  return state_->use_alone(
      [&](halftone::TextModel& model) { return model.model().append(sequence, tokens, true); });
}

std::vector<float> LanguageModel::append_each(std::span<const SequenceTokens> parts) {
  return state_->use_alone([&](halftone::TextModel& model) {
    std::vector<lm::SequencePart> all;
    for (const SequenceTokens& part : parts) all.push_back({part.sequence, part.tokens});
    return model.model().append_each(all);
  });
}

std::vector<std::vector<float>> LanguageModel::embed(std::span<const std::string> texts,
                                                     std::size_t dimensions) {
  return state_->use_alone(
      [&](halftone::TextModel& model) { return halftone::embed(model, texts, dimensions); });
}

std::vector<Token> LanguageModel::tokens(std::size_t sequence) {
  return state_->use_alone([&](halftone::TextModel& model) {
    check_sequence(model, sequence);
    const std::span<const Token> found = model.model().tokens(sequence);
    return std::vector<Token>(found.begin(), found.end());
  });
}

void LanguageModel::truncate(std::size_t length, std::size_t sequence) {
  state_->use_alone([&](halftone::TextModel& model) { model.model().truncate(sequence, length); });
}

std::size_t LanguageModel::bytes_per_token(std::size_t length) {
  return state_->use_alone(
      [&](halftone::TextModel& model) { return model.model().bytes_per_token(length); });
}

Generation LanguageModel::generate(std::string_view prompt, const GenerateOptions& options,
                                   const OnToken& on_token) {
  CallerException raised;
  return state_->use_alone(
      [&](halftone::TextModel& model) {
        return generate_text(model, prompt, options, inside(on_token, raised));
      },
      {&raised});
}

Generation LanguageModel::generate(std::span<const Token> prompt, const GenerateOptions& options,
                                   const OnToken& on_token) {
  CallerException raised;
  return state_->use_alone(
      [&](halftone::TextModel& model) {
        return generate_from_tokens(model, std::vector(prompt.begin(), prompt.end()), options,
                                    inside(on_token, raised));
      },
      {&raised});
}

Generation LanguageModel::answer(std::span<const Message> conversation,
                                 const AnswerOptions& options, const OnToken& on_token) {
  CallerException raised;
  return state_->use_alone(
      [&](halftone::TextModel& model) {
        return halftone::answer(model, chat_request_of(conversation), options,
                                inside(on_token, raised));
      },
      {&raised});
}

Generation LanguageModel::answer_json(std::string_view request, const AnswerOptions& options,
                                      const OnToken& on_token) {
  CallerException raised;
  return state_->use_alone(
      [&](halftone::TextModel& model) {
        return halftone::answer(model, chat_request_of_json(request), options,
                                inside(on_token, raised));
      },
      {&raised});
}

TextEvaluation LanguageModel::evaluate(std::string_view text,
                                       const TextEvaluationOptions& options) {
  CallerException raised;
  return state_->use_alone(
      [&](halftone::TextModel& model) {
        halftone::TextEvaluationSettings how;
        const std::size_t usual = std::min(how.windows.context, model.model().context());
        how.windows = {options.window == 0 ? usual : options.window, options.stride,
                       options.second_half, options.max_windows};
        how.progress = sink_of(options.progress, raised);
        if (!options.reference) return evaluate_text(model, nullptr, text, how);
        State& other = *options.reference->state_;
        if (&other == state_.get()) {
          fail(halftone::ErrorKind::kUsage, "reference: expected another model, found the same");
        }
        const ExclusiveUse alone(other.used, "model");
        return evaluate_text(model, &other.model, text, how);
      },
      {&raised});
}

LanguageSpeed LanguageModel::measure_speed(const LanguageSpeedOptions& options,
                                           const Progress& progress) {
  CallerException raised;
  return state_->use_alone(
      [&](halftone::TextModel& model) {
        return measure_language_speed(model, {options, sink_of(progress, raised)});
      },
      {&raised});
}

TextEvaluation LanguageModel::evaluate(std::string_view text) { return evaluate(text, {}); }

Chat::Chat(const LanguageModel& model, const AnswerOptions& options, const std::string& system)
    : model_(model), options_(options) {
  options_.forgets = true;
  const Message anything{Role::kUser, ""};
  (void)model.chat_prompt({&anything, 1}, options.chat_template);  // whether there is a template
  if (!system.empty()) messages_.push_back({Role::kSystem, system});
}

Generation Chat::answer(const std::string& message, const OnToken& on_token) {
  std::vector<Message> conversation = messages_;
  conversation.push_back({Role::kUser, message});
  Generation found = model_.answer(conversation, options_, on_token);
  conversation.push_back({Role::kAssistant, found.text});
  const bool has_system = conversation[0].role == Role::kSystem;
  const auto first = conversation.begin() + (has_system ? 1 : 0);
  conversation.erase(first, first + static_cast<std::ptrdiff_t>(found.forgotten_messages));
  messages_ = std::move(conversation);
  ++options_.generate.sampling.seed;
  return found;
}

}  // namespace halftone::v0
