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
  expect(ErrorKind::kUnsupported, "WordPiece or WordLevel: found null", "{}");
  expect(ErrorKind::kUnsupported, "found \"Martian\"",
         R"({"model": {"type": "Martian", "vocab": {"a": 0}}})");
  const auto refuse = [&](const std::string& message, const std::string& text) {
    expect(ErrorKind::kUnsupported, message, text);
  };
  refuse("normalizer: Martian is not known",
         json_of_bytes(kByteLevelStep, R"(, "normalizer": {"type": "Martian"})"));
  refuse("normalizer Strip: 'more' is not known",
         json_of_bytes(kByteLevelStep, R"(, "normalizer": {"type": "Strip", "more": 1})"));
  refuse("pre_tokenizer: UnicodeScripts is not known",
         json_of_bytes(R"({"type": "UnicodeScripts"})"));
  refuse("a step behind ByteLevel",
         json_of_bytes(R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"},
                           {"type": "Digits"}]})"));
  refuse("'behavior' is not known",
         json_of_bytes(R"({"type": "Split", "behavior": "Odd", "pattern": {"Regex": "a"}})"));
  refuse("the file: 'more' is not known", json_of_bytes(kByteLevelStep, R"(, "more": 1)"));
  refuse("'padding': expected null",
         json_of_bytes(kByteLevelStep, R"(, "padding": {"strategy": {"Fixed": 9}})"));
  refuse("decoder: CTC is not known",
         json_of_bytes(R"({"type": "WhitespaceSplit"})", R"(, "decoder": {"type": "CTC"})"));
  refuse("decoder: expected ByteLevel",
         json_of_bytes(kByteLevelStep, R"(, "decoder": {"type": "Fuse"})"));
  refuse("post_processor: Martian is not known",
         json_of_bytes(kByteLevelStep, R"(, "post_processor": {"type": "Martian"})"));
  refuse("model: 'dropout' is not known",
         R"({"model": {"type": "BPE", "dropout": 0.5, "vocab": {"a": 0}, "merges": []}})");
  refuse("model BPE: 'more' is not known",
         R"({"model": {"type": "BPE", "more": 0.5, "vocab": {"a": 0}, "merges": []}})");
  refuse("model: expected one of type BPE behind ByteLevel",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}})");
  expect(
      ErrorKind::kFormat, "'merges': expected a list",
      R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0}}})");
  expect(ErrorKind::kFormat, "merge 0: expected two texts",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})");
  expect(ErrorKind::kFormat, "expected ids of tokens from 0 to 2^24",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})");
  expect(ErrorKind::kFormat, "merge 0: expected tokens of the vocabulary",
         R"({"pre_tokenizer": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})");
}

/// Words, "<s>" (0) and one added token "<x>" (9).
std::string json_of_words(const std::string& flags, const std::string& more = "") {
  return R"({"pre_tokenizer": {"type": "WhitespaceSplit"}, "added_tokens": [
               {"id": 0, "content": "<s>", "special": true},
               {"id": 9, "content": "<x>", "special": false, )" +
         flags + "}]" + more + R"(,
             "model": {"type": "WordLevel", "unk_token": "?",
                       "vocab": {"<s>": 0, "?": 1, "a": 2, "b": 3, "A": 4}}})";
}

TEST(TokenizerJson, FindsAddedTokensAsTheirFlagsSay) {
  EXPECT_THAT(tokenizer(json_of_words(R"("single_word": true)")).encode("a<x> <x> b"),
              ElementsAre(1, 9, 3));
  const Tokenizer strips = tokenizer(
      json_of_words(R"("lstrip": true, "rstrip": true)", R"(, "normalizer": {"type": "Replace",
         "pattern": {"String": " "}, "content": "_"})"));
  EXPECT_THAT(strips.encode("a <x> b"), ElementsAre(1, 9, 1));  // the spaces are gone before
  const Tokenizer lowers =
      tokenizer(json_of_words(R"("normalized": true)", R"(, "normalizer": {"type": "Lowercase"})"));
  EXPECT_THAT(lowers.encode("A<X>a"), ElementsAre(2, 9, 2));
  const Tokenizer raw = tokenizer(
      json_of_words(R"("normalized": false)", R"(, "normalizer": {"type": "Lowercase"})"));
  EXPECT_THAT(raw.encode("A <X> a"), ElementsAre(2, 1, 2));
}

TEST(TokenizerJson, KeepsControlTokensOutOfWords) {
  const Tokenizer words = tokenizer(json_of_words(R"("normalized": true)"));
  EXPECT_THAT(words.encode("a <s> b", {.control = true}), ElementsAre(2, 0, 3));
  EXPECT_THAT(words.encode("a <s> b"), ElementsAre(2, 1, 3));
  // What is not trusted has no token that what is trusted has, of whatever kind.
  const std::string text = "<x> <s> <x> <s>";
  std::vector<bool> trusted(text.size(), true);
  std::fill(trusted.begin() + 8, trusted.end(), false);
  EXPECT_THAT(words.encode(text, {.control = true, .trusted = &trusted}), ElementsAre(9, 0, 1, 1));
}

TEST(TokenizerJson, PutsASpaceInFrontOfTextsAsTheSchemeSays) {
  const auto pieces = [](const std::string& scheme) {
    return tokenizer(R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
                           "prepend_scheme": ")" +
                     scheme + R"(", "split": true},
      "added_tokens": [{"id": 0, "content": "<s>", "special": true}],
      "model": {"type": "BPE", "merges": ["▁ a"], "vocab": {"<s>": 0, "▁": 1, "a": 2, "▁a": 3}}})");
  };
  const EncodeOptions control{.control = true};
  EXPECT_THAT(pieces("always").encode("a<s>a a", control), ElementsAre(3, 0, 3, 3));
  EXPECT_THAT(pieces("first").encode("a<s>a a", control), ElementsAre(3, 0, 2, 3));
  EXPECT_THAT(pieces("never").encode("a<s>a a", control), ElementsAre(2, 0, 2, 3));
  EXPECT_THAT(pieces("first").encode(" a"), ElementsAre(3)) << "which has one";
}

TEST(TokenizerJson, EndsAsThePostProcessorSays) {
  const Tokenizer ends = tokenizer(json_of_words(
      R"("normalized": true)", R"(, "post_processor": {"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "<s>"}}, {"SpecialToken": {"id": "A"}}, {"Sequence": {"id": "A"}},
      {"SpecialToken": {"id": "<x>"}}],
      "special_tokens": {"A": {"id": "A", "ids": [3, 3], "tokens": ["b", "b"]}}})"));
  EXPECT_THAT(ends.encode("a"), ElementsAre(0, 3, 3, 2, 9));
  EXPECT_THAT(ends.encode("a", {.end = false}), ElementsAre(0, 3, 3, 2));
  const Tokenizer bert = tokenizer(json_of_words(
      R"("normalized": true)",
      R"(, "post_processor": {"type": "BertProcessing", "cls": ["b", 3], "sep": ["a", 2]})"));
  EXPECT_THAT(bert.encode("A"), ElementsAre(3, 4, 2));
}

TEST(TokenizerJson, CutsNoTexts) {
  const Tokenizer cuts = tokenizer(json_of_words(
      R"("normalized": true)", R"(, "truncation": {"direction": "Right", "max_length": 2,
                                                   "strategy": "LongestFirst", "stride": 0})"));
  EXPECT_THAT(cuts.encode("a b"), ElementsAre(2, 3));
  expect_error(ErrorKind::kUnsupported, "'truncation': expected null or texts of at most 2 tokens",
               [&] { (void)cuts.encode("a b a"); });
}

TEST(TokenizerJson, OfUnigramsAndPiecesOfWords) {
  const Tokenizer unigrams = tokenizer(R"({
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
      "vocab": [["<unk>", 0], ["▁", -2], ["a", -3], ["b", -3], ["ab", -4], ["▁a", -4.5]]}})");
  EXPECT_THAT(unigrams.encode("ab"), ElementsAre(1, 4));
  EXPECT_THAT(unigrams.encode("a xyb"), ElementsAre(5, 1, 0, 3));
  EXPECT_EQ(unigrams.decode(unigrams.encode("ab a")), "ab a");
  const Tokenizer pieces = tokenizer(R"({"normalizer": {"type": "BertNormalizer"},
    "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##"},
    "model": {"type": "WordPiece", "unk_token": "?", "max_input_chars_per_word": 4,
      "continuing_subword_prefix": "##", "vocab": {"?": 0, "a": 1, "##b": 2, "##bc": 3, "!": 4}}})");
  EXPECT_THAT(pieces.encode("Ã"
                            "BC a! abbbb x"),
              ElementsAre(1, 3, 1, 4, 0, 0));
  EXPECT_EQ(pieces.decode(std::vector<TokenId>{1, 3, 1, 4}), "abc a!");
}

TEST(TokenizerJson, OfPairsWithUnknownOnes) {
  const auto pairs = [](const std::string& more) {
    return tokenizer(R"({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "BPE",
      "unk_token": "?", "merges": ["a b</w>"], )" +
                     more + R"("vocab": {"?": 0, "a": 1, "b</w>": 2, "ab</w>": 3}}})");
  };
  const std::string suffix = R"("end_of_word_suffix": "</w>", )";
  EXPECT_THAT(pairs(suffix).encode("ab xxab"), ElementsAre(3, 0, 0, 3));
  EXPECT_THAT(pairs(suffix + R"("fuse_unk": true, )").encode("xxab"), ElementsAre(0, 3));
}

}  // namespace
}  // namespace halftone::lm
