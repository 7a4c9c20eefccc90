// SPDX-License-Identifier: Apache-2.0
// Runs that are stopped and resumed, end early, or diverge.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/spmd/testing.h"
#include "halftone/train/run/checkpoint.h"
#include "halftone/train/run/content_hash.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

using test::by_gradient;
using test::few_epochs;

constexpr std::size_t kStepsPerEpoch = test::kSamples / 64;

/// Requests a stop in the step of this index, from 0.
std::function<bool()> stop_in_step(std::size_t step) {
  auto asked = std::make_shared<std::atomic<std::size_t>>(0);
  return [asked, step] { return asked->fetch_add(1) == step; };
}

class Runs : public WithFolder {
 protected:
  [[nodiscard]] TrainedGraph run(const LearnOptions& options,
                                 const StudentOptions& student = by_gradient()) const {
    return train(student_, &teacher_, {{teacher_}, data_}, student, options);
  }
  [[nodiscard]] LearnOptions kept(LearnOptions options, bool resume = false) const {
    options.checkpoint = {path("run.ckpt"), 10, resume};
    return options;
  }
  [[nodiscard]] std::vector<std::byte> bytes() const { return read_file(path("run.ckpt")); }

  const ir::Graph teacher_ = test::teacher_network();
  const data::Dataset data_ = test::taught(teacher_, 2);
  const ir::Graph student_ = test::student_network(teacher_, data_);
};

void expect_same_run(const TrainedGraph& found, const TrainedGraph& wanted) {
  EXPECT_EQ(content_hash(found.graph), content_hash(wanted.graph));
  ASSERT_EQ(found.epochs.size(), wanted.epochs.size());
  for (std::size_t e = 0; e < wanted.epochs.size(); ++e) {
    EXPECT_EQ(found.epochs[e].loss, wanted.epochs[e].loss) << e;
    EXPECT_EQ(found.epochs[e].agreement, wanted.epochs[e].agreement) << e;
    EXPECT_EQ(found.epochs[e].validation_accuracy, wanted.epochs[e].validation_accuracy) << e;
    EXPECT_EQ(found.epochs[e].rate, wanted.epochs[e].rate) << e;
  }
}

TEST_F(Runs, GoOnAsIfTheyHadNotBeenStopped) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam}) {
    for (const StudentOptions& student : {by_gradient(), StudentOptions()}) {
      LearnOptions options = few_epochs();
      options.epochs = 3;
      options.optimizer.kind = kind;
      options.validation_split = 0.2;
      const TrainedGraph whole = run(options, student);
      for (const std::size_t stop : {0U, 1U, 5U, 6U, 7U, 17U}) {
        LearnOptions first = kept(options);
        first.stop_requested = stop_in_step(stop);
        EXPECT_TRUE(run(first, student).interrupted);
        EXPECT_EQ(checkpoint_from(bytes()).steps, stop);
        const TrainedGraph rest = run(kept(options, true), student);
        EXPECT_FALSE(rest.interrupted);
        expect_same_run(rest, whole);
        // Resuming a finished run gives the same result.
        expect_same_run(run(kept(options, true), student), whole);
        std::filesystem::remove(path("run.ckpt"));
      }
    }
  }
}

TEST_F(Runs, GoOnOnOtherDevicesAndRanks) {
  LearnOptions options = few_epochs();
  options.epochs = 2;
  options.parts = 4;
  options.validation_split = 0.1;
  const TrainedGraph whole = run(options);
  LearnOptions first = kept(options);
  first.stop_requested = stop_in_step(9);
  first.devices = spmd::Devices::emulate(3);
  EXPECT_TRUE(run(first).interrupted);
  const auto on_ranks = [&](const LearnOptions& how) {
    return spmd::LocalRanks(2).run([&](const auto& ranks) {
      LearnOptions mine = how;
      mine.devices = spmd::Devices::over(ranks, 1);
      if (ranks->rank() == 0) mine.stop_requested = nullptr;  // another one is asked to stop
      return run(mine);
    });
  };
  LearnOptions second = kept(options, true);
  second.stop_requested = stop_in_step(2);
  for (const TrainedGraph& each : on_ranks(second)) EXPECT_TRUE(each.interrupted);
  EXPECT_EQ(checkpoint_from(bytes()).steps, 11U);
  for (const TrainedGraph& each : on_ranks(kept(options, true))) expect_same_run(each, whole);
}

TEST_F(Runs, AreKeptEverySoOften) {
  LearnOptions options = kept(few_epochs());
  options.epochs = 1;
  std::vector<std::size_t> saved;
  options.record = [&](const auto& /*epochs*/) { saved.push_back(checkpoint_from(bytes()).steps); };
  (void)run(options);
  EXPECT_THAT(saved, testing::ElementsAre(0, 0, kStepsPerEpoch));  // start, epoch's end, end
  std::filesystem::remove(path("run.ckpt"));
  saved.clear();
  options.checkpoint.minutes = 0;
  (void)run(options);
  EXPECT_THAT(saved, testing::ElementsAre(0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8));
}

TEST_F(Runs, LeaveNothingWithoutACheckpoint) {
  LearnOptions options = few_epochs();
  options.stop_requested = stop_in_step(3);
  EXPECT_TRUE(run(options).interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Runs, DoNotResumeWithoutACheckpoint) {
  LearnOptions options = few_epochs();
  options.checkpoint.resume = true;
  expect_error(ErrorKind::kUsage, "resume: expected the path of a checkpoint, found none",
               [&] { (void)run(options); });
}

TEST_F(Runs, AreRefusedAnothersCheckpoint) {
  LearnOptions options = kept(few_epochs());
  options.epochs = 1;
  (void)run(options);
  const std::vector<std::byte> before = bytes();
  expect_error(ErrorKind::kUsage, "run.ckpt: expected no checkpoint there yet, found one",
               [&] { (void)run(options); });
  options.checkpoint.resume = true;
  const auto expect_refusal = [&](const std::string& text, const LearnOptions& how,
                                  const StudentOptions& student = by_gradient()) {
    expect_error(ErrorKind::kUsage, "run.ckpt: belongs to another run: " + text,
                 [&] { (void)run(how, student); });
  };
  LearnOptions other = options;
  other.optimizer.rate = 0.25;
  expect_refusal("rate was 0.005, is 0.25", other);
  other = options;
  other.optimizer.kind = OptimizerKind::kSgd;
  expect_refusal("optimizer was adam, is sgd", other);
  other = options;
  other.epochs = 2;
  expect_refusal("epochs was 1, is 2", other);
  expect_refusal("levels of weights was gradient", options, {});
  StudentOptions noisy = by_gradient();
  noisy.hardware.settings = "cells";
  noisy.hardware.seen = [](auto&&...) { return std::nullopt; };
  expect_refusal("hardware was none, is cells", options, noisy);
  expect_error(ErrorKind::kUsage, "run.ckpt: belongs to another run: student was", [&] {
    (void)train(teacher_, nullptr, {{teacher_}, data_}, by_gradient(), options);
  });
  EXPECT_EQ(bytes(), before);
}

TEST_F(Runs, AreRefusedABrokenCheckpoint) {
  LearnOptions options = kept(few_epochs());
  options.epochs = 1;
  options.stop_requested = stop_in_step(2);
  (void)run(options);
  options.checkpoint.resume = true;
  const std::vector<std::byte> whole = bytes();
  const auto expect_refusal = [&](const std::string& text, std::span<const std::byte> content) {
    write_file(path("run.ckpt"), content);
    expect_error(ErrorKind::kFormat, "run.ckpt: " + text, [&] { (void)run(options); });
    EXPECT_TRUE(std::ranges::equal(bytes(), content));
  };
  expect_refusal("truncated", std::span(whole).first(whole.size() / 2));
  expect_refusal("expected a checkpoint of a run", {});
  Checkpoint checkpoint = checkpoint_from(whole);
  checkpoint.tensors.pop_back();
  const std::string name = checkpoint_from(whole).tensors.back().name;
  expect_refusal("'" + name.substr(name.find('/') + 1) + "': expected", to_bytes(checkpoint));
  std::filesystem::remove(path("run.ckpt"));
  expect_error(ErrorKind::kIo, "run.ckpt", [&] { (void)run(options); });
}

TEST_F(Runs, KeepTheLastGoodCheckpointWhenNumbersAreNoneAnyMore) {
  LearnOptions options = kept(few_epochs());
  options.checkpoint.minutes = 0;
  options.optimizer.rate = 3e37;
  const auto text = "NaN or infinite in step 2 of epoch 1; a smaller learning rate may help; " +
                    path("run.ckpt") + " keeps the last checkpoint";
  expect_error(ErrorKind::kUnsupported, text, [&] { (void)run(options); });
  const Checkpoint last = checkpoint_from(bytes());
  EXPECT_EQ(last.steps, 0U);
  EXPECT_TRUE(is_finite(last.tensors));
  // The checkpoint is unchanged: a run resumed from it fails at the same step.
  options.checkpoint.resume = true;
  expect_error(ErrorKind::kUnsupported, text, [&] { (void)run(options); });
}

TEST_F(Runs, EndWhenWhatIsHeldOutGetsNoBetterAndGiveTheBest) {
  LearnOptions options = few_epochs();
  options.epochs = 60;
  options.validation_split = 0.25;
  options.patience = 3;
  options.optimizer.schedule.kind = ScheduleKind::kConstant;
  options.optimizer.rate = 0.05;
  const TrainedGraph result = run(options);
  ASSERT_TRUE(result.best.has_value());
  ASSERT_LT(result.epochs.size(), 60U);
  EXPECT_EQ(result.epochs.size(), *result.best + 1 + 3);
  for (const EpochResult& epoch : result.epochs) {
    EXPECT_LE(*epoch.validation_accuracy, *result.epochs[*result.best].validation_accuracy);
  }
  // The result is the student after that epoch.
  LearnOptions until_best = options;
  until_best.patience = 0;
  until_best.epochs = *result.best + 1;
  EXPECT_EQ(content_hash(run(until_best).graph), content_hash(result.graph));
  // A run stopped after its best epoch keeps that epoch's student.
  LearnOptions first = kept(options);
  const std::size_t steps_per_epoch = test::kSamples * 3 / 4 / 64;
  first.stop_requested = stop_in_step((*result.best + 2) * steps_per_epoch + 1);
  EXPECT_TRUE(run(first).interrupted);
  expect_same_run(run(kept(options, true)), result);
}

TEST_F(Runs, AreNotTrainedOnWhatIsHeldOut) {
  LearnOptions options = few_epochs();
  options.validation_split = 0.5;
  options.epochs = 1;
  options.batch = test::kSamples / 2;
  EXPECT_EQ(run(options).epochs.size(), 1U);
  options.batch += 2;
  expect_error(ErrorKind::kUsage, "expected at least the 258 samples of a batch, found 256",
               [&] { (void)run(options); });
  options = few_epochs();
  options.patience = 1;
  expect_error(ErrorKind::kUsage, "patience: expected validation samples",
               [&] { (void)run(options); });
}

TEST_F(Runs, HoldOutTheSameShareWithoutLabels) {
  const data::Dataset unlabelled = compress::random_dataset(test::kSamples, 10, 2);
  LearnOptions options = few_epochs();
  options.validation_split = 0.3;
  options.epochs = 2;
  const TrainedGraph with = run(options);
  const TrainedGraph without =
      train(student_, &teacher_, {{teacher_}, unlabelled}, by_gradient(), options);
  for (std::size_t e = 0; e < 2; ++e) {  // labels equal the teacher's answers
    EXPECT_EQ(with.epochs[e].validation_accuracy, without.epochs[e].validation_accuracy);
  }
  EXPECT_GT(*with.epochs[1].validation_accuracy, 0.5);
}

TEST_F(Runs, TellHowTheyGo) {
  LearnOptions options = few_epochs();
  options.epochs = 2;
  options.validation_split = 0.1;
  std::vector<std::string> said;
  double last = 0;
  options.progress = [&](double fraction, std::string_view activity) {
    EXPECT_GT(fraction, last);
    last = fraction;
    said.emplace_back(activity);
  };
  (void)run(options);
  EXPECT_EQ(last, 1);
  EXPECT_THAT(said.front(),
              testing::MatchesRegex("epoch 1 of 2, loss [0-9.]+, agreement [0-9.]+ %"));
  EXPECT_THAT(said.back(),
              testing::MatchesRegex(
                  "epoch 2 of 2, loss [0-9.]+, agreement [0-9.]+ %, validation [0-9.]+ %"));
}

TEST_F(Runs, RefuseLabelsThatAreNoClass) {
  std::vector<std::int64_t> labels(test::kSamples, 1);
  labels[7] = 4;
  const data::Dataset data = compress::random_dataset(test::kSamples, 10, 2, labels);
  LearnOptions options = few_epochs();
  options.loss.label_weight = 1;
  expect_error(ErrorKind::kFormat, "label of sample 7: expected 0 to 3, found 4", [&] {
    (void)train(teacher_, nullptr, {{}, data}, {}, options);
  });
}

}  // namespace
}  // namespace halftone::train
