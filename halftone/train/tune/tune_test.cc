// SPDX-License-Identifier: Apache-2.0
// Whole runs: what they reach, resumption, errors.
#include "halftone/train/tune/tune.h"

#include <cmath>
#include <memory>
#include <numbers>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/train/tune/testing.h"

namespace halftone::train {
namespace {

class TuneRuns : public WithFolder {
 protected:
  [[nodiscard]] TuneResult run(const TuneOptions& options) const {
    return tune({teacher_.parts, student_.parts, student_.tuned}, samples_, options);
  }
  [[nodiscard]] static TuneOptions few_steps() {
    TuneOptions options;
    options.steps = 24;
    options.rate = 0.01;
    options.evaluations = 4;
    return options;
  }
  [[nodiscard]] TuneOptions kept(bool resume) const {
    TuneOptions options = few_steps();
    options.checkpoint = {path("run.state"), 10, resume};
    return options;
  }

  const test::SequenceNetwork teacher_{""};
  const test::SequenceNetwork student_{"4x8"};
  TuneSamples samples_{test::token_samples(10, 1), test::token_samples(6, 2),
                       test::token_samples(4, 3)};
};

void expect_same_constants(const NamedConstants& a, const NamedConstants& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, constant] : a) {
    const ir::Constant& other = *b.at(name);
    if (const auto* blocks = std::get_if<ir::BlockTensor>(constant.get())) {
      const auto& wanted = std::get<ir::BlockTensor>(other);
      EXPECT_EQ(*blocks->encoding, *wanted.encoding) << name;
      EXPECT_TRUE(std::ranges::equal(blocks->bytes.bytes, wanted.bytes.bytes)) << name;
    } else {
      EXPECT_TRUE(std::ranges::equal(std::get<ir::Tensor>(*constant).bytes(),
                                     std::get<ir::Tensor>(other).bytes()))
          << name;
    }
  }
}

TEST_F(TuneRuns, LowerTheDivergence) {
  const TuneResult result = run(few_steps());
  const auto& evaluations = result.history.evaluations;
  ASSERT_EQ(evaluations.size(), 5U);  // before, and after every sixth step
  EXPECT_EQ(evaluations[1].steps, 6U);
  EXPECT_EQ(result.history.steps.size(), 24U);
  EXPECT_LT(evaluations[result.best].divergence, 0.9 * evaluations[0].divergence);
  EXPECT_LT(result.second_after, result.second_before);
  EXPECT_EQ(result.bases, std::vector<std::string>{"4x8"});
  EXPECT_EQ(result.num_vector_elements, 3 * test::kWidth);
  // The constants have the divergence that was measured.
  SequenceParts parts = student_.parts;
  for (ir::Graph& part : parts) {
    const std::size_t num_values = part.num_values();  // before the new constants
    for (std::size_t i = 0; i < num_values; ++i) {
      const auto id = static_cast<ir::ValueId>(i);
      const auto found = result.constants.find(part.value(id).name);
      if (part.constant(id) == nullptr || found == result.constants.end()) continue;
      replace_constant(part, id, found->second);
    }
  }
  const Tuner tuned(teacher_.parts, parts, {}, {});
  EXPECT_EQ(tuned.divergence(samples_.held_out, tuned.taught(samples_.held_out)),
            evaluations[result.best].divergence);
}

TEST_F(TuneRuns, KeepTheBestState) {
  TuneOptions options = few_steps();
  options.rate = 1000;  // far too much, even after it was halved
  const TuneResult result = run(options);
  EXPECT_EQ(result.best, 0U);
  EXPECT_EQ(result.second_after, result.second_before);
  expect_same_constants(result.constants, student_.tuned);
}

TEST_F(TuneRuns, GoBackAtHalfTheRateWhereAnEvaluationIsWorse) {
  TuneOptions options = few_steps();
  options.warm_up = 0;
  options.rate = 3;  // too much
  // All samples are in a batch, so that equal states have equal losses.
  options.batch = samples_.fit.size();
  const TuneHistory history = run(options).history;
  EXPECT_GT(history.evaluations[1].divergence, history.evaluations[0].divergence);
  const auto factor = [](double step) { return (1 + std::cos(std::numbers::pi * step / 24)) / 2; };
  const auto& steps = history.steps;
  EXPECT_DOUBLE_EQ(steps[5].rate, 3 * factor(5));
  EXPECT_DOUBLE_EQ(steps[6].rate, 1.5 * factor(6));
  EXPECT_GT(steps[5].loss, steps[0].loss);
  EXPECT_NEAR(steps[6].loss, steps[0].loss, 0x1p-20 * steps[0].loss);  // sums in another order
}

TEST_F(TuneRuns, TakeTheRateFromTheDivergence) {
  const test::SequenceNetwork near("2x6");
  TuneOptions options = few_steps();
  options.rate.reset();
  options.warm_up = 0;
  const auto first = [&](const test::SequenceNetwork& student) {
    const TuneResult result =
        tune({teacher_.parts, student.parts, student.tuned}, samples_, options);
    const auto& evaluations = result.history.evaluations;
    EXPECT_LT(evaluations[result.best].divergence, evaluations[0].divergence);
    return std::pair(evaluations[0].divergence, result.history.steps[0].rate);
  };
  const auto [small, small_rate] = first(near);
  EXPECT_LT(small, 1);
  EXPECT_DOUBLE_EQ(small_rate, 0.003 * std::sqrt(small));
  const auto [large, large_rate] = first(student_);
  EXPECT_GT(large, 1);
  EXPECT_DOUBLE_EQ(large_rate, 0.003);
}

TEST_F(TuneRuns, GoOnAsIfTheyHadNotBeenStopped) {
  for (const double rate : {0.01, 3.0}) {  // the second goes back
    TuneOptions options = few_steps();
    options.rate = rate;
    const TuneResult whole = run(options);
    options.checkpoint = {path("run.state"), 10, true};
    for (const std::size_t stop : {std::size_t{0}, std::size_t{7}, std::size_t{12}}) {
      std::filesystem::remove(path("run.state"));
      TuneOptions stopped = options;
      stopped.checkpoint.resume = false;
      const auto asked = std::make_shared<std::size_t>(0);
      stopped.stop_requested = [asked, stop] { return (*asked)++ == stop; };
      EXPECT_TRUE(run(stopped).is_interrupted);
      const TuneResult result = run(options);
      EXPECT_FALSE(result.is_interrupted);
      expect_same_constants(result.constants, whole.constants);
      ASSERT_EQ(result.history.steps.size(), whole.history.steps.size());
      for (std::size_t i = 0; i < whole.history.steps.size(); ++i) {
        EXPECT_EQ(result.history.steps[i].loss, whole.history.steps[i].loss);
      }
      EXPECT_EQ(result.second_before, whole.second_before);
    }
    // A finished run has nothing left to do.
    expect_same_constants(run(options).constants, whole.constants);
    std::filesystem::remove(path("run.state"));
  }
}

TEST_F(TuneRuns, EndInTime) {
  TuneOptions options = few_steps();
  options.minutes = 1e-9;
  const TuneResult result = run(options);
  EXPECT_FALSE(result.is_interrupted);
  EXPECT_EQ(result.history.steps.size(), 0U);
  expect_same_constants(result.constants, student_.tuned);
}

TEST_F(TuneRuns, RefuseTheStateOfAnotherRun) {
  TuneOptions options = kept(false);
  options.steps = 1;
  (void)run(options);
  expect_error(ErrorKind::kUsage, "expected no checkpoint there yet", [&] { (void)run(options); });
  options.checkpoint.resume = true;
  options.rate = 0.5;
  expect_error(ErrorKind::kUsage, "learning rate was 0.01, is 0.5", [&] { (void)run(options); });
  options.rate = 0.01;
  samples_.fit[0][0] = (samples_.fit[0][0] + 1) % 20;
  expect_error(ErrorKind::kUsage, "belongs to another run: text was", [&] { (void)run(options); });
  write_file(path("run.state"), std::string_view("nothing"));
  expect_error(ErrorKind::kFormat, "run.state: expected a checkpoint", [&] { (void)run(options); });
}

TEST_F(TuneRuns, RefuseWrongOptions) {
  const auto refused = [&](const std::string& text, const auto& change) {
    TuneOptions options = few_steps();
    change(options);
    expect_error(ErrorKind::kUsage, text, [&] { (void)run(options); });
  };
  refused("steps of tuning", [](TuneOptions& options) { options.steps = 0; });
  refused("samples of a step", [](TuneOptions& options) { options.batch = 0; });
  refused("evaluations", [](TuneOptions& options) { options.evaluations = 0; });
  refused("learning rates", [](TuneOptions& options) { options.rate = 0; });
  refused("learning rates", [](TuneOptions& options) { options.rate = 1e31; });
  refused("learning rates", [](TuneOptions& options) { options.basis_rate = -1; });
  refused("warm-up", [](TuneOptions& options) { options.warm_up = 1; });
  samples_.held_out.clear();
  refused("held-out samples", [](TuneOptions&) {});
}

TEST_F(TuneRuns, RefuseNumbersThatAreNotFinite) {
  TuneOptions options = few_steps();
  options.rate = 1e30;
  expect_error(ErrorKind::kUnsupported, "a smaller learning rate may help",
               [&] { (void)run(options); });
}

}  // namespace
}  // namespace halftone::train
