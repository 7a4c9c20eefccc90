// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX Runtime's optimizer fuses, as functions of those that they consist of:
// normalizations of sums, activations with a bias, layers with an activation.
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
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
  if (node.has_input(kMask)) {
    node.set_output(1, emit_reduce(node, ir::ReduceKind::kSum, {1}, false, node.input(kMask)));
  }
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

/// A matrix with its last two axes exchanged if an attribute says so.
std::string operand(NodeBuilder& node, Function& function, std::size_t i, const char* attribute) {
  const auto rank = static_cast<std::int64_t>(node.input_type(i).shape.rank());
  if (node.int_attribute(attribute, 0) == 0 || rank < 2) return function.in(i);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return function.transpose(function.in(i), order, "turned" + std::to_string(i));
}

/// alpha A B, either of them transposed.
void build_fused_matmul(NodeBuilder& node) {
  if (node.int_attribute("transBatchA", 0) != 0 || node.int_attribute("transBatchB", 0) != 0) {
    NodeBuilder::unsupported("transBatchA and transBatchB");
  }
  Function function(node);
  const std::string a = operand(node, function, 0, "transA");
  const std::string b = operand(node, function, 1, "transB");
  const float alpha = node.float_attribute("alpha", 1);
  function.add("MatMul", {a, b}, alpha == 1 ? "y" : "product");
  if (alpha != 1) function.add("Mul", {"product", function.scalar("alpha", alpha)}, "y");
  function.build();
}

constexpr ReaderEntry kFusedReaders[] = {
    {"", "SimplifiedLayerNormalization", build_simplified_normalization},
    {kMicrosoftDomain, "BiasGelu", build_biased_gelu},
    {kMicrosoftDomain, "EmbedLayerNormalization", build_embed_normalization},
    {kMicrosoftDomain, "FastGelu", build_biased_gelu},
    {kMicrosoftDomain, "FusedConv", build_fused_conv},
    {kMicrosoftDomain, "FusedMatMul", build_fused_matmul},
    {kMicrosoftDomain, "Gelu", build_biased_gelu},
    {kMicrosoftDomain, "QuickGelu", build_quick_gelu},
    {kMicrosoftDomain, "SkipLayerNormalization", build_skip_normalization},
    {kMicrosoftDomain, "SkipSimplifiedLayerNormalization", build_skip_normalization},
    {kMicrosoftDomain, "TransposeMatMul", build_fused_matmul},
};

}  // namespace

std::span<const ReaderEntry> fused_readers() { return kFusedReaders; }

}  // namespace halftone::formats::onnx
