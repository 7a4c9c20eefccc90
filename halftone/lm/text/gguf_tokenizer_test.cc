// SPDX-License-Identifier: Apache-2.0
// Tokenizers that GGUF files get from tokenizer.json.
#include <string>

#include "halftone/base/testing.h"
#include "halftone/formats/gguf/testing.h"
#include "halftone/lm/text/testing.h"
#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {
namespace {

using formats::gguf_of;
using formats::GgufFile;
using formats::GgufKeys;
using testing::ElementsAre;

constexpr std::size_t kVocabulary = 300;

Tokenizer tokenizer_of(const std::string& json) {
  const auto* first = reinterpret_cast<const std::byte*>(json.data());
  return Tokenizer::from_tokenizer_json(own_bytes({first, first + json.size()}));
}

GgufFile written(const Tokenizer& tokenizer, std::size_t size = kVocabulary) {
  GgufKeys keys;
  tokenizer.set_gguf_keys(keys, size);
  return gguf_of(keys);
}

/// All bytes from 0 on, "ab" (256), "abc" (257), a control token (258), a gap, and "  <x>" (260),
/// which is user-defined.
std::string byte_level_json(const std::string& pre_tokenizer, const std::string& more = "") {
  std::string vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    std::string text = characters_from_bytes(std::string(1, static_cast<char>(byte)));
    if (text == "\"" || text == "\\") text.insert(0, "\\");
    vocabulary += "\"" + text + "\": " + std::to_string(byte) + ", ";
  }
  return R"({"added_tokens": [{"id": 258, "content": "<|end|>", "special": true},
                              {"id": 260, "content": "  <x>", "special": false}],
             "pre_tokenizer": )" +
         pre_tokenizer + R"(, "model": {"type": "BPE", "merges": ["a b", ["ab", "c"]], )" + more +
         R"("vocab": {)" + vocabulary + R"("ab": 256, "abc": 257}}})";
}

const std::string kPlainStep = R"({"type": "ByteLevel", "add_prefix_space": false})";
std::string split_step(const std::string& pattern) {
  return R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",
             "pattern": {"Regex": ")" +
         pattern + R"("}}, {"type": "ByteLevel", "use_regex": false}]})";
}

const std::string kPieces = R"({
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": null,
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 1, "content": "<s>", "special": true},
                     {"id": 9, "content": "   ", "special": false, "normalized": false}],
    "post_processor": {"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
              "merges": ["▁ a", "a b", "▁a b"],
              "vocab": {"<0x0A>": 2, "<0x09>": 3, "▁": 4, "a": 5, "▁a": 6, "b": 7, "▁ab": 8,
                        "ab": 10}}})";

void expect_equal(const Tokenizer& a, const Tokenizer& b) {
  for (const char* text : {"", "abc ab  abca", "  <x>ab", "a<|end|>b", "\n\t\xC3\xA4\xE4\xB8\xAD",
                           "   a   b", "ab ab\n", "it's 12 o'clock"}) {
    for (const bool has_control : {false, true}) {
      const EncodeOptions options{.control = has_control};
      EXPECT_EQ(a.encode(text, options), b.encode(text, options)) << "'" << text << "'";
      EXPECT_EQ(a.decode(a.encode(text, options)), b.decode(b.encode(text, options)));
    }
  }
  for (TokenId id = 0; id < static_cast<TokenId>(a.vocabulary().size()); ++id) {
    EXPECT_EQ(a.vocabulary().token(id).kind, b.vocabulary().token(id).kind) << id;
    if (a.vocabulary().token(id).kind == TokenKind::kUnused) continue;
    EXPECT_EQ(a.text(id), b.text(id));
  }
  EXPECT_EQ(a.begin(), b.begin());
  EXPECT_EQ(a.end(), b.end());
}

TEST(GgufTokenizers, DoWhatTokenizerJsonSays) {
  for (const std::string& json : {byte_level_json(kPlainStep), kPieces}) {
    const Tokenizer tokenizer = tokenizer_of(json);
    const Tokenizer read = Tokenizer::from_gguf(written(tokenizer));
    EXPECT_EQ(read.vocabulary().size(), kVocabulary);
    expect_equal(tokenizer, read);
    // What was read gives the same keys.
    GgufKeys keys;
    read.set_gguf_keys(keys, kVocabulary);
    GgufKeys first;
    tokenizer.set_gguf_keys(first, kVocabulary);
    EXPECT_EQ(formats::gguf_bytes(keys), formats::gguf_bytes(first));
  }
}

TEST(GgufTokenizers, HaveTheTextsOfLlamaCpp) {
  const GgufFile bytes = written(tokenizer_of(byte_level_json(kPlainStep)));
  const auto list = [](const GgufFile& file, const char* key) {
    return std::get<formats::GgufArray>(*file.find(std::string("tokenizer.ggml.") + key));
  };
  EXPECT_EQ(bytes.text("tokenizer.ggml.model"), "gpt2");
  EXPECT_THAT(list(bytes, "merges").texts, ElementsAre("a b", "ab c"));
  EXPECT_EQ(list(bytes, "tokens").texts[' '], "\xC4\xA0");
  EXPECT_EQ(list(bytes, "tokens").texts[259], "[PAD259]");
  EXPECT_EQ(list(bytes, "tokens").texts[260], "  <x>");
  EXPECT_EQ(list(bytes, "token_type").integers[257], 1);
  EXPECT_EQ(list(bytes, "token_type").integers[258], 3);
  EXPECT_EQ(list(bytes, "token_type").integers[259], 5);
  EXPECT_EQ(list(bytes, "token_type").integers[260], 4);
  EXPECT_EQ(list(bytes, "token_type").integers[299], 5);
  EXPECT_EQ(bytes.find("tokenizer.ggml.scores"), nullptr);
  const GgufFile pieces = written(tokenizer_of(kPieces), 11);
  EXPECT_EQ(pieces.text("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(pieces.text("tokenizer.ggml.pre"), "default");
  EXPECT_EQ(list(pieces, "tokens").texts[2], "<0x0A>");
  EXPECT_EQ(list(pieces, "tokens").texts[9], "   ");
  EXPECT_THAT(list(pieces, "token_type").integers, ElementsAre(3, 3, 6, 6, 1, 1, 1, 1, 1, 4, 1));
  EXPECT_THAT(list(pieces, "scores").numbers,
              ElementsAre(-1000, -1000, -1000, -1000, 0, 0, 0, 0, -2, -1000, -1));
  EXPECT_EQ(pieces.integer("tokenizer.ggml.bos_token_id"), 1);
  EXPECT_EQ(pieces.integer("tokenizer.ggml.unknown_token_id"), 0);
  EXPECT_EQ(std::get<bool>(*pieces.find("tokenizer.ggml.add_bos_token")), true);
  EXPECT_EQ(std::get<bool>(*pieces.find("tokenizer.ggml.add_space_prefix")), true);
}

TEST(GgufTokenizers, NameHowTextsAreSplit) {
  const auto rule_of = [](const std::string& step, const std::string& more = "") {
    return std::string(
        *written(tokenizer_of(byte_level_json(step, more))).text("tokenizer.ggml.pre"));
  };
  // As the files of Llama 3 and Qwen 2 have it, in JSON.
  const std::string words = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N})";
  const std::string others = R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
  const std::string whole_words = R"("ignore_merges": true, )";
  EXPECT_EQ(rule_of(kPlainStep), "gpt-2");
  EXPECT_EQ(rule_of(split_step(words + others)), "qwen2");
  EXPECT_EQ(rule_of(split_step(words + "{1,3}" + others), whole_words), "llama-bpe");
  EXPECT_EQ(rule_of(split_step(words + "{1,3}" + others)), "dbrx");
  EXPECT_EQ(rule_of(R"({"type": "Sequence", "pretokenizers": [
                        {"type": "Digits", "individual_digits": true},
                        {"type": "ByteLevel", "add_prefix_space": false}]})"),
            "smollm");
  for (const auto& [step, more] :
       {std::pair(split_step("x+"), std::string()), std::pair(kPlainStep, whole_words),
        std::pair(std::string(R"({"type": "ByteLevel", "add_prefix_space": true})"),
                  std::string())}) {
    expect_error(ErrorKind::kUnsupported, "convert the folder with llama.cpp's",
                 [&, step = step, more = more] { rule_of(step, more); });
  }
}

TEST(GgufTokenizers, HaveAsManyTokensAsTheModel) {
  expect_error(ErrorKind::kFormat,
               "expected at most 260 tokens, as many as the model has, found 261",
               [] { (void)written(tokenizer_of(byte_level_json(kPlainStep)), 260); });
}

}  // namespace
}  // namespace halftone::lm
