// SPDX-License-Identifier: Apache-2.0
// Networks of 8-bit integers as C give the codes of the runtime.
#include "halftone/export_c/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::export_c {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::Shape;
using ir::ValueId;

class IntegerExport : public testing::WithPrograms {
 protected:
  ir::Tensor codes(const Shape& shape) {
    return ir::test::uniform_tensor(shape, random_, -128, 128).cast(ElementType::kInt8);
  }
  ValueId input(const Shape& shape) {
    return graph_.add_input("x", ir::dense_type(ElementType::kInt8, shape));
  }
  /// A layer of sums with a bias, and its codes.
  ValueId layer(ValueId x, const ir::Operator& op, const Shape& w, ir::Requantize codes_of_sums) {
    const ValueId weights = graph_.add_constant("w", codes(w));
    const ValueId bias = graph_.add_constant(
        "b", ir::test::uniform_tensor({w[0]}, random_, -3e4, 3e4).cast(ElementType::kInt32));
    const ValueId sums = graph_.add_node("layer", op, {x, weights, bias});
    return graph_.add_node("codes", std::move(codes_of_sums), {sums});
  }
  /// Multipliers around one that spreads the codes, one for each output.
  std::vector<double> multipliers(std::size_t count) {
    std::vector<double> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(0.0002 + 0.002 * random_.uniform());
    return all;
  }
  void expect_conv(const ir::Conv& conv, const Shape& x, const Shape& w,
                   ir::CodeRounding rounding) {
    graph_ = {};
    ir::Requantize codes{multipliers(static_cast<std::size_t>(w[0])), -3};
    codes.rounding = rounding;
    graph_.add_output(layer(input(x), conv, w, codes));
    expect_runs(graph_);
  }

  Random random_{7};
  ir::Graph graph_;
};

TEST_F(IntegerExport, ConvolutionsOfAllWindows) {
  const auto twice = ir::CodeRounding::kTwice;
  ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}, {-7, {}}};
  expect_conv(conv, {1, 5, 6, 3}, {4, 3, 3, 3}, twice);
  expect_conv(conv, {1, 5, 6, 3}, {4, 3, 3, 3}, ir::CodeRounding::kHalfAway);
  expect_conv(conv, {1, 5, 6, 3}, {4, 3, 3, 3}, ir::CodeRounding::kHalfEven);
  conv.window.strides = {2, 3};
  conv.window.pads_before = {2, 1};
  expect_conv(conv, {1, 7, 9, 5}, {3, 4, 2, 5}, twice);
  conv.window.dilations = {2, 1};
  expect_conv(conv, {1, 7, 9, 5}, {3, 3, 2, 5}, twice);
  ir::Conv groups{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, {}, {5, {}}};
  expect_conv(groups, {1, 4, 4, 6}, {4, 3, 3, 3}, twice);
  groups.groups = 6;
  expect_conv(groups, {1, 4, 4, 6}, {6, 3, 3, 1}, twice);
  expect_conv(groups, {1, 4, 4, 6}, {12, 3, 3, 1}, twice);
  const ir::Conv line{{{2}, {1}, {1}, {0}}, 1, {}, {9, {}}};
  expect_conv(line, {1, 9, 4}, {5, 3, 4}, twice);
}

TEST_F(IntegerExport, FullyConnectedRows) {
  ir::FullyConnected dense;
  dense.zero_points.x = 12;
  for (const auto rounding : {ir::CodeRounding::kTwice, ir::CodeRounding::kHalfAway}) {
    graph_ = {};
    ir::Requantize codes{{0.0011}, 4, ElementType::kInt8, -100, 90};
    codes.rounding = rounding;
    graph_.add_output(layer(input({ir::kBatch, 3, 21}), dense, {9, 21}, codes));
    expect_runs(graph_);
  }
}

/// Weights less zero points fit a byte, or do not.
TEST_F(IntegerExport, ZeroPointsOfWeights) {
  for (const std::int32_t zero : {1, -90}) {
    graph_ = {};
    ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}, {-7, {0, 3, zero}}};
    expect_conv(conv, {1, 5, 6, 4}, {3, 3, 3, 4}, ir::CodeRounding::kTwice);
    conv.groups = 3;
    expect_conv(conv, {1, 5, 6, 3}, {3, 3, 3, 1}, ir::CodeRounding::kHalfEven);
    ir::FullyConnected dense;
    dense.zero_points = {12, {zero}};
    graph_ = {};
    ir::Requantize codes{{0.0011}, 4, ElementType::kInt8, -100, 90};
    codes.rounding = ir::CodeRounding::kTwice;
    graph_.add_output(layer(input({1, 3, 21}), dense, {6, 21}, codes));
    expect_runs(graph_);
  }
  ir::Graph few;  // small weights with a zero point are bytes
  const ValueId x = few.add_input("x", ir::dense_type(ElementType::kInt8, {1, 3}));
  const ValueId w = few.add_constant("w", ir::test::counting({2, 3}).cast(ElementType::kInt8));
  ir::FullyConnected op;
  op.zero_points.w = {1};
  ir::Requantize codes{{0.5}};
  codes.rounding = ir::CodeRounding::kTwice;
  few.add_output(few.add_node("codes", codes, {few.add_node("dense", op, {x, w})}));
  const CSources sources = export_network(few, {});
  EXPECT_EQ(sources.report.layers[0].kernel, "ht_dense_i8");
  expect_runs(sources);
}

TEST_F(IntegerExport, PoolsTablesAndSoftmax) {
  const ValueId x = input({1, 6, 5, 3});
  const ir::Window window{{2, 2}, {1, 1}, {1, 0}, {1, 1}};
  const ValueId largest = graph_.add_node("max", ir::Pool{ir::PoolKind::kMax, {3, 2}, window}, {x});
  const ValueId mean =
      graph_.add_node("mean", ir::Pool{ir::PoolKind::kAverage, {3, 2}, window}, {x});
  ir::Lookup square{ElementType::kInt8, {}};
  for (int q = -128; q < 128; ++q) square.table.push_back(q * q % 100 - 50);
  graph_.add_output(graph_.add_node("square", square, {largest}));
  const ValueId powers = graph_.add_node("softmax", ir::Softmax{3, 0.05F, false}, {mean});
  for (const auto rounding : {ir::CodeRounding::kHalfAway, ir::CodeRounding::kHalfEven}) {
    graph_.add_output(graph_.add_node(
        "codes", ir::QuantizeLinear{{{1.0F / 256}, {-128}}, ElementType::kInt8, rounding},
        {powers}));
  }
  graph_.add_output(graph_.add_node("numbers", ir::DequantizeLinear{{{0.25F}, {3}}}, {mean}));
  expect_runs(graph_);
}

/// numerics::multiply((q - zero) 2^20, m), as passes::use_integer_binary() makes it.
ir::Lookup operand(std::int32_t zero, double m) {
  ir::Lookup lookup{ElementType::kInt32, {}};
  for (std::int32_t q = -128; q < 128; ++q) {
    lookup.table.push_back(
        numerics::multiply((q - zero) * (1 << 20), numerics::fixed_multiplier(m)));
  }
  return lookup;
}

TEST_F(IntegerExport, SumsAndDifferencesOfCodes) {
  for (const auto kind : {ir::BinaryKind::kAdd, ir::BinaryKind::kSub}) {
    for (const double m : {0.5, 0.3711, 0.0421, 0.49999}) {
      graph_ = {};
      const ValueId x = input({1, 3, 3, 40});
      const ValueId y = graph_.add_input("y", ir::dense_type(ElementType::kInt8, {1, 3, 3, 40}));
      const ValueId a = graph_.add_node("a", operand(-5, 0.5), {x});
      const ValueId b = graph_.add_node("b", operand(31, m), {y});
      const ValueId sum = graph_.add_node("sum", ir::Binary{kind, {}}, {a, b});
      ir::Requantize codes{{1.7 / (1 << 20)}, -20, ElementType::kInt8, -20, 127};
      codes.rounding = ir::CodeRounding::kTwice;
      graph_.add_output(graph_.add_node("codes", codes, {sum}));
      expect_runs(graph_);
    }
  }
}

ir::Lookup centred(std::int32_t zero) {
  ir::Lookup lookup{ElementType::kInt32, {}};
  for (std::int32_t q = -128; q < 128; ++q) lookup.table.push_back(q - zero);
  return lookup;
}

TEST_F(IntegerExport, ProductsAndMeansOfCodes) {
  const ValueId x = input({1, 4, 5, 6});
  const ValueId y = graph_.add_input("y", ir::dense_type(ElementType::kInt8, {1, 4, 5, 6}));
  const ValueId a = graph_.add_node("a", centred(-5), {x});
  const ValueId b = graph_.add_node("b", centred(31), {y});
  const ValueId product = graph_.add_node("product", ir::Binary{ir::BinaryKind::kMul, {}}, {a, b});
  ir::Requantize codes{{0.0123}, 7};
  codes.rounding = ir::CodeRounding::kTwice;
  graph_.add_output(graph_.add_node("codes", codes, {product}));
  const ValueId sums =
      graph_.add_node("sums", ir::Reduce{ir::ReduceKind::kSum, {1, 2}, false}, {a});
  ir::Requantize mean{{1.234}, -9};
  mean.rounding = ir::CodeRounding::kTwice;
  mean.count = 20;
  graph_.add_output(graph_.add_node("mean", mean, {sums}));
  expect_runs(graph_);
}

TEST_F(IntegerExport, MovesOfBytes) {
  const ValueId x = input({1, 3, 4, 5});
  const ValueId turned = graph_.add_node("turned", ir::Transpose{{0, 3, 1, 2}}, {x});
  const ValueId flat = graph_.add_node("flat", ir::Reshape{{1, 60}}, {turned});
  const ValueId some = graph_.add_node("some", ir::Slice{1, 50, -3, 12}, {flat});
  graph_.add_output(graph_.add_node("both", ir::Concat{1}, {some, flat}));
  const ValueId edge = graph_.add_constant("edge", ir::test::tensor<std::int8_t>({}, {-9}));
  graph_.add_output(graph_.add_node(
      "padded", ir::Pad{ir::PadMode::kConstant, {0, 1, 0, 2}, {0, 0, 3, 1}}, {x, edge}));
  expect_runs(graph_);
}

/// Codes from 0 to 255 are shifted by 128, where they cross the border too.
TEST_F(IntegerExport, UnsignedCodes) {
  const ValueId x = graph_.add_input("x", ir::dense_type(ElementType::kUint8, {1, 5, 6, 4}));
  const ir::Tensor w = ir::test::uniform_tensor({4, 3, 3, 4}, random_, 0, 255);
  const ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}, {130, {120}}};
  const ValueId sums =
      graph_.add_node("conv", conv, {x, graph_.add_constant("w", w.cast(ElementType::kUint8))});
  const ValueId codes = graph_.add_node(
      "codes", ir::Requantize{{0.000712345}, 90, ElementType::kUint8, 90, 255}, {sums});
  const ir::Window window{{2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const ValueId most =
      graph_.add_node("max", ir::Pool{ir::PoolKind::kMax, {2, 2}, window}, {codes});
  const ValueId edges =
      graph_.add_node("edges", ir::Pad{ir::PadMode::kConstant, {0, 1, 0, 0}, {0, 0, 2, 0}}, {most});
  ir::Lookup half{ElementType::kUint8, {}};
  for (std::int32_t q = 0; q < 256; ++q) half.table.push_back(q / 2);
  const ValueId halves = graph_.add_node("half", half, {edges});
  const ValueId floats = graph_.add_node("floats", ir::DequantizeLinear{{{0.1F}, {7}}}, {halves});
  graph_.add_output(
      graph_.add_node("again", ir::QuantizeLinear{{{0.3F}, {9}}, ElementType::kUint8}, {floats}));
  graph_.add_output(graph_.add_node("powers", ir::Softmax{3, 0.02F}, {edges}));
  graph_.add_output(graph_.add_node("largest", ir::ArgReduce{3}, {edges}));
  expect_runs(export_network(graph_, {.pointers = true}));
  graph_.add_output(x);
  const ValueId wide = graph_.add_input("wide", ir::dense_type(ElementType::kInt64, {1, 2, 3}));
  graph_.add_output(graph_.add_node("turned", ir::Transpose{{0, 2, 1}}, {wide}));
  expect_runs(graph_);
}

TEST_F(IntegerExport, MeansOfUnsignedCodes) {
  const ValueId x = graph_.add_input("x", ir::dense_type(ElementType::kUint8, {1, 5, 6, 4}));
  const ir::Pool mean{ir::PoolKind::kAverage, {2, 3}, {{2, 2}, {1, 1}, {1, 0}, {0, 1}}};
  const ValueId means = graph_.add_node("mean", mean, {x});
  graph_.add_output(means);
  graph_.add_output(graph_.add_node("turned", ir::Transpose{{0, 2, 1, 3}}, {means}));
  expect_runs(graph_);
}

}  // namespace
}  // namespace halftone::export_c
