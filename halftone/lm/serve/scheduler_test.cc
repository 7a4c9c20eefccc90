// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/serve/scheduler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/generate/testing.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"
#include "halftone/lm/serve/serve_loop.h"
#include "halftone/lm/text/testing.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kContext = 96;
constexpr TokenId kEndToken = 256;

/// A small model whose tokens are bytes.
Description byte_description() {
  SmallSizes sizes;
  sizes.vocabulary = 257;
  return small_description("llama", sizes);
}

class SchedulerTest : public testing::Test {
 protected:
  [[nodiscard]] Decoder model(std::size_t sequences) const {
    return {build_decoder(description_, weights_, {sequences, kContext}), {.rows = 32}};
  }
  [[nodiscard]] ServeJob job(std::string_view prompt, std::size_t max_tokens) const {
    ServeJob job;
    job.prompt = tokenizer_.encode(prompt);
    job.max_tokens = max_tokens;
    job.sampling.temperature = 1;
    job.end_tokens = {kEndToken};
    return job;
  }
  /// A job with random options.
  [[nodiscard]] ServeJob random_job(Random& random) const {
    static constexpr std::array kFronts = {"", "You are a helpful assistant. ",
                                           "You are a terse assistant. Answer in one word: "};
    std::string prompt = kFronts[random.next() % kFronts.size()];
    for (std::uint64_t i = 1 + random.next() % 30; i > 0; --i) {
      prompt += static_cast<char>('a' + random.next() % 26);
    }
    ServeJob found = job(prompt, 1 + random.next() % 40);
    found.sampling.temperature = random.next() % 3 == 0 ? 0 : 0.8;
    found.sampling.repeat_penalty = random.next() % 2 == 0 ? 1 : 1.2;
    found.sampling.seed = random.next();
    if (random.next() % 4 == 0) found.stops = {"e", "th"};
    found.priority = static_cast<int>(random.next() % 3);
    found.client = std::string(1, static_cast<char>('a' + random.next() % 3));
    return found;
  }
  /// A job whose text repeats itself.
  [[nodiscard]] ServeJob repeating_job(std::size_t number) const {
    const std::string line = "line " + std::to_string(number % 5) + ", ";
    ServeJob found = job(line + line + line.substr(0, number % 7), 40);
    found.sampling.temperature = number % 2 == 0 ? 0 : 0.4;
    found.sampling.seed = number;
    found.sampling.repeat_penalty = 0.2;  // which makes tokens of the text more probable
    found.end_tokens = {};
    return found;
  }
  /// What generate() makes of a job, without guesses.
  [[nodiscard]] Generation alone(const ServeJob& job) const {
    Decoder one = model(1);
    GenerateJob plain = job;
    plain.lookup = 0;
    return generate(one, tokenizer_, job.prompt, plain);
  }
  /// Submits a job whose result comes to results_, by number.
  std::optional<Scheduler::Id> submit(Scheduler& scheduler, ServeJob job, std::size_t number) {
    job.on_end = [this, number](ServeResult result) {
      EXPECT_EQ(results_.count(number), 0U);
      results_[number] = std::move(result);
      order_.push_back(number);
    };
    return scheduler.submit(std::move(job));
  }
  void check_mix(std::size_t clients, std::size_t sequences, std::size_t run_tokens);

  Tokenizer tokenizer_ = Tokenizer::from_gguf(byte_tokens({"</s>"}));
  Description description_ = byte_description();
  Weights weights_ = small_weights(description_);
  std::map<std::size_t, ServeResult> results_;
  std::vector<std::size_t> order_;  ///< in which texts ended
};

bool is_front(const Generation& part, const Generation& whole) {
  return std::ranges::equal(
      part.tokens,
      std::span(whole.tokens).first(std::min(part.tokens.size(), whole.tokens.size())));
}

/// Some clients, each with a job at a time, some of whom leave early.
void SchedulerTest::check_mix(std::size_t clients, std::size_t sequences, std::size_t run_tokens) {
  Decoder decoder = model(sequences);
  Scheduler scheduler(decoder, tokenizer_, {.run_tokens = run_tokens});
  Random random(clients);
  constexpr std::size_t kJobs = 40;
  std::vector<ServeJob> jobs;
  std::map<Scheduler::Id, std::size_t> live;
  std::vector<bool> is_cancelled(kJobs);
  while (jobs.size() < kJobs || scheduler.counts().ended < kJobs) {
    const ServeCounts counts = scheduler.counts();
    for (std::size_t i = counts.running + counts.waiting; i < clients && jobs.size() < kJobs; ++i) {
      jobs.push_back(random_job(random));
      live[*submit(scheduler, jobs.back(), jobs.size() - 1)] = jobs.size() - 1;
    }
    if (random.next() % 32 == 0 && !live.empty()) {
      auto at = live.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random.next() % live.size()));
      scheduler.cancel(at->first);
      is_cancelled[at->second] = true;
      live.erase(at);
    }
    scheduler.step();
  }
  ASSERT_EQ(results_.size(), kJobs);
  for (std::size_t i = 0; i < kJobs; ++i) {
    const Generation& found = results_[i].generation;
    const Generation want = alone(jobs[i]);
    EXPECT_FALSE(results_[i].error);
    if (is_cancelled[i] && found.end == End::kInterrupted) {
      EXPECT_TRUE(is_front(found, want)) << i;
      continue;
    }
    EXPECT_EQ(found.text, want.text) << i;
    EXPECT_EQ(found.tokens, want.tokens) << i;
    EXPECT_EQ(found.end, want.end) << i;
    EXPECT_EQ(found.prompt_tokens, want.prompt_tokens) << i;
  }
  const ServeCounts counts = scheduler.counts();
  EXPECT_EQ(counts.accepted, kJobs);
  EXPECT_EQ(counts.running + counts.waiting, 0U);
  EXPECT_EQ(counts.failed, 0U);
  EXPECT_FALSE(scheduler.step());
}

TEST_F(SchedulerTest, GuessesInRunsOfManyTexts) {
  std::uint64_t guessed = 0;
  std::uint64_t accepted = 0;
  for (const std::size_t clients : {1U, 4U, 16U}) {
    Decoder decoder = model(clients);
    Scheduler scheduler(decoder, tokenizer_);
    for (std::size_t i = 0; i < clients; ++i) submit(scheduler, repeating_job(i), i);
    while (scheduler.step()) {
    }
    std::size_t written = 0;
    for (std::size_t i = 0; i < clients; ++i) {
      const Generation& found = results_[i].generation;
      written += found.tokens.size();
      EXPECT_EQ(found.tokens, alone(repeating_job(i)).tokens) << i << " of " << clients;
      EXPECT_EQ(found.text, alone(repeating_job(i)).text);
    }
    const ServeCounts counts = scheduler.counts();
    EXPECT_EQ(counts.generated_tokens, written);
    EXPECT_LE(counts.accepted_tokens, counts.guessed_tokens);
    guessed += counts.guessed_tokens;
    accepted += counts.accepted_tokens;
    results_.clear();
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, guessed) << "some are wrong";
}

TEST_F(SchedulerTest, WritesTheSameTextsWithADraft) {
  std::vector<NamedTensor> tensors = small_tensors(description_);
  for (NamedTensor& tensor : tensors) std::ranges::reverse(tensor.values);
  const Weights others = weights_of(description_, tensors);
  for (const std::size_t clients : {1U, 4U, 16U}) {
    for (const bool is_right : {true, false}) {
      Decoder decoder = model(clients);
      auto draft = std::make_unique<Decoder>(
          build_decoder(description_, is_right ? weights_ : others, {clients, kContext}),
          DecoderOptions{.rows = 32});
      decoder.set_draft(std::move(draft), 0.02);
      Scheduler scheduler(decoder, tokenizer_, {.run_tokens = 32});
      Random random(clients);
      std::vector<ServeJob> jobs;
      for (std::size_t i = 0; i < 2 * clients; ++i) {
        jobs.push_back(random_job(random));
        submit(scheduler, jobs.back(), i);
      }
      while (scheduler.step()) {
      }
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        EXPECT_EQ(results_[i].generation.tokens, alone(jobs[i]).tokens) << i << " of " << clients;
        EXPECT_EQ(results_[i].generation.text, alone(jobs[i]).text);
      }
      const ServeCounts counts = scheduler.counts();
      EXPECT_GT(counts.guessed_tokens, 0U);
      EXPECT_TRUE(!is_right || 2 * counts.accepted_tokens > counts.guessed_tokens);
      results_.clear();
    }
  }
}

TEST_F(SchedulerTest, TakesFewRunsWhereATextRepeats) {
  std::size_t runs[2] = {};
  for (const std::size_t lookup : {0U, 15U}) {
    ParrotModel parrot(257, kContext, {'a', 'b', 'c', 'd', 'a'});
    Scheduler scheduler(parrot, tokenizer_);
    ServeJob each = job("abcdabcd", 60);
    each.sampling.temperature = 0;
    each.lookup = lookup;
    submit(scheduler, each, lookup);
    while (scheduler.step()) {
    }
    const ServeCounts counts = scheduler.counts();
    runs[lookup == 0 ? 0 : 1] = counts.runs;
    EXPECT_EQ(counts.runs + counts.accepted_tokens, 60U) << "each right guess saves a run";
    EXPECT_EQ(counts.generated_tokens, 60U);
    EXPECT_EQ(results_[lookup].generation.accepted_tokens, counts.accepted_tokens);
  }
  EXPECT_EQ(results_[15].generation.tokens, results_[0].generation.tokens);
  EXPECT_LT(2 * runs[1], runs[0]);
}

TEST_F(SchedulerTest, GivesOneClientWhatItGetsAlone) { check_mix(1, 1, 64); }
TEST_F(SchedulerTest, GivesFourClientsWhatTheyGetAlone) { check_mix(4, 4, 8); }
TEST_F(SchedulerTest, GivesSixteenClientsWhatTheyGetAlone) { check_mix(16, 5, 32); }

/// A model with recurrences cannot cut its states: it keeps a sequence whole, or begins anew.
class WholeModel : public TokenModel {
 public:
  explicit WholeModel(Decoder& decoder) : decoder_(decoder) {}
  [[nodiscard]] std::size_t vocabulary() const override { return decoder_.vocabulary(); }
  [[nodiscard]] std::size_t context() const override { return decoder_.context(); }
  [[nodiscard]] std::size_t sequences() const override { return decoder_.sequences(); }
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t sequence) const override {
    return decoder_.tokens(sequence);
  }
  std::vector<float> append(std::size_t sequence, std::span<const TokenId> tokens,
                            bool all) override {
    return decoder_.append(sequence, tokens, all);
  }
  void truncate(std::size_t sequence, std::size_t length) override {
    EXPECT_TRUE(length == 0 || length == decoder_.length(sequence)) << length;
    decoder_.truncate(sequence, length);
  }
  [[nodiscard]] bool truncates_freely() const override { return false; }

 private:
  Decoder& decoder_;
};

TEST_F(SchedulerTest, CutsNoStatesOfRecurrences) {
  Decoder decoder = model(2);
  WholeModel whole(decoder);
  Scheduler scheduler(whole, tokenizer_);
  std::vector<ServeJob> jobs = {job("A common front: one", 6), job("A common front: two", 6),
                                job("A common front: one", 9)};
  for (std::size_t i = 0; i < jobs.size(); ++i) submit(scheduler, jobs[i], i);
  while (scheduler.step()) {
  }
  EXPECT_EQ(scheduler.counts().reused_tokens, 0U);
  std::string next = "A common front: one" + results_[2].generation.text;
  jobs.push_back(job(next, 3));
  submit(scheduler, jobs.back(), 3);
  while (scheduler.step()) {
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(results_[i].generation.text, alone(jobs[i]).text) << i;
  }
}

TEST_F(SchedulerTest, ReusesTheFrontOfOtherTexts) {
  Decoder decoder = model(3);
  Scheduler scheduler(decoder, tokenizer_);
  const std::string front = "A long text that several questions begin with. ";
  for (std::size_t i = 0; i < 3; ++i) {
    submit(scheduler, job(front + static_cast<char>('a' + i), 5), i);
  }
  while (scheduler.step()) {
  }
  EXPECT_EQ(scheduler.counts().reused_tokens, 2 * front.size()) << "the first reads it for all";
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results_[i].generation.text, alone(job(front + static_cast<char>('a' + i), 5)).text);
  }
  // A conversation goes on where it is, and what others need stays.
  std::string next = front + "a" + results_[0].generation.text + "?";
  submit(scheduler, job(next, 5), 3);
  while (scheduler.step()) {
  }
  EXPECT_GE(results_[3].generation.reused_tokens, front.size() + 1);
  EXPECT_EQ(results_[3].generation.text, alone(job(next, 5)).text);
}

TEST_F(SchedulerTest, KeepsAShortPromptFromWaitingForLongOnes) {
  Decoder decoder = model(5);
  Scheduler scheduler(decoder, tokenizer_, {.run_tokens = 10});
  for (std::size_t i = 0; i < 4; ++i) submit(scheduler, job(std::string(80, char('a' + i)), 2), i);
  scheduler.step();
  submit(scheduler, job("0123456789", 1), 4);
  scheduler.step();
  EXPECT_EQ(results_.count(4), 1U) << "ten tokens are what a run reads";
  while (scheduler.step()) {
  }
  EXPECT_EQ(results_.size(), 5U);
}

TEST_F(SchedulerTest, KeepsLongPromptsFromWaitingForShortOnes) {
  Decoder decoder = model(2);
  Scheduler scheduler(decoder, tokenizer_, {.run_tokens = 16});
  submit(scheduler, job(std::string(80, 'a'), 1), 0);
  for (std::size_t i = 1; results_.count(0) == 0; ++i) {
    ASSERT_LT(i, 20U) << "a short one after the other, each in a run or two";
    submit(scheduler, job(std::string(9, static_cast<char>('a' + i)), 1), i);
    while (results_.count(i) == 0) scheduler.step();
  }
}

TEST_F(SchedulerTest, RefusesWhatWaitsTooMuch) {
  Decoder decoder = model(1);
  Scheduler scheduler(decoder, tokenizer_, {.max_waiting = 2});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(submit(scheduler, job("a", 1), i));
  EXPECT_FALSE(submit(scheduler, job("b", 1), 3));
  EXPECT_EQ(scheduler.counts().refused, 1U);
  scheduler.step();  // one of them has ended now
  EXPECT_TRUE(submit(scheduler, job("c", 1), 4));
  while (scheduler.step()) {
  }
  EXPECT_THAT(order_, testing::ElementsAre(0, 1, 2, 4));
}

TEST_F(SchedulerTest, LetsUrgentTextsInterruptOthersForAWhile) {
  Decoder decoder = model(1);
  Scheduler scheduler(decoder, tokenizer_);
  const ServeJob slow = job("Once upon a time", 20);
  submit(scheduler, slow, 0);
  for (int i = 0; i < 5; ++i) scheduler.step();
  ServeJob urgent = job("Now", 4);
  urgent.priority = 1;
  submit(scheduler, urgent, 1);
  while (scheduler.step()) {
  }
  EXPECT_THAT(order_, testing::ElementsAre(1, 0));
  EXPECT_EQ(scheduler.counts().evictions, 1U);
  EXPECT_EQ(results_[0].generation.text, alone(slow).text);
  EXPECT_EQ(results_[0].generation.prompt_tokens, slow.prompt.size());
  EXPECT_EQ(results_[1].generation.text, alone(urgent).text);
}

TEST_F(SchedulerTest, GivesClientsEqualShares) {
  Decoder decoder = model(2);
  Scheduler scheduler(decoder, tokenizer_);
  for (std::size_t i = 0; i < 4; ++i) {
    ServeJob each = job("x", 4);
    each.end_tokens = {};
    each.client = i < 3 ? "greedy" : "modest";
    submit(scheduler, each, i);
  }
  while (scheduler.step()) {
  }
  EXPECT_THAT(order_, testing::ElementsAre(0, 3, 1, 2));
}

TEST_F(SchedulerTest, EndsTextsWhoseTimeIsOver) {
  Decoder decoder = model(1);
  Scheduler scheduler(decoder, tokenizer_);
  ServeJob hasty = job("x", 20);
  hasty.max_seconds = 1e-9;
  submit(scheduler, hasty, 0);
  submit(scheduler, job("y", 2), 1);
  while (scheduler.step()) {
  }
  EXPECT_TRUE(results_[0].is_overdue);
  EXPECT_EQ(results_[0].generation.end, End::kInterrupted);
  EXPECT_FALSE(results_[1].is_overdue);
  EXPECT_EQ(scheduler.counts().interrupted, 1U);
}

TEST_F(SchedulerTest, HearsWhoDoesNotGoOn) {
  Decoder decoder = model(1);
  Scheduler scheduler(decoder, tokenizer_);
  ServeJob each = job("x", 20);
  each.end_tokens = {};
  std::size_t tokens = 0;
  each.on_token = [&](TokenId token, std::string_view) {
    return token == kNoToken || ++tokens < 3;
  };
  submit(scheduler, each, 0);
  each.on_token = [](TokenId, std::string_view) { return false; };
  submit(scheduler, each, 1);
  each.on_token = {};
  each.max_tokens = 0;
  submit(scheduler, each, 2);
  while (scheduler.step()) {
  }
  EXPECT_EQ(results_[0].generation.tokens.size(), 3U);
  EXPECT_EQ(results_[0].generation.end, End::kInterrupted);
  EXPECT_TRUE(results_[1].generation.tokens.empty());
  EXPECT_EQ(results_[2].generation.end, End::kCount);
  EXPECT_TRUE(results_[2].generation.text.empty());
}

/// A model that appends one sequence at a time, and whose logits may be broken.
TEST_F(SchedulerTest, KeepsAFailureToItsText) {
  ParrotModel parrot(257, 20, {'H', 'a', 'l', 'f', 't', 'o', 'n', 'e', kEndToken});
  Scheduler scheduler(parrot, tokenizer_);
  ServeJob good = job("Ha", 20);
  good.sampling.temperature = 0;
  submit(scheduler, good, 0);
  ServeJob bad = job("x", 20);
  bad.on_logits = [](std::span<const float>) { fail(ErrorKind::kFormat, "broken"); };
  submit(scheduler, bad, 1);
  while (scheduler.step()) {
  }
  EXPECT_EQ(results_[0].generation.text, "lftone");
  ASSERT_TRUE(results_[1].error);
  EXPECT_STREQ(results_[1].error->what(), "broken");
  EXPECT_EQ(scheduler.counts().failed, 1U);
}

/// Has no numbers for texts that end with x.
class BrokenModel : public ParrotModel {
 public:
  using ParrotModel::ParrotModel;
  std::vector<float> append_each(std::span<const SequencePart> parts) override {
    std::vector<float> logits = ParrotModel::append_each(parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].tokens.back() == 'x') logits[i * vocabulary()] = std::nanf("");
    }
    return logits;
  }
};

TEST_F(SchedulerTest, KeepsLogitsThatAreNoNumbersToTheirText) {
  BrokenModel broken(257, 20, {'H', 'a', 'l', 'f', 't', 'o', 'n', 'e', kEndToken});
  Scheduler scheduler(broken, tokenizer_);
  for (std::size_t i = 0; i < 3; ++i) {
    ServeJob each = job(i == 1 ? "x" : "H", 20);
    each.sampling.temperature = 0;
    submit(scheduler, each, i);
  }
  while (scheduler.step()) {
  }
  EXPECT_EQ(results_[0].generation.text, "alftone");
  ASSERT_TRUE(results_[1].error);
  EXPECT_THAT(results_[1].error->what(), testing::HasSubstr("logit of token 0: expected a number"));
  EXPECT_EQ(results_[2].generation.text, "alftone");
}

/// Fails as a machine without memory does.
class FailingModel : public ParrotModel {
 public:
  using ParrotModel::ParrotModel;
  std::vector<float> append_each(std::span<const SequencePart> parts) override {
    if (failures == 0) return ParrotModel::append_each(parts);
    if (--failures == 0) throw std::bad_alloc();
    fail(ErrorKind::kMemory, "no memory");
  }
  int failures = 2;
};

TEST_F(SchedulerTest, LivesOnWhenTheModelFails) {
  FailingModel broken(257, 20, {'H', 'a', kEndToken});
  Scheduler scheduler(broken, tokenizer_);
  for (std::size_t i = 0; i < 3; ++i) {
    submit(scheduler, job("H", 3), i);
    while (scheduler.step()) {
    }
  }
  EXPECT_EQ(results_[0].error->kind(), ErrorKind::kMemory);
  EXPECT_EQ(results_[1].error->kind(), ErrorKind::kInternal);
  EXPECT_FALSE(results_[2].error);
}

/// Has no memory for copies.
class FullModel : public ParrotModel {
 public:
  using ParrotModel::ParrotModel;
  bool copy_front(std::size_t /*from*/, std::size_t /*to*/, std::size_t /*length*/) override {
    fail(ErrorKind::kMemory, "no memory");
  }
};

TEST_F(SchedulerTest, LivesOnWhenACopyFails) {
  FullModel full(257, 200, {'H', 'a', kEndToken});
  Scheduler scheduler(full, tokenizer_);
  const std::string front(40, 'H');
  submit(scheduler, job(front + "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 9), 0);
  scheduler.step();
  submit(scheduler, job(front + "x", 2), 1);
  while (scheduler.step()) {
  }
  EXPECT_FALSE(results_[0].error);
  ASSERT_TRUE(results_[1].error);
  EXPECT_EQ(results_[1].error->kind(), ErrorKind::kMemory);
  submit(scheduler, job("another", 2), 2);
  while (scheduler.step()) {
  }
  EXPECT_FALSE(results_[2].error);
  EXPECT_EQ(scheduler.counts().running + scheduler.counts().waiting, 0U);
}

TEST_F(SchedulerTest, HasACommonFrontInMemoryOnce) {
  constexpr std::size_t kFront = 1000;
  const auto opened = [&](std::size_t sequences) {
    return Decoder(build_decoder(description_, weights_, {sequences, 2048}), {.rows = 32});
  };
  Decoder decoder = opened(4);
  Scheduler scheduler(decoder, tokenizer_);
  std::string front;
  for (std::size_t i = 0; i < kFront; ++i) front += static_cast<char>('a' + i * i % 23);
  for (std::size_t i = 0; i < 4; ++i) {
    submit(scheduler, job(front + static_cast<char>('a' + i), 5), i);
  }
  while (scheduler.step()) {
  }
#ifdef __linux__
  EXPECT_GE(scheduler.counts().shared_bytes, decoder.state_bytes() / 4 / 2048 * kFront);
#endif
  for (std::size_t i = 0; i < 4; ++i) {
    Decoder one = opened(1);
    const ServeJob mine = job(front + static_cast<char>('a' + i), 5);
    EXPECT_EQ(results_[i].generation.text, generate(one, tokenizer_, mine.prompt, mine).text);
  }
}

TEST_F(SchedulerTest, DescribesWhatIsWrong) {
  Decoder decoder = model(1);
  Scheduler scheduler(decoder, tokenizer_);
  expect_error(ErrorKind::kUsage, "prompt: expected a token", [&] { scheduler.submit({}); });
  expect_error(ErrorKind::kUsage, "prompt: expected at most 96 tokens",
               [&] { scheduler.submit(job(std::string(97, 'a'), 1)); });
  expect_error(ErrorKind::kUsage, "top-p", [&] {
    ServeJob bad = job("a", 1);
    bad.sampling.top_p = 0;
    scheduler.submit(bad);
  });
  expect_error(ErrorKind::kUsage, "tokens of a run: expected at least 1",
               [&] { Scheduler(decoder, tokenizer_, {.run_tokens = 0}); });
  EXPECT_EQ(scheduler.counts().accepted, 0U);
}

TEST_F(SchedulerTest, RunsOnAThreadOfItsOwn) {
  Decoder decoder = model(4);
  Random random(3);
  std::vector<ServeJob> jobs;
  std::vector<Generation> found(24);
  {
    ServeLoop loop(decoder, tokenizer_, {}, {});
    for (std::size_t i = 0; i < found.size(); ++i) jobs.push_back(random_job(random));
    std::vector<std::thread> clients;
    for (std::size_t c = 0; c < 4; ++c) {
      clients.emplace_back([&, c] {
        for (std::size_t i = c; i < found.size(); i += 4) {
          ServeJob mine = jobs[i];
          mine.on_end = [&, i](ServeResult result) { found[i] = std::move(result.generation); };
          EXPECT_TRUE(loop.submit(std::move(mine)));
        }
      });
    }
    for (std::thread& client : clients) client.join();
    loop.drain();
    EXPECT_FALSE(loop.submit(jobs[0])) << "no more";
    EXPECT_EQ(loop.counts().ended, found.size());
  }
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].text, alone(jobs[i]).text);
}

TEST_F(SchedulerTest, InterruptsWhatHasNotEnded) {
  Decoder decoder = model(1);
  std::atomic<int> interrupted = 0;
  {
    ServeLoop loop(decoder, tokenizer_, {}, {});
    ServeJob endless = job("x", 1U << 20U);
    endless.end_tokens = {};
    endless.on_token = [](TokenId, std::string_view) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return true;
    };
    endless.on_end = [&](const ServeResult& result) {
      interrupted += result.generation.end == End::kInterrupted ? 1 : 0;
    };
    loop.submit(endless);
    loop.submit(endless);
    loop.cancel(*loop.submit(endless));
  }
  EXPECT_EQ(interrupted, 3);
}

}  // namespace
}  // namespace halftone::lm
