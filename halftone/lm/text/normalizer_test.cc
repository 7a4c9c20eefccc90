// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/normalizer.h"

#include "halftone/base/testing.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

std::string normal(const NormalizerStep& step, std::string_view text) {
  NormalText result{std::string(text), utf8_length(text)};
  step(result);
  return result.text;
}

std::size_t front_of(const NormalizerStep& step, std::string_view text) {
  NormalText result{std::string(text), utf8_length(text)};
  step(result);
  return result.front;
}

TEST(Normalizers, DoWhatTheirNamesSay) {
  using namespace normalizer_step;
  EXPECT_EQ(normal(normal_form(NormalForm::kKC), "\xEF\xAC\x81"), "fi");
  EXPECT_EQ(normal(normal_form(NormalForm::kD), "\xC3\xA9"), "e\xCC\x81");
  EXPECT_EQ(normal(lower_case(), "\xC4\xB0S"), "i\xCC\x87s");
  EXPECT_EQ(normal(strip(true, false), " \xE3\x80\x80 a "), "a ");
  EXPECT_EQ(normal(strip(false, true), " a \n"), " a");
  EXPECT_EQ(normal(strip(true, true), "  "), "");
  EXPECT_EQ(normal(strip_accents(), "e\xCC\x81"), "e");
  EXPECT_EQ(normal(replace(Regex("a+"), "b"), "xaaya"), "xbyb");
  EXPECT_EQ(normal(prepend("_"), "a"), "_a");
  EXPECT_EQ(normal(prepend("_"), ""), "");
  EXPECT_EQ(normal(nmt(), "a\x01\xE2\x80\x8B"), "a ");
  EXPECT_EQ(normal(bert({}), "\xC3\x84\xE4\xB8\xAD\t\x01"), "a \xE4\xB8\xAD  ");
  EXPECT_EQ(normal(spaces({.adds_front = true}), "a  b"), " a  b");
  EXPECT_EQ(normal(spaces({.merges = true}), "  a  b "), " a b");
}

TEST(Normalizers, KnowWhatCameFromTheFirstCharacter) {
  using namespace normalizer_step;
  EXPECT_EQ(front_of(prepend("__"), "ab"), 3U);
  EXPECT_EQ(front_of(strip(true, true), " ab"), 0U);
  EXPECT_EQ(front_of(replace_text("a", "xyz"), "ab"), 3U);
  EXPECT_EQ(front_of(replace_text("ab", "x"), "abc"), 0U) << "it comes from b";
  EXPECT_EQ(front_of(normal_form(NormalForm::kKD),
                     "\xC2\xBD"
                     "a"),
            5U)
      << "1, U+2044, 2";
}

/// A map of "a" to "b\0" and of "ab" to "".
std::string map_file(std::uint32_t value_of_ab = 2) {
  std::vector<std::uint32_t> units(256 * 2, 1U << 31);
  const auto unit = [](std::uint32_t label, std::uint32_t distance, bool has_value) {
    return label | (distance << 10) | (has_value ? 1U << 8 : 0U);
  };
  units[0] = unit(0, 1, false);
  units[1 ^ 'a'] = unit('a', (1 ^ 'a') ^ 256, true);
  units[256] = 0 | 1U << 31;
  units[256 ^ 'b'] = unit('b', (256 ^ 'b') ^ 300, true);
  units[300] = value_of_ab | 1U << 31;
  std::string file;
  const auto add = [&](std::uint32_t number) {
    for (int i = 0; i < 4; ++i) file += static_cast<char>((number >> (8 * i)) & 0xFF);
  };
  add(static_cast<std::uint32_t>(units.size() * 4));
  for (const std::uint32_t each : units) add(each);
  return file + std::string("b\0\0", 3);
}

TEST(Charsmaps, FindBeginnings) {
  const Charsmap map(map_file());
  EXPECT_EQ(map.shortest("abc")->content, "b");
  EXPECT_EQ(map.shortest("abc")->length, 1U);
  EXPECT_EQ(map.longest("abc")->content, "");
  EXPECT_EQ(map.longest("abc")->length, 2U);
  EXPECT_FALSE(map.longest("xa"));
  EXPECT_FALSE(Charsmap("").longest("a"));
  EXPECT_EQ(normal(normalizer_step::precompiled(map), "xa"), "xb");
  EXPECT_EQ(normal(normalizer_step::precompiled_by_prefixes(map, {"ac"}), "abacax"), "acbx");
}

TEST(Charsmaps, AreCheckedEverywhere) {
  for (const std::string& file : {std::string("a"), std::string(8, '\xFF'), std::string(8, '\0')}) {
    expect_error(ErrorKind::kFormat, "expected a map of SentencePiece", [&] { Charsmap{file}; });
  }
  expect_error(ErrorKind::kFormat, "a text that begins at 99",
               [] { (void)Charsmap(map_file(99)).longest("ab"); });
  const std::string short_file = std::string("\4\0\0\0\0\4\0\0", 8);
  expect_error(ErrorKind::kFormat, "an entry beyond its array",
               [&] { (void)Charsmap(short_file).longest("a"); });
  EXPECT_EQ(from_base64("YWI="), "ab");
  expect_error(ErrorKind::kFormat, "not base64", [] { from_base64("a!"); });
}

}  // namespace
}  // namespace halftone::lm
