// SPDX-License-Identifier: Apache-2.0
// Calls whose arguments are written one by one, and calls with numbers.
#include <gmock/gmock.h>

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/testing.h"
#include "halftone/lm/tools/testing.h"
#include "halftone/lm/tools/tool_call_reader.h"
#include "halftone/lm/tools/tool_grammar.h"

namespace halftone::lm {
namespace {

const std::vector<ToolFunction> kCallable{
    {"add", R"({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "integer"}, "why": {"type": "string"},
        "how": {"anyOf": [{"$ref": "#/$defs/how"}, {"type": "null"}]}},
      "$defs": {"how": {"enum": ["fast", "5"]}}})"},
    {"sum", R"({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer"}}, "any": {}}})"},
    {"now", ""}};

ToolNotation notation_in(const std::string& source) {
  const std::vector<std::string> ends{"</s>", "<|im_end|>", "<|eot_id|>"};
  return tool_notation(ChatTemplate::parsed(source), {"<s>", "</s>"}, ends);
}

/// "content|name(arguments)name(arguments)", of a text that comes in pieces.
std::string read_calls(const ToolNotation& notation, const std::string& text,
                       std::size_t piece = 1) {
  ToolCallReader reader(notation, kCallable, false);
  std::string content;
  std::string calls;
  const auto note = [&](const ToolText& found) {
    content += found.content;
    for (const ToolCall& call : found.calls) {
      calls += call.id + (call.id.empty() ? "" : "=") + call.name + call.arguments;
    }
  };
  for (std::size_t i = 0; i < text.size(); i += piece) note(reader.push(text.substr(i, piece)));
  note(reader.finish());
  return content + "|" + calls;
}

const std::string kTwo =
    "Well.\n<tool_call>\n<function=add>\n<parameter=a>\n17\n</parameter>\n<parameter=why>\n"
    "a < b\n</param\n\n</parameter>\n</function>\n</tool_call>\n"
    "<tool_call>\n<function=now>\n</function>\n</tool_call>";

TEST(ToolParameters, AreFoundInWhatTemplatesWrite) {
  const ToolNotation tagged = notation_in(kTaggedCalls);
  ASSERT_TRUE(tagged.parameters);
  EXPECT_EQ(tagged.begin, "<tool_call>\n<function=");
  EXPECT_EQ(tagged.middle, ">\n<parameter=");
  EXPECT_EQ(tagged.between, "\n<tool_call>\n<function=");
  EXPECT_EQ(tagged.end, "");
  EXPECT_EQ(tagged.parameters->none, ">\n</function>\n</tool_call>");
  const ToolParameters::Form& form = tagged.parameters->form(JsonType::kString);
  EXPECT_EQ(form.open, ">\n");
  EXPECT_EQ(form.next, "\n</parameter>\n<parameter=");
  EXPECT_EQ(form.close, "\n</parameter>\n</function>\n</tool_call>");
  EXPECT_EQ(tagged.parameters->form(JsonType::kObject), form);
  EXPECT_EQ(notation_in(kPythonCalls).parameters->mark(), "'");
  EXPECT_EQ(notation_in(kKeysAsMarks).parameters->form(JsonType::kNull).close,
            "</\x04></function>");
  EXPECT_EQ(notation_in(kNumberedCalls).id, "functions.\x03:\x02");
  EXPECT_EQ(notation_in(kNumberedCalls).middle, ":\x02<arguments>");
  EXPECT_EQ(notation_in(kNamesTwice).begin, " to=");
}

TEST(ToolParameters, AreRead) {
  for (const std::size_t piece : {1U, 2U, 7U, 1000U}) {
    EXPECT_EQ(read_calls(notation_in(kTaggedCalls), kTwo, piece),
              R"(Well.|add{"a": 17, "why": "a < b\n</param\n"}now{})");
    EXPECT_EQ(read_calls(notation_in(kKeysAsMarks),
                         "<function=sum><list>[1, 2]</list><any>None</any></function> Done", piece),
              R"( Done|sum{"list": [1, 2], "any": null})");
    EXPECT_EQ(read_calls(
                  notation_in(kTypedCalls),
                  "<calls>\n<invoke name=\"add\">\n<parameter name=\"a\" string=\"false\">1"
                  "</parameter>\n<parameter name=\"why\" string=\"true\">2</parameter>\n</invoke>\n"
                  "<invoke name=\"now\">\n</invoke>\n</calls>",
                  piece),
              R"(|add{"a": 1, "why": "2"}now{})");
    EXPECT_EQ(
        read_calls(notation_in(kPythonCalls),
                   R"(<|calls|>[add(a=1, why='it\'s, "b"', how="x"), now()]<|end_calls|>)", piece),
        R"(|add{"a": 1, "why": "it's, \"b\"", "how": "x"}now{})");
    EXPECT_EQ(read_calls(
                  notation_in(kNumberedCalls),
                  "<calls><call>functions.now:0<arguments>{}</call><call>functions.add:1<arguments>"
                  "{\"a\": 2}</call></calls>",
                  piece),
              R"(|functions.now:0=now{}functions.add:1=add{"a": 2})");
    EXPECT_EQ(
        read_calls(notation_in(kNamesTwice), R"( to=add<call add a: "1"; why: "x";/>)", piece),
        R"(|add{"a": 1, "why": "x"})");
  }
}

/// A value of a parameter in the notation of Qwen 3 Coder.
std::string value_of(const std::string& function, const std::string& key, const std::string& text) {
  return read_calls(notation_in(kTaggedCalls), "<tool_call>\n<function=" + function +
                                                   ">\n<parameter=" + key + ">\n" + text +
                                                   "\n</parameter>\n</function>\n</tool_call>");
}

TEST(ToolParameters, HaveTheTypesOfTheSchema) {
  EXPECT_EQ(value_of("add", "why", "17"), R"(|add{"why": "17"})");
  EXPECT_EQ(value_of("add", "why", "\"17\""), R"(|add{"why": "\"17\""})");
  EXPECT_EQ(value_of("add", "how", "5"), R"(|add{"how": "5"})");
  EXPECT_EQ(value_of("add", "how", "None"), R"(|add{"how": null})");
  EXPECT_EQ(value_of("add", "a", "many"), R"(|add{"a": "many"})") << "what the model says";
  EXPECT_EQ(value_of("sum", "any", "True"), R"(|sum{"any": true})");
  EXPECT_EQ(value_of("sum", "any", "5 apples"), R"(|sum{"any": "5 apples"})");
  EXPECT_EQ(value_of("sum", "any", "<![CDATA[a < b]]>"), R"(|sum{"any": "a < b"})");
  EXPECT_EQ(value_of("now", "new", "['a', {'b': 1}]"), R"(|now{"new": ["a", {"b": 1}]})");
  EXPECT_EQ(value_of("add", "why", ""), R"(|add{"why": ""})");
}

TEST(ToolParameters, KeepWhatIsNoCall) {
  for (const std::string text :
       {"<tool_call>\n<function=sub>\n</function>", "<tool_call>\n<function=add>\n<parameter=>",
        "<tool_call>\n<function=add>\n<parameter=a>\n1", "<tool_call>\n<function=now> or so"}) {
    EXPECT_EQ(read_calls(notation_in(kTaggedCalls), text), text + "|");
  }
}

TEST(ToolParameters, MakeGrammars) {
  const Grammar tagged = grammar_of_calls(notation_in(kTaggedCalls), kCallable, false);
  const std::string close = "\n</parameter>\n</function>\n</tool_call>";
  const std::string why = ">\n<parameter=a>\n1\n</parameter>\n<parameter=why>\n";
  expect_texts(
      tagged, "tagged",
      {"add>\n<parameter=a>\n1" + close, "add" + why + "</param > é\n" + close,
       "add" + why + "x\n</parameter>\n<parameter=how>\nfast" + close,
       "add>\n<parameter=a>\n1\n</parameter>\n<parameter=how>\nnull" + close,
       "now>\n</function>\n</tool_call>", "sum>\n</function>\n</tool_call>",
       "sum>\n<parameter=list>\n[1, 2]" + close,
       "now>\n</function>\n</tool_call>\n<tool_call>\n<function=sum>\n<parameter=any>\nx" + close},
      {"add>\n</function>\n</tool_call>", "add>\n<parameter=a>\nx" + close,
       "add>\n<parameter=why>\nx" + close, "now>\n<parameter=a>\n1" + close,
       "add" + why + "x</parameter>" + close,
       "add>\n<parameter=a>\n1\n</parameter>\n<parameter=how>\nslow" + close});
  const Grammar typed = grammar_of_calls(notation_in(kTypedCalls), {kCallable.data(), 1}, true);
  expect_texts(
      typed, "typed",
      {"add\">\n<parameter name=\"a\" string=\"false\">1</parameter>\n</invoke>\n</calls>"},
      {"add\">\n<parameter name=\"a\" string=\"true\">1</parameter>\n</invoke>\n</calls>"});
  const Grammar keys = grammar_of_calls(notation_in(kKeysAsMarks), {kCallable.data(), 1}, true);
  expect_texts(keys, "keys", {"add><a>1</a></function>", "add><a>1</a><why></a></why></function>"},
               {"add><a>1</b></function>", "add><a>1</a><why></why></why></function>"});
  const Grammar numbers = grammar_of_calls(notation_in(kNumberedCalls), {&kCallable[2], 1}, true);
  expect_texts(numbers, "numbers", {"now:0<arguments>{}</call></calls>"},
               {"now<arguments>{}</call></calls>"});
}

TEST(ToolParameters, FollowWhatSchemasSayOfStrings) {
  const std::vector<ToolFunction> search{{"search", R"({"required": ["q"], "properties": {
          "q": {"type": "string", "pattern": "^(?!x)[a-z</>]+$", "maxLength": 14},
          "on": {"$ref": "#/$defs/day"}}, "$defs": {"day": {"type": "string", "format": "date"}}})"}};
  const std::string close = "\n</parameter>\n</function>\n</tool_call>";
  const std::string q = "search>\n<parameter=q>\n";
  const std::string on = "\n</parameter>\n<parameter=on>\n";
  expect_texts(grammar_of_calls(notation_in(kTaggedCalls), search, true), "search",
               {q + "ab" + close, q + "a</b>" + on + "2024-02-28" + close},
               {q + "xa" + close, q + close, q + "abcdefghijklmno" + close,
                q + "a</parameter>" + close, q + "ab" + on + "today" + close});
}

TEST(ToolParameters, SayWhichSchemasTheyDoNotFollow) {
  const auto expect = [](ErrorKind kind, const std::string& what, const std::string& parameters) {
    const std::vector<ToolFunction> wrong{{"odd", parameters}};
    expect_error(kind, what,
                 [&] { (void)grammar_of_calls(notation_in(kTaggedCalls), wrong, true); });
  };
  const auto property = [](const std::string& schema) {
    return R"({"properties": {"p": )" + schema + "}}";
  };
  expect(ErrorKind::kFormat, "function odd: JSON schema: expected an object, found []", "[]");
  expect(ErrorKind::kFormat, "'properties', an object", R"({"properties": []})");
  expect(ErrorKind::kFormat, "at '#/properties/p': expected a schema, found 1", property("1"));
  expect(ErrorKind::kFormat, "type: expected a type, found \"text\"",
         property(R"({"type": "text"})"));
  expect(ErrorKind::kUnsupported, "at '#/properties/p': pattern '(?<=a)b'",
         property(R"({"type": "string", "pattern": "(?<=a)b"})"));
  expect(ErrorKind::kUsage, "expected one that texts can fit",
         R"({"required": ["p"], "properties": {"p": {"enum": ["</parameter>"]}}})");
  expect(ErrorKind::kUnsupported, "'type' beside 'anyOf'",
         property(R"({"type": "string", "anyOf": [{}]})"));
  expect(ErrorKind::kUnsupported, "$ref \"#/$defs/q\": expected a part",
         property(R"({"$ref": "#/$defs/q"})"));
  expect(ErrorKind::kUnsupported, "nesting of more than 100",
         property(R"({"$ref": "#/properties/p"})"));
}

TEST(ToolParameters, BeginCallsInFrontOfAName) {
  ChatRequest request{.messages = R"([{"role": "user", "content": "name_of_function"}])"};
  request.begins_call = true;
  const auto end_of = [&](const std::string& source) {
    const std::string text = ChatTemplate::parsed(source).render(request, {"<s>", "</s>"}).text;
    return text.substr(text.find("name_of_function") + 16);
  };
  EXPECT_EQ(end_of(kNumberedCalls), "<|eot_id|><|assistant|><calls><call>functions.");
  EXPECT_EQ(end_of(kNamesTwice), "<|eot_id|><|assistant|> to=");
}

}  // namespace
}  // namespace halftone::lm
