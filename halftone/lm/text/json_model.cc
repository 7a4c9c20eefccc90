// SPDX-License-Identifier: Apache-2.0
// The models of tokenizer.json.
#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/lm/text/json_parts.h"
#include "halftone/lm/text/unigram.h"
#include "halftone/lm/text/word_pieces.h"

namespace halftone::lm::tokenizer_json {
namespace {

using nlohmann::json;

/// Puts a token at its id.
void place(std::vector<Token>& tokens, TokenId id, Token token) {
  const auto at = static_cast<std::size_t>(id);
  // An id that no token has is one that no text gives.
  if (at >= tokens.size()) tokens.resize(at + 1, {"", 0, TokenKind::kUnused});
  tokens[at] = std::move(token);
}

/// Texts with their ids and, in a Unigram, scores.
template <typename Visit>
void for_each_token(const json& model, Visit visit) {
  const json& vocabulary = member(model, "vocab");
  if (vocabulary.is_object()) {
    for (const auto& item : vocabulary.items()) visit(item.key(), id_of(item.value()), 0.0);
    return;
  }
  if (!vocabulary.is_array()) fail_format("'vocab': expected an object, or a list of a Unigram");
  TokenId id = 0;
  for (const json& each : vocabulary) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number()) {
      fail_format("'vocab': expected a text and a score of every token");
    }
    visit(each[0].get<std::string>(), id++, each[1].get<double>());
  }
}

/// The id of the unknown token of a model that names it by its text.
TokenId unknown_of(const json& model, const Tokenizer::State& state) {
  const std::string text = optional_text(model, "unk_token");
  return text.empty() ? kNoToken : state.vocabulary.named(text);
}

void read_byte_pairs(const json& model, const Steps& steps, Tokenizer::State& state) {
  check_members("model BPE", model,
                {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                 "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  const json& dropout = member(model, "dropout");
  if (!dropout.is_null() && dropout != 0) refuse("model: 'dropout' is not known", dropout);
  BytePairOptions options;
  options.has_bytes = steps.has_bytes;
  options.whole_words =
      flag_member(model, "ignore_merges", false) ? WholeWords::kAll : WholeWords::kNone;
  options.unknown = unknown_of(model, state);
  options.last_rank_counts = true;
  options.names_unknown = !optional_text(model, "unk_token").empty();
  options.fuses_unknown = flag_member(model, "fuse_unk", false);
  options.falls_back_to_bytes = flag_member(model, "byte_fallback", false);
  options.continuing_prefix = optional_text(model, "continuing_subword_prefix");
  options.end_suffix = optional_text(model, "end_of_word_suffix");
  auto merges = merges_of(model);
  if (steps.has_bytes) {
    for (auto& [left, right] : merges) {
      left = bytes_from_characters(left);
      right = bytes_from_characters(right);
    }
  }
  const bool is_plain = options.continuing_prefix.empty() && options.end_suffix.empty();
  const bool is_whole = options.whole_words != WholeWords::kNone;
  if (!steps.has_others && is_plain && steps.has_bytes && options.unknown == kNoToken) {
    state.gguf_name = {GgufName::Kind::kBytes, steps.adds_space, {"", steps.patterns, is_whole}};
  } else if (!steps.has_others && is_plain && !is_whole && steps.has_space_sign &&
             steps.patterns.empty() && !steps.has_bytes) {
    state.gguf_name = {GgufName::Kind::kScores, steps.adds_space, {}};
  }
  state.unknown = options.unknown;
  state.model = std::make_unique<BytePairs>(state.vocabulary, merges, std::move(options));
}

void read_unigram(const json& model, Tokenizer::State& state) {
  check_members("model Unigram", model, {"type", "unk_id", "vocab", "byte_fallback"});
  if (!member(model, "vocab").is_array()) fail_format("'vocab': expected a list");
  std::vector<double> scores;
  std::vector<TextIndex::Entry> entries;
  for_each_token(model, [&](const std::string& text, TokenId id, double score) {
    scores.push_back(score);
    entries.push_back({text, id});
  });
  if (scores.empty()) fail_format("'vocab': expected a token");
  UnigramOptions options;
  const json& unknown = member(model, "unk_id");
  if (!unknown.is_null()) options.unknown = id_of(unknown);
  if (options.unknown >= static_cast<TokenId>(scores.size())) {
    fail_format("'unk_id': expected a token of the vocabulary");
  }
  options.falls_back_to_bytes = flag_member(model, "byte_fallback", false);
  const double lowest = *std::ranges::min_element(scores);
  state.unknown = options.unknown;
  state.model = std::make_unique<Unigram>(state.vocabulary, std::move(scores), std::move(entries),
                                          lowest, options);
}

void read_word_pieces(const json& model, Tokenizer::State& state) {
  check_members(
      "model WordPiece", model,
      {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  WordPieceOptions options;
  options.unknown = unknown_of(model, state);
  const json& prefix = member(model, "continuing_subword_prefix");
  options.continuing_prefix =
      prefix.is_null() ? "##" : text_member(model, "continuing_subword_prefix");
  options.max_characters = count_member(model, "max_input_chars_per_word", 100);
  state.unknown = options.unknown;
  state.model = std::make_unique<WordPieces>(state.vocabulary, std::move(options));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> merges_of(const json& model) {
  const json& list = member(model, "merges");
  if (!list.is_array()) fail_format("'merges': expected a list");
  std::vector<std::pair<std::string, std::string>> merges;
  for (const json& merge : list) {
    std::string left;
    std::string right;
    const std::string text = merge.is_string() ? merge.get<std::string>() : std::string();
    const std::size_t space = text.find(' ', 1);
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (text.empty() || space == std::string::npos) {
      fail_format("merge " + std::to_string(merges.size()) + ": expected two texts");
    } else {
      left = text.substr(0, space);
      right = text.substr(space + 1);
    }
    merges.emplace_back(std::move(left), std::move(right));
  }
  return merges;
}

std::vector<Token> tokens_of(const json& root, const Steps& steps) {
  const json& model = member(root, "model");
  const bool has_byte_tokens =
      flag_member(model, "byte_fallback", false) || decodes_bytes(member(root, "decoder"));
  std::vector<Token> tokens;
  for_each_token(model, [&](const std::string& text, TokenId id, double) {
    Token token{text};
    const std::optional<char> byte = has_byte_tokens ? byte_named(text) : std::nullopt;
    if (steps.has_bytes) {
      std::optional<std::string> bytes = bytes_named_by(text);
      token.is_word = bytes.has_value();
      if (bytes) token.text = std::move(*bytes);
    }
    if (byte) token = {std::string(1, *byte), 0, TokenKind::kByte};
    place(tokens, id, std::move(token));
  });
  const json& added = member(root, "added_tokens");
  for (const json& each : added.is_array() ? added : json::array()) {
    check_members("added_tokens", each,
                  {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const TokenId id = id_of(member(each, "id"));
    const std::string text = text_member(each, "content");
    const bool is_control = flag_member(each, "special", false);
    const auto at = static_cast<std::size_t>(id);
    const bool is_word = at < tokens.size() && tokens[at].kind != TokenKind::kUnused;
    if (is_word && tokens[at].kind == TokenKind::kByte) continue;
    place(tokens, id,
          {text, 0, is_control ? TokenKind::kControl : TokenKind::kUserDefined, is_word});
  }
  return tokens;
}

void read_model(const json& model, const Steps& steps, Tokenizer::State& state) {
  const json& type = member(model, "type");
  if (steps.has_bytes && type != "BPE") {
    refuse("model: expected one of type BPE behind ByteLevel", type);
  }
  if (type == "BPE") {
    read_byte_pairs(model, steps, state);
  } else if (type == "Unigram") {
    read_unigram(model, state);
  } else if (type == "WordPiece") {
    read_word_pieces(model, state);
  } else if (type == "WordLevel") {
    check_members("model WordLevel", model, {"type", "unk_token", "vocab"});
    state.unknown = unknown_of(model, state);
    state.model = std::make_unique<WholeWordModel>(state.vocabulary, state.unknown);
  } else {
    refuse("model: expected one of type BPE, Unigram, WordPiece or WordLevel", type);
  }
}

}  // namespace halftone::lm::tokenizer_json
