// SPDX-License-Identifier: Apache-2.0
// Operators that operator_cases_test.cc does not compare: refusals, limits, devices, levels.
#include "halftone/train/graph/torch_operators.h"

#include <ATen/ATen.h>

#include <limits>

#include "halftone/ir/operators_page.h"
#include "halftone/train/graph/testing.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::BinaryKind;
using ir::test::expect_error;

FixedInput places(std::vector<float> numbers) {
  return {1, ir::ElementType::kInt64, std::move(numbers)};
}

TEST(TorchUnary, ReachesTheLimitsOfBoundedFunctions) {
  for (const ir::ActivationTraits& traits : ir::activation_table()) {
    const Activation function{traits.kind, 0.1F, 0.7F};
    if (!is_differentiable(function)) continue;
    expect_defined({ir::Unary{function}, {{4, 3}}, false, {}, 5});
  }
}

TEST(TorchUnary, HasNoSlopeWhereItIsFlat) {
  using Kind = ActivationKind;
  for (const Kind kind : {Kind::kFloor, Kind::kCeil, Kind::kRound, Kind::kSign, Kind::kSignBit,
                          Kind::kNot, Kind::kIsNan, Kind::kIsInf}) {
    EXPECT_FALSE(is_differentiable(ir::Operator(ir::Unary{{kind}}))) << to_string(kind);
    EXPECT_FALSE(is_differentiable(ir::Operator(ir::FullyConnected{{kind}})));
  }
}

TEST(TorchBinary, HasTheGradientsOfTheTable) {
  for (const ir::BinaryTraits& traits : ir::binary_table()) {
    EXPECT_EQ(is_differentiable(ir::Operator(ir::Binary{traits.kind, {}})),
              is_differentiable(traits.kind))
        << traits.name;
  }
  EXPECT_FALSE(is_differentiable(ir::Operator(ir::Cast{ir::ElementType::kInt32})));
}

TEST(TorchIndexing, RefusesPlacesOutOfRange) {
  const OperatorCase cases[] = {
      {ir::Gather{0}, {{3, 2}, {2}}, false, {places({0, 3})}},
      {ir::GatherElements{0}, {{3, 2}, {1, 2}}, false, {places({0, -4})}},
      {ir::GatherND{}, {{3, 2}, {1, 2}}, false, {places({3, 0})}},
      {ir::ScatterElements{0}, {{3}, {1}, {1}}, false, {places({3})}},
      {ir::ScatterND{}, {{3}, {1, 1}, {1}}, false, {places({-4})}},
  };
  for (const OperatorCase& test : cases) {
    const OneNode node = one_node(test);
    const TorchGraph graph(node.graph);
    expect_error(ErrorKind::kShape, " is out of range for an extent of 3",
                 [&] { forward(graph, node.inputs); });
    expect_error(ErrorKind::kShape, "node 'node' (" + std::string(name_of(test.op)) + "): index ",
                 [&] { forward(graph, node.inputs); });
  }
  const OneNode node =
      one_node({ir::ReverseSequence{0, 1}, {{2, 4}, {2}}, false, {places({5, 2})}});
  const TorchGraph graph(node.graph);
  expect_error(ErrorKind::kShape, "sequence lengths: expected 0 to 4",
               [&] { forward(graph, node.inputs); });
}

TEST(ComputeOperator, RefusesWhatHasNoGradient) {
  const TorchInputs inputs({at::ones({2}), at::ones({2})});
  const ir::Operator refused[] = {ir::TopK{}, ir::Unary{{ActivationKind::kFloor}},
                                  ir::Binary{BinaryKind::kLess, {}}};
  for (const ir::Operator& op : refused) {
    EXPECT_FALSE(is_differentiable(op));
    expect_error(ErrorKind::kInternal, std::string(name_of(op)) + " has no libtorch operator",
                 [&] { compute_operator(op, inputs); });
  }
}

/// Like a GPU, libtorch's meta device rejects operators that mix tensors of two devices. It does
/// not support index_select() either.
TEST(ComputeOperator, StaysOnItsDevice) {
  const OneNode pool = one_node(
      {ir::Pool{ir::PoolKind::kAverage, {2, 2}, {{2, 2}, {1, 1}, {0, 0}, {0, 1}}}, {{2, 4, 4, 3}}});
  const TorchGraph graph(pool.graph, at::kFloat, at::kMeta);
  const std::vector<at::Tensor> inputs{to_torch(pool.inputs[0])};
  EXPECT_TRUE(graph.forward(inputs)[0].is_meta());
}

TEST(TorchEncode, OverflowsWhereTheSystemDoes) {
  const std::vector<float> numbers = {0.3F, 447, 464, 465, -465, -1e9F, 1e9F, std::nanf("")};
  numerics::MatrixEncoding encoding = empty_encoding(numerics::find_system("e4m3_nan"), 8,
                                                     {numerics::Granularity::kTensor, 0}, 1, 8);
  encoding.set_scale(0, 1);
  const at::Tensor found = nearest_levels(encoding, at::tensor(numbers));
  const numerics::LevelTable table(encoding.levels(0));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float expected =
        numerics::round_to_nearest(numerics::kE4M3, numbers[i], numerics::Overflow::kSpecial);
    const float y = found[static_cast<std::int64_t>(i)].item<float>();
    EXPECT_TRUE(y == expected || (std::isnan(y) && std::isnan(expected))) << numbers[i];
  }
}

TEST(TorchEncode, GivesTheNearestLevels) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {-5,   -2, -1.99F, -0.1F,    0,         0.1F,
                                      2.1F, 3,  99,     infinity, -infinity, std::nanf("")};
  ir::Graph source;
  const ir::ValueId x = source.add_input("x", ir::test::float_type({12}));
  source.add_output(source.add_node("encode", ir::Encode{ir::test::odd_encoding()}, {x}));
  const TorchGraph graph(source);
  const auto inputs = ir::test::list(ir::test::floats({12}, numbers));
  const auto found = graph.forward(std::vector{at::tensor(numbers)});
  const auto expected = ir::test::run_reference(source, inputs);
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(found[0][i].item<float>(), expected[0].as<float>()[static_cast<std::size_t>(i)]) << i;
  }
  expect_defined({ir::Encode{ir::test::odd_encoding(), kTanh}, {{20}}, false, {}, 3});
}

TEST(TorchOperatorsPage, NamesOperatorsWithAGradient) {
  ir::test::expect_operator_column("libtorch",
                                   [](const ir::Operator& op) { return is_differentiable(op); });
}

}  // namespace
}  // namespace halftone::train
