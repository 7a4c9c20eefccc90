// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_call_reader.h"

#include <gmock/gmock.h>

namespace halftone::lm {
namespace {

const ToolNotation kMarked{"<tool_call>\n{\"name\": \"",
                           "\", \"arguments\": ", "}\n</tool_call>\n<tool_call>\n{\"name\": \"",
                           "}\n</tool_call>"};
const ToolNotation kListed{"[TOOL_CALLS] [{\"name\": \"",
                           "\", \"arguments\": ", ", \"id\": \"\x01\"}, {\"name\": \"",
                           ", \"id\": \"\x01\"}]"};
const ToolNotation kBare{"{\"name\": \"", "\", \"parameters\": ", "", "}"};

/// "content|name(arguments)name(arguments)", of a text that comes in pieces.
std::string read(const ToolNotation& notation, const std::string& text, bool is_in_call = false,
                 std::size_t piece = 1) {
  ToolCallReader reader(notation, {{"add", ""}, {"add_all", ""}, {"now", ""}}, is_in_call);
  std::string content;
  std::string calls;
  const auto note = [&](const ToolText& found) {
    content += found.content;
    for (const ToolCall& call : found.calls) calls += call.name + "(" + call.arguments + ")";
  };
  for (std::size_t i = 0; i < text.size(); i += piece) note(reader.push(text.substr(i, piece)));
  note(reader.finish());
  return content + "|" + calls;
}

TEST(ToolCallReaders, FindCalls) {
  const std::string one = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": \"}\\\"\"}}\n";
  const std::string all = one +
                          "</tool_call>\n<tool_call>\n{\"name\":\"add_all\", \"arguments\":"
                          "{\"b\": [{}]} }</tool_call>";
  for (const std::size_t piece : {1U, 2U, 7U, 1000U}) {
    EXPECT_EQ(read(kMarked, "Well.\n\n" + all, false, piece),
              "Well.|add({\"a\": \"}\\\"\"})add_all({\"b\": [{}]})");
    EXPECT_EQ(read(kMarked, all + " Done", false, piece),
              " Done|add({\"a\": \"}\\\"\"})add_all({\"b\": [{}]})");
    EXPECT_EQ(read(kListed,
                   "[TOOL_CALLS][{\"name\": \"now\", \"arguments\": {}, \"id\": \"a1\"}, "
                   "{\"name\": \"add\", \"arguments\": {}, \"id\": \"b2\"}]",
                   false, piece),
              "|now({})add({})");
    EXPECT_EQ(read(kBare, "{\"name\": \"now\", \"parameters\": {}}", false, piece), "|now({})");
    EXPECT_EQ(read(kBare, "now\", \"parameters\": {\"x\": 1}}", true, piece), "|now({\"x\": 1})");
  }
}

TEST(ToolCallReaders, KeepWhatIsNoCall) {
  for (const std::string text :
       {"", "Hello", " <tool_call", "a < b\n", "<tool_call>\n{\"name\": \"other\"}",
        "<tool_call>{\"name\": \"add\", \"arguments\": [1]}", "  \n",
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": nothing}}",
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": "}) {
    for (const std::size_t piece : {1U, 3U, 1000U}) {
      EXPECT_EQ(read(kMarked, text, false, piece), text + "|");
    }
  }
  EXPECT_EQ(read(kBare, "{\"name\": \"Bob\"} x"), "{\"name\": \"Bob\"} x|");
  EXPECT_EQ(read(kBare, "no", true), "no|");
}

}  // namespace
}  // namespace halftone::lm
