// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/text.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::HasSubstr;
using testing::Not;

/// y = x w for w [inputs, outputs], a constant behind DequantizeLinear. Each row of x has a single
/// 1, so y has the rows of w.
class Weight {
 public:
  Weight(std::int32_t type, const ir::Shape& shape, const std::vector<int>& values,
         std::int64_t opset = 21)
      : model_(opset), inputs_(shape[0]) {
    model_.input("x", {-1, shape[0]}).output("y");
    model_.initializer("w", codes(type, shape, values));
  }

  Weight& scales(const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
    model_.floats("s", dims, values);
    return *this;
  }
  Weight& zeros(std::int32_t type, const ir::Shape& shape, const std::vector<int>& values) {
    model_.initializer("z", codes(type, shape, values));
    has_zeros_ = true;
    return *this;
  }
  Weight& axis(std::int64_t axis, std::int64_t block_size = 0) {
    axis_ = axis;
    block_size_ = block_size;
    return *this;
  }
  TestModel& model() {
    std::vector<std::string> inputs{"w", "s"};
    if (has_zeros_) inputs.emplace_back("z");
    NodeProto& node = model_.node("DequantizeLinear", inputs, {"f"});
    set(node, "axis", axis_);
    if (block_size_ != 0) set(node, "block_size", block_size_);
    model_.node("MatMul", {"x", "f"}, {"y"});
    return model_;
  }
  /// Checks the numbers of w, and that the text of the graph contains `form`.
  void expect(const std::string& form, const std::vector<float>& values) {
    const ir::Graph graph = model().import();
    EXPECT_THAT(ir::to_text(graph), HasSubstr(form));
    ir::Tensor x(ir::ElementType::kFloat32, {inputs_, inputs_});
    for (ir::Dim i = 0; i < inputs_; ++i) {
      x.as<float>()[static_cast<std::size_t>(i * inputs_ + i)] = 1;
    }
    EXPECT_EQ(numbers(run_reference(graph, list(std::move(x)))[0]), values);
  }

 private:
  TestModel model_;
  ir::Dim inputs_;
  std::int64_t axis_ = 1;
  std::int64_t block_size_ = 0;
  bool has_zeros_ = false;
};

TEST(QuantizedWeight, BlocksOfInputsBecomeGroups) {
  Weight(TensorProto::INT4, {5, 2}, {-8, 7, 1, 2, 3, 4, 5, 6, -1, -2})
      .scales({3, 2}, {1, 10, 2, 20, 0.5F, 4})
      .axis(0, 2)
      .expect("int(4 bits, groups of 2)[2, 5]", {-8, 70, 1, 20, 6, 80, 10, 120, -0.5F, -8});
}

TEST(QuantizedWeight, ZeroPointsBecomeOffsets) {
  Weight(TensorProto::UINT4, {2, 2}, {0, 15, 8, 3})
      .scales({2}, {1, 0.5F})
      .zeros(TensorProto::UINT4, {2}, {2, 8})
      .axis(1)
      .expect("affine(4 bits", {-2, 3.5F, 6, -2.5F});
  Weight(TensorProto::INT4, {2, 1}, {-8, 7})
      .scales({}, {2})
      .zeros(TensorProto::INT4, {}, {-3})
      .expect("affine(4 bits, tensor", {-10, 20});
}

TEST(QuantizedWeight, UnsignedIntegersAboutTheirMiddleAreSigned) {
  Weight(TensorProto::UINT4, {2, 1}, {0, 15})
      .scales({1}, {2})
      .zeros(TensorProto::UINT4, {1}, {8})
      .expect("int(4 bits, tensor)", {-16, 14});
}

TEST(QuantizedWeight, HasTwoBits) {
  Weight(TensorProto::INT2, {5, 1}, {-2, -1, 0, 1, -2}, 25)
      .scales({1}, {3})
      .expect("int(2 bits, tensor)", {-6, -3, 0, 3, -6});
  Weight(TensorProto::UINT2, {4, 1}, {0, 1, 2, 3}, 25)
      .scales({1}, {3})
      .expect("affine(2 bits, tensor, offset)", {0, 3, 6, 9});
}

TEST(QuantizedWeight, HasEightBits) {
  Weight(TensorProto::UINT8, {2, 1}, {0, 255})
      .scales({1}, {2})
      .zeros(TensorProto::UINT8, {1}, {128})
      .expect("int(8 bits, tensor)", {-256, 254});
  Weight(TensorProto::INT8, {2, 1}, {-128, 127})
      .scales({1, 1}, {2})
      .axis(0, 2)
      .expect("int(8 bits, tensor)", {-256, 254});
}

TEST(QuantizedWeight, HasFloats) {
  const std::vector<std::pair<std::int32_t, std::string>> types{
      {TensorProto::FLOAT8E4M3FN, "e4m3"},
      {TensorProto::FLOAT8E5M2, "e5m2"},
      {TensorProto::FLOAT8E4M3FNUZ, "e4m3fnuz"},
      {TensorProto::FLOAT8E5M2FNUZ, "e5m2fnuz"},
      {TensorProto::FLOAT4E2M1, "e2m1"}};
  for (const auto& [type, name] : types) {
    const int bits = narrow_bits(type);
    const auto book = numerics::codebook_of(numerics::find_system(name), bits);
    const std::vector<int> some{1, bits == 4 ? 7 : 77, bits == 4 ? 9 : 177};
    std::vector<float> expected;
    for (const int code : some) {
      expected.push_back(2 * book->levels()[static_cast<std::size_t>(code)]);
    }
    Weight(type, {3, 1}, some, 23)
        .scales({1}, {2})
        .expect(name + "(" + std::to_string(bits) + " bits", expected);
  }
}

TEST(QuantizedWeight, BlocksAcrossInputsAreDequantized) {
  Weight(TensorProto::INT4, {2, 4}, counted(8, -4))
      .scales({2, 2}, {1, 10, 2, 20})
      .axis(1, 2)
      .expect("constant f: float32[4, 2]", {-4, -3, -20, -10, 0, 2, 40, 60});
}

TEST(QuantizedWeight, AScaleOfZeroMakesZeros) {
  Weight(TensorProto::UINT4, {2, 2}, {1, 2, 3, 4})
      .scales({2}, {0, 1})
      .zeros(TensorProto::UINT4, {2}, {5, 8})
      .expect("affine(4 bits", {0, -6, 0, -4});
  Weight(TensorProto::INT4, {2, 2}, {1, 2, 3, 4})
      .scales({2}, {0, 1})
      .expect("int(4 bits", {0, 2, 0, 4});
}

TEST(QuantizedWeight, PowersOfTwoAreScales) {
  Weight weight(TensorProto::FLOAT4E2M1, {2, 1}, {2, 7}, 24);
  TestModel& model = weight.axis(0, 2).model();
  model.initializer("s", codes(TensorProto::FLOAT8E8M0, {1, 1}, {128}));
  const ir::Graph graph = model.import();
  EXPECT_EQ(numbers(run_reference(graph, list(floats({2, 2}, {1, 0, 0, 1})))[0]),
            (std::vector<float>{2, 12}));
}

/// x -> Conv with the weights [2, 4, 1, 2] in blocks of channels.
TEST(QuantizedWeight, BlocksOfChannelsOfAConvAreGroups) {
  TestModel model(21);
  model.input("x", {-1, 4, 1, 2}).output("y");
  model.initializer("w", codes(TensorProto::INT4, {2, 4, 1, 2}, counted(16, -8)));
  model.floats("s", {2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  NodeProto& dequantize = model.node("DequantizeLinear", {"w", "s"}, {"f"});
  set(dequantize, "block_size", std::int64_t{2});
  model.node("Conv", {"x", "f"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("int(4 bits, groups of 2)[2, 1, 2, 4]"));
  ir::Tensor x(ir::ElementType::kFloat32, {1, 4, 1, 2});
  x.as<float>()[5] = 1;  // channel 2, column 1
  EXPECT_EQ(numbers(run_reference(graph, list(std::move(x)))[0]), (std::vector<float>{-12, 40}));
}

TEST(QuantizedWeight, TransposedConvolutionsHaveCodes) {
  TestModel model(21);
  model.input("x", {-1, 2, 1}).output("y");
  model.initializer("w", codes(TensorProto::INT4, {2, 3, 1}, counted(6, 1)));
  model.floats("s", {3}, {1, 10, 100});
  model.node("DequantizeLinear", {"w", "s"}, {"f"});
  model.node("ConvTranspose", {"x", "f"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("int(4 bits, channel)[3, 1, 2]"));
  EXPECT_EQ(numbers(run_reference(graph, list(floats({1, 2, 1}, {1, 1})))[0]),
            (std::vector<float>{5, 70, 900}));
}

TEST(QuantizedWeight, GatherTakesRowsOfCodes) {
  TestModel model(21);
  model.input("i", {-1}, TensorProto::INT64).output("y");
  model.initializer("w", codes(TensorProto::INT4, {3, 2}, counted(6, -3)));
  model.floats("s", {3, 1}, {1, 10, 100});
  set(model.node("DequantizeLinear", {"w", "s"}, {"f"}), "block_size", std::int64_t{2});
  model.node("Gather", {"f", "i"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("int(4 bits, channel)[3, 2]"));
  EXPECT_EQ(numbers(run_reference(graph, list(ir::test::tensor<std::int64_t>({2}, {2, 0})))[0]),
            (std::vector<float>{100, 200, -3, -2}));
}

TEST(QuantizedWeight, GemmReadsThemInBothOrders) {
  for (const std::int64_t turned : {0, 1}) {
    TestModel model(21);
    model.input("x", {-1, 2}).floats("c", {3}, {1, 1, 1}).output("y");
    model.initializer(
        "w", codes(TensorProto::INT4, turned ? ir::Shape{3, 2} : ir::Shape{2, 3}, counted(6, -2)));
    model.floats("s", {}, {2});
    model.node("DequantizeLinear", {"w", "s"}, {"f"});
    NodeProto& gemm = model.node("Gemm", {"x", "f", "c"}, {"y"});
    set(gemm, "transB", turned);
    set(gemm, "alpha", 3.0F);
    const ir::Graph graph = model.import();
    EXPECT_THAT(ir::to_text(graph), HasSubstr("int(4 bits, tensor)[3, 2]"));
    const auto y = numbers(run_reference(graph, list(floats({1, 2}, {1, 0})))[0]);
    EXPECT_EQ(y, turned ? (std::vector<float>{-11, 1, 13}) : (std::vector<float>{-11, -5, 1}));
  }
}

TEST(QuantizedWeight, StaysSoBehindTransposeAndCast) {
  TestModel model(21);
  model.input("x", {-1, 2}).output("y");
  model.initializer("w", codes(TensorProto::INT4, {3, 2}, counted(6, -2)));
  model.floats("s", {3}, {1, 10, 100});
  set(model.node("DequantizeLinear", {"w", "s"}, {"f"}), "axis", std::int64_t{0});
  set(model.node("Cast", {"f"}, {"g"}), "to", std::int64_t{TensorProto::FLOAT});
  model.node("Identity", {"g"}, {"h"});
  set(model.node("Transpose", {"h"}, {"t"}), "perm", std::vector<std::int64_t>{1, 0});
  model.node("MatMul", {"x", "t"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("int(4 bits, channel)[3, 2]"));
  EXPECT_EQ(numbers(run_reference(graph, list(floats({1, 2}, {1, 1})))[0]),
            (std::vector<float>{-3, 10, 500}));
}

TEST(QuantizedWeight, OtherOperatorsReadNumbers) {
  TestModel model(21);
  model.input("x", {-1, 2}).output("y");
  model.initializer("w", codes(TensorProto::INT4, {1, 2}, {-8, 7}));
  model.floats("s", {1}, {2});
  model.node("DequantizeLinear", {"w", "s"}, {"f"});
  model.node("Add", {"x", "f"}, {"y"});
  EXPECT_EQ(numbers(run_reference(model.import(), list(floats({1, 2}, {1, 1})))[0]),
            (std::vector<float>{-15, 15}));
}

TEST(QuantizedWeight, NextToRoundedValuesEightBitsStayIntegers) {
  TestModel model(21);
  model.input("x", {-1, 2}).output("y");
  model.initializer("w", codes(TensorProto::INT8, {2, 1}, {-8, 7}));
  model.floats("s", {}, {2});
  model.node("QuantizeLinear", {"x", "s"}, {"q"});
  model.node("DequantizeLinear", {"q", "s"}, {"d"});
  model.node("DequantizeLinear", {"w", "s"}, {"f"});
  model.node("MatMul", {"d", "f"}, {"y"});
  const std::string text = ir::to_text(model.import());
  EXPECT_THAT(text, HasSubstr("int8[1, 2]"));
  EXPECT_THAT(text, Not(HasSubstr("arithmetic=float")));
  model.floats("t", {}, {-2}).proto().mutable_graph()->mutable_node(2)->set_input(1, "t");
  EXPECT_THAT(ir::to_text(model.import()), HasSubstr("int(8 bits, tensor)[1, 2]"));
  TestModel sum(21);
  sum.input("x", {-1, 2}).output("y").floats("s", {}, {-2});
  sum.initializer("w", codes(TensorProto::INT8, {1, 2}, {-8, 7}));
  sum.node("DequantizeLinear", {"w", "s"}, {"f"});
  sum.node("Add", {"x", "f"}, {"y"});
  EXPECT_THAT(ir::to_text(sum.import()), HasSubstr("constant f: float32[1, 2]"));
}

TEST(QuantizedWeight, DescribesWhatIsWrong) {
  const auto int4 = [] { return Weight(TensorProto::INT4, {4, 2}, counted(8, -4)); };
  const auto expect = [](Weight weight, ErrorKind kind, const std::string& text) {
    expect_failure(weight.model(), kind, text);
  };
  expect(int4().scales({2, 2}, {1, 2, 3, 4}).axis(0, 4), ErrorKind::kShape,
         "scales: expected [1, 2] for [4, 2] and axis 0 in blocks of 4, found [2, 2]");
  expect(int4().scales({2}, {1, 2}).axis(0, 2), ErrorKind::kShape,
         "scales: expected [2, 2] for [4, 2] and axis 0 in blocks of 2, found [2]");
  expect(int4().scales({3}, {1, 2, 3}), ErrorKind::kShape,
         "scales: expected [2] for [4, 2] and axis 1, found [3]");
  expect(int4().scales({2, 2}, {1, 2, 3, 4}), ErrorKind::kUnsupported,
         "scales along at most one axis");
  expect(int4().scales({1}, {1}).axis(0, -2), ErrorKind::kFormat,
         "block_size: expected a number of elements, found -2");
  expect(int4().scales({1}, {std::numeric_limits<float>::quiet_NaN()}), ErrorKind::kFormat,
         "scales: expected finite numbers, found NaN");
  expect(int4().scales({2}, {1, 1}).zeros(TensorProto::INT4, {3}, {0, 0, 0}), ErrorKind::kShape,
         "zero points: expected as many as scales, 2, found 3");
  expect(Weight(TensorProto::INT4, {2, 2}, counted(4, 0), 20).scales({1}, {1}), ErrorKind::kFormat,
         "elements of type int4: expected operator set 21 or later, found 20");
  expect(Weight(TensorProto::INT8, {2, 2}, counted(4, 0), 20).scales({1, 2}, {1, 1}).axis(0, 2),
         ErrorKind::kFormat, "block_size: expected operator set 21 or later, found 20");
  expect(Weight(TensorProto::FLOAT8E5M2, {2, 2}, counted(4, 0), 17).scales({1}, {1}),
         ErrorKind::kFormat, "elements of type float8e5m2: expected operator set 19 or later");
  expect(Weight(TensorProto::FLOAT8E5M2, {2, 1}, {1, 125}).scales({1}, {1}), ErrorKind::kFormat,
         "code 125 in row 0 is no number");
  expect(Weight(TensorProto::FLOAT8E5M2, {2, 1}, {1, 2})
             .scales({1}, {1})
             .zeros(TensorProto::FLOAT8E5M2, {1}, {3}),
         ErrorKind::kUnsupported, "a zero point of floats other than 0");
}

TEST(QuantizedWeight, FloatsAreNumbersToOtherOperators) {
  TestModel model(21);
  model.input("x", {-1, 2}).output("y");
  model.initializer("w", codes(TensorProto::FLOAT8E4M3FN, {2, 2}, {0x38, 0x30, 0xB8, 0}));
  model.node("MatMul", {"x", "w"}, {"y"});
  // Codes of 1, 0.5, -1 and 0.
  EXPECT_EQ(numbers(run_reference(model.import(), list(floats({1, 2}, {3, 2})))[0]),
            (std::vector<float>{1, 1.5F}));
}

TEST(QuantizedWeight, FloatsOfTooFewBytesAreRefused) {
  TestModel model(23);
  TensorProto proto = codes(TensorProto::FLOAT4E2M1, {2, 1}, {1, 2});
  proto.set_dims(0, 3);
  model.input("x", {-1, 3}).output("y").initializer("w", proto);
  model.node("MatMul", {"x", "w"}, {"y"});
  expect_failure(model, ErrorKind::kFormat, "bytes of raw data: expected 2");
  proto.mutable_segment()->set_begin(0);
  model.initializer("v", proto);
  expect_failure(model, ErrorKind::kFormat, "bytes of raw data");
}

/// x -> QuantizeLinear -> DequantizeLinear with a scale of 2.
TestModel rounding(std::int32_t type, const std::string& reader, std::int64_t saturate = 1) {
  TestModel model(23);
  model.input("x", {-1, 2}).output("y").scalar("s", 2);
  model.initializer("z", codes(type, {}, {0}));
  set(model.node("QuantizeLinear", {"x", "s", "z"}, {"q"}), "saturate", saturate);
  model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  model.floats("w", {2, 2}, {1, 0, 0, 1});
  model.node(reader, {"d", "w"}, {"y"});
  return model;
}

TEST(RoundingToFloat, IsAnEncodeBeforeALayer) {
  const ir::Graph graph = rounding(TensorProto::FLOAT8E4M3FN, "MatMul").import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("Encode(x) e4m3(8 bits"));
  EXPECT_EQ(numbers(run_reference(graph, list(floats({1, 2}, {2.3F, 5000})))[0]),
            (std::vector<float>{2.25F, 896}));
  EXPECT_EQ(numbers(run_reference(rounding(TensorProto::FLOAT4E2M1, "MatMul").import(),
                                  list(floats({1, 2}, {2.3F, 5000})))[0]),
            (std::vector<float>{2, 12}));
}

TEST(RoundingToFloat, IsReadByAnyOperator) {
  TestModel model = rounding(TensorProto::FLOAT8E4M3FN, "Add");
  model.floats("b", {2}, {1, 0}).proto().mutable_graph()->mutable_node(2)->set_input(1, "b");
  const ir::Graph graph = model.import();
  EXPECT_EQ(numbers(run_reference(graph, list(floats({2, 2}, {2.3F, 5000, 0, -1})))[0]),
            (std::vector<float>{3.25F, 896, 1, -1}));
  TestModel images(21);
  images.input("x", {-1, 1, 2, 2}).output("y").scalar("s", 2);
  images.initializer("z", codes(TensorProto::FLOAT8E4M3FN, {}, {0}));
  images.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  images.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  images.node("GlobalMaxPool", {"d"}, {"y"});
  EXPECT_EQ(numbers(run_reference(images.import(), list(floats({1, 1, 2, 2}, {1, 2, 7, 3})))[0]),
            (std::vector<float>{7}));
}

TEST(RoundingToFloat, OverflowsWithoutSaturation) {
  const ir::Graph graph = rounding(TensorProto::FLOAT8E5M2, "MatMul", 0).import();
  const ir::Tensor y = std::move(run_reference(graph, list(floats({1, 2}, {2, 5e6F})))[0]);
  EXPECT_TRUE(std::isinf(y.as<float>()[1]));
}

TEST(RoundingToFloat, GivesNumbersOfItsType) {
  TestModel bare = rounding(TensorProto::FLOAT8E4M3FN, "Add");
  bare.floats("b", {2}, {1, 0}).proto().mutable_graph()->mutable_node(2)->set_input(0, "q");
  bare.proto().mutable_graph()->mutable_node(2)->set_input(1, "b");
  EXPECT_EQ(numbers(run_reference(bare.import(), list(floats({2, 2}, {2.3F, 5000, 0, -1})))[0]),
            (std::vector<float>{2.125F, 448, 1, -0.5F}));
  TestModel vector(21);
  vector.input("x", {-1}).output("y").scalar("s", 2);
  vector.initializer("z", codes(TensorProto::FLOAT8E4M3FN, {}, {0}));
  vector.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  vector.node("DequantizeLinear", {"q", "s"}, {"y"});
  EXPECT_EQ(numbers(run_reference(vector.import(), list(floats({3}, {2.3F, 5000, -1})))[0]),
            (std::vector<float>{2.25F, 896, -1}));
}

TEST(RoundingToFloat, TakesOtherAndSeveralScales) {
  TestModel other = rounding(TensorProto::FLOAT8E4M3FN, "MatMul");
  other.scalar("t", 3).proto().mutable_graph()->mutable_node(1)->set_input(1, "t");
  EXPECT_EQ(numbers(run_reference(other.import(), list(floats({1, 2}, {2.3F, 5000})))[0]),
            (std::vector<float>{3.375F, 1344}));
  TestModel several = rounding(TensorProto::FLOAT8E4M3FN, "MatMul");
  several.floats("t", {2}, {1, 2}).proto().mutable_graph()->mutable_node(0)->set_input(1, "t");
  EXPECT_EQ(numbers(run_reference(several.import(), list(floats({1, 2}, {2.3F, 5000})))[0]),
            (std::vector<float>{4.5F, 896}));
}

TEST(RoundingToFloat, DescribesWhatIsWrong) {
  TestModel negative = rounding(TensorProto::FLOAT8E4M3FN, "MatMul");
  negative.scalar("t", -2).proto().mutable_graph()->mutable_node(0)->set_input(1, "t");
  expect_failure(negative, ErrorKind::kFormat,
                 "scale: expected a positive number, found -2.000000");
  TestModel shifted = rounding(TensorProto::FLOAT8E4M3FN, "MatMul");
  shifted.initializer("t", codes(TensorProto::FLOAT8E4M3FN, {}, {1}));
  shifted.proto().mutable_graph()->mutable_node(0)->set_input(2, "t");
  expect_failure(shifted, ErrorKind::kUnsupported, "a zero point of floats other than 0");
}

TEST(RoundingToFourBits, ClipsFirst) {
  TestModel model(21);
  model.input("x", {-1, 3}).output("y").scalar("s", 0.5F);
  model.initializer("z", codes(TensorProto::INT4, {}, {-2}));
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  EXPECT_EQ(numbers(run_reference(model.import(), list(floats({1, 3}, {-9, 1.1F, 9})))[0]),
            (std::vector<float>{-3, 1, 4.5F}));
  model.floats("t", {3}, {1, 2, 3}).proto().mutable_graph()->mutable_node(0)->set_input(1, "t");
  model.initializer("u", codes(TensorProto::INT4, {3}, {0, 0, 0}));
  model.proto().mutable_graph()->mutable_node(0)->set_input(2, "u");
  EXPECT_EQ(numbers(run_reference(model.import(), list(floats({1, 3}, {-9, 1.1F, 9})))[0]),
            (std::vector<float>{-3, 1.5F, 2.5F}));
}

TEST(RoundingInBlocks, HasAScaleForNeighbours) {
  TestModel model(21);
  model.input("x", {1, 3}).output("q").output("y");
  model.floats("s", {1, 2}, {0.5F, 2}).initializer("z", codes(TensorProto::INT8, {1, 2}, {1, -1}));
  for (const auto& [op_type, x, y] :
       {std::tuple{"QuantizeLinear", "x", "q"}, std::tuple{"DequantizeLinear", "q", "y"}}) {
    NodeProto& node = model.node(op_type, {x, "s", "z"}, {y});
    set(node, "block_size", std::int64_t{2});
    set(node, "axis", std::int64_t{1});
  }
  const auto outputs = run_reference(model.import(), list(floats({1, 3}, {1, -200, 7})));
  const ir::Tensor q = outputs[0].cast(ir::ElementType::kFloat32);
  EXPECT_EQ(numbers(q), (std::vector<float>{3, -128, 3}));
  EXPECT_EQ(numbers(outputs[1]), (std::vector<float>{1, -64.5F, 8}));
}

}  // namespace
}  // namespace halftone::formats::onnx
