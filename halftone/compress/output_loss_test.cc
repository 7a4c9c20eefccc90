// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/output_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"

namespace halftone::compress {
namespace {

/// A network that returns its input, or the probabilities of it.
ir::Graph scores_of(ir::Dim classes, bool softmax) {
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, classes}));
  graph.add_output(softmax ? graph.add_node("p", ir::Softmax{1}, {x})
                           : graph.add_node("y", ir::Unary{}, {x}));
  return graph;
}

std::vector<double> softmax_of(std::span<const float> logits) {
  std::vector<double> p;
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  for (const float x : logits) p.push_back(std::exp(static_cast<double>(x)) / sum);
  return p;
}

TEST(OutputLoss, IsTheDivergenceOfProbabilitiesOrLogits) {
  const data::Dataset data = random_dataset(2, 3, 1, {2, 0});
  const std::vector<float> reference = {1, 2, -1};
  const std::vector<float> found = {1.5F, 0.5F, 0};
  const auto p = softmax_of(reference);
  const auto q = softmax_of(found);
  double expected = 0;
  for (std::size_t c = 0; c < 3; ++c) expected += p[c] * std::log(p[c] / q[c]);
  const OutputLoss logits(scores_of(3, false), data, LossKind::kDivergence, 3);
  EXPECT_NEAR(logits.of(0, reference, found).loss, expected, 1e-12);
  EXPECT_EQ(logits.of(0, reference, found).weight, 1);
  EXPECT_EQ(logits.of(0, found, found).loss, 0);
  const OutputLoss rows(scores_of(3, true), data, LossKind::kDivergence, 3);
  const std::vector<float> p32(p.begin(), p.end());
  const std::vector<float> q32(q.begin(), q.end());
  // Each probability is rounded once: relative 2^-24, which moves a logarithm by as much.
  EXPECT_NEAR(rows.of(0, p32, q32).loss, expected, 4 * std::ldexp(1, -24) * (1 + expected));
  const std::vector<float> sure = {0, 1, 0};
  EXPECT_LT(rows.of(0, p32, sure).loss, 88) << "a probability of zero is not infinitely wrong";
}

TEST(OutputLoss, IsTheCrossEntropyAboveTheReferences) {
  const data::Dataset data = random_dataset(2, 3, 1, {2, 0});
  const std::vector<float> reference = {1, 2, -1};
  const std::vector<float> found = {1.5F, 0.5F, 0};
  const OutputLoss loss(scores_of(3, false), data, LossKind::kLabels, 3);
  const double expected = std::log(softmax_of(reference)[2] / softmax_of(found)[2]);
  EXPECT_NEAR(loss.of(0, reference, found).loss, expected, 1e-12);
  EXPECT_LT(loss.of(0, reference, found).loss, 0) << "the other network may be better";
  const data::Dataset bad = random_dataset(1, 3, 1, {3});
  const OutputLoss wrong(scores_of(3, false), bad, LossKind::kLabels, 3);
  expect_error(ErrorKind::kFormat, "label of sample 0: expected 0 to 2, found 3",
               [&] { return wrong.of(0, reference, found).loss; });
}

TEST(OutputLoss, IsTheRelativeSquaredError) {
  const data::Dataset data = random_dataset(2, 3, 1);
  const OutputLoss loss(scores_of(3, false), data, LossKind::kError, 3);
  const LossSum sum = loss.of(0, std::vector<float>{1, 2, -1}, std::vector<float>{2, 2, 1});
  EXPECT_EQ(sum.loss, 5);
  EXPECT_EQ(sum.weight, 6);
}

TEST(OutputLoss, IsByDefaultTheDivergenceOfAClassifier) {
  const data::Dataset labelled = random_dataset(2, 3, 1, {2, 0});
  const data::Dataset plain = random_dataset(2, 3, 1);
  EXPECT_EQ(default_loss(scores_of(3, false), labelled), LossKind::kDivergence);
  EXPECT_EQ(default_loss(scores_of(3, false), plain), LossKind::kError);
  EXPECT_EQ(default_loss(scores_of(3, true), plain), LossKind::kDivergence);
  EXPECT_EQ(default_loss(scores_of(1, false), labelled), LossKind::kError);
}

TEST(OutputLoss, CountsRoundedProbabilitiesFromHalfAStep) {
  const data::Dataset data = random_dataset(1, 3, 1);
  constexpr float kStep = 1.0F / 256;
  ir::Graph graph = scores_of(3, true);
  const auto codes = graph.add_node(
      "codes", ir::QuantizeLinear{{{kStep}, {-128}}, ir::ElementType::kInt8}, {graph.outputs()[0]});
  const auto scores = graph.add_node("scores", ir::DequantizeLinear{{{kStep}, {-128}}}, {codes});
  graph.set_outputs({scores});
  EXPECT_EQ(default_loss(graph, data), LossKind::kDivergence);
  const OutputLoss loss(graph, data, LossKind::kDivergence, 3);
  const std::vector<float> reference = {0.5F, 0.5F - kStep, kStep};
  const std::vector<float> found = {0.5F, 0.5F, 0};
  const double p = reference[1];
  // The logarithms of elementary.h are rounded, relative 2^-52, and so are the products.
  EXPECT_NEAR(loss.of(0, reference, found).loss, p * std::log(p / 0.5) + kStep * std::log(2.0),
              1e-14);
}

TEST(OutputLoss, AllowsTheRoundingOfTheOtherNetwork) {
  const data::Dataset data = random_dataset(1, 3, 1);
  constexpr float kStep = 1.0F / 256;
  const ir::Graph graph = scores_of(3, true);
  OutputLoss loss(graph, data, LossKind::kDivergence, 3);
  loss.allow_rounding_of(graph);
  const std::vector<float> reference = {0.75F, 0.25F - kStep / 4, kStep / 4};
  const std::vector<float> found = {0.75F, 0.25F, 0};
  EXPECT_GT(loss.of(0, reference, found).loss, 0.05) << "the logarithm of nearly nothing";
  ir::Graph rounded = scores_of(3, true);
  const auto codes =
      rounded.add_node("codes", ir::QuantizeLinear{{{kStep}, {-128}}, ir::ElementType::kInt8},
                       {rounded.outputs()[0]});
  rounded.set_outputs(
      {rounded.add_node("scores", ir::DequantizeLinear{{{kStep}, {-128}}}, {codes})});
  loss.allow_rounding_of(rounded);
  const double p = reference[1];
  // Both probabilities of the last class count as half a step. The logarithms of elementary.h are
  // rounded, relative 2^-52, and so are the products.
  EXPECT_NEAR(loss.of(0, reference, found).loss, p * std::log(p / 0.25), 1e-14);
}

TEST(OutputLoss, RejectsWhatHasNoClassesOrLabels) {
  const data::Dataset plain = random_dataset(2, 3, 1);
  expect_error(ErrorKind::kUsage, "loss labels: expected data with labels",
               [&] { OutputLoss(scores_of(3, false), plain, LossKind::kLabels, 3); });
  expect_error(ErrorKind::kShape, "expected scores of two classes or more",
               [&] { OutputLoss(scores_of(1, false), plain, LossKind::kDivergence, 1); });
  expect_error(ErrorKind::kUsage, "expected kl, error or labels, found 'l2'",
               [] { loss_named("l2"); });
  for (const LossKind kind : {LossKind::kDivergence, LossKind::kError, LossKind::kLabels}) {
    EXPECT_EQ(loss_named(to_string(kind)), kind);
  }
}

/// The loss that small changes cause, and what the mean square of drawn gradients says.
TEST(OutputLoss, DrawsGradientsWhoseSquaresMeasureSmallChanges) {
  const data::Dataset data = random_dataset(2, 3, 1);
  const std::vector<float> reference = {0.5F, 1, -1};
  for (const LossKind kind : {LossKind::kDivergence, LossKind::kError}) {
    const OutputLoss loss(scores_of(3, false), data, kind, 3);
    const std::vector<float> change = {0.01F, -0.02F, 0.005F};
    std::vector<float> moved = reference;
    for (std::size_t i = 0; i < 3; ++i) moved[i] += change[i];
    Random random(1);
    constexpr int kDraws = 20000;
    double mean = 0;
    std::vector<float> gradient(3);
    for (int draw = 0; draw < kDraws; ++draw) {
      loss.draw_gradient(reference, random, gradient);
      double product = 0;
      for (std::size_t i = 0; i < 3; ++i) product += gradient[i] * change[i];
      mean += product * product / kDraws;
    }
    // Squares of sums of random signs deviate by at most sqrt(2) of their mean: 5 standard errors
    // are 5 %. The terms of third order are below 2 %, the largest relative change.
    EXPECT_NEAR(loss.curvature() * mean / loss.of(0, reference, moved).loss, 1, 0.07)
        << to_string(kind);
  }
}

}  // namespace
}  // namespace halftone::compress
