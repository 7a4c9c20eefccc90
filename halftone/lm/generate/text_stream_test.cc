// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/text_stream.h"

#include <string_view>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

/// Tokens 0 to 255 are bytes, 256 is <|im_end|>, 257 </s>.
Tokenizer bytes() { return Tokenizer::from_gguf(byte_tokens({"<|im_end|>", "</s>"})); }

std::vector<std::string> pieces_of(TextStream& stream, std::string_view text) {
  std::vector<std::string> pieces;
  for (const char byte : text) pieces.push_back(stream.push(static_cast<unsigned char>(byte)));
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

TEST(TextStreams, KeepCharactersWhole) {
  TextStream stream(bytes(), {});
  EXPECT_THAT(pieces_of(stream, "a\xC3\xA4\xF0\x9F\x98\x80"),
              ElementsAre("a", "", "\xC3\xA4", "", "", "", "\xF0\x9F\x98\x80"));
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.stop_reason(), StopReason::kNone);
}

TEST(TextStreams, ReplaceBytesThatAreNoCharacter) {
  // As bytes.decode("utf-8", "replace") of Python does.
  const std::vector<std::pair<std::string, std::string>> cases = {{"\xFF", "?"},
                                                                  {"a\x80z", "a?z"},
                                                                  {"\xE2\x96", "?"},
                                                                  {"\xE2\x96z", "?z"},
                                                                  {"\xED\xA0\x80", "???"},
                                                                  {"\xF0\x9F\x98", "?"},
                                                                  {"\xC3\xC3\xA4", "?\xC3\xA4"},
                                                                  {"\xE0\x80z", "??z"},
                                                                  {"\xF4\x90\x80\x80", "????"}};
  for (const auto& [text, shown] : cases) {
    std::string expected;
    for (const char c : shown) expected += c == '?' ? "\xEF\xBF\xBD" : std::string(1, c);
    TextStream stream(bytes(), {});
    std::string found = joined(pieces_of(stream, text));
    found += stream.finish();
    EXPECT_EQ(found, expected) << testing::PrintToString(text);
  }
}

TEST(TextStreams, EndBeforeAStopText) {
  TextStream stream(bytes(), {{}, {"", "\n\n", "END"}});
  EXPECT_THAT(pieces_of(stream, "a\nEN\nENDb"),
              ElementsAre("a", "", "\n", "", "EN", "\n", "", "", ""));
  EXPECT_EQ(stream.stop_reason(), StopReason::kText);
  EXPECT_EQ(stream.finish(), "");
  TextStream other(bytes(), {{}, {"END"}});
  EXPECT_EQ(joined(pieces_of(other, "xEN")), "x");
  EXPECT_EQ(other.finish(), "EN");
  EXPECT_EQ(other.stop_reason(), StopReason::kNone);
}

TEST(TextStreams, EndAtAToken) {
  TextStream stream(bytes(), {{256}, {"EN"}});
  EXPECT_EQ(stream.push('E'), "");
  EXPECT_EQ(stream.push(257), "") << "a control token without text";
  EXPECT_EQ(stream.push(256), "E") << "the rest";
  EXPECT_EQ(stream.stop_reason(), StopReason::kToken);
  EXPECT_EQ(stream.push('a'), "");
  expect_error(ErrorKind::kUsage, "token: expected 0 to 257, found 258",
               [] { TextStream(bytes(), {}).push(258); });
}

TEST(TextStreams, GiveTheTextThatWholeDecodingGives) {
  const std::string text =
      "Gr\xC3\xBC\xC3\x9F"
      "e, \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80 aab";
  const std::vector<std::string> stops{"aab", "ac", "\xE6\x96\x87!"};
  for (std::size_t end = 0; end <= text.size(); ++end) {
    TextStream stream(bytes(), {{}, stops});
    std::string found = joined(pieces_of(stream, text.substr(0, end)));
    const bool is_stopped = stream.stop_reason() == StopReason::kText;
    found += stream.finish();
    EXPECT_EQ(is_stopped, end == text.size());
    const std::string whole = text.substr(0, is_stopped ? end - 3 : end);
    EXPECT_TRUE(found == whole || found.ends_with("\xEF\xBF\xBD")) << found;
  }
}

TEST(TextStreams, ShowControlTokensThatAreText) {
  const Tokenizer tokenizer = Tokenizer::from_gguf(byte_tokens({"[CALL]", "[/CALL]", "</s>"}));
  TextStream stream(tokenizer, {{258}, {}, {256}}, true);
  EXPECT_EQ(stream.push(256), "[CALL]");
  EXPECT_EQ(stream.push(257), "");
  EXPECT_EQ(stream.push('a'), "a");
}

TEST(TextStreams, LeaveOutTheFirstSpaceOfSentencePiece) {
  formats::GgufKeys keys = tokenizer_keys("llama",
                                          {"<unk>",
                                           "\xE2\x96\x81"
                                           "a"},
                                          {2, 1});
  set_token(keys, "unknown", 0);
  const Tokenizer tokenizer = Tokenizer::from_gguf(formats::gguf_of(keys));
  TextStream begin(tokenizer, {}, true);
  EXPECT_EQ(begin.push(1), "a");
  EXPECT_EQ(begin.push(1), " a");
  TextStream middle(tokenizer, {});
  EXPECT_EQ(middle.push(1), " a");
}

}  // namespace
}  // namespace halftone::lm
