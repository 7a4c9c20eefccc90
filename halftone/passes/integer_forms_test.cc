// SPDX-License-Identifier: Apache-2.0
// The rewrites of use_integers() except layers, which use_integers_test.cc tests.
#include <functional>
#include <map>

#include "halftone/passes/testing.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::CodeRounding;
using ir::ElementType;
using ir::ValueId;
using test::operators;
using testing::ElementsAre;

constexpr auto kInt8 = ElementType::kInt8;
const ir::AffineParameters kHalf{{0.5F}, {3}, 0};
const ir::AffineParameters kFifth{{0.2F}, {-7}, 0};

/// Builds the operators between the conversions.
using Middle = std::function<ValueId(ir::Graph&, ValueId)>;

struct Between {
  ir::AffineParameters before = kHalf;
  ir::AffineParameters after = kHalf;
  CodeRounding rounding = CodeRounding::kHalfEven;
  ir::Shape shape = {4, 64};
};

/// q -> Dequantize -> middle -> Quantize.
ir::Graph graph_of(const Between& between, const Middle& middle) {
  ir::Graph graph;
  const ValueId q = graph.add_input("q", ir::dense_type(kInt8, between.shape));
  const ValueId x = graph.add_node("x", ir::DequantizeLinear{between.before}, {q});
  const ir::QuantizeLinear quantize{between.after, kInt8, between.rounding};
  graph.add_output(graph.add_node("p", quantize, {middle(graph, x)}));
  return graph;
}

Middle only(const ir::Operator& op) {
  return [op](ir::Graph& graph, ValueId x) { return graph.add_node("op", op, {x}); };
}

/// Every code, in mixed order.
std::vector<ir::Tensor> every_code(const ir::Shape& shape) {
  ir::Tensor codes(ElementType::kInt32, shape);
  std::int32_t next = 0;
  for (std::int32_t& q : codes.as<std::int32_t>()) q = (83 * next++) % 256 - 128;
  return ir::test::list(codes.cast(kInt8));
}

/// Runs the pass and expects equal codes, up to `steps`.
std::vector<std::string> rewritten(const Between& between, const Middle& middle, int steps = 0) {
  const ir::Graph before = graph_of(between, middle);
  ir::Graph after = before;
  use_integers(after);
  ir::verify(after);
  EXPECT_EQ(after.value(after.outputs()[0]).name, "p");
  const auto inputs = every_code(between.shape);
  const auto found = ir::test::run_reference(after, inputs);
  const auto wanted = ir::test::run_reference(before, inputs);
  for (std::size_t i = 0; i < wanted[0].size(); ++i) {
    EXPECT_NEAR(found[0].as<std::int8_t>()[i], wanted[0].as<std::int8_t>()[i], steps) << i;
  }
  return operators(after);
}

TEST(UseTable, HoldsTheValuesOfAnyFunction) {
  for (const auto kind : {ActivationKind::kTanh, ActivationKind::kRelu, ActivationKind::kErf}) {
    const Between between{.after = kFifth};
    EXPECT_THAT(rewritten(between, only(ir::Unary{{kind, 0, 0}})), ElementsAre("Lookup"));
  }
  const Middle two = [](ir::Graph& graph, ValueId x) {
    const ValueId y = graph.add_node("exp", ir::Unary{{ActivationKind::kExp, 0, 0}}, {x});
    return graph.add_node("floor", ir::Unary{{ActivationKind::kFloor, 0, 0}}, {y});
  };
  EXPECT_THAT(rewritten({}, two), ElementsAre("Lookup"));
}

TEST(UseTable, KeepsFunctionsWithOtherReaders) {
  const Middle shown = [](ir::Graph& graph, ValueId x) {
    const ValueId y = graph.add_node("tanh", ir::Unary{{ActivationKind::kTanh, 0, 0}}, {x});
    graph.add_node("other", ir::Unary{{ActivationKind::kExp, 0, 0}}, {y});
    return y;
  };
  ir::Graph graph = graph_of({}, shown);
  graph.add_output(graph.node(graph.consumers(graph.inputs()[0])[0]).output);
  EXPECT_FALSE(use_integers(graph));
}

TEST(UseTable, DisappearsBetweenEqualCodes) {
  const Middle stays = only(ir::Reshape{{64, 4}});
  EXPECT_THAT(rewritten({}, stays), ElementsAre("Reshape"));
  EXPECT_THAT(rewritten({.rounding = CodeRounding::kHalfAway}, stays), ElementsAre("Reshape"));
  EXPECT_THAT(rewritten({.after = kFifth}, stays), ElementsAre("Lookup", "Reshape"));
}

TEST(ReadCodesLater, KeepsTheValuesOfMovesAndComparisons) {
  const Between image{.shape = {1, 8, 8, 4}};
  ir::Pool pool{ir::PoolKind::kMax, {3, 3}, ir::plain_window(2)};
  pool.window.pads_before = pool.window.pads_after = {1, 1};
  const ir::Resize twice{1, 16, 2};
  const std::map<std::string, ir::Operator> cases = {
      {"Transpose", ir::Transpose{{0, 3, 1, 2}}},
      {"Slice", ir::Slice{2, 1, 3, 2}},
      {"MaxPool", pool},
      {"Reduce", ir::Reduce{ir::ReduceKind::kMax, {1}}},
      {"Resize", twice},
      {"Pad", ir::Pad{ir::PadMode::kConstant, {0, 1, 0, 0}, {0, 0, 2, 0}}},
  };
  for (const auto& [name, op] : cases) {
    const auto found = rewritten(image, only(op));
    EXPECT_EQ(found.size(), 1U) << name;
    EXPECT_EQ(found[0], ir::name_of(op));
  }
  const Middle joined = [](ir::Graph& graph, ValueId x) {
    return graph.add_node("joined", ir::Concat{1}, {x, x});
  };
  EXPECT_THAT(rewritten(image, joined), ElementsAre("Concat"));
  EXPECT_THAT(rewritten({.after = kFifth, .shape = {1, 8, 8, 4}}, joined),
              ElementsAre("Concat", "Lookup"));
}

TEST(ReadCodesLater, KeepsIndicesAndConditionsWhereTheyAre) {
  const Middle gathered = [](ir::Graph& graph, ValueId x) {
    const std::vector<std::int64_t> last = {63, 0, 5, 1};
    const ValueId at = graph.add_constant("at", ir::test::tensor<std::int64_t>({4, 1}, last));
    return graph.add_node("op", ir::GatherElements{1}, {x, at});
  };
  EXPECT_THAT(rewritten({}, gathered), ElementsAre("GatherElements"));
  const Middle chosen = [](ir::Graph& graph, ValueId x) {
    const std::vector<std::uint8_t> rows = {1, 0, 0, 1};
    const ir::Tensor condition =
        ir::test::tensor<std::uint8_t>({4, 1}, rows).cast(ElementType::kBool);
    const ValueId turned = graph.add_node("turned", ir::Slice{1, 63, -1, 64}, {x});
    return graph.add_node("op", ir::Where{},
                          {graph.add_constant("condition", condition.clone()), turned, x});
  };
  EXPECT_THAT(rewritten({}, chosen), ElementsAre("Slice", "Where"));
}

TEST(ReadCodesLater, KeepsWindowsInThePadding) {
  ir::Pool pool{ir::PoolKind::kMax, {1, 1}, ir::plain_window(2)};
  pool.window.pads_before = {1, 0};
  ir::Graph graph = graph_of({.shape = {1, 8, 8, 4}}, only(pool));
  EXPECT_FALSE(use_integers(graph));
}

TEST(ReadCodesLater, NeedsACodeForThePadding) {
  const auto padded = [](float number) -> Middle {
    return [number](ir::Graph& graph, ValueId x) {
      const ValueId value = graph.add_constant("value", ir::test::floats({}, {number}));
      return graph.add_node("op", ir::Pad{ir::PadMode::kConstant, {1, 0}, {0, 0}}, {x, value});
    };
  };
  EXPECT_THAT(rewritten({}, padded(1.5F)), ElementsAre("Pad"));
  EXPECT_EQ(rewritten({}, padded(0.3F)).size(), 3U);
  EXPECT_EQ(rewritten({}, padded(1000)).size(), 3U);
}

TEST(QuantizeBeforeConcat, ConvertsEachPartFromItsScale) {
  const Middle parts = [](ir::Graph& graph, ValueId x) {
    const ValueId q = graph.add_constant("c", every_code({4, 64})[0].clone());
    const ValueId y = graph.add_node("y", ir::DequantizeLinear{kFifth}, {q});
    return graph.add_node("joined", ir::Concat{1}, {x, y});
  };
  EXPECT_THAT(rewritten({}, parts), ElementsAre("Lookup", "Lookup", "Concat"));
}

TEST(UseIntegers, ComputesSumsAndMeansOnlyForTensorFlowLite) {
  const Between image{.after = kFifth, .shape = {1, 8, 8, 4}};
  const Middle mean = only(ir::Reduce{ir::ReduceKind::kMean, {1, 2}});
  const Middle sum = [](ir::Graph& graph, ValueId x) {
    return graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {x, x});
  };
  const Middle softmax = only(ir::Softmax{3});
  for (const Middle& middle : {mean, sum, softmax}) EXPECT_EQ(rewritten(image, middle).size(), 3U);
  Between meant = image;
  meant.rounding = CodeRounding::kHalfAway;
  EXPECT_THAT(rewritten(meant, mean, 1), ElementsAre("Lookup", "Reduce", "Requantize"));
  EXPECT_THAT(rewritten(meant, sum, 1), ElementsAre("Lookup", "Lookup", "Add", "Requantize"));
  EXPECT_THAT(rewritten(meant, softmax, 1), ElementsAre("Softmax", "QuantizeLinear"));
}

TEST(UseIntegers, PoolsMeansOfCodesOfOneScale) {
  const ir::Pool pool{ir::PoolKind::kAverage, {2, 2}, ir::plain_window(2)};
  Between image{.rounding = CodeRounding::kHalfAway, .shape = {1, 8, 8, 4}};
  EXPECT_THAT(rewritten(image, only(pool), 1), ElementsAre("AveragePool"));
  const Middle bounded = [&pool](ir::Graph& graph, ValueId x) {
    const ValueId y = graph.add_node("pool", pool, {x});
    return graph.add_node("relu", ir::Unary{{ActivationKind::kRelu6, 0, 0}}, {y});
  };
  EXPECT_THAT(rewritten(image, bounded, 1), ElementsAre("AveragePool", "Lookup"));
  image.after = kFifth;
  EXPECT_EQ(rewritten(image, only(pool)).size(), 3U);
}

// 1e12 cannot be represented by a 31-bit multiplier and a shift.
TEST(UseIntegers, KeepsScalesWithoutMultiplier) {
  const Middle product = [](ir::Graph& graph, ValueId x) {
    return graph.add_node("product", ir::Binary{ir::BinaryKind::kMul, {}}, {x, x});
  };
  const Between far{.after = {{1e-12F}, {0}, 0}, .rounding = CodeRounding::kHalfAway};
  EXPECT_EQ(rewritten(far, product).size(), 3U);
}

}  // namespace
}  // namespace halftone::passes
