// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layer_errors.h"

#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::compress {
namespace {

QuantizedGraph few_bits(const ir::Graph& graph, const data::Dataset& data) {
  Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 3;
  return quantize(graph, data, recipe);
}

std::vector<LayerError> errors_of(const ir::Graph& reference, const ir::Graph& quantized,
                                  const data::Dataset& data,
                                  const LayerErrorOptions& options = {}) {
  return layer_errors(reference, quantized, paired_layers(reference, quantized), data, options);
}

TEST(LayerErrors, AreThoseThatQuantizingReports) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(200, 20, 3);
  const QuantizedGraph result = few_bits(reference, data);
  const std::vector<LayerError> errors = errors_of(reference, result.graph, data);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].sqnr_db, result.layers[0].sqnr_db);
  EXPECT_EQ(errors[1].sqnr_db, result.layers[1].sqnr_db);
  EXPECT_EQ(errors[0].sqnr_alone_db, errors[0].sqnr_db);
}

TEST(LayerErrors, AloneIgnoreTheLayersBefore) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(200, 20, 3);
  const ir::Graph quantized = few_bits(reference, data).graph;
  // Only the first layer has codes, so the second one alone is exact.
  const auto pairs = paired_layers(reference, quantized);
  const ir::Graph grafted = graft(reference, quantized, {pairs.data(), 1});
  const std::vector<LayerError> errors = errors_of(reference, grafted, data);
  EXPECT_LT(errors[1].sqnr_db, 40);
  EXPECT_EQ(errors[1].sqnr_alone_db, std::numeric_limits<double>::infinity());
}

TEST(LayerErrors, HaveTheSameBitsForAnyNumberOfDevices) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(200, 20, 3);
  const ir::Graph quantized = few_bits(reference, data).graph;
  const auto one = errors_of(reference, quantized, data, {{}, spmd::Devices::emulate(1)});
  const auto three = errors_of(reference, quantized, data, {{}, spmd::Devices::emulate(3)});
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].sqnr_db, three[i].sqnr_db);
    EXPECT_EQ(one[i].sqnr_alone_db, three[i].sqnr_alone_db);
  }
}

TEST(LayerErrors, OfNoPairsAreNone) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  EXPECT_TRUE(layer_errors(graph, graph, {}, random_dataset(10, 20, 3)).empty());
}

/// A perceptron's first layer behind another input, or twice.
ir::Graph with_inputs(std::size_t count, ir::Dim width) {
  Random random(1);
  ir::Graph graph;
  ir::ValueId sum = ir::kAbsent;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = graph.add_input("x" + std::to_string(i),
                                   ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, width}));
    sum = i == 0 ? x : graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {sum, x});
  }
  graph.add_output(
      add_layer(graph, "layer", sum, ir::test::random_tensor({3, width}, random), random));
  return graph;
}

TEST(LayerErrors, RejectNetworksWithOtherInputs) {
  const data::Dataset data = random_dataset(10, 4, 1);
  const ir::Graph one = with_inputs(1, 4);
  expect_error(ErrorKind::kShape, "inputs do not match: expected 1 as in the reference, found 2",
               [&] { errors_of(one, with_inputs(2, 4), data); });
  // Layers of equal weights behind other inputs.
  ir::Graph rows = with_inputs(1, 4);
  rows.set_input_type(rows.inputs()[0],
                      ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 1, 4}));
  rows.infer_all();
  expect_error(ErrorKind::kShape,
               "inputs do not match: expected 'x0' of float32[N, 4] as in the reference, found "
               "'x0' of float32[N, 1, 4]",
               [&] { errors_of(one, rows, data); });
}

TEST(LayerErrors, TakeANetworkOfAFixedBatch) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(200, 20, 3);
  ir::Graph quantized = few_bits(reference, data).graph;
  const auto expected = errors_of(reference, quantized, data);
  ir::fill_in_batch(quantized, 2);
  const auto found = errors_of(reference, quantized, data);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].sqnr_db, expected[i].sqnr_db);
    EXPECT_EQ(found[i].sqnr_alone_db, expected[i].sqnr_alone_db);
  }
}

TEST(LayerErrors, AreTheDistortionsInDecibels) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(200, 20, 3);
  const ir::Graph quantized = few_bits(reference, data).graph;
  const auto pairs = paired_layers(reference, quantized);
  const auto errors = layer_errors(reference, quantized, pairs, data);
  const auto alone = distortions_alone(reference, quantized, pairs, data);
  const auto in_order = distortions_in_order(reference, quantized, pairs, data);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(alone[i].sqnr_db(), errors[i].sqnr_alone_db);
    EXPECT_EQ(in_order[i].sqnr_db(), errors[i].sqnr_db);
  }
}

/// A convolution with this padding.
ir::Graph padded(ir::Dim pad) {
  Random random(1);
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 2, 2, 1}));
  const auto w = graph.add_constant("w", ir::test::random_tensor({1, 1, 1, 1}, random));
  ir::Conv conv;
  conv.window = ir::plain_window(2);
  conv.window.pads_before = conv.window.pads_after = {pad, pad};
  graph.add_output(graph.add_node("conv", conv, {x, w}));
  return graph;
}

TEST(LayerErrors, RejectLayersWithOtherOutputs) {
  expect_error(ErrorKind::kShape,
               "layer outputs do not match: expected 'conv' of float32[N, 2, 2, 1] as in the "
               "reference, found 'conv' of float32[N, 4, 4, 1]",
               [&] { errors_of(padded(0), padded(1), random_dataset(10, 4, 1)); });
}

TEST(LayerInput, IsTheFloatBeforeCodes) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const ir::Graph quantized = few_bits(reference, random_dataset(200, 20, 3)).graph;
  for (const LayerPair& pair : paired_layers(reference, quantized)) {
    const auto input = layer_input(quantized, quantized.node(pair.quantized));
    ASSERT_TRUE(input);
    const auto original = layer_input(reference, reference.node(pair.original));
    EXPECT_EQ(quantized.value(*input).name, reference.value(*original).name);
  }
}

TEST(ValueHistograms, CountEveryElement) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const std::vector<ir::ValueId> values{graph.inputs()[0], graph.outputs()[0]};
  const auto histograms = value_histograms(graph, values, random_dataset(100, 20, 3));
  ASSERT_EQ(histograms.size(), 2U);
  EXPECT_EQ(histograms[0].count(), 2000);
  EXPECT_EQ(histograms[0].num_zeros(), 400);
  EXPECT_EQ(histograms[1].count(), 400);
  EXPECT_TRUE(value_histograms(graph, {}, random_dataset(100, 20, 3)).empty());
}

}  // namespace
}  // namespace halftone::compress
