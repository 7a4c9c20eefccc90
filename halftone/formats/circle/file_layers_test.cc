// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/file_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/circle/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::kBatch;

/// What a layer is given besides its extents.
struct Layer {
  std::vector<Dim> extents;
  std::vector<Dim> kernel;
  ir::Window window;
  std::vector<Dim> output_padding = std::vector<Dim>(window.rank(), 0);
  Dim groups = 1;
  bool has_bias = true;
  ir::Activation activation{};
};

constexpr Dim kInputs = 4;
constexpr Dim kOutputs = 6;

std::vector<ir::ValueId> inputs_of(ir::Graph& graph, const Layer& layer) {
  Random random(7);
  std::vector<Dim> dims = {kBatch};
  dims.insert(dims.end(), layer.extents.begin(), layer.extents.end());
  dims.push_back(kInputs);
  std::vector<Dim> weights = {kOutputs};
  weights.insert(weights.end(), layer.kernel.begin(), layer.kernel.end());
  weights.push_back(kInputs / layer.groups);
  std::vector<ir::ValueId> inputs = {
      graph.add_input("x", ir::test::float_type(ir::Shape(std::move(dims)))),
      graph.add_constant("w", random_tensor(ir::Shape(std::move(weights)), random))};
  if (layer.has_bias) inputs.push_back(graph.add_constant("b", random_tensor({kOutputs}, random)));
  return inputs;
}

ir::Graph transposed_network(const Layer& layer) {
  ir::Graph graph;
  const auto inputs = inputs_of(graph, layer);
  const ir::ConvTranspose op{layer.window, layer.output_padding, layer.groups, layer.activation};
  graph.add_output(graph.add_node("layer", op, inputs, "y"));
  return graph;
}

/// The names of the operators in a file.
std::vector<std::string> operators_of(const ir::Graph& graph) {
  const auto model = unpacked(export_circle(graph, CircleFlavor::kTflite));
  std::vector<std::string> names;
  for (const auto& op : model.subgraphs[0]->operators) {
    names.push_back(name_of(OperatorCode{model.operator_codes[op->opcode_index]->builtin_code}));
  }
  return names;
}

TEST(FileLayers, HoldTransposedConvolutionsOfEveryPadding) {
  for (Dim stride = 1; stride <= 3; ++stride) {
    for (Dim taps = 1; taps <= 5; ++taps) {
      for (Dim before = 0; before < taps; ++before) {
        for (Dim extra = 0; extra < stride; ++extra) {
          const Dim after = taps - 1 - before;
          const ir::Graph graph = transposed_network(
              {{5, 3}, {taps, 2}, {{stride, 2}, {1, 1}, {before, 0}, {after, 1}}, {extra, 0}});
          SCOPED_TRACE(ir::attributes_of(graph.node(ir::NodeId{0}).op));
          expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph);
          expect_same_function(round_trip(graph, CircleFlavor::kCircle), graph, {.batch = 3});
        }
      }
    }
  }
}

TEST(FileLayers, HoldTransposedConvolutionsInOneOperatorWherePossible) {
  using ::testing::Contains;
  using ::testing::Not;
  // PyTorch's kernel 4, stride 2, padding 1 is SAME; kernel 2, stride 2 is VALID.
  for (const Layer& layer : {Layer{{5, 3}, {4, 4}, {{2, 2}, {1, 1}, {1, 1}, {1, 1}}},
                             Layer{{5, 3}, {2, 2}, {{2, 2}, {1, 1}, {0, 0}, {0, 0}}}}) {
    const auto names = operators_of(transposed_network(layer));
    EXPECT_THAT(names, Contains("TRANSPOSE_CONV"));
    EXPECT_THAT(names, Not(Contains("RESHAPE")));
    // The extents of any batch: SHAPE, SLICE, CONCATENATION.
    EXPECT_EQ(names.size(), 4U);
  }
}

TEST(FileLayers, HoldGroupsDilationsAndActivations) {
  const ir::Window dilated{{2, 1}, {2, 3}, {1, 2}, {0, 1}};
  for (const Dim groups : {1, 2}) {
    for (const bool has_bias : {true, false}) {
      const ir::Graph graph = transposed_network(
          {{5, 3}, {3, 2}, dilated, {1, 0}, groups, has_bias, {ir::ActivationKind::kRelu6, 0, 0}});
      expect_same_function(with_file_layers(graph), graph);
      expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph, {.batch = 2});
    }
  }
}

TEST(FileLayers, HoldTransposedConvolutionsOfLinesAndVolumes) {
  const ir::Graph line = transposed_network({{7}, {3}, {{2}, {1}, {1}, {1}}, {1}, 2});
  expect_same_function(round_trip(line, CircleFlavor::kTflite), line, {.batch = 2});
  const ir::Graph volume = transposed_network(
      {{2, 3, 4}, {3, 2, 2}, {{2, 2, 1}, {1, 1, 2}, {1, 0, 0}, {1, 0, 1}}, {1, 0, 0}, 2});
  expect_same_function(round_trip(volume, CircleFlavor::kTflite), volume, {.batch = 2});
  const auto names = operators_of(volume);
  EXPECT_EQ(std::ranges::count(names, "CONV_3D_TRANSPOSE"), 2);
}

TEST(FileLayers, HoldConvolutionsOfVolumes) {
  for (const Dim groups : {1, 2}) {
    for (const Dim before : {0, 1}) {
      const Layer layer{{4, 5, 6},
                        {3, 2, 3},
                        {{1, 2, 1}, {1, 1, 2}, {before, 0, 2}, {1, before, 2}},
                        {},
                        groups,
                        groups == 2,
                        {ir::ActivationKind::kRelu, 0, 0}};
      ir::Graph graph;
      const auto inputs = inputs_of(graph, layer);
      const ir::Conv op{layer.window, groups, layer.activation};
      graph.add_output(graph.add_node("layer", op, inputs, "y"));
      expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph, {.batch = 2});
    }
  }
}

TEST(FileLayers, HoldPoolingOfVolumes) {
  for (const ir::PoolKind kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type({kBatch, 4, 5, 6, 3}));
    ir::Pool pool{kind, {2, 3, 2}, {{2, 1, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}}};
    pool.count_padding = kind == ir::PoolKind::kAverage;
    graph.add_output(graph.add_node("pool", pool, {x}, "y"));
    expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph, {.batch = 2});
  }
}

TEST(FileLayers, HoldPoolingOfEveryPadding) {
  for (const ir::PoolKind kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    for (const bool round_up : {false, true}) {
      for (const bool counts : {false, true}) {
        ir::Graph graph;
        const auto x = graph.add_input("x", ir::test::float_type({kBatch, 6, 8, 3}));
        ir::Pool pool{kind, {3, 2}, {{2, 3}, {1, 1}, {1, 0}, {0, 1}}};
        pool.round_up = round_up;
        pool.count_padding = counts && kind == ir::PoolKind::kAverage;
        graph.add_output(graph.add_node("pool", pool, {x}, "y"));
        SCOPED_TRACE(ir::attributes_of(pool));
        expect_same_function(with_file_layers(graph), graph);
        expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph, {.batch = 2});
      }
    }
  }
}

TEST(FileLayers, RepeatForEverySampleOfTheBatch) {
  Random random(3);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 5, 4}));
  const auto token = graph.add_constant("token", random_tensor({1, 1, 4}, random));
  const auto tokens = graph.add_node("tokens", ir::BroadcastTo{{kBatch, 1, 4}}, {token});
  graph.add_output(graph.add_node("y", ir::Concat{1}, {tokens, x}));
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    expect_same_function(round_trip(graph, flavor), graph, {.batch = 3});
  }
}

TEST(FileLayers, KeepLayersInCodes) {
  const ir::Graph graph = small_lowbit_network();
  EXPECT_EQ(ir::to_text(with_file_layers(graph)), ir::to_text(graph));
}

}  // namespace
}  // namespace halftone::formats::circle
