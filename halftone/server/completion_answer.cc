// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/completion_answer.h"

#include <algorithm>
#include <utility>

namespace halftone::server {
namespace {

/// Also where the time was over, for which the protocol has no word.
const char* finish_reason_of(v0::End end) {
  return end == v0::End::kToken || end == v0::End::kText ? "stop" : "length";
}

Json usage_of(const RunningCompletion& running) {
  return {{"prompt_tokens", running.prompt_tokens()},
          {"completion_tokens", running.written_tokens()},
          {"total_tokens", running.prompt_tokens() + running.written_tokens()},
          {"prompt_tokens_details", {{"cached_tokens", running.reused_tokens()}}}};
}

/// JSON has no infinity: of a token that is never drawn.
double finite(double logprob) { return std::max(logprob, -9999.0); }

}  // namespace

CompletionAnswer::CompletionAnswer(AnswerHead head, const CompletionRequest& request,
                                   const lm::Tokenizer& tokenizer, std::size_t num_choices)
    : head_(std::move(head)), request_(request), tokenizer_(tokenizer), choices_(num_choices) {}

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
  return root("chat.completion.chunk", "text_completion", Json::array({std::move(json)}));
}

std::vector<Json> CompletionAnswer::first_pieces() const {
  std::vector<Json> all;
  if (request_.endpoint != Endpoint::kChat) return all;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    all.push_back(piece(i, "", Json(), nullptr));
    all.back()["choices"][0]["delta"]["role"] = "assistant";
  }
  return all;
}

std::vector<Json> CompletionAnswer::pieces(const ChoiceEvent& event) {
  if (event.result) {
    return {piece(event.choice, "", Json(), finish_reason_of(event.result->generation.end))};
  }
  Json scores;
  if (event.token) {
    scores = logprobs({&*event.token, 1}, choices_.at(event.choice).text_bytes);
  }
  return {piece(event.choice, event.text, std::move(scores), nullptr)};
}

Json CompletionAnswer::usage_piece(const RunningCompletion& running) const {
  Json json = root("chat.completion.chunk", "text_completion", Json::array());
  json["usage"] = usage_of(running);
  return json;
}

void CompletionAnswer::add(const ChoiceEvent& event) {
  Choice& choice = choices_.at(event.choice);
  choice.text += event.text;
  if (event.token) choice.tokens.push_back(*event.token);
  if (event.result) choice.finish_reason = finish_reason_of(event.result->generation.end);
}

Json CompletionAnswer::whole(const RunningCompletion& running) const {
  Json list = Json::array();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    Json json = {{"index", i}};
    if (request_.endpoint == Endpoint::kChat) {
      json["message"] = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
    } else {
      json["text"] = choice.text;
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

Json CompletionAnswer::token_json(const TokenLogprob& token) const {
  const std::string text = token_text(token.token);
  Json bytes = Json::array();
  for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", text}, {"logprob", finite(token.logprob)}, {"bytes", std::move(bytes)}};
}

Json CompletionAnswer::logprobs(std::span<const ScoredToken> tokens,
                                std::size_t& text_bytes) const {
  if (!request_.logprobs) return {};
  return request_.endpoint == Endpoint::kChat ? chat_logprobs(tokens)
                                              : completion_logprobs(tokens, text_bytes);
}

Json CompletionAnswer::chat_logprobs(std::span<const ScoredToken> tokens) const {
  Json content = Json::array();
  for (const ScoredToken& each : tokens) {
    Json json = token_json(each.chosen);
    json["top_logprobs"] = Json::array();
    for (const TokenLogprob& other : each.top) json["top_logprobs"].push_back(token_json(other));
    content.push_back(std::move(json));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
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
