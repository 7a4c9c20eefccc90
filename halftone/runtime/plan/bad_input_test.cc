// SPDX-License-Identifier: Apache-2.0
// Layers that do not occur in practice: without inputs or outputs, with one or a prime number of
// them, or too large for any memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "halftone/base/testing.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using numerics::Granularity;
using testing::WeightFormat;

/// An implementation of a fully connected layer.
struct Family {
  std::string kernel;
  std::optional<int> x_bits;
  std::optional<WeightFormat> w;
  bool int8_activations = true;
  float tolerance = 1e-4F;
};

std::vector<Family> families() {
  constexpr auto kGroup = Granularity::kGroup;
  return {
      {testing::float_kernel(), {}, {}},
      {"xnor_popcount", 2, WeightFormat{2, true}},
      {"xnor_popcount", 3, WeightFormat{1, true}, false},
      {"xnor_popcount", 1, WeightFormat{4, false}, false},
      {"fixed_order_f32", 2, WeightFormat{3, true, kGroup, 16}, false},
      {"int8_levels", {}, WeightFormat{2, true}, true, 0.3F},
      {"int8_levels", 4, WeightFormat{1, true, kGroup, 5}, true, 0.3F},
      {"int8_levels", {}, WeightFormat{4, true}, true, 0.3F},
      {"int8_levels", 3, WeightFormat{4, true}, true, 0.3F},
      {"int8_levels", 8, WeightFormat{3, true, kGroup, 32}, true, 0.3F},
  };
}

ir::Graph layer_graph(const Family& family, std::size_t n, std::size_t o) {
  Random random(31);
  ir::Graph graph;
  const auto inputs = static_cast<ir::Dim>(n);
  const auto outputs = static_cast<ir::Dim>(o);
  ir::ValueId x = graph.add_input("x", float_type({ir::kBatch, inputs}));
  if (family.x_bits) {
    const auto encoding = testing::activation_encoding(*family.x_bits, true, random);
    x = graph.add_node("encode", ir::Encode{encoding}, {x});
  }
  const auto w = family.w
                     ? graph.add_constant("w", testing::random_weights(o, n, *family.w, random))
                     : graph.add_constant("w", testing::random_tensor({outputs, inputs}, random));
  const auto bias = graph.add_constant("bias", testing::random_tensor({outputs}, random));
  const ir::Activation activation{ir::ActivationKind::kTanh};
  graph.add_output(graph.add_node("dense", ir::FullyConnected{activation}, {x, w, bias}));
  return graph;
}

class BadInput : public ::testing::TestWithParam<std::size_t> {};

TEST_P(BadInput, LayersOfZeroOneAndPrimeSizesMatchReference) {
  const Family family = families()[GetParam()];
  for (const std::size_t n : {0U, 1U, 2U, 3U, 7U, 31U, 67U, 131U}) {
    for (const std::size_t o : {0U, 1U, 2U, 7U, 37U}) {
      for (const std::size_t batch : {1U, 2U, 13U}) {
        SCOPED_TRACE(family.kernel + " " + std::to_string(batch) + " x " + std::to_string(n) +
                     " x " + std::to_string(o));
        const PlanSettings options{.batch = batch,
                                   .execution = {.int8_activations = family.int8_activations}};
        const auto graph = layer_graph(family, n, o);
        const auto plan = testing::expect_reference_result(graph, options, family.tolerance, n + o);
        if (n > 60 && o > 30 && batch > 2) {
          EXPECT_EQ(plan->steps().back().kernel, family.kernel);
        }
      }
    }
  }
}

TEST_P(BadInput, BatchesLargerThanMemoryAreRejectedBeforeAllocating) {
  const Family family = families()[GetParam()];
  constexpr std::size_t kBatch = std::size_t{1} << 31;
  const auto plan =
      make_plan(layer_graph(family, 67, 397),
                {.batch = kBatch, .execution = {.int8_activations = family.int8_activations}});
  EXPECT_GE(plan->arena_bytes(), kBatch * (67 + 397) * sizeof(float));
  expect_error(ErrorKind::kMemory,
               "a session of batch 2147483648, its values: " + std::to_string(plan->arena_bytes()) +
                   " bytes of memory are needed, ",
               [&] { Session session(plan); });
}

INSTANTIATE_TEST_SUITE_P(Families, BadInput, ::testing::Range(std::size_t{0}, families().size()),
                         [](const auto& test) {
                           return families()[test.param].kernel + std::to_string(test.param);
                         });

TEST(BadInput, BatchesBeyondTheLimitOfAShapeAreRejectedByThePlan) {
  const auto refuse = [](std::size_t batch, const std::string& text) {
    expect_error(ErrorKind::kShape, text,
                 [&] { make_plan(layer_graph({}, 67, 397), {.batch = batch}); });
  };
  refuse(std::size_t{1} << 40, "shape [1099511627776, 67]: expected at most 2^40 elements");
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();  // the value of kBatch
  for (const std::size_t batch : {(std::size_t{1} << 40) + 1, kMax / 2 + 1, kMax}) {
    refuse(batch, "batch: expected at most 2^40 samples, found " + std::to_string(batch));
  }
}

TEST(BadInput, OtherOperatorsRunOnEmptyTensors) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 0}));
  const auto gelu = graph.add_node("gelu", ir::Unary{{ir::ActivationKind::kGelu}}, {x});
  const auto abs = graph.add_node("abs", ir::Unary{{ir::ActivationKind::kAbs}}, {gelu});
  const auto sum = graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {abs, x});
  const auto soft = graph.add_node("softmax", ir::Softmax{1}, {sum});
  graph.add_output(graph.add_node("transpose", ir::Transpose{{1, 0}}, {soft}));
  testing::expect_reference_result(graph, {.batch = 3}, 0);
}

}  // namespace
}  // namespace halftone::runtime
