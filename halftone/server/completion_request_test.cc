// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/completion_request.h"

#include <gmock/gmock.h>

#include "halftone/server/json_body.h"
#include "halftone/server/server_options.h"

namespace halftone::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CompletionRequest parse(Endpoint endpoint, std::string_view body, std::size_t max_tokens = 0) {
  v0::GenerateOptions defaults = ServerOptions{}.generate;
  defaults.max_tokens = max_tokens;
  return parse_completion(endpoint, body, defaults);
}

TEST(CompletionRequest, HasTheDefaultsOfTheProtocol) {
  const CompletionRequest chat =
      parse(Endpoint::kChat, R"({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})");
  EXPECT_EQ(chat.model, "m");
  EXPECT_EQ(chat.conversation.messages, R"([{"role":"user","content":"Hi"}])");
  EXPECT_EQ(chat.options.sampling.temperature, 1);
  EXPECT_EQ(chat.options.sampling.top_p, 1);
  EXPECT_EQ(chat.options.max_tokens, 0U) << "until the context is full";
  EXPECT_EQ(chat.choices, 1U);
  EXPECT_FALSE(chat.streams || chat.logprobs);
  const CompletionRequest completion = parse(Endpoint::kCompletion, R"({"prompt": "Once"})");
  EXPECT_EQ(completion.options.max_tokens, 16U);
  EXPECT_THAT(completion.prompts, ElementsAre(Prompt("Once")));
  EXPECT_EQ(parse(Endpoint::kCompletion, R"({"prompt": "a"})", 5).options.max_tokens, 5U);
}

TEST(CompletionRequest, ReadsItsMembers) {
  const CompletionRequest chat = parse(Endpoint::kChat, R"({
      "messages": [{"role": "developer", "content": [{"type": "text", "text": "a"},
                                                     {"type": "text", "text": "b"}]},
                   {"role": "assistant", "content": null}],
      "max_completion_tokens": 7, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "min_p": 0.1,
      "repeat_penalty": 1.1, "lookup": 3, "seed": 9, "stop": ["x", "y"], "n": 3, "stream": true,
      "stream_options": {"include_usage": true}, "logprobs": true, "top_logprobs": 2,
      "user": "u", "tools": [], "response_format": {"type": "text"}, "frequency_penalty": 0,
      "logit_bias": null, "metadata": {}, "chat_template_kwargs": {"enable_thinking": false}})");
  EXPECT_EQ(chat.conversation.messages,
            R"([{"role":"system","content":"ab"},{"role":"assistant","content":""}])");
  EXPECT_EQ(chat.conversation.variables, R"({"enable_thinking":false})");
  EXPECT_EQ(chat.options.max_tokens, 7U);
  EXPECT_EQ(chat.options.sampling.temperature, 0.5);
  EXPECT_EQ(chat.options.sampling.top_k, 3U);
  EXPECT_EQ(chat.options.sampling.repeat_penalty, 1.1);
  EXPECT_EQ(chat.options.lookup, 3U);
  EXPECT_EQ(chat.options.sampling.seed, 9U);
  EXPECT_THAT(chat.options.stops, ElementsAre("x", "y"));
  EXPECT_EQ(chat.choices, 3U);
  EXPECT_TRUE(chat.streams && chat.streams_usage);
  EXPECT_EQ(chat.logprobs, 2U);
  EXPECT_EQ(chat.user, "u");
  EXPECT_THAT(chat.ignored, ElementsAre("metadata"));
}

TEST(CompletionRequest, TakesTextsAndTokens) {
  const auto prompts = [](const std::string& prompt) {
    return parse(Endpoint::kCompletion, R"({"prompt": )" + prompt + "}").prompts;
  };
  EXPECT_THAT(prompts("[3, 4]"), ElementsAre(Prompt(std::vector<lm::TokenId>{3, 4})));
  EXPECT_THAT(prompts(R"(["a", "b"])"), ElementsAre(Prompt("a"), Prompt("b")));
  EXPECT_THAT(prompts("[[1], [2]]"), ElementsAre(Prompt(std::vector<lm::TokenId>{1}),
                                                 Prompt(std::vector<lm::TokenId>{2})));
}

struct Bad {
  Endpoint endpoint;
  std::string members;  ///< beside a prompt or messages
  std::string param;
  std::string message;
};

TEST(CompletionRequest, NamesWhatIsWrong) {
  const std::vector<Bad> cases = {
      {Endpoint::kCompletion, R"("model": 3)", "model", "expected a text"},
      {Endpoint::kCompletion, R"("n": 0)", "n", "a whole number from 1 to 64"},
      {Endpoint::kCompletion, R"("n": 1.5)", "n", "a whole number"},
      {Endpoint::kCompletion, R"("stream": "yes")", "stream", "expected a boolean"},
      {Endpoint::kCompletion, R"("stream": true, "stream_options": [])", "stream_options",
       "expected an object"},
      {Endpoint::kCompletion, R"("stream_options": {})", "stream_options", "stream to be true"},
      {Endpoint::kCompletion, R"("logprobs": true)", "logprobs", "0 to 20"},
      {Endpoint::kCompletion, R"("logprobs": 21)", "logprobs", "0 to 20"},
      {Endpoint::kCompletion, R"("max_tokens": -1)", "max_tokens", "a whole number"},
      {Endpoint::kCompletion, R"("max_tokens": 101)", "max_tokens", "at most 100"},
      {Endpoint::kCompletion, R"("temperature": "hot")", "temperature", "a number"},
      {Endpoint::kCompletion, R"("temperature": -1)", "temperature", "at least 0"},
      {Endpoint::kCompletion, R"("top_p": -1)", "top_p", "expected"},
      {Endpoint::kCompletion, R"("seed": 1e30)", "seed", "a whole number"},
      {Endpoint::kCompletion, R"("stop": {"a": 1})", "stop", "a text or a list of texts"},
      {Endpoint::kCompletion, R"("echo": true, "logprobs": 1)", "logprobs", "of a prompt"},
      {Endpoint::kCompletion, R"("suffix": "b")", "suffix", "does not follow"},
      {Endpoint::kCompletion, R"("n": 2, "best_of": 1)", "best_of", "from 2 to 64"},
      {Endpoint::kCompletion, R"("best_of": 2, "stream": true)", "best_of", "no stream"},
      {Endpoint::kCompletion, R"("logit_bias": {"x": 1})", "logit_bias", "numbers from -100"},
      {Endpoint::kCompletion, R"("logit_bias": {"3": 101})", "logit_bias", "numbers from -100"},
      {Endpoint::kCompletion, R"("logit_bias": [[3]])", "logit_bias", "numbers from -100"},
      {Endpoint::kCompletion, R"("logit_bias": 3)", "logit_bias", "numbers from -100"},
      {Endpoint::kCompletion, R"("presence_penalty": 3)", "presence_penalty", "-2 to 2"},
      {Endpoint::kCompletion, R"("stop_token_ids": ["a"])", "stop_token_ids", "a list of tokens"},
      {Endpoint::kChat, R"("top_logprobs": 3)", "top_logprobs", "logprobs to be true"},
      {Endpoint::kChat, R"("max_tokens": 0)", "max_tokens", "at least 1"},
      {Endpoint::kChat, R"("tools": [{"type": "function"}])", "tools",
       "expected a name of 1 to 64"},
      {Endpoint::kChat, R"("tools": 3)", "tools", "a list of at most 128"},
      {Endpoint::kChat, R"("tools": [{"type": "code"}])", "tools", "of type function"},
      {Endpoint::kChat,
       R"("tools": [{"type": "function", "function": {"name": "f", "parameters": 3}}])", "tools",
       "parameters, a JSON schema"},
      {Endpoint::kChat,
       R"("tools": [{"type": "function", "function": {"name": "f"}},
                    {"type": "function", "function": {"name": "f"}}])",
       "tools", "another name"},
      {Endpoint::kChat,
       R"("tools": [{"type": "function", "function": {"name": "f"}}], "grammar": "root ::= \"a\"")",
       "tools", "no grammar or regex"},
      {Endpoint::kChat, R"("tool_choice": "required")", "tool_choice", "tools beside"},
      {Endpoint::kChat, R"("tool_choice": "some")", "tool_choice", "none, auto, required"},
      {Endpoint::kChat, R"("tool_choice": {"type": "function", "function": {"name": "f"}})",
       "tool_choice", "functions of tools"},
      {Endpoint::kChat, R"("tool_choice": {"type": "allowed_tools", "allowed_tools": {}})",
       "tool_choice", "none, auto, required"},
      {Endpoint::kChat, R"("parallel_tool_calls": 1)", "parallel_tool_calls", "a boolean"},
      {Endpoint::kChat, R"("documents": {})", "documents", "a list"},
      {Endpoint::kChat, R"("chat_template_kwargs": {"messages": []})", "chat_template_kwargs",
       "no messages, a member"},
      {Endpoint::kChat, R"("continue_final_message": true, "add_generation_prompt": true)",
       "continue_final_message", "no add_generation_prompt"},
      {Endpoint::kChat, R"("guided_json": "{")", "guided_json", "a JSON schema"},
      {Endpoint::kChat, R"("guided_json": "3")", "json_schema", "a schema or"},
      {Endpoint::kChat, R"("guided_json": 3)", "json_schema", "a schema or"},
      {Endpoint::kChat, R"("guided_choice": "a")", "guided_choice", "a list of texts"},
      {Endpoint::kChat, R"("guided_choice": [""])", "guided_choice", "not empty"},
      {Endpoint::kChat, R"("guided_choice": ["a", 3])", "guided_choice", "a list of texts"},
      {Endpoint::kChat, R"("guided_choice": ["a"], "regex": "b")", "guided_choice",
       "no other regex"},
      {Endpoint::kChat, R"("guided_json": {}, "response_format": {"type": "json_object"})",
       "guided_json", "no other json_schema"},
      {Endpoint::kChat, R"("guided_regex": ["a"])", "regex", "a regular expression"},
      {Endpoint::kChat, R"("structured_outputs": {"structural_tag": "{}"})", "structured_outputs",
       "json, json_object, regex, choice or grammar"},
      {Endpoint::kChat, R"("structured_outputs": [])", "structured_outputs", "an object"},
      {Endpoint::kChat, R"("response_format": {"type": "xml"})", "response_format",
       "the type text, json_object or json_schema"},
      {Endpoint::kChat, R"("response_format": {"type": "json_schema"})", "response_format",
       "json_schema.schema, an object"},
      {Endpoint::kChat, R"("json_schema": "/etc/passwd")", "json_schema", "a schema or"},
      {Endpoint::kCompletion, R"("grammar": "/etc/passwd")", "grammar", "a grammar with"},
      {Endpoint::kChat, R"("chat_template_kwargs": 3)", "chat_template_kwargs", "an object"},
  };
  for (const Bad& bad : cases) {
    const std::string what = bad.endpoint == Endpoint::kChat
                                 ? R"("messages": [{"role": "user", "content": "a"}], )"
                                 : R"("prompt": "a", )";
    try {
      parse(bad.endpoint, "{" + what + bad.members + "}", 100);
      ADD_FAILURE() << bad.members;
    } catch (const RequestError& error) {
      EXPECT_EQ(error.status(), 400);
      EXPECT_EQ(error.param(), bad.param);
      EXPECT_THAT(error.what(), HasSubstr(bad.message));
    }
  }
}

TEST(CompletionRequest, HasToolsAsTemplatesTakeThem) {
  const auto chat = [](const std::string& members) {
    return parse(Endpoint::kChat,
                 R"({"messages": [
      {"role": "user", "content": "a"},
      {"role": "assistant", "content": null, "refusal": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "2"}],
      "tools": [{"type": "function", "function": {"name": "f"}},
                {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}}])" +
                     members + "}",
                 100);
  };
  const CompletionRequest free = chat("");
  EXPECT_EQ(free.conversation.messages,
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":)"
            R"([{"id":"1","type":"function","function":{"name":"f","arguments":{"x":1}}}]},)"
            R"({"role":"tool","tool_call_id":"1","content":"2"}])");
  EXPECT_THAT(free.conversation.tools, HasSubstr(R"("name":"g","parameters":{"type":"object"})"));
  ASSERT_EQ(free.tools.functions.size(), 2U);
  EXPECT_EQ(free.tools.functions[1].parameters, R"({"type":"object"})");
  EXPECT_FALSE(free.tools.is_required || free.tools.is_single || free.conversation.begins_call);
  const CompletionRequest none = chat(R"(, "tool_choice": "none")");
  EXPECT_TRUE(none.tools.functions.empty() && none.conversation.tools.empty());
  const CompletionRequest one =
      chat(R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})");
  ASSERT_EQ(one.tools.functions.size(), 1U);
  EXPECT_EQ(one.tools.functions[0].name, "g");
  EXPECT_TRUE(one.tools.is_required && one.tools.is_single && one.conversation.begins_call);
  EXPECT_EQ(one.conversation.tools, free.conversation.tools) << "the model is told of all";
  EXPECT_TRUE(chat(R"(, "tool_choice": "required", "parallel_tool_calls": false)").tools.is_single);
  const CompletionRequest allowed = chat(
      R"(, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
             {"type": "function", "function": {"name": "g"}}]}})");
  ASSERT_EQ(allowed.tools.functions.size(), 1U);
  EXPECT_EQ(allowed.tools.functions[0].name, "g");
  EXPECT_TRUE(allowed.tools.is_required);
  EXPECT_FALSE(allowed.tools.is_single);
  EXPECT_TRUE(free.tools.is_past && free.conversation.adds_answer);
  EXPECT_FALSE(chat(R"(, "continue_final_message": true)").conversation.adds_answer);
  for (const char* calls : {"3", "[3]", R"([{"function": {"name": "f", "arguments": "x"}}])",
                            R"([{"function": {"name": "f", "arguments": "[1]"}}])"}) {
    EXPECT_THROW(
        parse(Endpoint::kChat,
              R"({"messages": [{"role": "assistant", "tool_calls": )" + std::string(calls) + "}]}",
              100),
        RequestError)
        << calls;
  }
}

TEST(CompletionRequest, AsksForJson) {
  const auto schema_of = [](const std::string& format) {
    return parse(Endpoint::kCompletion, R"({"prompt": "a", )" + format + "}", 100)
        .options.json_schema;
  };
  EXPECT_EQ(schema_of(R"("response_format": {"type": "text"})"), "");
  EXPECT_EQ(schema_of(R"("response_format": {"type": "json_object"})"), "json");
  EXPECT_EQ(schema_of(R"("response_format": {"type": "json_schema", "json_schema":
                         {"name": "n", "strict": true, "schema": {"enum": [1]}}})"),
            R"({"enum":[1]})");
  EXPECT_EQ(schema_of(R"("json_schema": {"type": "null"})"), R"({"type":"null"})");
}

TEST(CompletionRequest, AsksForFormsAsClientsOfOtherServersDo) {
  const auto options_of = [](const std::string& form) {
    return parse(Endpoint::kCompletion, R"({"prompt": "a", )" + form + "}", 100).options;
  };
  EXPECT_EQ(options_of(R"("guided_json": {"enum": [1]})").json_schema, R"({"enum":[1]})");
  EXPECT_EQ(options_of(R"("guided_json": "{\"enum\": [1]}")").json_schema, R"({"enum":[1]})");
  EXPECT_EQ(options_of(R"("guided_regex": "a+")").regex, "a+");
  EXPECT_EQ(options_of(R"("regex": "a+")").regex, "a+");
  EXPECT_EQ(options_of(R"("guided_choice": ["a.b", "(c|d]"])").regex, R"(a\.b|\(c\|d\])");
  EXPECT_EQ(options_of(R"("guided_choice": ["", "a"])").regex, "|a");
  EXPECT_EQ(options_of(R"("guided_grammar": "root ::= \"a\"")").grammar, "root ::= \"a\"");
  EXPECT_EQ(options_of(R"("ebnf": "root ::= \"a\"")").grammar, "root ::= \"a\"");
  EXPECT_EQ(options_of(R"("structured_outputs": {"choice": ["a"], "json": null})").regex, "a");
  EXPECT_EQ(options_of(R"("structured_outputs": {"json_object": true})").json_schema, "json");
  EXPECT_EQ(options_of(R"("structured_outputs": {"json": {"type": "null"}})").json_schema,
            R"({"type":"null"})");
}

TEST(CompletionRequest, NamesMissingTexts) {
  const std::vector<std::pair<std::string, std::string>> chats = {
      {"{}", "messages: expected a list"},
      {R"({"messages": []})", "messages: expected a list"},
      {R"({"messages": ["a"]})", "messages[0]: expected an object with a role"},
      {R"({"messages": [{"role": "user", "content": 3}]})", "messages[0].content: expected a text"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", "parts of type"},
      {"[]", "the body: expected an object"},
      {"{", "the body: expected JSON"},
      {"\xFF", "the body: expected JSON"},
      {std::string(100000, '['), "the body: "},
  };
  for (const auto& [body, message] : chats) {
    try {
      parse(Endpoint::kChat, body);
      ADD_FAILURE() << body.substr(0, 40);
    } catch (const RequestError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
      EXPECT_THAT(error.body(), HasSubstr(R"("type":"invalid_request_error")"));
    }
  }
  for (const char* body : {"{}", R"({"prompt": null})", R"({"prompt": []})", R"({"prompt": [-1]})",
                           R"({"prompt": 3})", R"({"prompt": [["a"]]})"}) {
    EXPECT_THROW(parse(Endpoint::kCompletion, body), RequestError) << body;
  }
}

TEST(RequestError, HasTheFormOfTheProtocol) {
  EXPECT_EQ(RequestError(404, "no \"x\"", "model", "model_not_found").body(),
            R"({"error":{"message":"no \"x\"","type":"invalid_request_error","param":"model",)"
            R"("code":"model_not_found"}})");
  EXPECT_STREQ(RequestError(429, "").type(), "rate_limit_error");
  EXPECT_STREQ(RequestError(401, "").type(), "authentication_error");
  EXPECT_STREQ(RequestError(503, "").type(), "server_error");
}

/// What clients send of earlier answers.
TEST(CompletionRequest, TakeAnswersWithoutAText) {
  const auto content_of = [](const std::string& answer) {
    const CompletionRequest request =
        parse(Endpoint::kChat,
              R"({"messages": [{"role": "user", "content": "a"}, )" + answer + "]}", 100);
    return Json::parse(request.conversation.messages)[1];
  };
  EXPECT_EQ(content_of(R"({"role": "assistant", "content": null})")["content"], "");
  EXPECT_EQ(content_of(R"({"role": "assistant", "refusal": "no"})")["content"], "");
  EXPECT_EQ(content_of(R"({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."},
                           {"type": "text", "text": " Sorry."}]})")["content"],
            "No. Sorry.");
  for (const char* arguments : {"\"\"", "null", "\"{}\"", "{}"}) {
    const Json told = content_of(
        R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": )" +
        std::string(arguments) + "}}]}");
    EXPECT_EQ(told["tool_calls"][0]["function"]["arguments"], Json::object());
  }
  for (const char* wrong : {R"({"role": "user"})", R"({"role": "system", "content": null})",
                            R"({"role": "function", "name": "f", "content": "1"})",
                            R"({"role": "assistant", "function_call": {"name": "f"}})"}) {
    EXPECT_THROW(content_of(wrong), RequestError) << wrong;
  }
}

}  // namespace
}  // namespace halftone::server
