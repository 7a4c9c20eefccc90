// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/response_request.h"

#include <gmock/gmock.h>

namespace halftone::server {
namespace {

Json chat_of(const char* body) { return chat_of_response(Json::parse(body)); }

TEST(ResponseRequest, BecomesMessages) {
  EXPECT_EQ(chat_of(R"({"input": "Hi", "instructions": "Be brief", "store": true})"),
            Json::parse(R"({
    "messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}]})"));
  EXPECT_EQ(chat_of(R"({"input": [
      {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"type": "reasoning", "summary": []},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "c"}]},
      {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
      {"type": "function_call", "call_id": "2", "name": "g", "arguments": ""},
      {"type": "function_call_output", "call_id": "1", "output": "d"},
      {"type": "function_call", "call_id": "3", "name": "f", "arguments": "{}"}]})")["messages"],
            Json::parse(R"([
      {"role": "user", "content": "ab"},
      {"role": "assistant", "content": "c", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": ""}}]},
      {"role": "tool", "tool_call_id": "1", "content": "d"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "3", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}])"));
}

TEST(ResponseRequest, BecomesOptionsOfChats) {
  Json found = chat_of(R"({"input": "a", "max_output_tokens": 5, "top_logprobs": 2, "stream": true,
    "stream_options": {"include_obfuscation": false}, "safety_identifier": "me", "temperature": 0,
    "text": {"format": {"type": "json_schema", "name": "s", "schema": {}}, "verbosity": "low"},
    "tools": [{"type": "function", "name": "f", "parameters": {}}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto",
                    "tools": [{"type": "function", "name": "f"}]}})");
  found.erase("messages");
  EXPECT_EQ(found, Json::parse(R"({"stream": true, "temperature": 0,
    "response_format": {"type": "json_schema",
                        "json_schema": {"type": "json_schema", "name": "s", "schema": {}}},
    "logprobs": true, "top_logprobs": 2, "max_tokens": 5,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "f"}}]}},
    "user": "me"})"));
}

TEST(ResponseRequest, NamesMembersOfItsOwn) {
  const RequestError error =
      in_names_of_responses({400, "max_tokens: expected at least 1", "max_tokens"});
  EXPECT_STREQ(error.what(), "max_output_tokens: expected at least 1");
  EXPECT_EQ(error.param(), "max_output_tokens");
  EXPECT_EQ(in_names_of_responses({400, "too long", "messages", "code"}).code(), "code");
  EXPECT_EQ(in_names_of_responses({404, "the model", "model"}).param(), "model");
}

TEST(ResponseRequest, RepeatsMembers) {
  const Json found = repeated_members(Json::parse(R"({"tools": [1], "user": null})"));
  EXPECT_EQ(found["tools"], Json({1}));
  EXPECT_EQ(found["tool_choice"], "auto");
  EXPECT_EQ(found["store"], false);
  EXPECT_TRUE(found["user"].is_null());
}

TEST(ResponseRequest, NamesWhatIsWrong) {
  const auto check = [](const char* body, const char* param, const char* text) {
    try {
      (void)chat_of(body);
      ADD_FAILURE() << body << " is taken";
    } catch (const RequestError& error) {
      EXPECT_EQ(error.status(), 400);
      EXPECT_EQ(error.param(), param);
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  check(R"({})", "input", "a text or a list of items");
  check(R"({"input": [1]})", "input", "input[0]: expected an object");
  check(R"({"input": [{"type": "item_reference", "id": "a"}]})", "input", "function_call_output");
  check(R"({"input": [{"role": "user", "content": [{"type": "input_image"}]}]})", "input",
        "input[0].content: expected parts of type input_text");
  check(R"({"input": [{"type": "function_call", "name": "f"}]})", "input", "input[0].arguments");
  check(R"({"input": "a", "previous_response_id": "b"})", "previous_response_id", "keeps no");
  check(R"({"input": "a", "background": true})", "background", "at once only");
  check(R"({"input": "a", "n": 2})", "n", "one answer");
  check(R"({"input": "a", "instructions": []})", "instructions", "a text");
  check(R"({"input": "a", "include": "b"})", "include", "a list");
  check(R"({"input": "a", "text": "b"})", "text", "an object");
}

}  // namespace
}  // namespace halftone::server
