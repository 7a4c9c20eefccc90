// SPDX-License-Identifier: Apache-2.0
// Reads tokenizer.json of Hugging Face's tokenizers.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/tokenizer_state.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

[[noreturn]] void fail_json(const std::string& message) {
  fail(ErrorKind::kFormat, "tokenizer.json: " + message);
}

[[noreturn]] void fail_step(const std::string& what, const json& step) {
  std::string text = step.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 100) text = text.substr(0, 97) + "...";
  fail(ErrorKind::kUnsupported, "tokenizer.json: " + what + ": found " + text);
}

/// A member; null if there is none.
const json& member(const json& object, const char* key) {
  static const json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string text_member(const json& object, const char* key) {
  const json& found = member(object, key);
  if (!found.is_string()) fail_json("'" + std::string(key) + "': expected a text");
  return found.get<std::string>();
}

bool flag_member(const json& object, const char* key, bool otherwise) {
  const json& found = member(object, key);
  return found.is_boolean() ? found.get<bool>() : otherwise;
}

/// A step, or the steps of a Sequence; none for null.
std::vector<json> steps_of(const json& step, const char* list) {
  if (step.is_null()) return {};
  if (text_member(step, "type") != "Sequence") return {step};
  const json& steps = member(step, list);
  if (!steps.is_array()) fail_json("'" + std::string(list) + "': expected a list");
  return steps;
}

/// What normalizer and pre_tokenizer do.
struct Steps {
  bool composes = false;
  bool is_byte_level = false;
  bool has_space_sign = false;
  bool adds_space = false;
  std::vector<std::string> patterns{};
};

void read_normalizer(const json& normalizer, Steps& steps) {
  for (const json& step : steps_of(normalizer, "normalizers")) {
    const std::string type = text_member(step, "type");
    if (type == "NFC") {
      steps.composes = true;
    } else if (type == "Prepend" && text_member(step, "prepend") == kSpaceSign) {
      steps.adds_space = true;
    } else if (type == "Replace" && member(member(step, "pattern"), "String") == " " &&
               text_member(step, "content") == kSpaceSign) {
      steps.has_space_sign = true;
    } else {
      fail_step("normalizer: expected NFC, or Prepend and Replace of spaces by U+2581", step);
    }
  }
}

void read_split(const json& step, Steps& steps) {
  // Gemma's files split at spaces, of which the normalizer has left none.
  if (steps.has_space_sign && member(member(step, "pattern"), "String") == " ") return;
  const json& pattern = member(member(step, "pattern"), "Regex");
  const bool is_isolated = text_member(step, "behavior") == "Isolated";
  if (!pattern.is_string() || !is_isolated || flag_member(step, "invert", false)) {
    fail_step("pre_tokenizer: expected a Split by a Regex, Isolated", step);
  }
  steps.patterns.push_back(pattern.get<std::string>());
}

void read_metaspace(const json& step, Steps& steps) {
  const json& scheme = member(step, "prepend_scheme");
  if (text_member(step, "replacement") != kSpaceSign || flag_member(step, "split", true)) {
    fail_step("pre_tokenizer: expected a Metaspace of U+2581 that does not split", step);
  }
  steps.has_space_sign = true;
  steps.adds_space = scheme.is_string() && scheme != "never";
}

void read_pre_tokenizer(const json& pre_tokenizer, Steps& steps) {
  for (const json& step : steps_of(pre_tokenizer, "pretokenizers")) {
    const std::string type = text_member(step, "type");
    if (type == "ByteLevel") {
      steps.is_byte_level = true;
      steps.adds_space = flag_member(step, "add_prefix_space", false);
      if (flag_member(step, "use_regex", true)) {
        steps.patterns.push_back(split_rule("gpt-2").patterns[0]);
      }
    } else if (type == "Digits") {
      steps.patterns.emplace_back(flag_member(step, "individual_digits", false) ? R"(\p{N})"
                                                                                : R"(\p{N}+)");
    } else if (type == "Split" && !steps.is_byte_level) {
      read_split(step, steps);
    } else if (type == "Metaspace") {
      read_metaspace(step, steps);
    } else {
      fail_step("pre_tokenizer: expected ByteLevel, Digits, Split or Metaspace", step);
    }
  }
}

TokenId id_of(const json& id) {
  constexpr std::int64_t kMaxId = 1 << 24;
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMaxId) {
    fail_json("expected ids of tokens from 0 to 2^24, found another value");
  }
  return id.get<TokenId>();
}

/// Puts a token at its id.
void place(std::vector<Token>& tokens, TokenId id, Token token) {
  const auto at = static_cast<std::size_t>(id);
  // An id that no token has is one that no text gives.
  if (at >= tokens.size()) tokens.resize(at + 1, {"", 0, TokenKind::kUnused});
  tokens[at] = std::move(token);
}

std::vector<std::pair<std::string, std::string>> merges_of(const json& model) {
  const json& list = member(model, "merges");
  if (!list.is_array()) fail_json("'merges': expected a list");
  std::vector<std::pair<std::string, std::string>> merges;
  for (const json& merge : list) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    const auto text = merge.is_string() ? merge.get<std::string>() : std::string();
    const std::size_t space = text.find(' ', 1);
    if (text.empty() || space == std::string::npos) {
      fail_json("merge " + std::to_string(merges.size()) + ": expected two texts");
    }
    merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  return merges;
}

/// The tokens of the model, and those that were added.
std::vector<Token> tokens_of(const json& root, const json& model, bool is_byte_level) {
  const json& vocabulary = member(model, "vocab");
  if (!vocabulary.is_object()) fail_json("'vocab': expected an object");
  std::vector<Token> tokens;
  for (const auto& item : vocabulary.items()) {
    Token token{item.key()};
    if (is_byte_level) {
      token.text = bytes_from_characters(token.text);
    } else if (const std::optional<char> byte = byte_named(token.text)) {
      token = {std::string(1, *byte), 0, TokenKind::kByte};
    }
    place(tokens, id_of(item.value()), std::move(token));
  }
  const json& added = member(root, "added_tokens");
  for (const json& each : added.is_array() ? added : json::array()) {
    const bool is_control = flag_member(each, "special", false);
    place(tokens, id_of(member(each, "id")),
          {text_member(each, "content"), 0,
           is_control ? TokenKind::kControl : TokenKind::kUserDefined});
  }
  return tokens;
}

/// SentencePiece's scores in place of ranks: the earlier a merge gives a token, the higher.
void set_scores(std::vector<Token>& tokens,
                const std::vector<std::pair<std::string, std::string>>& merges) {
  std::unordered_map<std::string, std::size_t> rank_of;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    rank_of.emplace(merges[rank].first + merges[rank].second, rank);
  }
  for (Token& token : tokens) {
    const auto found = rank_of.find(token.text);
    if (found != rank_of.end()) token.score = -static_cast<float>(found->second);
  }
}

TokenId find_special(const std::vector<Token>& tokens, const std::string& text) {
  const auto found = std::ranges::find(tokens, text, &Token::text);
  return found == tokens.end() ? kNoToken : static_cast<TokenId>(found - tokens.begin());
}

/// The token that the post-processor puts in front of a text; nothing if there is none.
std::string begin_text(const json& processor) {
  for (const json& step : steps_of(processor, "processors")) {
    if (text_member(step, "type") != "TemplateProcessing") continue;
    const json& single = member(step, "single");
    if (single.is_array() && !single.empty()) {
      const json& id = member(member(single[0], "SpecialToken"), "id");
      if (id.is_string()) return id.get<std::string>();
    }
  }
  return "";
}

json parse_document(const SharedBytes& file) {
  const auto* first = reinterpret_cast<const char*>(file.bytes.data());
  json root = json::parse(first, first + file.bytes.size(), nullptr, false);
  if (!root.is_object()) fail_json("expected an object in JSON, found other text");
  return root;
}

}  // namespace

Tokenizer Tokenizer::from_tokenizer_json(const SharedBytes& file) {
  const json root = parse_document(file);
  const json& model = member(root, "model");
  if (member(model, "type") != "BPE") {
    fail_step("model: expected one of type BPE", member(model, "type"));
  }
  Steps steps;
  read_normalizer(member(root, "normalizer"), steps);
  read_pre_tokenizer(member(root, "pre_tokenizer"), steps);
  if (!steps.is_byte_level && (!steps.has_space_sign || !steps.patterns.empty())) {
    fail_step("pre_tokenizer: expected ByteLevel, or spaces as U+2581 without splitting",
              member(root, "pre_tokenizer"));
  }
  auto merges = merges_of(model);
  std::vector<Token> tokens = tokens_of(root, model, steps.is_byte_level);
  if (!steps.is_byte_level) set_scores(tokens, merges);
  const std::string begin = begin_text(member(root, "post_processor"));
  const TokenId begin_id = begin.empty() ? kNoToken : find_special(tokens, begin);
  const json& unknown = member(model, "unk_token");
  const TokenId unknown_id =
      unknown.is_string() ? find_special(tokens, unknown.get<std::string>()) : kNoToken;

  auto state = std::make_shared<State>(State{Vocabulary(std::move(tokens))});
  state->begin = begin_id;
  state->adds_begin = begin_id != kNoToken;
  state->unknown = unknown_id;
  state->adds_space = steps.adds_space;
  state->composes = steps.composes;
  state->takes_whole_words = flag_member(model, "ignore_merges", false);
  if (steps.is_byte_level) {
    for (auto& [left, right] : merges) {
      left = bytes_from_characters(left);
      right = bytes_from_characters(right);
    }
    state->splitter.emplace(steps.patterns);
    state->pairs.emplace(state->vocabulary, merges);
  }
  return Tokenizer(std::move(state));
}

}  // namespace halftone::lm
