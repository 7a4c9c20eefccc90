// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX Runtime's optimizer fuses, as functions of those that they consist of:
// normalizations of sums, activations with a bias, layers with an activation.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/function.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;
using onnx_pb::NodeProto;

/// The sum of some inputs, those that the node has.
ValueId sum_of(NodeBuilder& node, std::initializer_list<std::size_t> inputs) {
  ValueId sum = ir::kAbsent;
  for (const std::size_t i : inputs) {
    if (!node.has_input(i)) continue;
    const ValueId x = node.input(i);
    sum = sum == ir::kAbsent ? x : emit_binary(node, ir::BinaryKind::kAdd, sum, x);
  }
  return sum;
}

/// Sets output 0 to x, normalized over its last axis, times gamma, plus beta.
/// @param beta  an input that may be absent
void set_normalized(NodeBuilder& node, ValueId x, std::size_t gamma, std::size_t beta,
                    bool centres) {
  const std::size_t last = node.type(x).shape.rank() - 1;
  const float epsilon = node.float_attribute("epsilon", 1e-12F);
  ValueId y = node.emit(ir::Normalize{{last}, epsilon, centres}, {x});
  y = emit_binary(node, ir::BinaryKind::kMul, y, node.input(gamma));
  if (node.has_input(beta)) y = emit_binary(node, ir::BinaryKind::kAdd, y, node.input(beta));
  node.set_output(0, y);
}

/// Layer or RMS normalization of input + skip + bias; output 3 is that sum.
void build_skip_normalization(NodeBuilder& node) {
  constexpr std::size_t kGamma = 2;
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  const bool centres = node.op_type() == "SkipLayerNormalization";
  const std::size_t bias = centres ? 4 : 3;
  const ValueId sum = sum_of(node, {0, 1, bias});
  set_normalized(node, sum, kGamma, centres ? 3 : kNone, centres);
  node.set_output(3, sum);
}

/// RMS normalization under the name that it has where ONNX lacks it.
void build_simplified_normalization(NodeBuilder& node) {
  Function function(node, 23);
  NodeProto& proto = function.add("RMSNormalization", {function.in(0), function.in(1)}, "y");
  set_attribute(proto, "epsilon", node.float_attribute("epsilon", 1e-5F));
  set_attribute(proto, "axis", node.int_attribute("axis", -1));
  function.build();
}

/// The number of steps that a mask selects, of each sample: int32 [batch], 0 without a mask.
ValueId selected_steps(NodeBuilder& node, std::size_t mask, ir::Dim batch) {
  if (node.has_input(mask)) {
    return emit_reduce(node, ir::ReduceKind::kSum, {1}, false, node.input(mask));
  }
  const ValueId zero = node.add_scalar(0, ir::ElementType::kInt32);
  return node.emit(ir::BroadcastTo{ir::Shape{batch}}, {zero});
}

/// The sum of rows of three tables, normalized. Outputs: it, the number of steps that a mask
/// selects, and the sum.
void build_embed_normalization(NodeBuilder& node) {
  enum : std::size_t {
    kIds,
    kSegments,
    kWords,
    kPositions,
    kSegmentTable,
    kGamma,
    kBeta,
    kMask,
    kPositionIds
  };
  const ir::Shape ids = node.input_type(kIds).shape;
  if (ids.rank() != 2 || ir::depends_on_batch(ids[1])) {
    fail(ErrorKind::kShape, "expected ids [batch, steps], found " + ids.to_string());
  }
  const auto rows = [&](std::size_t table, ValueId indices) {
    return node.emit(ir::Gather{0}, {node.input(table), indices});
  };
  ValueId positions = ir::kAbsent;
  if (node.has_input(kPositionIds)) {
    positions = node.input(kPositionIds);
  } else {
    positions = counting(node, ir::extent_of(ids[1]), ir::ElementType::kInt64);
  }
  ValueId sum = emit_binary(node, ir::BinaryKind::kAdd, rows(kWords, node.input(kIds)),
                            rows(kPositions, positions));
  if (node.has_input(kSegments)) {
    sum = emit_binary(node, ir::BinaryKind::kAdd, sum, rows(kSegmentTable, node.input(kSegments)));
  }
  set_normalized(node, sum, kGamma, kBeta, true);
  if (node.has_output(1)) node.set_output(1, selected_steps(node, kMask, ids[0]));
  node.set_output(2, sum);
}

/// Gelu, exact or with tanh, behind a bias if there is one.
void build_biased_gelu(NodeBuilder& node) {
  const auto kind =
      node.op_type() == "FastGelu" ? ir::ActivationKind::kGeluTanh : ir::ActivationKind::kGelu;
  node.set_output(0, emit_unary(node, kind, sum_of(node, {0, 1})));
}

void build_quick_gelu(NodeBuilder& node) {
  Function function(node, 24);
  NodeProto& proto = function.add("Swish", {function.in(0)}, "y");
  set_attribute(proto, "alpha", node.float_attribute("alpha", 1.702F));
  function.build();
}

/// Parameter i of a fused activation, of those of the node.
float parameter(NodeBuilder& node, std::size_t i, float otherwise) {
  const auto all = node.floats_attribute("activation_params");
  return all && i < all->size() ? (*all)[i] : otherwise;
}

/// The activation that a node has fused, from x to y.
void add_activation(NodeBuilder& node, Function& function, const std::string& x) {
  const std::string name = node.choice_attribute(
      "activation", "",
      {"", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish"});
  if (name == "Clip") {
    const std::string low = function.scalar("low", parameter(node, 0, 0));
    function.add("Clip", {x, low, function.scalar("high", parameter(node, 1, 0))}, "y");
    return;
  }
  NodeProto& proto = function.add(name.empty() ? "Identity" : name, {x}, "y");
  if (name == "LeakyRelu") set_attribute(proto, "alpha", parameter(node, 0, 0.01F));
  if (name == "HardSigmoid") {
    set_attribute(proto, "alpha", parameter(node, 0, 0.2F));
    set_attribute(proto, "beta", parameter(node, 1, 0.5F));
  }
}

/// activation(Conv(X, W, B) + Z)
void build_fused_conv(NodeBuilder& node) {
  Function function(node);
  function.add_with_attributes("Conv", {function.in(0), function.in(1), function.in(2)}, "product",
                               {"activation", "activation_params"});
  std::string sum = "product";
  if (node.has_input(3)) {
    function.add("Add", {sum, function.in(3)}, "sum");
    sum = "sum";
  }
  add_activation(node, function, sum);
  function.build();
}

/// A matrix of FusedMatMul as MatMul reads it. Where the batch is transposed, the first axis is
/// that of the rows, or of the columns of a transposed matrix.
std::string operand(NodeBuilder& node, Function& function, std::size_t i, const char* transposes,
                    const char* moves) {
  const std::size_t rank = node.input_type(i).shape.rank();
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (rank > 2 && node.int_attribute(moves, 0) != 0) {
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  }
  if (rank >= 2 && node.int_attribute(transposes, 0) != 0) {
    std::swap(order[rank - 1], order[rank - 2]);
  }
  if (std::ranges::is_sorted(order)) return function.in(i);
  return function.transpose(function.in(i), order, "turned" + std::to_string(i));
}

/// alpha A B, either of them transposed.
void build_fused_matmul(NodeBuilder& node) {
  Function function(node);
  const std::string a = operand(node, function, 0, "transA", "transBatchA");
  const std::string b = operand(node, function, 1, "transB", "transBatchB");
  const float alpha = node.float_attribute("alpha", 1);
  function.add("MatMul", {a, b}, alpha == 1 ? "y" : "product");
  if (alpha != 1) function.add("Mul", {"product", function.scalar("alpha", alpha)}, "y");
  function.build();
}

/// activation(Gemm(A, B, C)), whose parameters are attributes of the node.
void build_fused_gemm(NodeBuilder& node) {
  constexpr std::pair<const char*, const char*> kParameters[] = {
      {"activation_alpha", "alpha"}, {"activation_beta", "beta"}, {"activation_gamma", "gamma"}};
  Function function(node);
  Function::Names but_for{"activation"};
  for (const auto& [own, name] : kParameters) but_for.emplace_back(own);
  function.add_with_attributes("Gemm", {function.in(0), function.in(1), function.in(2)}, "product",
                               but_for);
  const std::string activation =
      node.choice_attribute("activation", "",
                            {"", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid",
                             "Softplus", "Softsign", "Tanh", "ThresholdedRelu"});
  NodeProto& proto = function.add(activation.empty() ? "Identity" : activation, {"product"}, "y");
  for (const auto& [own, name] : kParameters) {
    if (node.has_attribute(own)) set_attribute(proto, name, node.float_attribute(own, 0));
  }
  function.build();
}

/// Adds the operator of ONNX that has the name of ONNX Runtime's, or another one.
void add_as_standard(NodeBuilder& node, std::int64_t opset, const Function::Names& but_for = {},
                     const std::string& name = "") {
  Function function(node, opset);
  Function::Names inputs;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) inputs.push_back(function.in(i));
  NodeProto& proto =
      function.add_with_attributes(name.empty() ? node.op_type() : name, inputs, "y", but_for);
  for (std::size_t i = 1; i < node.num_outputs(); ++i) {
    proto.add_output("y" + std::to_string(i));
    function.add_output("y" + std::to_string(i));
  }
  function.build();
}

void build_as_standard(NodeBuilder& node) { add_as_standard(node, 17); }

void build_expand_dims(NodeBuilder& node) { add_as_standard(node, 17, {}, "Unsqueeze"); }

/// The same of an operator to which ONNX Runtime has added attributes since.
void build_fused_linear_attention(NodeBuilder& node) {
  refuse_attributes(node, {"state_window"});
  add_as_standard(node, 27, {"state_window"});
}

void build_fused_causal_convolution(NodeBuilder& node) {
  const Function::Names added{"dilation",      "ndim",           "state_update_capacity",
                              "state_window",  "state_length",   "state_channels_last",
                              "channels_last", "input_channels", "input_channel_offset"};
  refuse_attributes(node, {"state_update_capacity", "state_window", "state_channels_last",
                           "channels_last", "input_channel_offset"});
  for (const char* name : {"dilation", "ndim"}) {
    if (node.int_attribute(name, 1) != 1) NodeBuilder::unsupported(name);
  }
  add_as_standard(node, 27, added);
}

constexpr ReaderEntry kFusedReaders[] = {
    {"", "SimplifiedLayerNormalization", build_simplified_normalization},
    {kMicrosoftDomain, "BiasGelu", build_biased_gelu},
    {kMicrosoftDomain, "CausalConvWithState", build_fused_causal_convolution},
    {kMicrosoftDomain, "EmbedLayerNormalization", build_embed_normalization},
    {kMicrosoftDomain, "ExpandDims", build_expand_dims},
    {kMicrosoftDomain, "FastGelu", build_biased_gelu},
    {kMicrosoftDomain, "FusedConv", build_fused_conv},
    {kMicrosoftDomain, "FusedGemm", build_fused_gemm},
    {kMicrosoftDomain, "FusedMatMul", build_fused_matmul},
    {kMicrosoftDomain, "GatherND", build_as_standard},
    {kMicrosoftDomain, "Gelu", build_biased_gelu},
    {kMicrosoftDomain, "GridSample", build_as_standard},
    {kMicrosoftDomain, "LinearAttention", build_fused_linear_attention},
    {kMicrosoftDomain, "Pad", build_as_standard},
    {kMicrosoftDomain, "QuickGelu", build_quick_gelu},
    {kMicrosoftDomain, "Range", build_as_standard},
    {kMicrosoftDomain, "SkipLayerNormalization", build_skip_normalization},
    {kMicrosoftDomain, "SkipSimplifiedLayerNormalization", build_skip_normalization},
    {kMicrosoftDomain, "TransposeMatMul", build_fused_matmul},
    {kMicrosoftDomain, "Trilu", build_as_standard},
};

}  // namespace

std::span<const ReaderEntry> fused_readers() { return kFusedReaders; }

}  // namespace halftone::formats::onnx
