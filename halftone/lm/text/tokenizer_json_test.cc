// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "halftone/base/testing.h"
#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

SharedBytes file_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return own_bytes({first, first + text.size()});
}

Tokenizer tokenizer(const std::string& text) {
  return Tokenizer::from_tokenizer_json(file_of(text));
}

const std::string kByteLevelStep = R"({"type": "ByteLevel", "add_prefix_space": false})";

/// "a", "b", "Ġa", "ab", "Ġ" and a control token.
std::string json_of_bytes(const std::string& pre_tokenizer, const std::string& more = "") {
  return R"({"added_tokens": [{"id": 5, "content": "<|end|>", "special": true}],
             "pre_tokenizer": )" +
         pre_tokenizer + more + R"(,
             "model": {"type": "BPE", "merges": ["Ġ a", ["a", "b"]],
                       "vocab": {"a": 0, "b": 1, "Ġa": 2, "ab": 3, "Ġ": 4}}})";
}

TEST(TokenizerJson, OfBytes) {
  const Tokenizer plain = tokenizer(json_of_bytes(kByteLevelStep));
  EXPECT_THAT(plain.encode("ab a b"), ElementsAre(3, 2, 4, 1));
  EXPECT_THAT(plain.encode("a<|end|>", {.control = true}), ElementsAre(0, 5));
  EXPECT_EQ(plain.decode(std::vector<TokenId>{3, 2, 5}), "ab a");
  const Tokenizer digits = tokenizer(json_of_bytes(
      R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",
          "pattern": {"Regex": "a"}}, {"type": "ByteLevel", "use_regex": false}]})"));
  EXPECT_THAT(digits.encode("ab"), ElementsAre(0, 1));
  const Tokenizer spaced =
      tokenizer(json_of_bytes(R"({"type": "ByteLevel", "add_prefix_space": true})"));
  EXPECT_THAT(spaced.encode("a"), ElementsAre(2));
  EXPECT_EQ(spaced.decode(spaced.encode("a b")), "a b");
}

TEST(TokenizerJson, BeginsAsThePostProcessorSays) {
  const Tokenizer begins = tokenizer(json_of_bytes(
      kByteLevelStep, R"(, "post_processor": {"type": "TemplateProcessing", "single": [
                      {"SpecialToken": {"id": "<|end|>"}}, {"Sequence": {"id": "A"}}]})"));
  EXPECT_THAT(begins.encode("a"), ElementsAre(5, 0));
  EXPECT_THAT(begins.encode("a", {.begin = false}), ElementsAre(0));
}

TEST(TokenizerJson, OfSentencePiece) {
  const Tokenizer pieces = tokenizer(R"({
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": null,
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "merges": ["▁ a"],
              "vocab": {"<unk>": 0, "<0x0A>": 1, "▁": 2, "a": 3, "▁a": 4}}})");
  EXPECT_THAT(pieces.encode("a a\n"), ElementsAre(4, 4, 1));
  EXPECT_THAT(pieces.encode("az"), ElementsAre(4, 0));
  EXPECT_EQ(pieces.decode(pieces.encode("a a\n")), "a a\n");
}

TEST(TokenizerJson, OfGemmaSplitsAtSpacesThatAreGone) {
  const Tokenizer gemma = tokenizer(R"({
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "},
                      "behavior": "MergedWithPrevious", "invert": false},
    "model": {"type": "BPE", "unk_token": "<unk>", "merges": ["▁ a"],
              "vocab": {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3}}})");
  EXPECT_THAT(gemma.encode("a a"), ElementsAre(2, 3));
}

TEST(TokenizerJson, ComposesCharacters) {
  // e and U+0301 become U+00E9, whose bytes are Ã and ©.
  const Tokenizer composes = tokenizer(R"({"normalizer": {"type": "NFC"}, "pre_tokenizer": )" +
                                       kByteLevelStep + R"(, "model": {"type": "BPE", "merges": [],
                                         "vocab": {"Ã": 0, "©": 1, "e": 2}}})");
  EXPECT_THAT(composes.encode("e\xCC\x81"
                              "e"),
              ElementsAre(0, 1, 2));
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnow) {
  const auto expect = [](ErrorKind kind, const std::string& message, const std::string& text) {
    expect_error(kind, message, [&] { tokenizer(text); });
  };
  expect(ErrorKind::kFormat, "expected an object in JSON", "[");
  expect(ErrorKind::kUnsupported, "model: expected one of type BPE: found null", "{}");
  expect(ErrorKind::kUnsupported, "found \"Unigram\"", R"({"model": {"type": "Unigram"}})");
  expect(ErrorKind::kUnsupported, "normalizer: expected NFC",
         json_of_bytes(kByteLevelStep, R"(, "normalizer": {"type": "Lowercase"})"));
  expect(ErrorKind::kUnsupported, "pre_tokenizer: expected ByteLevel, Digits",
         json_of_bytes(R"({"type": "BertPreTokenizer"})"));
  expect(ErrorKind::kUnsupported, "expected ByteLevel, or spaces", json_of_bytes("null"));
  expect(ErrorKind::kUnsupported, "a Split by a Regex, Isolated",
         json_of_bytes(R"({"type": "Split", "behavior": "Removed", "pattern": {"Regex": "a"}})"));
  expect(ErrorKind::kFormat, "'merges': expected a list",
         R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {}}})");
  expect(ErrorKind::kFormat, "merge 0: expected two texts",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {}, "merges": ["a"]}})");
  expect(ErrorKind::kFormat, "expected ids of tokens from 0 to 2^24",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})");
  expect(ErrorKind::kFormat, "merge 0: expected tokens of the vocabulary",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})");
}

}  // namespace
}  // namespace halftone::lm
