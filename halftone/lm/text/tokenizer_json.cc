// SPDX-License-Identifier: Apache-2.0
// Reads tokenizer.json of Hugging Face's tokenizers.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/json_parts.h"

namespace halftone::lm {
namespace {

using namespace tokenizer_json;  // NOLINT(google-build-using-namespace): its parts
using nlohmann::json;

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

void read_added_tokens(const json& added, Tokenizer::State& state) {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normal;
  for (const json& each : added.is_array() ? added : json::array()) {
    AddedToken token;
    token.id = id_of(member(each, "id"));
    token.text = text_member(each, "content");
    token.is_control = flag_member(each, "special", false);
    token.is_single_word = flag_member(each, "single_word", false);
    token.strips_left = flag_member(each, "lstrip", false);
    token.strips_right = flag_member(each, "rstrip", false);
    const bool is_normal = flag_member(each, "normalized", !token.is_control);
    if (is_normal) {
      NormalText text{token.text};
      state.normalizer.apply(text);
      token.text = text.text;
    }
    (is_normal ? normal : raw).push_back(std::move(token));
  }
  state.added = AddedTokens(std::move(raw), AddedTokens::Order::kFirst);
  state.added_to_normal = AddedTokens(std::move(normal), AddedTokens::Order::kFirst);
}

/// The tokens of a special token of a template.
std::vector<TokenId> template_tokens(const json& processor, const json& special,
                                     const Vocabulary& vocabulary) {
  const std::string name = text_member(special, "id");
  const json& ids = member(member(member(processor, "special_tokens"), name.c_str()), "ids");
  std::vector<TokenId> tokens;
  for (const json& id : ids.is_array() ? ids : json::array()) tokens.push_back(id_of(id));
  if (ids.is_array()) return tokens;
  const TokenId named = vocabulary.named(name);
  if (named == kNoToken) fail_format("post_processor: expected the ids of '" + name + "'");
  return {named};
}

void read_template(const json& processor, Tokenizer::State& state) {
  const json& single = member(processor, "single");
  if (!single.is_array()) fail_format("post_processor: 'single': expected a list");
  std::vector<TokenId> front;
  std::vector<TokenId> back;
  bool is_behind = false;
  for (const json& each : single) {
    const json& special = member(each, "SpecialToken");
    if (special.is_object()) {
      const auto tokens = template_tokens(processor, special, state.vocabulary);
      auto& list = is_behind ? back : front;
      list.insert(list.end(), tokens.begin(), tokens.end());
    } else if (member(member(each, "Sequence"), "id") == "A" && !is_behind) {
      is_behind = true;
    } else {
      refuse("post_processor: expected one sequence A, and special tokens", each);
    }
  }
  if (!is_behind) refuse("post_processor: expected a sequence A", single);
  state.front.insert(state.front.begin(), front.begin(), front.end());
  state.back.insert(state.back.end(), back.begin(), back.end());
}

/// A token of BertProcessing: ["[SEP]", 102].
TokenId pair_token(const json& processor, const char* key) {
  const json& pair = member(processor, key);
  if (!pair.is_array() || pair.size() != 2) {
    fail_format("post_processor: '" + std::string(key) + "': expected a text and an id");
  }
  return id_of(pair[1]);
}

void read_post_processor(const json& post_processor, Tokenizer::State& state) {
  for (const json& step : steps_of(post_processor, "processors")) {
    const std::string type = text_member(step, "type");
    check_members("post_processor " + type, step,
                  {"type", "single", "pair", "special_tokens", "sep", "cls", "trim_offsets",
                   "add_prefix_space", "use_regex"});
    if (type == "TemplateProcessing") {
      read_template(step, state);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      state.front.insert(state.front.begin(), pair_token(step, "cls"));
      state.back.push_back(pair_token(step, "sep"));
    } else if (type != "ByteLevel") {  // that one changes no tokens
      refuse("post_processor: " + type + " is not known", step);
    }
  }
  for (const TokenId token : state.front) (void)state.vocabulary.token(token);
  for (const TokenId token : state.back) (void)state.vocabulary.token(token);
  if (!state.front.empty()) state.begin = state.front.front();
}

/// To what the file would cut and fill texts.
void read_sizes(const json& root, Tokenizer::State& state) {
  const json& truncation = member(root, "truncation");
  if (!truncation.is_null()) {
    state.max_tokens = count_member(truncation, "max_length", std::size_t{1} << 24);
  }
  const json& padding = member(root, "padding");
  const bool fills = !padding.is_null() && (member(padding, "strategy") != "BatchLongest" ||
                                            !member(padding, "pad_to_multiple_of").is_null());
  if (fills) refuse("'padding': expected null or BatchLongest", padding);
}

json parse_document(const SharedBytes& file) {
  const auto* first = reinterpret_cast<const char*>(file.bytes.data());
  json root = json::parse(first, first + file.bytes.size(), nullptr, false);
  if (!root.is_object()) fail_format("expected an object in JSON, found other text");
  check_members("the file", root,
                {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                 "post_processor", "decoder", "model"});
  return root;
}

}  // namespace

Tokenizer Tokenizer::from_tokenizer_json(const SharedBytes& file) {
  const json root = parse_document(file);
  const json& model = member(root, "model");
  // The steps say what the texts of tokens mean, of which the steps know nothing.
  Steps steps;
  State read(Vocabulary({{"", 0, TokenKind::kUnused}}));
  read_normalizer(member(root, "normalizer"), steps, read);
  read_pre_tokenizer(member(root, "pre_tokenizer"), steps, read);
  if (!model.is_object()) {
    refuse("model: expected one of type BPE, Unigram, WordPiece or WordLevel", model);
  }
  std::vector<Token> tokens = tokens_of(root, steps);
  if (member(model, "type") == "BPE" && !steps.has_bytes) set_scores(tokens, merges_of(model));
  auto state = std::make_shared<State>(Vocabulary(std::move(tokens)));
  state->normalizer = std::move(read.normalizer);
  state->pre_tokenizer = std::move(read.pre_tokenizer);
  read_model(model, steps, *state);
  read_decoder(member(root, "decoder"), steps, *state);
  read_added_tokens(member(root, "added_tokens"), *state);
  read_post_processor(member(root, "post_processor"), *state);
  read_sizes(root, *state);
  return Tokenizer(std::move(state));
}

}  // namespace halftone::lm
