// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_generation.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/lm/constrain/grammar_text.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/constrain/pattern.h"

namespace halftone {
namespace {

/// The special token that the template writes behind an answer; kNoToken if it writes none.
lm::TokenId end_of_turn(const TextModel& model, const lm::ChatTemplate& chat_template) {
  const lm::Vocabulary& vocabulary = model.tokenizer().vocabulary();
  return vocabulary.special(chat_template.end_of_turn(model.texts().marks), true);
}

std::vector<lm::TokenId> prompt_of(const TextModel& model, const lm::ChatTemplate& chat_template,
                                   const lm::ChatRequest& request) {
  return lm::encode(model.tokenizer(), chat_template.render(request, model.texts().marks));
}

/// Leaves out turns until there is room for an answer.
void make_room(const TextModel& model, const lm::ChatTemplate& chat_template,
               lm::ChatRequest request, PreparedText& text) {
  const std::size_t context = model.model().context();
  if (text.prompt.size() + std::min(text.job.max_tokens, context / 4) <= context) return;
  while (text.prompt.size() > context / 2) {
    const std::size_t count = lm::forget_turn(request);
    if (count == 0) break;
    text.forgotten_messages += count;
    text.prompt = prompt_of(model, chat_template, request);
  }
}

/// A text, or the text of a file.
std::string text_or_file(const std::string& given, bool is_text) {
  if (is_text) return given;
  const std::vector<std::byte> bytes = read_file(given);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The form that a text has to have; null: any.
std::shared_ptr<lm::TextForm> form_of(const TextModel& model, const v0::GenerateOptions& options) {
  const auto num_forms =
      std::ranges::count_if(std::array{&options.json_schema, &options.grammar, &options.regex},
                            [](const std::string* form) { return !form->empty(); });
  if (num_forms > 1) {
    fail(ErrorKind::kUsage,
         "expected one of a JSON schema, a grammar and a regular expression, found " +
             std::to_string(num_forms));
  }
  const auto made = [&](const char* kind, const std::string& text,
                        lm::Grammar (*grammar_of)(std::string_view)) {
    return model.forms().get(kind + text, [&] {
      return std::make_shared<lm::TextForm>(std::make_shared<lm::Grammar>(grammar_of(text)),
                                            model.constraint_tokens());
    });
  };
  if (options.json_schema == "json") {
    return made("schema ", "json", [](std::string_view) { return lm::grammar_of_json_objects(); });
  }
  if (!options.json_schema.empty()) {
    const std::size_t first = options.json_schema.find_first_not_of(" \t\r\n");
    const bool is_text = first != std::string::npos && options.json_schema[first] == '{';
    return made("schema ", text_or_file(options.json_schema, is_text), lm::grammar_of_schema);
  }
  if (!options.regex.empty()) return made("regex ", options.regex, lm::grammar_of_pattern);
  if (options.grammar.empty()) return nullptr;
  const bool is_text = options.grammar.find("::=") != std::string::npos;
  return made("grammar ", text_or_file(options.grammar, is_text), lm::parse_grammar);
}

/// Adds what ends the texts of a model, and what the text has to follow.
void complete(const TextModel& model, lm::GenerateJob& job) {
  const auto& ends = model.texts().end_tokens;
  job.end_tokens.insert(job.end_tokens.end(), ends.begin(), ends.end());
  job.form = form_of(model, job);
}

bool begins_twice(const TextModel& model, std::span<const lm::TokenId> prompt) {
  const lm::TokenId begin = model.begin_token();
  return begin != lm::kNoToken && prompt.size() >= 2 && prompt[0] == begin && prompt[1] == begin;
}

lm::Generation generated(TextModel& model, PreparedText text, const v0::OnToken& on_token) {
  text.job.on_token = on_token;
  lm::Generation found = lm::generate(model.model(), model.tokenizer(), text.prompt, text.job);
  found.begins_twice = begins_twice(model, text.prompt);
  found.forgotten_messages = text.forgotten_messages;
  return found;
}

PreparedText prepared(const TextModel& model, std::vector<lm::TokenId> prompt,
                      const v0::GenerateOptions& options) {
  PreparedText text{std::move(prompt), {options}};
  complete(model, text.job);
  return text;
}

}  // namespace

lm::Generation generate_from_tokens(TextModel& model,
                                    std::optional<std::vector<lm::TokenId>> prompt,
                                    const v0::GenerateOptions& options,
                                    const v0::OnToken& on_token) {
  if (!prompt && options.sequence < model.model().sequences()) {
    const std::span<const lm::TokenId> tokens = model.model().tokens(options.sequence);
    prompt.emplace(tokens.begin(), tokens.end());
  }
  return generated(model,
                   prepared(model, std::move(prompt).value_or(std::vector<lm::TokenId>{}), options),
                   on_token);
}

PreparedText prepare_text(const TextModel& model, std::string_view prompt,
                          const v0::GenerateOptions& options) {
  return prepared(model, model.tokenize(prompt, {.control = options.control}), options);
}

lm::Generation generate_text(TextModel& model, std::string_view prompt,
                             const v0::GenerateOptions& options, const v0::OnToken& on_token) {
  return generated(model, prepare_text(model, prompt, options), on_token);
}

lm::ChatRequest chat_request_of(std::span<const lm::Message> conversation) {
  return lm::chat_request(conversation);
}

lm::ChatRequest chat_request_of_json(std::string_view json) { return lm::parse_chat_request(json); }

PreparedText prepare_answer(const TextModel& model, const lm::ChatRequest& request,
                            const v0::AnswerOptions& options) {
  const lm::ChatTemplate chat_template = model.chat_template(options.chat_template);
  PreparedText text{prompt_of(model, chat_template, request),
                    {options.generate, model.texts().answer_end_tokens, true}};
  if (text.job.max_tokens == 0) text.job.max_tokens = model.model().context();
  const lm::TokenId end = end_of_turn(model, chat_template);
  if (end != lm::kNoToken) text.job.end_tokens.push_back(end);
  complete(model, text.job);
  if (options.forgets) make_room(model, chat_template, request, text);
  model.check_tokens(text.prompt);
  return text;
}

lm::Generation answer(TextModel& model, const lm::ChatRequest& request,
                      const v0::AnswerOptions& options, const v0::OnToken& on_token) {
  return generated(model, prepare_answer(model, request, options), on_token);
}

std::string chat_prompt(const TextModel& model, const lm::ChatRequest& request,
                        std::string_view template_name) {
  return model.chat_template(template_name).render(request, model.texts().marks).text;
}

Conversation::Conversation(TextModel& model, const ChatOptions& options)
    : model_(model),
      options_(options.answer),
      on_token_(options.on_token),
      request_(options.request) {
  (void)model.chat_template(options_.chat_template);  // whether there is one
  if (!options.system.empty()) {
    lm::put_system_message(request_, options.system);
  }
}

lm::Generation Conversation::answer(std::string_view message) {
  const lm::ChatRequest before = request_;
  lm::append_message(request_, {lm::ChatRole::kUser, std::string(message)});
  try {
    return answer();
  } catch (...) {
    request_ = before;
    throw;
  }
}

lm::Generation Conversation::answer() {
  lm::Generation found = halftone::answer(model_, request_, options_, on_token_);
  for (std::size_t left = found.forgotten_messages; left != 0;) left -= lm::forget_turn(request_);
  lm::append_answer(request_, found.text);
  ++options_.generate.sampling.seed;
  return found;
}

}  // namespace halftone
