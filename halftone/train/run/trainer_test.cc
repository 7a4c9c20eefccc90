// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/trainer.h"

#include <cmath>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/spmd/testing.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

using test::by_gradient;
using test::expect_same;
using test::few_epochs;
using test::student_network;
using test::taught;
using test::teacher_network;

double accuracy(const ir::Graph& graph, const data::Dataset& data) {
  return compress::evaluate(graph, data, nullptr, {}).value;
}

TEST(Train, GivesAccuracyBackWithoutLabels) {
  const ir::Graph teacher = teacher_network();
  const data::Dataset data = taught(teacher, 2);
  const ir::Graph student = student_network(teacher, data);
  LearnOptions train_options = few_epochs();
  train_options.epochs = 40;
  for (StudentOptions options : {by_gradient(), StudentOptions()}) {
    SCOPED_TRACE(options.weights.rule == LevelRule::kGradient ? "gradient" : "moving average");
    // In a network this small, the moments of a part of a batch are mostly noise.
    options.normalises = false;
    const TrainedGraph result = train(student, &teacher, {{teacher}, data}, options, train_options);
    ASSERT_EQ(result.epochs.size(), 40U);
    EXPECT_LT(result.epochs.back().loss, result.epochs.front().loss);
    EXPECT_EQ(result.graph.outputs().size(), 1U);
    EXPECT_GT(accuracy(result.graph, data), accuracy(student, data) + 0.02);
  }
}

TEST(Train, LearnsLabelsWithoutATeacher) {
  const data::Dataset data = taught(teacher_network(), 2);
  const ir::Graph fresh = compress::perceptron(10, 20, 4, 99);
  LearnOptions options = few_epochs();
  options.loss.label_weight = 1;
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kSgd}) {
    options.optimizer.kind = kind;
    options.optimizer.rate = kind == OptimizerKind::kSgd ? 0.1 : 0.01;
    const TrainedGraph result = train(fresh, nullptr, {{}, data}, {}, options);
    EXPECT_GT(accuracy(result.graph, data), 0.8);
    EXPECT_GT(result.epochs.back().agreement, 0.8);
  }
}

TEST(Train, GivesTheSameBitsForAnyDevicesAndRanks) {
  const ir::Graph teacher = teacher_network();
  const data::Dataset data = taught(teacher, 2);
  const ir::Graph student = student_network(teacher, data);
  const auto train_on = [&](const spmd::Devices& devices) {
    LearnOptions options = few_epochs();
    options.epochs = 1;
    options.parts = 4;
    options.devices = devices;
    return train(student, &teacher, {{teacher}, data}, {}, options).graph;
  };
  const ir::Graph one = train_on(spmd::Devices::emulate(1));
  for (const std::size_t count : {2u, 3u, 8u})
    expect_same(train_on(spmd::Devices::emulate(count)), one);
  for (const ir::Graph& found : spmd::LocalRanks(2).run(
           [&](const auto& ranks) { return train_on(spmd::Devices::over(ranks, 1)); })) {
    expect_same(found, one);
  }
}

TEST(Train, RoundsGradientsToTheSameBitsForAnyDevicesAndRanks) {
  const ir::Graph teacher = teacher_network();
  const data::Dataset data = taught(teacher, 2);
  const auto train_on = [&](const spmd::Devices& devices, std::uint64_t seed) {
    StudentOptions few;
    few.precision.weights = few.precision.activations = numerics::parse_number_format("bf16");
    few.precision.gradients = numerics::parse_number_format("int4");
    LearnOptions options = few_epochs();
    options.epochs = 1;
    options.parts = 4;
    options.seed = seed;
    options.devices = devices;
    return train(compress::perceptron(10, 20, 4, 99), nullptr, {{teacher}, data}, few, options)
        .graph;
  };
  const ir::Graph one = train_on(spmd::Devices::emulate(1), 0);
  for (const std::size_t count : {2u, 4u})
    expect_same(train_on(spmd::Devices::emulate(count), 0), one);
  for (const ir::Graph& found : spmd::LocalRanks(2).run(
           [&](const auto& ranks) { return train_on(spmd::Devices::over(ranks, 1), 0); })) {
    expect_same(found, one);
  }
}

TEST(Train, LearnsWithGradientsOfFewBits) {
  const data::Dataset data = taught(teacher_network(), 2);
  const ir::Graph fresh = compress::perceptron(10, 20, 4, 99);
  LearnOptions options = few_epochs();
  options.loss.label_weight = 1;
  options.optimizer.rate = 0.01;
  options.loss_scale = 1024;
  const auto accuracy_with = [&](const char* gradients) {
    StudentOptions few;
    few.precision.gradients = numerics::parse_number_format(gradients);
    return accuracy(train(fresh, nullptr, {{}, data}, few, options).graph, data);
  };
  EXPECT_GT(accuracy_with("e5m2"), 0.8);
  EXPECT_GT(accuracy_with("int4"), 0.8);
}

TEST(Train, ScalesTheLossWithoutATrace) {
  const data::Dataset data = taught(teacher_network(), 2);
  const ir::Graph fresh = compress::perceptron(10, 20, 4, 99);
  LearnOptions options = few_epochs();
  options.epochs = 1;
  options.loss.label_weight = 1;
  const auto trained = [&](double scale, const char* gradients) {
    StudentOptions few;
    few.normalises = false;  // which would rescale small gradients
    few.precision.gradients = numerics::parse_number_format(gradients);
    few.precision.gradient_rounding = GradientRounding::kNearest;
    options.loss_scale = scale;
    return train(fresh, nullptr, {{}, data}, few, options).graph;
  };
  expect_same(trained(4096, "fp32"), trained(1, "fp32"));
  // All gradients are below half of the smallest binary16, 2^-25: the network is unchanged.
  expect_same(trained(0x1p-30, "fp16"), fresh);
  EXPECT_GT(accuracy(trained(256, "fp16"), data), accuracy(fresh, data));
}

TEST(Train, FreezesLayersInTurn) {
  const ir::Graph teacher = teacher_network();
  const data::Dataset data = taught(teacher, 2);
  const auto trained = [&](double freeze_from) {
    LearnOptions options = few_epochs();
    options.epochs = 4;
    options.freeze_from = freeze_from;
    return train(student_network(teacher, data), &teacher, {{teacher}, data}, by_gradient(),
                 options);
  };
  const TrainedGraph frozen = trained(0.25);
  EXPECT_LT(frozen.epochs.back().loss, frozen.epochs.front().loss);
  // Until then the runs are equal.
  const TrainedGraph free = trained(1);
  EXPECT_EQ(frozen.epochs[0].loss, free.epochs[0].loss);
  EXPECT_NE(frozen.epochs[3].loss, free.epochs[3].loss);
}

/// Images of 4 x 5, for a network that takes them flat.
data::Dataset flat_images(std::size_t samples) {
  Random random(3);
  std::vector<float> x(samples * 20);
  for (float& value : x) value = static_cast<float>(random.normal());
  const auto array = data::make_npy(std::span<const float>(x), {samples, 4, 5});
  return data::dataset_from_npy("images", own_bytes(data::npy_bytes(array)), {}, {});
}

TEST(Train, MovesImagesThatANetworkTakesFlat) {
  const ir::Graph teacher = compress::perceptron(20, 8, 3, 1);
  const data::Dataset images = flat_images(128);
  LearnOptions options = few_epochs();
  options.epochs = 1;
  // One step: the loss is that of an exact copy. Adam would turn rounding noise into whole steps.
  LearnOptions one_step = options;
  one_step.batch = 128;
  const double still =
      train(teacher, nullptr, {{teacher}, images}, {.normalises = false}, one_step).epochs[0].loss;
  // T^2 sum_c p_c (log p_c - log q_c): in each of the 3 terms some 4 roundings of logarithms, which
  // are at most 16 / T + log 3, since 8 hidden units within [-1, 1] make scores within +-8.
  const double temperature = one_step.loss.temperature;
  const double bound =
      temperature * temperature * 3 * 4 * 0x1p-24 * (16 / temperature + std::log(3.0));
  EXPECT_NEAR(still, 0, bound);
  options.augment = {.flip = true, .padding = 2};
  const ir::Graph fresh = compress::perceptron(20, 8, 3, 99);
  const auto loss_of = [&](const LearnOptions& how) {
    return train(fresh, nullptr, {{teacher}, images}, {}, how).epochs[0].loss;
  };
  const double moved = loss_of(options);
  EXPECT_EQ(moved, loss_of(options));
  options.augment = {};
  EXPECT_NE(moved, loss_of(options));
}

TEST(Train, RefusesWhatCannotBeTrained) {
  const ir::Graph teacher = teacher_network();
  const data::Dataset unlabelled = compress::random_dataset(64, 10, 1);
  const auto expect_refusal = [&](ErrorKind kind, const std::string& text,
                                  const LearnOptions& options,
                                  const std::vector<ir::Graph>& taught_by) {
    expect_error(kind, text, [&] {
      train(teacher, nullptr, {taught_by, unlabelled}, {}, options);
    });
  };
  LearnOptions options = few_epochs();
  expect_refusal(ErrorKind::kUsage, "needs a teacher", options, {});
  options.loss.label_weight = 0.5;
  expect_refusal(ErrorKind::kUsage, "has no labels", options, {teacher});
  options.loss.label_weight = 1.5;
  expect_refusal(ErrorKind::kUsage, "label weight: expected 0 to 1", options, {teacher});
  options = few_epochs();
  options.loss.temperature = 0;
  expect_refusal(ErrorKind::kUsage, "temperature: expected", options, {teacher});
  options = few_epochs();
  options.batch = 128;
  expect_refusal(ErrorKind::kUsage, "expected at least the 128 samples", options, {teacher});
  options.batch = 65;
  expect_refusal(ErrorKind::kUsage, "expected a multiple of the 2 parts", options, {teacher});
  const ir::Graph other = compress::perceptron(10, 5, 3, 1);
  expect_refusal(ErrorKind::kShape, "has scores [N, 3], the student has [N, 4]", few_epochs(),
                 {other});
  for (const double scale : {0.0, -2.0, 3.0, 0x1p65, 0x1p-65, std::nan("")}) {
    options = few_epochs();
    options.loss_scale = scale;
    expect_refusal(ErrorKind::kUsage, "loss scale: expected a power of two from 2^-64 to 2^64",
                   options, {teacher});
  }
  options = few_epochs();
  options.freeze_from = -0.5;
  expect_refusal(ErrorKind::kUsage, "freezing: expected a share of the steps", options, {teacher});
  options = few_epochs();
  options.augment.flip = true;
  expect_refusal(ErrorKind::kUsage, "augmentation: expected images", options, {teacher});
  options = few_epochs();
  options.optimizer.rate = 3e37;
  expect_refusal(ErrorKind::kUnsupported, "NaN or infinite", options, {teacher});
}

}  // namespace
}  // namespace halftone::train
