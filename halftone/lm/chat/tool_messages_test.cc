// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/tool_messages.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "halftone/base/testing.h"
#include "halftone/lm/chat/chat_template.h"

namespace halftone::lm {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const char* const kTold = R"([
    {"role": "user", "content": "Sum?"},
    {"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "function": {"name": "add", "arguments": {"a": 1}}},
        {"id": "2", "function": {"name": "now", "arguments": {}}}]},
    {"role": "tool", "tool_call_id": "1", "content": "3"},
    {"role": "tool", "tool_call_id": "2", "content": "noon"}])";
const char* const kFunctions = R"([{"type": "function", "function": {"name": "add"}}])";

json messages_with(const ChatRequest& request, ToolPlace place) {
  const ChatRequest plain = with_tools_as_text(request, place);
  EXPECT_EQ(plain.tools, "");
  return json::parse(plain.messages);
}

TEST(ToolMessages, HaveCallsAndResultsAsText) {
  const json found = messages_with({.messages = kTold}, ToolPlace::kSystem);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1], json({{"role", "assistant"},
                            {"content",
                             "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":1}}\n"
                             "</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": "
                             "{}}\n</tool_call>"}}));
  EXPECT_EQ(found[2], json({{"role", "user"},
                            {"content",
                             "<tool_response>\n3\n</tool_response>\n"
                             "<tool_response>\nnoon\n</tool_response>"}}));
}

TEST(ToolMessages, DescribeFunctions) {
  ChatRequest request{.messages = kTold, .tools = kFunctions};
  const json added = messages_with(request, ToolPlace::kSystem);
  ASSERT_EQ(added.size(), 4U);
  EXPECT_EQ(added[0]["role"], "system");
  EXPECT_THAT(added[0]["content"].get<std::string>(),
              HasSubstr("<tools>\n{\"type\":\"function\",\"function\":{\"name\":\"add\"}}\n"));
  const json of_user = messages_with(request, ToolPlace::kUser);
  ASSERT_EQ(of_user.size(), 3U);
  EXPECT_THAT(of_user[0]["content"].get<std::string>(), testing::EndsWith("</tool_call>\n\nSum?"));
  request.messages = R"([{"role": "system", "content": "Be brief."}])";
  const json both = messages_with(request, ToolPlace::kSystem);
  EXPECT_THAT(both[0]["content"].get<std::string>(), testing::StartsWith("Be brief.\n\nYou may"));
}

TEST(ToolMessages, AreWrittenByTemplatesWithoutFunctions) {
  const std::string texts = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
  const std::string no_system =
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}";
  const std::string ignores_system =
      "{% for m in messages if m.role != 'system' %}{{ m.content }}"
      "{% endfor %}";
  const ChatRequest request{.messages = kTold, .tools = kFunctions, .tools_as_text = true};
  const auto text = [&](const std::string& source) {
    return ChatTemplate::parsed(source).render(request, {}).text;
  };
  EXPECT_THAT(text(texts), testing::StartsWith("[system]You may call functions"));
  EXPECT_THAT(text(no_system + texts), testing::StartsWith("[user]You may call functions"));
  EXPECT_THAT(text(ignores_system), HasSubstr("</tool_call>\n\nSum?"));
  expect_error(ErrorKind::kUsage, "never", [&] { (void)text("{{ raise_exception('never') }}"); });
}

TEST(ToolMessages, RefuseWhatIsNone) {
  expect_error(ErrorKind::kFormat, "tools: expected a list of objects", [] {
    (void)with_tools_as_text({.messages = "[]", .tools = "[1]"}, ToolPlace::kSystem);
  });
  expect_error(ErrorKind::kFormat, "tool_calls: expected calls of functions", [] {
    (void)with_tools_as_text({.messages = R"([{"role": "assistant", "tool_calls": [1]}])"},
                             ToolPlace::kSystem);
  });
}

}  // namespace
}  // namespace halftone::lm
