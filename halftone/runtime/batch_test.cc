// SPDX-License-Identifier: Apache-2.0
// What a layer computes follows from its encodings and its attribute: a sample has the same bits in
// every batch, whatever the costs, for every pair of encodings.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "halftone/base/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::runtime {
namespace {

using testing::graph_of;
using testing::kSamples;
using testing::layer_of;
using testing::LayerCase;
using testing::run_in_batches;
using testing::same_bits;
using testing::with_arithmetic;

class SampleInABatch : public ::testing::TestWithParam<LayerCase> {};

TEST_P(SampleInABatch, HasTheSameBitsForEveryPairOfBits) {
  Random random(62);
  const ir::Tensor samples = testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for (int w_bits = 1; w_bits <= numerics::kMaxBits; ++w_bits) {
    for (int x_bits = 0; x_bits <= numerics::kMaxBits; ++x_bits) {
      for (const bool int8 : {true, false}) {
        SCOPED_TRACE(std::to_string(w_bits) + "/" + std::to_string(x_bits) + (int8 ? " int8" : ""));
        const ir::Graph graph = graph_of(GetParam(), w_bits, x_bits);
        PlanSettings options{.batch = kSamples, .execution = {.int8_activations = int8}};
        const auto expected = run_in_batches(graph, options, samples.as<float>());
        for (const std::size_t batch : {1U, 2U, 7U}) {
          options.batch = batch;
          EXPECT_TRUE(same_bits(run_in_batches(graph, options, samples.as<float>()), expected))
              << "batch " << batch;
        }
      }
    }
  }
}

TEST_P(SampleInABatch, HasTheSameBitsWhateverTheCosts) {
  Random random(64);
  const ir::Tensor samples = testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for (int w_bits = 1; w_bits <= numerics::kMaxBits; ++w_bits) {
    for (int x_bits = 0; x_bits <= numerics::kMaxBits; ++x_bits) {
      SCOPED_TRACE(std::to_string(w_bits) + "/" + std::to_string(x_bits));
      const ir::Graph graph = graph_of(GetParam(), w_bits, x_bits);
      for (const std::size_t batch : {1U, 7U, 64U}) {
        PlanSettings options{.batch = batch, .threads = 2};
        const auto expected = run_in_batches(graph, options, samples.as<float>());
        for (const Core core : {Core::kAvx2, Core::kAvx512, Core::kAvx512Amd}) {
          const ReplacedCosts costs(core);
          EXPECT_TRUE(same_bits(run_in_batches(graph, options, samples.as<float>()), expected))
              << "costs " << static_cast<int>(core) << ", batch " << batch;
        }
      }
    }
  }
}

TEST_P(SampleInABatch, IsComputedInTheArithmeticOfTheAttribute) {
  Random random(65);
  const ir::Tensor samples = testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for (const int w_bits : {1, 3, 8}) {
    for (const int x_bits : {0, 2, 8}) {
      for (const auto arithmetic : {ir::Arithmetic::kAuto, ir::Arithmetic::kBits,
                                    ir::Arithmetic::kIntegers, ir::Arithmetic::kFloat}) {
        const ir::Graph graph = with_arithmetic(graph_of(GetParam(), w_bits, x_bits), arithmetic);
        if (ir::why_not(arithmetic, graph, layer_of(graph))) continue;
        SCOPED_TRACE(std::to_string(w_bits) + "/" + std::to_string(x_bits) + " " +
                     std::string(to_string(arithmetic)));
        for (const bool int8 : {true, false}) {
          PlanSettings options{.batch = kSamples, .execution = {.int8_activations = int8}};
          const ir::Arithmetic computed = *ir::arithmetic_of(graph, layer_of(graph), int8);
          EXPECT_TRUE(computes(make_plan(graph, options)->steps().back().arithmetic, computed));
          const auto expected = run_in_batches(graph, options, samples.as<float>());
          options.batch = 7;
          EXPECT_TRUE(same_bits(run_in_batches(graph, options, samples.as<float>()), expected));
          const auto stated = with_arithmetic(graph, computed);
          EXPECT_TRUE(same_bits(run_in_batches(stated, options, samples.as<float>()), expected))
              << "a layer without the attribute is not computed as the rule says";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, SampleInABatch, ::testing::ValuesIn(testing::layer_cases()),
                         [](const auto& layer) { return layer.param.name; });

TEST(ReplacedCosts, ChangeTheKernel) {
  const ir::Graph graph = graph_of(testing::layer_cases().front(), 4, 0);
  std::set<std::string_view> kernels;
  for (const Core core : {Core::kAvx2, Core::kAvx512, Core::kAvx512Amd}) {
    const ReplacedCosts costs(core);
    for (const std::size_t batch : {1U, 64U}) {
      kernels.insert(make_plan(graph, {.batch = batch})->steps().back().body.variant);
    }
  }
  EXPECT_GT(kernels.size(), 1U);
}

TEST(ArithmeticOfALayer, IsNotReplacedIfNoKernelHasIt) {
  Random random(66);
  constexpr auto kInputs = static_cast<ir::Dim>(ir::kMaxIntegerInputs) + 1;
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, kInputs}));
  const auto w = graph.add_constant(
      "w", testing::random_weights(2, static_cast<std::size_t>(kInputs), {8, true}, random));
  graph.add_output(graph.add_node("wide", ir::FullyConnected{}, {x, w}));
  EXPECT_NO_THROW(make_plan(graph, {}));
  const ir::Graph integers = with_arithmetic(graph, ir::Arithmetic::kIntegers);
  EXPECT_NO_THROW(make_plan(integers, {.execution = {.int8_activations = false}}));
  expect_error(
      ErrorKind::kUnsupported,
      "node 'wide' (FullyConnected): arithmetic integers: no kernel computes it: more than "
      "65536 inputs; quantize the layer with the arithmetic auto",
      [&] { make_plan(integers, {}); });
}

TEST(ArithmeticOfALayer, DoesNotDependOnTheLayerBesideIt) {
  Random random(63);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 40}));
  const auto codes =
      graph.add_node("encode", ir::Encode{testing::activation_encoding(2, true, random)}, {x});
  for (const int bits : {2, 8}) {
    const auto w = graph.add_constant(std::to_string(bits),
                                      testing::random_weights(16, 40, {bits, true}, random));
    graph.add_output(
        graph.add_node(std::to_string(bits) + "-bit", ir::FullyConnected{}, {codes, w}));
  }
  for (const std::size_t batch : {1U, 64U}) {
    const auto plan = testing::expect_reference_result(graph, {.batch = batch}, 0.1F);
    for (const PlanStep& step : plan->steps()) {
      if (step.op != "FullyConnected") continue;
      EXPECT_EQ(step.arithmetic,
                step.name == "2-bit" ? KernelArithmetic::kBits : KernelArithmetic::kIntegers);
    }
  }
}

}  // namespace
}  // namespace halftone::runtime
