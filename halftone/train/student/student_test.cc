// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/student.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <cmath>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone::train {
namespace {

constexpr std::size_t kStudentSamples = 40;

compress::Recipe recipe_with(int bits, numerics::Granularity granularity) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = bits;
  recipe.defaults.activation_bits = bits;
  recipe.defaults.granularity = granularity;
  if (granularity == numerics::Granularity::kGroup) recipe.defaults.group_size = 4;
  return recipe;
}

ir::Graph quantized(const ir::Graph& graph, const compress::Recipe& recipe) {
  return compress::quantize(graph, compress::random_dataset(64, 8, 2), recipe, {}).graph;
}

ir::Tensor inputs() {
  Random random(7);
  return ir::test::random_tensor({kStudentSamples, 8}, random);
}

at::Tensor as_torch(const ir::Tensor& x) {
  return at::from_blob(const_cast<float*>(x.as<float>().data()),
                       {static_cast<std::int64_t>(x.shape()[0]), x.shape()[1]},
                       at::TensorOptions(at::kFloat))
      .clone();
}

std::vector<float> by_definition(const ir::Graph& graph, const ir::Tensor& x) {
  const std::vector<ir::Tensor> outputs =
      ir::test::run_reference(graph, ir::test::list(x.cast(ir::ElementType::kFloat32)));
  const auto numbers = outputs[0].as<float>();
  return {numbers.begin(), numbers.end()};
}

std::vector<float> by_student(const Student& student, const ir::Tensor& x) {
  const std::vector<at::Tensor> in{as_torch(x)};
  const at::Tensor y = student.forward(in, PassKind::kApply).outputs[0].detach().contiguous();
  return {y.data_ptr<float>(), y.data_ptr<float>() + y.numel()};
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-3F) << i;
}

/// Values next to a threshold may get another code if rounding errors differ.
void expect_mostly_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  std::size_t num_near = 0;
  for (std::size_t i = 0; i < a.size(); ++i) num_near += std::abs(a[i] - b[i]) < 4e-3F ? 1U : 0U;
  EXPECT_GE(num_near, a.size() * 9 / 10);
}

TEST(Student, StartsAsItsGraphIs) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  for (const auto granularity : {numerics::Granularity::kTensor, numerics::Granularity::kChannel,
                                 numerics::Granularity::kGroup}) {
    const ir::Graph few = quantized(graph, recipe_with(2, granularity));
    const Student student(few, &graph);
    expect_near(by_student(student, inputs()), by_definition(few, inputs()));
    expect_near(by_definition(student.graph(), inputs()), by_definition(few, inputs()));
  }
}

TEST(Student, OfAFloatNetworkIsThatNetwork) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  const Student student(graph, nullptr, {.normalises = false});
  EXPECT_EQ(student.parameters().size(), 4U);
  EXPECT_EQ(student.num_activation_quantizers(), 0U);
  expect_near(by_student(student, inputs()), by_definition(graph, inputs()));
}

TEST(Student, WritesWhatItHasLearned) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  for (const LevelRule rule : {LevelRule::kMovingAverage, LevelRule::kGradient}) {
    StudentOptions options;
    options.weights.rule = options.activations.rule = rule;
    const ir::Graph few = quantized(graph, recipe_with(2, numerics::Granularity::kChannel));
    Student student(few, &graph, options);
    const std::vector<at::Tensor> in{as_torch(inputs())};
    for (int step = 0; step < 5; ++step) {
      const Student::Pass pass = student.forward(in, PassKind::kLearn);
      const auto slopes =
          torch::autograd::grad({pass.outputs[0].square().sum()}, student.parameters());
      for (std::size_t i = 0; i < slopes.size(); ++i) {
        student.parameters()[i].data().sub_(0.002 * slopes[i]);
      }
      student.update(pass.statistics);
    }
    const std::vector<float> moved = by_student(student, inputs());
    expect_near(by_definition(student.graph(), inputs()), moved);
    double change = 0;
    const std::vector<float> before = by_definition(few, inputs());
    for (std::size_t i = 0; i < moved.size(); ++i) change += std::abs(moved[i] - before[i]);
    EXPECT_GT(change, 0.1);
  }
}

/// Two steps with a gain that changes sign; the second one has large moments.
void learn(Student& student, const std::vector<at::Tensor>& in) {
  student.start(student.forward(in, PassKind::kMeasure).statistics);
  for (int step = 0; step < 2; ++step) {
    const Student::Pass pass = student.forward(in, PassKind::kLearn);
    const auto slopes =
        torch::autograd::grad({pass.outputs[0].square().sum()}, student.parameters(), {},
                              c10::nullopt, false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      if (slopes[i].defined()) student.parameters()[i].data().sub_(0.01 * slopes[i]);
    }
    student.update(pass.statistics);
  }
}

TEST(Student, FoldsNormalisationIntoWeightsAndBias) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  const std::vector<at::Tensor> in{as_torch(inputs())};
  std::vector<ir::Graph> networks{graph};
  for (const auto granularity : {numerics::Granularity::kChannel, numerics::Granularity::kGroup}) {
    networks.push_back(quantized(graph, recipe_with(2, granularity)));
  }
  for (const ir::Graph& network : networks) {
    Student student(network, &graph);
    Student plain(network, &graph, {.normalises = false});
    // Additional gain and shift of the hidden layer.
    ASSERT_EQ(student.parameters().size(), plain.parameters().size() + 2);
    student.start(student.forward(in, PassKind::kMeasure).statistics);
    expect_mostly_near(by_student(student, inputs()), by_student(plain, inputs()));
    learn(student, in);
    student.parameters()[student.parameters().size() - 2].data()[0].mul_(-1);
    const std::vector<float> moved = by_student(student, inputs());
    expect_mostly_near(by_definition(student.graph(), inputs()), moved);
    double change = 0;
    const std::vector<float> before = by_definition(network, inputs());
    for (std::size_t i = 0; i < moved.size(); ++i) change += std::abs(moved[i] - before[i]);
    EXPECT_GT(change, 0.1);
  }
}

TEST(Student, DoesNotNormaliseWhatCannotTakeFactors) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  const Student student(quantized(graph, recipe_with(2, numerics::Granularity::kTensor)), &graph);
  EXPECT_EQ(student.parameters().size(), 4U);
}

TEST(Student, KeepsEvenlySpacedLevels) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  compress::Recipe recipe = recipe_with(2, numerics::Granularity::kChannel);
  recipe.defaults.weight_system = recipe.defaults.activation_system =
      &numerics::find_system("affine");
  StudentOptions options;
  options.weights.rule = options.activations.rule = LevelRule::kGradient;
  Student student(quantized(graph, recipe), &graph, options);
  learn(student, {as_torch(inputs())});
  const ir::Graph learned = student.graph();
  std::size_t num_blocks = 0;
  for (std::size_t i = 0; i < learned.num_values(); ++i) {
    const ir::Constant* constant = learned.constant(static_cast<ir::ValueId>(i));
    const auto* encoded = constant == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(constant);
    if (encoded == nullptr) continue;
    ASSERT_NE(encoded->encoding->codebook, nullptr);
    EXPECT_TRUE(encoded->encoding->codebook->is_even());
    num_blocks += encoded->encoding->num_blocks();
  }
  EXPECT_EQ(num_blocks, 15U);
}

std::vector<at::Tensor> copies(const Student& student) {
  std::vector<at::Tensor> result;
  for (const NamedTensor& each : student.state()) result.push_back(each.tensor.clone());
  return result;
}

TEST(Student, FreezesTheFirstLayers) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  const ir::Graph few = quantized(graph, recipe_with(2, numerics::Granularity::kChannel));
  const std::vector<at::Tensor> in{as_torch(inputs())};
  for (const LevelRule rule : {LevelRule::kMovingAverage, LevelRule::kGradient}) {
    StudentOptions options;
    options.weights.rule = options.activations.rule = rule;
    Student student(few, &graph, options);
    ASSERT_EQ(student.num_layers(), 2U);
    learn(student, in);
    student.freeze(2);
    // Everything is frozen, including averages and levels.
    const Student::Pass pass = student.forward(in, PassKind::kLearn);
    EXPECT_TRUE(at::equal(pass.outputs[0], student.forward(in, PassKind::kApply).outputs[0]));
    const std::vector<at::Tensor> before = copies(student);
    student.update(pass.statistics);
    const std::vector<at::Tensor> after = copies(student);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i], after[i]));
    for (std::size_t i = 0; i < student.parameters().size(); ++i) {
      EXPECT_TRUE(student.is_frozen(i)) << i;
    }
    // Weights and biases come first, two of each layer.
    student.freeze(1);
    const std::vector<bool> frozen{student.is_frozen(0), student.is_frozen(1), student.is_frozen(2),
                                   student.is_frozen(3)};
    EXPECT_THAT(frozen, testing::ElementsAre(true, true, false, false));
  }
}

TEST(Student, GivesBackTheNumbersThatItsCodesStandFor) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  const std::vector<at::Tensor> in{as_torch(inputs())};
  Student plain(graph);
  learn(plain, in);
  EXPECT_TRUE(ir::test::same_bytes(
      ir::test::run_reference(plain.with_learned_numbers(graph), ir::test::list(inputs())),
      ir::test::run_reference(plain.graph(), ir::test::list(inputs()))));

  Student student(quantized(graph, recipe_with(2, numerics::Granularity::kChannel)), &graph);
  learn(student, in);
  const ir::Graph learned = student.with_learned_numbers(graph);
  const ir::Graph few = student.graph();
  // Learned weights lie within the cells of their codes, so another student starts with them.
  const Student again(few, &learned);
  expect_mostly_near(by_student(again, inputs()), by_definition(few, inputs()));
  const Student floats(learned, nullptr, {.normalises = false});
  for (std::size_t i = 0; i < floats.parameters().size(); ++i) {
    EXPECT_TRUE(at::allclose(again.parameters()[i], floats.parameters()[i], 1e-2, 1e-2)) << i;
  }
}

TEST(Student, KnowsItsDevices) {
  EXPECT_EQ(torch_device(ComputeDevice::kCpu), at::Device(at::kCPU));
  EXPECT_EQ(to_string(ComputeDevice::kCpu), "cpu");
  EXPECT_EQ(to_string(ComputeDevice::kCuda), "cuda");
  if (at::hasCUDA()) GTEST_SKIP() << "there is a GPU";
  expect_error(ErrorKind::kDevice, "device cuda: expected a GPU",
               [] { torch_device(ComputeDevice::kCuda); });
}

TEST(Student, RefusesGroupsThatAreCutOff) {
  const ir::Graph graph = compress::perceptron(8, 10, 3, 1);
  const ir::Graph few = quantized(graph, recipe_with(2, numerics::Granularity::kGroup));
  expect_error(ErrorKind::kUnsupported, "expected a group size that divides the",
               [&] { Student{few}; });
}

TEST(Student, RefusesVectors) {
  compress::Recipe recipe = recipe_with(8, numerics::Granularity::kGroup);
  recipe.defaults.weight_bits.reset();
  recipe.defaults.group_size = 64;
  recipe.defaults.weight_system = &numerics::find_system("2x6");
  const ir::Graph few = quantized(compress::perceptron(8, 10, 3, 1), recipe);
  expect_error(ErrorKind::kUnsupported,
               "expected codes of single numbers, found vectors of 2x6, which training does not",
               [&] { Student{few}; });
}

}  // namespace
}  // namespace halftone::train
