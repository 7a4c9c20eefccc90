// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/decode_codes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/ir/rounding_nodes.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/test_data.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::ValueId;

std::shared_ptr<const numerics::MatrixEncoding> shared(numerics::MatrixEncoding encoding) {
  return std::make_shared<const numerics::MatrixEncoding>(std::move(encoding));
}

/// x [N, 10] through one operator.
ir::Graph graph_of(ir::Operator op, const ir::Shape& shape = {ir::kBatch, 10}) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type(shape));
  graph.add_output(graph.add_node("round", std::move(op), {x}, "y"));
  return graph;
}

/// Random numbers of many magnitudes, with a sample of zeros, and numbers exactly on thresholds.
ir::Tensor numbers_of(ir::Shape shape, std::span<const float> thresholds = {}) {
  ir::Tensor x = ir::test::random_tensor(std::move(shape), 5);
  const auto values = x.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>(i % 7) - 3);
  }
  for (std::size_t i = 0; i < thresholds.size() && i < values.size(); ++i) {
    values[i] = thresholds[i];
  }
  const std::size_t last = static_cast<std::size_t>(x.shape().back());
  std::fill(values.end() - static_cast<std::ptrdiff_t>(last), values.end(), 0.0F);
  return x;
}

/// Expects a decoded graph of plain operators that gives the same numbers.
/// @param tolerance  relative to the largest input; 0: the same bits
void expect_decodes(const ir::Graph& graph, const ir::Tensor& x, float tolerance) {
  ir::Graph decoded = graph;
  ASSERT_TRUE(decode_codes(decoded));
  for (const std::string& name : test::operators(decoded)) {
    EXPECT_TRUE(name != "Encode" && name != "FakeQuantize") << name;
  }
  EXPECT_EQ(decoded.value(decoded.outputs()[0]).name, "y");
  const auto expected = ir::test::run_reference(graph, ir::test::list(x.clone()));
  const auto found = ir::test::run_reference(decoded, ir::test::list(x.clone()));
  if (tolerance == 0) {
    EXPECT_EQ(ir::test::numbers(found[0]), ir::test::numbers(expected[0]));
  } else {
    const auto [low, high] = std::ranges::minmax(x.as<float>());
    ir::test::expect_near(found, expected, tolerance * std::max(-low, high));
  }
  EXPECT_FALSE(decode_codes(decoded));
}

TEST(DecodeCodes, RoundsActivationsToTheSameLevels) {
  Random random(3);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    const auto basis = numerics::tensor_encoding(numerics::random_basis(random, bits, true));
    const numerics::LevelTable table(basis.levels(0));
    expect_decodes(graph_of(ir::Encode{shared(basis)}), numbers_of({40, 10}, table.thresholds()),
                   0);
  }
}

TEST(DecodeCodes, RoundsToLevelsOfEveryTable) {
  for (const auto& [name, bits] :
       {std::pair{"affine", 4}, std::pair{"int_narrow", 3}, std::pair{"ternary", 2},
        std::pair{"nf4", 4}, std::pair{"e4m3", 8}, std::pair{"posit", 6}}) {
    numerics::MatrixEncoding encoding = numerics::empty_encoding(
        numerics::find_system(name), bits, {numerics::Granularity::kTensor, 0}, 1, 1);
    encoding.set_scale(0, 0.37, encoding.has_offset ? -0.8 : 0);
    const numerics::LevelTable table(encoding.levels(0));
    expect_decodes(graph_of(ir::Encode{shared(encoding)}), numbers_of({40, 10}, table.thresholds()),
                   0);
  }
}

TEST(DecodeCodes, KeepsWhatOverflows) {
  for (const char* name : {"e4m3_nan", "e5m2_nan"}) {
    numerics::MatrixEncoding encoding = numerics::empty_encoding(
        numerics::find_system(name), 8, {numerics::Granularity::kTensor, 0}, 1, 1);
    encoding.set_scale(0, 1);
    const ir::Graph graph = graph_of(ir::Encode{shared(encoding)});
    ir::Graph decoded = graph;
    ASSERT_TRUE(decode_codes(decoded));
    const ir::Tensor x = ir::test::floats(
        {1, 10}, {1e9F, -1e9F, 448, 470, -470, 57344, 60000, 65000, 0.3F, -0.001F});
    const auto expected = ir::test::run_reference(graph, ir::test::list(x.clone()));
    const auto found = ir::test::run_reference(decoded, ir::test::list(x.clone()));
    ir::test::expect_near(found, expected, 0, name);
  }
}

TEST(DecodeCodes, ComputesScalesAtRunTime) {
  // Roundings: of the scale (twice for a range), the quotient, the product and the sum, each within
  // half a unit of the last place of the block's range, up to twice its largest magnitude. A number
  // next to a threshold might take another level; none here does.
  constexpr float kRounding = 5 * 2 * 0x1p-24F;
  for (const auto& [name, bits, tolerance] :
       {std::tuple{"int", 8, kRounding}, std::tuple{"affine", 4, kRounding},
        std::tuple{"bfp", 5, 0.0F}, std::tuple{"mxfp4", 4, 0.0F}, std::tuple{"nvfp4", 4, kRounding},
        std::tuple{"fixed", 6, 0.0F}, std::tuple{"posit", 8, kRounding},
        std::tuple{"fp16", 16, 0.0F}, std::tuple{"int", 12, kRounding}}) {
    for (const numerics::BlockShape blocks :
         {numerics::BlockShape{numerics::Granularity::kTensor, 0},
          numerics::BlockShape{numerics::Granularity::kChannel, 0},
          numerics::BlockShape{numerics::Granularity::kGroup, 4},
          numerics::BlockShape{numerics::Granularity::kGroup, 16}}) {
      const ir::FakeQuantize op{&numerics::find_system(name), bits, blocks};
      SCOPED_TRACE(attributes(op));
      expect_decodes(graph_of(op), numbers_of({6, 10}), tolerance);
      expect_decodes(graph_of(op, {ir::kBatch, 3, 20}), numbers_of({6, 3, 20}), tolerance);
    }
  }
  const ir::FakeQuantize row{
      &numerics::find_system("mxint8"), 8, {numerics::Granularity::kGroup, 8}};
  expect_decodes(graph_of(row, {20}), numbers_of({20}), 0);
}

TEST(DecodeCodes, DecodesWeightsOnceAndForgetsTheArithmetic) {
  Random random(8);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6}));
  const auto encoding = shared(numerics::tensor_encoding(numerics::random_basis(random, 2, true)));
  const ir::Tensor values = ir::test::random_tensor({6, 6}, 9);
  const ValueId w = graph.add_constant(
      "w",
      ir::EncodedTensor{{6, 6}, encoding, numerics::encode({values.as<float>(), 6, 6}, *encoding)});
  ir::FullyConnected layer;
  layer.arithmetic = ir::Arithmetic::kIntegers;
  const ValueId a = graph.add_node("a", layer, {x, w, ir::kAbsent});
  graph.add_output(graph.add_node("b", layer, {a, w, ir::kAbsent}, "y"));
  const ir::Graph before = graph;
  ASSERT_TRUE(decode_codes(graph));
  const auto order = graph.topological_order();
  EXPECT_EQ(graph.node(order[0]).inputs[1], graph.node(order[1]).inputs[1]);
  EXPECT_EQ(*ir::arithmetic(graph.node(order[0]).op), ir::Arithmetic::kAuto);
  EXPECT_TRUE(graph.value(graph.node(order[0]).inputs[1]).type.encoding.is_dense());
  ir::test::expect_same_function(graph, before, {.tolerance = 1e-5F});
}

TEST(DecodeBytes, DecodesWeightsOfEightBitsWhoseLayersReadFloats) {
  ir::Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6}));
  const ir::Tensor values = ir::test::random_tensor({6, 6}, 9);
  const auto add = [&](const std::string& name, int bits) {
    numerics::MatrixEncoding encoding = numerics::empty_encoding(
        numerics::find_system("int"), bits, {numerics::Granularity::kTensor, 0}, 6, 6);
    encoding.scales.set(0, 1.0F / 64);
    const auto stored = shared(std::move(encoding));
    const ValueId w = graph.add_constant(
        name + "/w",
        ir::EncodedTensor{{6, 6}, stored, numerics::encode({values.as<float>(), 6, 6}, *stored)});
    x = graph.add_node(name, ir::FullyConnected{}, {x, w, ir::kAbsent});
  };
  add("bytes", 8);
  add("few", 4);
  graph.add_output(x);
  const ir::Graph before = graph;
  decode_bytes(graph);
  EXPECT_EQ(layers_in_codes(graph), (std::vector<std::string>{"few"}));
  EXPECT_EQ(layers_in_codes(before), (std::vector<std::string>{"bytes", "few"}));
  ir::test::expect_same_function(graph, before, {.tolerance = 1e-5F});
}

TEST(DecodeCodes, NamesWhatItCannotDecode) {
  const ir::FakeQuantize factors{
      &numerics::find_system("int_k"), 4, {numerics::Granularity::kGroup, 16}};
  ir::Graph graph = graph_of(factors);
  expect_error(ErrorKind::kUnsupported,
               "cannot be decoded: roundings whose scales share factors within a row: 'round'",
               [&] { decode_codes(graph); });
}

TEST(DecodeCodes, NamesRecurrentLayersWithStatesInCodes) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5, 4}));
  const ValueId w = graph.add_constant("r", ir::test::random_tensor({4, 4}, 3));
  ir::Recurrent rnn;
  rnn.kind = ir::RecurrentKind::kRnn;
  rnn.batch_major = true;
  rnn.activations[0] = {ir::ActivationKind::kTanh};
  rnn.state_encoding = ir::test::odd_encoding();
  graph.add_output(graph.add_node("rnn", rnn, {x, w}));
  expect_error(ErrorKind::kUnsupported,
               "cannot be decoded: recurrent layers whose states are in codes, which no standard "
               "operator rounds: 'rnn'; keep their activations float (activation_bits = \"none\")",
               [&] { decode_codes(graph); });
}

/// The nodes that round to levels, and the levels of some numbers.
struct Rounded {
  std::vector<std::string> operators;
  std::vector<float> levels;
};

Rounded rounded(const char* system, int bits, float scale, std::span<const float> numbers) {
  auto encoding = std::make_shared<numerics::MatrixEncoding>();
  encoding->bits = bits;
  encoding->codebook = numerics::codebook_of(numerics::find_system(system), bits);
  encoding->scales = numerics::StoredNumbers::of({&scale, 1});
  ir::Graph graph;
  const ir::Shape shape{static_cast<ir::Dim>(numbers.size())};
  const ValueId x = graph.add_input("x", ir::test::float_type(shape));
  graph.add_output(add_encode(graph, "round", ir::Encode{encoding}, x));
  const auto y = ir::test::run_reference(graph, ir::test::list(ir::Tensor::from(shape, numbers)));
  return {test::operators(graph), ir::test::elements<float>(y[0])};
}

TEST(StepFunction, RoundsEvenlySpacedLevelsByArithmetic) {
  const std::vector<float> numbers = {-9, -1.6F, -0.26F, -0.25F, 0, 0.24F, 0.26F, 0.75F, 1.3F, 9};
  const std::vector<std::string> whole = {"Div", "Round", "Clip", "Mul"};
  const Rounded narrow = rounded("int_narrow", 3, 0.5F, numbers);
  EXPECT_EQ(narrow.levels, (std::vector<float>{-1.5F, -1.5F, -0.5F, 0, 0, 0, 0.5F, 1, 1.5F, 1.5F}));
  const Rounded full = rounded("int", 3, 0.5F, numbers);
  EXPECT_EQ(full.operators, whole);
  EXPECT_EQ(full.levels, (std::vector<float>{-2, -1.5F, -0.5F, 0, 0, 0, 0.5F, 1, 1.5F, 1.5F}));
  const Rounded odd = rounded("symmetric", 2, 0.5F, numbers);  // -1.5, -0.5, 0.5, 1.5
  EXPECT_EQ(odd.operators, (std::vector<std::string>{"Div", "Floor", "Clip", "Add", "Mul"}));
}

TEST(StepFunction, RoundsFewOtherLevelsByASum) {
  const std::vector<float> numbers = {-9, -0.3F, 0, 0.1F, 0.9F, 9};
  const Rounded pot = rounded("pot", 3, 1, numbers);
  EXPECT_EQ(std::ranges::count(pot.operators, "Gather"), 0);
  EXPECT_EQ(std::ranges::count(pot.operators, "Greater"), 6);
  const Rounded many = rounded("e4m3", 8, 1, numbers);
  EXPECT_GT(std::ranges::count(many.operators, "Gather"), 0);
}

TEST(StepFunction, TakesAnyNumberOfValues) {
  for (std::size_t count = 1; count <= 9; ++count) {
    std::vector<float> thresholds;
    std::vector<float> values = {-1};
    for (std::size_t i = 1; i < count; ++i) {
      thresholds.push_back(static_cast<float>(i));
      values.push_back(static_cast<float>(10 * i));
    }
    ir::Graph graph;
    const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5}));
    graph.add_output(add_step_function(graph, "f", x, thresholds, values));
    const auto y = ir::test::run_reference(
        graph, ir::test::list(ir::test::floats({1, 5}, {-3, 1, 1.5F, 4, 1e30F})));
    std::vector<float> expected;
    for (const float at : {-3.0F, 1.0F, 1.5F, 4.0F, 1e30F}) {
      std::size_t below = 0;
      for (const float threshold : thresholds) below += threshold < at ? 1U : 0U;
      expected.push_back(values[below]);
    }
    EXPECT_EQ(ir::test::elements<float>(y[0]), expected);
  }
}

}  // namespace
}  // namespace halftone::passes
