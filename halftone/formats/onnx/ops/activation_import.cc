// SPDX-License-Identifier: Apache-2.0
// Functions of one number.
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/activations.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/ir/element.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::ActivationKind;
using ir::ValueId;

ir::Unary unary(ActivationKind kind, float alpha = 0, float beta = 0) {
  return {{kind, alpha, beta}};
}

ValueId product(NodeBuilder& node, ValueId a, ValueId b) {
  return node.emit(ir::Binary{ir::BinaryKind::kMul, {}}, {a, b});
}

/// The bound of a Clip from an attribute or an input, or `otherwise`.
float bound(NodeBuilder& node, std::size_t i, const char* name, float otherwise) {
  if (node.opset() < 11) return node.float_attribute(name, otherwise);
  return node.has_input(i) ? node.scalar_input(i) : otherwise;
}

bool is_known_bound(NodeBuilder& node, std::size_t i) {
  return node.opset() < 11 || !node.has_input(i) || node.constant(node.input(i)) != nullptr;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The named activation (such as Relu) if there is one, so that passes and kernels see fewer kinds.
ir::Unary clip(float low, float high) {
  if (low == 0 && high == 6) return unary(ActivationKind::kRelu6);
  if (low == -1 && high == 1) return unary(ActivationKind::kReluN1To1);
  if (low == 0 && high == kInfinity) return unary(ActivationKind::kRelu);
  return unary(ActivationKind::kClip, low, high);
}

void build_activation(NodeBuilder& node) {
  const ActivationEntry* entry = find_activation(node.op_type());
  if (entry == nullptr) fail(ErrorKind::kInternal, "no activation for " + node.op_type());
  const ValueId x = node.input(0);
  if (entry->kind == ActivationKind::kRelu && ir::is_integer(node.type(x).encoding.element)) {
    const ValueId zero = node.add_scalar(0.0, node.type(x).encoding.element);
    node.set_output(0, emit_binary(node, ir::BinaryKind::kMax, x, zero));
    return;
  }
  // Operator set 1 had rounded parameters of Selu.
  const bool rounded = entry->kind == ActivationKind::kSelu && node.opset() < 6;
  const float alpha_default = rounded ? 1.6732F : entry->alpha_default;
  const float beta_default = rounded ? 1.0507F : entry->beta_default;
  const float alpha =
      entry->alpha == nullptr ? 0 : node.float_attribute(entry->alpha, alpha_default);
  const float beta = entry->beta == nullptr ? 0 : node.float_attribute(entry->beta, beta_default);
  node.set_output(0, node.emit(unary(entry->kind, alpha, beta), {x}));
}

void build_not(NodeBuilder& node) {
  node.set_output(0, node.emit(unary(ActivationKind::kNot), {node.input(0)}));
}

void build_is_inf(NodeBuilder& node) {
  const auto flag = [&](const char* name) {
    return node.int_attribute(name, 1) != 0 ? 1.0F : 0.0F;
  };
  const ir::Unary op =
      unary(ActivationKind::kIsInf, flag("detect_positive"), flag("detect_negative"));
  node.set_output(0, node.emit(op, {node.input(0)}));
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
void build_shrink(NodeBuilder& node) {
  const ValueId given = node.input(0);
  const ValueId x = node.as_float(given);
  const float lambda = node.float_attribute("lambd", 0.5F);
  const ValueId bias = node.add_scalar(node.float_attribute("bias", 0));
  const ValueId above = emit_binary(node, ir::BinaryKind::kGreater, x, node.add_scalar(lambda));
  const ValueId below = emit_binary(node, ir::BinaryKind::kLess, x, node.add_scalar(-lambda));
  const ValueId less = emit_binary(node, ir::BinaryKind::kSub, x, bias);
  const ValueId more = emit_binary(node, ir::BinaryKind::kAdd, x, bias);
  const ValueId outer = emit_where(node, above, less, node.add_scalar(0.0F));
  const ValueId y = emit_where(node, below, more, outer);
  node.set_output(0, emit_cast(node, node.type(given).encoding.element, y));
}

void build_clip(NodeBuilder& node) {
  ValueId x = node.input(0);
  const bool is_float = node.type(x).is_dense(ir::ElementType::kFloat32);
  if (is_float && is_known_bound(node, 1) && is_known_bound(node, 2)) {
    const float low = bound(node, 1, "min", -kInfinity);
    const float high = bound(node, 2, "max", kInfinity);
    node.set_output(0, node.emit(clip(low, high), {x}));
    return;
  }
  if (node.has_input(1)) {
    x = node.emit(ir::Binary{ir::BinaryKind::kMax, {}}, {x, node.input(1)});
  }
  if (node.has_input(2)) {
    x = node.emit(ir::Binary{ir::BinaryKind::kMin, {}}, {x, node.input(2)});
  }
  node.set_output(0, x);
}

void build_gelu(NodeBuilder& node) {
  const std::string approximate = node.choice_attribute("approximate", "none", {"none", "tanh"});
  const auto kind = approximate == "tanh" ? ActivationKind::kGeluTanh : ActivationKind::kGelu;
  node.set_output(0, node.emit(unary(kind), {node.input(0)}));
}

void build_mish(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ValueId softplus = node.emit(unary(ActivationKind::kSoftplus), {x});
  const ValueId tanh = node.emit(unary(ActivationKind::kTanh), {softplus});
  node.set_output(0, product(node, x, tanh));
}

/// x sigmoid(alpha x)
ValueId swish(NodeBuilder& node, ValueId x) {
  const float alpha = node.float_attribute("alpha", 1);
  if (alpha == 1) return node.emit(unary(ActivationKind::kSilu), {x});
  const ValueId scaled = product(node, x, node.add_scalar(alpha));
  return product(node, x, node.emit(unary(ActivationKind::kSigmoid), {scaled}));
}

void build_swish(NodeBuilder& node) { node.set_output(0, swish(node, node.input(0))); }

void build_swiglu(NodeBuilder& node) {
  if (!ir::may_be_equal(node.input_type(0).shape, node.input_type(1).shape)) {
    fail(ErrorKind::kShape, "expected two inputs of one shape, found " +
                                node.input_type(0).shape.to_string() + " and " +
                                node.input_type(1).shape.to_string());
  }
  node.set_output(0, product(node, swish(node, node.input(0)), node.input(1)));
}

/// Those that activations() does not have.
constexpr ReaderEntry kActivationReaders[] = {
    {"", "Not", build_not},       {"", "BitwiseNot", build_not}, {"", "IsInf", build_is_inf},
    {"", "Shrink", build_shrink}, {"", "Clip", build_clip},      {"", "Gelu", build_gelu},
    {"", "Mish", build_mish},     {"", "Swish", build_swish},    {"", "SwiGLU", build_swiglu},
};

}  // namespace

std::span<const ReaderEntry> activation_readers() {
  static const std::vector<ReaderEntry> readers = [] {
    std::vector<ReaderEntry> all(std::begin(kActivationReaders), std::end(kActivationReaders));
    for (const ActivationEntry& entry : activations()) {
      // ONNX's Identity takes elements of any type: a reader of its own.
      if (entry.kind == ActivationKind::kIdentity) continue;
      all.push_back({"", entry.op_type, build_activation});
    }
    return all;
  }();
  return readers;
}

}  // namespace halftone::formats::onnx
