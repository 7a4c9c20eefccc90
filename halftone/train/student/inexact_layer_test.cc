// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/inexact_layer.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <set>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/spmd/testing.h"
#include "halftone/train/student/student.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

using test::expect_same;
using test::student_network;
using test::taught;
using test::teacher_network;

std::vector<float> levels_of(const ir::EncodedTensor& weights) {
  const ir::Tensor levels = ir::to_float(ir::Constant(weights));
  return {levels.as<float>().begin(), levels.as<float>().end()};
}

/// Layers with this name see half of their weights.
WeightHardware halves(const std::string& name) {
  WeightHardware hardware;
  hardware.seen = [name](const ir::Graph&, const ir::Node& node, const ir::EncodedTensor& weights,
                         std::uint64_t) -> std::optional<std::vector<float>> {
    if (node.name != name) return std::nullopt;
    std::vector<float> seen = levels_of(weights);
    for (float& w : seen) w /= 2;
    return seen;
  };
  return hardware;
}

/// Cells that differ from their weights by a fifth, at random.
WeightHardware noise() {
  WeightHardware hardware;
  hardware.settings = "a fifth";
  hardware.seen = [](const ir::Graph&, const ir::Node& node, const ir::EncodedTensor& weights,
                     std::uint64_t seed) -> std::optional<std::vector<float>> {
    Random random(seed + static_cast<std::uint64_t>(node.inputs[1]));
    std::vector<float> seen = levels_of(weights);
    for (float& w : seen) w *= 1 + 0.2F * static_cast<float>(random.normal());
    return seen;
  };
  return hardware;
}

/// A quantized network of two layers, its teacher and its samples.
struct Task {
  ir::Graph teacher = teacher_network();
  data::Dataset data = taught(teacher, 2);
  ir::Graph student = student_network(teacher, data);

  [[nodiscard]] Student on(const WeightHardware& hardware) const {
    StudentOptions options = test::by_gradient();
    options.normalises = false;
    options.hardware = hardware;
    return Student(student, nullptr, options);
  }
};

const std::vector<at::Tensor>& samples() {
  static const std::vector<at::Tensor> kInputs{
      at::arange(40, at::kFloat).reshape({4, 10}).sub(20).div(10)};
  return kInputs;
}

std::vector<at::Tensor> slopes(const Student& student) {
  const at::Tensor sum = student.forward(samples(), PassKind::kLearn).outputs[0].sum();
  return torch::autograd::grad({sum}, student.parameters());
}

TEST(InexactLayer, AddsWhatIsComputedDigitally) {
  const at::Tensor exact = at::tensor({1.0F, 2.0F, -3.0F, 0.5F, 4.0F, 1.0F}).reshape({2, 3});
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  const auto w = graph.add_constant("w", ir::Tensor(ir::ElementType::kFloat32, {2, 3}));
  const ir::Activation relu{ir::ActivationKind::kRelu, 0, 0};
  graph.add_output(graph.add_node("layer", ir::FullyConnected{relu}, {x, w}));
  const ir::Node& node = graph.node(graph.topological_order().back());
  const InexactLayer layer = inexact_layer(graph, node, exact, exact / 4, -2);
  EXPECT_TRUE(at::equal(layer.weights, exact / 4));
  // -2 (1 - 1/4) times the sum of a row: 0 and 5.5.
  EXPECT_TRUE(at::equal(layer.correction, at::tensor({0.0F, -8.25F}).reshape({1, 2})));
}

TEST(InexactLayer, CorrectsAConvolutionByTheTapsInsideTheImage) {
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3, 3, 1}));
  const auto w = graph.add_constant("w", ir::Tensor(ir::ElementType::kFloat32, {1, 3, 3, 1}));
  const ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
  graph.add_output(graph.add_node("layer", conv, {x, w}));
  const ir::Node& node = graph.node(graph.topological_order().back());
  const at::Tensor ones = at::ones({1, 3, 3, 1});
  const InexactLayer layer = inexact_layer(graph, node, ones, ones / 2, 2);
  const at::Tensor taps = at::tensor({4.0F, 6.0F, 4.0F, 6.0F, 9.0F, 6.0F, 4.0F, 6.0F, 4.0F});
  EXPECT_TRUE(at::equal(layer.correction, taps.reshape({1, 3, 3, 1})));
}

TEST(Student, SeesTheWeightsOfItsHardware) {
  const Task task;
  const Student plain = task.on({});
  Student student = task.on(halves("second"));
  const auto output = [](const Student& of, PassKind kind) {
    return of.forward(samples(), kind).outputs[0].detach();
  };
  const at::Tensor wanted = output(plain, PassKind::kApply);
  EXPECT_TRUE(at::equal(output(student, PassKind::kApply), wanted)) << "not programmed yet";
  student.program(1);
  EXPECT_TRUE(at::equal(output(student, PassKind::kMeasure), wanted));
  for (const PassKind kind : {PassKind::kApply, PassKind::kLearn}) {
    const at::Tensor found = output(student, kind);
    // y - w l - bias is halved, and what each class adds to that is the same for all samples.
    const at::Tensor change = found - wanted / 2;
    EXPECT_FALSE(at::allclose(found, wanted));
    EXPECT_TRUE(at::allclose(change, change[0].expand_as(change), 1e-5, 1e-5));
  }
}

TEST(Student, PassesGradientsStraightThroughToItsWeights) {
  const Task task;
  const Student plain = task.on({});
  Student student = task.on(halves("second"));
  student.program(1);
  const std::vector<at::Tensor> wanted = slopes(plain);
  const std::vector<at::Tensor> found = slopes(student);
  ASSERT_EQ(found.size(), wanted.size());
  // Parameters: weights and bias of both layers. The first layer is reached through halved weights.
  EXPECT_TRUE(at::allclose(found[0], wanted[0] / 2, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(found[1], wanted[1] / 2, 1e-5, 1e-6));
  EXPECT_TRUE(at::equal(found[2], wanted[2]));
  EXPECT_TRUE(at::equal(found[3], wanted[3]));
  EXPECT_GT(found[0].abs().max().item<float>(), 0);
}

TEST(Train, ProgramsHardwareInEveryStepWithASeedOfItsOwn) {
  const Task task;
  std::set<std::uint64_t> seeds;
  std::size_t calls = 0;
  StudentOptions options = test::by_gradient();
  options.normalises = false;  // hardware has no layers with a ChannelNorm
  options.hardware.seen = [&](const ir::Graph&, const ir::Node&, const ir::EncodedTensor&,
                              std::uint64_t seed) -> std::optional<std::vector<float>> {
    seeds.insert(seed);
    ++calls;
    return std::nullopt;
  };
  LearnOptions how = test::few_epochs();
  how.epochs = 2;
  const auto run = [&] {
    return train(task.student, &task.teacher, {{task.teacher}, task.data}, options, how).graph;
  };
  const ir::Graph digital = run();
  const std::size_t steps = how.epochs * test::kSamples / how.batch;
  EXPECT_EQ(calls, 2 * steps) << "two layers";
  EXPECT_EQ(seeds.size(), steps);
  options.hardware = {};
  expect_same(run(), digital);
}

TEST(Train, SeesNoiseToTheSameBitsForAnyThreadsDevicesAndRanks) {
  const Task task;
  const auto train_on = [&](const spmd::Devices& devices, const WeightHardware& hardware) {
    StudentOptions options;
    options.hardware = hardware;
    LearnOptions how = test::few_epochs();
    how.epochs = 1;
    how.parts = 4;
    how.validation_split = 0.25;
    how.devices = devices;
    return train(task.student, &task.teacher, {{task.teacher}, task.data}, options, how);
  };
  const TrainedGraph one = train_on(spmd::Devices::emulate(1), noise());
  set_num_threads(3);
  expect_same(train_on(spmd::Devices::emulate(3), noise()).graph, one.graph);
  set_num_threads(0);
  for (const ir::Graph& found : spmd::LocalRanks(2).run([&](const auto& ranks) {
         return train_on(spmd::Devices::over(ranks, 1), noise()).graph;
       })) {
    expect_same(found, one.graph);
  }
  const TrainedGraph digital = train_on(spmd::Devices::emulate(1), {});
  EXPECT_NE(digital.epochs[0].loss, one.epochs[0].loss);
  EXPECT_NE(digital.epochs[0].validation_accuracy, one.epochs[0].validation_accuracy);
}

}  // namespace
}  // namespace halftone::train
