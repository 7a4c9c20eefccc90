// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/layer.h"

#include "halftone/base/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::crossbar {
namespace {

using runtime::testing::LayerCase;
using runtime::testing::same_bits;

runtime::BitLayerFactory on(const CrossbarDevice& device, std::uint64_t seed = 1) {
  return [=](const runtime::NodeContext& context) { return layer_kernel(context, device, seed); };
}

std::vector<float> samples_for(const LayerCase& layer) {
  Random random(5);
  std::vector<float> samples(runtime::testing::kSamples * layer.x.with_batch(1).element_count());
  for (float& x : samples) x = static_cast<float>(random.normal());
  return samples;
}

std::vector<LayerCase> cases() {
  std::vector<LayerCase> cases = runtime::testing::layer_cases();
  std::erase_if(cases, [](const LayerCase& c) { return ir::is_recurrent(c.op); });
  ir::Conv strided{{{2, 1}, {1, 2}, {0, 2}, {1, 1}}, 2, {}};
  strided.activation = {ir::ActivationKind::kRelu, 0, 0};
  cases.push_back({"ConvOfTwoGroups", strided, {ir::kBatch, 7, 6, 10}, {8, 3, 2, 5}});
  return cases;
}

TEST(LayerKernel, OfAnIdealDeviceHasTheBitsOfTheDigitalOne) {
  const CrossbarDevice ideal = load_device("ideal");
  for (const LayerCase& layer : cases()) {
    const std::vector<float> samples = samples_for(layer);
    for (const int bits : {1, 2, 3}) {
      const ir::Graph graph = runtime::testing::with_arithmetic(
          runtime::testing::graph_of(layer, bits, bits), ir::Arithmetic::kBits);
      if (ir::why_not(ir::Arithmetic::kBits, graph, runtime::testing::layer_of(graph))) continue;
      runtime::PlanSettings options;
      options.batch = 8;
      const auto digital = runtime::testing::run_in_batches(graph, options, samples);
      options.execution.bit_layers = on(ideal);
      EXPECT_EQ(runtime::make_plan(graph, options)->steps().back().kernel, "crossbar");
      EXPECT_TRUE(same_bits(runtime::testing::run_in_batches(graph, options, samples), digital))
          << layer.name << " " << bits;
    }
  }
}

TEST(LayerKernel, OfCellsWithManyLevelsIsCloseToTheDigitalOne) {
  CrossbarDevice device = load_device("ideal");
  device.levels = 16;
  device.adc.bits = 16;
  for (const LayerCase& layer : cases()) {
    const std::vector<float> samples = samples_for(layer);
    const ir::Graph graph = runtime::testing::with_arithmetic(
        runtime::testing::graph_of(layer, 3, 2), ir::Arithmetic::kBits);
    runtime::PlanSettings options;
    options.batch = 8;
    const auto digital = runtime::testing::run_in_batches(graph, options, samples);
    options.execution.bit_layers = on(device);
    const auto found = runtime::testing::run_in_batches(graph, options, samples);
    // A conversion is off by half a step of 255 x 15 / 65535 levels; a level is at most 2 x 1.1 / 7
    // and the two planes of the input together at most 1.9, counted twice; float32 adds little.
    const float tolerance = 1.1F * (0.5F * 0.0584F) * 0.32F * 2 * 1.9F;
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], digital[i], tolerance);
  }
}

TEST(LayerKernel, GivesTheSameWhateverTheBatch) {
  CrossbarDevice device = load_device("reram");
  device.rows = device.columns = 32;
  device.programming_scale = 10;  // errors of more than half a count
  for (const LayerCase& layer : cases()) {
    const std::vector<float> samples = samples_for(layer);
    const ir::Graph graph = runtime::testing::with_arithmetic(
        runtime::testing::graph_of(layer, 2, 2), ir::Arithmetic::kBits);
    runtime::PlanSettings options;
    options.execution.bit_layers = on(device);
    const auto one = runtime::testing::run_in_batches(graph, options, samples);
    options.batch = 16;
    EXPECT_TRUE(same_bits(runtime::testing::run_in_batches(graph, options, samples), one))
        << layer.name;
    options.execution.bit_layers = on(device, 2);
    EXPECT_FALSE(same_bits(runtime::testing::run_in_batches(graph, options, samples), one));
  }
}

TEST(LayerKernel, AddsResidualsAndEncodesLikeTheDigitalOne) {
  Random random(3);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6, 6, 8}));
  const auto encoding = runtime::testing::activation_encoding(2, true, random);
  const auto codes = graph.add_node("encode", ir::Encode{encoding}, {x});
  const auto add_conv = [&](const std::string& name, ir::ValueId input) {
    ir::EncodedTensor weights = runtime::testing::random_weights(8, 72, {2, true}, random);
    weights.shape = {8, 3, 3, 8};
    ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
    conv.arithmetic = ir::Arithmetic::kBits;
    return graph.add_node(name, conv, {input, graph.add_constant(name + "/w", std::move(weights))});
  };
  ir::Binary add;
  add.kind = ir::BinaryKind::kAdd;
  add.activation = {ir::ActivationKind::kRelu, 0, 0};
  const auto sum = graph.add_node("add", add, {add_conv("conv1", codes), x});
  const auto again = graph.add_node("encode2", ir::Encode{encoding}, {sum});
  graph.add_output(add_conv("conv2", again));
  const LayerCase shapes{"", ir::Conv{}, {ir::kBatch, 6, 6, 8}, {}};
  const std::vector<float> samples = samples_for(shapes);
  runtime::PlanSettings options;
  const auto digital = runtime::testing::run_in_batches(graph, options, samples);
  options.execution.bit_layers = on(load_device("ideal"));
  EXPECT_TRUE(same_bits(runtime::testing::run_in_batches(graph, options, samples), digital));
}

TEST(LayerKernel, LeavesOtherOperatorsToTheirImplementations) {
  for (const LayerCase& layer : runtime::testing::layer_cases()) {
    if (!ir::is_recurrent(layer.op)) continue;
    const ir::Graph graph = runtime::testing::with_arithmetic(
        runtime::testing::graph_of(layer, 1, 1), ir::Arithmetic::kBits);
    runtime::PlanSettings options;
    options.execution.bit_layers = on(load_device("ideal"));
    EXPECT_NE(runtime::make_plan(graph, options)->steps().back().kernel, "crossbar");
  }
}

TEST(LayerKernel, NamesTheLayerThatArraysCannotHold) {
  CrossbarDevice device = load_device("ideal");
  device.columns = 1;
  const ir::Graph graph = runtime::testing::with_arithmetic(
      runtime::testing::graph_of(runtime::testing::layer_cases()[0], 1, 1), ir::Arithmetic::kBits);
  runtime::PlanSettings options;
  options.execution.bit_layers = on(device);
  expect_error(ErrorKind::kUnsupported,
               "node 'layer' (FullyConnected): arrays of 255 x 1 cells: a weight of +-1 needs",
               [&] { runtime::make_plan(graph, options); });
}

}  // namespace
}  // namespace halftone::crossbar
