// SPDX-License-Identifier: Apache-2.0
// Jobs of language models, on one that knows a text by heart.
#include "halftone/api/language_model.h"

#include "halftone/api/language_ranks.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/memory_speed.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/api/text_generation.h"
#include "halftone/api/token_model.h"
#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/lm/generate/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone {
namespace {

using testing::HasSubstr;

/// Its tokens are bytes, <|im_start|> (256), <|im_end|> (257) and </s> (258).
TextModel parrot(const std::string& text, std::size_t context = 200,
                 const std::string& chat_template = "") {
  const lm::Tokenizer tokenizer =
      lm::Tokenizer::from_gguf(lm::byte_tokens({"<|im_start|>", "<|im_end|>", "</s>"}));
  lm::ModelTexts texts{tokenizer, chat_template, lm::chat_marks(tokenizer),
                       lm::end_tokens(tokenizer)};
  return {
      "parrot", std::move(texts),
      std::make_unique<lm::ParrotModel>(259, context, tokenizer.encode(text, {.control = true}))};
}

v0::GenerateOptions greedy(std::size_t max_tokens = 100) {
  v0::GenerateOptions options{.max_tokens = max_tokens};
  options.sampling.temperature = 0;
  return options;
}

TEST(LanguageModels, ContinueAText) {
  TextModel model = parrot("Halftone</s>");
  EXPECT_EQ(generate_text(model, "Ha", greedy()).text, "lftone");
  EXPECT_EQ(generate_text(model, "ft", greedy(2)).text, "on");
  EXPECT_EQ(generate_text(model, "x</s>", greedy(1)).prompt_tokens, 5U);
  v0::GenerateOptions control = greedy(1);
  control.control = true;
  EXPECT_EQ(generate_text(model, "x</s>", control).reused_tokens, 1U);
  EXPECT_FALSE(generate_text(model, "x", control).begins_twice);
}

/// What open_on_chosen() says, where the device fails with an error of this kind.
std::string said_of_failing(ErrorKind kind, std::string& device) {
  std::string said;
  const auto open = [&](const std::string& name) -> std::unique_ptr<lm::TokenModel> {
    if (!name.empty()) fail(kind, "no kernel");
    return std::make_unique<lm::ParrotModel>(259, 10, std::vector<lm::TokenId>{1});
  };
  device = open_on_chosen({"cuda:1", "Card"}, open, [&](const std::string& line) {
             said = line;
           }).device;
  return said;
}

TEST(LanguageModels, RunOnTheProcessorWhatTheBestDeviceCannotRun) {
  std::string device;
  for (const ErrorKind kind : {ErrorKind::kUnsupported, ErrorKind::kDevice}) {
    EXPECT_EQ(said_of_failing(kind, device),
              "device: cpu: cuda:1 does not run this model: no kernel");
    EXPECT_EQ(device, "cpu");
  }
  expect_error(ErrorKind::kShape, "no kernel",
               [&] { return said_of_failing(ErrorKind::kShape, device); });
}

TEST(LanguageModels, RunOnTheChosenDevice) {
  std::string asked = "none";
  const auto open = [&](const std::string& name) -> std::unique_ptr<lm::TokenModel> {
    asked = name;
    return std::make_unique<lm::ParrotModel>(259, 10, std::vector<lm::TokenId>{1});
  };
  EXPECT_EQ(open_on_chosen({"cuda:1", "Card"}, open, {}).device, "cuda:1");
  EXPECT_EQ(asked, "cuda:1");
  EXPECT_EQ(open_on_chosen({"cpu", "no card"}, open, {}).device, "cpu");
  EXPECT_EQ(asked, "");
}

TEST(LanguageModels, Converse) {
  TextModel model = parrot("assistant\nAye!<|im_end|>", 200);
  Conversation chat(model,
                    {.system = "S", .answer = {.chat_template = "chatml", .generate = greedy(0)}});
  // "\n" is in the text once, so what follows it is the answer.
  const lm::Generation first = chat.answer("Hi");
  EXPECT_EQ(first.text, "Aye!");
  EXPECT_EQ(first.reused_tokens, 0U);
  const lm::Generation second = chat.answer("Ho");
  EXPECT_EQ(second.text, "Aye!");
  // What was read of the first turn is not read again.
  EXPECT_EQ(second.reused_tokens, first.prompt_tokens - first.reused_tokens + 4);
  const std::vector<lm::Message> messages = lm::plain_messages(chat.request());
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_EQ(messages[2].content, "Aye!");
  expect_error(ErrorKind::kUsage, "expected at most 200 tokens, which is the context",
               [&] { chat.answer(std::string(200, 'x')); });
  EXPECT_EQ(lm::plain_messages(chat.request()).size(), 5U) << "as it was";
  EXPECT_EQ(chat.answer("Ha").text, "Aye!");
}

TEST(LanguageModels, ForgetTheOldestTurnsOfAConversation) {
  TextModel model = parrot("assistant\nAye!<|im_end|>", 200);
  Conversation chat(
      model, {.system = "S",
              .answer = {.chat_template = "chatml", .generate = greedy(0), .forgets = true}});
  std::size_t forgotten = 0;
  for (int turn = 0; turn < 12; ++turn) {
    const lm::Generation found = chat.answer("Ho");
    EXPECT_EQ(found.text, "Aye!");
    forgotten += found.forgotten_messages;
    EXPECT_LE(found.prompt_tokens, 150U);
  }
  EXPECT_GT(forgotten, 10U);
  const std::vector<lm::Message> messages = lm::plain_messages(chat.request());
  EXPECT_EQ(messages.size(), 25 - forgotten);
  EXPECT_EQ(messages[0].content, "S");
  EXPECT_EQ(messages[1].role, lm::ChatRole::kUser);
}

TEST(LanguageModels, ContinueTheLastMessage) {
  TextModel model = parrot("assistant\nAye!<|im_end|>", 200);
  lm::ChatRequest request = chat_request_of_json(R"({"continue_final_message": true,
    "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Ay"}]})");
  Conversation chat(
      model, {.request = request, .answer = {.chat_template = "chatml", .generate = greedy(0)}});
  EXPECT_EQ(chat.answer().text, "e!");
  EXPECT_EQ(lm::plain_messages(chat.request()).back().content, "Aye!");
}

TEST(LanguageModels, HaveAChatTemplateOrNone) {
  EXPECT_EQ(parrot("ab", 9, "{{ '<|im_start|>' + '<|im_end|>' }}").chat_template().name(), "jinja");
  expect_error(ErrorKind::kUnsupported, "parrot: has no chat template",
               [] { (void)parrot("ab").chat_template(); });
  expect_error(ErrorKind::kFormat, "parrot: chat template: line 1: expected '}}', found '1'",
               [] { (void)parrot("ab", 9, "{{ x 1 }}").chat_template(); });
  EXPECT_EQ(parrot("ab").chat_template("gemma").name(), "gemma");
}

TEST(LanguageModels, AreMeasuredOnAText) {
  TextModel model = parrot("abcdabcd");
  TextModel reference = parrot("abcdabcd");
  std::string text;
  for (int i = 0; i < 30; ++i) text += "abcd";
  const lm::TextEvaluation found = evaluate_text(model, &reference, text, {{.context = 60}});
  EXPECT_EQ(found.num_tokens, 118U);
  EXPECT_EQ(found.reference->mean_kl.value, 0);
  const lm::Tokenizer other = lm::Tokenizer::from_gguf(lm::byte_tokens({"ab"}));
  EXPECT_EQ(evaluate_text(model, nullptr, text, {{.context = 60}}).loss.value, found.loss.value);
}

TEST(LanguageModels, RefuseAReferenceWithOtherTokens) {
  TextModel model = parrot("ab");
  formats::GgufKeys keys = lm::tokenizer_keys("llama", {"a", "b"});
  keys.set("tokenizer.ggml.add_space_prefix", false);
  const lm::Tokenizer tokenizer = lm::Tokenizer::from_gguf(formats::gguf_of(keys));
  TextModel other("other", {tokenizer, "", {}, {}},
                  std::make_unique<lm::ParrotModel>(2, 9, std::vector<lm::TokenId>{0, 1}));
  expect_error(ErrorKind::kUsage, "other: expected the tokens that parrot has",
               [&] { evaluate_text(model, &other, "abab"); });
}

TEST(LanguageModels, AreTimed) {
  TextModel model = parrot("ab");
  LanguageSpeedSettings options{{.prompt = 10, .generate = 6, .depths = {0, 20}}};
  EXPECT_EQ(context_for(options), 30U);
  const LanguageSpeed speed = measure_language_speed(model, options);
  ASSERT_EQ(speed.depths.size(), 2U);
  EXPECT_GT(speed.depths[1].prompt_tokens_per_second, 0);
  EXPECT_EQ(speed.depths[1].bytes_per_token, 1023U) << "as the model says of 20 + 3 tokens";
  const SpeedAtDepth& first = speed.depths[0];
  EXPECT_EQ(first.bandwidth_share, 1003 * first.tokens_per_second / speed.memory_bytes_per_second);
  options.prompt = 0;
  options.depths = {1};
  EXPECT_EQ(measure_language_speed(model, options).depths[0].prompt_tokens_per_second, 0);
  options.depths = {195};
  expect_error(ErrorKind::kUsage, "expected at most 200 tokens, which is the context, found 201",
               [&] { measure_language_speed(model, options); });
  options.generate = 0;
  expect_error(ErrorKind::kUsage, "nothing to measure",
               [&] { measure_language_speed(model, options); });
}

/// Its tokens take 8 ms, of which two ranks or more share 6.
class SharedModel : public lm::ParrotModel {
 public:
  SharedModel() : ParrotModel(9, 60, {1, 2}) {}
  std::vector<lm::TimedStep> time_steps(std::size_t /*sequence*/,
                                        std::span<const lm::TokenId> /*tokens*/) override {
    return {{"product", 0.006}, {"norm", 0.002}};
  }
  [[nodiscard]] std::optional<lm::RankCosts> costs_on_ranks(std::size_t ranks) const override {
    return lm::RankCosts{{{"product", 1 / static_cast<double>(ranks)}}, {4000, 8000}, 500.0};
  }
};

TEST(LanguageModels, ArePredictedForRanks) {
  SharedModel model;
  v0::LanguageSpeedOptions options{.ranks = {2, 4}, .links = {1}, .latencies = {100}};
  const auto found = predict_ranks(model, options);
  ASSERT_EQ(found.size(), 2U);
  // 8 ns for a byte. Two ranks exchange halves in a message each, and send two orders of 256 bytes.
  constexpr double kManyRoundings = 32 * 0x1p-52;  // of 32 operations at most, on numbers below 2
  const double two = 2 * 100e-6 + 6000 * 8e-9 + 2 * (100e-6 + 256 * 8e-9);
  EXPECT_NEAR(1 / found[0].tokens_per_second, 0.005 + two, kManyRoundings);
  EXPECT_NEAR(found[0].message_share, two / (0.005 + two), kManyRoundings);
  EXPECT_NEAR(found[0].speedup, 0.008 / (0.005 + two), kManyRoundings);
  EXPECT_EQ(found[0].weight_bytes, 500U);
  // Recursive doubling: two messages, three quarters of the bytes.
  const double four = 4 * 100e-6 + 9000 * 8e-9 + 2 * 2 * (100e-6 + 256 * 8e-9);
  EXPECT_NEAR(1 / found[1].tokens_per_second, 0.0035 + four, kManyRoundings);
  options.latencies = {1, 2};
  expect_error(ErrorKind::kUsage, "latencies: expected one for each of 1 links, found 2",
               [&] { predict_ranks(model, options); });
  lm::ParrotModel unknown(9, 60, {1});
  expect_error(ErrorKind::kUnsupported, "ranks: are predicted from one process",
               [&] { predict_ranks(unknown, {.ranks = {2}}); });
}

TEST(LanguageModels, AreFilesOfThreeKinds) {
  EXPECT_TRUE(is_language_model("a.gguf"));
  EXPECT_TRUE(is_language_model("a.bin"));
  EXPECT_TRUE(is_language_model(std::filesystem::temp_directory_path()));
  EXPECT_FALSE(is_language_model("a.onnx"));
  expect_error(ErrorKind::kIo, "none.gguf", [] { (void)TextModel::open("none.gguf"); });
}

class TextEvaluationFiles : public WithFolder {};

TEST_F(TextEvaluationFiles, AreRead) {
  expect_error(ErrorKind::kIo, "none.txt",
               [] { (void)evaluate_text_files({.model = "m.gguf", .texts = {"none.txt"}}); });
  write_file(path("t.txt"), std::string_view("ab"));
  expect_error(ErrorKind::kIo, "none.gguf", [&] {
    (void)evaluate_text_files({.model = "none.gguf", .texts = {path("t.txt")}});
  });
}

}  // namespace
}  // namespace halftone
