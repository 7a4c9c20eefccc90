// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/completion_request.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "halftone/api/json_options.h"
#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/server/conversation_request.h"
#include "halftone/server/json_body.h"
#include "halftone/server/request_members.h"
#include "halftone/server/response_request.h"

namespace halftone::server {
namespace {

using internal::fail_member;
using internal::take;
using internal::take_count;
using internal::take_flag;
using internal::take_text;

constexpr std::size_t kMaxChoices = 64;
constexpr std::size_t kMaxLogprobs = 20;
constexpr std::size_t kMaxPrompts = 64;
/// Tokens of a completion that asks for no number, as the protocol has it.
constexpr std::size_t kUsualTokens = 16;

/// Refuses members that change an answer and are not followed, unless they ask for what is so
/// anyhow.
void refuse_others(Json& request) {
  struct Refused {
    const char* name;
    Json harmless;  // besides null
  };
  const std::array<Refused, 5> all = {{{"functions", Json::array()},
                                       {"suffix", ""},
                                       {"audio", {}},
                                       {"modalities", {"text"}},
                                       {"web_search_options", {}}}};
  for (const Refused& each : all) {
    const auto value = take(request, each.name);
    if (!value || *value == each.harmless) continue;
    throw RequestError(400, std::string(each.name) + ": this server does not follow it", each.name,
                       "unsupported_parameter");
  }
}

bool is_token(const Json& value) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() <= std::numeric_limits<lm::TokenId>::max();
}

constexpr double kLeastTopP = 1e-9;

constexpr const char* kPromptForms = "a text, tokens, or a list of these";

Prompt prompt_of(const Json& value, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  const bool is_tokens =
      value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_token);
  if (!is_tokens) fail_member(name, kPromptForms);
  return value.get<std::vector<lm::TokenId>>();
}

/// Puts the form that OpenAI's clients ask for where ours is: "json_schema".
void take_response_format(Json& request) {
  const auto format = take(request, "response_format");
  if (!format) return;
  const Json type = format->is_object() ? format->value("type", Json()) : Json();
  if (type == "json_object") {
    request["json_schema"] = "json";
  } else if (type == "json_schema") {
    const Json named = format->value("json_schema", Json());
    const Json schema = named.is_object() ? named.value("schema", Json()) : Json();
    if (!schema.is_object()) fail_member("response_format", "json_schema.schema, an object");
    request["json_schema"] = schema;
  } else if (type != "text") {
    fail_member("response_format", "the type text, json_object or json_schema");
  }
}

/// A regular expression of some texts.
std::string regex_of_choices(const Json& texts, const std::string& name) {
  if (!texts.is_array() || texts.empty()) fail_member(name, "a list of texts");
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].is_string()) fail_member(name, "a list of texts");
    if (i > 0) all += '|';
    for (const char sign : texts[i].get<std::string>()) {
      if (std::string_view("^$\\.*+?()[]{}|").find(sign) != std::string_view::npos) all += '\\';
      all += sign;
    }
  }
  if (all.empty()) fail_member(name, "a list of texts that are not empty");
  return all;
}

/// A schema, which may come as text.
Json schema_of(const Json& form, const std::string& name) {
  if (!form.is_string() || form == "json") return form;
  const auto& text = form.get_ref<const std::string&>();
  try {
    check_json(text);
  } catch (const Error& error) {
    fail_member(name, std::string("a JSON schema: ") + error.what());
  }
  return Json::parse(text);
}

/// Puts a form that clients of vLLM ask for where ours are: "json_schema", "grammar", "regex".
void take_form(Json& request, const std::string& name, const std::string& kind, const Json& form) {
  const bool is_json = kind == "json" || kind == "json_object";
  const std::string ours = is_json ? "json_schema" : kind == "choice" ? "regex" : kind;
  if (request.contains(ours)) fail_member(name, "no other " + ours + " beside it");
  if (kind == "json") {
    request[ours] = schema_of(form, name);
  } else if (kind == "json_object") {
    request[ours] = "json";
  } else {
    request[ours] = kind == "choice" ? Json(regex_of_choices(form, name)) : form;
  }
}

void take_forms(Json& request) {
  for (const char* kind : {"json", "regex", "choice", "grammar"}) {
    const std::string name = std::string("guided_") + kind;
    if (const auto form = take(request, name.c_str())) take_form(request, name, kind, *form);
  }
  if (const auto form = take(request, "ebnf"))
    take_form(request, "ebnf", "grammar", *form);  // SGLang
  const auto all = take(request, "structured_outputs");
  if (!all) return;
  if (!all->is_object()) fail_member("structured_outputs", "an object");
  for (const auto& [kind, form] : all->items()) {
    const bool is_known = kind == "json" || kind == "json_object" || kind == "regex" ||
                          kind == "choice" || kind == "grammar";
    const bool is_said = !form.is_null() && form != false;
    if (is_said && is_known) take_form(request, "structured_outputs." + kind, kind, form);
    if (is_said && !is_known) {
      fail_member("structured_outputs", "json, json_object, regex, choice or grammar");
    }
  }
}

void set_options(Json& request, const v0::GenerateOptions& defaults, CompletionRequest& result) {
  result.options = defaults;
  if (result.endpoint == Endpoint::kCompletion) {
    const std::size_t limit = defaults.max_tokens;
    result.options.max_tokens = limit == 0 ? kUsualTokens : std::min(limit, kUsualTokens);
  }
  if (const auto newer = take(request, "max_completion_tokens")) request["max_tokens"] = *newer;
  // The protocol has 0 where the most probable token alone is meant.
  if (request.value("top_p", Json()) == 0) request["top_p"] = kLeastTopP;
  // As transformers and vLLM call it.
  if (const auto other = take(request, "repetition_penalty")) request["repeat_penalty"] = *other;
  take_response_format(request);
  take_forms(request);
  const bool is_limited = !request.value("max_tokens", Json()).is_null();
  try {
    take_options(request, result.options);
  } catch (const Error& error) {
    const std::string message = error.what();
    throw RequestError(400, message, message.substr(0, message.find(':')));
  }
  if (is_limited && result.is_conversation() && result.options.max_tokens == 0) {
    fail_member("max_tokens", "at least 1");
  }
  if (defaults.max_tokens != 0 && result.options.max_tokens > defaults.max_tokens) {
    fail_member("max_tokens", "at most " + std::to_string(defaults.max_tokens));
  }
}

void set_logprobs(Json& request, CompletionRequest& result) {
  if (result.endpoint == Endpoint::kCompletion) {
    result.logprobs = take_count(request, "logprobs", 0, kMaxLogprobs);
    return;
  }
  const bool is_wanted = take_flag(request, "logprobs");
  const auto top = take_count(request, "top_logprobs", 0, kMaxLogprobs);
  if (is_wanted) {
    result.logprobs = top.value_or(0);
  } else if (top) {
    fail_member("top_logprobs", "logprobs to be true");
  }
}

void set_choices(Json& request, CompletionRequest& result) {
  result.choices = take_count(request, "n", 1, kMaxChoices).value_or(1);
  result.candidates = result.choices;
  if (result.is_conversation()) return;
  result.candidates =
      take_count(request, "best_of", result.choices, kMaxChoices).value_or(result.choices);
  if (result.candidates > result.choices && result.streams) {
    fail_member("best_of", "no stream: which texts are the best is known at their end");
  }
  result.echoes = take_flag(request, "echo");
  if (result.echoes && result.logprobs) {
    throw RequestError(400, "logprobs: this server does not tell those of a prompt (echo)",
                       "logprobs", "unsupported_parameter");
  }
}

void set_stop_tokens(Json& request, CompletionRequest& result) {
  const auto tokens = take(request, "stop_token_ids");
  if (!tokens) return;
  if (!tokens->is_array() || !std::all_of(tokens->begin(), tokens->end(), is_token)) {
    fail_member("stop_token_ids", "a list of tokens");
  }
  result.stop_tokens = tokens->get<std::vector<lm::TokenId>>();
}

void set_streaming(Json& request, CompletionRequest& result) {
  result.streams = take_flag(request, "stream");
  std::optional<Json> options = take(request, "stream_options");
  if (!options) return;
  if (!result.streams) fail_member("stream_options", "stream to be true");
  if (!options->is_object()) fail_member("stream_options", "an object");
  result.streams_usage = take_flag(*options, "include_usage");
}

}  // namespace

std::vector<Prompt> prompts_of(const Json& value, const std::string& name, std::size_t max_count) {
  if (!value.is_array() || (!value.empty() && value[0].is_number())) {
    return {prompt_of(value, name)};
  }
  if (value.empty() || value.size() > max_count) {
    fail_member(name, "1 to " + std::to_string(max_count) + " texts");
  }
  std::vector<Prompt> prompts;
  for (const Json& each : value) prompts.push_back(prompt_of(each, name));
  return prompts;
}

CompletionRequest parse_completion(Endpoint endpoint, std::string_view body,
                                   const v0::GenerateOptions& defaults) {
  Json request = parse_body(body);
  CompletionRequest result;
  result.endpoint = endpoint;
  if (endpoint == Endpoint::kResponse) {
    result.repeated = repeated_members(request).dump();
    request = chat_of_response(std::move(request));
  }
  result.model = take_text(request, "model");
  result.user = take_text(request, "user");
  if (result.is_conversation()) {
    take_conversation(request, result);
  } else {
    const std::optional<Json> prompt = take(request, "prompt");
    if (!prompt) fail_member("prompt", kPromptForms);
    result.prompts = prompts_of(*prompt, "prompt", kMaxPrompts);
  }
  set_streaming(request, result);
  set_logprobs(request, result);
  set_choices(request, result);
  set_stop_tokens(request, result);
  set_options(request, defaults, result);
  const bool has_grammar = !result.options.grammar.empty() || !result.options.regex.empty();
  if (has_grammar && !result.tools.functions.empty()) {
    fail_member("tools", "no grammar or regex beside them, which would rule out calls");
  }
  refuse_others(request);
  for (const auto& [name, value] : request.items()) result.ignored.push_back(name);
  return result;
}

}  // namespace halftone::server
