// SPDX-License-Identifier: Apache-2.0
// The C++ API: training and distilling.
#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kFolder;
using outside::kModel;

/// Distills the small layer alone in two bits, whose fit takes little time.
DistillOptions one_epoch() {
  DistillOptions options;
  options.recipe.emplace();
  options.recipe->layers = {{"dense1", {.skip = true}}};
  options.recipe->defaults.weight_bits = options.recipe->defaults.activation_bits = 2;
  options.train.batch = 64;
  return options;
}

TEST(Train, LearnsFromLabels) {
  TrainOptions options;
  options.batch = 64;
  options.epochs = 2;
  options.validation_split = 0.25;
  std::size_t calls = 0;
  options.on_epoch = [&](const std::vector<EpochResult>& epochs) { calls = epochs.size(); };
  const Data samples = Data::open(kFolder, {.limit = 512});
  const TrainResult result = train(load(kModel), samples, options);
  EXPECT_EQ(calls, 2U);
  ASSERT_EQ(result.epochs.size(), 2U);
  EXPECT_LT(result.epochs[1].loss, result.epochs[0].loss);
  EXPECT_TRUE(result.best.has_value());
  EXPECT_FALSE(result.interrupted);
  ASSERT_TRUE(result.model.has_value());
  // Ten classes: chance answers a tenth of the samples.
  EXPECT_GT(evaluate(*result.model, samples).value, 0.5);
}

TEST(Distill, GivesTheSameNetworkForAnyNumberOfThreads) {
  const Model teacher = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 128});
  DistillOptions options = one_epoch();
  options.stages = {{.bits = 4, .epochs = 1}};
  options.train.resources.threads = 1;
  const TrainResult one = distill({teacher}, samples, options);
  ASSERT_TRUE(one.model.has_value());
  EXPECT_EQ(one.model->layers()[1].weight_bits, 2);
  options.train.resources.threads = 3;
  const TrainResult three = distill({teacher}, samples, options);
  EXPECT_TRUE(three.model->to_bytes("circle") == one.model->to_bytes("circle"));
}

class CppDistill : public outside::WithFolder {};

TEST_F(CppDistill, IsInterruptedAndResumed) {
  const Model teacher = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 256});
  const auto file = distill({teacher}, samples, one_epoch()).model->to_bytes("circle");

  DistillOptions options = one_epoch();
  options.train.checkpoint = path("run");
  options.train.checkpoint_minutes = 0;
  bool learns = false;
  options.train.progress = [&](double, std::string_view activity) {
    learns = activity.find("epoch") != std::string_view::npos;
    return !learns;
  };
  const TrainResult stopped = distill({teacher}, samples, options);
  EXPECT_TRUE(learns);
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_FALSE(stopped.model.has_value());
  options.train.progress = nullptr;
  options.train.resume = true;
  EXPECT_EQ(distill({teacher}, samples, options).model->to_bytes("circle"), file);
}

TEST(Distill, AveragesTeachersForAStudentOfItsOwn) {
  const Model teacher = load(kModel);
  DistillOptions options = one_epoch();
  options.student = load(kModel);
  options.fresh = true;
  options.train.epochs = 2;
  const TrainResult result =
      distill({teacher, teacher}, Data::open(kFolder, {.limit = 256}), options);
  ASSERT_EQ(result.epochs.size(), 2U);
  EXPECT_GT(result.epochs[1].agreement, result.epochs[0].agreement);
}

TEST(Distill, LearnsWithTheCellsOfCrossbars) {
  const Model teacher = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 128});
  DistillOptions options = one_epoch();
  options.crossbar = "pcm";
  options.crossbar_seconds = 1e6;
  const TrainResult old = distill({teacher}, samples, options);
  options.crossbar_seconds = 20;
  EXPECT_NE(distill({teacher}, samples, options).epochs[0].loss, old.epochs[0].loss);
  options.crossbar = "no-device";
  expect_error(ErrorKind::kIo, "no-device", [&] { (void)distill({teacher}, samples, options); });
}

TEST(Distill, ChecksItsOptions) {
  const Model teacher = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 128});
  const auto expect = [&](const std::string& text, const DistillOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { (void)distill({teacher}, samples, options); });
  };
  expect_error(ErrorKind::kUsage, "expected a teacher, found none",
               [&] { (void)distill({}, samples, one_epoch()); });
  DistillOptions options = one_epoch();
  options.train.optimizer = "newton";
  expect("optimizer: expected one of adam, sgd, found 'newton'", options);
  options = one_epoch();
  options.train.learning_rate = -1;
  expect("learning rate: expected a number above 0", options);
  options = one_epoch();
  options.train.epochs = 0;
  expect("epochs: expected at least 1, found 0", options);
  options = one_epoch();
  options.temperature = 0;
  expect("temperature", options);
  options = one_epoch();
  options.recipe.reset();
  options.stages = {{.bits = 4, .epochs = 1}};
  expect("stages", options);
  options = one_epoch();
  options.features = {{.teacher = "nothing", .student = "nothing"}};
  expect("nothing", options);
}

}  // namespace
