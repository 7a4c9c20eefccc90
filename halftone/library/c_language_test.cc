// SPDX-License-Identifier: Apache-2.0
// Language models in C, through the installed header alone.
#include <halftone/language.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "halftone/library/testing.h"
#include "tests/tiny_language_model.h"

namespace {

using halftone::TinyLanguageModel;
using testing::ElementsAre;
using testing::HasSubstr;

/// What a callback got.
struct Heard {
  std::vector<std::int32_t> tokens{};
  std::string text{};
  std::size_t most = 1000;  ///< calls before it stops
};

int hear(void* user, int32_t token, const char* text, size_t bytes) {
  auto& heard = *static_cast<Heard*>(user);
  EXPECT_EQ(std::string(text).size(), bytes);
  heard.tokens.push_back(token);
  heard.text += text;
  return heard.tokens.size() >= heard.most ? 7 : 0;
}

class CLanguage : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(halftone_context_create(nullptr, &context_));
    model_ = open(2);
    if (model_ == nullptr) {  // an answer of builds without tokenizers, and no other one
      ASSERT_THAT(halftone_error_message(), HasSubstr("this build has none"));
      GTEST_SKIP() << halftone_error_message();
    }
  }
  void TearDown() override {
    halftone_language_model_destroy(model_);
    halftone_context_destroy(context_);
  }

  [[nodiscard]] halftone_language_model* open(std::size_t sequences, int cache = 0) const {
    auto options = sized<halftone_language_options>();
    const std::string tokenizer = tiny_.tokenizer();
    options.tokenizer = tokenizer.c_str();
    options.sequences = sequences;
    options.cache = cache;
    halftone_language_model* model = nullptr;
    (void)halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model);
    return model;
  }
  [[nodiscard]] std::vector<std::int32_t> tokenize(const std::string& text) const {
    std::vector<std::int32_t> tokens(text.size() + 2);
    halftone_tokens found = {tokens.data(), tokens.size(), 0};
    EXPECT_OK(halftone_language_model_tokenize(model_, text.c_str(), nullptr, &found));
    tokens.resize(found.count);
    return tokens;
  }
  [[nodiscard]] std::string detokenize(const std::vector<std::int32_t>& tokens) const {
    std::string text(100, '?');
    halftone_text found = {text.data(), text.size(), 0};
    EXPECT_OK(halftone_language_model_detokenize(model_, tokens.data(), tokens.size(), &found));
    return text.substr(0, found.bytes);
  }
  /// Logits behind each token, or behind the last one.
  std::vector<float> append(std::size_t sequence, const std::vector<std::int32_t>& tokens,
                            bool all = false) {
    std::vector<float> logits((all ? tokens.size() : 1) * TinyLanguageModel::kVocabulary);
    const halftone_output out = {logits.data(), logits.size() * sizeof(float)};
    EXPECT_OK(halftone_language_model_append(model_, sequence, tokens.data(), tokens.size(), &out));
    return logits;
  }
  [[nodiscard]] std::size_t length(std::size_t sequence) const {
    std::size_t length = 99;
    EXPECT_OK(halftone_language_model_length(model_, sequence, &length));
    return length;
  }
  /// The tokens of a greedy result.
  std::vector<std::int32_t> generate(const char* prompt, std::size_t count) {
    auto options = sized<halftone_generate_options>();
    options.max_tokens = count;
    auto result = sized<halftone_generation>();
    EXPECT_OK(halftone_language_model_generate(model_, prompt, &options, &result));
    EXPECT_EQ(std::string(result.text).size(), result.text_bytes);
    return {result.tokens, result.tokens + result.num_tokens};
  }

  TinyLanguageModel tiny_{testing::TempDir() + "halftone_c_language_" +
                          testing::UnitTest::GetInstance()->current_test_info()->name() + ".bin"};
  halftone_context* context_ = nullptr;
  halftone_language_model* model_ = nullptr;
};

TEST_F(CLanguage, SaysWhatAModelIs) {
  EXPECT_EQ(halftone_language_model_vocabulary(model_), TinyLanguageModel::kVocabulary);
  EXPECT_EQ(halftone_language_model_context(model_), TinyLanguageModel::kContext);
  EXPECT_EQ(halftone_language_model_sequences(model_), 2U);
  EXPECT_EQ(halftone_language_model_begin_token(model_), TinyLanguageModel::kBegin);
  EXPECT_EQ(halftone_language_model_is_end_token(model_, TinyLanguageModel::kEnd), 1);
  EXPECT_EQ(halftone_language_model_is_end_token(model_, TinyLanguageModel::kSpace), 0);
  std::uint64_t none = 0;
  std::uint64_t ten = 0;
  EXPECT_OK(halftone_language_model_bytes_per_token(model_, 0, &none));
  EXPECT_OK(halftone_language_model_bytes_per_token(model_, 10, &ten));
  // 2 blocks have keys and values of 2 heads of width 4, in float16.
  EXPECT_GE(ten, none + 10 * 2 * 2 * 2 * 4 * 2);
  EXPECT_GT(none, 2 * 16 * 16 * sizeof(float));
  EXPECT_FAILS(halftone_language_model_bytes_per_token(model_, 65, &ten), HALFTONE_USAGE,
               "expected at most 64, which is the context, found 65");
  EXPECT_EQ(halftone_language_model_vocabulary(nullptr), 0U);
  EXPECT_EQ(halftone_language_model_context(nullptr), 0U);
  EXPECT_EQ(halftone_language_model_sequences(nullptr), 0U);
  EXPECT_EQ(halftone_language_model_begin_token(nullptr), HALFTONE_NO_TOKEN);
  EXPECT_EQ(halftone_language_model_is_end_token(nullptr, 2), 0);
}

TEST_F(CLanguage, TurnsTextIntoTokensAndBack) {
  EXPECT_THAT(tokenize("ab"),
              ElementsAre(TinyLanguageModel::kBegin, TinyLanguageModel::kSpace,
                          TinyLanguageModel::token_of('a'), TinyLanguageModel::token_of('b')));
  EXPECT_EQ(detokenize(tokenize("a b")), "a b");
  auto options = sized<halftone_tokenize_options>();
  options.no_begin = 1;
  halftone_tokens found = {nullptr, 0, 0};
  EXPECT_OK(halftone_language_model_tokenize(model_, "ab", &options, &found));
  EXPECT_EQ(found.count, 3U) << "how many there are, without room for them";
  std::int32_t few[] = {-5, -5};
  found = {few, 2, 0};
  EXPECT_OK(halftone_language_model_tokenize(model_, "ab", &options, &found));
  EXPECT_EQ(found.count, 3U);
  EXPECT_THAT(few, ElementsAre(-5, -5));
  char bytes[4] = "???";
  halftone_text text = {bytes, 1, 0};
  EXPECT_OK(halftone_language_model_token_text(model_, TinyLanguageModel::token_of('z'), &text));
  EXPECT_EQ(text.bytes, 1U);
  EXPECT_STREQ(bytes, "???") << "no room for the zero";
  text.capacity = 2;
  EXPECT_OK(halftone_language_model_token_text(model_, TinyLanguageModel::token_of('z'), &text));
  EXPECT_STREQ(bytes, "z");
}

TEST_F(CLanguage, GivesTheSameLogitsHoweverTokensAreDivided) {
  const std::vector<std::int32_t> tokens = tokenize("Hello there");
  const std::vector<float> all = append(0, tokens, true);
  append(1, {1, 2, 3});
  EXPECT_EQ(length(1), 3U);
  ASSERT_OK(halftone_language_model_truncate(model_, 1, 0));
  std::vector<float> one_by_one;
  for (const std::int32_t token : tokens) {
    const std::vector<float> logits = append(1, {token});
    one_by_one.insert(one_by_one.end(), logits.begin(), logits.end());
  }
  EXPECT_EQ(all, one_by_one);
  EXPECT_EQ(length(0), tokens.size());
  ASSERT_OK(halftone_language_model_truncate(model_, 0, 4));
  EXPECT_EQ(length(0), 4U);
  const std::vector<std::int32_t> rest(tokens.begin() + 4, tokens.end());
  ASSERT_OK(halftone_language_model_append(model_, 0, rest.data(), rest.size() - 1, nullptr));
  const std::vector<float> last = append(0, {rest.back()});
  EXPECT_EQ(last, std::vector<float>(all.end() - TinyLanguageModel::kVocabulary, all.end()));
}

TEST_F(CLanguage, AppendsTokensToSeveralSequencesAtOnce) {
  const std::vector<std::int32_t> hello = tokenize("Hello");
  const std::vector<std::int32_t> token = {7};
  std::vector<float> want = append(0, hello);
  const std::vector<float> second = append(1, token);
  want.insert(want.end(), second.begin(), second.end());
  ASSERT_OK(halftone_language_model_truncate(model_, 0, 0));
  ASSERT_OK(halftone_language_model_truncate(model_, 1, 0));
  const std::array<halftone_sequence_tokens, 2> parts = {
      {{1, hello.data(), hello.size()}, {0, token.data(), 1}}};
  std::vector<float> found(want.size());
  const halftone_output out{found.data(), found.size() * sizeof(float)};
  ASSERT_OK(halftone_language_model_append_each(model_, parts.data(), 2, &out));
  EXPECT_EQ(found, want);
  EXPECT_EQ(length(1), hello.size());
  ASSERT_OK(halftone_language_model_append_each(model_, parts.data(), 2, nullptr));
  EXPECT_EQ(length(0), 2U);
  ASSERT_OK(halftone_language_model_append_each(model_, nullptr, 0, nullptr));
  const halftone_output narrow{found.data(), 4};
  EXPECT_FAILS(halftone_language_model_append_each(model_, parts.data(), 2, &narrow),
               HALFTONE_SHAPE, "logits: expected");
  EXPECT_FAILS(halftone_language_model_append_each(model_, nullptr, 2, nullptr), HALFTONE_USAGE,
               "parts");
  const std::array<halftone_sequence_tokens, 2> twice = {{parts[0], parts[0]}};
  EXPECT_FAILS(halftone_language_model_append_each(model_, twice.data(), 2, nullptr),
               HALFTONE_USAGE, "sequence 1 is named twice");
}

TEST_F(CLanguage, GeneratesTheTokensOfTheHighestLogits) {
  std::vector<std::int32_t> expected;
  std::vector<float> logits = append(1, tokenize("Once"));
  for (int i = 0; i < 12; ++i) {
    expected.push_back(
        static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
    if (halftone_language_model_is_end_token(model_, expected.back()) != 0) break;
    logits = append(1, {expected.back()});
  }
  EXPECT_EQ(generate("Once", 12), expected);
  EXPECT_EQ(length(0), tokenize("Once").size() + expected.size() - 1);
  // A prompt that is there already: the next tokens follow from those of the sequence.
  ASSERT_OK(halftone_language_model_truncate(model_, 0, 0));
  append(0, tokenize("Once"));
  EXPECT_EQ(generate(nullptr, 12), expected);
}

TEST_F(CLanguage, KeepsCachesAsItIsTold) {
  std::vector<std::vector<float>> found;
  halftone_language_model* const first = model_;
  for (int cache = HALFTONE_CACHE_FLOAT16; cache <= HALFTONE_CACHE_INT6; ++cache) {
    model_ = open(1, cache);
    ASSERT_NE(model_, nullptr) << halftone_error_message();
    found.push_back(append(0, tokenize("Hello")));
    halftone_language_model_destroy(model_);
  }
  model_ = first;
  EXPECT_EQ(append(0, tokenize("Hello")), found[0]);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 5U);
}

TEST_F(CLanguage, RefusesOptionsOutOfTheirRange) {
  const auto expect = [&](const char* text, const auto& change) {
    auto options = sized<halftone_generate_options>();
    options.max_tokens = 1;
    change(options);
    auto result = sized<halftone_generation>();
    EXPECT_FAILS(halftone_language_model_generate(model_, "a", &options, &result), HALFTONE_USAGE,
                 text);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double p : {1.5, -0.5, nan}) {
    expect("top-p: expected a number above 0, of 1 at most", [&](auto& o) { o.top_p = p; });
  }
  expect("min-p: expected a number from 0 to 1", [](auto& o) { o.min_p = 2; });
  expect("min-p: expected a number from 0 to 1", [&](auto& o) { o.min_p = nan; });
  expect("temperature: expected a number of at least 0", [](auto& o) { o.temperature = -1; });
  expect("repeat penalty: expected a number above 0", [](auto& o) { o.repeat_penalty = -1; });
  auto open = sized<halftone_language_options>();
  const std::string tokenizer = tiny_.tokenizer();
  open.tokenizer = tokenizer.c_str();
  open.sequences = std::numeric_limits<std::size_t>::max();
  halftone_language_model* model = nullptr;
  EXPECT_FAILS(halftone_language_model_load(context_, tiny_.path().c_str(), &open, &model),
               HALFTONE_USAGE, "sequences: expected 1 to 1048576, found 18446744073709551615");
}

TEST_F(CLanguage, CallsBackForEachTokenUntilItIsStopped) {
  Heard heard;
  auto options = sized<halftone_generate_options>();
  options.max_tokens = 6;
  options.on_token = hear;
  options.user = &heard;
  options.temperature = 1;
  options.seed = 5;
  auto result = sized<halftone_generation>();
  ASSERT_OK(halftone_language_model_generate(model_, "x", &options, &result));
  EXPECT_EQ(result.end, HALFTONE_END_COUNT);
  EXPECT_EQ(heard.text, result.text);
  std::erase(heard.tokens, HALFTONE_NO_TOKEN);
  const std::vector<std::int32_t> drawn(result.tokens, result.tokens + result.num_tokens);
  EXPECT_EQ(heard.tokens, drawn);
  EXPECT_EQ(drawn.size(), 6U);
  EXPECT_GT(result.first_seconds, 0);
  EXPECT_EQ(result.prompt_tokens, 3U);

  heard = {.most = 4};  // one call is before the prompt
  ASSERT_OK(halftone_language_model_generate(model_, "x", &options, &result));
  EXPECT_EQ(result.end, HALFTONE_END_INTERRUPTED);
  EXPECT_EQ(std::vector<std::int32_t>(result.tokens, result.tokens + result.num_tokens),
            std::vector<std::int32_t>(drawn.begin(), drawn.begin() + 3))
      << "the same seed";
  EXPECT_EQ(result.reused_tokens, 2U);

  heard = {.most = 1};
  ASSERT_OK(halftone_language_model_generate(model_, "y", &options, &result));
  EXPECT_EQ(result.end, HALFTONE_END_INTERRUPTED);
  EXPECT_EQ(result.num_tokens, 0U);
  options.on_token = nullptr;
  options.lookup = -1;
  ASSERT_OK(halftone_language_model_generate(model_, "x", &options, &result));
  EXPECT_EQ(result.guessed_tokens + result.accepted_tokens, 0U);
  EXPECT_EQ(std::vector<std::int32_t>(result.tokens, result.tokens + result.num_tokens), drawn);
  options.lookup = 0;
  options.seed = 6;
  ASSERT_OK(halftone_language_model_generate(model_, "x", &options, &result));
  EXPECT_NE(std::vector<std::int32_t>(result.tokens, result.tokens + result.num_tokens), drawn);
  EXPECT_OK(halftone_language_model_generate(model_, "x", nullptr, nullptr));
}

TEST_F(CLanguage, EndsForOtherReasons) {
  auto options = sized<halftone_generate_options>();
  auto result = sized<halftone_generation>();
  ASSERT_OK(
      halftone_language_model_generate(model_, std::string(60, 'x').c_str(), &options, &result));
  EXPECT_EQ(result.end, HALFTONE_END_CONTEXT);
  EXPECT_EQ(result.num_tokens, 3U) << "62 tokens are the prompt's, the last one is not run";
  options.max_tokens = 12;
  ASSERT_OK(halftone_language_model_generate(model_, "Once", &options, &result));
  const std::string whole(result.text);
  const std::string stop = whole.substr(whole.size() / 2, 1);
  const char* const stops[] = {stop.c_str()};
  options.stops = stops;
  options.num_stops = 1;
  ASSERT_OK(halftone_language_model_generate(model_, "Once", &options, &result));
  EXPECT_EQ(result.end, HALFTONE_END_TEXT);
  EXPECT_EQ(result.text, whole.substr(0, whole.find(stop)));
  EXPECT_STREQ(halftone_end_name(HALFTONE_END_TEXT), "text");
  EXPECT_STREQ(halftone_end_name(HALFTONE_END_COUNT), "count");
  EXPECT_STREQ(halftone_end_name(HALFTONE_END_TOKEN), "token");
  EXPECT_STREQ(halftone_end_name(HALFTONE_END_CONTEXT), "context");
  EXPECT_STREQ(halftone_end_name(HALFTONE_END_INTERRUPTED), "interrupted");
  EXPECT_STREQ(halftone_end_name(static_cast<halftone_end>(5)), "unknown");
}

TEST_F(CLanguage, FollowsForms) {
  using Options = halftone_generate_options;
  const auto written = [&](const char* Options::*form, const char* text) -> std::string {
    auto options = sized<Options>();
    auto result = sized<halftone_generation>();
    options.*form = text;
    const auto code = halftone_language_model_generate(model_, "Once", &options, &result);
    return code == HALFTONE_OK ? result.text : std::to_string(code) + halftone_error_message();
  };
  EXPECT_THAT(written(&Options::grammar, "root ::= \"a\" | \"b\""), testing::AnyOf("a", "b"));
  EXPECT_THAT(written(&Options::json_schema, R"({"enum": [1, "x"]})"),
              testing::AnyOf("1", "\"x\""));
  EXPECT_THAT(written(&Options::regex, "(?!a)[ab]c?"), testing::AnyOf("b", "bc"));
  EXPECT_THAT(written(&Options::json_schema, R"({"type": "a"})"), HasSubstr("JSON schema, at '#'"));
}

TEST_F(CLanguage, AnswersTheLastMessage) {
  const halftone_message first[] = {{HALFTONE_SYSTEM, "s"}, {HALFTONE_USER, "Hi"}};
  std::string prompt(100, '?');
  halftone_text text = {prompt.data(), prompt.size(), 0};
  EXPECT_FAILS(halftone_language_model_chat_prompt(model_, first, 2, nullptr, &text),
               HALFTONE_UNSUPPORTED, "has no chat template");
  ASSERT_OK(halftone_language_model_chat_prompt(model_, first, 2, "llama2", &text));
  prompt.resize(text.bytes);
  EXPECT_THAT(prompt, HasSubstr("Hi"));
  auto options = sized<halftone_generate_options>();
  options.chat_template = "llama2";
  options.max_tokens = 2;
  auto result = sized<halftone_generation>();
  ASSERT_OK(halftone_language_model_answer(model_, first, 2, &options, &result));
  EXPECT_EQ(result.num_tokens, 2U);
  EXPECT_EQ(result.reused_tokens, 0U);
  ASSERT_OK(halftone_language_model_answer(model_, first, 2, &options, &result));
  EXPECT_EQ(result.prompt_tokens, result.reused_tokens + 1) << "the others are there";
  const halftone_message wrong[] = {{static_cast<halftone_role>(3), "Hi"}};
  EXPECT_FAILS(halftone_language_model_answer(model_, wrong, 1, &options, &result), HALFTONE_USAGE,
               "messages.role: expected a halftone_role, 0 to 2, found 3");
  const halftone_message empty[] = {{HALFTONE_USER, nullptr}};
  EXPECT_FAILS(halftone_language_model_answer(model_, empty, 1, &options, &result), HALFTONE_USAGE,
               "messages.content");
}

TEST_F(CLanguage, AnswersARequestWithTools) {
  const char* jinja =
      "{% for t in tools or [] %}[{{ t.name }}]{% endfor %}{% for m in messages %}"
      "<{{ m.role }}>{{ m.content }}|{% endfor %}{% if add_generation_prompt %}>{% endif %}";
  std::string prompt(100, '?');
  halftone_text text = {prompt.data(), prompt.size(), 0};
  const char* request =
      R"({"messages": [{"role": "tool", "content": "9"}], "tools": [{"name": "clock"}]})";
  ASSERT_OK(halftone_language_model_chat_prompt_json(model_, request, jinja, &text));
  prompt.resize(text.bytes);
  EXPECT_EQ(prompt, "[clock]<tool>9|>");
  auto options = sized<halftone_generate_options>();
  options.chat_template = jinja;
  options.max_tokens = 2;
  options.forgets = 1;
  auto result = sized<halftone_generation>();
  const char* begun =
      R"({"messages": [{"role": "user", "content": "abc"}], "continue_final_message": true})";
  ASSERT_OK(halftone_language_model_answer_json(model_, begun, &options, &result));
  const std::string continued = result.text;
  EXPECT_EQ(result.forgotten_messages, 0U);
  ASSERT_OK(halftone_language_model_generate(model_, "<user>abc", &options, &result));
  EXPECT_EQ(result.text, continued);
  EXPECT_FAILS(halftone_language_model_answer_json(model_, "[]", &options, &result),
               HALFTONE_FORMAT, "request: expected an object in JSON");
  EXPECT_FAILS(halftone_language_model_answer_json(model_, nullptr, &options, &result),
               HALFTONE_USAGE, "request: expected");
  const std::string turn = R"({"role": "user", "content": "abcdefghijklmnop"})";
  const std::string both = R"({"messages": [)" + turn + ", " + turn + ", " + turn + "]}";
  ASSERT_OK(halftone_language_model_answer_json(model_, both.c_str(), &options, &result));
  EXPECT_EQ(result.forgotten_messages, 2U);
}

int count_and_stop(void* user, double fraction) {
  auto& calls = *static_cast<int*>(user);
  EXPECT_GE(fraction, 0);
  EXPECT_LE(fraction, 1);
  return ++calls == 2 ? 1 : 0;
}

TEST_F(CLanguage, MeasuresAText) {
  const std::string text(150, 'a');
  auto options = sized<halftone_evaluate_options>();
  options.window = 50;
  options.max_windows = 2;
  auto result = sized<halftone_text_evaluation>();
  ASSERT_OK(halftone_language_model_evaluate(model_, text.c_str(), &options, &result));
  EXPECT_EQ(result.num_windows, 2U);
  EXPECT_EQ(result.num_tokens, 98U);
  EXPECT_NEAR(result.perplexity, std::exp(result.loss), 1e-9 * result.perplexity);
  EXPECT_GT(result.loss_error, 0);
  EXPECT_GT(result.perplexity_error, 0);
  int calls = 0;
  options.progress = count_and_stop;
  options.user = &calls;
  EXPECT_FAILS(halftone_language_model_evaluate(model_, text.c_str(), &options, &result),
               HALFTONE_INTERRUPTED, "stopped");
  EXPECT_EQ(calls, 2);
  EXPECT_OK(halftone_language_model_evaluate(model_, text.c_str(), nullptr, &result));
  EXPECT_EQ(result.num_windows, 3U) << "of the context, 64, which is shorter than 512";
}

TEST_F(CLanguage, RefusesWhatIsNotThere) {
  auto options = sized<halftone_language_options>();
  halftone_language_model* model = nullptr;
  EXPECT_FAILS(halftone_language_model_load(context_, "none.gguf", nullptr, &model), HALFTONE_IO,
               "none.gguf");
  EXPECT_FAILS(halftone_language_model_load(context_, tiny_.path().c_str(), nullptr, &model),
               HALFTONE_USAGE, "tokenizer");
  const std::string tokenizer = tiny_.tokenizer();
  options.tokenizer = tokenizer.c_str();
  options.lora = "none";
  EXPECT_FAILS(halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model),
               HALFTONE_IO, "none: cannot open");
  options.lora = nullptr;
  options.device = "opencl:99";
  EXPECT_FAILS(halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model),
               HALFTONE_DEVICE, "no device opencl:99");
  options.device = "auto";
  ASSERT_EQ(halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model),
            HALFTONE_OK);
  EXPECT_STRNE(halftone_language_model_device(model), "auto");
  EXPECT_STRNE(halftone_language_model_device(model), "");
  EXPECT_STREQ(halftone_language_model_device(nullptr), "");
  halftone_language_model_destroy(model);
  model = nullptr;
  options.device = nullptr;
  EXPECT_FAILS(halftone_language_model_load(nullptr, "a.gguf", nullptr, &model), HALFTONE_USAGE,
               "context: expected a pointer, found NULL");
  EXPECT_FAILS(halftone_language_model_load(context_, nullptr, nullptr, &model), HALFTONE_USAGE,
               "path: expected a pointer");
  EXPECT_FAILS(halftone_language_model_load(context_, "a.gguf", nullptr, nullptr), HALFTONE_USAGE,
               "model: expected a pointer");
  options.cache = 5;
  EXPECT_FAILS(halftone_language_model_load(context_, "a.gguf", &options, &model), HALFTONE_USAGE,
               "options.cache: expected a halftone_cache, 0 to 4, found 5");
  options.struct_bytes += 8;
  EXPECT_FAILS(halftone_language_model_load(context_, "a.gguf", &options, &model), HALFTONE_USAGE,
               "options.struct_bytes");
  EXPECT_EQ(model, nullptr);
  options = sized<halftone_language_options>();
  options.tokenizer = tokenizer.c_str();
  options.context = 20;
  ASSERT_OK(halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model));
  EXPECT_EQ(halftone_language_model_context(model), 20U);
  halftone_language_model_destroy(model);
  const std::int32_t wrong[] = {260};
  halftone_text text = {nullptr, 0, 0};
  EXPECT_FAILS(halftone_language_model_detokenize(model_, wrong, 1, &text), HALFTONE_USAGE, "260");
  EXPECT_FAILS(halftone_language_model_token_text(model_, -1, &text), HALFTONE_USAGE, "-1");
  halftone_tokens tokens = {nullptr, 9, 0};
  EXPECT_FAILS(halftone_language_model_tokenize(model_, "ab", nullptr, &tokens), HALFTONE_USAGE,
               "tokens.data");
  EXPECT_FAILS(halftone_language_model_tokenize(model_, "\xFF", nullptr, &tokens), HALFTONE_FORMAT,
               "UTF-8");
}

TEST_F(CLanguage, LeavesSequencesAsTheyWereAfterErrors) {
  append(0, {5, 6});
  std::vector<float> logits(2 * TinyLanguageModel::kVocabulary);
  const halftone_output out = {logits.data(), logits.size() * sizeof(float)};
  const std::int32_t wrong[] = {7, 260};
  EXPECT_FAILS(halftone_language_model_append(model_, 0, wrong, 2, &out), HALFTONE_USAGE,
               "token: expected 0 to 259, found 260");
  EXPECT_FAILS(halftone_language_model_append(model_, 2, wrong, 1, nullptr), HALFTONE_USAGE,
               "sequence: expected 0 to 1, found 2");
  EXPECT_FAILS(halftone_language_model_append(model_, 0, wrong, 1, &out), HALFTONE_SHAPE,
               "logits: expected 1040 bytes");
  const std::vector<std::int32_t> many(63, 5);
  EXPECT_FAILS(halftone_language_model_append(model_, 0, many.data(), 63, nullptr),
               HALFTONE_UNSUPPORTED, "the context is full");
  EXPECT_FAILS(halftone_language_model_append(model_, 0, nullptr, 1, nullptr), HALFTONE_USAGE,
               "tokens: expected a pointer");
  EXPECT_FAILS(halftone_language_model_append(model_, 0, nullptr, 0, nullptr), HALFTONE_USAGE,
               "at least one token");
  EXPECT_FAILS(halftone_language_model_truncate(model_, 0, 3), HALFTONE_USAGE, "length");
  std::size_t none = 0;
  EXPECT_FAILS(halftone_language_model_length(model_, 2, &none), HALFTONE_USAGE, "sequence");
  EXPECT_FAILS(
      halftone_language_model_generate(model_, std::string(63, 'x').c_str(), nullptr, nullptr),
      HALFTONE_USAGE, "expected at most 64 tokens, which is the context, found 65");
  auto options = sized<halftone_generate_options>();
  options.sequence = 1;
  EXPECT_FAILS(halftone_language_model_generate(model_, nullptr, &options, nullptr), HALFTONE_USAGE,
               "expected a token at least");
  options.temperature = -1;
  EXPECT_FAILS(halftone_language_model_generate(model_, "a", &options, nullptr), HALFTONE_USAGE,
               "temperature");
  options.sequence = 2;
  EXPECT_FAILS(halftone_language_model_generate(model_, nullptr, &options, nullptr), HALFTONE_USAGE,
               "sequence: expected 0 to 1, found 2");
  auto result = sized<halftone_generation>();
  result.struct_bytes = 3;
  EXPECT_FAILS(halftone_language_model_generate(model_, "a", nullptr, &result), HALFTONE_USAGE,
               "result.struct_bytes");
  EXPECT_EQ(length(0), 2U);
}

int call_again(void* user, int32_t /*token*/, const char* /*text*/, size_t /*bytes*/) {
  std::size_t length = 0;
  auto* model = static_cast<halftone_language_model*>(user);
  EXPECT_FAILS(halftone_language_model_length(model, 0, &length), HALFTONE_USAGE,
               "model: expected one thread at a time");
  return 1;
}

TEST_F(CLanguage, IsForOneCallAtATime) {
  auto options = sized<halftone_generate_options>();
  options.on_token = call_again;
  options.user = model_;
  EXPECT_OK(halftone_language_model_generate(model_, "a", &options, nullptr));
}

TEST_F(CLanguage, RunsModelsInManyThreads) {
  const std::vector<std::int32_t> expected = generate("Once", 20);
  std::vector<halftone_language_model*> models;
  for (int i = 0; i < 4; ++i) models.push_back(open(1));
  halftone_context_destroy(context_);  // in any order
  context_ = nullptr;
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (halftone_language_model* model : models) {
    threads.emplace_back([&expected, &same, model] {
      auto options = sized<halftone_generate_options>();
      options.max_tokens = 20;
      auto result = sized<halftone_generation>();
      EXPECT_OK(halftone_language_model_generate(model, "Once", &options, &result));
      if (std::equal(expected.begin(), expected.end(), result.tokens,
                     result.tokens + result.num_tokens)) {
        ++same;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 4);
  for (halftone_language_model* model : models) halftone_language_model_destroy(model);
}

TEST_F(CLanguage, GivesAnOldCallerTheStructThatItKnows) {
  auto result = sized<halftone_generation>();
  result.struct_bytes = offsetof(halftone_generation, tokens);
  result.num_tokens = 99;
  EXPECT_OK(halftone_language_model_generate(model_, "a", nullptr, &result));
  EXPECT_GT(result.text_bytes, 0U);
  EXPECT_EQ(result.num_tokens, 99U);
}

/// On the model stories260K of llama2.c, which writes stories for children.
TEST_F(CLanguage, TellsStoriesAsLlama2cDoes) {
  const char* set = std::getenv("HALFTONE_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(set != nullptr ? set : HALFTONE_SOURCE_DIR "/../shared/data") /
      "models";
  const std::string file = (folder / "stories260K.bin").string();
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file << "; set HALFTONE_DATA";
  const std::string tokenizer = (folder / "tok512.bin").string();
  auto open = sized<halftone_language_options>();
  open.tokenizer = tokenizer.c_str();
  halftone_language_model* model = nullptr;
  ASSERT_OK(halftone_language_model_load(context_, file.c_str(), &open, &model));
  auto result = sized<halftone_generation>();
  ASSERT_OK(halftone_language_model_generate(model, "Once upon a time", nullptr, &result));
  EXPECT_THAT(result.text, testing::StartsWith(", there was a little girl named Lily. She loved to "
                                               "play outside in the park."));
  EXPECT_EQ(result.num_tokens, 128U);
  halftone_language_model_destroy(model);
}

}  // namespace
