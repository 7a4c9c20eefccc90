// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/literal.h"

#include <gtest/gtest.h>

#include <string>

namespace halftone::lm {
namespace {

/// The JSON and what is behind; "begun" or "no".
std::string read_json(const std::string& text, const std::string& mark = "") {
  const Literal found = read_literal(text, 0, mark);
  if (found.fit != Fit::kYes) return found.fit == Fit::kBegun ? "begun" : "no";
  return found.json + "|" + text.substr(found.end);
}

TEST(Literals, AreJsonOrPython) {
  EXPECT_EQ(read_json("17, x"), "17|, x");
  EXPECT_EQ(read_json(" -1.5e3)"), "-1.5e3|)");
  EXPECT_EQ(read_json("True)"), "true|)");
  EXPECT_EQ(read_json("None"), "null|");
  EXPECT_EQ(read_json("false]"), "false|]");
  EXPECT_EQ(read_json(R"("a\"b\u00e9" c)"), R"("a\"b\u00e9"| c)");
  EXPECT_EQ(read_json(R"('it\'s "\x41"\q' c)"), R"("it's \"\u0041\"\\q"| c)");
  EXPECT_EQ(read_json("'a\nb'"), R"("a\nb"|)");
  EXPECT_EQ(read_json("{1: 2}"), "{\"1\": 2}|");
  // As Python writes it: repr([1, 'p', {'q': 'r\'"<'}, [], None]).
  EXPECT_EQ(read_json(R"([1, 'p', {'q': 'r\'"<'}, [], None])"),
            R"([1, "p", {"q": "r'\"<"}, [], null]|)");
}

TEST(Literals, HaveMarksOfTheirOwn) {
  EXPECT_EQ(read_json(R"({q:<|"|>it's "so"<|"|>,n:[1,<|"|>p<|"|>]}})", "<|\"|>"),
            R"({"q": "it's \"so\"", "n": [1, "p"]}|})");
  EXPECT_EQ(read_json("<|\"", "<|\"|>"), "begun");
  EXPECT_EQ(read_json("<|\"|>abc", "<|\"|>"), "begun");
  EXPECT_EQ(read_json("'a\\'b'", "'"), "\"a'b\"|") << "a quote has escapes";
}

TEST(Literals, MayGoOnOrFitNothing) {
  for (const char* begun : {"", " ", "Tr", "'a", "\"a\\", "[", "[1", "[1,", "-", "1e", "{", "{'a'",
                            "{'a':", "{'a': 1", "{a"}) {
    EXPECT_EQ(read_json(begun), "begun") << begun;
  }
  for (const char* no :
       {"x", "Truth", "[1 2]", "{'a' 1}", "[,]", "1.2.3", "-]", "'\\u12'", "{[1]: 2}"}) {
    EXPECT_EQ(read_json(no), "no") << no;
  }
  EXPECT_EQ(read_json(std::string(200, '[')), "no") << "of too many levels";
}

}  // namespace
}  // namespace halftone::lm
