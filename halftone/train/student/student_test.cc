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

constexpr std::size_t kSamples = 40;

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
  return ir::test::random_tensor({kSamples, 8}, random);
}

at::Tensor as_torch(const ir::Tensor& x) {
  return at::from_blob(const_cast<float*>(x.as<float>().data()),
                       {static_cast<std::int64_t>(x.shape()[0]), x.shape()[1]},
                       at::TensorOptions(at::kFloat))
      .clone();
}

std::vector<float> by_definition(const ir::Graph& graph, const ir::Tensor& x) {
  const std::vector<ir::Tensor> outputs =
      ir::test::run_by_definition(graph, ir::test::list(x.cast(ir::ElementType::kFloat32)));
  const auto numbers = outputs[0].as<float>();
  return {numbers.begin(), numbers.end()};
}

std::vector<float> by_student(const Student& student, const ir::Tensor& x) {
  const std::vector<at::Tensor> in{as_torch(x)};
  const at::Tensor y = student.forward(in, false).outputs[0].detach().contiguous();
  return {y.data_ptr<float>(), y.data_ptr<float>() + y.numel()};
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-3F) << i;
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
  const Student student(graph);
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
      const Student::Pass pass = student.forward(in, true);
      const auto slopes =
          torch::autograd::grad({pass.outputs[0].square().sum()}, student.parameters());
      for (std::size_t i = 0; i < slopes.size(); ++i) {
        student.parameters()[i].data().sub_(0.002 * slopes[i]);
      }
      student.update(pass.sums);
    }
    const std::vector<float> moved = by_student(student, inputs());
    expect_near(by_definition(student.graph(), inputs()), moved);
    double change = 0;
    const std::vector<float> before = by_definition(few, inputs());
    for (std::size_t i = 0; i < moved.size(); ++i) change += std::abs(moved[i] - before[i]);
    EXPECT_GT(change, 0.1);
  }
}

TEST(Student, RefusesGroupsThatAreCutOff) {
  const ir::Graph graph = compress::perceptron(8, 10, 3, 1);
  const ir::Graph few = quantized(graph, recipe_with(2, numerics::Granularity::kGroup));
  expect_error(ErrorKind::kUnsupported, "expected whole groups", [&] { Student{few}; });
}

}  // namespace
}  // namespace halftone::train
