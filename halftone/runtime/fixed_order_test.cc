// SPDX-License-Identifier: Apache-2.0
// Float32 layers whose sums have a fixed order: no part of them runs on oneDNN.
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/kernels/conv/float_conv.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ActivationKind;
using ir::Shape;
using ir::test::float_type;

/// One layer with constant weights and bias.
struct FixedOrderCase {
  std::string name;
  ir::Operator op;
  Shape x;
  Shape w{};  ///< rank 0: no weights
  std::string kernel = "fixed_order_f32";
  int bits = 0;  ///< of the input's codes; 0: dense
};

ir::Graph fixed_order_graph(const FixedOrderCase& test) {
  Random random(23);
  ir::Graph graph;
  std::vector<ir::ValueId> inputs = {graph.add_input("x", float_type(test.x))};
  if (test.bits != 0) {
    const ir::Encode encode{testing::activation_encoding(test.bits, true, random)};
    inputs[0] = graph.add_node("encode", encode, {inputs[0]});
  }
  if (test.w.rank() != 0) {
    const Shape bias{test.w[0]};
    inputs.push_back(graph.add_constant("w", testing::random_tensor(test.w, random)));
    inputs.push_back(graph.add_constant("bias", testing::random_tensor(bias, random)));
  }
  graph.add_output(graph.add_node("node", test.op, inputs));
  return graph;
}

class FixedOrder : public ::testing::TestWithParam<FixedOrderCase> {};

TEST_P(FixedOrder, MatchesReferenceOnAnyNumberOfThreads) {
  const FixedOrderCase& test = GetParam();
  const ir::Graph graph = fixed_order_graph(test);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{5}}) {
    PlanSettings options{
        .batch = batch,
        .execution = {.int8_activations = false, .float_order = FloatOrder::kFixed}};
    // At most 400 terms of about 1, each rounded in as many sums.
    const auto plan = testing::expect_reference_result(graph, options, 400 * 400 * 0x1p-24F, batch);
    EXPECT_EQ(testing::kernel_of(*plan), test.kernel);
    Random random(3);
    const auto inputs = testing::random_inputs(plan->graph(), random);
    const auto expected = Session(plan).run(inputs);
    for (options.threads = 2; options.threads <= 3; ++options.threads) {
      Session session(make_plan(graph, options));
      EXPECT_TRUE(testing::same_bytes(session.run(inputs), expected)) << options.threads;
    }
  }
}

ir::Window window(std::vector<ir::Dim> strides, std::vector<ir::Dim> dilations,
                  std::vector<ir::Dim> before, std::vector<ir::Dim> after) {
  return {std::move(strides), std::move(dilations), std::move(before), std::move(after)};
}

std::vector<FixedOrderCase> fixed_order_cases() {
  const auto n = ir::kBatch;
  const ir::Activation relu{ActivationKind::kRelu};
  const ir::Window padded = window({1, 1}, {1, 1}, {1, 1}, {1, 1});
  const ir::Window uneven = window({2, 1}, {1, 2}, {0, 1}, {1, 3});
  const ir::Window line = window({1}, {1}, {2}, {2});
  const ir::Window space = window({1, 1, 2}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1});
  const ir::Window far = window({1, 1}, {1, 1 << 25}, {0, 1 << 25}, {0, 1 << 25});
  ir::Pool rounded{ir::PoolKind::kMax, {3, 3}, window({2, 2}, {1, 1}, {0, 0}, {0, 0})};
  rounded.round_up = true;
  ir::Pool cut = rounded;
  cut.kind = ir::PoolKind::kAverage;
  cut.count_padding = true;
  return {
      {"Dense", ir::FullyConnected{relu}, {n, 300}, {37, 300}},
      {"DenseRows", ir::FullyConnected{{ActivationKind::kTanh}}, {n, 70, 33}, {20, 33}},
      {"DenseOfCodes", ir::FullyConnected{}, {n, 90}, {37, 90}, "fixed_order_f32", 2},
      {"DenseOfMany", ir::FullyConnected{}, {n, 300}, {2000, 300}},
      {"Conv", ir::Conv{padded, 1, relu}, {n, 9, 7, 12}, {20, 3, 3, 12}},
      {"ConvLarge", ir::Conv{padded, 1, relu}, {n, 40, 40, 16}, {24, 3, 3, 16}},
      {"ConvPlain", ir::Conv{ir::plain_window(2), 1, {}}, {n, 5, 7, 12}, {20, 1, 1, 12}},
      {"ConvUneven", ir::Conv{uneven, 1, {ActivationKind::kSilu}}, {n, 9, 7, 4}, {5, 3, 2, 4}},
      {"ConvGroups", ir::Conv{padded, 3, relu}, {n, 5, 7, 12}, {18, 3, 3, 4}},
      {"ConvDepthwise", ir::Conv{padded, 18, relu}, {n, 5, 7, 18}, {18, 3, 3, 1}},
      {"ConvLine", ir::Conv{line, 1, relu}, {n, 30, 4}, {5, 5, 4}},
      {"ConvSpace", ir::Conv{space, 1, relu}, {n, 4, 5, 6, 3}, {5, 2, 2, 3, 3}},
      {"ConvOfCodes", ir::Conv{padded, 1, {}}, {n, 9, 7, 12}, {20, 3, 3, 12}, "fixed_order_f32", 2},
      {"ConvOfFarTaps", ir::Conv{far, 1, {}}, {n, 2, 3, 4}, {2, 1, 3, 4}, "reference"},
      {"MaxPool", ir::Pool{ir::PoolKind::kMax, {3, 2}, uneven}, {n, 9, 70, 5}},
      {"MaxPoolRounded", rounded, {n, 8, 8, 70}},
      {"AveragePool", ir::Pool{ir::PoolKind::kAverage, {3, 3}, padded}, {n, 60, 40, 70}},
      {"AveragePoolPadded", ir::Pool{ir::PoolKind::kAverage, {3, 3}, padded, true}, {n, 8, 8, 70}},
      {"AveragePoolCut", cut, {n, 8, 8, 3}, {}, "reference"},
      {"AveragePoolLine", ir::Pool{ir::PoolKind::kAverage, {5}, line}, {n, 9, 3}},
  };
}

INSTANTIATE_TEST_SUITE_P(Layers, FixedOrder, ::testing::ValuesIn(fixed_order_cases()),
                         [](const auto& layer) { return layer.param.name; });

TEST(FixedOrder, OfADenseLayerIsThatOfItsInputs) {
  Random random(23);
  const FixedOrderCase test{"", ir::FullyConnected{}, {ir::kBatch, 300}, {37, 300}};
  const auto w = testing::random_tensor(test.w, random);
  const auto bias = testing::random_tensor({37}, random);
  const auto x = testing::random_tensor({4, 300}, random);
  std::vector<float> expected(4 * 37);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = bias.as<float>()[i % 37];
  kernels::float_matmul_reference({x.as<float>(), 4, 300}, {w.as<float>(), 37, 300},
                                  MatrixView<float>(expected, 4, 37));
  Session session(make_plan(fixed_order_graph(test),
                            {.batch = 4, .execution = {.float_order = FloatOrder::kFixed}}));
  std::ranges::copy(x.as<float>(), session.input_as<float>(0).begin());
  session.run();
  const ir::Tensor y = session.output_tensor(0);
  EXPECT_TRUE(std::ranges::equal(y.as<float>(), expected));
}

TEST(FixedOrder, IsOffByDefault) {
  const FixedOrderCase test{"", ir::FullyConnected{}, {ir::kBatch, 300}, {37, 300}};
  const auto plan = make_plan(fixed_order_graph(test), {.batch = 4});
  EXPECT_EQ(testing::kernel_of(*plan), testing::float_kernel());
}

}  // namespace
}  // namespace halftone::runtime
