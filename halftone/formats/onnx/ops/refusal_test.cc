// SPDX-License-Identifier: Apache-2.0
// Inputs that operator builders reject, and their messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

struct OperatorRefusal {
  std::string op_type;
  std::vector<std::string> operands;
  std::function<void(TestModel&, NodeProto&)> fill;
  ErrorKind kind;
  std::string text;
};

TEST(Operators, RejectUnsupportedNodesWithAReason) {
  const auto none = [](TestModel&, NodeProto&) {};
  const std::vector<OperatorRefusal> refusals{
      {"Reshape", {"x"}, none, ErrorKind::kUnsupported, "input 1: expected a shape known"},
      {"Add", {}, none, ErrorKind::kFormat, "input 1 is missing"},
      {"Concat", {}, none, ErrorKind::kFormat, "expected the attribute axis"},
      {"Squeeze",
       {"i"},
       [](TestModel& m, NodeProto&) { m.integers("i", {1}); },
       ErrorKind::kShape,
       "expected an extent of 1 to squeeze"},
      {"Unsqueeze",
       {"i"},
       [](TestModel& m, NodeProto&) {
         m.integers("i", {0, 0});
       },
       ErrorKind::kShape,
       "axis 0 is named twice"},
      {"Unsqueeze", {}, none, ErrorKind::kFormat, "expected axes, found none"},
      {"Transpose",
       {},
       [](TestModel&, NodeProto& n) {
         set(n, "perm", Ints{0, 2});
       },
       ErrorKind::kShape,
       "axis: expected a value from -2 to 1, found 2"},
      {"Slice",
       {"i", "i", "i", "z"},
       [](TestModel& m, NodeProto&) { m.integers("i", {1}).integers("z", {0}); },
       ErrorKind::kFormat,
       "expected a step other than 0"},
      {"Slice",
       {"i", "z"},
       [](TestModel& m, NodeProto&) {
         m.integers("i", {1}).integers("z", {0, 1});
       },
       ErrorKind::kFormat,
       "differ in length"},
      {"Split",
       {"i"},
       [](TestModel& m, NodeProto& n) {
         m.integers("i", {2});
         set(n, "axis", std::int64_t{1});
       },
       ErrorKind::kShape,
       "parts do not add up"},
      {"Split",
       {"i"},
       [](TestModel& m, NodeProto& n) {
         m.integers("i", {2, 1});
         set(n, "axis", std::int64_t{1});
       },
       ErrorKind::kFormat,
       "expected 2 outputs, found 1"},
      {"Gather", {"x"}, none, ErrorKind::kUnsupported, "cannot select a part of the batch"},
      {"Gather",
       {"x"},
       [](TestModel&, NodeProto& n) { set(n, "axis", std::int64_t{1}); },
       ErrorKind::kShape,
       "input 1: expected int32 or int64, found float32[N, 3]"},
      {"Where", {"x", "x"}, none, ErrorKind::kShape, "input 0: expected bool"},
      {"Cast",
       {},
       [](TestModel&, NodeProto& n) { set(n, "to", std::int64_t{8}); },
       ErrorKind::kUnsupported,
       "conversion to string"},
      {"Cast",
       {},
       [](TestModel&, NodeProto& n) { set(n, "to", std::int64_t{TensorProto::FLOAT8E8M0}); },
       ErrorKind::kUnsupported,
       "conversion to float8e8m0"},
      {"BitCast",
       {},
       [](TestModel&, NodeProto& n) { set(n, "to", std::int64_t{TensorProto::INT64}); },
       ErrorKind::kUnsupported,
       "the bits of float32 as int64"},
      {"BitCast",
       {},
       [](TestModel&, NodeProto& n) { set(n, "to", std::int64_t{TensorProto::INT32}); },
       ErrorKind::kUnsupported,
       "the bits of float32 as int32: expected a constant"},
      {"Gelu",
       {},
       [](TestModel&, NodeProto& n) { set(n, "approximate", std::string("fast")); },
       ErrorKind::kFormat,
       "expected none or tanh"},
      {"Elu",
       {},
       [](TestModel&, NodeProto& n) { set(n, "alpha", std::int64_t{1}); },
       ErrorKind::kFormat,
       "attribute 'alpha': expected type 1, found type 2"},
      {"Elu",
       {},
       [](TestModel&, NodeProto& n) { set(n, "alpha", std::nanf("")); },
       ErrorKind::kFormat,
       "attribute 'alpha': expected a number, found NaN"},
      {"Clip",
       {"low"},
       [](TestModel& m, NodeProto&) {
         m.floats("low", {2}, {1, 2});
       },
       ErrorKind::kShape,
       "input 1: expected one number, found 2"},
      {"Dropout",
       {"r", "t"},
       [](TestModel& m, NodeProto&) { m.scalar("r", 0.5F).integers("t", {1}); },
       ErrorKind::kUnsupported,
       "training mode"},
      {"BatchNormalization",
       {"s", "s", "s", "s"},
       [](TestModel& m, NodeProto&) {
         m.floats("s", {2}, {1, 1});
       },
       ErrorKind::kShape,
       "input 1: expected [3], found [2]"},
      {"QuantizeLinear",
       {"x"},
       none,
       ErrorKind::kShape,
       "input 1: expected one number for each index of axis 1 of [N, 3], found [N, 3]"},
      {"QuantizeLinear",
       {"s"},
       [](TestModel& m, NodeProto& n) {
         m.scalar("s", 1);
         set(n, "output_dtype", std::int64_t{TensorProto::INT32});
       },
       ErrorKind::kUnsupported,
       "expected codes of up to sixteen bits"},
      {"QuantizeLinear",
       {"s"},
       [](TestModel& m, NodeProto& n) {
         m.scalar("s", 1);
         set(n, "block_size", std::int64_t{2});
       },
       ErrorKind::kShape,
       "input 1: expected numbers of blocks of 2 along axis 1 of [N, 3], found []"},
      {"QuantizeLinear",
       {"s"},
       [](TestModel& m, NodeProto&) { m.scalar("s", -1); },
       ErrorKind::kShape,
       "scale: expected a positive number"},
      {"Expand",
       {"i"},
       [](TestModel& m, NodeProto&) {
         m.integers("i", {-5, 3});
       },
       ErrorKind::kShape,
       "expected an extent of at least 0"},
      {"Gemm",
       {"w", "c"},
       [](TestModel& m, NodeProto&) {
         m.floats("w", {3, 1}, {1, 1, 1}).floats("c", {2, 3}, {1, 2, 3, 4, 5, 6});
       },
       ErrorKind::kShape,
       "do not broadcast"},
      {"Gemm",
       {"w"},
       [](TestModel& m, NodeProto&) {
         m.floats("w", {3}, {1, 1, 1});
       },
       ErrorKind::kShape,
       "input 1: expected a matrix, found [3]"},
      {"Max",
       {"i"},
       [](TestModel& m, NodeProto&) { m.integers("i", {1}); },
       ErrorKind::kShape,
       "operands float32[N, 3] and int64[1] differ in type"},
      {"DepthToSpace",
       {},
       [](TestModel&, NodeProto& n) { set(n, "mode", std::string("RCD")); },
       ErrorKind::kFormat,
       "mode: expected DCR or CRD, found 'RCD'"},
      {"SoftmaxCrossEntropyLoss",
       {"t"},
       [](TestModel& m, NodeProto& n) {
         m.input("t", {-1}, TensorProto::INT64);
         set(n, "reduction", std::string("wrap"));
       },
       ErrorKind::kFormat,
       "reduction: expected none, mean or sum, found 'wrap'"},
      {"ScatterND",
       {"x", "x"},
       [](TestModel&, NodeProto& n) { set(n, "reduction", std::string("wrap")); },
       ErrorKind::kFormat,
       "reduction: expected none, add, mul, max or min, found 'wrap'"},
      {"Resize",
       {"", "", "i"},
       [](TestModel& m, NodeProto& n) {
         m.integers("i", {6});
         set(n, "axes", Ints{1});
         set(n, "keep_aspect_ratio_policy", std::string("fit"));
       },
       ErrorKind::kFormat,
       "keep_aspect_ratio_policy: expected stretch, not_larger or not_smaller, found 'fit'"}};
  for (const OperatorRefusal& refusal : refusals) {
    TestModel model(22);
    model.input("x", {-1, 3}).output("y");
    std::vector<std::string> inputs{"x"};
    inputs.insert(inputs.end(), refusal.operands.begin(), refusal.operands.end());
    NodeProto& node = model.node(refusal.op_type, inputs, {"y"});
    node.set_name("n");
    refusal.fill(model, node);
    ErrorKind kind{};
    const std::string message = import_failure(model.bytes(), kind);
    EXPECT_THAT(message, HasSubstr("node 'n' (" + refusal.op_type + ")"));
    EXPECT_THAT(message, HasSubstr(refusal.text));
    EXPECT_EQ(kind, refusal.kind) << message;
  }
}

}  // namespace
}  // namespace halftone::formats::onnx
