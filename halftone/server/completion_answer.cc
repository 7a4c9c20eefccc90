// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/completion_answer.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

namespace halftone::server {
namespace {

Json usage_of(const RunningCompletion& running) {
  return {{"prompt_tokens", running.prompt_tokens()},
          {"completion_tokens", running.written_tokens()},
          {"total_tokens", running.prompt_tokens() + running.written_tokens()},
          {"prompt_tokens_details", {{"cached_tokens", running.reused_tokens()}}}};
}

/// "length" also where the time was over, for which the protocol has no word.
const char* finish_reason_of(v0::End end, bool has_calls) {
  if (!ends_by_itself(end)) return "length";
  return has_calls ? "tool_calls" : "stop";
}

std::string event_of(const Json& json) { return "data: " + dump(json) + "\n\n"; }

}  // namespace

CompletionAnswer::CompletionAnswer(AnswerHead head, const CompletionRequest& request,
                                   const lm::Tokenizer& tokenizer, std::size_t num_choices,
                                   const lm::ToolNotation* notation)
    : head_(std::move(head)), request_(request), tokenizer_(tokenizer), choices_(num_choices) {
  if (notation == nullptr) return;
  for (Choice& choice : choices_) {
    choice.reader.emplace(*notation, request.tools.functions, request.tools.is_required);
  }
}

Json CompletionAnswer::root(const char* chat, const char* completion, Json choices) const {
  return {{"id", head_.id},
          {"object", request_.endpoint == Endpoint::kChat ? chat : completion},
          {"created", head_.created},
          {"model", head_.model},
          {"choices", std::move(choices)}};
}

Json CompletionAnswer::piece(std::size_t choice, const std::string& text, Json logprobs,
                             const char* finish_reason) const {
  Json json = {{"index", choice}};
  if (request_.endpoint == Endpoint::kChat) {
    const bool is_empty = text.empty() && finish_reason != nullptr;
    json["delta"] = is_empty ? Json::object() : Json{{"content", text}};
  } else {
    json["text"] = text;
  }
  json["logprobs"] = std::move(logprobs);
  json["finish_reason"] = finish_reason == nullptr ? Json() : Json(finish_reason);
  Json whole = root("chat.completion.chunk", "text_completion", Json::array({std::move(json)}));
  if (request_.streams_usage) whole["usage"] = nullptr;
  return whole;
}

std::string CompletionAnswer::begin(const RunningCompletion& running) {
  std::string text;
  for (const Json& piece : first_pieces(running)) text += event_of(piece);
  return text;
}

std::string CompletionAnswer::more(const ChoiceEvent& event, const RunningCompletion& running) {
  std::string text;
  for (const Json& piece : pieces(event)) text += event_of(piece);
  if (!running.has_ended()) return text;
  if (request_.streams_usage) text += event_of(usage_piece(running));
  return text + "data: [DONE]\n\n";
}

std::string CompletionAnswer::failure(const RequestError& error) {
  return "data: " + error.body() + "\n\n";
}

std::vector<Json> CompletionAnswer::first_pieces(const RunningCompletion& running) const {
  std::vector<Json> all;
  const bool is_chat = request_.endpoint == Endpoint::kChat;
  if (!is_chat && !request_.echoes) return all;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    all.push_back(piece(i, running.echo_of(i), Json(), nullptr));
    if (is_chat) all.back()["choices"][0]["delta"]["role"] = "assistant";
  }
  return all;
}

std::vector<Json> CompletionAnswer::pieces(const ChoiceEvent& event) {
  Choice& choice = choices_.at(event.choice);
  Json scores;
  if (event.token) scores = logprobs({&*event.token, 1}, choice.text_bytes);
  const lm::ToolText text = read(choice.reader, event);
  std::vector<Json> all = pieces(event.choice, text, std::move(scores));
  if (event.result) {
    all.push_back(piece(event.choice, "", Json(),
                        finish_reason_of(event.result->generation.end, !choice.calls.empty())));
  }
  return all;
}

std::vector<Json> CompletionAnswer::pieces(std::size_t choice, const lm::ToolText& text,
                                           Json logprobs) {
  std::vector<Json> all;
  if (!text.content.empty() || !logprobs.is_null()) {
    all.push_back(piece(choice, text.content, std::move(logprobs), nullptr));
  }
  std::vector<lm::ToolCall>& calls = choices_[choice].calls;
  for (const lm::ToolCall& call : text.calls) {
    calls.push_back(call);
    Json begin = call_json(choice, calls.size() - 1);
    begin["index"] = calls.size() - 1;
    begin["function"]["arguments"] = "";
    const Json rest = {{"index", calls.size() - 1}, {"function", {{"arguments", call.arguments}}}};
    for (const Json& part : {begin, rest}) {
      all.push_back(piece(choice, "", Json(), nullptr));
      all.back()["choices"][0]["delta"] = {{"tool_calls", Json::array({part})}};
    }
  }
  return all;
}

Json CompletionAnswer::call_json(std::size_t choice, std::size_t index) const {
  const lm::ToolCall& call = choices_[choice].calls.at(index);
  return {{"id", call.id.empty() ? id_of_call(head_.id, choice, index) : call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json CompletionAnswer::usage_piece(const RunningCompletion& running) const {
  Json json = root("chat.completion.chunk", "text_completion", Json::array());
  json["usage"] = usage_of(running);
  return json;
}

void CompletionAnswer::add(const ChoiceEvent& event) {
  Choice& choice = choices_.at(event.choice);
  const lm::ToolText text = read(choice.reader, event);
  choice.text += text.content;
  choice.calls.insert(choice.calls.end(), text.calls.begin(), text.calls.end());
  if (event.token) choice.tokens.push_back(*event.token);
  if (event.result) {
    choice.finish_reason = finish_reason_of(event.result->generation.end, !choice.calls.empty());
  }
}

Json CompletionAnswer::message_of(std::size_t choice) const {
  const Choice& from = choices_[choice];
  Json message = {{"role", "assistant"}, {"content", from.text}, {"refusal", nullptr}};
  if (from.calls.empty()) return message;
  if (from.text.empty()) message["content"] = nullptr;
  message["tool_calls"] = Json::array();
  for (std::size_t i = 0; i < from.calls.size(); ++i) {
    message["tool_calls"].push_back(call_json(choice, i));
  }
  return message;
}

std::vector<std::size_t> CompletionAnswer::best_choices() const {
  const auto mean = [&](std::size_t choice) {
    double sum = 0;
    for (const ScoredToken& each : choices_[choice].tokens) sum += each.chosen.logprob;
    return sum / static_cast<double>(std::max<std::size_t>(choices_[choice].tokens.size(), 1));
  };
  std::vector<std::size_t> best;
  for (std::size_t first = 0; first < choices_.size(); first += request_.candidates) {
    std::vector<std::size_t> order(request_.candidates);
    std::iota(order.begin(), order.end(), first);
    if (request_.candidates > request_.choices) {
      std::ranges::stable_sort(order, std::greater(), mean);
    }
    best.insert(best.end(), order.begin(),
                order.begin() + static_cast<std::ptrdiff_t>(request_.choices));
  }
  return best;
}

Json CompletionAnswer::whole(const RunningCompletion& running) const {
  Json list = Json::array();
  for (const std::size_t i : best_choices()) {
    const Choice& choice = choices_[i];
    Json json = {{"index", list.size()}};
    if (request_.endpoint == Endpoint::kChat) {
      json["message"] = message_of(i);
    } else {
      json["text"] = running.echo_of(i) + choice.text;
    }
    std::size_t text_bytes = 0;
    json["logprobs"] = logprobs(choice.tokens, text_bytes);
    json["finish_reason"] = choice.finish_reason;
    list.push_back(std::move(json));
  }
  Json json = root("chat.completion", "text_completion", std::move(list));
  json["usage"] = usage_of(running);
  return json;
}

std::string CompletionAnswer::token_text(lm::TokenId token) const { return tokenizer_.text(token); }

Json CompletionAnswer::logprobs(std::span<const ScoredToken> tokens,
                                std::size_t& text_bytes) const {
  if (!request_.logprobs) return {};
  if (request_.endpoint == Endpoint::kCompletion) return completion_logprobs(tokens, text_bytes);
  return {{"content", logprobs_json(tokens, tokenizer_)}, {"refusal", nullptr}};
}

Json CompletionAnswer::completion_logprobs(std::span<const ScoredToken> tokens,
                                           std::size_t& text_bytes) const {
  Json json = {{"tokens", Json::array()},
               {"token_logprobs", Json::array()},
               {"top_logprobs", Json::array()},
               {"text_offset", Json::array()}};
  for (const ScoredToken& each : tokens) {
    const std::string text = token_text(each.chosen.token);
    json["tokens"].push_back(text);
    json["token_logprobs"].push_back(finite(each.chosen.logprob));
    Json top = Json::object();
    for (const TokenLogprob& other : each.top) top[token_text(other.token)] = finite(other.logprob);
    json["top_logprobs"].push_back(std::move(top));
    json["text_offset"].push_back(text_bytes);
    text_bytes += text.size();
  }
  return json;
}

}  // namespace halftone::server
