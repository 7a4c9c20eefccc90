// SPDX-License-Identifier: Apache-2.0
// Answers that call functions, on a model that knows one by heart.
#include <gmock/gmock.h>

#include "halftone/lm/tools/testing.h"
#include "halftone/server/completion_delivery.h"
#include "halftone/server/testing.h"

namespace halftone::server {
namespace {

using testing::HasSubstr;

/// Goes on where the end of a sequence is in a text, at the place with the longest part in common.
class Reciter : public lm::ParrotModel {
 public:
  Reciter(std::size_t vocabulary, std::vector<lm::TokenId> text)
      : ParrotModel(vocabulary, 2000, {}), text_(std::move(text)) {}
  std::vector<float> append(std::size_t sequence, std::span<const lm::TokenId> tokens,
                            bool all) override {
    std::vector<float> logits = ParrotModel::append(sequence, tokens, all);
    const std::span<const lm::TokenId> known = this->tokens(sequence);
    const std::size_t rows = logits.size() / vocabulary();
    for (std::size_t row = 0; row < rows; ++row) {
      const auto next = next_of(known.first(known.size() - (rows - 1 - row)));
      logits[row * vocabulary() + static_cast<std::size_t>(next)] = 10;
    }
    return logits;
  }

 private:
  [[nodiscard]] lm::TokenId next_of(std::span<const lm::TokenId> known) const {
    std::size_t best = 0;
    std::size_t longest = 0;
    for (std::size_t end = 1; end < text_.size(); ++end) {
      std::size_t length = 0;
      while (length < std::min(end, known.size()) &&
             text_[end - 1 - length] == known[known.size() - 1 - length]) {
        ++length;
      }
      if (length > longest) best = end;
      longest = std::max(longest, length);
    }
    return text_[best];
  }
  std::vector<lm::TokenId> text_;
};

class ToolCalls : public testing::Test {
 protected:
  /// What is sent for a question with two functions.
  std::string ask(const std::string& answer, const std::string& chat_template, Json more = {}) {
    lm::ModelTexts texts = parrot_texts();
    texts.chat_template = chat_template;
    const std::string front =
        chat_template == lm::kBareCalls ? "<|user|>?<|eot_id|>" : "<|im_start|>assistant\n";
    const auto script = texts.tokenizer.encode(front + answer + "</s>", {.control = true});
    TextModel model("reciter", texts, std::make_unique<Reciter>(259, script));
    ServerOptions options;
    options.generate.sampling.temperature = 0;
    options.generate.max_tokens = 300;
    TextService service(model, options);
    Journal journal(service.metrics(), {});
    Json body = {{"messages", Json::array({{{"role", "user"}, {"content", "?"}}})},
                 {"tools", Json::array({function("add", {{"a", {{"type", "integer"}}}}),
                                        function("say", {{"word", {{"enum", {"yes", "no"}}}}})})}};
    if (!more.is_null()) body.update(more);
    CompletionDelivery delivery(service, Endpoint::kChat, dump(body),
                                std::make_shared<Exchange>(journal, "POST", "/", "here"));
    std::string sent;
    (void)send_all(delivery, sent);
    return sent;
  }
  Json choice(const std::string& answer, const std::string& chat_template, Json more = {}) {
    return Json::parse(ask(answer, chat_template, std::move(more)))["choices"][0];
  }
  std::string error(const std::string& chat_template, Json more = {}) {
    try {
      (void)ask("", chat_template, std::move(more));
    } catch (const RequestError& error) {
      EXPECT_EQ(error.status(), 400);
      EXPECT_EQ(error.param(), "tools");
      return error.what();
    }
    return "";
  }
  static Json function(const std::string& name, const Json& properties) {
    Json required = Json::array();
    for (const auto& [key, value] : properties.items()) required.push_back(key);
    return {{"type", "function"},
            {"function",
             {{"name", name},
              {"parameters",
               {{"type", "object"}, {"properties", properties}, {"required", required}}}}}};
  }

  const std::string two_ =
      "Well.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 17}}\n</tool_call>\n"
      "<tool_call>\n{\"name\": \"say\", \"arguments\": {\"word\": \"no\"}}\n</tool_call>";
};

TEST_F(ToolCalls, AreFoundInAnswers) {
  const Json found = choice(two_, lm::kMarkedCalls);
  EXPECT_EQ(found["finish_reason"], "tool_calls");
  EXPECT_EQ(found["message"]["content"], "Well.");
  const Json& calls = found["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"], Json({{"name", "add"}, {"arguments", "{\"a\": 17}"}}));
  EXPECT_EQ(calls[1]["function"], Json({{"name", "say"}, {"arguments", "{\"word\": \"no\"}"}}));
  EXPECT_EQ(calls[0]["id"].get<std::string>().size(), 9U);
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);
  const Json bare = choice("{\"name\": \"add\", \"parameters\": {\"a\": 1}}", lm::kBareCalls);
  EXPECT_TRUE(bare["message"]["content"].is_null());
  EXPECT_EQ(bare["message"]["tool_calls"][0]["function"]["arguments"], "{\"a\": 1}");
  const Json plain = choice("Seventeen.", lm::kMarkedCalls);
  EXPECT_EQ(plain["message"]["content"], "Seventeen.");
  EXPECT_EQ(plain["finish_reason"], "stop");
  EXPECT_FALSE(plain["message"].contains("tool_calls"));
}

TEST_F(ToolCalls, StandBesideAFormOfOtherAnswers) {
  const auto form = [](Json schema) {
    return Json{{"response_format",
                 {{"type", "json_schema"}, {"json_schema", {{"schema", std::move(schema)}}}}}};
  };
  const Json list = {{"type", "array"}, {"items", {{"type", "integer"}}}};
  const std::string call = two_.substr(two_.find('<'));
  EXPECT_EQ(choice(call, lm::kMarkedCalls, form(list))["message"]["tool_calls"].size(), 2U);
  const Json plain = choice("[17, 4]", lm::kMarkedCalls, form(list));
  EXPECT_EQ(plain["message"]["content"], "[17, 4]");
  EXPECT_EQ(plain["finish_reason"], "stop");
  Json ruled = form(list);
  ruled["tool_choice"] = "required";
  EXPECT_EQ(choice("add\", \"arguments\": {\"a\": 1}}\n</tool_call>", lm::kMarkedCalls,
                   ruled)["finish_reason"],
            "tool_calls");
  try {
    (void)ask("", lm::kMarkedCalls, form({{"if", Json::object()}}));
    FAIL() << "a schema that is not followed is taken";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.param(), "response_format");
  }
}

TEST_F(ToolCalls, AreStreamedBehindContent) {
  std::string sent = ask(two_, lm::kMarkedCalls, {{"stream", true}});
  std::string content;
  std::vector<Json> calls;
  std::string reason;
  for (std::size_t end = sent.find("\n\n"); end != std::string::npos; end = sent.find("\n\n")) {
    const std::string event = sent.substr(6, end - 6);
    sent.erase(0, end + 2);
    if (event == "[DONE]") break;
    const Json piece = Json::parse(event)["choices"][0];
    if (piece["delta"].contains("content")) content += piece["delta"]["content"];
    if (!piece["finish_reason"].is_null()) reason = piece["finish_reason"];
    if (!piece["delta"].contains("tool_calls")) continue;
    const Json call = piece["delta"]["tool_calls"][0];
    if (call.contains("id")) calls.push_back(call["function"]);
    Json& arguments = calls.at(call["index"].get<std::size_t>())["arguments"];
    arguments = arguments.get<std::string>() + call["function"]["arguments"].get<std::string>();
  }
  EXPECT_EQ(content, "Well.");
  EXPECT_EQ(reason, "tool_calls");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[1], Json({{"name", "say"}, {"arguments", "{\"word\": \"no\"}"}}));
}

TEST_F(ToolCalls, AreValidWhereTheyAreRequired) {
  const Json named = {{"type", "function"}, {"function", {{"name", "say"}}}};
  for (const std::string* chat_template : {&lm::kMarkedCalls, &lm::kListedCalls, &lm::kBareCalls}) {
    for (const char* answer : {"I will not.", "say\", \"arguments\": {\"word\": \"no\"}}"}) {
      const Json found = choice(answer, *chat_template, {{"tool_choice", named}});
      EXPECT_EQ(found["finish_reason"], "tool_calls") << found;
      ASSERT_EQ(found["message"]["tool_calls"].size(), 1U) << found;
      const Json call = found["message"]["tool_calls"][0]["function"];
      EXPECT_EQ(call["name"], "say");
      const Json word = Json::parse(call["arguments"].get<std::string>())["word"];
      EXPECT_TRUE(word == "yes" || word == "no") << call;
    }
  }
  const Json both = choice(two_, lm::kMarkedCalls, {{"tool_choice", "required"}});
  EXPECT_EQ(both["message"]["tool_calls"].size(), 2U) << both;
  const Json one =
      choice(two_, lm::kMarkedCalls, {{"tool_choice", "required"}, {"parallel_tool_calls", false}});
  EXPECT_EQ(one["message"]["tool_calls"].size(), 1U) << one;
}

TEST_F(ToolCalls, MayHaveTheirArgumentsOneByOne) {
  const std::string one =
      "Well.\n<tool_call>\n<function=add>\n<parameter=a>\n17\n</parameter>\n</function>\n"
      "</tool_call>";
  const Json found = choice(one, lm::kTaggedCalls);
  EXPECT_EQ(found["finish_reason"], "tool_calls");
  EXPECT_EQ(found["message"]["content"], "Well.");
  ASSERT_EQ(found["message"]["tool_calls"].size(), 1U);
  EXPECT_EQ(found["message"]["tool_calls"][0]["function"],
            Json({{"name", "add"}, {"arguments", "{\"a\": 17}"}}));
  EXPECT_THAT(ask(one, lm::kTaggedCalls, {{"stream", true}}),
              HasSubstr(R"({"arguments":"{\"a\": 17}"})"));
  for (const std::string* chat_template :
       {&lm::kTaggedCalls, &lm::kTypedCalls, &lm::kPythonCalls}) {
    const Json required = choice("I will not.", *chat_template, {{"tool_choice", "required"}});
    ASSERT_FALSE(required["message"]["tool_calls"].empty()) << required;
    const Json call = required["message"]["tool_calls"][0]["function"];
    const Json arguments = Json::parse(call["arguments"].get<std::string>());
    if (call["name"] == "add") {
      EXPECT_TRUE(arguments["a"].is_number_integer()) << call;
    } else {
      EXPECT_TRUE(arguments["word"] == "yes" || arguments["word"] == "no") << call;
    }
  }
}

/// Templates that take no functions, or write calls in a notation that is not followed.
TEST_F(ToolCalls, AreTextOfMessagesWhereTheTemplateHasNone) {
  const std::string plain =
      "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content "
      "}}<|im_end|>\n"
      "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  const std::string other =
      lm::kListsAsMarkup + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  for (const std::string& chat_template : {plain, other}) {
    const Json found = choice(two_, chat_template);
    EXPECT_EQ(found["finish_reason"], "tool_calls");
    EXPECT_EQ(found["message"]["content"], "Well.");
    ASSERT_EQ(found["message"]["tool_calls"].size(), 2U) << found;
    const Json required = choice("I will not.", chat_template, {{"tool_choice", "required"}});
    ASSERT_FALSE(required["message"]["tool_calls"].empty()) << required;
  }
  const Json call = {{"id", "1"}, {"function", {{"name", "add"}, {"arguments", "{}"}}}};
  const Json told = Json::array({{{"role", "user"}, {"content", "?"}},
                                 {{"role", "assistant"}, {"tool_calls", Json::array({call})}},
                                 {{"role", "tool"}, {"content", "17"}}});
  const std::string without_tools = plain +
                                    "{% for m in messages if m.role == 'tool' %}{{ "
                                    "raise_exception('no tools here') }}{% endfor %}";
  EXPECT_EQ(choice("So.", without_tools, {{"messages", told}})["finish_reason"], "stop");
  EXPECT_EQ(choice("So.", without_tools, {{"messages", told}, {"tools", nullptr}})["finish_reason"],
            "stop")
      << "past calls are read without functions";
}

TEST_F(ToolCalls, SayWhyTheyAreNotThere) {
  EXPECT_THAT(error("{{ messages[0].role }}"),
              HasSubstr("does not take descriptions of functions"));
  const Json odd = {{"type", "function"},
                    {"function", {{"name", "odd"}, {"parameters", {{"if", Json::object()}}}}}};
  EXPECT_THAT(error(lm::kMarkedCalls, {{"tools", Json::array({odd})}, {"tool_choice", "required"}}),
              HasSubstr("function odd: JSON schema"));
  const Json none = choice("Hi", "{% for message in messages %}{{ message.content }}{% endfor %}",
                           {{"tool_choice", "none"}, {"max_tokens", 1}});
  EXPECT_EQ(none["finish_reason"], "length") << "who may call none needs no template for it";
}

}  // namespace
}  // namespace halftone::server
