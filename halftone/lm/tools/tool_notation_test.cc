// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_notation.h"

#include <gmock/gmock.h>

#include "halftone/base/testing.h"
#include "halftone/lm/text/testing.h"
#include "halftone/lm/tools/testing.h"

namespace halftone::lm {
namespace {

ToolNotation notation_of(const std::string& source) {
  const std::vector<std::string> ends{"</s>", "<|im_end|>", "<|eot_id|>"};
  return tool_notation(ChatTemplate::parsed(source), {"<s>", "</s>"}, ends);
}

TEST(ToolNotations, AreFoundInWhatTemplatesWrite) {
  const ToolNotation marked = notation_of(kMarkedCalls);
  EXPECT_EQ(marked.begin, "<tool_call>\n{\"name\": \"");
  EXPECT_EQ(marked.middle, "\", \"arguments\": ");
  EXPECT_EQ(marked.between, "}\n</tool_call>\n<tool_call>\n{\"name\": \"");
  EXPECT_EQ(marked.end, "}\n</tool_call>");
  const ToolNotation listed = notation_of(kListedCalls);
  EXPECT_EQ(listed.begin, "[TOOL_CALLS] [{\"name\": \"");
  EXPECT_EQ(listed.between, ", \"id\": \"\x01\"}, {\"name\": \"");
  EXPECT_EQ(listed.end, ", \"id\": \"\x01\"}]");
  const ToolNotation bare = notation_of(kBareCalls);
  EXPECT_EQ(bare.begin, "{\"name\": \"");
  EXPECT_EQ(bare.middle, "\", \"parameters\": ");
  EXPECT_EQ(bare.between, "");
  EXPECT_EQ(bare.end, "}");
}

TEST(ToolNotations, SayWhatTheyDoNotFollow) {
  expect_error(ErrorKind::kUnsupported, "does not take descriptions of functions", [] {
    (void)notation_of("{% for message in messages %}{{ message.content }}{% endfor %}");
  });
  expect_error(ErrorKind::kUnsupported, "in a notation other than",
               [] { (void)notation_of(kListsAsMarkup); });
  // A call that nothing marks, and one whose mark ends answers.
  for (const std::string_view mark : {"", "</s>"}) {
    expect_error(ErrorKind::kUnsupported, "in a notation other than", [&] {
      (void)notation_of("{{ tools | tojson }}{{ messages[-1].content }}" + std::string(mark) +
                        "{% for call in messages[-1].tool_calls %}{{ call.function.name }}: "
                        "{{ call.function.arguments | tojson }}{% endfor %}");
    });
  }
  expect_error(ErrorKind::kUnsupported, "in a notation other than", [] {
    (void)notation_of(
        "{{ tools | tojson }}{{ messages[-1].content }}"
        "{% for call in messages[-1].tool_calls %}<call>{{ call.function.name }}"
        "<{{ 'a' if loop.first else 'b' }}>{{ call.function.arguments | tojson }}{% endfor %}");
  });
}

TEST(ToolNotations, HaveControlTokens) {
  const Tokenizer tokenizer = Tokenizer::from_gguf(byte_tokens({"[INST]", "[TOOL_CALLS]", "</s>"}));
  EXPECT_THAT(tokens_of(notation_of(kListedCalls), tokenizer.vocabulary()),
              testing::ElementsAre(257));
}

TEST(ToolNotations, BeginCallsInFrontOfAName) {
  ChatRequest request{.messages = R"([{"role": "user", "content": "Hi"}])"};
  request.begins_call = true;
  const ChatText text = ChatTemplate::parsed(kListedCalls).render(request, {"<s>", "</s>"});
  EXPECT_EQ(text.text, "[INST] Hi[/INST][TOOL_CALLS] [{\"name\": \"");
  EXPECT_EQ(text.text.size(), text.is_template.size());
  expect_error(ErrorKind::kUsage, "does not write calls", [&] {
    (void)ChatTemplate::parsed("{{ messages[0].content }}").render(request, {});
  });
}

}  // namespace
}  // namespace halftone::lm
