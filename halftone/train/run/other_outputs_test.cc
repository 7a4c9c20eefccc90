// SPDX-License-Identifier: Apache-2.0
// Distillation of networks whose outputs are not one class per sample.
#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/train/learn/distillation_loss.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

class OtherOutputs : public WithFolder {};

using compress::random_tensor;
constexpr std::size_t kCount = 256;

/// Images [N, 6, 6, 3] to scores of 4 classes at each pixel, channels first at the end.
ir::Graph segmentation(std::uint64_t seed) {
  Random random(seed);
  ir::Graph graph;
  const ir::Window padded{{1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6, 6, 3}));
  const auto w = graph.add_constant("a.w", random_tensor({8, 3, 3, 3}, random, 0.3F));
  const auto hidden = graph.add_node("a", ir::Conv{padded, 1, {ir::ActivationKind::kTanh}}, {x, w});
  const auto v = graph.add_constant("b.w", random_tensor({4, 3, 3, 8}, random, 0.3F));
  const auto scores = graph.add_node("b", ir::Conv{padded, 1, {}}, {hidden, v});
  graph.add_output(graph.add_node("first", ir::Transpose{{0, 3, 1, 2}}, {scores}));
  return graph;
}

/// Sequences [N, 9, 12] to probabilities of 5 classes at each step.
ir::Graph tagger(std::uint64_t seed) {
  Random random(seed);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 9, 12}));
  const auto hidden = compress::add_layer(graph, "a", x, random_tensor({16, 12}, random, 0.3F),
                                          random, ir::ActivationKind::kTanh);
  const auto scores =
      compress::add_layer(graph, "b", hidden, random_tensor({5, 16}, random, 0.3F), random);
  graph.add_output(graph.add_node("softmax", ir::Softmax{2}, {scores}));
  return graph;
}

LearnOptions one_step_of_all(double rate) {
  LearnOptions options;
  options.batch = kCount;
  options.optimizer.rate = rate;
  options.loss.temperature = 1;
  return options;
}

/// The outputs of a network for all samples.
std::vector<float> outputs_of(const ir::Graph& graph, const data::Dataset& data) {
  ir::Shape shape = graph.value(graph.inputs()[0]).type.shape.with_batch(kCount);
  std::vector<float> x(shape.element_count());
  data.inputs()[0].source->read_floats(0, kCount, x);
  const auto found = ir::test::run_reference(
      graph, ir::test::list(ir::Tensor::from<float>(shape, std::span<const float>(x))));
  return ir::test::elements<float>(found[0]);
}

/// The mean over rows of classes of KL(softmax(t) || softmax(s)), in float64.
double divergence(const std::vector<float>& s, const std::vector<float>& t, std::size_t positions,
                  std::size_t classes) {
  // Element c of position p of sample n is n, c, p: channels first.
  double sum = 0;
  for (std::size_t row = 0; row < kCount * positions; ++row) {
    const std::size_t first = row / positions * positions * classes + row % positions;
    double p_sum = 0;
    double q_sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      p_sum += std::exp(double{t[first + c * positions]});
      q_sum += std::exp(double{s[first + c * positions]});
    }
    for (std::size_t c = 0; c < classes; ++c) {
      const double log_p = double{t[first + c * positions]} - std::log(p_sum);
      const double log_q = double{s[first + c * positions]} - std::log(q_sum);
      sum += std::exp(log_p) * (log_p - log_q);
    }
  }
  return sum / static_cast<double>(kCount * positions);
}

TrainedGraph distilled(const ir::Graph& student, const ir::Graph& teacher,
                       const data::Dataset& data, const LearnOptions& options) {
  StudentOptions plain;
  plain.normalises = false;
  return train(student, nullptr, {{teacher}, data}, plain, options);
}

TEST_F(OtherOutputs, OfSegmentationHaveTheMeanLossOfAllPixels) {
  const data::Dataset data = compress::random_dataset(kCount, 108, 3);
  const ir::Graph teacher = segmentation(1);
  const ir::Graph student = segmentation(2);
  const double wanted = divergence(outputs_of(student, data), outputs_of(teacher, data), 36, 4);
  const TrainedGraph result = distilled(student, teacher, data, one_step_of_all(1e-9));
  EXPECT_NEAR(result.epochs[0].loss, wanted, 1e-4 * wanted);
  EXPECT_LT(result.epochs[0].agreement, 0.6);
  const TrainedGraph same = distilled(teacher, teacher, data, one_step_of_all(1e-9));
  EXPECT_NEAR(same.epochs[0].loss, 0, 1e-5);
  EXPECT_GT(same.epochs[0].agreement, 0.999);
  ASSERT_EQ(same.graph.outputs().size(), 1U);
  EXPECT_EQ(same.graph.value(same.graph.outputs()[0]).type.shape, (ir::Shape{ir::kBatch, 4, 6, 6}));
}

TEST_F(OtherOutputs, AreLearnedOnAnyDevicesAndFromACache) {
  const auto learn = [](const ir::Graph& student, const ir::Graph& teacher, std::size_t elements,
                        const std::string& cache, std::size_t devices) {
    LearnOptions options = one_step_of_all(0.01);
    options.batch = 32;
    options.epochs = 12;
    options.validation_split = 0.125;
    options.teacher_cache = cache;
    options.devices = spmd::Devices::emulate(devices);
    return distilled(student, teacher, compress::random_dataset(kCount, elements, 3), options);
  };
  for (const bool is_image : {true, false}) {
    const ir::Graph teacher = is_image ? segmentation(1) : tagger(1);
    const ir::Graph student = is_image ? segmentation(2) : tagger(2);
    const TrainedGraph one = learn(student, teacher, 108, "", 1);
    EXPECT_LT(one.epochs.back().loss, 0.5 * one.epochs.front().loss);
    EXPECT_GT(one.epochs.back().agreement, one.epochs.front().agreement + 0.1);
    EXPECT_GT(*one.epochs.back().validation_accuracy, one.epochs.front().agreement + 0.1);
    const std::string cache = path(is_image ? "images" : "steps");
    for (const std::size_t devices : {2U, 3U}) {
      const TrainedGraph other = learn(student, teacher, 108, cache, devices);
      EXPECT_EQ(other.epochs.back().loss, one.epochs.back().loss);
      EXPECT_EQ(other.epochs.back().validation_accuracy, one.epochs.back().validation_accuracy);
    }
  }
}

TEST_F(OtherOutputs, OfARegressionHaveTheMeanSquaredError) {
  const data::Dataset data = compress::random_dataset(kCount, 10, 3);
  const ir::Graph teacher = compress::perceptron(10, 20, 4, 1);
  const ir::Graph student = compress::perceptron(10, 20, 4, 2);
  const std::vector<float> s = outputs_of(student, data);
  const std::vector<float> t = outputs_of(teacher, data);
  double error = 0;
  for (std::size_t i = 0; i < s.size(); ++i) error += std::pow(double{s[i]} - double{t[i]}, 2);
  LearnOptions options = one_step_of_all(1e-9);
  options.loss.kind = LossKind::kSquaredError;
  const TrainedGraph start = distilled(student, teacher, data, options);
  EXPECT_NEAR(start.epochs[0].loss, error / static_cast<double>(s.size()), 1e-4);
  options = one_step_of_all(0.01);
  options.loss.kind = LossKind::kSquaredError;
  options.batch = 32;
  options.epochs = 40;
  options.validation_split = 0.125;
  const TrainedGraph result = distilled(student, teacher, data, options);
  EXPECT_LT(result.epochs.back().loss, 0.1 * result.epochs.front().loss);
  EXPECT_GT(result.epochs.back().agreement, 0.9);
  EXPECT_GT(*result.epochs.back().validation_accuracy, 0.8);
  // One score at each position is a number, not a class.
  const TrainedGraph single =
      distilled(compress::perceptron(10, 20, 1, 2), compress::perceptron(10, 20, 1, 1), data,
                one_step_of_all(0.01));
  EXPECT_GT(single.epochs[0].loss, 0.01);
}

TEST_F(OtherOutputs, HaveNoLabels) {
  std::vector<std::int64_t> labels(kCount, 1);
  const data::Dataset data = compress::random_dataset(kCount, 108, 3, labels);
  LearnOptions options = one_step_of_all(0.01);
  options.loss.label_weight = 0.5;
  expect_error(ErrorKind::kUnsupported,
               "labels: expected scores of classes [N, classes], one label for each sample, found "
               "[N, 6, 6, 4]; distill without labels instead",
               [&] { distilled(segmentation(2), segmentation(1), data, options); });
  options.loss.kind = LossKind::kSquaredError;
  expect_error(ErrorKind::kUnsupported, "found [N, 4] of a regression", [&] {
    distilled(compress::perceptron(108, 5, 4, 2), compress::perceptron(108, 5, 4, 1), data,
              options);
  });
  options.loss.label_weight = 0;
  expect_error(ErrorKind::kShape, "teacher 1 has scores [N, 6, 6, 4], the student has [N, 9, 5]",
               [&] { distilled(tagger(2), segmentation(1), data, options); });
}

}  // namespace
}  // namespace halftone::train
