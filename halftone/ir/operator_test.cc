// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/operator.h"

#include <memory>

#include "halftone/ir/operator_table.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::expect_error;
using test::float_type;
using test::infer;

struct Row {
  Operator op;
  std::string name;
  std::string attributes;
  std::size_t min_inputs;
  std::size_t max_inputs;
};

/// A loop of three iterations.
Loop loop() {
  static const auto body = std::make_shared<const Graph>();
  return {body, false, 3, {{}}, {true, false}, {{}, {}}};
}

/// One row per operator, in the order of the variant.
std::vector<Row> table() {
  const Activation tanh{ActivationKind::kTanh};
  const AffineParameters per_tensor{{0.5F}, {3}, 0};
  return {
      {FullyConnected{tanh}, "FullyConnected", "activation=Tanh", 2, 3},
      {MatMul{true, true}, "MatMul", "transpose_a transpose_b", 2, 2},
      {Conv{plain_window(2), 2}, "Conv", "groups=2", 2, 4},
      {ConvTranspose{plain_window(1), {0}}, "ConvTranspose", "", 2, 3},
      {Pool{PoolKind::kMax, {2}, plain_window(1)}, "MaxPool", "kernel=2", 1, 1},
      {Recurrent{}, "Recurrent", "LSTM", 2, 7},
      {Unary{tanh}, "Tanh", "", 1, 1},
      {Binary{BinaryKind::kMul, tanh}, "Mul", "activation=Tanh", 2, 2},
      {Where{}, "Where", "", 3, 3},
      {Cast{ElementType::kInt8}, "Cast", "int8", 1, 1},
      {Reshape{{kBatch, 4}}, "Reshape", "[N, 4]", 1, 1},
      {Transpose{{1, 0}}, "Transpose", "1 0", 1, 1},
      {Concat{1}, "Concat", "axis=1", 1, 1024},
      {Slice{1, 2, -1, 3}, "Slice", "axis=1 begin=2 step=-1 count=3", 1, 1},
      {Softmax{1, 2, true}, "Softmax", "axis=1 beta=2.000000 log", 1, 1},
      {Encode{test::odd_encoding()}, "Encode", "basis(2 bits, tensor)", 1, 1},
      {FakeQuantize{&numerics::find_system("mxfp4"), 4, {numerics::Granularity::kGroup, 32}},
       "FakeQuantize", "mxfp4(4 bits, groups of 32)", 1, 1},
      {QuantizeLinear{per_tensor, ElementType::kUint8}, "QuantizeLinear",
       "uint8 scale=0.500000 zero_point=3", 1, 1},
      {DequantizeLinear{{{1, 2}, {0, 0}, 1}}, "DequantizeLinear", "2 scales along axis 1", 1, 1},
      {Requantize{{0.5}, 3}, "Requantize", "int8 multiplier=0.500000 zero_point=3", 1, 1},
      {Lookup{ElementType::kInt32, std::vector<std::int32_t>(256, 7)}, "Lookup",
       "int32 from 7 to 7", 1, 1},
      {Reduce{ReduceKind::kLogSumExp, {0, 2}, true}, "Reduce", "LogSumExp axes=0 2 keep", 1, 1},
      {ArgReduce{1, false, true, true}, "ArgReduce", "smallest axis=1 last keep", 1, 1},
      {CumSum{1, true, true}, "CumSum", "axis=1 exclusive reverse", 1, 1},
      {Gather{1}, "Gather", "axis=1", 2, 2},
      {GatherElements{1}, "GatherElements", "axis=1", 2, 2},
      {GatherND{1}, "GatherND", "batch_dims=1", 2, 2},
      {ScatterElements{1, Scatter::kAdd}, "ScatterElements", "axis=1 add", 3, 3},
      {ScatterND{Scatter::kMax}, "ScatterND", "max", 3, 3},
      {OneHot{1, 4}, "OneHot", "axis=1 depth=4", 2, 2},
      {TopK{1, 3, false}, "TopK", "3 smallest axis=1", 1, 1},
      {Pad{PadMode::kEdge, {0, 1}, {2, 0}}, "Pad", "edge before=0 1 after=2 0", 1, 2},
      {BroadcastTo{{kBatch, 4}}, "BroadcastTo", "[N, 4]", 1, 1},
      {Tile{{1, 2}}, "Tile", "1 2", 1, 1},
      {ReverseSequence{0, 1}, "ReverseSequence", "batch_axis=0 time_axis=1", 2, 2},
      {Resize{1, 4, 2}, "Resize", "nearest axis=1 count=4 scale=2.000000", 1, 1},
      {GridSample{Interpolation::kCubic, Surroundings::kReflection, true}, "GridSample",
       "cubic reflection align_corners", 2, 2},
      {Normalize{{1}, 0.5F, false}, "Normalize", "axes=1 epsilon=0.500000 around zero", 1, 1},
      {LocalNormalize{1, 2, 2}, "LocalNormalize",
       "axis=1 before=2 after=2 alpha=1.000000 beta=0.500000 bias=1.000000", 1, 1},
      {AppendRows{CacheNumbers::kInt8, 3}, "AppendRows", "int8 heads=3", 4, 4},
      {Attention{6, 2, 0.5F, 30, 8}, "Attention",
       "heads=6/2 scale=0.500000 softcap=30.000000 window=8", 3, 6},
      {Rotary{3, 4, RotaryPairing::kInterleaved}, "Rotary", "heads=3 dims=4 neighbours", 4, 4},
      {ExpertProduct{{ActivationKind::kSilu}, Arithmetic::kGroups}, "ExpertProduct",
       "activation=Silu arithmetic=groups", 3, 3},
      {ShortConvolution{{ActivationKind::kSilu}, RecurrenceForm::kRows}, "ShortConvolution",
       "activation=Silu form=rows", 2, 6},
      {SelectiveScan{2, RecurrenceForm::kState}, "SelectiveScan", "channel_groups=2 form=state", 6,
       9},
      {GatedDelta{3}, "GatedDelta", "key_heads=3", 5, 8},
      {loop(), "Loop", "trips=3 states=2 slices=1 stacks=2", 1, 4096},
      {LoopResult{ElementType::kInt8, {2, 3}, 8}, "LoopResult", "int8[2, 3] offset=8", 1, 1},
      {NonZero{}, "NonZero", "", 1, 1},
      {NonMaxSuppression{3, 0.5F, 0.25F, true}, "NonMaxSuppression",
       "max_per_class=3 iou_threshold=0.500000 score_threshold=0.250000 centers", 2, 5},
      {Unique{1, false, UniqueResult::kInverse}, "Unique", "axis=1 inverse", 1, 1},
      {MaxPoolIndex{{2}, plain_window(1)}, "MaxPoolIndex", "kernel=2", 1, 1},
      {RoiAlign{2, 3, 1, 0.5F, true, true}, "RoiAlign",
       "2x3 samples=1 scale=0.500000 half_pixel largest", 3, 3},
      {MaxRoiPool{2, 3, 0.5F}, "MaxRoiPool", "2x3 scale=0.500000", 3, 3},
      {Determinant{}, "Determinant", "", 1, 1},
  };
}

TEST(Operator, TableCoversEveryAlternativeOnce) {
  const std::vector<Row> rows = table();
  ASSERT_EQ(rows.size(), std::variant_size_v<Operator>);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].op.index(), i);
}

TEST(Operator, HasNameAndAttributes) {
  for (const Row& row : table()) {
    EXPECT_EQ(name_of(row.op), row.name);
    EXPECT_EQ(attributes_of(row.op), row.attributes);
  }
  EXPECT_EQ(attributes_of(FullyConnected{}), "");
  EXPECT_EQ(attributes_of(Binary{BinaryKind::kAdd, {}}), "");
  EXPECT_EQ(attributes_of(Unary{{ActivationKind::kClip, -1, 2}}), "alpha=-1.000000 beta=2.000000");
  EXPECT_EQ(attributes_of(Softmax{2}), "axis=2");
}

TEST(Operator, EqualityComparesAttributes) {
  const std::vector<Row> rows = table();
  const std::vector<Row> again = table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) EXPECT_EQ(rows[i].op == again[j].op, i == j);
  }
  EXPECT_NE(Operator(Slice{0, 1, 1, 2}), Operator(Slice{0, 1, 1, 3}));
  EXPECT_NE(Operator(Unary{{ActivationKind::kLeakyRelu, 0.1F}}),
            Operator(Unary{{ActivationKind::kLeakyRelu, 0.2F}}));
}

TEST(Operator, RejectsWrongNumbersOfInputs) {
  for (const Row& row : table()) {
    for (const std::size_t count : {std::size_t{0}, row.min_inputs - 1, row.max_inputs + 1}) {
      const std::vector<ValueType> types(count, float_type({2, 2}));
      expect_error(ErrorKind::kShape,
                   "expected " + std::to_string(row.min_inputs) + " to " +
                       std::to_string(row.max_inputs) + " inputs, found " + std::to_string(count),
                   [&] { infer(row.op, types); });
    }
    const std::vector<const ValueType*> absent(row.min_inputs, nullptr);
    expect_error(ErrorKind::kShape, "input 0 is absent", [&] { infer_output(row.op, absent); });
  }
  const ValueType type = float_type({2, 2});
  const std::vector<const ValueType*> hole = {&type, nullptr};
  expect_error(ErrorKind::kShape, "input 1 is absent", [&] { infer_output(Concat{0}, hole); });
}

TEST(Operator, BoundsEveryExtent) {
  const Dim huge = Dim{1} << 62;
  for (const Row& row : table()) {
    for (const Shape& shape : {Shape{huge, huge}, Shape{-huge, 2}, Shape{0, huge}}) {
      const std::vector<ValueType> types(row.min_inputs, float_type(shape));
      expect_error(ErrorKind::kShape, "expected at most 2^40 elements",
                   [&] { infer(row.op, types); });
    }
  }
  expect_error(ErrorKind::kShape, "expected at most 2^40 elements", [] {
    infer(MatMul{}, {float_type({Dim{1} << 30, 1}), float_type({1, Dim{1} << 30})});
  });
  EXPECT_EQ(test::infer_shape(Softmax{1}, {{kBatch, Dim{1} << 40}}).rank(), 2u);
}

TEST(Operator, EvaluateChecksItsInputs) {
  const Tensor x = test::counting({2, 3});
  const Tensor y = test::counting({4});
  expect_error(ErrorKind::kShape, "do not broadcast", [&] {
    test::evaluate(Binary{BinaryKind::kAdd, {}}, x, y);
  });
  expect_error(ErrorKind::kShape, "input 1 is absent", [&] {
    evaluate_operator(Binary{}, std::vector<const Tensor*>{&x, nullptr});
  });
}

using Asked = int (*)();

TEST(OperatorTable, FindsTheFunctionsOfItsFamilies) {
  const OperatorEntry<Asked> first[] = {{operator_index<Reduce>(), [] { return 1; }},
                                        {operator_index<CumSum>(), [] { return 2; }}};
  const OperatorEntry<Asked> second[] = {{operator_index<Softmax>(), [] { return 3; }}};
  const OperatorTable<Asked> table = {first, second};
  EXPECT_EQ(table[Reduce{}](), 1);
  EXPECT_EQ(table[CumSum{1}](), 2);
  EXPECT_EQ(table[Softmax{1}](), 3);
  EXPECT_EQ(table[Conv{}], nullptr);
}

}  // namespace
}  // namespace halftone::ir
