// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/tokenizer.h"

#include <cstring>

#include "halftone/base/testing.h"
#include "halftone/formats/gguf/testing.h"
#include "halftone/lm/text/testing.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using formats::gguf_of;
using formats::GgufBytes;
using formats::GgufFile;
using formats::GgufKeys;
using testing::ElementsAre;

/// 256 bytes as characters, " a" (256), "bc" (257), <|end|> (258, control), "<tab>" (259).
GgufFile byte_level(std::string_view rule = "gpt-2") {
  std::vector<std::string> texts;
  std::vector<std::int32_t> kinds(258, 1);
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printed =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    texts.push_back(to_utf8(is_printed ? byte : next++));
  }
  const std::string space = texts[' '];
  texts.insert(texts.end(), {space + "a", "bc", "<|end|>", "<tab>"});
  kinds.insert(kinds.end(), {3, 4});
  GgufKeys keys = tokenizer_keys("gpt2", texts, kinds);
  keys.set("tokenizer.ggml.pre", rule);
  keys.set("tokenizer.ggml.merges", std::vector<std::string>{space + " a", "b c"});
  set_token(keys, "eos", 258);
  return gguf_of(keys);
}

TEST(Tokenizers, OfBytesSplitAndMerge) {
  const Tokenizer tokenizer = Tokenizer::from_gguf(byte_level());
  EXPECT_THAT(tokenizer.encode("bc a\n"), ElementsAre(257, 256, '\n'));
  EXPECT_THAT(tokenizer.encode("\xC3\xA4"), ElementsAre(0xC3, 0xA4));
  EXPECT_THAT(tokenizer.encode("b<tab>c"), ElementsAre('b', 259, 'c'));
  EXPECT_EQ(tokenizer.encode("<|end|>").size(), 7U);
  EXPECT_THAT(tokenizer.encode("bc<|end|> a", {.control = true}), ElementsAre(257, 258, 256));
  EXPECT_EQ(tokenizer.end(), 258);
  EXPECT_EQ(tokenizer.begin(), kNoToken);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a b \xE4\xB8\xAD\n")), "a b \xE4\xB8\xAD\n");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{257, 258}), "bc");
  EXPECT_EQ(tokenizer.text(258), "<|end|>");
  EXPECT_TRUE(tokenizer.encode("").empty());
}

/// "▁", "a", "b", "▁a", all bytes from 5 on.
GgufFile sentence_pieces() {
  std::vector<std::string> texts = {"<unk>",
                                    "<s>",
                                    "</s>",
                                    "\xE2\x96\x81",
                                    "a",
                                    "b",
                                    "\xE2\x96\x81"
                                    "a"};
  std::vector<std::int32_t> kinds = {2, 3, 3, 1, 1, 1, 1};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    texts.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    kinds.push_back(6);
  }
  GgufKeys keys = tokenizer_keys("llama", texts, kinds);
  set_token(keys, "bos", 1);
  set_token(keys, "eos", 2);
  set_token(keys, "unknown", 0);
  return gguf_of(keys);
}

TEST(Tokenizers, OfSentencePieceBeginWithASpace) {
  const Tokenizer tokenizer = Tokenizer::from_gguf(sentence_pieces());
  EXPECT_THAT(tokenizer.encode("a b"), ElementsAre(1, 6, 3, 5));
  EXPECT_THAT(tokenizer.encode("a", {.begin = false}), ElementsAre(6));
  EXPECT_THAT(tokenizer.encode("\n", {.begin = false}), ElementsAre(3, 7 + '\n'));
  EXPECT_THAT(tokenizer.encode("a</s>a", {.control = true}), ElementsAre(1, 6, 2, 6));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a b\xC3\xA4")), "a b\xC3\xA4");
}

TEST(Tokenizers, ReadThoseOfLlama2c) {
  GgufBytes file;
  file.number<std::int32_t>(6);
  for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n", "<0x0A>", " ", "a", " a"}) {
    file.number(0.0F).number(static_cast<std::int32_t>(std::strlen(text))).raw(text);
  }
  const Tokenizer tokenizer = Tokenizer::from_llama2c(file.file());
  EXPECT_THAT(tokenizer.encode("a\n a"), ElementsAre(1, 6, 3, 6));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\n a")), "a\n a");
  expect_error(ErrorKind::kFormat, "token 0: expected 0 to 6 bytes, found 7", [] {
    Tokenizer::from_llama2c(
        GgufBytes().number<std::int32_t>(6).number(0.0F).number<std::int32_t>(7).file());
  });
  expect_error(ErrorKind::kFormat, "3 tokens or more",
               [] { Tokenizer::from_llama2c(GgufBytes().number<std::int32_t>(6).file()); });
}

TEST(Tokenizers, OfBytesWithoutARuleWarn) {
  const Tokenizer named = Tokenizer::from_gguf(byte_level());
  EXPECT_EQ(named.warning(), "");
  GgufKeys keys(byte_token_keys({"</s>"}));
  const Tokenizer unnamed = Tokenizer::from_gguf(gguf_of(keys));
  EXPECT_THAT(unnamed.warning(), testing::HasSubstr("'tokenizer.ggml.pre' is absent"));
}

TEST(Tokenizers, OfUnigramsTakeTheBestSum) {
  GgufKeys keys =
      tokenizer_keys("t5", {"<pad>", "</s>", "<unk>", "\xE2\x96\x81", "a", "b", "ab", "<x>"},
                     {3, 3, 2, 1, 1, 1, 1, 4});
  keys.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1, -2, -2, -5, 0});
  keys.set("tokenizer.ggml.add_space_prefix", true);
  keys.set("tokenizer.ggml.remove_extra_whitespaces", true);
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_of(keys));
  EXPECT_THAT(tokenizer.encode(" ab  xy"), ElementsAre(3, 4, 5, 3, 2, 1));
  EXPECT_THAT(tokenizer.encode("a<x>b", {.end = false}), ElementsAre(3, 4, 7, 3, 5));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab a")), "ab a");
}

TEST(Tokenizers, OfPiecesOfWordsAreBetweenTheirMarks) {
  const std::string sign = "\xE2\x96\x81";
  GgufKeys keys = tokenizer_keys("bert", {"[UNK]", "[CLS]", "[SEP]", sign + "a", "b", sign + "!"},
                                 {3, 3, 3, 1, 1, 1});
  set_token(keys, "bos", 1);
  set_token(keys, "seperator", 2);
  set_token(keys, "unknown", 0);
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_of(keys));
  EXPECT_THAT(tokenizer.encode("\xC3\x84"
                               "b! ac"),
              ElementsAre(1, 3, 4, 5, 0, 2));
}

TEST(Tokenizers, OfCharactersKeepLineFeedsWhole) {
  const std::string sign = "\xE2\x96\x81";
  GgufKeys keys =
      tokenizer_keys("gemma4", {"<bos>", sign, "a", sign + "a", "\n", "\n\n", "<0xC3>", "<0xA4>"},
                     {3, 1, 1, 1, 1, 1, 6, 6});
  keys.set("tokenizer.ggml.merges", std::vector<std::string>{sign + " a"});
  set_token(keys, "bos", 0);
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_of(keys));
  EXPECT_THAT(tokenizer.encode("a a\n\n\xC3\xA4"), ElementsAre(0, 2, 3, 5, 6, 7));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{2, 3, 6, 7}), "a a\xC3\xA4");
}

TEST(Tokenizers, TakeWhiteSpaceBehindMarksOfPhi3) {
  GgufKeys keys = byte_token_keys({"<|user|>", "</s>"});
  keys.set("tokenizer.ggml.pre", "gpt-2").set("general.name", "Phi-3 mini");
  keys.set("tokenizer.ggml.add_eos_token", true);
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_of(keys));
  EXPECT_THAT(tokenizer.encode("<|user|>\n a", {.control = true}), ElementsAre(256, 'a', 257));
}

TEST(Tokenizers, NeedTheTokensThatTheyAdd) {
  GgufKeys keys = tokenizer_keys("llama", {"a"});
  keys.set("tokenizer.ggml.add_bos_token", true);
  expect_error(ErrorKind::kFormat, "key 'tokenizer.ggml.bos_token_id': expected a token",
               [&] { Tokenizer::from_gguf(gguf_of(keys)); });
}

TEST(Tokenizers, RefuseWhatDoesNotFit) {
  expect_error(ErrorKind::kFormat, "found byte 0xff at offset 1",
               [] { (void)Tokenizer::from_gguf(byte_level()).encode("a\xFF"); });
  expect_error(ErrorKind::kUnsupported, "found 'martian'",
               [] { Tokenizer::from_gguf(byte_level("martian")); });
  expect_error(ErrorKind::kUsage, "token: expected 0 to 259, found 260",
               [] { (void)Tokenizer::from_gguf(byte_level()).text(260); });
  const auto expect = [](ErrorKind kind, const std::string& text, const GgufKeys& keys) {
    expect_error(kind, text, [&] { Tokenizer::from_gguf(gguf_of(keys)); });
  };
  expect(ErrorKind::kUnsupported, "expected gpt2, llama, t5, bert or gemma4, found ''", {});
  GgufKeys keys;
  expect(ErrorKind::kUnsupported, "found 'rwkv'", keys.set("tokenizer.ggml.model", "rwkv"));
  expect(ErrorKind::kFormat, "tokens': expected a list of texts, found none",
         keys.set("tokenizer.ggml.model", "llama"));
  expect(ErrorKind::kFormat, "expected 1 scores and kinds of tokens",
         tokenizer_keys("llama", {"a"}, {1, 1}));
  keys = tokenizer_keys("llama", {"a"});
  set_token(keys, "bos", 7);
  expect(ErrorKind::kFormat, "bos_token_id': expected a token below 1, found 7", keys);
}

}  // namespace
}  // namespace halftone::lm
