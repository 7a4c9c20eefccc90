// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/answer.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace halftone::server {
namespace {

Json token_json(const TokenLogprob& token, const lm::Tokenizer& tokenizer) {
  const std::string text = tokenizer.text(token.token);
  Json bytes = Json::array();
  for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", text}, {"logprob", finite(token.logprob)}, {"bytes", std::move(bytes)}};
}

}  // namespace

lm::ToolText read(std::optional<lm::ToolCallReader>& reader, const ChoiceEvent& event) {
  if (!reader) return {event.text, {}};
  return event.result ? reader->finish() : reader->push(event.text);
}

std::string id_of_call(const std::string& answer, std::size_t choice, std::size_t index) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char byte : answer + "/" + std::to_string(choice) + "/" + std::to_string(index)) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  }
  std::string id;
  for (int i = 0; i < 9; ++i, hash /= kDigits.size()) id += kDigits[hash % kDigits.size()];
  return id;
}

Json logprobs_json(std::span<const ScoredToken> tokens, const lm::Tokenizer& tokenizer) {
  Json all = Json::array();
  for (const ScoredToken& each : tokens) {
    Json json = token_json(each.chosen, tokenizer);
    json["top_logprobs"] = Json::array();
    for (const TokenLogprob& other : each.top) {
      json["top_logprobs"].push_back(token_json(other, tokenizer));
    }
    all.push_back(std::move(json));
  }
  return all;
}

double finite(double logprob) { return std::max(logprob, -9999.0); }

}  // namespace halftone::server
