// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and convolutions of other tools, compared with their formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using Shape32 = std::vector<std::int32_t>;

FileTensor floats_tensor(const Shape32& shape, const std::vector<float>& numbers) {
  return constant_tensor(shape, schema::TensorType::FLOAT32, numbers);
}

ir::Graph import_model(const schema::ModelT& model) { return import_circle(packed(model)); }

float run_one(const ir::Graph& graph, const ir::Tensor& x, std::size_t at) {
  std::vector<ir::Tensor> inputs;
  inputs.push_back(x.clone());
  return run_reference(graph, inputs)[0].as<float>()[at];
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// An LSTM of one unit on [1, 2, 1]; unless `coupled`, it has an input gate.
schema::ModelT lstm_model(bool coupled, float cell_clip = 0) {
  schema::UnidirectionalSequenceLSTMOptionsT options;
  options.fused_activation_function = schema::ActivationFunctionType::TANH;
  options.cell_clip = cell_clip;
  const auto number = [](float value) { return floats_tensor({1, 1}, {value}); };
  const auto bias = [](float value) { return floats_tensor({1}, {value}); };
  const std::vector<FileTensor> tensors = {{{1, 2, 1}},  {{1, 2, 1}},  number(0.1F), number(0.2F),
                                           number(0.3F), number(0.4F), number(0.5F), number(0.6F),
                                           number(0.7F), number(0.8F), bias(0.01F),  bias(0.02F),
                                           bias(0.03F),  bias(0.04F)};
  Shape32 inputs = {0, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1, -1, 10, 11, 12, 13, -1, -1, -1, -1};
  if (coupled) inputs[1] = inputs[5] = inputs[12] = -1;
  return one_operator(44, tensors, inputs, {1}, united(options));
}

/// The cell state after the second step for x = 1, 2, with the gates of lstm_model().
double second_output(bool coupled, double clip) {
  double h = 0;
  double c = 0;
  for (const double x : {1.0, 2.0}) {
    const double forget = sigmoid(0.2 * x + 0.6 * h + 0.02);
    const double input = coupled ? 1 - forget : sigmoid(0.1 * x + 0.5 * h + 0.01);
    const double candidate = std::tanh(0.3 * x + 0.7 * h + 0.03);
    const double output = sigmoid(0.4 * x + 0.8 * h + 0.04);
    c = std::min(forget * c + input * candidate, clip);
    h = output * std::tanh(c);
  }
  return h;
}

TEST(CircleLstm, HasItsGatesInTheFilesOrder) {
  const ir::Tensor x = floats({1, 2, 1}, {1, 2});
  EXPECT_NEAR(run_one(import_model(lstm_model(false)), x, 1), second_output(false, 9), 1e-6);
  EXPECT_NEAR(run_one(import_model(lstm_model(true)), x, 1), second_output(true, 9), 1e-6);
  EXPECT_NEAR(run_one(import_model(lstm_model(false, 0.25F)), x, 1), second_output(false, 0.25),
              1e-6);
}

TEST(CircleLstm, RejectsUnsupportedFeatures) {
  schema::ModelT projected = lstm_model(false);
  projected.subgraphs[0]->operators[0]->inputs[16] = 2;
  const Error error = error_of([&] { import_model(projected); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.what(), testing::HasSubstr("a projection of the hidden state"));
  schema::ModelT bare = lstm_model(false);
  bare.subgraphs[0]->operators[0]->builtin_options.Reset();
  EXPECT_EQ(error_of([&] { import_model(bare); }).kind(), ErrorKind::kFormat);
  schema::ModelT missing = lstm_model(false);
  missing.subgraphs[0]->operators[0]->inputs[2] = -1;
  EXPECT_EQ(error_of([&] { import_model(missing); }).kind(), ErrorKind::kFormat);
}

TEST(CircleRnn, RunsSequencesStepsAndBothDirections) {
  const auto number = [](float value) { return floats_tensor({1, 1}, {value}); };
  const std::vector<FileTensor> tensors = {
      {{1, 2, 1}}, {{1, 2, 1}}, number(0.5F), number(0.25F), floats_tensor({1}, {0.1F})};
  schema::SequenceRNNOptionsT options;
  options.fused_activation_function = schema::ActivationFunctionType::TANH;
  const ir::Graph sequence =
      import_model(one_operator(35, tensors, {0, 2, 3, 4, -1}, {1}, united(options)));
  const ir::Tensor x = floats({1, 2, 1}, {1, 2});
  const double first = std::tanh(0.6);
  EXPECT_NEAR(run_one(sequence, x, 1), std::tanh(1.1 + 0.25 * first), 1e-6);

  schema::RNNOptionsT step;
  step.fused_activation_function = schema::ActivationFunctionType::RELU;
  const std::vector<FileTensor> flat = {
      {{1, 1}}, {{1, 1}}, number(0.5F), number(0.25F), floats_tensor({1}, {0.1F})};
  const ir::Graph once = import_model(one_operator(24, flat, {0, 2, 3, 4, -1}, {1}, united(step)));
  EXPECT_NEAR(run_one(once, floats({1, 1}, {1}), 0), 0.6, 1e-6);

  schema::BidirectionalSequenceRNNOptionsT both;
  both.fused_activation_function = schema::ActivationFunctionType::TANH;
  both.merge_outputs = true;
  std::vector<FileTensor> wide = tensors;
  wide[1].shape = {1, 2, 2};
  const ir::Graph merged = import_model(
      one_operator(46, wide, {0, 2, 3, 4, -1, 2, 3, 4, -1, -1, -1, -1}, {1}, united(both)));
  const double last = std::tanh(1.1);
  EXPECT_NEAR(run_one(merged, x, 1), std::tanh(0.6 + 0.25 * last), 1e-6);
  EXPECT_NEAR(run_one(merged, x, 2), std::tanh(1.1 + 0.25 * first), 1e-6);
}

TEST(CircleConv, PadsAsTheFileSpecifies) {
  schema::Conv2DOptionsT options;
  options.stride_w = options.stride_h = 2;
  const std::vector<FileTensor> tensors = {{{1, 3, 3, 1}},
                                           {{1, 2, 2, 1}},
                                           floats_tensor({1, 2, 2, 1}, {1, 10, 100, 1000}),
                                           floats_tensor({1}, {0.5F})};
  const ir::Graph same = import_model(one_operator(3, tensors, {0, 2, 3}, {1}, united(options)));
  const ir::Tensor x = ir::test::counting({1, 3, 3, 1});
  // SAME: ceil(3 / 2) outputs; the padding is after the image.
  EXPECT_EQ(run_one(same, x, 0), 0 + 10 * 1 + 100 * 3 + 1000 * 4 + 0.5F);
  EXPECT_EQ(run_one(same, x, 3), 8.5F);
  options.padding = schema::Padding::VALID;
  std::vector<FileTensor> valid = tensors;
  valid[1].shape = {1, 1, 1, 1};
  const ir::Graph graph = import_model(one_operator(3, valid, {0, 2, 3}, {1}, united(options)));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape[1], 1);
}

TEST(CircleDepthwiseConv, TransposesItsFilters) {
  schema::DepthwiseConv2DOptionsT options;
  options.padding = schema::Padding::VALID;
  options.stride_w = options.stride_h = 1;
  options.depth_multiplier = 2;
  const std::vector<FileTensor> tensors = {
      {{1, 1, 2, 2}}, {{1, 1, 1, 4}}, floats_tensor({1, 1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40})};
  const ir::Graph graph = import_model(one_operator(4, tensors, {0, 2}, {1}, united(options)));
  const ir::Tensor x = floats({1, 1, 2, 2}, {1, 5, 2, 6});
  const std::vector<float> wanted = {21, 42, 15 + 180, 20 + 240};
  for (std::size_t o = 0; o < 4; ++o) EXPECT_EQ(run_one(graph, x, o), wanted[o]);
}

TEST(CircleTransposeConv, ReachesTheRequestedExtents) {
  schema::TransposeConvOptionsT options;
  options.stride_w = options.stride_h = 2;
  const std::vector<FileTensor> tensors = {{{1, 1, 2, 1}},
                                           {{1, 2, 4, 1}},
                                           integers({1, 2, 4, 1}),
                                           floats_tensor({1, 2, 2, 1}, {1, 2, 3, 4})};
  const ir::Graph graph = import_model(one_operator(67, tensors, {2, 3, 0}, {1}, united(options)));
  const ir::Tensor x = floats({1, 1, 2, 1}, {1, 10});
  const std::vector<float> wanted = {1, 2, 10, 20, 3, 4, 30, 40};
  for (std::size_t o = 0; o < 8; ++o) EXPECT_EQ(run_one(graph, x, o), wanted[o]);
}

TEST(CirclePool, ActivatesAfterwards) {
  schema::Pool2DOptionsT options;
  options.padding = schema::Padding::SAME;
  options.stride_w = options.stride_h = 1;
  options.filter_width = 2;
  options.filter_height = 1;
  options.fused_activation_function = schema::ActivationFunctionType::RELU6;
  const std::vector<FileTensor> tensors = {{{1, 1, 2, 1}}, {{1, 1, 2, 1}}};
  const auto import_pool = [&](std::int32_t code) {
    return import_model(one_operator(code, tensors, {0}, {1}, united(options)));
  };
  const ir::Tensor x = floats({1, 1, 2, 1}, {1, 9});
  EXPECT_EQ(run_one(import_pool(1), x, 0), 5);
  EXPECT_EQ(run_one(import_pool(1), x, 1), 6);
  EXPECT_EQ(run_one(import_pool(17), x, 0), 6);
  options.fused_activation_function = schema::ActivationFunctionType::NONE;
  EXPECT_NEAR(run_one(import_pool(12), x, 0), std::sqrt(41.0), 1e-6);
}

TEST(CircleConv, RejectsInconsistentShapes) {
  const auto kind_with = [](const auto& change, std::int32_t stride = 1) {
    schema::Conv2DOptionsT options;
    options.stride_w = options.stride_h = stride;
    std::vector<FileTensor> tensors = {
        {{1, 3, 3, 2}}, {{1, 3, 3, 1}}, floats_tensor({1, 1, 1, 2}, {1, 2})};
    change(tensors);
    return error_of([&] {
             import_model(one_operator(3, tensors, {0, 2}, {1}, united(options)));
           })
        .kind();
  };
  EXPECT_EQ(kind_with([](auto& t) { t[0].shape = {1, 3, 6}; }), ErrorKind::kFormat);
  EXPECT_EQ(kind_with([](auto& t) { t[2] = floats_tensor({1, 2}, {1, 2}); }), ErrorKind::kFormat);
  EXPECT_EQ(kind_with([](auto& t) { t[0].shape = {1, 3, 3, 3}; }), ErrorKind::kFormat);
  EXPECT_EQ(kind_with([](auto&) {}, 0), ErrorKind::kFormat);
  EXPECT_EQ(kind_with([](auto&) {}, -1), ErrorKind::kFormat);
}

/// A recurrent layer after a projection, with all features of its kind.
ir::Graph recurrent_network(const ir::Recurrent& op, bool encoded, bool states) {
  Random random(31);
  ir::Graph graph;
  const ir::Dim hidden = 3;
  const ir::Dim gates = hidden * static_cast<ir::Dim>(ir::num_gates(op.kind));
  // Only a leading extent can be symbolic in a file.
  const ir::Dim n = op.batch_major ? ir::kBatch : 2;
  const auto x = graph.add_input(
      "x", ir::test::float_type(op.batch_major ? ir::Shape{n, 4, 2} : ir::Shape{4, n, 2}));
  const auto w = graph.add_constant("w", random_tensor({gates, 2}, random));
  const auto b = graph.add_constant("b", random_tensor({gates}, random));
  std::vector<ir::ValueId> inputs(ir::kPeepholes + 1, ir::kAbsent);
  inputs[ir::kGates] = graph.add_node("gates", ir::FullyConnected{}, {x, w, b});
  if (encoded) {
    numerics::MatrixEncoding encoding;
    encoding.bits = 2;
    encoding.granularity = numerics::Granularity::kChannel;
    inputs[ir::kRecurrenceWeights] =
        graph.add_constant("r", random_encoded(random, gates, hidden, encoding));
  } else {
    inputs[ir::kRecurrenceWeights] =
        graph.add_constant("r", random_tensor({gates, hidden}, random));
  }
  if (states) inputs[ir::kInitialHidden] = graph.add_input("h", ir::test::float_type({n, hidden}));
  if (op.linear_before_reset) {
    inputs[ir::kRecurrenceBias] = graph.add_constant("bn", random_tensor({hidden}, random));
  }
  if (op.kind == ir::RecurrentKind::kLstm) {
    inputs[ir::kPeepholes] = graph.add_constant("p", random_tensor({3 * hidden}, random));
  }
  graph.add_output(graph.add_node("layer", op, inputs));
  return graph;
}

std::vector<ir::Recurrent> recurrent_operators() {
  std::vector<ir::Recurrent> all(5);
  all[0].batch_major = true;
  all[1].reverse = all[1].with_cell = true;
  all[1].cell_clip = 0.75F;
  all[2].kind = ir::RecurrentKind::kGru;
  all[2].linear_before_reset = true;
  all[3].kind = ir::RecurrentKind::kRnn;
  all[3].activations[0] = {ir::ActivationKind::kLeakyRelu, 0.25F, 0};
  all[3].clip = 1.5F;
  all[4].state_encoding = ir::test::odd_encoding();
  return all;
}

TEST(CircleRecurrent, KeepsItsMeaningThroughBothFormats) {
  for (const ir::Recurrent& op : recurrent_operators()) {
    for (const bool encoded : {false, true}) {
      for (const bool states : {false, true}) {
        SCOPED_TRACE(ir::attributes(op));
        const ir::Graph graph = recurrent_network(op, encoded, states);
        for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
          expect_same_function(round_trip(graph, flavor), graph);
        }
      }
    }
  }
}

TEST(CircleRecurrent, WritesThePlainLstmOfTheFile) {
  const ir::Graph graph = recurrent_network(recurrent_operators()[0], false, false);
  const schema::ModelT model = unpacked(export_circle(graph, CircleFlavor::kTflite));
  ASSERT_EQ(model.operator_codes.size(), 1U);
  EXPECT_EQ(model.operator_codes[0]->builtin_code, 44);
  const schema::OperatorT& op = *model.subgraphs[0]->operators.at(0);
  ASSERT_EQ(op.inputs.size(), 24U);
  EXPECT_TRUE(model.subgraphs[0]->tensors.at(static_cast<std::size_t>(op.inputs[18]))->is_variable);
}

/// Whether a file needs no operators but those that every runtime has.
bool is_plain(const schema::ModelT& model) {
  return std::ranges::none_of(model.operator_codes,
                              [](const auto& entry) { return !entry->custom_code.empty(); });
}

TEST(CircleRecurrent, NamesLayersThatTheFileLacks) {
  const auto operators = recurrent_operators();
  EXPECT_TRUE(own_circle_layers(recurrent_network(operators[0], false, false)).empty());
  EXPECT_TRUE(own_circle_layers(recurrent_network(operators[0], true, false)).empty());  // codes
  for (std::size_t i = 1; i < 4; ++i) {
    const auto names = own_circle_layers(recurrent_network(operators[i], false, false));
    EXPECT_THAT(names, testing::ElementsAre("layer"));
  }
  ir::Graph lengths = recurrent_network(operators[0], false, false);
  const ir::NodeId layer = *lengths.producer(lengths.outputs()[0]);
  std::vector<ir::ValueId> inputs = lengths.node(layer).inputs;
  inputs[ir::kSequenceLengths] =
      lengths.add_input("lengths", ir::dense_type(ir::ElementType::kInt32, {ir::kBatch}));
  lengths.replace_node(layer, operators[0], inputs);
  EXPECT_THAT(own_circle_layers(lengths), testing::ElementsAre("layer"));
}

TEST(CircleRecurrent, WritesStepsBetweenStatesAsArithmetic) {
  for (const bool with_cell : {false, true}) {
    for (const bool batch_major : {false, true}) {
      ir::Recurrent op;
      op.with_cell = with_cell;
      op.batch_major = batch_major;
      ir::Graph graph;
      const ir::Dim n = batch_major ? ir::kBatch : 2;
      const auto x = graph.add_input(
          "x", ir::test::float_type(batch_major ? ir::Shape{n, 1, 2} : ir::Shape{1, n, 2}));
      const auto h = graph.add_input("h", ir::test::float_type({n, 3}));
      const auto c = graph.add_input("c", ir::test::float_type({n, 3}));
      const auto gates = graph.add_node("gates", ir::FullyConnected{},
                                        {x, graph.add_constant("w", random_tensor({12, 2}, 1)),
                                         graph.add_constant("b", random_tensor({12}, 2))});
      const auto r = graph.add_constant("r", random_tensor({12, 3}, 3));
      graph.add_output(graph.add_node("layer", op, {gates, r, ir::kAbsent, h, c}));
      const auto bytes = export_circle(graph, CircleFlavor::kTflite);
      EXPECT_TRUE(is_plain(unpacked(bytes)));
      expect_same_function(import_circle(bytes), graph);
    }
  }
}

TEST(CircleConv, WritesABiasThatTheNetworkLacks) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 4, 4, 2}));
  const auto w = graph.add_constant("w", random_tensor({3, 2, 2, 2}, 1));
  graph.add_output(graph.add_node("conv", ir::Conv{ir::plain_window(2)}, {x, w}));
  const schema::ModelT model = unpacked(export_circle(graph, CircleFlavor::kTflite));
  const schema::OperatorT& op = *model.subgraphs[0]->operators.at(0);
  ASSERT_GE(op.inputs.at(2), 0);
  EXPECT_THAT(model.subgraphs[0]->tensors.at(static_cast<std::size_t>(op.inputs[2]))->shape,
              testing::ElementsAre(3));
}

}  // namespace
}  // namespace halftone::formats::circle
