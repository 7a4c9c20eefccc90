// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"

namespace halftone::compress {
namespace {

/// A network whose class is the index of its largest input.
ir::Graph identity(ir::Dim classes) {
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, classes}));
  graph.add_output(graph.add_node("y", ir::Unary{}, {x}));
  return graph;
}

/// One-hot rows: sample i is class classes_of[i].
data::Dataset one_hot(const std::vector<std::size_t>& classes_of, std::size_t classes,
                      const std::vector<std::int64_t>& labels) {
  std::vector<float> x(classes_of.size() * classes);
  for (std::size_t i = 0; i < classes_of.size(); ++i) x[i * classes + classes_of[i]] = 1;
  std::optional<SharedBytes> y;
  if (!labels.empty()) {
    y = own_bytes(
        data::npy_bytes(data::make_npy(std::span<const std::int64_t>(labels), {labels.size()})));
  }
  const auto array = data::make_npy(std::span<const float>(x), {classes_of.size(), classes});
  return data::dataset_from_npy("one-hot", own_bytes(data::npy_bytes(array)), y, {});
}

TEST(Evaluate, CountsRightAnswers) {
  const data::Dataset data = one_hot({0, 1, 2, 2}, 3, {0, 1, 2, 0});
  const Evaluation evaluation = evaluate(identity(3), data);
  EXPECT_EQ(evaluation.metric, "accuracy");
  EXPECT_EQ(evaluation.value, 0.75);
  EXPECT_EQ(evaluation.samples, 4u);
  EXPECT_FALSE(evaluation.reference);
}

TEST(Evaluate, ComparesWithAReference) {
  const data::Dataset data = one_hot({0, 1, 2, 2}, 3, {0, 1, 2, 0});
  const ir::Graph graph = identity(3);
  const Evaluation same = evaluate(graph, data, &graph);
  ASSERT_TRUE(same.reference);
  EXPECT_EQ(same.reference->value, 0.75);
  EXPECT_EQ(same.reference->agreement, 1);
  EXPECT_TRUE(std::isinf(same.reference->sqnr_db));

  ir::Graph negated;
  const auto x =
      negated.add_input("other", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  negated.add_output(negated.add_node("y", ir::Unary{{ir::ActivationKind::kNeg, 0, 0}}, {x}));
  const Evaluation opposite = evaluate(negated, data, &graph);
  EXPECT_EQ(opposite.reference->agreement, 0);
  EXPECT_NEAR(opposite.reference->sqnr_db, -6.02, 0.01) << "noise of twice the signal";
}

TEST(Evaluate, NeedsNoLabelsWithAReference) {
  const data::Dataset data = one_hot({0, 1, 2}, 3, {});
  const ir::Graph graph = identity(3);
  const Evaluation evaluation = evaluate(graph, data, &graph);
  EXPECT_EQ(evaluation.metric, "agreement");
  EXPECT_EQ(evaluation.value, 1);
  EXPECT_FALSE(evaluation.reference->value);
  expect_error(ErrorKind::kUsage, "has no labels", [&] { evaluate(graph, data); });
}

TEST(Evaluate, ShowsTheScoresOfEverySample) {
  const data::Dataset data = one_hot({0, 1, 2, 2}, 3, {0, 1, 2, 0});
  const ir::Graph graph = identity(3);
  std::vector<std::int64_t> predicted(4, -1);
  std::vector<std::size_t> reference_scores(4);
  EvaluateSettings options;
  options.visit = [&](std::size_t sample, std::span<const float> scores,
                      std::span<const float> reference) {
    predicted[sample] = predicted_class(scores);
    reference_scores[sample] = reference.size();
  };
  evaluate(graph, data, nullptr, options);
  EXPECT_EQ(predicted, (std::vector<std::int64_t>{0, 1, 2, 2}));
  EXPECT_EQ(reference_scores, (std::vector<std::size_t>{0, 0, 0, 0}));
  evaluate(graph, data, &graph, options);
  EXPECT_EQ(reference_scores, (std::vector<std::size_t>{3, 3, 3, 3}));
}

TEST(Evaluate, ComparesASingleScoreWithOneHalf) {
  const std::vector<float> x = {0.2F, 0.8F, 0.5F};
  const std::vector<std::int64_t> labels = {0, 1, 1};
  const data::Dataset data = data::dataset_from_npy(
      "scores", own_bytes(data::npy_bytes(data::make_npy(std::span<const float>(x), {3, 1}))),
      own_bytes(data::npy_bytes(data::make_npy(std::span<const std::int64_t>(labels), {3}))), {});
  EXPECT_NEAR(evaluate(identity(1), data).value, 2.0 / 3, 1e-12);
}

TEST(Evaluate, RefusesLabelsThatAreNoClass) {
  const data::Dataset data = one_hot({0, 1}, 3, {0, 3});
  expect_error(ErrorKind::kFormat, "label of sample 1: expected 0 to 2, found 3",
               [&] { evaluate(identity(3), data); });
  const data::Dataset negative = one_hot({0, 1}, 3, {-1, 1});
  expect_error(ErrorKind::kFormat, "label of sample 0", [&] { evaluate(identity(3), negative); });
}

TEST(Evaluate, RefusesAReferenceWithOtherOutputs) {
  const data::Dataset data = one_hot({0, 1}, 3, {0, 1});
  Random random(1);
  ir::Graph other;
  const auto x = other.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  other.add_output(add_layer(other, "l", x, random_tensor({4, 3}, random), random));
  expect_error(ErrorKind::kShape, "reference: expected 3 scores per sample, found 4",
               [&] { evaluate(identity(3), data, &other); });
}

TEST(Evaluate, NamesTheNetworkThatTheSamplesDoNotFit) {
  const data::Dataset data = one_hot({0, 1}, 3, {0, 1});
  const EvaluateSettings options{64, {}, "net.onnx", "ref.onnx"};
  const ir::Graph wide = perceptron(4, 8, 3, 1);
  const ir::Graph fits = perceptron(3, 8, 3, 1);
  const std::string rest = ": network input 'x': samples of shape [3] do not fit";
  expect_error(ErrorKind::kShape, "net.onnx: " + data.name() + rest,
               [&] { evaluate(wide, data, &fits, options); });
  expect_error(ErrorKind::kShape, "ref.onnx: " + data.name() + rest,
               [&] { evaluate(fits, data, &wide, options); });
  const ir::Graph many = perceptron(3, 8, 5, 1);
  expect_error(ErrorKind::kShape, "ref.onnx: expected 3 scores per sample, found 5",
               [&] { evaluate(fits, data, &many, options); });
}

TEST(Evaluate, GivesTheSameFiguresForAnyNumberOfThreadsAndBatch) {
  const ir::Graph graph = perceptron(20, 16, 4, 1);
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 333; ++i) labels.push_back(i % 4);
  const data::Dataset data = random_dataset(333, 20, 3, labels);
  set_num_threads(1);
  const Evaluation one = evaluate(graph, data, &reference);
  set_num_threads(4);
  const Evaluation four = evaluate(graph, data, &reference);
  set_num_threads(0);
  EXPECT_EQ(one.value, four.value);
  EXPECT_EQ(one.reference->agreement, four.reference->agreement);
  EXPECT_EQ(one.reference->sqnr_db, four.reference->sqnr_db);
}

}  // namespace
}  // namespace halftone::compress
