// SPDX-License-Identifier: Apache-2.0
// The C++ API: language models.
#include <cmath>
#include <optional>
#include <stdexcept>

#include "halftone/cpp/testing.h"
#include "tests/tiny_language_model.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using testing::ElementsAre;
using testing::HasSubstr;

class CppLanguage : public outside::WithFolder {
 protected:
  void SetUp() override {
    try {
      model_ = open({});
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("this build has none"));
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] LanguageModel open(LanguageModelOptions options) const {
    options.tokenizer = tiny_.tokenizer();
    return LanguageModel::open(tiny_.path(), options);
  }
  LanguageModel& model() { return *model_; }

  TinyLanguageModel tiny_{path("tiny.bin")};
  std::optional<LanguageModel> model_;
};

TEST_F(CppLanguage, SaysWhatAModelIs) {
  const LanguageModel two = open({.context = 20, .sequences = 2});
  EXPECT_EQ(two.name(), tiny_.path());
  EXPECT_EQ(two.vocabulary(), TinyLanguageModel::kVocabulary);
  EXPECT_EQ(two.context(), 20U);
  EXPECT_EQ(two.sequences(), 2U);
  EXPECT_EQ(two.begin_token(), TinyLanguageModel::kBegin);
  EXPECT_TRUE(two.is_end_token(TinyLanguageModel::kEnd));
  EXPECT_FALSE(two.is_end_token(kNoToken));
  EXPECT_GT(model().bytes_per_token(10), model().bytes_per_token(0));
}

TEST_F(CppLanguage, RunsOnDevicesWithTheSameLogits) {
  const std::vector<Token> tokens = model().tokenize("ab");
  const std::vector<float> want = model().append_for_all(tokens);
  expect_error(ErrorKind::kDevice, "no device opencl:99",
               [&] { (void)open({.device = "opencl:99"}); });
  for (const Device& device : devices()) {
    if (!device.problem.empty()) continue;
    LanguageModel there = open({.device = device.id});
    EXPECT_EQ(there.append_for_all(tokens), want) << device.id;
    EXPECT_EQ(there.device(), device.id);
  }
  LanguageModel best = open({.device = "auto"});
  EXPECT_EQ(best.append_for_all(tokens), want) << best.device();
  EXPECT_NE(best.device(), "auto");
}

TEST(CppDevices, BeginWithTheProcessor) {
  const std::vector<Device> all = devices();
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(all[0].id, "cpu");
  EXPECT_EQ(all[0].problem, "");
}

TEST_F(CppLanguage, TurnsTextIntoTokensAndBack) {
  const std::vector<Token> tokens = model().tokenize("a b");
  EXPECT_EQ(tokens.size(), 5U);
  EXPECT_EQ(model().tokenize("a b", {.begin = false}).size(), 4U);
  EXPECT_EQ(model().detokenize(tokens), "a b");
  EXPECT_EQ(model().token_text(TinyLanguageModel::token_of('z')), "z");
  expect_error(ErrorKind::kFormat, "UTF-8", [&] { (void)model().tokenize("\xFF"); });
  expect_error(ErrorKind::kUsage, "260", [&] { (void)model().token_text(260); });
  expect_error(ErrorKind::kUsage, "260", [&] { (void)model().detokenize(std::vector{260}); });
}

TEST_F(CppLanguage, AppendsTokensToSequences) {
  LanguageModel two = open({.sequences = 2});
  const std::vector<Token> tokens = two.tokenize("Hello");
  const std::vector<float> all = two.append_for_all(tokens);
  EXPECT_EQ(all.size(), tokens.size() * two.vocabulary());
  two.append(std::vector<Token>{5, 6, 7}, 1);
  two.truncate(0, 1);
  std::vector<float> last;
  for (const Token token : tokens) last = two.append({&token, 1}, 1);
  EXPECT_TRUE(std::equal(last.begin(), last.end(),
                         all.end() - static_cast<std::ptrdiff_t>(two.vocabulary())));
  EXPECT_EQ(two.tokens(0), tokens);
  EXPECT_EQ(two.tokens(1), tokens);
  expect_error(ErrorKind::kUsage, "sequence: expected 0 to 1, found 2",
               [&] { (void)two.tokens(2); });
  expect_error(ErrorKind::kUsage, "length", [&] { two.truncate(99); });
  expect_error(ErrorKind::kUnsupported, "the context is full",
               [&] { two.append(std::vector<Token>(60, 5)); });
  EXPECT_EQ(two.tokens(0), tokens) << "as it was";
}

TEST_F(CppLanguage, AppendsTokensToSeveralSequencesAtOnce) {
  LanguageModel three = open({.sequences = 3});
  const std::vector<Token> hello = three.tokenize("Hello");
  const std::vector<Token> there = three.tokenize("there!");
  std::vector<float> want = three.append(hello, 0);
  const std::vector<float> second = three.append(there, 1);
  want.insert(want.end(), second.begin(), second.end());
  three.truncate(0, 1);
  EXPECT_EQ(three.append_each(std::vector<SequenceTokens>{{2, hello}, {1, there}}), want);
  EXPECT_EQ(three.tokens(2), hello);
  expect_error(ErrorKind::kUsage, "sequence 1 is named twice", [&] {
    three.append_each(std::vector<SequenceTokens>{{1, hello}, {1, there}});
  });
  expect_error(ErrorKind::kUsage, "sequence: expected 0 to 2, found 3", [&] {
    three.append_each(std::vector<SequenceTokens>{{0, hello}, {3, there}});
  });
  EXPECT_EQ(three.tokens(0), hello) << "as it was";
}

TEST_F(CppLanguage, TurnsTextsIntoVectors) {
  const std::vector<std::string> texts{"Once", "there", "Once"};
  const std::vector<Token> before = model().tokens();
  const std::vector<std::vector<float>> vectors = model().embed(texts);
  ASSERT_EQ(vectors.size(), 3U);
  EXPECT_EQ(vectors[0], vectors[2]);
  EXPECT_NE(vectors[0], vectors[1]);
  EXPECT_EQ(model().embed(std::vector<std::string>{"there"})[0], vectors[1]) << "alone";
  double squares = 0;
  for (const float x : vectors[1]) squares += double{x} * double{x};
  EXPECT_NEAR(squares, 1, 3 * 0x1p-24) << "each number is rounded once";
  EXPECT_EQ(model().embed(texts, 4)[1].size(), 4U);
  EXPECT_EQ(model().tokens(), before);
  expect_error(ErrorKind::kUsage, "dimensions: expected 1 to", [&] { model().embed(texts, 1000); });
  expect_error(ErrorKind::kUsage, "text 1: expected 1 to", [&] {
    model().embed(std::vector<std::string>{"a", std::string(9999, 'a')});
  });
}

TEST_F(CppLanguage, ContinuesTextsAndTokens) {
  std::vector<Token> heard;
  std::string text;
  const OnToken hear = [&](Token token, std::string_view piece) {
    if (token != kNoToken) heard.push_back(token);
    text += piece;
    return true;
  };
  const Generation found = model().generate("Once", {.max_tokens = 9}, hear);
  EXPECT_EQ(found.tokens, heard);
  EXPECT_EQ(found.text, text);
  EXPECT_EQ(found.end, End::kCount);
  EXPECT_EQ(found.prompt_tokens, 6U);
  const std::vector<Token> prompt = model().tokenize("Once");
  const Generation same = model().generate(prompt, {.max_tokens = 9});
  EXPECT_EQ(same.tokens, found.tokens);
  EXPECT_EQ(same.reused_tokens, 5U);
  const Generation stopped =
      model().generate("Once", {}, [](Token token, std::string_view) { return token == kNoToken; });
  EXPECT_EQ(stopped.end, End::kInterrupted);
  EXPECT_EQ(to_string(stopped.end), "interrupted");
  EXPECT_EQ(to_string(found.end), "count");
  EXPECT_THAT(stopped.tokens, ElementsAre(found.tokens[0]));
  GenerateOptions draw{.max_tokens = 9, .sampling = {.temperature = 1, .seed = 4}};
  const std::vector<Token> drawn = model().generate("Once", draw).tokens;
  EXPECT_NE(drawn, found.tokens);
  EXPECT_EQ(model().generate("Once", draw).tokens, drawn);
  draw.lookup = 0;
  const Generation plain = model().generate("Once", draw);
  EXPECT_EQ(plain.tokens, drawn);
  EXPECT_EQ(plain.guessed_tokens, 0U);
}

TEST_F(CppLanguage, WritesTheSameTextWithADraft) {
  LanguageModelOptions options;
  options.draft = tiny_.path();  // as dear as the model, so that it is seldom asked
  LanguageModel drafted = open(options);
  std::size_t guessed = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const GenerateOptions draw{
        .max_tokens = 50, .sampling = {.temperature = 1, .seed = seed}, .lookup = 0};
    const Generation found = drafted.generate("Once", draw);
    EXPECT_EQ(found.tokens, model().generate("Once", draw).tokens);
    EXPECT_EQ(found.accepted_tokens, found.guessed_tokens) << "by the same model";
    guessed += found.guessed_tokens;
  }
  EXPECT_GE(guessed, 8U);
}

TEST_F(CppLanguage, PassesOnWhatACallbackThrows) {
  EXPECT_THROW(
      model().generate("Once", {},
                       [](Token, std::string_view) -> bool { throw std::out_of_range("enough"); }),
      std::out_of_range);
  EXPECT_EQ(model().generate("Once", {.max_tokens = 2}).tokens.size(), 2U);
  expect_error(ErrorKind::kUsage, "one thread at a time", [&] {
    model().generate("Once", {}, [&](Token, std::string_view) {
      (void)model().tokens();
      return true;
    });
  });
}

TEST_F(CppLanguage, Converses) {
  const AnswerOptions options{.chat_template = "zephyr", .generate = {.max_tokens = 2}};
  LanguageModel wide = open({.context = 500});
  Chat chat(wide, options, "Be brief.");
  const Generation first = chat.answer("Hi");
  const Generation second = chat.answer("Ho");
  EXPECT_GT(second.reused_tokens, first.prompt_tokens);
  ASSERT_EQ(chat.messages().size(), 5U);
  EXPECT_EQ(chat.messages()[2].content, first.text);
  const std::vector<Message> conversation(chat.messages().begin(), chat.messages().begin() + 2);
  EXPECT_EQ(wide.answer(conversation, options).tokens, first.tokens);
  EXPECT_THAT(wide.chat_prompt(conversation, "zephyr"), HasSubstr("Be brief."));
  expect_error(ErrorKind::kUsage, "which is the context",
               [&] { chat.answer(std::string(600, 'x')); });
  EXPECT_EQ(chat.messages().size(), 5U) << "as it was";
  expect_error(ErrorKind::kUnsupported, "has no chat template", [&] { Chat none(wide); });
}

TEST_F(CppLanguage, AnswersARequestWithTools) {
  const std::string jinja =
      "{% for t in tools %}[{{ t.name }}]{% endfor %}{{ messages[0].content }}"
      "{% if add_generation_prompt %}>{% endif %}";
  const std::string request =
      R"({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "clock"}]})";
  EXPECT_EQ(model().chat_prompt_json(request, jinja), "[clock]Hi>");
  const AnswerOptions options{.chat_template = jinja, .generate = {.max_tokens = 2}};
  EXPECT_EQ(model().answer_json(request, options).tokens,
            model().generate("[clock]Hi>", {.max_tokens = 2}).tokens);
  expect_error(ErrorKind::kFormat, "request: expected 'messages'",
               [&] { model().answer_json("{}", options); });
}

TEST_F(CppLanguage, ForgetsTheOldestTurns) {
  LanguageModel wide = open({.context = 250});
  Chat chat(wide, {.chat_template = "zephyr", .generate = {.max_tokens = 2}}, "Be brief.");
  std::size_t forgotten = 0;
  for (int turn = 0; turn < 8; ++turn) forgotten += chat.answer("Ho").forgotten_messages;
  EXPECT_GT(forgotten, 1U);
  EXPECT_EQ(chat.messages().size(), 17 - forgotten);
  EXPECT_EQ(chat.messages()[0].content, "Be brief.");
}

TEST_F(CppLanguage, MeasuresATextBesideAReference) {
  const std::string text(100, 'a');
  const TextEvaluation alone = model().evaluate(text);
  EXPECT_EQ(alone.num_windows, 2U);
  EXPECT_NEAR(alone.perplexity.value, std::exp(alone.loss.value), 1e-9 * alone.perplexity.value);
  EXPECT_FALSE(alone.reference.has_value());
  const TextEvaluation both = model().evaluate(text, {.reference = open({})});
  ASSERT_TRUE(both.reference.has_value());
  EXPECT_EQ(both.loss.value, alone.loss.value);
  EXPECT_EQ(both.reference->mean_kl.value, 0);
  EXPECT_EQ(both.reference->same_top.value, 1);
  expect_error(ErrorKind::kUsage, "expected another model",
               [&] { (void)model().evaluate(text, {.reference = model()}); });
  expect_error(ErrorKind::kInterrupted, "progress", [&] {
    (void)model().evaluate(
        text, {.window = 10, .progress = [](double, std::string_view) { return false; }});
  });
}

TEST_F(CppLanguage, MeasuresItsSpeed) {
  LanguageModel model = open({});
  std::vector<std::string> steps;
  const LanguageSpeed speed =
      model.measure_speed({.prompt = 10, .generate = 6, .depths = {0, 20}, .seed = 0},
                          [&](double, std::string_view what) {
                            steps.emplace_back(what);
                            return true;
                          });
  EXPECT_THAT(steps, testing::ElementsAre("depth 0", "depth 20"));
  ASSERT_EQ(speed.depths.size(), 2U);
  EXPECT_EQ(speed.depths[1].depth, 20U);
  EXPECT_GT(speed.depths[1].prompt_tokens_per_second, 0);
  EXPECT_GT(speed.depths[1].tokens_per_second, 0);
  expect_error(ErrorKind::kUsage, "found nothing to measure",
               [&] { (void)model.measure_speed({.prompt = 0, .generate = 0}); });
}

TEST_F(CppLanguage, RefusesWhatIsNotThere) {
  expect_error(ErrorKind::kIo, "none.gguf", [] { (void)LanguageModel::open("none.gguf"); });
  expect_error(ErrorKind::kUsage, "tokenizer", [&] { (void)LanguageModel::open(tiny_.path()); });
  expect_error(ErrorKind::kUsage, "threads", [&] { (void)open({.resources = {.threads = -1}}); });
  expect_error(ErrorKind::kUsage, "expected at most 64 tokens",
               [&] { (void)model().generate(std::string(70, 'x')); });
  expect_error(ErrorKind::kUsage, "temperature",
               [&] { (void)model().generate("x", {.sampling = {.temperature = -1}}); });
}

}  // namespace
