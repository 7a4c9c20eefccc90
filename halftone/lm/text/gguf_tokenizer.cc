// SPDX-License-Identifier: Apache-2.0
// Reads the tokenizers of GGUF files. Source: ggml-org/llama.cpp, src/llama-vocab.cpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/end_texts.h"
#include "halftone/lm/text/gguf_text_keys.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/text/tokenizer_state.h"
#include "halftone/lm/text/unigram.h"
#include "halftone/lm/text/utf8.h"
#include "halftone/lm/text/word_pieces.h"

namespace halftone::lm {
namespace {

using formats::GgufArray;
using formats::GgufFile;

enum class ModelKind : std::uint8_t { kBytes, kCharacters, kScores, kUnigram, kWordPieces };

[[noreturn]] void fail_tokenizer(const std::string& message) { fail(ErrorKind::kFormat, message); }

/// A list of the file; null if it has none.
const GgufArray* list(const GgufFile& file, const char* key) {
  const formats::GgufValue* value = file.find(key);
  if (value == nullptr) return nullptr;
  if (const auto* array = std::get_if<GgufArray>(value)) return array;
  fail_tokenizer("key '" + std::string(key) + "': expected a list, found another type");
}

std::optional<bool> flag(const GgufFile& file, const char* key) {
  const formats::GgufValue* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* found = std::get_if<bool>(value)) return *found;
  fail_tokenizer("key '" + std::string(key) + "': expected a boolean, found another type");
}

TokenId token_key(const GgufFile& file, const char* key, std::size_t size) {
  const auto id = file.integer(key);
  if (!id) return kNoToken;
  if (*id < 0 || static_cast<std::size_t>(*id) >= size) {
    fail_tokenizer("key '" + std::string(key) + "': expected a token below " +
                   std::to_string(size) + ", found " + std::to_string(*id));
  }
  return static_cast<TokenId>(*id);
}

ModelKind model_kind(const GgufFile& file) {
  constexpr std::array<std::pair<std::string_view, ModelKind>, 5> kModels = {
      {{"gpt2", ModelKind::kBytes},
       {"llama", ModelKind::kScores},
       {"t5", ModelKind::kUnigram},
       {"bert", ModelKind::kWordPieces},
       {"gemma4", ModelKind::kCharacters}}};
  const std::string_view model = file.text(gguf_text_key::kModel).value_or("");
  const std::string_view rule = file.text(gguf_text_key::kRule).value_or("");
  for (const auto& [name, kind] : kModels) {
    if (name != model) continue;
    const bool has_characters =
        rule == "gemma4" || rule == "granite-embed-multi-311m" || rule == "sarvam-moe";
    return kind == ModelKind::kBytes && has_characters ? ModelKind::kCharacters : kind;
  }
  fail(ErrorKind::kUnsupported,
       "key 'tokenizer.ggml.model': expected gpt2, llama, t5, bert or gemma4, found '" +
           std::string(model) + "'");
}

/// Whether llama.cpp takes a token for a control token by its text, where no key names one.
bool is_control_by_text(const GgufFile& file, std::string_view text) {
  struct Fill {
    const char* key;
    std::array<std::string_view, 8> texts;
  };
  constexpr std::array<Fill, 6> kFills = {
      {{"tokenizer.ggml.fim_pre_token_id",
        {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
         "<|code_prefix|>", "<|prefix|>"}},
       {"tokenizer.ggml.fim_suf_token_id",
        {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
         "<|code_suffix|>", "<|suffix|>"}},
       {"tokenizer.ggml.fim_mid_token_id",
        {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
         "<|code_middle|>", "<|middle|>"}},
       {gguf_text_key::kFillPadding, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
       {gguf_text_key::kFillRepository,
        {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
       {gguf_text_key::kFillSeparator, {"<|file_sep|>"}}}};
  return !text.empty() && std::ranges::any_of(kFills, [&](const Fill& fill) {
    return std::ranges::find(fill.texts, text) != fill.texts.end() &&
           file.find(fill.key) == nullptr;
  });
}

/// Kinds that llama.cpp takes from texts.
void set_kinds_by_text(const GgufFile& file, std::vector<Token>& tokens) {
  const auto has = [&](std::string_view text) {
    return std::ranges::find(tokens, text, &Token::text) != tokens.end();
  };
  for (Token& token : tokens) {
    if (token.kind == TokenKind::kByte) continue;
    const std::string_view text = token.text;
    if (ends_answers(text, has) || is_control_by_text(file, text)) {
      token.kind = TokenKind::kControl;
    } else if (text == "<|channel|>" || text == "<|message|>" || text == "<|start|>" ||
               text == "<|constrain|>" || text == "<|end|>") {
      token.kind = TokenKind::kUserDefined;  // shown
    } else if (text == "</s>") {
      token.kind = TokenKind::kNormal;
    }
  }
}

/// The kind of a token of a file.
void set_kind(Token& token, std::int64_t kind) {
  if (kind < 1 || kind > 6) {
    fail_tokenizer("key 'tokenizer.ggml.token_type': expected 1 to 6, found " +
                   std::to_string(kind));
  }
  token.kind = static_cast<TokenKind>(kind);
  if (token.kind == TokenKind::kByte) {
    const std::optional<char> byte = byte_named(token.text);
    if (!byte) fail_tokenizer("token '" + token.text + "': expected a byte such as <0x0A>");
    token.text = *byte;
  }
}

std::vector<Token> tokens_of(const GgufFile& file, ModelKind model) {
  const GgufArray* texts = list(file, gguf_text_key::kTokens);
  if (texts == nullptr || texts->texts.empty()) {
    fail_tokenizer("key 'tokenizer.ggml.tokens': expected a list of texts, found none");
  }
  const GgufArray* scores = list(file, gguf_text_key::kScores);
  const GgufArray* kinds = list(file, gguf_text_key::kKinds);
  const std::size_t size = texts->texts.size();
  if ((scores != nullptr && scores->numbers.size() != size) ||
      (kinds != nullptr && kinds->integers.size() != size)) {
    fail_tokenizer("tokenizer: expected " + std::to_string(size) +
                   " scores and kinds of tokens, found other numbers of them");
  }
  std::vector<Token> tokens(size);
  for (std::size_t i = 0; i < size; ++i) {
    tokens[i].text = texts->texts[i];
    if (scores != nullptr) tokens[i].score = static_cast<float>(scores->numbers[i]);
    set_kind(tokens[i], kinds != nullptr ? kinds->integers[i] : 1);
  }
  set_kinds_by_text(file, tokens);
  for (Token& token : tokens) {
    if (model == ModelKind::kBytes && token.kind == TokenKind::kNormal) {
      std::optional<std::string> bytes = bytes_named_by(token.text);
      token.is_word = bytes.has_value();
      if (bytes) token.text = std::move(*bytes);
    }
  }
  return tokens;
}

/// The pairs of a list of "left right".
std::vector<std::pair<std::string, std::string>> merges_of(const GgufFile& file, bool has_bytes) {
  const GgufArray* list_of_merges = list(file, gguf_text_key::kMerges);
  if (list_of_merges == nullptr && file.text(gguf_text_key::kRule) == "kimi-k2") return {};
  if (list_of_merges == nullptr) {
    fail_tokenizer("key 'tokenizer.ggml.merges': expected a list of texts, found none");
  }
  std::vector<std::pair<std::string, std::string>> merges;
  for (const std::string_view merge : list_of_merges->texts) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      fail_tokenizer("merge '" + std::string(merge) + "': expected two texts with a space between");
    }
    const std::string left(merge.substr(0, space));
    const std::string right(merge.substr(space + 1));
    if (has_bytes) {
      merges.emplace_back(bytes_from_characters(left), bytes_from_characters(right));
    } else {
      merges.emplace_back(left, right);
    }
  }
  return merges;
}

/// The ids of tokens that llama.cpp takes where a file names none.
TokenId default_token(const char* key, ModelKind model, const Vocabulary& vocabulary) {
  const bool has_pieces = model == ModelKind::kScores;
  TokenId token = kNoToken;
  if (key == gguf_text_key::kBegin) token = has_pieces ? 1 : kNoToken;
  if (key == gguf_text_key::kEnd) token = has_pieces ? 2 : kNoToken;
  if (key == gguf_text_key::kUnknown) token = has_pieces ? 0 : kNoToken;
  if (model == ModelKind::kUnigram && key != gguf_text_key::kBegin) {
    token = key == gguf_text_key::kEnd ? 1 : 2;
  }
  if (model == ModelKind::kWordPieces) {
    token = key == gguf_text_key::kBegin ? 101 : key == gguf_text_key::kUnknown ? 100 : kNoToken;
  }
  if (token == kNoToken || token >= static_cast<TokenId>(vocabulary.size())) return kNoToken;
  const TokenKind kind = vocabulary.token(token).kind;
  return kind == TokenKind::kControl || kind == TokenKind::kUnknown ? token : kNoToken;
}

/// The tokens that texts begin and end with.
void read_ends(const GgufFile& file, ModelKind model, Tokenizer::State& state) {
  const std::size_t size = state.vocabulary.size();
  const auto id = [&](const char* key) {
    const TokenId named = token_key(file, key, size);
    return named != kNoToken ? named : default_token(key, model, state.vocabulary);
  };
  state.begin = id(gguf_text_key::kBegin);
  state.end = id(gguf_text_key::kEnd);
  state.unknown = id(gguf_text_key::kUnknown);
  if (model == ModelKind::kWordPieces) {
    const TokenId separator = token_key(file, gguf_text_key::kSeparator, size);
    const TokenId back = separator != kNoToken || size <= 102 ? separator : 102;
    if (state.begin != kNoToken) state.front = {state.begin};
    if (back != kNoToken) state.back = {back};
    return;
  }
  const auto rule = file.text(gguf_text_key::kRule);
  const bool adds_by_default = model == ModelKind::kScores ||
                               (model == ModelKind::kBytes && rule && split_rule(*rule).adds_begin);
  const std::optional<bool> adds_begin = flag(file, gguf_text_key::kAddsBegin);
  const std::optional<bool> adds_end = flag(file, gguf_text_key::kAddsEnd);
  if ((adds_begin == true && state.begin == kNoToken) ||
      (adds_end == true && state.end == kNoToken)) {
    fail_tokenizer(std::string("key '") +
                   (state.begin == kNoToken ? gguf_text_key::kBegin : gguf_text_key::kEnd) +
                   "': expected a token, which is added to texts, found none");
  }
  // llama.cpp puts it in front whatever the file says, if the merges are of characters.
  const bool begins = adds_begin.value_or(adds_by_default) || model == ModelKind::kCharacters;
  if (begins && state.begin != kNoToken) state.front = {state.begin};
  if (adds_end.value_or(model == ModelKind::kUnigram) && state.end != kNoToken) {
    state.back = {state.end};
  }
}

bool is_special_kind(TokenKind kind) {
  return kind == TokenKind::kControl || kind == TokenKind::kUserDefined ||
         kind == TokenKind::kUnknown;
}

/// White space that special tokens take is known by the names of models.
void set_strips(const GgufFile& file, AddedToken& token) {
  std::string name(file.text("general.name").value_or(""));
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const auto has = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  const std::string_view rule = file.text(gguf_text_key::kRule).value_or("");
  const std::string_view family = file.text("general.architecture").value_or("");
  if (has(rule, "jina-v2-de") || has(rule, "jina-v2-es") || has(rule, "jina-v2-code") ||
      has(family, "nomic-bert-moe") || has(family, "jina-bert-v3")) {
    token.strips_left = token.text == "<mask>";
  } else if (has(name, "phi-3") || has(name, "phi3")) {
    token.strips_right =
        token.text != "<unk>" && token.text != "<s>" && token.text != "<|endoftext|>";
  } else if (has(name, "modern-bert")) {
    token.strips_left = token.text == "[MASK]";
  }
}

void read_added_tokens(const GgufFile& file, Tokenizer::State& state) {
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < state.vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const Token& token = state.vocabulary.token(id);
    if (!is_special_kind(token.kind)) continue;
    added.push_back({id, token.text, token.kind != TokenKind::kUserDefined});
    set_strips(file, added.back());
  }
  state.added = AddedTokens(std::move(added), AddedTokens::Order::kLongest);
}

void read_byte_pairs(const GgufFile& file, Tokenizer::State& state) {
  const auto name = file.text(gguf_text_key::kRule);
  if (!name) {
    state.warning =
        "key 'tokenizer.ggml.pre' is absent: words are split as llama.cpp splits them then, which "
        "may not be what the model was made with";
  }
  const SplitRule& rule = split_rule(name.value_or("default"));
  for (const std::string& pattern : rule.patterns) {
    state.pre_tokenizer.add(pre_tokenizer_step::split(Regex(pattern), SplitBehavior::kIsolated));
  }
  BytePairOptions options;
  if (rule.takes_whole_words) options.whole_words = WholeWords::kAll;
  state.model = std::make_unique<BytePairs>(state.vocabulary, merges_of(file, true), options);
  state.gguf_name = {GgufName::Kind::kBytes, false, rule};
}

void read_character_pairs(const GgufFile& file, Tokenizer::State& state) {
  const std::string sign(kSpaceSign);
  state.normalizer.add(normalizer_step::replace_text(" ", sign));
  state.pre_tokenizer.add(
      pre_tokenizer_step::split(Regex(R"([^\n]+|[\n]+)"), SplitBehavior::kIsolated));
  BytePairOptions options;
  options.has_bytes = false;
  options.falls_back_to_bytes = true;
  options.whole_words =
      file.text(gguf_text_key::kRule) == "sarvam-moe" ? WholeWords::kNone : WholeWords::kLineFeeds;
  state.model = std::make_unique<BytePairs>(state.vocabulary, merges_of(file, false), options);
  state.decoder.add(decoder_step::replace_text(sign, " "));
}

Charsmap charsmap_of(const GgufFile& file) {
  const GgufArray* map = list(file, gguf_text_key::kCharsmap);
  std::string bytes;
  if (map != nullptr) {
    for (const std::int64_t byte : map->integers) bytes += static_cast<char>(byte & 0xFF);
  }
  return Charsmap(bytes);
}

void read_unigrams(const GgufFile& file, Tokenizer::State& state) {
  std::vector<std::string> kept;
  std::vector<double> scores;
  std::vector<TextIndex::Entry> entries;
  float lowest = 0;
  for (std::size_t i = 0; i < state.vocabulary.size(); ++i) {
    const Token& token = state.vocabulary.token(static_cast<TokenId>(i));
    const bool is_kept = token.kind == TokenKind::kUserDefined;
    scores.push_back(is_kept ? 0 : static_cast<double>(token.score));
    if (token.kind == TokenKind::kNormal) lowest = std::min(lowest, token.score);
    if (is_kept) kept.push_back(token.text);
    if (is_kept || token.kind == TokenKind::kNormal || token.kind == TokenKind::kUnused) {
      entries.push_back({token.text, static_cast<TokenId>(i)});
    }
  }
  const std::string sign(kSpaceSign);
  state.normalizer.add(
      normalizer_step::precompiled_by_prefixes(charsmap_of(file), std::move(kept)));
  state.normalizer.add(
      normalizer_step::spaces({flag(file, gguf_text_key::kAddsSpace).value_or(false),
                               flag(file, gguf_text_key::kMergesSpaces).value_or(false)}));
  state.normalizer.add(normalizer_step::replace_text(" ", sign));
  state.model = std::make_unique<Unigram>(state.vocabulary, std::move(scores), std::move(entries),
                                          lowest, UnigramOptions{state.unknown});
  state.decoder.add(decoder_step::replace_text(sign, " "));
  state.decoder.add(decoder_step::strip_front(" ", 1, true));
}

void read_word_pieces(const GgufFile& file, Tokenizer::State& state) {
  BertNormalizer options;
  options.lowers_case = flag(file, gguf_text_key::kLowersCase).value_or(true);
  options.strips_accents = flag(file, gguf_text_key::kStripsAccents).value_or(options.lowers_case);
  state.normalizer.add(normalizer_step::bert(options));
  state.pre_tokenizer.add(pre_tokenizer_step::split_at(is_white_space, SplitBehavior::kRemoved));
  state.pre_tokenizer.add(pre_tokenizer_step::split_at(is_punctuation, SplitBehavior::kIsolated));
  WordPieceOptions pieces;
  pieces.unknown = state.unknown;
  pieces.first_prefix = kSpaceSign;
  state.model = std::make_unique<WordPieces>(state.vocabulary, pieces);
  state.decoder.add(decoder_step::replace_text(std::string(kSpaceSign), " "));
  state.decoder.add(decoder_step::strip_front(" ", 1, true));
}

}  // namespace

Tokenizer Tokenizer::from_gguf(const GgufFile& file) {
  const ModelKind model = model_kind(file);
  auto state = std::make_shared<State>(Vocabulary(tokens_of(file, model)));
  read_ends(file, model, *state);
  read_added_tokens(file, *state);
  switch (model) {
    case ModelKind::kBytes:
      read_byte_pairs(file, *state);
      break;
    case ModelKind::kCharacters:
      read_character_pairs(file, *state);
      break;
    case ModelKind::kScores:
      set_sentence_pieces(*state, flag(file, gguf_text_key::kAddsSpace).value_or(true));
      break;
    case ModelKind::kUnigram:
      read_unigrams(file, *state);
      break;
    case ModelKind::kWordPieces:
      read_word_pieces(file, *state);
      break;
  }
  return Tokenizer(std::move(state));
}

}  // namespace halftone::lm
