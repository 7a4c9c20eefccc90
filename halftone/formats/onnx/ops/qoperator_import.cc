// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX Runtime on codes of 8 bits, as its quantizer writes them and its optimizer
// fuses them: each is read as a function of ONNX's operators, with DequantizeLinear before and
// QuantizeLinear behind. Both round to even, as ONNX Runtime does.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/function.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::AttributeProto;
using onnx_pb::NodeProto;

using Names = std::vector<std::string>;

/// [N, spatial..., C] to [N, C, spatial...], and back.
std::vector<std::int64_t> to_first(std::size_t rank) {
  std::vector<std::int64_t> order = {0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  return order;
}
std::vector<std::int64_t> to_last(std::size_t rank) {
  std::vector<std::int64_t> order = {0};
  for (std::size_t i = 2; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  order.push_back(1);
  return order;
}

bool has_channels_last(NodeBuilder& node) {
  const bool is_last = node.int_attribute("channels_last", 0) != 0;
  const ir::Shape& shape = node.input_type(0).shape;
  if (is_last && shape.rank() < 3) {
    fail(ErrorKind::kShape, "channels_last: expected an image, found " + shape.to_string());
  }
  return is_last;
}

/// The mean of windows where all taps count, also those behind the padding of a last window: sums
/// of positive numbers less those of negative ones, which LpPool adds.
void add_full_mean(NodeBuilder& node, Function& function, const std::string& x) {
  const auto kernel = node.ints_attribute("kernel_shape");
  std::int64_t taps = 1;
  for (const std::int64_t extent : kernel ? *kernel : std::vector<std::int64_t>{}) taps *= extent;
  function.add("Neg", {x}, "negated");
  Names sums;
  for (const std::string& part : {x, std::string("negated")}) {
    function.add("Relu", {part}, part + "/above");
    NodeProto& sum = function.add_with_attributes("LpPool", {part + "/above"}, part + "/sum",
                                                  {"channels_last", "count_include_pad"});
    set_attribute(sum, "p", std::int64_t{1});
    sums.push_back(part + "/sum");
  }
  function.add("Sub", sums, "sum");
  function.add("Mul", {"sum", function.scalar("share", 1 / static_cast<float>(taps))}, "result");
}

/// X, its scale and zero point, those of the output: a function of one value.
void build_of_one(NodeBuilder& node) {
  Function function(node);
  const std::string op_type = node.op_type().substr(std::string("QLinear").size());
  const std::size_t rank = node.input_type(0).shape.rank();
  const bool is_last = has_channels_last(node);
  if (op_type == "Softmax")
    function.set_opset(std::max<std::int64_t>(10, node.int_attribute("opset", 13)));
  std::string x = function.dequantize(0);
  if (is_last) x = function.transpose(x, to_first(rank), "channels_first");
  if (op_type == "AveragePool" && node.int_attribute("ceil_mode", 0) != 0 &&
      node.int_attribute("count_include_pad", 0) != 0) {
    function.set_opset(18);  // LpPool with ceil_mode and dilations
    add_full_mean(node, function, x);
  } else {
    function.add_with_attributes(op_type, {x}, "result");
  }
  std::string y = "result";
  if (is_last) y = function.transpose(y, to_last(rank), "channels_last");
  function.quantize(y, 3, 4);
  function.build();
}

/// MaxPool of images with channels last.
void build_image_max_pool(NodeBuilder& node) {
  Function function(node);
  const std::size_t rank = node.input_type(0).shape.rank();
  if (rank < 3) {
    fail(ErrorKind::kShape, "expected an image, found " + node.input_type(0).shape.to_string());
  }
  const std::string x = function.transpose(function.in(0), to_first(rank), "channels_first");
  function.add_with_attributes("MaxPool", {x}, "result");
  function.transpose("result", to_last(rank), "y");
  function.build();
}

/// A, B with scale and zero point each, then those of the output.
void build_of_two(NodeBuilder& node) {
  Function function(node);
  const std::string op_type = node.op_type().substr(std::string("QLinear").size());
  const std::string a = function.dequantize(0);
  const std::string b = function.dequantize(3);
  function.add(op_type, {a, b}, "result");
  function.quantize("result", 6, 7);
  function.build();
}

/// Scale and zero point of the output, then parts with scale and zero point each.
void build_qlinear_concat(NodeBuilder& node) {
  Function function(node);
  if (node.num_inputs() < 5 || node.num_inputs() % 3 != 2) {
    fail(ErrorKind::kFormat,
         "expected a scale, a zero point and three inputs for each part, found " +
             std::to_string(node.num_inputs()) + " inputs");
  }
  Names parts;
  for (std::size_t i = 2; i < node.num_inputs(); i += 3) parts.push_back(function.dequantize(i));
  function.add_with_attributes("Concat", parts, "result");
  function.quantize("result", 0, 1);
  function.build();
}

/// A condition, then as build_of_two().
void build_qlinear_where(NodeBuilder& node) {
  Function function(node);
  const std::string a = function.dequantize(1);
  const std::string b = function.dequantize(4);
  function.add("Where", {function.in(0), a, b}, "result");
  function.quantize("result", 7, 8);
  function.build();
}

/// QLinearConv of images with channels last.
void build_image_conv(NodeBuilder& node) {
  Function function(node);
  const bool is_last = has_channels_last(node);
  const std::size_t rank = node.input_type(0).shape.rank();
  Names inputs;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) inputs.push_back(function.in(i));
  if (is_last) inputs[0] = function.transpose(inputs[0], to_first(rank), "channels_first");
  function.add_with_attributes("QLinearConv", inputs, is_last ? "result" : "y");
  if (is_last) function.transpose("result", to_last(rank), "y");
  function.build();
}

/// The inputs of a product of codes that gives floats.
struct Product {
  std::string a;
  std::string b;
  std::string a_scale;
  std::string b_scale;
  std::string a_zero;
  std::string b_zero;
  std::string bias;
};

/// y = (a - a_zero) (b - b_zero) a_scale b_scale + bias
void add_product(Function& function, const Product& product) {
  const bool adds = !product.bias.empty();
  function.add("MatMulInteger", {product.a, product.b, product.a_zero, product.b_zero}, "sums");
  AttributeProto& to = *function.add("Cast", {"sums"}, "numbers").add_attribute();
  to.set_name("to");
  to.set_type(AttributeProto::INT);
  to.set_i(onnx_pb::TensorProto::FLOAT);
  function.add("Mul", {product.a_scale, product.b_scale}, "scale");
  function.add("Mul", {"numbers", "scale"}, adds ? "scaled" : "y");
  if (adds) function.add("Add", {"scaled", product.bias}, "y");
}

void build_matmul_to_float(NodeBuilder& node) {
  Function function(node);
  const auto in = [&](std::size_t i) { return function.in(i); };
  add_product(function, {in(0), in(1), in(2), in(3), in(4), in(5), in(6)});
  function.build();
}

void build_dynamic_matmul(NodeBuilder& node) {
  Function function(node);
  const auto in = [&](std::size_t i) { return function.in(i); };
  NodeProto& quantize = function.add("DynamicQuantizeLinear", {in(0)}, "codes");
  quantize.add_output("a_scale");
  quantize.add_output("a_zero");
  add_product(function, {"codes", in(1), "a_scale", in(2), "a_zero", in(3), in(4)});
  function.build();
}

/// The numbers of weights [D, n, 4 H] as [D, 4 H, n], with a scale [D] or [D, 4 H].
std::string lstm_weights(NodeBuilder& node, Function& function, std::size_t weights,
                         std::size_t scale) {
  const std::string name = "weights" + std::to_string(weights);
  AttributeProto& axes = *function.add("Constant", {}, name + "/axes").add_attribute();
  axes.set_name("value_ints");
  axes.set_type(AttributeProto::INTS);
  axes.add_ints(1);
  if (node.input_type(scale).shape.rank() < 2) axes.add_ints(2);
  const auto as_float = [&](const std::string& from, const std::string& to) {
    AttributeProto& element = *function.add("Cast", {from}, to).add_attribute();
    element.set_name("to");
    element.set_type(AttributeProto::INT);
    element.set_i(onnx_pb::TensorProto::FLOAT);
    return to;
  };
  std::string numbers = as_float(function.in(weights), name + "/codes");
  if (node.has_input(scale + 1)) {
    const std::string zero = as_float(function.in(scale + 1), name + "/zero");
    function.add("Unsqueeze", {zero, name + "/axes"}, name + "/zeros");
    function.add("Sub", {numbers, name + "/zeros"}, name + "/centered");
    numbers = name + "/centered";
  }
  function.add("Unsqueeze", {function.in(scale), name + "/axes"}, name + "/scales");
  function.add("Mul", {numbers, name + "/scales"}, name + "/numbers");
  return function.transpose(name + "/numbers", {0, 2, 1}, name);
}

/// An LSTM whose weights are codes. ONNX Runtime also rounds the input and the states to 8 bits at
/// run time; here they stay float32.
void build_dynamic_lstm(NodeBuilder& node) {
  constexpr std::size_t kWeights = 1;
  constexpr std::size_t kRecurrence = 2;
  constexpr std::size_t kScales = 8;  // scale and zero point of both weights
  Function function(node);
  Names inputs;
  for (std::size_t i = 0; i < kScales; ++i) inputs.push_back(function.in(i));
  inputs[kWeights] = lstm_weights(node, function, kWeights, kScales);
  inputs[kRecurrence] = lstm_weights(node, function, kRecurrence, kScales + 2);
  NodeProto& lstm = function.add_with_attributes("LSTM", inputs, "y");
  for (const char* state : {"y_h", "y_c"}) {
    function.add_output(state);
    lstm.add_output(state);
  }
  function.build();
}

constexpr ReaderEntry kQoperatorReaders[] = {
    {kMicrosoftDomain, "DynamicQuantizeLSTM", build_dynamic_lstm},
    {kMicrosoftDomain, "DynamicQuantizeMatMul", build_dynamic_matmul},
    {kMicrosoftDomain, "MatMulIntegerToFloat", build_matmul_to_float},
    {kMicrosoftDomain, "NhwcMaxPool", build_image_max_pool},
    {kMicrosoftDomain, "QLinearAdd", build_of_two},
    {kMicrosoftDomain, "QLinearAveragePool", build_of_one},
    {kMicrosoftDomain, "QLinearConcat", build_qlinear_concat},
    {kMicrosoftDomain, "QLinearConv", build_image_conv},
    {kMicrosoftDomain, "QLinearGlobalAveragePool", build_of_one},
    {kMicrosoftDomain, "QLinearLeakyRelu", build_of_one},
    {kMicrosoftDomain, "QLinearMul", build_of_two},
    {kMicrosoftDomain, "QLinearReduceMean", build_of_one},
    {kMicrosoftDomain, "QLinearSigmoid", build_of_one},
    {kMicrosoftDomain, "QLinearSoftmax", build_of_one},
    {kMicrosoftDomain, "QLinearWhere", build_qlinear_where},
};

}  // namespace

std::span<const ReaderEntry> qoperator_readers() { return kQoperatorReaders; }

}  // namespace halftone::formats::onnx
