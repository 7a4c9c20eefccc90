// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/initial_values.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

using ir::test::random_tensor;

/// The values of a constant that has a reader.
std::vector<float> numbers(const ir::Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.num_values(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    if (graph.value(id).name != name || graph.constant(id) == nullptr) continue;
    const auto found = std::get<ir::Tensor>(*graph.constant(id)).as<float>();
    return {found.begin(), found.end()};
  }
  ADD_FAILURE() << "no constant '" << name << "'";
  return {};
}

/// Expects mean 0 and the variance, each within five standard deviations of its estimate.
void expect_normal(const std::vector<float>& found, double variance) {
  double sum = 0;
  double squares = 0;
  for (const float x : found) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  const auto n = static_cast<double>(found.size());
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(2 / n));
}

void expect_all(const std::vector<float>& found, float value) {
  EXPECT_TRUE(std::ranges::all_of(found, [&](float x) { return x == value; }));
}

ir::ValueId float_input(ir::Graph& graph, ir::Shape shape) {
  return graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, std::move(shape)));
}

TEST(InitialValues, OfWeightsFollowWhatComesAfterThem) {
  Random random(1);
  ir::Graph graph;
  const auto x = float_input(graph, {ir::kBatch, 60});
  const auto layer = [&](const std::string& name, ir::ValueId input, ir::Dim n, ir::Dim outputs,
                         ir::ActivationKind kind) {
    return compress::add_layer(graph, name, input, random_tensor({outputs, n}, random), random,
                               kind);
  };
  const auto fused = layer("fused", x, 60, 80, ir::ActivationKind::kRelu);
  const auto apart = layer("apart", fused, 80, 50, ir::ActivationKind::kIdentity);
  const auto shift = graph.add_constant("shift", random_tensor({50}, random));
  const auto sum = graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {apart, shift});
  const auto relu = graph.add_node("relu", ir::Unary{{ir::ActivationKind::kGelu}}, {sum});
  const auto tanh = layer("tanh", relu, 50, 70, ir::ActivationKind::kTanh);
  graph.add_output(layer("last", tanh, 70, 90, ir::ActivationKind::kIdentity));
  const ir::Graph fresh = with_initial_values(graph, 3);
  expect_normal(numbers(fresh, "fused.w"), 2.0 / 60);
  expect_normal(numbers(fresh, "apart.w"), 2.0 / 80);
  expect_normal(numbers(fresh, "tanh.w"), 2.0 / (50 + 70));
  expect_normal(numbers(fresh, "last.w"), 2.0 / (70 + 90));
  for (const char* name : {"fused.b", "apart.b", "tanh.b", "last.b"}) {
    expect_all(numbers(fresh, name), 0);
  }
  EXPECT_EQ(numbers(fresh, "shift"), numbers(graph, "shift"));  // fixed, not trained
}

TEST(InitialValues, OfConvolutionsCountTheirTaps) {
  Random random(1);
  ir::Graph graph;
  const auto x = float_input(graph, {ir::kBatch, 6, 6, 8});
  const auto w = graph.add_constant("w", random_tensor({40, 3, 3, 4}, random));
  ir::Conv conv{ir::plain_window(2)};
  conv.groups = 2;
  graph.add_output(graph.add_node("conv", conv, {x, w}));
  expect_normal(numbers(with_initial_values(graph, 3), "w"), 2.0 / (9 * 4 + 9 * 20));
  ir::Graph relu = graph;
  relu.set_outputs(
      {relu.add_node("relu", ir::Unary{{ir::ActivationKind::kRelu}}, {relu.outputs()[0]})});
  expect_normal(numbers(with_initial_values(relu, 3), "w"), 2.0 / (9 * 4));
}

TEST(InitialValues, OfAnLstmRememberAtFirst) {
  constexpr ir::Dim kStates = 30;
  Random random(1);
  ir::Graph graph;
  const auto x = float_input(graph, {5, ir::kBatch, 7});
  const auto gates =
      compress::add_layer(graph, "gates", x, random_tensor({4 * kStates, 7}, random), random);
  const auto r = graph.add_constant("r", random_tensor({4 * kStates, kStates}, random));
  graph.add_output(graph.add_node("lstm", ir::Recurrent{}, {gates, r}));
  const ir::Graph fresh = with_initial_values(graph, 3);
  const double bound = 1 / std::sqrt(static_cast<double>(kStates));
  for (const char* name : {"gates.w", "r"}) {
    const std::vector<float> found = numbers(fresh, name);
    EXPECT_LT(std::ranges::max(found), bound);
    EXPECT_GT(std::ranges::min(found), -bound);
    EXPECT_GT(std::ranges::max(found), 0.9 * bound);
  }
  const std::vector<float> biases = numbers(fresh, "gates.b");
  for (std::size_t i = 0; i < biases.size(); ++i) {
    EXPECT_EQ(biases[i], i >= 2 * kStates && i < 3 * kStates ? 1 : 0) << i;
  }
}

TEST(InitialValues, OfANormalizeChangeNothing) {
  Random random(1);
  ir::Graph graph;
  const auto x = float_input(graph, {ir::kBatch, 9});
  const auto y = graph.add_node("normal", ir::Normalize{{1}}, {x});
  const auto scale = graph.add_constant("scale", random_tensor({9}, random));
  const auto shift = graph.add_constant("shift", random_tensor({9}, random));
  const auto scaled = graph.add_node("scaled", ir::Binary{ir::BinaryKind::kMul, {}}, {y, scale});
  graph.add_output(
      graph.add_node("shifted", ir::Binary{ir::BinaryKind::kAdd, {}}, {scaled, shift}));
  const ir::Graph fresh = with_initial_values(graph, 3);
  expect_all(numbers(fresh, "scale"), 1);
  expect_all(numbers(fresh, "shift"), 0);
}

TEST(InitialValues, OfAMatMulAndATableGoByTheirExtents) {
  Random random(1);
  ir::Graph graph;
  const auto x = float_input(graph, {ir::kBatch, 30});
  const auto b = graph.add_constant("b", random_tensor({30, 50}, random));
  const auto y = graph.add_node("product", ir::MatMul{}, {x, b});
  graph.add_output(graph.add_node("relu", ir::Unary{{ir::ActivationKind::kRelu}}, {y}));
  const auto table = graph.add_constant("table", random_tensor({100, 16}, random));
  const auto indices =
      graph.add_input("indices", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch}));
  graph.add_output(graph.add_node("rows", ir::Gather{}, {table, indices}));
  const ir::Graph fresh = with_initial_values(graph, 3);
  expect_normal(numbers(fresh, "b"), 2.0 / 30);
  expect_normal(numbers(fresh, "table"), 1.0 / 16);
}

TEST(InitialValues, AreTheSeedsOwn) {
  const ir::Graph graph = test::teacher_network();
  const ir::Graph fresh = with_initial_values(graph, 3);
  EXPECT_EQ(numbers(fresh, "first.w"), numbers(with_initial_values(graph, 3), "first.w"));
  EXPECT_NE(numbers(fresh, "first.w"), numbers(with_initial_values(graph, 4), "first.w"));
  EXPECT_NE(numbers(fresh, "first.w"), numbers(graph, "first.w"));
}

TEST(InitialValues, AreNotForFewBits) {
  const ir::Graph teacher = test::teacher_network();
  const ir::Graph few = test::student_network(teacher, test::taught(teacher, 2));
  expect_error(ErrorKind::kUnsupported, "weights 'first.w': expected float32 for initial",
               [&] { (void)with_initial_values(few, 3); });
}

TEST(InitialValues, LearnAsWellAsOthers) {
  const data::Dataset data = test::taught(test::teacher_network(), 2);
  LearnOptions options = test::few_epochs();
  options.loss.label_weight = 1;
  options.optimizer.rate = 0.01;
  const ir::Graph fresh = with_initial_values(test::teacher_network(), 3);
  EXPECT_GT(train(fresh, nullptr, {{}, data}, {}, options).epochs.back().agreement, 0.8);
}

}  // namespace
}  // namespace halftone::train
