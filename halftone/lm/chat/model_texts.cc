// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/model_texts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/base/paths.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/text/end_texts.h"
#include "halftone/lm/text/gguf_text_keys.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// The files of a folder that read_text_files() takes; the first must be there.
constexpr std::array kFolderFiles = {"tokenizer.json", "tokenizer_config.json",
                                     "chat_template.jinja", "generation_config.json"};
/// In place of these, a GGUF file without tensors.
constexpr const char* kGgufKeys = "keys.gguf";
constexpr const char* kLlama2cTokenizer = "tokenizer.bin";
constexpr const char* kConfig = "config.json";

std::string_view text_of(const SharedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()};
}

/// A JSON object; an empty one if there is no such file.
json object_in(const TextFiles& files, const char* name) {
  const auto file = files.find(name);
  if (file == files.end()) return json::object();
  json object = json::parse(json_of_python(text_of(file->second)), nullptr, false);
  if (!object.is_object()) {
    fail(ErrorKind::kFormat, std::string(name) + ": expected an object in JSON");
  }
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

/// Those that transformers gives templates: members whose names end in _token.
ChatMarks marks_of(const json& config) {
  ChatMarks marks{token_text(config, "bos_token"), token_text(config, "eos_token")};
  for (const auto& item : config.items()) {
    const std::string& key = item.key();
    if (!key.ends_with("_token") || key == "bos_token" || key == "eos_token") continue;
    const std::string text = token_text(config, key.c_str());
    if (!text.empty()) marks.others.emplace_back(key, text);
  }
  return marks;
}

void add_end(std::vector<TokenId>& ends, std::int64_t id, const Tokenizer& tokenizer) {
  if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.vocabulary().size()) return;
  ends.push_back(static_cast<TokenId>(id));
}

void sort_ends(std::vector<TokenId>& ends) {
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

ModelTexts texts_of_gguf(const formats::GgufFile& file) {
  ModelTexts texts{Tokenizer::from_gguf(file),
                   std::string(file.text(gguf_text_key::kChatTemplate).value_or("")),
                   {},
                   {}};
  texts.marks = chat_marks(texts.tokenizer);
  texts.end_tokens = end_tokens(texts.tokenizer);
  for (const char* key :
       {gguf_text_key::kEndOfTurn, gguf_text_key::kEndOfMessage, gguf_text_key::kFillPadding,
        gguf_text_key::kFillRepository, gguf_text_key::kFillSeparator}) {
    add_end(texts.end_tokens, file.integer(key).value_or(-1), texts.tokenizer);
  }
  sort_ends(texts.end_tokens);
  texts.answer_end_tokens = texts.end_tokens;
  return texts;
}

ModelTexts texts_of_llama2c(const SharedBytes& tokenizer) {
  ModelTexts texts{Tokenizer::from_llama2c(tokenizer), "", {}, {}};
  texts.marks = chat_marks(texts.tokenizer);
  // It trains on texts one after another: the next one's begin token ends a text.
  texts.end_tokens = {texts.tokenizer.begin(), texts.tokenizer.end()};
  texts.answer_end_tokens = texts.end_tokens;
  return texts;
}

/// The template of chats of a folder; empty if it has none.
std::string chat_template_of(const TextFiles& files) {
  const auto jinja = files.find("chat_template.jinja");
  if (jinja != files.end()) return std::string(text_of(jinja->second));
  return template_text(object_in(files, "tokenizer_config.json"));
}

/// What a folder says of generation: where it has no file for this, the model's configuration, or
/// that of its text model.
json generation_config(const TextFiles& files) {
  if (files.contains("generation_config.json")) return object_in(files, "generation_config.json");
  json config = object_in(files, kConfig);
  const json& text_config = value_of(config, "text_config");
  const bool is_nested = value_of(config, "eos_token_id").is_null() && text_config.is_object();
  return is_nested ? json(text_config) : config;
}

ModelTexts texts_of_files(const TextFiles& files) {
  const auto llama2c = files.find(kLlama2cTokenizer);
  if (llama2c != files.end()) return texts_of_llama2c(llama2c->second);
  const auto keys = files.find(kGgufKeys);
  if (keys != files.end()) return texts_of_gguf(formats::GgufFile::parse(keys->second));
  const auto tokenizer = files.find(kFolderFiles[0]);
  if (tokenizer == files.end()) fail(ErrorKind::kFormat, "has no tokenizer");
  ModelTexts texts{
      Tokenizer::from_tokenizer_json(tokenizer->second), chat_template_of(files), {}, {}};
  const json config = object_in(files, "tokenizer_config.json");
  texts.marks = marks_of(config);
  texts.answer_end_tokens = end_tokens(texts.tokenizer);
  const TokenId end = texts.tokenizer.vocabulary().named(texts.marks.end);
  if (end != kNoToken) texts.end_tokens.push_back(end);
  const json generation = generation_config(files);
  const json& ids = value_of(generation, "eos_token_id");
  for (const json& id : ids.is_array() ? ids : json::array({ids})) {
    if (id.is_number_integer()) add_end(texts.end_tokens, id.get<std::int64_t>(), texts.tokenizer);
  }
  // transformers ends texts with these alone; where there are none, the known ones are.
  if (texts.end_tokens.empty()) texts.end_tokens = texts.answer_end_tokens;
  sort_ends(texts.end_tokens);
  auto& ends = texts.answer_end_tokens;
  ends.insert(ends.end(), texts.end_tokens.begin(), texts.end_tokens.end());
  sort_ends(ends);
  return texts;
}

/// The id that the configuration of a model gives a token; kNoToken if there is none. Of several
/// the first.
TokenId id_in(const json& config, const std::string& key, std::size_t vocabulary) {
  const json& found = value_of(config, key.c_str());
  const json& id = found.is_array() && !found.empty() ? found[0] : found;
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocabulary) return kNoToken;
  return id.get<TokenId>();
}

/// What a folder says of special tokens: "bos", "eos", "unk" or "pad".
class SpecialTokens {
 public:
  SpecialTokens(const TextFiles& files, const Tokenizer& tokenizer, std::size_t vocabulary)
      : tokenizer_(tokenizer),
        vocabulary_(vocabulary),
        texts_(object_in(files, "tokenizer_config.json")),
        ids_{object_in(files, kConfig), object_in(files, "generation_config.json")} {}

  [[nodiscard]] TokenId find(const std::string& name) const {
    const std::string text = token_text(texts_, (name + "_token").c_str());
    if (!text.empty()) {
      const Vocabulary& tokens = tokenizer_.vocabulary();
      const TokenId control = tokens.control(text);
      const TokenId token = control != kNoToken ? control : tokens.find(text);
      if (token != kNoToken) return token;
    }
    for (const json& config : ids_) {
      const TokenId token = id_in(config, name + "_token_id", vocabulary_);
      if (token != kNoToken) return token;
    }
    return kNoToken;
  }

 private:
  const Tokenizer& tokenizer_;
  std::size_t vocabulary_;
  json texts_;
  std::array<json, 2> ids_;
};

/// Whether a file is read as GGUF: neither a folder nor Halftone's own.
bool is_gguf(const std::filesystem::path& model) {
  return !is_folder(model) && model.extension() != ".safetensors";
}

/// The tokenizer that is named, or that lies beside a model of llama2.c.
std::filesystem::path tokenizer_of(const std::filesystem::path& model,
                                   const std::filesystem::path& named) {
  const std::filesystem::path beside = model.parent_path() / kLlama2cTokenizer;
  const bool is_beside = named.empty() && model.extension() == ".bin" && path_exists(beside);
  return is_beside ? beside : named;
}

}  // namespace

std::vector<TokenId> end_tokens(const Tokenizer& tokenizer) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  const auto has = [&](std::string_view text) { return vocabulary.named(text) != kNoToken; };
  std::vector<TokenId> tokens;
  if (tokenizer.end() != kNoToken) tokens.push_back(tokenizer.end());
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const Token& token = vocabulary.token(id);
    if (token.kind != TokenKind::kByte && ends_answers(token.text, has)) tokens.push_back(id);
  }
  sort_ends(tokens);
  return tokens;
}

TextFiles read_text_files(const std::filesystem::path& model, const std::filesystem::path& named) {
  const std::filesystem::path tokenizer = tokenizer_of(model, named);
  if (!tokenizer.empty()) return {{kLlama2cTokenizer, map_file(tokenizer)}};
  if (is_gguf(model)) {
    const formats::GgufKeys keys(formats::GgufFile::open(model));
    return {{kGgufKeys, own_bytes(collect(
                            [&](const ByteSink& sink) { formats::write_gguf(sink, keys, {}); }))}};
  }
  if (!is_folder(model)) {
    auto container = formats::SafetensorsFile::open(model);
    return with_context(model.string(),
                        [&] { return ModelFile::parse(std::move(container)).texts(); });
  }
  TextFiles files;
  for (const char* name : kFolderFiles) {
    const bool is_needed = name == kFolderFiles[0];
    if (is_needed || path_exists(model / name)) {
      files.emplace(name, map_file(model / name));
    }
  }
  // It says which tokens end texts where there is no generation_config.json.
  if (!files.contains("generation_config.json") && path_exists(model / kConfig)) {
    files.emplace(kConfig, map_file(model / kConfig));
  }
  return files;
}

void set_gguf_text_keys(formats::GgufKeys& keys, const std::filesystem::path& folder,
                        std::size_t vocabulary) {
  TextFiles files = read_text_files(folder);
  if (path_exists(folder / kConfig)) files.emplace(kConfig, map_file(folder / kConfig));
  with_context(folder.string(), [&] {
    const auto tokenizer = Tokenizer::from_tokenizer_json(files.at(kFolderFiles[0]));
    const SpecialTokens special(files, tokenizer, vocabulary);
    constexpr std::array<std::pair<const char*, const char*>, 4> kTokens = {
        {{gguf_text_key::kBegin, "bos"},
         {gguf_text_key::kEnd, "eos"},
         {gguf_text_key::kUnknown, "unk"},
         {gguf_text_key::kPadding, "pad"}}};
    for (const auto& [key, name] : kTokens) {
      const TokenId token = special.find(name);
      if (token != kNoToken) keys.set(key, static_cast<std::uint32_t>(token));
    }
    // What the tokenizer says of itself is what it does.
    tokenizer.set_gguf_keys(keys, vocabulary);
    const std::string chat = chat_template_of(files);
    if (!chat.empty()) keys.set(gguf_text_key::kChatTemplate, std::string_view(chat));
  });
}

ModelTexts read_model_texts(const std::filesystem::path& model,
                            const std::filesystem::path& named) {
  const std::filesystem::path tokenizer = tokenizer_of(model, named);
  const bool is_llama2c = model.extension() == ".bin";
  if (is_llama2c != !tokenizer.empty()) {
    fail(ErrorKind::kUsage,
         model.string() + (is_llama2c ? ": a model of llama2.c: expected a tokenizer beside it, as "
                                        "tokenizer.bin, found none"
                                      : ": has a tokenizer of its own: expected no other one"),
         Hint::kTokenizer);
  }
  if (!is_llama2c && is_gguf(model)) {
    const auto file = formats::GgufFile::open(model);
    return with_context(model.string(), [&] { return texts_of_gguf(file); });
  }
  if (!is_llama2c) {
    const TextFiles files = read_text_files(model);
    return with_context(model.string(), [&] { return texts_of_files(files); });
  }
  const SharedBytes bytes = map_file(tokenizer);
  return with_context(tokenizer.string(), [&] { return texts_of_llama2c(bytes); });
}

}  // namespace halftone::lm
