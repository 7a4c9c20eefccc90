// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/model_texts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/formats/gguf/gguf_file.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

std::string file_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A JSON object in a folder; an empty one if there is no such file.
json object_in(const std::filesystem::path& folder, const char* name) {
  const std::filesystem::path path = folder / name;
  if (!std::filesystem::exists(path)) return json::object();
  json object = json::parse(file_text(path), nullptr, false);
  if (!object.is_object()) fail(ErrorKind::kFormat, path.string() + ": expected an object in JSON");
  return object;
}

const json& value_of(const json& object, const char* key) {
  static const json nothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : nothing;
}

/// The text of a token: a string, or an object with its content.
std::string token_text(const json& config, const char* key) {
  const json& token = value_of(config, key);
  const json& text = token.is_object() ? value_of(token, "content") : token;
  return text.is_string() ? text.get<std::string>() : "";
}

/// A text, or the default one of a list of {"name", "template"}.
std::string template_text(const json& config) {
  const json& found = value_of(config, "chat_template");
  if (found.is_string()) return found.get<std::string>();
  for (const json& each : found.is_array() ? found : json::array()) {
    if (value_of(each, "name") == "default") {
      const json& text = value_of(each, "template");
      if (text.is_string()) return text.get<std::string>();
    }
  }
  return "";
}

void add_end(std::vector<TokenId>& ends, std::int64_t id, const Tokenizer& tokenizer) {
  if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.vocabulary().size()) return;
  ends.push_back(static_cast<TokenId>(id));
}

void sort_ends(std::vector<TokenId>& ends) {
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

ModelTexts texts_of_gguf(const std::filesystem::path& path) {
  const formats::GgufFile file = formats::GgufFile::open(path);
  return with_context(path.string(), [&] {
    ModelTexts texts{Tokenizer::from_gguf(file),
                     std::string(file.text("tokenizer.chat_template").value_or("")),
                     {},
                     {}};
    texts.marks = chat_marks(texts.tokenizer);
    texts.end_tokens = end_tokens(texts.tokenizer);
    for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
      add_end(texts.end_tokens, file.integer(key).value_or(-1), texts.tokenizer);
    }
    sort_ends(texts.end_tokens);
    return texts;
  });
}

ModelTexts texts_of_folder(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "tokenizer.json";
  const SharedBytes bytes = map_file(file);
  ModelTexts texts{
      with_context(folder.string(), [&] { return Tokenizer::from_tokenizer_json(bytes); }),
      "",
      {},
      {}};
  const json config = object_in(folder, "tokenizer_config.json");
  texts.chat_template = template_text(config);
  const std::filesystem::path jinja = folder / "chat_template.jinja";
  if (std::filesystem::exists(jinja)) texts.chat_template = file_text(jinja);
  texts.marks = {token_text(config, "bos_token"), token_text(config, "eos_token")};
  texts.end_tokens = end_tokens(texts.tokenizer);
  const TokenId end = texts.tokenizer.vocabulary().control(texts.marks.end);
  if (end != kNoToken) texts.end_tokens.push_back(end);
  const json generation = object_in(folder, "generation_config.json");
  const json& ids = value_of(generation, "eos_token_id");
  for (const json& id : ids.is_array() ? ids : json::array({ids})) {
    if (id.is_number_integer()) add_end(texts.end_tokens, id.get<std::int64_t>(), texts.tokenizer);
  }
  sort_ends(texts.end_tokens);
  return texts;
}

}  // namespace

std::vector<TokenId> end_tokens(const Tokenizer& tokenizer) {
  constexpr std::array<std::string_view, 10> kEnds = {
      "<|im_end|>",    "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>",
      "<|endoftext|>", "<|eot|>",    "</s>",       "<|return|>",    "<|end_of_text|>"};
  std::vector<TokenId> tokens;
  if (tokenizer.end() != kNoToken) tokens.push_back(tokenizer.end());
  for (const std::string_view end : kEnds) {
    const TokenId token = tokenizer.vocabulary().control(end);
    if (token != kNoToken) tokens.push_back(token);
  }
  sort_ends(tokens);
  return tokens;
}

ModelTexts read_model_texts(const std::filesystem::path& model,
                            const std::filesystem::path& tokenizer) {
  const bool is_llama2c = model.extension() == ".bin";
  if (is_llama2c != !tokenizer.empty()) {
    fail(ErrorKind::kUsage,
         model.string() + (is_llama2c ? ": a model of llama2.c: expected a tokenizer beside it, as "
                                        "tokenizer.bin, found none"
                                      : ": has a tokenizer of its own: expected no other one"),
         Hint::kTokenizer);
  }
  if (std::filesystem::is_directory(model)) return texts_of_folder(model);
  if (!is_llama2c) return texts_of_gguf(model);
  const SharedBytes bytes = map_file(tokenizer);
  ModelTexts texts{
      with_context(tokenizer.string(), [&] { return Tokenizer::from_llama2c(bytes); }), "", {}, {}};
  texts.marks = chat_marks(texts.tokenizer);
  // It trains on texts one after another: the next one's begin token ends a text.
  texts.end_tokens = {texts.tokenizer.begin(), texts.tokenizer.end()};
  return texts;
}

}  // namespace halftone::lm
