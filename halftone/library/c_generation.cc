// SPDX-License-Identifier: Apache-2.0
// Language models of the C API: generation, conversations and evaluation.
#include <algorithm>
#include <optional>
#include <vector>

#include "halftone/api/text_evaluation.h"
#include "halftone/library/c_language.h"

namespace halftone::library {
namespace {

v0::SamplingOptions sampling_of(const halftone_generate_options& options) {
  v0::SamplingOptions sampling;
  sampling.temperature = options.temperature;
  if (options.top_k != 0) sampling.top_k = static_cast<std::size_t>(std::max(options.top_k, 0));
  if (options.top_p != 0) sampling.top_p = options.top_p;
  if (options.min_p != 0) sampling.min_p = options.min_p < 0 ? 0 : options.min_p;
  if (options.repeat_penalty != 0) sampling.repeat_penalty = options.repeat_penalty;
  if (options.repeat_window != 0) sampling.repeat_window = options.repeat_window;
  sampling.seed = options.seed;
  sampling.presence_penalty = options.presence_penalty;
  sampling.frequency_penalty = options.frequency_penalty;
  if (options.num_logit_biases != 0) required(options.logit_biases, "options.logit_biases");
  for (std::size_t i = 0; i < options.num_logit_biases; ++i) {
    const halftone_logit_bias& each = options.logit_biases[i];
    sampling.logit_bias.push_back({each.token, each.bias});
  }
  return sampling;
}

/// @param max_tokens  if the options say nothing
v0::GenerateOptions generate_options(const halftone_generate_options& options,
                                     std::size_t max_tokens) {
  v0::GenerateOptions generate;
  generate.max_tokens = options.max_tokens == 0 ? max_tokens : options.max_tokens;
  generate.sampling = sampling_of(options);
  generate.sequence = options.sequence;
  if (options.num_stops != 0) required(options.stops, "options.stops");
  for (std::size_t i = 0; i < options.num_stops; ++i) {
    generate.stops.emplace_back(&required(options.stops[i], "options.stops"));
  }
  generate.control = options.control != 0;
  if (options.json_schema != nullptr) generate.json_schema = options.json_schema;
  if (options.grammar != nullptr) generate.grammar = options.grammar;
  if (options.regex != nullptr) generate.regex = options.regex;
  if (options.lookup != 0) generate.lookup = static_cast<std::size_t>(std::max(options.lookup, 0));
  return generate;
}

/// Empty where the options have none.
v0::OnToken on_token_of(const halftone_generate_options& options) {
  if (options.on_token == nullptr) return {};
  return [options](lm::TokenId token, std::string_view text) {
    const std::string ended(text);
    return options.on_token(options.user, token, ended.c_str(), ended.size()) == 0;
  };
}

halftone_end end_of(v0::End reason) {
  switch (reason) {
    case v0::End::kCount:
      return HALFTONE_END_COUNT;
    case v0::End::kToken:
      return HALFTONE_END_TOKEN;
    case v0::End::kText:
      return HALFTONE_END_TEXT;
    case v0::End::kContext:
      return HALFTONE_END_CONTEXT;
    case v0::End::kInterrupted:
      break;
  }
  return HALFTONE_END_INTERRUPTED;
}

/// Generates by `body` and gives the caller the result.
template <typename Body>
void generate_into(halftone_language_model* model, halftone_generation* result, Body&& body) {
  Language& language = *required(model, "model").state;
  if (result != nullptr) check_version<halftone_generation>(result->struct_bytes, "result");
  use_alone(language, [&] {
    language.last = body(language.model);
    if (result == nullptr) return;
    const lm::Generation& last = language.last;
    give_result(halftone_generation{0, last.text.c_str(), last.text.size(), last.tokens.data(),
                                    last.tokens.size(), end_of(last.end), last.prompt_tokens,
                                    last.reused_tokens, last.prompt_seconds, last.first_seconds,
                                    last.generate_seconds, last.forgotten_messages,
                                    last.guessed_tokens, last.accepted_tokens},
                *result);
  });
}

std::vector<lm::Message> messages_of(const halftone_message* messages, size_t num_messages) {
  if (num_messages != 0) required(messages, "messages");
  std::vector<lm::Message> result;
  for (std::size_t i = 0; i < num_messages; ++i) {
    const int role = messages[i].role;
    if (role < HALFTONE_SYSTEM || role > HALFTONE_ASSISTANT) {
      fail(ErrorKind::kUsage,
           "messages.role: expected a halftone_role, 0 to 2, found " + std::to_string(role));
    }
    result.push_back({static_cast<lm::ChatRole>(role),
                      std::string(&required(messages[i].content, "messages.content"))});
  }
  return result;
}

TextEvaluationSettings evaluation_options(const halftone_evaluate_options& options,
                                          std::size_t context) {
  constexpr std::size_t kUsualWindow = 512;
  TextEvaluationSettings how;
  how.windows.context = options.window == 0 ? std::min(kUsualWindow, context) : options.window;
  how.windows.stride = options.stride;
  how.windows.limit = options.max_windows;
  how.windows.second_half = options.second_half != 0;
  if (options.progress != nullptr) {
    how.progress = [options](double fraction, std::string_view /*activity*/) {
      if (options.progress(options.user, fraction) == 0) return;
      fail(ErrorKind::kInterrupted, "the evaluation was stopped");
    };
  }
  return how;
}

}  // namespace
}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

const char* halftone_end_name(halftone_end end) noexcept {
  switch (end) {
    case HALFTONE_END_COUNT:
      return "count";
    case HALFTONE_END_TOKEN:
      return "token";
    case HALFTONE_END_TEXT:
      return "text";
    case HALFTONE_END_CONTEXT:
      return "context";
    case HALFTONE_END_INTERRUPTED:
      return "interrupted";
  }
  return "unknown";
}

halftone_status halftone_language_model_generate(halftone_language_model* model, const char* prompt,
                                                 const halftone_generate_options* options,
                                                 halftone_generation* result) noexcept {
  return guarded([&] {
    const halftone_generate_options mine = known(options, "options");
    const v0::GenerateOptions generate = generate_options(mine, v0::GenerateOptions{}.max_tokens);
    generate_into(model, result, [&](TextModel& language) {
      if (prompt == nullptr)
        return generate_from_tokens(language, std::nullopt, generate, on_token_of(mine));
      return generate_text(language, prompt, generate, on_token_of(mine));
    });
  });
}

namespace {

void answer_into(halftone_language_model* model, const lm::ChatRequest& request,
                 const halftone_generate_options* options, halftone_generation* result) {
  const halftone_generate_options mine = known(options, "options");
  v0::AnswerOptions how{.generate = generate_options(mine, 0), .forgets = mine.forgets != 0};
  if (mine.chat_template != nullptr) how.chat_template = mine.chat_template;
  generate_into(model, result, [&](TextModel& language) {
    return answer(language, request, how, on_token_of(mine));
  });
}

void give_prompt(const halftone_language_model* model, const lm::ChatRequest& request,
                 const char* chat_template, halftone_text* text) {
  const TextModel& language = required(model, "model").state->model;
  give_text(chat_prompt(language, request, chat_template == nullptr ? "" : chat_template), text);
}

lm::ChatRequest request_of(const char* request) {
  return chat_request_of_json(&required(request, "request"));
}

}  // namespace

halftone_status halftone_language_model_answer(halftone_language_model* model,
                                               const halftone_message* messages,
                                               size_t num_messages,
                                               const halftone_generate_options* options,
                                               halftone_generation* result) noexcept {
  return guarded([&] {
    answer_into(model, chat_request_of(messages_of(messages, num_messages)), options, result);
  });
}

halftone_status halftone_language_model_answer_json(halftone_language_model* model,
                                                    const char* request,
                                                    const halftone_generate_options* options,
                                                    halftone_generation* result) noexcept {
  return guarded([&] { answer_into(model, request_of(request), options, result); });
}

halftone_status halftone_language_model_chat_prompt(const halftone_language_model* model,
                                                    const halftone_message* messages,
                                                    size_t num_messages, const char* chat_template,
                                                    halftone_text* text) noexcept {
  return guarded([&] {
    give_prompt(model, chat_request_of(messages_of(messages, num_messages)), chat_template, text);
  });
}

halftone_status halftone_language_model_chat_prompt_json(const halftone_language_model* model,
                                                         const char* request,
                                                         const char* chat_template,
                                                         halftone_text* text) noexcept {
  return guarded([&] { give_prompt(model, request_of(request), chat_template, text); });
}

halftone_status halftone_language_model_evaluate(halftone_language_model* model, const char* text,
                                                 const halftone_evaluate_options* options,
                                                 halftone_text_evaluation* result) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    const std::string_view source(&required(text, "text"));
    halftone_text_evaluation& callers = required(result, "result");
    check_version<halftone_text_evaluation>(callers.struct_bytes, "result");
    const halftone_evaluate_options mine = known(options, "options");
    use_alone(language, [&] {
      const lm::TextEvaluation found =
          evaluate_text(language.model, nullptr, source,
                        evaluation_options(mine, language.model.model().context()));
      give_result(halftone_text_evaluation{0, found.num_tokens, found.num_windows, found.loss.value,
                                           found.loss.standard_error, found.perplexity.value,
                                           found.perplexity.standard_error},
                  callers);
    });
  });
}
