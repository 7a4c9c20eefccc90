// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_grammar.h"

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/testing.h"

namespace halftone::lm {
namespace {

const ToolNotation kMarks{"<{\"name\": \"", "\", \"arguments\": ", "}>, <{\"name\": \"", "}>"};
const std::vector<ToolFunction> kFunctions{
    {"add", R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})"},
    {"now", ""}};

TEST(ToolGrammars, AllowCallsOfKnownFunctions) {
  expect_texts(grammar_of_calls(kMarks, kFunctions, false), "calls",
               {R"(add", "arguments": {"a": 1}}>)", R"(now", "arguments": {}}>)",
                R"(now", "arguments": {}}>, <{"name": "add", "arguments": {"a": 2}}>)"},
               {R"(sub", "arguments": {"a": 1}}>)", R"(add", "arguments": {}}>)",
                R"(now", "arguments": {"a": 1}}>)", R"(now", "arguments": {})", ""});
  expect_texts(grammar_of_calls(kMarks, kFunctions, true), "one call",
               {R"(now", "arguments": {}}>)"},
               {R"(now", "arguments": {}}>, <{"name": "now", "arguments": {}}>)"});
}

TEST(ToolGrammars, AllowJsonBesideCalls) {
  const char* schema = R"({"type": "array", "items": {"type": "boolean"}})";
  expect_texts(grammar_of_answers(kMarks, kFunctions, true, schema), "answers",
               {"[]", "[true, false]", R"(<{"name": "now", "arguments": {}}>)"},
               {"", "[1]", R"(now", "arguments": {}}>)", R"(<{"name": "now", "arguments": {}}>[])",
                R"([]<{"name": "now", "arguments": {}}>)"});
  expect_error(ErrorKind::kUnsupported, "JSON schema, at '#': 'if'",
               [&] { (void)grammar_of_answers(kMarks, kFunctions, true, R"({"if": {}})"); });
}

TEST(ToolGrammars, HaveIds) {
  const ToolNotation with_id{"[", ":", ", [", ",\x01]"};
  expect_texts(grammar_of_calls(with_id, {&kFunctions[1], 1}, true), "an id", {"now:{},abcdeF012]"},
               {"now:{},]", "now:{},abc]", "now:{},abcde-012]"});
}

TEST(ToolGrammars, NameTheFunctionWhoseSchemaIsWrong) {
  const std::vector<ToolFunction> wrong{{"odd", R"({"if": {}})"}};
  expect_error(ErrorKind::kUnsupported, "function odd: JSON schema",
               [&] { (void)grammar_of_calls(kMarks, wrong, true); });
}

}  // namespace
}  // namespace halftone::lm
