// SPDX-License-Identifier: Apache-2.0
// Requests and what is sent for them, on a model that knows a text by heart.
#include "halftone/server/completion_delivery.h"

#include <gmock/gmock.h>

#include <cmath>
#include <future>
#include <thread>
#include <utility>

#include "halftone/base/testing.h"
#include "halftone/server/testing.h"
#include "halftone/server/text_routes.h"

namespace halftone::server {
namespace {

using testing::HasSubstr;

class Deliveries : public testing::Test {
 protected:
  /// @return the answer, as it is sent
  std::string ask(Endpoint endpoint, const Json& body) {
    CompletionDelivery delivery(service_, endpoint, dump(body), exchange());
    std::string sent;
    EXPECT_EQ(send_all(delivery, sent), CompletionDelivery::State::kDone);
    return sent;
  }
  Json complete(const Json& body) { return Json::parse(ask(Endpoint::kCompletion, body)); }
  /// The events of a stream.
  std::vector<std::string> stream(Endpoint endpoint, Json body) {
    body["stream"] = true;
    std::vector<std::string> events;
    std::string sent = ask(endpoint, body);
    for (std::size_t end = sent.find("\n\n"); end != sent.npos; end = sent.find("\n\n")) {
      EXPECT_EQ(sent.substr(0, 6), "data: ");
      events.push_back(sent.substr(6, end - 6));
      sent.erase(0, end + 2);
    }
    EXPECT_EQ(sent, "");
    return events;
  }
  int status_of(Endpoint endpoint, const Json& body) {
    try {
      (void)ask(endpoint, body);
    } catch (const RequestError& error) {
      return error.status();
    }
    return 200;
  }
  std::shared_ptr<Exchange> exchange() {
    return std::make_shared<Exchange>(journal_, "POST", "/v1/completions", "here");
  }
  static ServerOptions options() {
    ServerOptions options;
    options.chat_template = "chatml";
    options.generate.sampling.temperature = 0;
    options.queue = 2;
    return options;
  }

  TextModel model_ = parrot("<|im_start|>assistant\nHalftone</s>");
  TextService service_{model_, options()};
  std::vector<std::string> lines_;
  Journal journal_{service_.metrics(), [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(Deliveries, AnswerAtOnce) {
  const Json found = complete({{"prompt", "Ha"}, {"model", "parrot"}});
  EXPECT_EQ(found["object"], "text_completion");
  EXPECT_EQ(found["model"], "parrot");
  EXPECT_EQ(found["choices"][0]["text"], "lftone");
  EXPECT_EQ(found["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(found["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(found["usage"]["completion_tokens"], 7);
  EXPECT_EQ(found["usage"]["total_tokens"], 9);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(Json::parse(lines_[0])["completion_tokens"], 7);
  EXPECT_THAT(report_metrics(service_, ""),
              testing::AllOf(HasSubstr("halftone_generated_tokens_total 7\n"),
                             HasSubstr("halftone_guessed_tokens_total "),
                             HasSubstr("halftone_accepted_tokens_total "),
                             HasSubstr("halftone_cache_shared_bytes 0\n")));
}

TEST_F(Deliveries, AnswerConversations) {
  const Json messages = Json::array({{{"role", "user"}, {"content", "What?"}}});
  const Json found = Json::parse(ask(Endpoint::kChat, {{"messages", messages}, {"max_tokens", 3}}));
  EXPECT_EQ(found["object"], "chat.completion");
  EXPECT_EQ(found["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(found["choices"][0]["message"]["content"], "Hal");
  EXPECT_EQ(found["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(found["choices"][0]["logprobs"].is_null());
}

TEST_F(Deliveries, AnswerSeveralPromptsAndChoices) {
  const Json found = complete({{"prompt", {"Ha", "t"}}, {"n", 2}, {"max_tokens", 2}});
  ASSERT_EQ(found["choices"].size(), 4U);
  EXPECT_EQ(found["choices"][1]["text"], "lf");
  EXPECT_EQ(found["choices"][2]["text"], "on");
  EXPECT_EQ(found["choices"][3]["index"], 3);
  EXPECT_EQ(found["usage"]["prompt_tokens"], 3) << "each prompt counts once";
  EXPECT_EQ(found["usage"]["completion_tokens"], 8);
}

TEST_F(Deliveries, EchoPrompts) {
  const Json found =
      complete({{"prompt", {"Ha", {116}}}, {"echo", true}, {"n", 2}, {"max_tokens", 2}});
  EXPECT_EQ(found["choices"][1]["text"], "Half");
  EXPECT_EQ(found["choices"][3]["text"], "ton");
  EXPECT_EQ(complete({{"prompt", "Ha"}, {"echo", true}, {"max_tokens", 0}})["choices"][0]["text"],
            "Ha");
  const std::vector<std::string> events =
      stream(Endpoint::kCompletion, {{"prompt", "Ha"}, {"echo", true}, {"max_tokens", 1}});
  EXPECT_EQ(Json::parse(events.at(0))["choices"][0]["text"], "Ha");
  EXPECT_EQ(Json::parse(events.at(1))["choices"][0]["text"], "l");
}

TEST_F(Deliveries, ChooseTheBestTexts) {
  // A high temperature: most candidates leave what the model knows by heart.
  const Json body = {{"prompt", "Ha"}, {"temperature", 4}, {"max_tokens", 4}, {"logprobs", 0}};
  const auto mean = [](const Json& choice) {
    double sum = 0;
    for (const Json& each : choice["logprobs"]["token_logprobs"]) sum += each.get<double>();
    return sum / static_cast<double>(choice["logprobs"]["token_logprobs"].size());
  };
  Json all = body;
  all["n"] = 4;
  std::vector<std::pair<double, std::string>> ranked;
  const Json answered = complete(all);
  for (const Json& choice : answered["choices"]) {
    ranked.emplace_back(-mean(choice), choice["text"]);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, std::string>::first);
  Json best = body;
  best["n"] = 2;
  best["best_of"] = 4;
  best.erase("logprobs");
  const Json found = complete(best);
  ASSERT_EQ(found["choices"].size(), 2U);
  EXPECT_EQ(found["choices"][0]["text"], ranked[0].second);
  EXPECT_EQ(found["choices"][1]["text"], ranked[1].second);
  EXPECT_EQ(found["choices"][1]["index"], 1);
  EXPECT_TRUE(found["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(found["usage"]["completion_tokens"], 16) << "of all candidates";
}

TEST_F(Deliveries, FollowPenaltiesAndBiases) {
  const Json without_l = {{"prompt", "Ha"}, {"max_tokens", 1}, {"logit_bias", {{"108", -100}}}};
  EXPECT_EQ(complete(without_l)["choices"][0]["text"], std::string(1, '\0'))
      << "the others are equal, and the lowest token is drawn";
  EXPECT_EQ(complete({{"prompt", "Ha"}, {"stop_token_ids", {102}}})["choices"][0]["text"], "l");
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", "Ha"}, {"stop_token_ids", {300}}}), 400);
}

TEST_F(Deliveries, TellUsageBehindTheStreamOnly) {
  const std::vector<std::string> events =
      stream(Endpoint::kCompletion,
             {{"prompt", "Ha"}, {"max_tokens", 1}, {"stream_options", {{"include_usage", true}}}});
  EXPECT_TRUE(Json::parse(events.at(0)).at("usage").is_null());
  EXPECT_EQ(Json::parse(events.at(events.size() - 2))["usage"]["total_tokens"], 3);
}

TEST_F(Deliveries, StreamPieces) {
  std::vector<std::string> events =
      stream(Endpoint::kChat, {{"messages", Json::array({{{"role", "user"}, {"content", "?"}}})},
                               {"stream_options", {{"include_usage", true}}}});
  ASSERT_GE(events.size(), 5U);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Json::parse(events[0])["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (std::size_t i = 0; i + 3 < events.size(); ++i) {
    const Json piece = Json::parse(events[i]);
    EXPECT_EQ(piece["object"], "chat.completion.chunk");
    EXPECT_TRUE(piece["choices"][0]["finish_reason"].is_null());
    text += piece["choices"][0]["delta"]["content"];
  }
  EXPECT_EQ(text, "Halftone");
  const Json last = Json::parse(events[events.size() - 3]);
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(Json::parse(events[events.size() - 2])["usage"]["completion_tokens"], 9);
}

TEST_F(Deliveries, TellProbabilities) {
  // One logit is 10, the 258 others are 0.
  const double logprob = 10 - std::log(std::exp(10.0) + 258);
  const Json found = complete({{"prompt", "Ha"}, {"max_tokens", 2}, {"logprobs", 2}});
  const Json& scores = found["choices"][0]["logprobs"];
  EXPECT_EQ(scores["tokens"], Json({"l", "f"}));
  EXPECT_NEAR(scores["token_logprobs"][0], logprob, 1e-9);
  EXPECT_NEAR(scores["top_logprobs"][0]["l"], logprob, 1e-9);
  EXPECT_EQ(scores["top_logprobs"][0].size(), 2U);
  EXPECT_EQ(scores["text_offset"], Json({0, 1}));
  const Json chat = Json::parse(
      ask(Endpoint::kChat, {{"messages", Json::array({{{"role", "user"}, {"content", "?"}}})},
                            {"max_tokens", 1},
                            {"logprobs", true},
                            {"top_logprobs", 1}}));
  const Json& token = chat["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(token["token"], "H");
  EXPECT_EQ(token["bytes"], Json::array({72}));
  EXPECT_EQ(token["top_logprobs"][0]["token"], "H");
  const std::vector<std::string> events =
      stream(Endpoint::kCompletion, {{"prompt", "Ha"}, {"max_tokens", 2}, {"logprobs", 0}});
  EXPECT_EQ(Json::parse(events[1])["choices"][0]["logprobs"]["tokens"], Json({"f"}));
  EXPECT_EQ(Json::parse(events[1])["choices"][0]["logprobs"]["text_offset"], Json({1}));
}

TEST_F(Deliveries, RefuseWhatTheModelCannotTake) {
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", "a"}, {"model", "other"}}), 404);
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", ""}}), 400);
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", {300}}}), 400);
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", std::string(201, 'a')}}), 400);
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", "a"}, {"n", 5}}), 400)
      << "two sequences, and two may wait";
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", {"a", "b", "c"}}, {"n", 2}}), 400);
  while (service_.counts().running + service_.counts().waiting != 0) std::this_thread::yield();
  EXPECT_EQ(complete({{"prompt", "Ha"}})["choices"][0]["text"], "lftone") << "afterwards";
  service_.drain();
  EXPECT_EQ(status_of(Endpoint::kCompletion, {{"prompt", "Ha"}}), 503);
  EXPECT_THROW(report_health(service_, ""), RequestError);
}

/// A model that waits for a sign.
class WaitingModel : public lm::ParrotModel {
 public:
  explicit WaitingModel(std::shared_future<void> sign)
      : ParrotModel(259, 50, {'a', 'a'}), sign_(std::move(sign)) {}
  std::vector<float> append(std::size_t sequence, std::span<const lm::TokenId> tokens,
                            bool all) override {
    sign_.wait();
    return ParrotModel::append(sequence, tokens, all);
  }

 private:
  std::shared_future<void> sign_;
};

TEST_F(Deliveries, AreRefusedForAWhileWhereTooManyWait) {
  std::promise<void> sign;
  TextModel waiting("w", model_.texts(), std::make_unique<WaitingModel>(sign.get_future()));
  TextService service(waiting, options());
  const auto state_of = [&](std::size_t texts) {
    const Json body = {{"prompt", "a"}, {"n", texts}, {"max_tokens", 2}};
    CompletionDelivery delivery(service, Endpoint::kCompletion, dump(body), exchange());
    std::string sent;
    return send_all(delivery, sent);
  };
  auto first = std::async(std::launch::async, state_of, 3);
  while (service.counts().running + service.counts().waiting != 3) std::this_thread::yield();
  try {
    state_of(2);
    ADD_FAILURE() << "expected that two more find no place";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), 429);
  }
  sign.set_value();
  EXPECT_EQ(first.get(), CompletionDelivery::State::kDone);
}

TEST_F(Deliveries, EndWhenTheClientHasLeft) {
  for (const bool streams : {false, true}) {
    CompletionDelivery delivery(service_, Endpoint::kCompletion,
                                dump({{"prompt", "x"}, {"max_tokens", 150}, {"stream", streams}}),
                                exchange());
    const Sink closed{[](const std::string&) { return false; }, [] { return false; }};
    EXPECT_EQ(delivery.send(closed), CompletionDelivery::State::kLost);
  }
  EXPECT_THAT(lines_.at(1), HasSubstr(R"("lost":true)"));
}

/// A model whose logits are broken from the third token on.
class BreakingModel : public lm::ParrotModel {
 public:
  using ParrotModel::ParrotModel;
  std::vector<float> append(std::size_t sequence, std::span<const lm::TokenId> tokens,
                            bool all) override {
    std::vector<float> logits = ParrotModel::append(sequence, tokens, all);
    if (length(sequence) > 3) logits.assign(logits.size(), NAN);
    return logits;
  }
};

TEST_F(Deliveries, TellClientsWhenTheModelFails) {
  TextModel broken("b", model_.texts(),
                   std::make_unique<BreakingModel>(259, 50, std::vector<lm::TokenId>{'a', 'a'}));
  TextService service(broken, options());
  const auto send = [&](const char* prompt, bool streams, std::string& sent) {
    CompletionDelivery delivery(service, Endpoint::kCompletion,
                                dump({{"prompt", prompt}, {"stream", streams}}), exchange());
    return send_all(delivery, sent);
  };
  std::string sent;
  EXPECT_THROW(send("aaaa", false, sent), RequestError) << "before there is a status";
  EXPECT_EQ(send("a", false, sent), CompletionDelivery::State::kLost);
  EXPECT_EQ(sent, "");
  EXPECT_EQ(send("a", true, sent), CompletionDelivery::State::kDone);
  EXPECT_THAT(sent,
              HasSubstr("data: {\"error\":{\"message\":\"the model failed: logit of token 0"));
}

TEST_F(Deliveries, EndTextsWhoseTimeIsOver) {
  ServerOptions hasty = options();
  hasty.seconds = 1e-9;
  TextService service(model_, hasty);
  try {
    CompletionDelivery delivery(service, Endpoint::kCompletion, R"({"prompt": "Ha"})", exchange());
    ADD_FAILURE();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), 503);
    EXPECT_EQ(error.code(), "timeout");
  }
}

TEST_F(Deliveries, TellOfTheModel) {
  EXPECT_EQ(Json::parse(list_models(service_, ""))["data"][0]["id"], "parrot");
  EXPECT_EQ(Json::parse(describe_model(service_, "parrot"))["max_model_len"], 200);
  EXPECT_THROW(describe_model(service_, "other"), RequestError);
  EXPECT_EQ(Json::parse(report_health(service_, ""))["status"], "ok");
  EXPECT_EQ(Json::parse(tokenize(service_, R"({"content": "Ha"})"))["tokens"], Json({72, 97}));
  EXPECT_EQ(
      Json::parse(tokenize(service_, R"({"prompt": "</s>", "parse_special": true})"))["count"], 1);
  EXPECT_EQ(Json::parse(detokenize(service_, R"({"tokens": [72, 97, 258]})"))["content"], "Ha");
  for (const char* body : {"{}", R"({"content": 3})", R"({"content": "a", "add_special": 1})"}) {
    EXPECT_THROW(tokenize(service_, body), RequestError) << body;
  }
  for (const char* body : {"{}", R"({"tokens": ["a"]})", R"({"tokens": [259]})"}) {
    EXPECT_THROW(detokenize(service_, body), RequestError) << body;
  }
}

}  // namespace
}  // namespace halftone::server
